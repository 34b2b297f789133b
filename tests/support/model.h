/* A profile as a graph of objects, without ids and string indices. The builder makes models by
 * hand, the generator draws them, and serial.h encodes them. Strings are never NULL; "" is no
 * string. Everything is in the owner's arena. */
#ifndef PD_TESTS_MODEL_H
#define PD_TESTS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct model_type {
    const char *type, *unit;
} model_type;

typedef struct model_mapping {
    uint64_t start, limit, offset;
    const char *filename, *build_id;
    bool has_functions, has_filenames, has_line_numbers, has_inline_frames;
    size_t index; /* its index in the model; set by model_number */
} model_mapping;

typedef struct model_function {
    const char *name, *system_name, *filename;
    int64_t start_line;
    size_t index;
} model_function;

typedef struct model_line {
    model_function *function;
    int64_t line, column;
} model_line;

typedef struct model_location {
    model_mapping *mapping; /* NULL: none */
    uint64_t address;
    model_line *lines;
    size_t lines_len;
    bool is_folded;
    size_t index;
} model_location;

typedef struct model_label {
    const char *key, *str;
    int64_t num;
    const char *unit;
} model_label;

typedef struct model_sample {
    model_location **stack; /* leaf first */
    size_t depth;
    model_label *labels;
    size_t labels_len;
    int64_t *values; /* one per type */
} model_sample;

typedef struct model {
    model_type *types;
    size_t types_len, types_cap;
    model_mapping **mappings; /* the first is the main binary */
    size_t mappings_len, mappings_cap;
    model_function **functions;
    size_t functions_len, functions_cap;
    model_location **locations;
    size_t locations_len, locations_cap;
    model_sample **samples;
    size_t samples_len, samples_cap;
    const char **comments;
    size_t comments_len, comments_cap;
    const char *drop_frames, *keep_frames, *default_sample_type, *doc_url;
    model_type period_type;
    int64_t period, time_nanos, duration_nanos;
} model;

static const model model_empty = {.drop_frames = "",
                                  .keep_frames = "",
                                  .default_sample_type = "",
                                  .doc_url = "",
                                  .period_type = {"", ""}};

static inline void model_number(model *m)
{
    for (size_t i = 0; i < m->mappings_len; i++)
        m->mappings[i]->index = i;
    for (size_t i = 0; i < m->functions_len; i++)
        m->functions[i]->index = i;
    for (size_t i = 0; i < m->locations_len; i++)
        m->locations[i]->index = i;
}

#endif
