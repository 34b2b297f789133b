#include "text/dump.h"

#include "base/scale.h"
#include "encode/encode.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- samples ----------------------------------------------------------------------------- */

/* The location of an address; its mapping is found at the end. */
static uint32_t location_of(pd_model *m, uint64_t address)
{
    pd_key key = pd_key_of_number(address, (uintptr_t)m);
    uint32_t known = pd_model_find_location(m, key);
    return known ? known : pd_model_add_location(m, key, 0, address, false);
}

static pprofdelta_status add_stack(pd_model *m, const pd_record *record)
{
    pd_lines stack = {.rest = record->stack, .number = record->line, .start = record->off};
    uint8_t *at = pd_model_stack(m, record->stack.len / 2 + 1); /* a digit and a space for each */
    while (at && !pd_lines_is_done(&stack)) {
        uint64_t address;
        if (!pd_lines_hex(&stack, &address))
            return pd_lines_fail(&stack, "is not a list of addresses", m->writer.err);
        uint64_t call =
            address ? address - 1 : 0; /* a return address: in the call, one byte lower */
        at = pd_model_stack_put(at, pd_encode_id(location_of(m, call)));
    }
    if (at)
        pd_model_stack_end(m, at);
    return m->writer.status;
}

static size_t first_value(const pd_dump *d)
{
    return d->has_no_sums ? PD_TEXT_INUSE_OBJECTS : PD_TEXT_ALLOC_OBJECTS;
}

static uint32_t string_of(pd_model *m, const char *text)
{
    return pd_model_string(m, pd_bytes_of(text));
}

static void add_types(pd_dump *d)
{
    static const char *const types[PD_TEXT_VALUES] = {"alloc_objects", "alloc_space",
                                                      "inuse_objects", "inuse_space"};
    for (size_t i = first_value(d); i < PD_TEXT_VALUES; i++) {
        uint32_t type = string_of(&d->model, types[i]);
        pd_model_add_type(&d->model, type, string_of(&d->model, i % 2 ? "bytes" : "count"));
    }
}

/* ---- maps -------------------------------------------------------------------------------- */

/* Properties of the maps that show whether they are complete. */
typedef struct map_signs {
    bool has_lines, has_stack;
    uint64_t limit; /* of the highest mapping; 0: there is none */
} map_signs;

/* Keeps the mappings of code. Lines of another form are skipped: the counts are valid without them. */
static pprofdelta_status read_maps(pd_dump *d, pd_lines *lines, map_signs *signs)
{
    const pd_writer *w = &d->model.writer;
    *signs = (map_signs){.has_lines = false};
    while (pd_lines_next(lines)) {
        pd_maps_line map;
        signs->has_lines |= !pd_lines_is_done(lines);
        if (!pd_maps_parse_line(lines->rest, &map))
            continue;
        signs->has_stack |= pd_bytes_equal(map.name, pd_bytes_of("[stack]"));
        if (map.limit > signs->limit)
            signs->limit = map.limit;
        if (map.is_executable)
            PD_TRY(pd_maps_add(&d->maps, w->mem, &map, (pd_bytes){0}, w->err));
    }
    return pd_maps_sort(&d->maps, w->mem, w->err);
}

/* Adds all mappings: the id of each is its number plus one. Sets those of the locations. */
static void add_mappings(pd_dump *d)
{
    pd_model *m = &d->model;
    for (uint32_t i = 0; i < d->maps.len && !m->writer.status; i++) {
        const pd_map *map = &d->maps.maps[i];
        pd_model_mapping out = {.start = map->start,
                                .limit = map->limit,
                                .file_offset = map->file_offset,
                                .filename = pd_model_string(m, pd_maps_name(&d->maps, i))};
        pd_model_add_mapping(m, pd_key_of_number(i, 0), &out);
    }
    for (size_t i = 0; i < m->location_keys.len && !m->writer.status; i++) {
        uint32_t map = pd_maps_find(&d->maps, m->locations[i].address);
        m->locations[i].mapping = map == PD_MAP_NONE ? 0 : map + 1;
    }
}

/* ---- the profile ------------------------------------------------------------------------- */

/* Finds out whether there are cumulative counts. jemalloc without prof_accum writes zeros, and
 * tcmalloc's sample of the heap repeats the values in use. */
static pprofdelta_status look_for_sums(pd_dump *d, pd_records records)
{
    pd_record record;
    bool has_one;
    do {
        PD_TRY(pd_records_next(&records, &record, &has_one, d->model.writer.err));
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
static pprofdelta_status check_end(const pd_model *m, const pd_lines *lines, const map_signs *signs)
{
    pprofdelta_error *err = m->writer.err;
    if (!signs->has_lines)
        return pd_lines_fail(lines, "the dump is cut off after this line: there are no mappings",
                             err);
    if (signs->has_stack)
        return PPROFDELTA_OK;
    if (!pd_lines_is_ended(lines))
        return pd_lines_fail(lines, "ends in the middle: the dump is cut off", err);
    for (size_t i = 0; i < m->location_keys.len && signs->limit; i++)
        if (m->locations[i].address >= signs->limit)
            return pd_lines_fail(lines,
                                 "the dump is cut off after this line: the mappings do not "
                                 "reach the addresses of all stacks",
                                 err);
    return PPROFDELTA_OK;
}

static pprofdelta_status fill_model(pd_dump *d, pd_records *records, bool is_raw)
{
    pd_model *m = &d->model;
    pprofdelta_error *err = m->writer.err;
    pd_record record;
    map_signs signs;
    bool has_one = true;
    PD_TRY(look_for_sums(d, *records));
    add_types(d);
    for (;;) {
        PD_TRY(pd_records_next(records, &record, &has_one, err));
        if (!has_one)
            break;
        if (!is_raw && !pd_dump_unsample(d, record.values + first_value(d)))
            return pd_no_fit(err, record.off, "an unsampled value does not fit");
        PD_TRY(add_stack(m, &record));
        pd_model_add_sample(m, record.values + first_value(d));
    }
    PD_TRY(read_maps(d, &records->lines, &signs));
    PD_TRY(check_end(m, &records->lines, &signs));
    add_mappings(d);
    return m->writer.status;
}

static pprofdelta_status encode_model(pd_dump *d, const pd_records *records, pd_bytes *bytes)
{
    pd_model *m = &d->model;
    pd_encoder encoder = {.format = PPROFDELTA_PPROF};
    char comment[64];
    snprintf(comment, sizeof comment, "from a text heap profile, %s/%llu",
             records->is_jemalloc || records->repeats_inuse ? "heap_v2" : "heapprofile",
             (unsigned long long)records->rate);
    pd_model_header header = {
        .has_period_type = true, .period_type = string_of(m, "space"), .period = d->rate};
    header.period_unit = string_of(m, "bytes");
    pd_model_add_comment(m, string_of(m, comment));
    return pd_encode(&encoder, m, &header, bytes);
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
    pd_model_begin(&d->model, mem, err);
    pd_maps_clear(&d->maps);
    d->rate = records.rate;
    PD_TRY(fill_model(d, &records, is_raw));
    return encode_model(d, &records, bytes);
}

bool pd_dump_unsample(const pd_dump *d, int64_t *values)
{
    size_t len = PD_TEXT_VALUES - first_value(d);
    bool fits = true;
    for (size_t i = 0; i < len; i += 2)
        fits &= pd_unsample(d->rate, &values[i], &values[i + 1]);
    return fits;
}
