/* The command lines of the delta, the sum and the merge, read into the options of the library. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "arguments.h"
#include "delta/uploader.h"
#include "pprofdelta.h"
#include "receiver.h"
#include "resource.h"

#include <stdbool.h>

typedef struct cli_options {
    const char *prev, *cur; /* with a state: only cur, "-" if none was given */
    const char *output;     /* NULL: stdout */
    const char *state;      /* NULL: two files are compared */
    cli_uploader uploader;  /* argv is NULL: the delta goes to `output` */
    int first;              /* -1: not given */
    bool no_wait;           /* do not wait for the lock of the state */
    bool has_json;          /* --json was given */
    int status; /* the form in which to print what is in the states, and do nothing else */
    cli_receiver receiver; /* --for */
    pprofdelta_options library;
    const char **counters, **gauges; /* what library points to; kept (keep.h) */
    cli_resource given;              /* the values of --resource */
    int64_t started_nanos;           /* 0: not known */
    int64_t max_age_nanos;           /* 0: every window is sent */
    cli_report_form report;
    cli_arguments arguments; /* the operands of a sum or a merge are its files */
} cli_options;

/* `pprofdelta sum` and `pprofdelta merge` have some options of the delta, and any number of files. */
extern const cli_command cli_delta_command, cli_sum_command, cli_merge_command;

/* Reads argv into *options. Prints what is wrong, and ends the process then (cli_must). */
void cli_options_parse(cli_options *options, const cli_command *command, int argc, char **argv);

#endif
