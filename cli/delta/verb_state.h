/* pprofdelta --state FILE [CUR]: one window, from the look before to this one. */
#ifndef CLI_VERB_STATE_H
#define CLI_VERB_STATE_H

#include "delta/options.h"

/* Prints; returns an exit code. */
int cli_state_run(const cli_options *options);

#endif
