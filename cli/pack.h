/* The delta on its way to its sink, compressed by two processors where that pays. */
#ifndef CLI_PACK_H
#define CLI_PACK_H

#include "parsed/pack.h"

#include <pthread.h>

typedef struct cli_pack {
    pd_pack state;
    pthread_t thread;
    bool has_begun, is_running;
} cli_pack; /* zero it to begin */

/* Begins to compress what the context's last window, made without a sink, has left. */
pprofdelta_status cli_pack_begin(cli_pack *pack, pprofdelta *context, pprofdelta_error *err);

/* Does what is left to do, and hands it over. Between the two the window may be committed and saved. */
pprofdelta_status cli_pack_finish(cli_pack *pack, const pprofdelta_sink *sink,
                                  pprofdelta_report *report, pprofdelta_error *err);

/* Where something else went wrong between the two. */
void cli_pack_abandon(cli_pack *pack);

#endif
