#include "record_scene.h"

#include "scene.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_PC = 0x1000 };

static void symbolize(void *cookie, uint64_t pc, pprofdelta_symbol *out)
{
    record_scene *s = cookie;
    pprofdelta_frame *frame = ARENA_ARRAY(&s->arena, pprofdelta_frame, 1);
    *frame = (pprofdelta_frame){.name = s->words[pc - FIRST_PC], .filename = "file.c", .line = 1};
    *out = (pprofdelta_symbol){frame, 1, 0};
}

void record_begin(record_scene *s)
{
    memset(s, 0, sizeof *s);
    s->options = (pprofdelta_recorder_options)PPROFDELTA_RECORDER_OPTIONS_INIT;
    s->options.id = 1;
    s->options.compression = PPROFDELTA_PLAIN;
    s->options.flags = PPROFDELTA_NO_MAPPINGS | PPROFDELTA_VERIFY;
    s->options.symbolize = symbolize;
    s->options.symbolize_cookie = s;
    s->look.time_nanos = 1000;
}

void record_end(record_scene *s)
{
    pprofdelta_recorder_free(s->recorder);
    arena_free(&s->arena);
}

static uint64_t pc_of(record_scene *s, const char *word, size_t len)
{
    for (size_t i = 0; i < s->words_len; i++)
        if (strlen(s->words[i]) == len && memcmp(s->words[i], word, len) == 0)
            return FIRST_PC + i;
    s->words[s->words_len] = arena_format(&s->arena, "%.*s", (int)len, word);
    return FIRST_PC + s->words_len++;
}

void record_set(record_scene *s, size_t row, const char *values)
{
    int64_t *out = ARENA_ARRAY(&s->arena, int64_t, PPROFDELTA_MAX_TYPES);
    char *end = (char *)(uintptr_t)values;
    for (size_t i = 0; i < PPROFDELTA_MAX_TYPES && *end; i++)
        out[i] = strtoll(end, &end, 0);
    s->rows[row].values = out;
}

size_t record(record_scene *s, const char *stack, int64_t block_size, const char *values)
{
    uint64_t *pcs = ARENA_ARRAY(&s->arena, uint64_t, strlen(stack) + 1);
    pprofdelta_record *row = &s->rows[s->rows_len];
    *row = (pprofdelta_record){.stack = pcs, .block_size = block_size};
    while (*stack) {
        size_t len = strcspn(stack, " ");
        pcs[row->depth++] = pc_of(s, stack, len);
        stack += len + (stack[len] == ' ');
    }
    record_set(s, s->rows_len, values);
    return s->rows_len++;
}

const char *record_pending(record_scene *s)
{
    if (!s->recorder) {
        s->status =
            pprofdelta_recorder_new(&s->options, tracking(&s->memory), &s->recorder, &s->err);
        if (s->status)
            return arena_format(&s->arena, "[%s]", s->err.text);
    }
    collector c = {.bytes = buf_begin(&s->arena)};
    s->report.size = sizeof s->report;
    s->status = pprofdelta_recorder_begin(s->recorder, &s->look, &s->err);
    for (size_t i = 0; i < s->rows_len && !s->status; i++)
        s->status = pprofdelta_recorder_add(s->recorder, &s->rows[i], &s->err);
    if (!s->status)
        s->status = pprofdelta_recorder_write(s->recorder, collecting(&c), &s->report, &s->err);
    s->look.time_nanos += 1000;
    s->look.restarted = s->look.has_unloaded = 0;
    if (s->status)
        return arena_format(&s->arena, "[%s]", s->err.text);
    s->bytes = c.bytes;
    if (reading_make(&s->arena, c.bytes.ptr, c.bytes.len, &s->out))
        return "[not a valid profile]";
    return scene_rows(&s->out);
}

const char *record_window(record_scene *s)
{
    const char *line = record_pending(s);
    if (s->recorder && !s->status)
        pprofdelta_recorder_commit(s->recorder);
    else if (s->recorder)
        pprofdelta_recorder_abandon(s->recorder);
    return line;
}

const char *record_next(record_scene *s, size_t row, const char *values)
{
    record_set(s, row, values);
    return record_window(s);
}
