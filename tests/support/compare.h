/* Compares the output of the library with that of the oracle, decoded, never by bytes. */
#ifndef PD_TESTS_COMPARE_H
#define PD_TESTS_COMPARE_H

#include "oracle.h"

/* Returns NULL if the output is as expected and compact; else the first difference, in a. */
const char *compare_output(arena *a, const expectation *x, const void *bytes, size_t len);

/* The same for a report. */
const char *compare_report(arena *a, const expectation *x, const pprofdelta_report *got);

/* The places of a sample in the form of an expected row. */
const char *compare_stack(arena *a, const reading *r, const reading_sample *s);

/* Returns whether a profile is compact: dense ids from 1, nothing twice, nothing unused. */
const char *compare_compact(arena *a, const reading *r);

#endif
