/* The state file: it keeps the last profile of one target for one consumer between runs.
 *
 *     open      lock FILE, or, if it does not exist, its directory
 *     load      FILE -> context
 *     found     if FILE does not exist: an empty state -> a temporary file beside it, synced
 *     prepare   context -> a temporary file beside FILE, synced: a full disk fails here
 *     attempt   record in FILE that the delta is about to be sent, and sync it
 *     move      rename the next state to FILE, sync the directory
 *
 * The delta is sent between attempt and move. Wherever the run ends, FILE is the old state, the old
 * state with one more attempt, or the new state. An attempt is one zero byte after the old state
 * (see pprofdelta_save), or, if FILE did not exist, an empty state with one attempt.
 *
 * The lock is on the file. Move replaces the file, so a run that has waited for the lock checks
 * that FILE is still the file that it locked. A FILE that a run creates is locked before it is
 * renamed to FILE. */
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
    char *founded;          /* the temporary file of an empty state that will become FILE, */
    int founded_lock;       /* and its descriptor, which holds its lock */
    char *temporary;        /* the temporary file of the next state, after prepare */
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

/* If FILE does not exist: writes an empty state with the attempt of the pending window beside it.
 * Call it before the window is committed. */
int cli_state_found(cli_state *state, pprofdelta *context);

/* Records in FILE that the delta is about to be sent. After CLI_DONE the record is on the disk. */
int cli_state_attempt(cli_state *state);

/* Writes the state of the context beside FILE. */
int cli_state_prepare(cli_state *state, pprofdelta *context);

/* Renames it to FILE. Unless it returns CLI_DONE, FILE is unchanged. */
int cli_state_move(cli_state *state);

/* Unlocks and closes the state, and removes temporary files. */
void cli_state_close(cli_state *state);

#endif
