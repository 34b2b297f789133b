#include "otlp_meaning.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines ----------------------------------------------------------------------------------- */

void meaning_add(meaning *m, const char *line)
{
    ARENA_PUSH(m->arena, m->list, m->len, m->cap, line);
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void meaning_sort(meaning *m)
{
    if (m->len > 1)
        qsort(m->list, m->len, sizeof *m->list, compare_lines);
}

/* The sample at *at of the sorted lines, with the sum of its values and of those of its equals, which
 * follow it. NULL: the sum is 0. Moves *at behind them. */
static const char *joined_sample(const meaning *m, size_t *at)
{
    const char *first = m->list[*at];
    int len = (int)(strrchr(first, ' ') - first) + 1;
    uint64_t sum = 0;
    for (; *at < m->len; ++*at) {
        const char *line = m->list[*at];
        if (strncmp(line, first, (size_t)len) != 0 || strrchr(line, ' ') != line + len - 1)
            break;
        sum += (uint64_t)strtoll(line + len, NULL, 10);
    }
    return sum ? arena_format(m->arena, "%.*s%" PRId64, len, first, (int64_t)sum) : NULL;
}

const char *meaning_join(meaning *m)
{
    buf all = buf_begin(m->arena);
    meaning_sort(m);
    for (size_t i = 0; i < m->len;) {
        bool is_sample = !strncmp(m->list[i], "sample ", 7);
        const char *line = is_sample ? joined_sample(m, &i) : m->list[i++];
        if (line) {
            buf_text(&all, line);
            buf_text(&all, "\n");
        }
    }
    return buf_string(&all);
}

bool meaning_has_twice(meaning *m)
{
    meaning_sort(m);
    for (size_t i = 1; i < m->len; i++)
        if (!strcmp(m->list[i - 1], m->list[i]))
            return true;
    return false;
}

void meaning_add_times(meaning *m, uint64_t start, uint64_t duration)
{
    meaning_add(m, arena_format(m->arena, "time %" PRIu64 " %" PRIu64, start, duration));
}

void meaning_add_text(meaning *m, const char *name, const char *text)
{
    meaning_add(m, arena_format(m->arena, "%s %s", name, text));
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* The length of a UTF-8 sequence by its decoded value; 0: none. */
static size_t decode(const uint8_t *p, size_t left)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t len = p[0] < 0x80       ? 1
                 : p[0] >> 5 == 6  ? 2
                 : p[0] >> 4 == 14 ? 3
                 : p[0] >> 3 == 30 ? 4
                                   : 0;
    if (len < 2 || len > left)
        return len > left ? 0 : len;
    uint32_t value = p[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) {
        if (p[i] >> 6 != 2)
            return 0;
        value = value << 6 | (p[i] & 0x3f);
    }
    bool is_surrogate = value >= 0xd800 && value < 0xe000;
    return value < least[len] || value > 0x10ffff || is_surrogate ? 0 : len;
}

const char *meaning_quoted(arena *a, ProtobufCBinaryData text)
{
    buf out = buf_begin(a);
    size_t len = 0;
    for (size_t at = 0; at < text.len;) {
        size_t good = decode(text.data + at, text.len - at);
        len += good ? good : 3;
        if (!good)
            buf_text(&out, "\\xef\\xbf\\xbd");
        for (size_t i = 0; i < good; i++) {
            uint8_t byte = text.data[at + i];
            if (byte < 32 || byte > 126 || byte == '\\')
                buf_format(&out, "\\x%02x", byte);
            else
                buf_add(&out, &byte, 1);
        }
        at += good ? good : 1;
    }
    return arena_format(a, "%zu'%s'", len, buf_string(&out));
}

bool meaning_is_utf8(ProtobufCBinaryData text)
{
    for (size_t at = 0; at < text.len;) {
        size_t good = decode(text.data + at, text.len - at);
        if (!good)
            return false;
        at += good;
    }
    return true;
}

const char *meaning_mapping(arena *a, uint64_t start, uint64_t limit, uint64_t offset,
                            const char *file, const char *build_id, const char *has)
{
    bool is_known = start || limit || offset || strcmp(file, "0''") != 0 ||
                    strcmp(build_id, "0''") != 0 || strcmp(has, "0000") != 0;
    if (!is_known)
        return "none";
    return arena_format(a, "%" PRIx64 "-%" PRIx64 "+%" PRIx64 " %s %s %s", start, limit, offset,
                        file, build_id, has);
}

const char *meaning_function(arena *a, const char *name, const char *system_name, const char *file,
                             int64_t start_line)
{
    const char *text = arena_format(a, "%s %s %s %" PRId64, name, system_name, file, start_line);
    return strcmp(text, "0'' 0'' 0'' 0") ? text : "none";
}

const char *meaning_number(arena *a, int64_t number, const char *unit)
{
    return arena_format(a, "%" PRId64 " %s", number, unit);
}

/* ---- labels ---------------------------------------------------------------------------------- */

meaning_labels meaning_labels_begin(arena *a)
{
    return (meaning_labels){{.arena = a}, {.arena = a}};
}

void meaning_labels_add(meaning_labels *l, const char *key, const char *value)
{
    arena *a = l->keys.arena;
    for (size_t i = 0; i < l->keys.len; i++)
        if (!strcmp(l->keys.list[i], key)) {
            l->values.list[i] = arena_format(a, "%s, %s", l->values.list[i], value);
            return;
        }
    meaning_add(&l->keys, key);
    meaning_add(&l->values, value);
}

const char *meaning_labels_end(meaning_labels *l)
{
    arena *a = l->keys.arena;
    meaning all = {.arena = a};
    for (size_t i = 0; i < l->keys.len; i++)
        meaning_add(&all, arena_format(a, "%s: %s;", l->keys.list[i], l->values.list[i]));
    buf out = buf_begin(a);
    meaning_sort(&all);
    for (size_t i = 0; i < all.len; i++)
        buf_text(&out, all.list[i]);
    return buf_string(&out);
}
