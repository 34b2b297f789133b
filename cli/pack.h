/* The delta on its way to its sink, compressed by two processors where that pays. */
#ifndef CLI_PACK_H
#define CLI_PACK_H

#include "pprofdelta.h"

#include <pthread.h>
#include <stdbool.h>

typedef struct cli_pack {
    pprofdelta_pack *state; /* from the call that makes the window; ours from then on */
    pthread_t thread;
    bool is_running;
} cli_pack; /* zero it to begin */

/* Begins to compress it, beside what this thread does next, unless somebody does already. */
void cli_pack_start(cli_pack *pack, bool has_helper);

/* Does what is left to do, and hands it over. */
pprofdelta_status cli_pack_finish(cli_pack *pack, const pprofdelta_sink *sink,
                                  pprofdelta_report *report, pprofdelta_error *err);

/* Where something else went wrong before that; twice is fine. */
void cli_pack_abandon(cli_pack *pack);

#endif
