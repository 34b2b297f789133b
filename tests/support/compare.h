/* Holds what the library said against what the oracle expected: decoded, never byte by byte. */
#ifndef PD_TESTS_COMPARE_H
#define PD_TESTS_COMPARE_H

#include "oracle.h"

/* NULL where the output is as expected and compact; else the first thing that is not, in a. */
const char *compare_output(arena *a, const expectation *x, const void *bytes, size_t len);

/* The same for a report. */
const char *compare_report(arena *a, const expectation *x, const pprofdelta_report *got);

/* The places of a sample as an expected row tells them. */
const char *compare_stack(arena *a, const reading *r, const reading_sample *s);

/* Is a profile written compactly: ids dense from 1, nothing twice, nothing unused? */
const char *compare_compact(arena *a, const reading *r);

#endif
