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

typedef struct otlp_lines {
    arena *arena;
    const char **texts;
    size_t len, cap;
} otlp_lines;

void otlp_lines_add(otlp_lines *l, const char *line);

/* A string as OTLP has it, in quotes, with its length, so that no two have one text. A byte that is
 * not UTF-8 becomes U+FFFD. */
const char *otlp_quoted(arena *a, ProtobufCBinaryData text);
const char *otlp_quoted_text(arena *a, const char *text);
bool otlp_is_utf8(ProtobufCBinaryData text);

/* The request must be valid. */
otlp_lines otlp_points_of_request(arena *a, const Pd__Otlp__Request *request);

/* The ids of the profile are its indices, from 1. */
otlp_lines otlp_points_of_profile(arena *a, const Pd__View__Profile *profile);

/* NULL, or the first difference. Both are sorted. */
const char *otlp_lines_differ(arena *a, const otlp_lines *x, const otlp_lines *y);

#endif
