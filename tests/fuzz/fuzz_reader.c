/* Any bytes as a profile: they are refused with a reason that can be followed, or they are a valid
 * profile, also in the eyes of a reader of another make.
 *
 * Each input is read twice: by itself, with options of every kind, and as the base of a context that
 * has seen all the inputs before. Neither may change the verdict. What is accepted goes
 * through protobuf-c's message view, which must find the same elements, and every reference is
 * followed there the slow and obvious way. (What protobuf-c does not take is left out: it knows no
 * tag longer than five bytes.) And every sample is read both ways, the quick and the careful. */
#include "fuzz.h"

#include "profile.pb-c.h"
#include "profile/samples.h"
#include "view.h"

#include <stdbool.h>

/* ---- following every reference in the view ---------------------------------------------------- */

typedef Pd__View__Profile view;

static void require_string(const view *v, int64_t index)
{
    require(index >= 0 && (uint64_t)index < v->n_string_table);
}

static void require_type(const view *v, const Pd__View__ValueType *type)
{
    require_string(v, type->type);
    require_string(v, type->unit);
}

/* An id that is looked up among others; ids are sorted once, so that large inputs stay cheap. */
typedef struct id_set {
    uint64_t *ids;
    size_t len;
} id_set;

static int compare_ids(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

static id_set new_ids(size_t len)
{
    id_set set = {calloc(len + 1, sizeof *set.ids), len};
    require(set.ids);
    return set;
}

static void require_unique(id_set set)
{
    qsort(set.ids, set.len, sizeof *set.ids, compare_ids);
    for (size_t i = 0; i < set.len; i++)
        require(set.ids[i] && (!i || set.ids[i] != set.ids[i - 1]));
}

static void require_id(id_set set, uint64_t id)
{
    require(bsearch(&id, set.ids, set.len, sizeof *set.ids, compare_ids));
}

static id_set mapping_ids(const view *v)
{
    id_set set = new_ids(v->n_mapping);
    for (size_t i = 0; i < v->n_mapping; i++) {
        set.ids[i] = v->mapping[i]->id;
        require_string(v, v->mapping[i]->filename);
        require_string(v, v->mapping[i]->build_id);
    }
    require_unique(set);
    return set;
}

static id_set function_ids(const view *v)
{
    id_set set = new_ids(v->n_function);
    for (size_t i = 0; i < v->n_function; i++) {
        set.ids[i] = v->function[i]->id;
        require_string(v, v->function[i]->name);
        require_string(v, v->function[i]->system_name);
        require_string(v, v->function[i]->filename);
    }
    require_unique(set);
    return set;
}

static id_set location_ids(const view *v, id_set mappings, id_set functions)
{
    id_set set = new_ids(v->n_location);
    for (size_t i = 0; i < v->n_location; i++) {
        const Pd__View__Location *location = v->location[i];
        set.ids[i] = location->id;
        if (location->mapping_id)
            require_id(mappings, location->mapping_id);
        for (size_t j = 0; j < location->n_line; j++)
            if (location->line[j]->function_id)
                require_id(functions, location->line[j]->function_id);
    }
    require_unique(set);
    return set;
}

static void require_sample(const view *v, const Pd__View__Sample *sample, id_set locations)
{
    require(sample->n_value == v->n_sample_type);
    for (size_t i = 0; i < sample->n_location_id; i++)
        require_id(locations, sample->location_id[i]);
    for (size_t i = 0; i < sample->n_label; i++) {
        require_string(v, sample->label[i]->key);
        require_string(v, sample->label[i]->str);
        require_string(v, sample->label[i]->num_unit);
    }
}

static void require_header(const view *v)
{
    require(v->n_string_table && !v->string_table[0].len);
    require(v->n_sample_type >= 1 && v->n_sample_type <= PPROFDELTA_MAX_TYPES);
    for (size_t i = 0; i < v->n_sample_type; i++)
        require_type(v, v->sample_type[i]);
    if (v->period_type)
        require_type(v, v->period_type);
    for (size_t i = 0; i < v->n_comment; i++)
        require_string(v, v->comment[i]);
    require_string(v, v->drop_frames);
    require_string(v, v->keep_frames);
    require_string(v, v->default_sample_type);
    require_string(v, v->doc_url);
}

static void require_valid(const view *v)
{
    require_header(v);
    id_set mappings = mapping_ids(v), functions = function_ids(v);
    id_set locations = location_ids(v, mappings, functions);
    for (size_t i = 0; i < v->n_sample; i++)
        require_sample(v, v->sample[i], locations);
    free(mappings.ids);
    free(functions.ids);
    free(locations.ids);
}

/* ---- the census, counted again ---------------------------------------------------------------- */

static uint64_t unknown_in_sample(const Pd__View__Sample *sample)
{
    uint64_t count = sample->base.n_unknown_fields;
    for (size_t i = 0; i < sample->n_label; i++)
        count += sample->label[i]->base.n_unknown_fields;
    return count;
}

static uint64_t unknown_in_location(const Pd__View__Location *location)
{
    uint64_t count = location->base.n_unknown_fields;
    for (size_t i = 0; i < location->n_line; i++)
        count += location->line[i]->base.n_unknown_fields;
    return count;
}

static uint64_t unknown_fields(const view *v)
{
    uint64_t count = v->base.n_unknown_fields;
    if (v->period_type)
        count += v->period_type->base.n_unknown_fields;
    for (size_t i = 0; i < v->n_sample_type; i++)
        count += v->sample_type[i]->base.n_unknown_fields;
    for (size_t i = 0; i < v->n_sample; i++)
        count += unknown_in_sample(v->sample[i]);
    for (size_t i = 0; i < v->n_mapping; i++)
        count += v->mapping[i]->base.n_unknown_fields;
    for (size_t i = 0; i < v->n_location; i++)
        count += unknown_in_location(v->location[i]);
    for (size_t i = 0; i < v->n_function; i++)
        count += v->function[i]->base.n_unknown_fields;
    return count;
}

static bool has_comment(const view *v, const char *prefix)
{
    for (size_t i = 0; i < v->n_comment; i++)
        if (!strncmp(view_text(v, v->comment[i]), prefix, strlen(prefix)))
            return true;
    return false;
}

static void require_census(const view *v, const pprofdelta_census *census)
{
    uint64_t by_lines = 0;
    for (size_t i = 0; i < v->n_location; i++)
        by_lines += !v->location[i]->address && v->location[i]->n_line;
    require(census->types == v->n_sample_type);
    require(census->samples == v->n_sample);
    require(census->mappings == v->n_mapping);
    require(census->locations == v->n_location);
    require(census->functions == v->n_function);
    require(census->strings == v->n_string_table);
    require(census->by_lines == by_lines);
    require(census->by_address == v->n_location - by_lines);
    /* A period_type that is there twice is merged, and protobuf-c keeps the last one's unknowns. */
    require(census->unknown_fields >= unknown_fields(v));
    require(census->unknown_fields == unknown_fields(v) || v->period_type);
    require(census->time_nanos == v->time_nanos);
    require(census->duration_nanos == v->duration_nanos);
    /* A live heap's stamp says farther on whether it is a delta: perhaps behind a NUL, where C's text
     * ends. */
    if (!has_comment(v, "pprofdelta: live"))
        require(!census->is_stamped == !has_comment(v, "pprofdelta: delta"));
}

static void require_view(const uint8_t *bytes, size_t len, const pprofdelta_census *census)
{
    view *v = view_unpack(bytes, len);
    if (!v)
        return;
    require_valid(v);
    require_census(v, census);
    view_free(v);
}

/* ---- the quick reader and the careful one ------------------------------------------------------ */

typedef struct ways {
    pd_mem mem;
    pd_stack_numbers numbers;
    pd_tables tables;
    pd_columns columns;
} ways;

/* Where the careful reader finds something wrong, or a field that it does not know, the quick one
 * must have declined; else both see the same sample. `end` is that of the bytes that may be read. */
static void require_same_sample(const ways *w, pd_sample_reader *quick, pd_sample_reader *careful,
                                const pd_field *f, const uint8_t *end)
{
    pd_sample sample, other;
    careful->parse.status = PPROFDELTA_OK;
    careful->parse.unknown_fields = 0;
    pd_sample_careful(careful, f->body, &sample);
    const uint8_t *stop = end - f->body.end > PD_QUICK_SLACK ? f->body.end + PD_QUICK_SLACK : end;
    pd_reader top = pd_reader_of(f->start, (size_t)(stop - f->start));
    bool is_taken = pd_sample_quick(quick, &top, &other);
    require(!quick->parse.status && top.at == (is_taken ? f->body.end : f->start));
    if (!is_taken)
        return;
    require(!careful->parse.status && !careful->parse.unknown_fields);
    require(pd_key_equal(pd_identity_key(&other.stack), pd_identity_key(&sample.stack)));
    require(sample.values_len == w->columns.len && other.values_len == sample.values_len);
    require(!memcmp(other.values, sample.values, sample.values_len * sizeof *sample.values));
}

static void require_same_samples(ways *w, const uint8_t *end)
{
    w->columns.len = w->tables.types_len;
    for (size_t i = 0; i < w->columns.len; i++)
        w->columns.slot[i] = (uint8_t)(w->columns.len - 1 - i);
    pd_sample_reader careful = {.parse = {.zero = w->tables.bytes.ptr},
                                .tables = &w->tables,
                                .numbers = &w->numbers,
                                .columns = &w->columns};
    pd_sample_reader quick = careful; /* with what it remembers from sample to sample */
    pd_reader top = pd_reader_of(w->tables.bytes.ptr, w->tables.bytes.len);
    pd_field f;
    while (pd_reader_next(&top, &f))
        if (f.number == PD_PROFILE_SAMPLE)
            require_same_sample(w, &quick, &careful, &f, end);
}

/* Of any profile whose tables are sound, even if its samples are not. */
static void require_all_ways(const uint8_t *bytes, size_t len)
{
    static ways w;
    pd_stack_numbers_init(&w.numbers);
    pd_mem_init(&w.mem, NULL, FUZZ_MAX_MEMORY);
    uint8_t *copy = calloc(len + PD_QUICK_SLACK, 1);
    require(copy);
    if (len)
        memcpy(copy, bytes, len);
    if (!pd_tables_parse(&w.tables, &w.mem, (pd_bytes){copy, len}, NULL))
        require_same_samples(&w, copy + len + PD_QUICK_SLACK);
    pd_tables_release(&w.tables, &w.mem);
    require(!w.mem.used);
    free(copy);
}

/* ---- the target ------------------------------------------------------------------------------- */

/* Options of every kind, chosen by the bytes, so that the input stays a file like any other. None
 * of them takes part in a check. */
static pprofdelta_status check(const uint8_t *data, size_t size, pprofdelta_census *census,
                               pprofdelta_error *err)
{
    static const char *const counters[] = {"no_such_type", "samples/count"}, *const gauges[] = {
                                                                                 "x"};
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ data[i]) * 16777619u;
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.flags = hash >> 8 & 15;
    options.on_reset = (pprofdelta_on_reset)((hash >> 12) % 5);
    options.first = (pprofdelta_first)(hash >> 16 & 1);
    options.compression = (pprofdelta_compression)((hash >> 17) % 3);
    options.level = (int)(hash >> 20) % 10;
    options.counters = counters;
    options.counters_len = (hash >> 24) % 3;
    options.gauges = gauges;
    options.gauges_len = hash >> 27 & 1;
    options.max_memory = FUZZ_MAX_MEMORY;
    return census_within(&options, NULL, data, size, census, err);
}

