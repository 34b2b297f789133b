/* How the command attaches to a process that runs already: what it shares with the agent there.
 *
 * The agent exports one of these, pd_agent_attach. The command reads and writes it from outside (/proc/PID/mem), so
 * the process has no descriptor and no mapping for it. A thread of the agent's looks at it once in a while:
 *
 *     PARKED     nothing is recorded, and no function is replaced. The thread sleeps
 *     RECORDING  as long as `wanted` is set, and `beat` changes if has_lease is set: a command that was killed
 *                writes no beat any more
 *
 * Whoever starts the agent in its own process (pd_agent_start_late) writes it as well. */
#ifndef PD_AGENT_ATTACH_H
#define PD_AGENT_ATTACH_H

#include "agent/base/launch.h"

#include <stdatomic.h>

#define PD_ATTACH_LAYOUT UINT64_C(0x0161746d66647070) /* of this version */

typedef enum pd_attach_state {
    PD_ATTACH_NONE = 0, /* there is no thread */
    PD_ATTACH_PARKED,
    PD_ATTACH_RECORDING
} pd_attach_state;

enum {
    PD_ATTACH_SETTINGS = 96 << 10, /* bytes of the settings */
    PD_ATTACH_TEXT = 8 << 10,      /* bytes of messages */
    PD_ATTACH_LEASE_SECONDS = 10
};

typedef struct pd_attach {
    uint64_t layout;
    _Atomic uint64_t files, samples; /* of this recording, or the last one */
    _Atomic uint32_t pid;    /* of the process that has the thread; a child of a fork has none */
    _Atomic uint32_t state;  /* written by the agent */
    _Atomic uint32_t wanted; /* 1: record; the agent sets it to 0 if it cannot, and at the end */
    _Atomic uint32_t has_lease, beat; /* written by the command */
    _Atomic uint32_t runs;            /* recordings that were begun, or refused */
    _Atomic uint32_t text_len;
    char settings
        [PD_ATTACH_SETTINGS]; /* NAME=VALUE as in an environment, each with a NUL, and one more NUL */
    char text[PD_ATTACH_TEXT]; /* lines, for the command */
} pd_attach;

#endif
