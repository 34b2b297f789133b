/* Reading a command line: options anywhere, operands between them, "--" before operands that begin
 * with "-". Every verb reads its command line with these functions. */
#ifndef CLI_ARGUMENTS_H
#define CLI_ARGUMENTS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    CLI_END = -1,
    CLI_OPERAND = 1, /* optarg is the operand */
    CLI_WRONG = '?', /* a message was printed: return CLI_USAGE */
    CLI_LONG = 256   /* the values of long options that have no letter begin here */
};

typedef struct cli_arguments {
    int argc;
    char **argv;
    const char *letters; /* as for getopt */
    const struct option *options;
    bool has_ended; /* only operands are left */
} cli_arguments;

/* Returns the value of the next option, with its argument in optarg, or one of the above. */
int cli_arguments_next(cli_arguments *arguments);

/* Refuses a list of files that has "-" more than once. Prints what is wrong; returns CLI_USAGE, or
 * CLI_DONE. */
int cli_check_stdin(const char *const *files, size_t len);

#endif
