#include "build.h"

#include "serial.h"

#include <stdlib.h>
#include <string.h>

void build_free(build *b)
{
    arena_free(&b->arena);
    memset(b, 0, sizeof *b);
}

/* The next word of *text, which moves behind it; NULL at the end. */
static char *next_word(build *b, const char **text)
{
    *text += strspn(*text, " ");
    size_t len = strcspn(*text, " ");
    if (!len)
        return NULL;
    char *word = arena_format(&b->arena, "%.*s", (int)len, *text);
    *text += len;
    return word;
}

void build_types(build *b, const char *types)
{
    model *m = &b->m;
    for (char *word; (word = next_word(b, &types));) {
        char *slash = strchr(word, '/');
        *slash = 0;
        ARENA_PUSH(&b->arena, m->types, m->types_len, m->types_cap, (model_type){word, slash + 1});
    }
}

model_mapping *build_mapping(build *b, uint64_t start, uint64_t limit, uint64_t offset,
                             const char *filename, const char *build_id)
{
    model *m = &b->m;
    model_mapping *mapping = arena_alloc(&b->arena, sizeof *mapping);
    *mapping = (model_mapping){.start = start,
                               .limit = limit,
                               .offset = offset,
                               .filename = filename,
                               .build_id = build_id,
                               .has_functions = true};
    ARENA_PUSH(&b->arena, m->mappings, m->mappings_len, m->mappings_cap, mapping);
    return mapping;
}

model_function *build_function(build *b, const char *name, const char *filename)
{
    model *m = &b->m;
    model_function *f = arena_alloc(&b->arena, sizeof *f);
    *f = (model_function){.name = name, .system_name = name, .filename = filename};
    ARENA_PUSH(&b->arena, m->functions, m->functions_len, m->functions_cap, f);
    return f;
}

model_location *build_bare(build *b, const char *name, model_mapping *mapping, uint64_t address)
{
    model *m = &b->m;
    model_location *l = arena_alloc(&b->arena, sizeof *l);
    *l = (model_location){.mapping = mapping, .address = address};
    ARENA_PUSH(&b->arena, m->locations, m->locations_len, m->locations_cap, l);
    ARENA_PUSH(&b->arena, b->names, b->names_len, b->names_cap, (build_name){name, l});
    return l;
}

void build_line(build *b, model_location *location, model_function *function, int64_t line)
{
    size_t len = location->lines_len;
    model_line *lines = ARENA_ARRAY(&b->arena, model_line, len + 1);
    if (len)
        memcpy(lines, location->lines, len * sizeof *lines);
    lines[len] = (model_line){.function = function, .line = line};
    location->lines = lines;
    location->lines_len = len + 1;
}

model_location *build_place(build *b, const char *name, model_mapping *mapping, uint64_t address)
{
    model_location *l = build_bare(b, name, mapping, address);
    build_line(b, l, build_function(b, name, "file.go"), 1);
    return l;
}

static model_location *find_place(build *b, const char *name)
{
    for (size_t i = 0; i < b->names_len; i++)
        if (strcmp(b->names[i].name, name) == 0)
            return b->names[i].location;
    return build_place(b, name, NULL, 0);
}

model_sample *build_sample(build *b, const char *stack, const char *values)
{
    model *m = &b->m;
    model_sample *sample = arena_alloc(&b->arena, sizeof *sample);
    size_t cap = 0;
    for (char *word; (word = next_word(b, &stack));)
        ARENA_PUSH(&b->arena, sample->stack, sample->depth, cap, find_place(b, word));
    sample->values = ARENA_ARRAY(&b->arena, int64_t, m->types_len);
    char *end = (char *)(uintptr_t)values;
    for (size_t i = 0; i < m->types_len; i++)
        sample->values[i] = strtoll(end, &end, 0);
    ARENA_PUSH(&b->arena, m->samples, m->samples_len, m->samples_cap, sample);
    return sample;
}

void build_label(build *b, model_sample *sample, const char *key, const char *str, int64_t num,
                 const char *unit)
{
    size_t len = sample->labels_len;
    model_label *labels = ARENA_ARRAY(&b->arena, model_label, len + 1);
    if (len)
        memcpy(labels, sample->labels, len * sizeof *labels);
    labels[len] = (model_label){key, str, num, unit};
    sample->labels = labels;
    sample->labels_len = len + 1;
}

void build_comment(build *b, const char *comment)
{
    ARENA_PUSH(&b->arena, b->m.comments, b->m.comments_len, b->m.comments_cap, comment);
}

buf build_bytes_in(arena *a, build *b)
{
    static const serial_style plain = {0};
    model m = b->m;
    const char **texts[] = {&m.drop_frames, &m.keep_frames,      &m.default_sample_type,
                            &m.doc_url,     &m.period_type.type, &m.period_type.unit};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!*texts[i])
            *texts[i] = "";
    return serial_write(a, &m, &plain);
}

buf build_bytes(build *b)
{
    return build_bytes_in(&b->arena, b);
}
