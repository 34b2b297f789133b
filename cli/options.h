/* The command line of the delta, read into the library's options. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "pprofdelta.h"

#include <stdbool.h>

typedef enum cli_report_form { CLI_REPORT_NONE, CLI_REPORT_TEXT, CLI_REPORT_JSON } cli_report_form;

typedef struct cli_options {
    const char *prev, *cur; /* with a state: only cur, which is "-" where none was named */
    const char *output;     /* NULL: stdout */
    const char *state;      /* NULL: two files are compared */
    char *const *uploader;  /* its argument vector; NULL: the output goes to `output` */
    int64_t timeout_nanos;  /* for the uploader; 0: none */
    bool has_first;         /* --first was given */
    bool no_wait;           /* for the lock of the state */
    bool has_json;          /* --json was given: for the status */
    bool has_behind;        /* operands were given behind "--", where only --state has a command */
    cli_report_form status; /* tell what the state holds, and do nothing else */
    pprofdelta_options library;
    const char **counters, **gauges; /* what library points at; room for one an argument */
    int64_t started_nanos;           /* 0: not known */
    cli_report_form report;
    bool quiet;
    const char **files; /* of a sum, in order */
    size_t files_len;
    int (*print)(void); /* --help or --version was asked for: do this alone; else NULL */
} cli_options;

/* Reads argv into *options, which is to be freed whatever is returned. Prints what is wrong;
 * returns an exit code. */
int cli_options_parse(cli_options *options, int argc, char **argv);

/* The same for `pprofdelta sum`: the options that it shares with the delta, and any number of
 * files. help is what --help prints. */
int cli_options_parse_sum(cli_options *options, int argc, char **argv, int (*help)(void));

void cli_options_free(cli_options *options);

#endif
