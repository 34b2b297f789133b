/* A second processor for what is never in memory whole, because it is large or because somebody asked
 * for less memory: it inflates ahead of what this one reads, and compresses. */
#ifndef CLI_HELPER_H
#define CLI_HELPER_H

#include "input.h"
#include "pprofdelta.h"

#include <pthread.h>

typedef struct cli_helper {
    pprofdelta_helper *state; /* NULL: there is none */
    pthread_t thread;
} cli_helper; /* zero it to begin */

/* A file of so many bytes may be for a helper, and one of fewer is for who reads ahead (ahead.h). */
enum { CLI_HELPER_LARGE = 2 << 20 };

/* Begins to help with what the context reads, `in` being the first of it, if that pays, and tells. */
bool cli_helper_start(cli_helper *helper, pprofdelta *context, const cli_input *in);

/* The thread is gone, and what it took given back; false where there was none. */
bool cli_helper_end(cli_helper *helper);

#endif
