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

/* The functions below print what is wrong and return CLI_USAGE, or return CLI_DONE. */

/* The value is wrong. `allowed` ends the sentence "must be ...". */
int cli_bad_value(const char *option, const char *value, const char *allowed);

/* Sets *chosen to the index of value among names, which NULL ends. */
int cli_choose(const char *option, const char *value, const char *const *names, int *chosen);

/* Reads a number of bytes, as cli_size_parse. */
int cli_take_size(const char *option, const char *value, unsigned long long *size);

/* Refuses a list of files that has "-" more than once. */
int cli_check_stdin(const char *const *files, size_t len);

/* Reads a number of bytes above 0: 4096, 64k, 512M, 8G, 1T, 64KiB; k is 1024. Returns false if the
 * text is not such a number. cli_size_allowed describes them. */
bool cli_size_parse(const char *text, unsigned long long *size);
extern const char cli_size_allowed[];

#endif
