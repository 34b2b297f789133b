/* The command line of a verb: one table of options, from which it is read and --help is printed. The
 * completions of the shells read --help, and a test holds the manual against it.
 *
 * Options stand anywhere, operands between them, and "--" before operands that begin with "-". */
#ifndef CLI_ARGUMENTS_H
#define CLI_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum cli_arity { CLI_ALONE, CLI_VALUE, CLI_MAY_HAVE_VALUE } cli_arity;

typedef struct cli_option {
    const char *name; /* "--output" */
    char letter;      /* 'o'; '0' stands for -0 to -9, whose value is the whole argument; or 0 */
    cli_arity arity;
    /* Reads the value (NULL: none) into the member at `at` of the verb's options. NULL: prints the help,
     * and ends the table. */
    void (*take)(const struct cli_option *option, const char *value, void *member);
    size_t at;
    int what;         /* for take */
    unsigned not_of;  /* bits of the verbs that have the table, but not this option */
    const char *help; /* its lines of --help */
} cli_option;

typedef struct cli_command {
    const char *before;        /* the lines of --help before those of the options */
    const char *after;         /* and after them; NULL: none */
    const cli_option *options; /* that of --help is the last */
    bool is_for_command; /* the operands are a command with its arguments: it ends the options */
    const char *missing; /* the message if there is no operand; NULL: there need not be one */
    unsigned verb;       /* its bit in cli_option.not_of; 0: none */
} cli_command;

/* Where the command line is being read. */
typedef struct cli_arguments {
    int argc;
    char **argv;
    bool has_ended; /* "--" was read: only operands are left */
    /* The beginning of argv, which has been read: the operands so far, and NULL at the end. */
    const char **operands;
    size_t operands_len, ended_at; /* how many stand before "--", or before the command */
} cli_arguments;

/* Reads argv into *options. Members of *arguments are set whenever a function of the command is called. After --help,
 * and if the command line is wrong, the process ends: so do all functions below (cli_usage). */
void cli_command_read(const cli_command *command, cli_arguments *arguments, void *options);

/* Refuses a list of files that has an empty name, or "-" more than once, or at all if the files are read again. */
void cli_check_files(const char *const *files, size_t len, bool are_read_again);

/* ---- the values of options that several verbs have -----------------------------------------------
 */

/* The value is wrong. `allowed` ends the sentence "must be ...". */
_Noreturn void cli_bad_value(const char *option, const char *value, const char *allowed);

/* option.what: which words an option takes (cli_choices). Their order is that of the values of the library, or of
 * cli_report_form. */
enum {
    CLI_COMPRESSION,
    CLI_BODY,
    CLI_FORMAT,
    CLI_ON_RESET,
    CLI_FIRST,
    CLI_DEFAULT_TYPE,
    CLI_REPORT,
    CLI_STATUS,
    CLI_CHOICES
};

typedef enum cli_report_form { CLI_REPORT_NONE, CLI_REPORT_TEXT, CLI_REPORT_JSON } cli_report_form;

enum { CLI_OPENMETRICS = CLI_REPORT_JSON + 1 }; /* of --status only */

/* A list ends with NULL. One that begins with an empty word is of an option that need not have a value. */
enum { CLI_WORDS_MOST = 6 };
extern const char *const cli_choices[CLI_CHOICES][CLI_WORDS_MOST];

/* The number of the value among such words. */
int cli_choose(const cli_option *option, const char *const *words, const char *value);

enum { CLI_CLEARED = 1 }; /* a flag becomes false */

/* option.what: what an option names. */
enum { CLI_OUT, CLI_STATE, CLI_FOLDER, CLI_SHELL };

/* For cli_option.take: each reads the value into a member of the type in its comment. */
void cli_take_flag(const cli_option *option, const char *value, void *flag); /* bool */
void cli_take_quiet(const cli_option *option, const char *value,
                    void *none);                                             /* sets cli_is_quiet */
void cli_take_bit(const cli_option *option, const char *value, void *bits);  /* unsigned |= what */
void cli_take_text(const cli_option *option, const char *value, void *text); /* const char * */
void cli_take_size(const cli_option *option, const char *value, void *size); /* uint64_t: bytes */
void cli_take_rows(const cli_option *option, const char *value, void *rows); /* size_t, above 0 */
void cli_take_span(const cli_option *option, const char *value, void *nanos); /* int64_t */
void cli_take_type(const cli_option *option, const char *value, void *type);  /* const char * */
void cli_take_name(const cli_option *option, const char *value, void *name);  /* const char * */
void cli_take_choice(const cli_option *option, const char *value,
                     void *chosen); /* int or an enum */

/* Reads a number of bytes above 0: 4096, 64k, 512M, 8G, 1T, 64KiB; k is 1024. Returns false if the
 * text is not such a number. cli_size_allowed describes them. */
bool cli_size_parse(const char *text, uint64_t *size);
extern const char cli_size_allowed[];

#endif
