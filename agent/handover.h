/* Handing a profile to a command: it gets the profile on its standard input, and says by its exit
 * status whether it has arrived.
 *
 * The command is nobody's child. The program may wait for its own children, whichever they are, and
 * is not to find one that it did not start; nor is it to be sent SIGCHLD. So a helper is made that
 * shares the memory of the process and tells nobody when it ends, and the helper starts the command
 * and waits for it:
 *
 *     agent's thread --clone, no signal--> helper --vfork, exec--> sh -c COMMAND
 *
 * The command has the environment that the program began with but for LD_PRELOAD and the agent's
 * variables, its standard output and error lead nowhere, and no descriptor of the program is open in
 * it. */
#ifndef PD_AGENT_HANDOVER_H
#define PD_AGENT_HANDOVER_H

#include <stddef.h>

typedef enum pd_handed {
    PD_HANDED = 0,
    PD_HANDED_NOT_STARTED, /* *detail: an errno value */
    PD_HANDED_FAILED,      /* *detail: its exit status, or 128 and the signal that killed it */
    PD_HANDED_TOO_LONG     /* *detail: the seconds that it was given */
} pd_handed;

/* Takes the environment as it is, for the commands: later it is the program's to change, at any
 * time. */
void pd_handover_begin(void);

/* Runs the command and waits for it, but not longer than so many seconds, after which it is
 * killed. One thread at a time may be here. */
pd_handed pd_hand_over(const char *command, const void *data, size_t len, unsigned seconds,
                       int *detail);

#endif
