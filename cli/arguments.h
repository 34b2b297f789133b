/* The command line of a verb: one table of options, from which it is read and --help is printed. The
 * completions of the shells read --help, and a test holds the manual against it.
 *
 * Options stand anywhere, operands between them, and "--" before operands that begin with "-". */
#ifndef CLI_ARGUMENTS_H
#define CLI_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum cli_arity { CLI_ALONE, CLI_VALUE, CLI_MAY_HAVE_VALUE } cli_arity;

typedef struct cli_option {
    const char *name; /* "--output" */
    char letter;      /* 'o'; '0' stands for -0 to -9, whose value is the whole argument; or 0 */
    cli_arity arity;
    /* Reads the value (NULL: none) into the member at `at` of the verb's options. Prints what is
     * wrong; returns an exit code, or CLI_ENOUGH. NULL: prints the help. */
    int (*take)(const struct cli_option *option, const char *value, void *member);
    size_t at;
    const char *help; /* its lines of --help */
    int what;         /* for take */
    unsigned verbs;   /* bits of the verbs that have it; 0: all that have the table */
} cli_option;

/* Returned by take and operand: the rest of the command line is not read. */
enum { CLI_ENOUGH = -1 };

typedef struct cli_command {
    const char *before, *after; /* the lines of --help before and after those of the options */
    const cli_option *options;  /* NULL ends them */
    /* Checks or takes an operand; NULL: all are right. What it accepts is an operand of *arguments. */
    int (*operand)(void *options, const char *value);
    unsigned verb; /* its bit in cli_option.verbs; 0: none */
} cli_command;

/* Where the command line is being read. */
typedef struct cli_arguments {
    int argc;
    char **argv;
    bool has_ended; /* "--" was read: only operands are left */
    bool is_done;   /* the help was printed: there is no more to do */
    /* The beginning of argv, which has been read: the operands so far. */
    const char **operands;
    size_t operands_len;
} cli_arguments;

/* Reads argv into *options. Prints what is wrong; returns an exit code. Members of *arguments are set
 * whenever a function of the command is called. */
int cli_command_read(const cli_command *command, cli_arguments *arguments, void *options);

/* Refuses a list of files that has "-" more than once. Prints what is wrong; returns CLI_USAGE, or
 * CLI_DONE. */
int cli_check_stdin(const char *const *files, size_t len);

#endif
