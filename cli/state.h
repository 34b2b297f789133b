/* The state file: what is remembered of one target for one consumer, from run to run.
 *
 *     open      lock FILE (or, while there is none, the directory it will be in)
 *     load      FILE -> context
 *     found     where there is no FILE: an empty state -> a temporary file beside it, synced
 *     prepare   context -> a temporary file beside FILE, whole and synced: a full disk shows here
 *     attempt   record in FILE that the delta goes out, and sync that
 *     move      rename the next state to FILE, sync the directory: the one step that counts
 *
 * Between attempt and move the delta goes out. Whatever ends the run, and wherever, FILE is the old
 * state, the old state with one attempt more, or the new state. An attempt is one zero byte behind
 * the old state (see pprofdelta_save), or, where there was no FILE, an empty state with one attempt.
 *
 * The lock is on the file itself: who waited for it looks again whether FILE is still what was
 * locked, as the run before has put another in its place. A FILE that the run makes is locked before
 * it has its name. */
#ifndef CLI_STATE_H
#define CLI_STATE_H

#include "pprofdelta.h"

#include <stdbool.h>
#include <sys/types.h>

typedef struct cli_state {
    const char *path;
    int lock;    /* the descriptor of FILE, or of its directory; -1 */
    bool exists; /* FILE was there, and is locked */
    dev_t device;
    ino_t inode; /* of what is locked */
    uid_t owner;
    gid_t group;
    unsigned long long len; /* of FILE */
    char *founded;          /* an empty state that is to become FILE, */
    int founded_lock;       /* and its descriptor, which holds its lock */
    char *temporary;        /* the next state, once it is prepared */
    int failure;            /* the exit code of a failure that was told, else 0 */
} cli_state;

typedef enum cli_waiting { CLI_WAIT, CLI_WAIT_QUIETLY, CLI_NO_WAIT } cli_waiting;

/* Locks the state. Prints what is wrong; returns an exit code. *state is to be closed whatever is
 * returned. */
int cli_state_open(cli_state *state, const char *path, cli_waiting waiting);

/* Opens a state that is there, to look at, without a lock. */
int cli_state_look(cli_state *state, const char *path);

/* Makes the context remember what FILE holds; nothing, where there is none. Prints; an exit
 * code. */
int cli_state_load(cli_state *state, pprofdelta *context);

/* Where there is no FILE: writes an empty state, with the pending window's attempt, beside it. For
 * a context whose window is not committed yet. Prints; an exit code. */
int cli_state_found(cli_state *state, pprofdelta *context);

/* Records in FILE that the window's delta is about to be sent. After CLI_DONE that is on the disk.
 * Prints; an exit code. */
int cli_state_attempt(cli_state *state);

/* Writes what the context remembers beside FILE. Prints; an exit code. */
int cli_state_prepare(cli_state *state, pprofdelta *context);

/* Puts it in FILE's place. Prints; an exit code: after CLI_DONE it is there, else FILE is as it
 * was. */
int cli_state_move(cli_state *state);

/* Lets go; what was prepared and not moved is removed. */
void cli_state_close(cli_state *state);

#endif
