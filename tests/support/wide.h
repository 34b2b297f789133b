/* Numbers of 128 bits, as the compiler has them: what oracles add up in never wraps.
 *
 * gcc has them where registers are of 64 bits; clang has its own name for them everywhere, which is
 * what tests on machines of 32 bits are built with. Neither divides them there, nor makes them a
 * double. */
#ifndef PD_TESTS_WIDE_H
#define PD_TESTS_WIDE_H

#include <stdint.h>

#ifdef __SIZEOF_INT128__
__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 uwide;
#elif defined __clang__
typedef _BitInt(128) wide;
typedef unsigned _BitInt(128) uwide;
#else
#error "the tests count in 128 bits: build them with clang, or configure with -Dtests=false"
#endif

static inline double wide_as_double(wide w)
{
    return (double)(int64_t)(w >> 64) * 0x1p64 + (double)(uint64_t)w;
}

#endif
