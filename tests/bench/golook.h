/* Writes the heap profile of a simulated process. */
#ifndef PD_BENCH_GOLOOK_H
#define PD_BENCH_GOLOOK_H

#include "process.h"

#include <stdio.h>

typedef enum golook_order {
    GOLOOK_BY_GO,    /* as Go's runtime: a location and its functions before its first sample */
    GOLOOK_BY_FIELDS /* as google/pprof and most encoders: in the order of the field numbers */
} golook_order;

/* Writes the profile to file, uncompressed. Returns 0, or -1 if that fails. */
int golook_write(const process *p, golook_order order, int64_t time_nanos, FILE *file);

#endif
