/* What a profile means, as text, read naively through protobuf-c's message views: the same text for a
 * pprof profile and for the OTLP request that stands for it.
 *
 * One line for each value type, value of a sample (otlp_points.h), and member of the header, sorted.
 * The rules are those of pprofdelta-formats(5), derived
 * apart from the library. */
#ifndef PD_TESTS_OTLP_MODEL_H
#define PD_TESTS_OTLP_MODEL_H

#include "otlp_points.h"
#include "pprofdelta.h"

typedef struct otlp_model {
    bool is_empty; /* there is nothing to send */
    size_t points; /* of a pprof profile */
    const char *text;
    const char *resource; /* "KEY=VALUE;" for each attribute, in order */
    const char *wrong;    /* what is not as it must be in this request, or NULL; pprof: NULL */
    size_t types;
    /* Of a request: the types, and those that have a Profile, else NULL; and its id. */
    const char *all[PPROFDELTA_MAX_TYPES], *names[PPROFDELTA_MAX_TYPES];
    uint8_t ids[PPROFDELTA_MAX_TYPES][16];
} otlp_model;

/* Reads inflated bytes of a request that the library accepts. False if they cannot be unpacked. */
bool otlp_model_of_request(arena *a, const void *bytes, size_t len, otlp_model *out);

/* The lines of a model: "NAME TEXT", the times, and all lines with the points as one text, sorted. */
void otlp_model_add(otlp_lines *l, const char *name, const char *text);
void otlp_model_add_times(otlp_lines *l, uint64_t start, uint64_t duration);
const char *otlp_model_join(otlp_lines *l, const otlp_lines *points);

/* Every request that a test gets from a writer goes through this function. It reads the request (any
 * compression), and the library reads it, too. out->wrong: also what the library refuses, and where
 * the profile that the library makes of the request means something else. */
void otlp_model_read(arena *a, const void *bytes, size_t len, otlp_model *out);

bool otlp_model_read_pprof(arena *a, const void *bytes, size_t len, otlp_model *out);

/* The profile written again as a request; empty if the library refuses it. */
buf otlp_request_of(arena *a, const pprofdelta_options *options, buf profile);

/* NULL, or the first line that differs. */
const char *otlp_model_differ(arena *a, const otlp_model *one, const otlp_model *other);

#endif
