/* The state file: it keeps the last profile of one target for one consumer between runs.
 *
 *     open      lock FILE, or, if it does not exist, its directory
 *     load      FILE -> context
 *     prepare   context -> a temporary file beside FILE, synced: a full disk fails here
 *     move      rename it to FILE, sync the directory
 *     arrived   overwrite the last byte of FILE, and sync it
 *
 * The context has a pending window when it is prepared, and the delta is sent between move and
 * arrived. Wherever the run ends, FILE is the old state, the state with an open attempt, or the state
 * whose attempt has arrived (see pprofdelta_save). After move, nothing is written but one byte that
 * is there already.
 *
 * The lock is on the file. Move replaces the file, so a run that has waited for the lock checks
 * that FILE is still the file that it locked. The temporary file is locked before it is renamed to
 * FILE. */
#ifndef CLI_STATE_FILE_H
#define CLI_STATE_FILE_H

#include "pprofdelta.h"

#include <stdbool.h>
#include <sys/types.h>

typedef struct cli_state {
    const char *path;
    int lock;    /* the locked descriptor of FILE or of its directory; -1: none */
    bool exists; /* FILE exists, and is what is locked */
    dev_t device;
    ino_t inode; /* of the locked file */
    uid_t owner;
    gid_t group;
    unsigned long long len; /* of FILE */
    char *temporary;        /* the temporary file of the next state, after prepare, */
    int next;               /* and its descriptor, which holds its lock; -1: none */
    int failure;            /* the exit code of a failure that was printed, else 0 */
} cli_state;

typedef enum cli_waiting { CLI_WAIT, CLI_WAIT_QUIETLY, CLI_NO_WAIT } cli_waiting;

/* Each function prints what is wrong and returns an exit code. Close *state whatever they
 * return. */

/* Opens and locks the state. */
int cli_state_open(cli_state *state, const char *path, cli_waiting waiting);

/* Opens an existing state for reading, without a lock. */
int cli_state_look(cli_state *state, const char *path);

/* Loads FILE into the context. Does nothing if FILE does not exist. */
int cli_state_load(cli_state *state, pprofdelta *context);

/* Writes the state of the context beside FILE. */
int cli_state_prepare(cli_state *state, pprofdelta *context);

/* Renames it to FILE, and syncs that. If it does not return CLI_DONE, nothing may be sent. */
int cli_state_move(cli_state *state);

/* The delta has arrived: says so in FILE, and syncs that. */
int cli_state_arrived(cli_state *state);

/* Unlocks and closes the state, and removes temporary files. */
void cli_state_close(cli_state *state);

#endif
