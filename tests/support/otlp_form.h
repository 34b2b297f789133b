/* Whether a request that the library wrote has the form that pprofdelta-formats(5) promises: entry 0 of each
 * table is the zero value, every other entry is used, none is there twice, every index is in its table, no
 * list has a key twice, and every line has a function. These are the rules of OpenTelemetry's profcheck with
 * its checks of duplicates and orphans, and stricter: what only an unused entry refers to is unused. */
#ifndef PD_TESTS_OTLP_FORM_H
#define PD_TESTS_OTLP_FORM_H

#include "arena.h"
#include "otlp.pb-c.h"

/* NULL, or what is wrong. */
const char *otlp_form_wrong(arena *a, const Pd__Otlp__Request *request);

/* The same for the bytes of a request, compressed or not. */
const char *otlp_form_wrong_bytes(arena *a, const void *bytes, size_t len);

#endif
