/* What the agent was told to do, by the environment: what `pprofdelta record` sets, and what may be
 * set by hand beside LD_PRELOAD. They are read once, before the program's main, into storage of the
 * agent's own, since the program may change its environment.
 *
 *     PPROFDELTA_RECORD_DIR        where profiles go (default: the directory at the start)
 *     PPROFDELTA_RECORD_COMMAND    hand them to this shell command instead; what it does not take at
 *                                  the end goes to PPROFDELTA_RECORD_DIR, if that is set
 *     PPROFDELTA_RECORD_TIMEOUT    seconds that the command may take (as long as the interval, but at
 *                                  least 5 and at most 60)
 *     PPROFDELTA_RECORD_INTERVAL   seconds between two, with a fraction (60)
 *     PPROFDELTA_RECORD_RATE       bytes between two samples (524288)
 *     PPROFDELTA_RECORD_SNAPSHOT   1: in-use values as they stand
 *     PPROFDELTA_RECORD_SIGNAL     number of the signal that asks for one now (SIGUSR2; 0: none)
 *     PPROFDELTA_RECORD_THRESHOLD  bytes in use from which on the largest sites are written
 *     PPROFDELTA_RECORD_PID        the process that writes a profile at its end in any case: COMMAND
 */
#ifndef PD_AGENT_SETTINGS_H
#define PD_AGENT_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { PD_PATH_MAX = 1024 };

typedef struct pd_settings {
    char dir[PD_PATH_MAX];   /* absolute, no slash at its end; empty: none, only with command */
    const char *command;     /* NULL: none */
    unsigned timeout;        /* seconds that command may take, at least 1 */
    uint64_t interval_nanos; /* at least a millisecond */
    uint64_t rate;           /* at least 1 */
    uint64_t threshold;      /* 0: none */
    int signal;              /* 0: none */
    pid_t command_pid;       /* of the process that record became; 0: not known */
    bool snapshot;
} pd_settings;

/* Reads the environment. Returns NULL, or which variable has a value that cannot be used. */
const char *pd_settings_read(pd_settings *settings);

#endif
