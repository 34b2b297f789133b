/* The walk along a command line: options anywhere, operands in between, "--" before operands that
 * look like options. It is the same for every verb, and so is what it says about a wrong option. */
#ifndef CLI_ARGUMENTS_H
#define CLI_ARGUMENTS_H

#include <getopt.h>
#include <stdbool.h>

enum {
    CLI_END = -1,
    CLI_OPERAND = 1, /* optarg is the operand */
    CLI_WRONG = '?', /* said so already: return CLI_USAGE */
    CLI_LONG = 256   /* the values of long options without a letter begin here */
};

typedef struct cli_arguments {
    int argc;
    char **argv;
    const char *letters; /* as for getopt, behind "-:" */
    const struct option *options;
    bool has_ended; /* only operands are left */
} cli_arguments;

/* The next option's value with its argument in optarg, or one of the above. */
int cli_arguments_next(cli_arguments *arguments);

/* Says that a value is none that the option takes and returns CLI_USAGE. `allowed` ends the
 * sentence "must be ...". */
int cli_bad_value(const char *option, const char *value, const char *allowed);

/* The index of value among names (which NULL ends), or -1. */
int cli_choose(const char *value, const char *const *names);

/* Reads a number of bytes above 0: 4096, 64k, 512M, 8G, 1T, 64KiB, powers of 1024. */
bool cli_size_parse(const char *text, unsigned long long *size);
extern const char cli_size_allowed[];

#endif
