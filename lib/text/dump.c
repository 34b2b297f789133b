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

/* ---- samples ----------------------------------------------------------------------------- */

static uint64_t number_of(pd_dump *d, uint64_t address)
{
    pd_key key = pd_key_of_number(address, (uintptr_t)d);
    bool is_new;
    return (uint64_t)pd_write_key(&d->writer, &d->addresses, key, &is_new) + 1;
}

static pprofdelta_status write_stack(pd_dump *d, const pd_record *record, pd_buffer *part)
{
    pd_lines stack = {.rest = record->stack, .number = record->line, .start = record->off};
    while (!d->writer.status && !pd_lines_is_done(&stack)) {
        uint64_t address;
        if (!pd_lines_hex(&stack, &address))
            return pd_lines_fail(&stack, "is not a list of addresses", d->writer.err);
        uint64_t call =
            address ? address - 1 : 0; /* a return address: in the call, one byte lower */
        pd_write_element(&d->writer, part, number_of(d, call));
    }
    return d->writer.status;
}

static size_t first_value(const pd_dump *d)
{
    return d->has_no_sums ? PD_TEXT_INUSE_OBJECTS : PD_TEXT_ALLOC_OBJECTS;
}

/* Both lists are packed. */
static pprofdelta_status write_sample(pd_dump *d, const pd_record *record)
{
    pd_buffer *list = &d->list, *sample = &d->sample;
    PD_TRY(write_stack(d, record, list));
    pd_write_part(&d->writer, sample, PD_SAMPLE_LOCATION_ID, list);
    for (size_t i = first_value(d); i < PD_TEXT_VALUES; i++)
        pd_write_element(&d->writer, list, (uint64_t)record->values[i]);
    pd_write_part(&d->writer, sample, PD_SAMPLE_VALUE, list);
    pd_write_part(&d->writer, &d->profile, PD_PROFILE_SAMPLE, sample);
    return d->writer.status;
}

static void write_value_type(pd_dump *d, uint32_t field, uint64_t type, uint64_t unit)
{
    pd_buffer *part = &d->sample;
    PD_WRITE_VARINTS(&d->writer, part, PD_VALUE_TYPE_TYPE, type, unit);
    pd_write_part(&d->writer, &d->profile, field, part);
}

static void write_types(pd_dump *d)
{
    static const uint8_t types[PD_TEXT_VALUES][2] = {{S_ALLOC_OBJECTS, S_COUNT},
                                                     {S_ALLOC_SPACE, S_BYTES},
                                                     {S_INUSE_OBJECTS, S_COUNT},
                                                     {S_INUSE_SPACE, S_BYTES}};
    for (size_t i = first_value(d); i < PD_TEXT_VALUES; i++)
        write_value_type(d, PD_PROFILE_SAMPLE_TYPE, types[i][0], types[i][1]);
}

/* ---- maps -------------------------------------------------------------------------------- */

/* Properties of the maps that show whether they are complete. */
typedef struct map_signs {
    bool has_lines, has_stack;
    uint64_t limit; /* of the highest mapping; 0: there is none */
} map_signs;

/* Keeps the mappings of code. Lines of another form are skipped: the counts are valid without them. */
static void read_maps(pd_dump *d, pd_lines *lines, map_signs *signs)
{
    *signs = (map_signs){.has_lines = false};
    while (!d->writer.status && pd_lines_next(lines)) {
        pd_maps_line map;
        signs->has_lines |= !pd_lines_is_done(lines);
        if (!pd_maps_parse_line(lines->rest, &map))
            continue;
        signs->has_stack |= pd_bytes_equal(map.name, pd_bytes_of("[stack]"));
        if (map.limit > signs->limit)
            signs->limit = map.limit;
        if (map.is_executable)
            d->writer.status =
                pd_maps_add(&d->maps, d->writer.mem, &map, (pd_bytes){0}, d->writer.err);
    }
    if (!d->writer.status)
        d->writer.status = pd_maps_sort(&d->maps, d->writer.mem, d->writer.err);
}

static void write_maps(pd_dump *d)
{
    pd_buffer *part = &d->sample;
    for (size_t i = 0; i < d->maps.len; i++) {
        const pd_map *map = &d->maps.maps[i];
        PD_WRITE_VARINTS(&d->writer, part, PD_MAPPING_ID, i + 1, map->start, map->limit,
                         map->file_offset, map->name_len ? S_FILES + i : S_NONE);
        pd_write_part(&d->writer, &d->profile, PD_PROFILE_MAPPING, part);
    }
}

static void write_locations(pd_dump *d)
{
    pd_buffer *part = &d->sample;
    for (size_t i = 0; i < d->addresses.len && !d->writer.status; i++) {
        uint64_t address = d->addresses.keys[i].hi;
        uint32_t map = pd_maps_find(&d->maps, address);
        PD_WRITE_VARINTS(&d->writer, part, PD_LOCATION_ID, i + 1,
                         map == PD_MAP_NONE ? 0 : map + UINT64_C(1), address);
        pd_write_part(&d->writer, &d->profile, PD_PROFILE_LOCATION, part);
    }
}

/* ---- the profile ------------------------------------------------------------------------- */

static void write_string(pd_dump *d, const char *string)
{
    pd_write_bytes(&d->writer, &d->profile, PD_PROFILE_STRING_TABLE, pd_bytes_of(string));
}

