/* 64-bit words that one thread writes under a lock and others read without it, whole.
 *
 * On a 32-bit machine a uint64_t may stand at any multiple of 4, where no instruction takes all of
 * it at once; these stand at multiples of 8 everywhere. */
#ifndef PD_HEAP_SHARED_H
#define PD_HEAP_SHARED_H

#include <stdint.h>

typedef uint64_t pd_shared_word __attribute__((aligned(8)));
typedef int64_t pd_shared_sum __attribute__((aligned(8)));

#endif
