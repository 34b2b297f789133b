/* The texts that the models of otlp_model.h are made of. The reader of pprof and the reader of OTLP
 * each take a profile apart; both pass the parts to these functions, so that equal parts become equal
 * texts. */
#ifndef PD_TESTS_OTLP_MEANING_H
#define PD_TESTS_OTLP_MEANING_H

#include "arena.h"

#include <protobuf-c/protobuf-c.h>

/* Lines in any order. Zero all but the arena to begin. */
typedef struct meaning {
    arena *arena;
    const char **list;
    size_t len, cap;
} meaning;

void meaning_add(meaning *m, const char *line);
void meaning_add_text(meaning *m, const char *name, const char *text);
void meaning_add_times(meaning *m, uint64_t start, uint64_t duration);
void meaning_sort(meaning *m);

/* Sorts the lines, and returns them as one text. A line "sample WHAT VALUE" stands for all with the same
 * WHAT; VALUE is their sum. */
const char *meaning_join(meaning *m);

/* Is a line there twice? Sorts the lines. */
bool meaning_has_twice(meaning *m);

/* A string as OTLP has it, in quotes, with its length, so that no two have one text. A byte that is
 * not UTF-8 becomes U+FFFD. */
const char *meaning_quoted(arena *a, ProtobufCBinaryData text);

/* A request's own strings must need no repair. */
bool meaning_is_utf8(ProtobufCBinaryData text);

const char *meaning_number(arena *a, int64_t number, const char *unit);
/* "none" if nothing is known of it: OTLP has entry 0 for it. */
const char *meaning_mapping(arena *a, uint64_t start, uint64_t limit, uint64_t offset,
                            const char *file, const char *build_id, const char *has);
const char *meaning_function(arena *a, const char *name, const char *system_name, const char *file,
                             int64_t start_line);

/* Labels: "KEY: VALUE, VALUE;" for each key, sorted by key, the values in order. */
typedef struct meaning_labels {
    meaning keys, values; /* values.list[i]: all of keys.list[i] so far */
} meaning_labels;

meaning_labels meaning_labels_begin(arena *a);
void meaning_labels_add(meaning_labels *l, const char *key, const char *value);
const char *meaning_labels_end(meaning_labels *l);

/* As buf_format, for text of any length. */
#define MEANING_FORMAT(out, ...) buf_text((out), arena_format((out)->arena, __VA_ARGS__))

#endif
