/* Two processors: one reads cur while the other makes prev the base, or loads the state.
 *
 * It costs the memory of both profiles at once, and of a small profile hardly more than starting a
 * thread does: so it is for large files, and not for those who asked for less memory. */
#ifndef CLI_AHEAD_H
#define CLI_AHEAD_H

#include "input.h"
#include "parsed/ahead.h"

#include <pthread.h>

typedef struct cli_ahead {
    pd_ahead state;
    pprofdelta *context;
    const cli_input *in;
    cli_input file; /* what `in` points at, where the thread reads it */
    uint64_t limit;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int progress; /* under the lock */
    bool has_begun, is_running;
} cli_ahead; /* zero it to begin */

/* Where two threads begin to pay, in bytes of file: beside another profile, which takes as long, and
 * beside a state, which does not. */
typedef enum cli_ahead_least {
    CLI_AHEAD_OF_PROFILE = 64 << 10,
    CLI_AHEAD_OF_STATE = 128 << 10
} cli_ahead_least;

/* Begins to read the file at path, if that may pay, and tells; the limit of memory tells who asked
 * for less. */
bool cli_ahead_start_file(cli_ahead *ahead, pprofdelta *context, const char *path, uint64_t limit,
                          cli_ahead_least least);

/* The same for what is in memory, and stays the caller's. */
void cli_ahead_start(cli_ahead *ahead, pprofdelta *context, const cli_input *in, uint64_t limit,
                     cli_ahead_least least);

/* Is it at work, so that there may be time for something else? */
static inline bool cli_ahead_is_running(const cli_ahead *ahead)
{
    return ahead->is_running;
}

/* Waits until it has come to the samples; true where the window can be made of it. Why it can not, the
 * ordinary way finds out. */
bool cli_ahead_wait(cli_ahead *ahead);

/* Waits until the thread is gone; what it read stays. */
void cli_ahead_join(cli_ahead *ahead);

/* Waits, and gives everything back; false where there was nothing. */
bool cli_ahead_end(cli_ahead *ahead, pprofdelta *context);

#endif