static void write_strings(pd_dump *d, const pd_records *records)
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
        write_string(d, strings[i]);
    write_string(d, comment);
    for (uint32_t i = 0; i < d->maps.len; i++) {
        pd_bytes name = pd_maps_name(&d->maps, i);
        pd_write_bytes(&d->writer, &d->profile, PD_PROFILE_STRING_TABLE, name);
    }
}

/* Finds out whether there are cumulative counts. jemalloc without prof_accum writes zeros, and
 * tcmalloc's sample of the heap repeats the values in use. */
static pprofdelta_status look_for_sums(pd_dump *d, pd_records records)
{
    pd_record record;
    bool has_one;
    do {
        PD_TRY(pd_records_next(&records, &record, &has_one, d->writer.err));
        const int64_t *v = record.values;
        if (has_one)
            d->has_no_sums =
                (!v[PD_TEXT_ALLOC_OBJECTS] && !v[PD_TEXT_ALLOC_SPACE]) ||
                (records.repeats_inuse && v[PD_TEXT_ALLOC_OBJECTS] == v[PD_TEXT_INUSE_OBJECTS] &&
                 v[PD_TEXT_ALLOC_SPACE] == v[PD_TEXT_INUSE_SPACE]);
    } while (has_one && d->has_no_sums);
    return PPROFDELTA_OK;
}

/* Checks that the dump is complete. It ends with a copy of the maps, so the line before the maps
 * shows that all stacks are there. (The totals do not: jemalloc since 5.3 unsamples them
 * separately, so they are not the sums of the stacks, and gperftools before 2.16 omits the smallest
 * stacks of a dump above 1 MiB.)
 *
 * The maps have no end mark, but they are ordered by address. On Linux the main thread's stack is
 * near the end, above all code. Without it, the maps are taken as complete if they reach beyond all
 * addresses of the stacks. */
static pprofdelta_status check_end(const pd_dump *d, const pd_lines *lines, const map_signs *signs)
{
    if (!signs->has_lines)
        return pd_lines_fail(lines, "the dump is cut off after this line: there are no mappings",
                             d->writer.err);
    if (signs->has_stack)
        return PPROFDELTA_OK;
    if (!pd_lines_is_ended(lines))
        return pd_lines_fail(lines, "ends in the middle: the dump is cut off", d->writer.err);
    for (size_t i = 0; i < d->addresses.len && signs->limit; i++)
        if (d->addresses.keys[i].hi >= signs->limit)
            return pd_lines_fail(lines,
                                 "the dump is cut off after this line: the mappings do not "
                                 "reach the addresses of all stacks",
                                 d->writer.err);
    return PPROFDELTA_OK;
}

static pprofdelta_status make_profile(pd_dump *d, pd_records *records, bool is_raw)
{
    pd_record record;
    bool has_one = true;
    PD_TRY(look_for_sums(d, *records));
    write_types(d);
    for (;;) {
        PD_TRY(pd_records_next(records, &record, &has_one, d->writer.err));
        if (!has_one)
            break;
        if (!is_raw && !pd_dump_unsample(d, record.values + first_value(d)))
            return pd_no_fit(d->writer.err, record.off, "an unsampled value does not fit");
        PD_TRY(write_sample(d, &record));
    }
    map_signs signs;
    read_maps(d, &records->lines, &signs);
    PD_TRY(d->writer.status ? d->writer.status : check_end(d, &records->lines, &signs));
    write_maps(d);
    write_locations(d);
    write_value_type(d, PD_PROFILE_PERIOD_TYPE, S_SPACE, S_BYTES);
    pd_write_varint(&d->writer, &d->profile, PD_PROFILE_PERIOD, d->rate);
    pd_write_varint(&d->writer, &d->profile, PD_PROFILE_COMMENT, S_COMMENT);
    write_strings(d, records);
    return d->writer.status;
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

pprofdelta_status pd_dump_read(pd_dump *d, pd_mem *mem, bool is_raw, pd_bytes *bytes,
                               pprofdelta_error *err)
{
    pd_records records;
    d->rate = 0;
    d->has_no_sums = false;
    if (!pd_records_begin(&records, *bytes))
        return PPROFDELTA_OK;
    d->writer = (pd_writer){.mem = mem, .err = err};
    d->profile.len = d->sample.len = d->list.len = 0;
    pd_maps_clear(&d->maps);
    pd_keymap_clear(&d->addresses);
    d->rate = records.rate;
    PD_TRY(make_profile(d, &records, is_raw));
    *bytes = (pd_bytes){d->profile.ptr, d->profile.len};
    return PPROFDELTA_OK;
}

bool pd_dump_unsample(const pd_dump *d, int64_t *values)
{
    size_t len = PD_TEXT_VALUES - first_value(d);
    bool fits = true;
    for (size_t i = 0; i < len; i += 2)
        fits &= pd_unsample(d->rate, &values[i], &values[i + 1]);
    return fits;
}

void pd_dump_release(pd_dump *d, pd_mem *mem)
{
    pd_buffer_release(mem, &d->profile);
    pd_buffer_release(mem, &d->sample);
    pd_buffer_release(mem, &d->list);
    pd_keymap_release(&d->addresses, mem);
    pd_maps_release(&d->maps, mem);
    *d = (pd_dump){0};
}
