/* The quick reader of tables in the form that encoders write: the fields of a message in order,
 * each at most once, no unknown fields, ids that count 1, 2, 3 ...
 *
 * Any other message, and one for which an array has no room, is left for the careful reader in
 * tables.c, which reports all errors. Nothing fails here. */
#include "profile/tables_quick.h"

#include "wire/reader.h"

/* Decoding reads up to this many bytes after the start of a number. */
enum { SLACK = 8 };

enum { VARINT = 0, BYTES = 2 }; /* wire types, the low bits of a tag */

#define TAG(number, wire) ((uint8_t)((number) << 3 | (wire)))

/* Takes the field with this tag off the front, if it is there; else *value stays. */
static inline bool take(pd_reader *r, uint8_t tag, uint64_t *value)
{
    const uint8_t *p = r->at;
    if (p == r->end || *p != tag)
        return true;
    if (p[1] < 0x80) {
        *value = p[1];
        p += 2;
    } else if (!(p = pd_varint_decode_short(p + 1, value))) {
        return false;
    }
    r->at = p;
    return p <= r->end;
}

static inline bool take_string(pd_reader *r, uint8_t tag, uint32_t *index)
{
    uint64_t value = 0;
    bool ok = take(r, tag, &value) && value < UINT32_MAX;
    *index = (uint32_t)value;
    return ok;
}

/* Whether the id continues the sequence 1, 2, 3 ... of the map. */
static inline bool is_next(const pd_idmap *map, uint64_t id)
{
    return id == map->len + 1 && map->len == map->sequential && map->len < PD_KEYMAP_MAX;
}

static inline void count(pd_idmap *map)
{
    map->sequential = ++map->len;
}

static bool read_function(pd_tables *t, const uint8_t *start, pd_reader r)
{
    pd_function f = {.off = (uint64_t)(start - t->bytes.ptr) + t->base};
    uint64_t id = 0, start_line = 0;
    bool ok = take(&r, TAG(PD_FUNCTION_ID, VARINT), &id) &&
              take_string(&r, TAG(PD_FUNCTION_NAME, VARINT), &f.name) &&
              take_string(&r, TAG(PD_FUNCTION_SYSTEM_NAME, VARINT), &f.system_name) &&
              take_string(&r, TAG(PD_FUNCTION_FILENAME, VARINT), &f.filename) &&
              take(&r, TAG(PD_FUNCTION_START_LINE, VARINT), &start_line);
    if (!ok || r.at != r.end || t->functions_len == t->functions_cap ||
        !is_next(&t->function_map, id))
        return false;
    f.start_line = (int64_t)start_line;
    t->functions[t->functions_len++] = f;
    count(&t->function_map);
    return true;
}

static inline bool read_line(pd_reader r, pd_line *line)
{
    uint64_t number = 0, column = 0;
    line->function = 0;
    bool ok = take(&r, TAG(PD_LINE_FUNCTION_ID, VARINT), &line->function) &&
              take(&r, TAG(PD_LINE_LINE, VARINT), &number) &&
              take(&r, TAG(PD_LINE_COLUMN, VARINT), &column);
    line->line = (int64_t)number;
    line->column = (int64_t)column;
    return ok && r.at == r.end;
}

static bool read_location(pd_tables *t, const uint8_t *start, pd_reader r)
{
    pd_location l = {.off = (uint64_t)(start - t->bytes.ptr) + t->base,
                     .lines_first = t->lines_len};
    uint64_t id = 0, folded = 0;
    if (!take(&r, TAG(PD_LOCATION_ID, VARINT), &id) ||
        !take(&r, TAG(PD_LOCATION_MAPPING_ID, VARINT), &l.mapping) ||
        !take(&r, TAG(PD_LOCATION_ADDRESS, VARINT), &l.address))
        return false;
    size_t lines = t->lines_len;
    const uint8_t *line_start;
    pd_reader line;
    while (pd_reader_expect(&r, TAG(PD_LOCATION_LINE, BYTES), &line_start, &line))
        if (lines == t->lines_cap || !read_line(line, &t->lines[lines++]))
            return false;
    if (!take(&r, TAG(PD_LOCATION_IS_FOLDED, VARINT), &folded) || r.at != r.end ||
        t->locations_len == t->locations_cap || !is_next(&t->location_map, id) ||
        lines - t->lines_len > UINT32_MAX)
        return false;
    l.lines_len = (uint32_t)(lines - t->lines_len);
    l.is_folded = folded != 0;
    t->lines_len = lines;
    t->locations[t->locations_len++] = l;
    count(&t->location_map);
    return true;
}

static bool read_string(pd_tables *t, pd_reader r)
{
    if (t->strings_len == t->strings_cap || t->strings_len >= UINT32_MAX - 1)
        return false;
    t->strings[t->strings_len++] = (pd_bytes){r.at, (size_t)(r.end - r.at)};
    return true;
}

void pd_tables_read_quick(pd_tables *t, pd_reader *top)
{
    const uint8_t *start;
    pd_reader body;
    bool ok = true;
    while (ok && top->end - top->at > SLACK) {
        while (pd_reader_expect(top, PD_TAG_SAMPLE, &start, &body)) {
            pd_reader_ask_ahead(top->at);
            pd_tables_count_sample(t, (uint64_t)(start - t->bytes.ptr) + t->base);
        }
        pd_reader before = *top;
        if (pd_reader_expect(top, TAG(PD_PROFILE_STRING_TABLE, BYTES), &start, &body))
            ok = read_string(t, body);
        else if (pd_reader_expect(top, TAG(PD_PROFILE_LOCATION, BYTES), &start, &body))
            ok = top->end - top->at >= SLACK && read_location(t, start, body);
        else if (pd_reader_expect(top, TAG(PD_PROFILE_FUNCTION, BYTES), &start, &body))
            ok = top->end - top->at >= SLACK && read_function(t, start, body);
        else
            ok = false;
        if (!ok)
            *top = before;
    }
}
