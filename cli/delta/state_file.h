/* The state file: it keeps the last profile of one target for one consumer between runs.
 *
 *     open      lock FILE, if it exists
 *     load      FILE -> context
 *     replace   context -> a temporary file, synced -> FILE: a full disk fails here
 *     arrived   overwrite the last byte of FILE, and sync it
 *
 * The context has a pending window when FILE is replaced, and the delta is sent between that and
 * arrived. Wherever the run ends, FILE is the old state, the state with an open attempt, or the state
 * whose attempt has arrived (see pprofdelta_save). After it is replaced, nothing is written but one
 * byte that is there already.
 *
 * The lock is on the file, which is replaced. So a run that has waited for the lock checks that FILE
 * is the file that it locked. The temporary file is locked before it is renamed to FILE.
 *
 * Nothing is locked before there is a FILE: a lock on the directory would be one for all states in it, and
 * other users could hold it. Several runs may make the first state at once. It gets its name only if no
 * other run was first; otherwise this run begins again, with the state that is there. */
#ifndef CLI_STATE_FILE_H
#define CLI_STATE_FILE_H

#include "delta/options.h"

#include <stdbool.h>
#include <sys/stat.h>

typedef struct cli_state {
    const char *path;
    int lock;       /* the locked descriptor of FILE; -1: it does not exist */
    struct stat is; /* what is locked */
} cli_state;

/* Each function prints what is wrong. Those that return no exit code end the process then (cli_must). */

/* Opens and locks the state of these options. If another run has locked it, waits, or fails with
 * --no-wait. */
void cli_state_open(cli_state *state, const cli_options *options);

/* Loads FILE into the context. Does nothing if FILE does not exist. */
int cli_state_load(cli_state *state, pprofdelta *context);

/* Opens an existing FILE, loads it and closes it, without a lock: a state is replaced as a whole, so an
 * open file does not change. */
int cli_state_read(cli_state *state, const char *path, pprofdelta *context);

/* Replaces FILE by the state of the context, or creates it, and syncs it. Returns false if
 * another run has created it since cli_state_open: then nothing may be sent. */
bool cli_state_replace(cli_state *state, pprofdelta *context);

/* The delta has arrived: says so in FILE, and syncs that. */
void cli_state_arrived(cli_state *state);

#endif
