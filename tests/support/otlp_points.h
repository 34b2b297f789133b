/* What an OTLP request says, and what a pprof profile says, as sorted lists of texts that can be
 * compared: one text for each type, stack and set of labels, with the sum of their values, if that is
 * not zero.
 *
 * Both are read through protobuf-c's views. The rules for labels are derived from the manual. */
#ifndef PD_TESTS_OTLP_POINTS_H
#define PD_TESTS_OTLP_POINTS_H

#include "arena.h"
#include "otlp.pb-c.h"
#include "profile.pb-c.h"

typedef struct otlp_points {
    const char **texts;
    size_t len, cap;
} otlp_points;

/* The request must be valid. */
otlp_points otlp_points_of_request(arena *a, const Pd__Otlp__Request *request);

/* The ids of the profile are its indices, from 1. */
otlp_points otlp_points_of_profile(arena *a, const Pd__View__Profile *profile);

/* The first difference, or NULL. */
const char *otlp_points_differ(arena *a, const otlp_points *x, const otlp_points *y);

#endif
