/* The receivers of profiles: what each needs, in one table. --for=NAME of the delta, sum, merge and record sets it in
 * one word; check --for=NAME says before sending what the receiver would do with a file (delta/receiver_rules.c). */
#ifndef CLI_RECEIVER_H
#define CLI_RECEIVER_H

#include "pprofdelta.h"

#include <stdbool.h>

/* In the order of the words of --for. */
typedef enum cli_receiver {
    CLI_FOR_NONE, /* not given */
    CLI_FOR_PYROSCOPE,
    CLI_FOR_PARCA,
    CLI_FOR_OTEL,
    CLI_FOR_PPROF,
    CLI_RECEIVERS
} cli_receiver;

#define CLI_RECEIVER_WORDS "", "pyroscope", "parca", "otel", "pprof"

typedef struct cli_needs {
    const char *name, *version; /* with which the rules were compared */
    pprofdelta_format format;
    pprofdelta_compression compression;
    bool is_snapshot; /* record: in-use values, and not their changes */
} cli_needs;

extern const cli_needs cli_receivers[CLI_RECEIVERS];

/* Of an option that is not given: the receiver's choice counts. */
#define CLI_NOT_GIVEN (-1)

/* Sets what is CLI_NOT_GIVEN to what the receiver needs. */
void cli_receiver_set(cli_receiver receiver, pprofdelta_format *format,
                      pprofdelta_compression *compression);

#endif
