/* A library that sets the clock of the program 30 days ahead as soon as a file "jumped" is there, and two hours behind as
 * long as a file "behind" is. */
#include "program.h"

int clock_gettime(clockid_t clock, struct timespec *now) // NOLINT: glibc's names are reserved
{
    int kept = errno;
    if (syscall(SYS_clock_gettime, clock, now))
        return -1;
    if (clock == CLOCK_REALTIME && access("jumped", F_OK) == 0)
        now->tv_sec += 30L * 24 * 3600;
    if (clock == CLOCK_REALTIME && access("behind", F_OK) == 0)
        now->tv_sec -= 2L * 3600;
    errno = kept;
    return 0;
}
