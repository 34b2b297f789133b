#include "text/dump.h"

#include "base/scale.h"
#include "profile/fields.h"
#include "wire/writer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The first strings of every converted profile. The file names of the maps follow. */
enum {
    S_NONE,
    S_ALLOC_OBJECTS,
    S_COUNT,
    S_ALLOC_SPACE,
    S_BYTES,
    S_INUSE_OBJECTS,
    S_INUSE_SPACE,
    S_SPACE,
    S_COMMENT,
    S_FILES
};

typedef struct maker {
    pd_dump *text;
    pd_writer writer;
} maker;

/* ---- samples ----------------------------------------------------------------------------- */

static uint64_t number_of(maker *m, uint64_t address)
{
    pd_dump *text = m->text;
    pd_key key = pd_key_of_number(address, (uintptr_t)text);
    bool is_new;
    return (uint64_t)pd_write_key(&m->writer, &text->addresses, key, &is_new) + 1;
}

static pprofdelta_status write_stack(maker *m, const pd_record *record, pd_buffer *part)
{
    pd_lines stack = {.rest = record->stack, .number = record->line, .start = record->off};
    while (!m->writer.status && !pd_lines_is_done(&stack)) {
        uint64_t address;
        if (!pd_lines_hex(&stack, &address))
            return pd_lines_fail(&stack, "is not a list of addresses", m->writer.err);
        uint64_t call =
            address ? address - 1 : 0; /* a return address: in the call, one byte lower */
        pd_write_element(&m->writer, part, number_of(m, call));
    }
    return m->writer.status;
}

static size_t first_value(const pd_dump *text)
{
    return text->has_no_sums ? PD_TEXT_INUSE_OBJECTS : PD_TEXT_ALLOC_OBJECTS;
}

/* Both lists are packed. */
static pprofdelta_status write_sample(maker *m, const pd_record *record)
{
    pd_dump *text = m->text;
    pd_buffer *list = &text->list, *sample = &text->sample;
    PD_TRY(write_stack(m, record, list));
    pd_write_part(&m->writer, sample, PD_SAMPLE_LOCATION_ID, list);
    for (size_t i = first_value(text); i < PD_TEXT_VALUES; i++)
        pd_write_element(&m->writer, list, (uint64_t)record->values[i]);
    pd_write_part(&m->writer, sample, PD_SAMPLE_VALUE, list);
    pd_write_part(&m->writer, &text->profile, PD_PROFILE_SAMPLE, sample);
    return m->writer.status;
}

static void write_value_type(maker *m, uint32_t field, uint64_t type, uint64_t unit)
{
    pd_buffer *part = &m->text->sample;
    PD_WRITE_VARINTS(&m->writer, part, PD_VALUE_TYPE_TYPE, type, unit);
    pd_write_part(&m->writer, &m->text->profile, field, part);
}

static void write_types(maker *m)
{
    static const uint8_t types[PD_TEXT_VALUES][2] = {{S_ALLOC_OBJECTS, S_COUNT},
                                                     {S_ALLOC_SPACE, S_BYTES},
                                                     {S_INUSE_OBJECTS, S_COUNT},
                                                     {S_INUSE_SPACE, S_BYTES}};
    for (size_t i = first_value(m->text); i < PD_TEXT_VALUES; i++)
        write_value_type(m, PD_PROFILE_SAMPLE_TYPE, types[i][0], types[i][1]);
}

/* ---- maps -------------------------------------------------------------------------------- */

/* Properties of the maps that show whether they are complete. */
typedef struct map_signs {
    bool has_lines, has_stack;
    uint64_t limit; /* of the highest mapping; 0: there is none */
} map_signs;

/* Keeps the mappings of code. Lines of another form are skipped: the counts are valid without them. */
static void read_maps(maker *m, pd_lines *lines, map_signs *signs)
{
    pd_dump *text = m->text;
    *signs = (map_signs){.has_lines = false};
    while (!m->writer.status && pd_lines_next(lines)) {
        pd_maps_line map;
        signs->has_lines |= !pd_lines_is_done(lines);
        if (!pd_maps_parse_line(lines->rest, &map))
            continue;
        signs->has_stack |= pd_bytes_equal(map.name, pd_bytes_of("[stack]"));
        if (map.limit > signs->limit)
            signs->limit = map.limit;
        if (map.is_executable)
            m->writer.status =
                pd_maps_add(&text->maps, m->writer.mem, &map, (pd_bytes){0}, m->writer.err);
    }
    if (!m->writer.status)
        m->writer.status = pd_maps_sort(&text->maps, m->writer.mem, m->writer.err);
}

