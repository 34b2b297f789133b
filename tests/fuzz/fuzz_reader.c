/* Any bytes as a profile: they are refused with a reason that can be followed, or they are a valid
 * profile, also in the eyes of a reader of another make.
 *
 * Each input is read three times: by itself, with options of every kind, and as the base of two contexts
 * that have seen all the inputs before, of which one reads in pieces. Neither may change the verdict, nor a
 * word of it. What is accepted goes through protobuf-c's message view, which must find the same elements,
 * and every reference is followed there the slow and obvious way. (What protobuf-c does not take is left
 * out: it knows no tag longer than five bytes.) And every sample is read both ways, the quick and the
 * careful. */
#include "fuzz.h"

#include "delta/context.h"
#include "profile.pb-c.h"
#include "profile/samples.h"
#include "reading.h"
#include "run.h"
#include "view.h"

#include <stdbool.h>

/* ---- the census, counted again ---------------------------------------------------------------- */

typedef Pd__View__Profile view;

static bool has_comment(const view *v, const char *prefix)
{
    for (size_t i = 0; i < v->n_comment; i++)
        if (!strncmp(view_text(v, v->comment[i]), prefix, strlen(prefix)))
            return true;
    return false;
}

/* The reading's texts end at a NUL. */
static bool has_nul(const view *v)
{
    for (size_t i = 0; i < v->n_string_table; i++)
        if (v->string_table[i].len && memchr(v->string_table[i].data, 0, v->string_table[i].len))
            return true;
    return false;
}

static void require_census(const reading *r, const view *v, const pprofdelta_census *census)
{
    uint64_t by_lines = 0;
    for (size_t i = 0; i < v->n_location; i++) {
        const reading_location *l = &r->locations[i];
        bool has_file = l->mapping != NOWHERE && r->mappings[l->mapping].file;
        by_lines += l->view->n_line && !(l->view->address && has_file);
    }
    require(census->types == v->n_sample_type);
    require(census->samples == v->n_sample);
    require(census->mappings == v->n_mapping);
    require(census->locations == v->n_location);
    require(census->functions == v->n_function);
    require(census->strings == v->n_string_table);
    require(census->by_lines == by_lines || has_nul(v));
    require(census->by_address == v->n_location - census->by_lines);
    /* A period_type that is there twice is merged, and protobuf-c keeps the last one's unknowns. */
    uint64_t unknown_fields = reading_walk(&v->base, NULL, NULL);
    require(census->unknown_fields >= unknown_fields);
    require(census->unknown_fields == unknown_fields || v->period_type);
    require(census->time_nanos == v->time_nanos);
    require(census->duration_nanos == v->duration_nanos);
    /* A live heap's stamp says farther on whether it is a delta: perhaps behind a NUL, where C's text
     * ends. */
    if (!has_comment(v, "pprofdelta: live"))
        require(!census->is_stamped == !has_comment(v, "pprofdelta: delta"));
}

static void require_view(const uint8_t *bytes, size_t len, const pprofdelta_census *census)
{
    arena a = {NULL};
    reading r;
    pprofdelta_status status = reading_make(&a, bytes, len, &r);
    require(status == PPROFDELTA_OK || status == PPROFDELTA_E_WIRE);
    if (!status) {
        require(r.view->n_sample_type >= 1 && r.view->n_sample_type <= PPROFDELTA_MAX_TYPES);
        require_census(&r, r.view, census);
    }
    arena_free(&a);
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
size_t fuzz_reader_quick;

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
    fuzz_reader_quick++;
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
    pd_mem_drop(&w.mem);
    w.tables = (pd_tables){.samples = 0};
    require(!w.mem.used);
    free(copy);
}

/* ---- the target ------------------------------------------------------------------------------- */

/* What chooses options, so that the input stays a file like any other. */
static uint32_t hash_of(const uint8_t *data, size_t size)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ data[i]) * 16777619u;
    return hash;
}

