/* pprofdelta --state FILE. */
#ifndef CLI_STATE_VERBS_H
#define CLI_STATE_VERBS_H

#include "delta/options.h"

/* Each prints and returns an exit code. */

/* One window, from the profile that FILE remembers to this one (verb_state.c). */
int cli_state_run(const cli_options *options);

/* --status: what is in FILE, as text or JSON (status.c). */
int cli_status_print(const cli_options *options);

#endif
