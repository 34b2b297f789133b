/* Attaches to a process that runs already: record --pid.
 *
 *     hazards.c   what forbids it
 *     target.c    the process, seen from outside
 *     stop.c      one thread is stopped once, to make a thread that loads the agent
 *     load.c      ... where its code goes, and what it needs
 *     attach.c    the agent is told to record, and to stop (agent/base/attach.h)
 *
 * Nothing is borrowed that would have to be given back: this process may be killed at any point. */
#ifndef CLI_ATTACH_H
#define CLI_ATTACH_H

#include "attach/target.h"

typedef struct cli_attach {
    const char *agent;      /* its file */
    const char *dir;        /* as the process sees it; empty: none */
    int64_t duration_nanos; /* 0: until a signal */
    bool has_report;
} cli_attach;

/* Weak: NULL on other processors than x86-64 and arm64. */
#define CLI_ATTACH_API __attribute__((weak))

/* Each returns an exit code. Open the process first: prints what forbids to attach. is_stop: to end what another run
 * records. */
CLI_ATTACH_API int cli_attach_open(pid_t pid, bool is_stop);

/* Records it, with the agent's variables of the environment, until the time is over, or a signal. */
CLI_ATTACH_API int cli_attach_record(const cli_attach *how);
CLI_ATTACH_API int cli_attach_stop(void);

/* Has the process other mounts, or another root directory? Its folder is opened through /proc/PID/root then. */
CLI_ATTACH_API bool cli_attach_is_apart(pid_t pid);

/* load.c. Brings the agent into the process. */
int cli_attach_load(const cli_target *t, const cli_attach *how, const cli_tls *tls);

void cli_attach_rest(unsigned milliseconds);

/* hazards.c. Opens the objects of the target. Prints what forbids to attach. */
int cli_attach_check(cli_target *t, cli_tls *tls);

#endif
