/* prctl, by which a program installs a filter of system calls: see life/confine.h. syscall(2) is in
 * exits.c. */
#include "agent/interposed/interpose_seccomp.h"

#include "agent/base/filter.h"
#include "agent/life/confine.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifndef SECCOMP_FILTER_FLAG_NEW_LISTENER
#define SECCOMP_FILTER_FLAG_NEW_LISTENER (1UL << 3)
#endif

static bool has_killing(long program)
{
    const struct sock_fprog *filter = (const struct sock_fprog *)program; // NOLINT
    return filter && filter->filter && pd_filter_kills(filter->filter, filter->len);
}

static bool is_killing(long number, long a, long b, long c)
{
    if (number == SYS_prctl)
        return a == PR_SET_SECCOMP && (b == (long)SECCOMP_MODE_STRICT ||
                                       (b == (long)SECCOMP_MODE_FILTER && has_killing(c)));
    return a == (long)SECCOMP_SET_MODE_STRICT ||
           (a == (long)SECCOMP_SET_MODE_FILTER && has_killing(c));
}

/* seccomp returns the thread that has another filter, or the new descriptor. */
static bool has_failed(long number, long flags, long result)
{
    bool is_descriptor = number != SYS_prctl && (flags & (long)SECCOMP_FILTER_FLAG_NEW_LISTENER);
    return is_descriptor ? result < 0 : result != 0;
}

long pd_call_confining(long number, long a, long b, long c, long d, long e, long f)
{
    bool is_confined = is_killing(number, a, b, c) && pd_agent_before_confine();
    long result = pd_next()->raw_call(number, a, b, c, d, e, f);
    if (is_confined && has_failed(number, b, result))
        pd_agent_confine_failed();
    return result;
}

int pd_raw_prctl(long option, long a, long b, long c, long d) __asm__("prctl")
    __attribute__((visibility("default")));

int pd_raw_prctl(long option, long a, long b, long c, long d)
{
    return (int)pd_call_confining(SYS_prctl, (int)option, a, b, c, d, 0);
}
