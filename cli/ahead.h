/* Two processors: one reads cur while the other makes prev the base, or loads the state; then it
 * compresses what the other writes.
 *
 * It costs the memory of both profiles at once, and of a small profile hardly more than starting a
 * thread does: so it is for large files, and not for those who asked for less memory. */
#ifndef CLI_AHEAD_H
#define CLI_AHEAD_H

#include "input.h"
#include "pprofdelta.h"

#include <pthread.h>

typedef struct cli_ahead {
    pprofdelta_ahead *state; /* NULL: nothing is read ahead */
    const cli_input *in;
    cli_input file; /* what `in` points at, where the thread reads it */
    uint64_t limit;
    pthread_t thread;
    bool is_running;
} cli_ahead; /* zero it to begin */

/* Where two threads begin to pay, in bytes of file: beside another profile, which takes as long,
 * and beside a state, which does not. */
typedef enum cli_ahead_least {
    CLI_AHEAD_OF_PROFILE = 32 << 10,
    CLI_AHEAD_OF_STATE = 96 << 10
} cli_ahead_least;

/* Is it a file of so many bytes? */
bool cli_ahead_is_large(const char *path, uint64_t least);

/* Begins to read the file at path, if that may pay, and tells; the limit of memory tells who asked
 * for less. */
bool cli_ahead_start_file(cli_ahead *ahead, pprofdelta *context, const char *path, uint64_t limit,
                          cli_ahead_least least);

/* The same for what is in memory, and stays the caller's. */
void cli_ahead_start(cli_ahead *ahead, pprofdelta *context, const cli_input *in, uint64_t limit,
                     cli_ahead_least least);

/* The window of it, which is being compressed. Where there is none to be had, for whatever reason,
 * this is PPROFDELTA_E_AHEAD: the ordinary way finds out why. */
pprofdelta_status cli_ahead_window(cli_ahead *ahead, pprofdelta_pack **out,
                                   pprofdelta_report *report, pprofdelta_error *err);

/* Gives everything back, and the thread is gone; false where there was nothing. */
bool cli_ahead_end(cli_ahead *ahead);

#endif