static void write_maps(maker *m)
{
    pd_dump *text = m->text;
    pd_buffer *part = &text->sample;
    for (size_t i = 0; i < text->maps.len; i++) {
        const pd_map *map = &text->maps.maps[i];
        PD_WRITE_VARINTS(&m->writer, part, PD_MAPPING_ID, i + 1, map->start, map->limit,
                         map->file_offset, map->name_len ? S_FILES + i : S_NONE);
        pd_write_part(&m->writer, &text->profile, PD_PROFILE_MAPPING, part);
    }
}

static void write_locations(maker *m)
{
    pd_dump *text = m->text;
    pd_buffer *part = &text->sample;
    for (size_t i = 0; i < text->addresses.len && !m->writer.status; i++) {
        uint64_t address = text->addresses.keys[i].hi;
        uint32_t map = pd_maps_find(&text->maps, address);
        PD_WRITE_VARINTS(&m->writer, part, PD_LOCATION_ID, i + 1,
                         map == PD_MAP_NONE ? 0 : map + UINT64_C(1), address);
        pd_write_part(&m->writer, &text->profile, PD_PROFILE_LOCATION, part);
    }
}

/* ---- the profile ------------------------------------------------------------------------- */

static void write_string(maker *m, const char *string)
{
    pd_write_bytes(&m->writer, &m->text->profile, PD_PROFILE_STRING_TABLE, (const uint8_t *)string,
                   strlen(string));
}

static void write_strings(maker *m, const pd_records *records)
{
    static const char *const strings[] = {
        [S_NONE] = "",
        [S_ALLOC_OBJECTS] = "alloc_objects",
        [S_COUNT] = "count",
        [S_ALLOC_SPACE] = "alloc_space",
        [S_BYTES] = "bytes",
        [S_INUSE_OBJECTS] = "inuse_objects",
        [S_INUSE_SPACE] = "inuse_space",
        [S_SPACE] = "space",
    };
    char comment[64];
    snprintf(comment, sizeof comment, "from a text heap profile, %s/%llu",
             records->is_jemalloc || records->repeats_inuse ? "heap_v2" : "heapprofile",
             (unsigned long long)records->rate);
    for (size_t i = 0; i < S_COMMENT; i++)
        write_string(m, strings[i]);
    write_string(m, comment);
    for (uint32_t i = 0; i < m->text->maps.len; i++) {
        pd_bytes name = pd_maps_name(&m->text->maps, i);
        pd_write_bytes(&m->writer, &m->text->profile, PD_PROFILE_STRING_TABLE, name.ptr, name.len);
    }
}

/* Finds out whether there are cumulative counts. jemalloc without prof_accum writes zeros, and
 * tcmalloc's sample of the heap repeats the values in use. */
static pprofdelta_status look_for_sums(pd_dump *text, pd_records records, pprofdelta_error *err)
{
    pd_record record;
    bool has_one = true;
    pprofdelta_status status = PPROFDELTA_OK;
    text->has_no_sums = false;
    bool has_any = false;
    while (!status && has_one) {
        status = pd_records_next(&records, &record, &has_one, err);
        if (status || !has_one)
            continue;
        const int64_t *v = record.values;
        has_any = true;
        bool is_nothing = !v[PD_TEXT_ALLOC_OBJECTS] && !v[PD_TEXT_ALLOC_SPACE];
        bool is_repeated = records.repeats_inuse &&
                           v[PD_TEXT_ALLOC_OBJECTS] == v[PD_TEXT_INUSE_OBJECTS] &&
                           v[PD_TEXT_ALLOC_SPACE] == v[PD_TEXT_INUSE_SPACE];
        if (!is_nothing && !is_repeated)
            return PPROFDELTA_OK;
    }
    text->has_no_sums = has_any;
    return status;
}

/* Checks that the dump is complete. It ends with a copy of the maps, so the line before the maps
 * shows that all stacks are there. (The totals do not: jemalloc since 5.3 unsamples them
 * separately, so they are not the sums of the stacks, and gperftools before 2.16 omits the smallest
 * stacks of a dump above 1 MiB.)
 *
 * The maps have no end mark, but they are ordered by address. On Linux the main thread's stack is
 * near the end, above all code. Without it, the maps are taken as complete if they reach beyond all
 * addresses of the stacks. */