/* 4 MiB of zeros as a zstd frame: no profile, but what it takes stays as room. */
static void make_room(pprofdelta *context)
{
    enum { BLOCKS = 32, HEADER = 6, BLOCK = 4 };
    static const uint8_t header[HEADER] = {0x28, 0xb5, 0x2f, 0xfd, 0, 0x60};
    uint8_t frame[HEADER + BLOCKS * BLOCK];
    memcpy(frame, header, sizeof header);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        uint32_t block = UINT32_C(128) << 10 << 3 | 1 << 1 | (i == BLOCKS - 1); /* a run */
        uint8_t *p = frame + HEADER + (size_t)i * BLOCK;
        for (int k = 0; k < BLOCK; k++)
            p[k] = (uint8_t)(block >> 8 * k); /* three bytes of header, and the zero */
    }
    require(pprofdelta_base(context, frame, sizeof frame, NULL) == PPROFDELTA_E_WIRE);
}

static pprofdelta *old_context(void)
{
    static pprofdelta *context;
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.max_memory = FUZZ_MAX_MEMORY;
    options.flags = PPROFDELTA_FORCE | PPROFDELTA_DEFAULT_COUNTER;
    if (!context) {
        require(pprofdelta_new(&options, NULL, &context, NULL) == PPROFDELTA_OK);
        make_room(context);
    }
    return context;
}