/* Options of every kind. None of them takes part in a check. */
static pprofdelta_status check(const uint8_t *data, size_t size, pprofdelta_census *census,
                               pprofdelta_error *err)
{
    static const char *const counters[] = {"no_such_type", "samples/count"}, *const gauges[] = {
                                                                                 "x"};
    uint32_t hash = hash_of(data, size);
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

static pprofdelta *contexts[2];

static pprofdelta *old_context(bool is_in_pieces)
{
    pprofdelta **context = &contexts[is_in_pieces];
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.max_memory = FUZZ_MAX_MEMORY;
    options.flags = PPROFDELTA_FORCE | PPROFDELTA_DEFAULT_COUNTER;
    if (!*context) {
        require(pprofdelta_new(&options, NULL, context, NULL) == PPROFDELTA_OK);
        make_room(*context);
    }
    return *context;
}

static void check_refusal(pprofdelta_status status, const pprofdelta_error *err, size_t size,
                          bool inflates, size_t inflated_len)
{
    bool is_inflate = err->stage == PPROFDELTA_STAGE_INFLATE;
    require(status == PPROFDELTA_E_LIMIT || status == PPROFDELTA_E_INFLATE ||
            status == PPROFDELTA_E_WIRE || status == PPROFDELTA_E_PROFILE);
    require(is_inflate == !inflates || status == PPROFDELTA_E_LIMIT);
    fuzz_require_filled(err, status, size, inflates ? inflated_len : 1);
    require(status != PPROFDELTA_E_WIRE || err->stage == PPROFDELTA_STAGE_WIRE);
    require(status != PPROFDELTA_E_PROFILE || err->stage == PPROFDELTA_STAGE_PROFILE);
}

/* Do both calls fail in the same way, down to the words? */
static bool same_error(const pprofdelta_error *a, const pprofdelta_error *b)
{
    return a->status == b->status && a->stage == b->stage && !strcmp(a->field, b->field) &&
           a->element == b->element && a->offset == b->offset && a->is_prev == b->is_prev &&
           !strcmp(a->text, b->text);
}

/* The same bytes, as the base of a context that has a past, whole or in pieces of any length. */
static void check_again(const uint8_t *data, size_t size, bool is_in_pieces,
                        pprofdelta_status status, const pprofdelta_error *err)
{
    pprofdelta *context = old_context(is_in_pieces);
    uint32_t hash = hash_of(data, size);
    size_t chunk = hash % 5 ? 1 + hash / 5 % (hash % 2 ? 300 : 20000) : 1;
    context->chunk = is_in_pieces ? chunk : 0;
    pprofdelta_error again = fuzz_unfilled();
    pprofdelta_status second = pprofdelta_base(context, data, size, &again);
    /* What it kept from larger inputs counts against its limit. */
    if (status == PPROFDELTA_E_LIMIT || second == PPROFDELTA_E_LIMIT)
        return;
    if (second == PPROFDELTA_E_STAMPED || second == PPROFDELTA_E_NOT_CUMULATIVE ||
        second == PPROFDELTA_E_MISMATCH)
        return; /* only a base is refused for these */
    bool is_gzip = size > 1 && data[0] == 0x1f && data[1] == 0x8b;
    if (is_gzip && (status == PPROFDELTA_E_INFLATE) != (second == PPROFDELTA_E_INFLATE)) {
        pprofdelta_free(contexts[0]); /* libdeflate takes what zlib refuses: see source.h */
        pprofdelta_free(contexts[1]);
        contexts[0] = contexts[1] = NULL;
        return;
    }
    require(second == status);
    if (status == PPROFDELTA_E_INFLATE && size && data[0] == 0x28)
        return; /* what libzstd says of a damaged frame depends on the room in the one that is kept */
    again.is_prev = err->is_prev; /* that a base is read is no part of it */
    require(!status || same_error(&again, err));
}

/* What both contexts remember now. */
static void check_memories(void)
{
    pprofdelta_memory whole = {.size = sizeof whole}, pieces = {.size = sizeof pieces};
    pprofdelta_describe(old_context(false), &whole);
    pprofdelta_describe(old_context(true), &pieces);
    require(whole.samples == pieces.samples && whole.to_nanos == pieces.to_nanos);
}

static bool is_request(const uint8_t *data, size_t size)
{
    pprofdelta_file_kind kind = PPROFDELTA_FILE_UNKNOWN;
    const char *name;
    return !pprofdelta_identify(data, size, &kind, &name, NULL) && kind == PPROFDELTA_FILE_OTLP;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pprofdelta_census census;
    pprofdelta_error err = fuzz_unfilled();
    if (fuzz_is_text(data, size) || is_request(data, size)) { /* see fuzz_text and fuzz_otlp, too */
        pprofdelta_status whole = pprofdelta_base(old_context(false), data, size, &err);
        check_again(data, size, true, whole, &err);
        return 0;
    }
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
    check_again(data, size, false, status, &err);
    check_again(data, size, true, status, &err);
    check_memories();
    return 0;
}
