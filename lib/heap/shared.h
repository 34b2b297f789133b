/* 64-bit words that one thread writes under a lock and others read, whole, without it.
 *
 * On a 32-bit machine a uint64_t may be aligned to 4 bytes; then no instruction reads all of it at
 * once. These are aligned to 8 bytes everywhere. */
#ifndef PD_HEAP_SHARED_H
#define PD_HEAP_SHARED_H

#include <stdint.h>

typedef uint64_t pd_shared_word __attribute__((aligned(8)));
typedef int64_t pd_shared_sum __attribute__((aligned(8)));

#endif
