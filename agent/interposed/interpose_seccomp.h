/* A system call by which a program may install a filter: see life/confine.h. */
#ifndef PD_AGENT_INTERPOSE_SECCOMP_H
#define PD_AGENT_INTERPOSE_SECCOMP_H

#include "agent/base/real.h"

/* Makes the system call, prctl or seccomp, as syscall(2) does. */
long pd_call_confining(long number, long a, long b, long c, long d, long e, long f);

#endif
