/* syscall(2), by which a program may end the process behind the C library's back (exit_group), or give it
 * another root directory.
 *
 * Every other call goes on to the C library's function with the arguments as they are. It is the last
 * thing that this function does, so that a compiler that optimizes jumps there: a child that shares
 * its parent's stack, or has a new one, then finds the stack as the caller left it. */
#include "agent/life/lifecycle.h"
#include "agent/base/next.h"

#include <errno.h>
#include <sys/syscall.h>

/* As it is called: all arguments are words, and unused ones are passed on unseen. */
typedef long raw_call(long number, long a, long b, long c, long d, long e, long f);

raw_call pd_raw_call __asm__("syscall") __attribute__((visibility("default")));

static raw_call *next_raw_call;

__attribute__((constructor)) static void find(void)
{
    int kept = errno;
    if (!next_raw_call)
        pd_find_next(&next_raw_call, "syscall");
    errno = kept;
}

long pd_raw_call(long number, long a, long b, long c, long d, long e, long f)
{
    if (!next_raw_call) /* the constructor of another library may come first */
        find();
    if (number == SYS_exit_group)
        pd_agent_end();
    if (number == SYS_chroot || number == SYS_pivot_root || number == SYS_setns)
        pd_agent_before_move(); /* the next sample starts the agent's thread again */
    if (!next_raw_call) {
        errno = ENOSYS;
        return -1;
    }
    return next_raw_call(number, a, b, c, d, e, f);
}
