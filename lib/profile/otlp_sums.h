/* Reads OTLP output back, apart from the writer, to verify it. */
#ifndef PD_PROFILE_OTLP_SUMS_H
#define PD_PROFILE_OTLP_SUMS_H

#include "base/error.h"
#include "base/mem.h"

/* Adds up the values of each Profile of the request: sums[0..profiles), in their order. Returns false
 * if the request is not what the writer writes: well-formed, with so many Profiles, one value in each
 * sample, and indices that are in their tables. */
bool pd_otlp_sums(pd_bytes request, pprofdelta_sum *sums, size_t profiles);

#endif
