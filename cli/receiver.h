/* The receivers of profiles: what each takes is a row of PPROFDELTA_RECEIVERS. --for=NAME of the delta, sum, merge, record
 * and recover sets it in one word; check --for=NAME says before sending what the receiver would do with a file
 * (delta/receiver_rules.c). */
#ifndef CLI_RECEIVER_H
#define CLI_RECEIVER_H

#include "arguments.h"
#include "pprofdelta.h"

#include <stdbool.h>

/* In the order of the rows. */
typedef enum cli_receiver {
    CLI_FOR_NONE, /* not given */
    CLI_FOR_PYROSCOPE,
    CLI_FOR_PARCA,
    CLI_FOR_OTEL,
    CLI_FOR_PPROF,
    CLI_RECEIVERS
} cli_receiver;

extern const pprofdelta_receiver cli_receivers[CLI_RECEIVERS];

/* For cli_option.take of --for. --help has what each receiver takes below the line of this option. */
void cli_receiver_take(const cli_option *option, const char *value, void *receiver);
void cli_receiver_help(void);

/* Of an option that is not given: the receiver's choice counts. */
#define CLI_NOT_GIVEN (-1)

/* Sets what is CLI_NOT_GIVEN to what the receiver needs. */
void cli_receiver_set(cli_receiver receiver, pprofdelta_format *format,
                      pprofdelta_compression *compression);

/* ---- windows that had to wait -------------------------------------------------------------------- */

/* What is to be sent, and may be too old. */
typedef struct cli_waiting {
    const char *name;
    cli_receiver receiver;
    int64_t max_age_nanos; /* --max-age; 0: not given */
    int64_t from_nanos, to_nanos;
    pprofdelta_format format; /* which decides by which of the two it is stored */
} cli_waiting;

/* Is it older than --max-age, or else than the receiver takes, at this time? */
bool cli_waiting_is_late(const cli_waiting *window, int64_t at_nanos);

/* Returns whether it must not be sent, because it is older than --max-age: prints that, and what happens `instead`. If it
 * is only older than what the receiver takes, prints that and what to do, unless it `is_told` already. */
bool cli_waiting_must_stay(const cli_waiting *window, bool is_told, const char *instead);

#endif