static void check_refusal(pprofdelta_status status, const pprofdelta_error *err, size_t size,
                          bool inflates, size_t inflated_len)
{
    bool is_inflate = !strcmp(err->stage, "inflate");
    require(status == PPROFDELTA_E_LIMIT || status == PPROFDELTA_E_INFLATE ||
            status == PPROFDELTA_E_WIRE || status == PPROFDELTA_E_PROFILE);
    require(is_inflate == !inflates || status == PPROFDELTA_E_LIMIT);
    fuzz_require_filled(err, status, size, inflates ? inflated_len : 1);
    require(status != PPROFDELTA_E_WIRE || !strcmp(err->stage, "wire"));
    require(status != PPROFDELTA_E_PROFILE || !strcmp(err->stage, "profile"));
}

/* The same bytes, as the base of a context that has a past. */
static void check_again(const uint8_t *data, size_t size, pprofdelta_status status,
                        const pprofdelta_error *err)
{
    pprofdelta_error again = fuzz_unfilled();
    pprofdelta_status second = pprofdelta_base(old_context(), data, size, &again);
    /* What it kept from larger inputs counts against its limit. */
    if (status == PPROFDELTA_E_LIMIT || second == PPROFDELTA_E_LIMIT)
        return;
    if (second == PPROFDELTA_E_STAMPED || second == PPROFDELTA_E_NOT_CUMULATIVE ||
        second == PPROFDELTA_E_MISMATCH)
        return; /* only a base is refused for these */
    require(second == status);
    if (status)
        require(again.offset == err->offset && again.element == err->element &&
                !strcmp(again.field, err->field) && !strcmp(again.text, err->text));
}

static bool is_request(const uint8_t *data, size_t size)
{
    pprofdelta_file_kind kind = PPROFDELTA_FILE_UNKNOWN;
    const char *name;
    return !pprofdelta_identify(data, size, &kind, &name, NULL) && kind == PPROFDELTA_FILE_OTLP;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (fuzz_is_text(data, size) || is_request(data, size)) /* see fuzz_text and fuzz_otlp */
        return 0;
    pprofdelta_census census;
    pprofdelta_error err = fuzz_unfilled();
    pprofdelta_status status = check(data, size, &census, &err);
    pd_mem mem;
    pd_source source;
    bool inflates = fuzz_inflate(&source, &mem, data, size);
    pd_bytes inflated = source.whole;
    if (status) {
        check_refusal(status, &err, size, inflates, inflated.len);
    } else {
        fuzz_require_untouched(&err);
        require(inflates && census.inflated_len == inflated.len);
        require_view(inflated.ptr, inflated.len, &census);
    }
    if (inflates)
        require_all_ways(inflated.ptr, inflated.len);
    pd_source_end(&source);
    check_again(data, size, status, &err);
    return 0;
}
