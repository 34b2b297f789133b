/* The nanoseconds of a clock. */
#pragma once
#include <stdint.h>
#include <time.h>

static inline int64_t now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