static pprofdelta_status check_end(const maker *m, const pd_lines *lines, const map_signs *signs)
{
    const pd_dump *text = m->text;
    if (!signs->has_lines)
        return pd_lines_fail(lines, "the dump is cut off after this line: there are no mappings",
                             m->writer.err);
    if (signs->has_stack)
        return PPROFDELTA_OK;
    if (!pd_lines_is_ended(lines))
        return pd_lines_fail(lines, "ends in the middle: the dump is cut off", m->writer.err);
    for (size_t i = 0; i < text->addresses.len && signs->limit; i++)
        if (text->addresses.keys[i].hi >= signs->limit)
            return pd_lines_fail(lines,
                                 "the dump is cut off after this line: the mappings do not "
                                 "reach the addresses of all stacks",
                                 m->writer.err);
    return PPROFDELTA_OK;
}

static pprofdelta_status make(maker *m, pd_records *records, bool is_raw)
{
    pd_dump *text = m->text;
    pd_record record;
    bool has_one = true;
    PD_TRY(look_for_sums(text, *records, m->writer.err));
    write_types(m);
    for (;;) {
        PD_TRY(pd_records_next(records, &record, &has_one, m->writer.err));
        if (!has_one)
            break;
        if (!is_raw && !pd_dump_unsample(text, record.values + first_value(text)))
            return pd_no_fit(m->writer.err, record.off, "an unsampled value does not fit");
        PD_TRY(write_sample(m, &record));
    }
    map_signs signs;
    read_maps(m, &records->lines, &signs);
    PD_TRY(m->writer.status ? m->writer.status : check_end(m, &records->lines, &signs));
    write_maps(m);
    write_locations(m);
    write_value_type(m, PD_PROFILE_PERIOD_TYPE, S_SPACE, S_BYTES);
    pd_write_varint(&m->writer, &text->profile, PD_PROFILE_PERIOD, text->rate);
    pd_write_varint(&m->writer, &text->profile, PD_PROFILE_COMMENT, S_COMMENT);
    write_strings(m, records);
    return m->writer.status;
}

bool pd_unsample(uint64_t rate, int64_t *objects, int64_t *bytes)
{
    if (rate < 2 || !*objects || !*bytes)
        return true;
    const int64_t before[] = {*objects, *bytes};
    double size = fabs((double)*bytes / (double)*objects);
    pd_scale scale = pd_scale_of_size(size, (double)rate);
    pd_carry none = 0;
    *objects = pd_scale_apply(scale, *objects, &none);
    none = 0;
    *bytes = pd_scale_apply(scale, *bytes, &none);
    return pd_scale_fits(scale, before[0], *objects) && pd_scale_fits(scale, before[1], *bytes);
}

pprofdelta_status pd_dump_read(pd_dump *text, pd_mem *mem, bool is_raw, pd_bytes *bytes,
                               pprofdelta_error *err)
{
    pd_records records;
    text->rate = 0;
    text->has_no_sums = false;
    if (!pd_records_begin(&records, *bytes))
        return PPROFDELTA_OK;
    maker m = {.text = text, .writer = {.mem = mem, .err = err}};
    text->profile.len = text->sample.len = text->list.len = 0;
    pd_maps_clear(&text->maps);
    pd_keymap_clear(&text->addresses);
    text->rate = records.rate;
    PD_TRY(make(&m, &records, is_raw));
    *bytes = (pd_bytes){text->profile.ptr, text->profile.len};
    return PPROFDELTA_OK;
}

bool pd_dump_unsample(const pd_dump *text, int64_t *values)
{
    size_t len = PD_TEXT_VALUES - first_value(text);
    bool fits = true;
    for (size_t i = 0; i < len; i += 2)
        fits &= pd_unsample(text->rate, &values[i], &values[i + 1]);
    return fits;
}

void pd_dump_release(pd_dump *text, pd_mem *mem)
{
    pd_buffer_release(mem, &text->profile);
    pd_buffer_release(mem, &text->sample);
    pd_buffer_release(mem, &text->list);
    pd_keymap_release(&text->addresses, mem);
    pd_maps_release(&text->maps, mem);
    *text = (pd_dump){0};
}
