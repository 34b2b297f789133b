/* The heap profile of a process, byte for byte in the manner of Go's runtime. */
#ifndef PD_BENCH_GOLOOK_H
#define PD_BENCH_GOLOOK_H

#include "process.h"

#include <stdio.h>

/* Writes the profile, uncompressed. Returns 0, or -1 when the file does not take it. */
int golook_write(const process *p, int64_t time_nanos, FILE *file);

#endif
