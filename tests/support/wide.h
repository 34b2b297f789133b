/* 128-bit numbers of the compiler, for sums in oracles that must not wrap.
 *
 * gcc has them on 64-bit machines. clang has another name for them on all machines; tests on 32-bit
 * machines are built with it. There they can be neither divided nor converted to double. */
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
