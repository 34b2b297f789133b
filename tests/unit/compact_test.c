/* The compact writer: everything that is added is in the message view, once. */
#include "../support/test.h"

#include "profile/compact.h"
#include "reading.h"
#include "run.h"
#include "view.h"

#define PLENTY (UINT64_C(1) << 40)

enum { STRINGS = 12, FUNCTIONS = 10, MAPPINGS = 5, LOCATIONS = 14, SAMPLES_MAX = 30, DEEP = 6 };

/* ---------------------------------------------------------------------------------------------
 * What there is to write
 * ------------------------------------------------------------------------------------------ */

typedef struct function {
    size_t name, system_name, file; /* strings */
    int64_t start;
} function;

typedef struct mapping {
    uint64_t start, limit, offset;
    size_t file, build_id;
    uint32_t has;
    uint64_t key; /* equal ones are one */
} mapping;

typedef struct line {
    size_t function; /* FUNCTIONS: none */
    int64_t line, column;
} line;

typedef struct location {
    size_t mapping; /* MAPPINGS: none */
    uint64_t address;
    bool is_folded;
    line lines[3];
    size_t lines_len;
} location;

typedef struct label {
    size_t key, str, unit;
    int64_t num;
} label;

typedef struct sample {
    size_t stack[DEEP], depth, labels_len;
    label labels[2];
    int64_t values[2];
} sample;

typedef struct world {
    function functions[FUNCTIONS];
    mapping mappings[MAPPINGS];
    location locations[LOCATIONS];
    sample samples[SAMPLES_MAX];
    size_t samples_len, comments[3], comments_len;
    pd_compact_header header;
} world;

static const char *const strings[STRINGS] = {
    "", "a", "ab", "b", "a b", "main.main", "/bin/app", "id-1", "count", "bytes", "x/y.go", " "};

static int64_t draw_number(rng *r)
{
    return rng_chance(r, 30) ? 0 : rng_chance(r, 20) ? (int64_t)rng_next(r) : rng_magnitude(r, 40);
}

static size_t draw_string(rng *r)
{
    return rng_below(r, STRINGS);
}

static void draw(rng *r, world *w)
{
    memset(w, 0, sizeof *w);
    for (size_t i = 0; i < FUNCTIONS; i++)
        w->functions[i] = (function){draw_string(r), draw_string(r), draw_string(r),
                                     rng_chance(r, 50) ? 0 : draw_number(r)};
    for (size_t i = 0; i < MAPPINGS; i++)
        w->mappings[i] = (mapping){(uint64_t)draw_number(r), (uint64_t)draw_number(r),
                                   (uint64_t)draw_number(r), draw_string(r),
                                   draw_string(r),           (uint32_t)rng_below(r, 16),
                                   rng_below(r, 3)};
    for (size_t i = 0; i < LOCATIONS; i++) {
        location *l = &w->locations[i];
        *l = (location){.mapping = rng_below(r, MAPPINGS + 1),
                        .address = (uint64_t)draw_number(r),
                        .is_folded = rng_chance(r, 20),
                        .lines_len = rng_below(r, 4)};
        for (size_t n = 0; n < l->lines_len; n++)
            l->lines[n] = (line){rng_below(r, FUNCTIONS + 1), draw_number(r), draw_number(r)};
    }
    w->samples_len = rng_below(r, SAMPLES_MAX + 1);
    for (size_t i = 0; i < w->samples_len; i++) {
        sample *s = &w->samples[i];
        *s = (sample){.depth = rng_below(r, DEEP + 1), .labels_len = rng_below(r, 3)};
        for (size_t n = 0; n < s->depth; n++)
            s->stack[n] = rng_below(r, LOCATIONS);
        for (size_t n = 0; n < s->labels_len; n++)
            s->labels[n] = (label){draw_string(r), draw_string(r), draw_string(r), draw_number(r)};
        s->values[0] = draw_number(r);
        s->values[1] = draw_number(r);
    }
    w->comments_len = rng_below(r, 4);
    for (size_t i = 0; i < w->comments_len; i++)
        w->comments[i] = draw_string(r);
    w->header = (pd_compact_header){.has_period_type = rng_chance(r, 50),
                                    .period = draw_number(r),
                                    .time_nanos = draw_number(r),
                                    .duration_nanos = draw_number(r)};
}

/* ---------------------------------------------------------------------------------------------
 * Writing it
 * ------------------------------------------------------------------------------------------ */

typedef struct kit {
    tracker tracker;
    pd_mem mem;
    pprofdelta_error err;
    pd_compact compact;
} kit;

static void begin(kit *k)
{
    memset(k, 0, sizeof *k);
    pprofdelta_allocator allocator = tracker_allocator(&k->tracker);
    pd_mem_init(&k->mem, &allocator, PLENTY);
}

static void end(kit *k)
{
    pd_compact_release(&k->compact, &k->mem);
    CHECK(k->mem.used == 0 && k->tracker.live == 0);
}

static uint32_t put_string(kit *k, size_t i)
{
    const uint8_t *ptr = (const uint8_t *)strings[i];
    return pd_compact_string(&k->compact, (pd_bytes){ptr, strlen(strings[i])});
}

static pd_key ident_of(size_t i)
{
    return (pd_key){i * UINT64_C(0x9e3779b97f4a7c15), 5};
}

static uint32_t put_location(kit *k, const world *w, size_t i)
{
    pd_compact *c = &k->compact;
    const location *l = &w->locations[i];
    uint32_t id = pd_compact_find_location(c, ident_of(i)), lines[3] = {0}, m = 0;
    if (id)
        return id;
    for (size_t n = 0; n < l->lines_len; n++)
        if (l->lines[n].function < FUNCTIONS) {
            const function *f = &w->functions[l->lines[n].function];
            uint32_t name = put_string(k, f->name), system_name = put_string(k, f->system_name);
            lines[n] =
                pd_compact_add_function(c, name, system_name, put_string(k, f->file), f->start);
        }
    if (l->mapping < MAPPINGS) {
        const mapping *from = &w->mappings[l->mapping];
        pd_compact_mapping to = {.start = from->start,
                                 .limit = from->limit,
                                 .file_offset = from->offset,
                                 .filename = put_string(k, from->file),
                                 .build_id = put_string(k, from->build_id),
                                 .has = from->has};
        m = pd_compact_add_mapping(c, (pd_key){from->key, 1}, &to);
    }
    for (size_t n = 0; n < l->lines_len; n++)
        pd_compact_add_line(c, lines[n], l->lines[n].line, l->lines[n].column);
    return pd_compact_add_location(c, ident_of(i), m, l->address, l->is_folded);
}

static void put_sample(kit *k, const world *w, const sample *s)
{
    pd_compact *c = &k->compact;
    uint32_t ids[DEEP];
    for (size_t n = 0; n < s->depth; n++)
        ids[n] = put_location(k, w, s->stack[n]);
    uint8_t *out = s->depth ? pd_compact_stack(c, s->depth) : NULL;
    if (out) {
        for (size_t n = 0; n < s->depth; n++)
            out = pd_compact_stack_put(out, pd_encode_id(ids[n]));
        pd_compact_stack_end(c, out);
    }
    for (size_t n = 0; n < s->labels_len; n++) {
        const label *l = &s->labels[n];
        uint32_t key = put_string(k, l->key), str = put_string(k, l->str);
        pd_compact_sample_label(c, key, str, l->num, put_string(k, l->unit));
    }
    pd_compact_sample_end(c, s->values, 2);
}

static pprofdelta_status write_world(kit *k, const world *w, pd_bytes *out)
{
    pd_compact *c = &k->compact;
    pd_compact_begin(c, &k->mem, &k->err);
    uint32_t unit = put_string(k, 8);
    pd_compact_type(c, put_string(k, 1), unit);
    pd_compact_type(c, unit, put_string(k, 9));
    for (size_t i = 0; i < w->samples_len; i++)
        put_sample(k, w, &w->samples[i]);
    for (size_t i = 0; i < w->comments_len; i++)
        pd_compact_comment(c, put_string(k, w->comments[i]));
    pd_compact_header header = w->header;
    if (header.has_period_type)
        header.period_unit = header.period_type = put_string(k, 9);
    header.drop_frames = put_string(k, 4);
    header.default_sample_type = unit;
    header.doc_url = put_string(k, 10);
    return pd_compact_finish(c, &header, out);
}

/* ---------------------------------------------------------------------------------------------
 * Reading it back
 * ------------------------------------------------------------------------------------------ */

static const char *text_of(const Pd__View__Profile *p, int64_t index)
{
    return index >= 0 && (size_t)index < p->n_string_table ? view_text(p, index) : "?";
}

static bool is_string(const Pd__View__Profile *p, int64_t index, size_t i)
{
    return strcmp(text_of(p, index), strings[i]) == 0;
}

static bool has_function(const Pd__View__Profile *p, uint64_t id, const function *want)
{
    const Pd__View__Function *f = id && id <= p->n_function ? p->function[id - 1] : NULL;
    return f && f->id == id && f->start_line == want->start && is_string(p, f->name, want->name) &&
           is_string(p, f->system_name, want->system_name) && is_string(p, f->filename, want->file);
}

static bool is_mapping(const Pd__View__Profile *p, const Pd__View__Mapping *m, const mapping *want)
{
    uint32_t has = (m->has_functions ? 1u : 0) | (m->has_filenames ? 2u : 0) |
                   (m->has_line_numbers ? 4u : 0) | (m->has_inline_frames ? 8u : 0);
    return m->memory_start == want->start && m->memory_limit == want->limit &&
           m->file_offset == want->offset && is_string(p, m->filename, want->file) &&
           is_string(p, m->build_id, want->build_id) && has == want->has;
}

/* The mapping under this id is one of those with the key. */
static bool has_mapping(const Pd__View__Profile *p, uint64_t id, const world *w, uint64_t key)
{
    if (!id || id > p->n_mapping || p->mapping[id - 1]->id != id)
        return false;
    for (size_t i = 0; i < MAPPINGS; i++)
        if (w->mappings[i].key == key && is_mapping(p, p->mapping[id - 1], &w->mappings[i]))
            return true;
    return false;
}

static bool has_location(const Pd__View__Profile *p, uint64_t id, const world *w, size_t i)
{
    const location *want = &w->locations[i];
    const Pd__View__Location *l = id && id <= p->n_location ? p->location[id - 1] : NULL;
    if (!l || l->id != id || l->address != want->address || l->is_folded != want->is_folded ||
        l->n_line != want->lines_len)
        return false;
    if (want->mapping == MAPPINGS
            ? l->mapping_id != 0
            : !has_mapping(p, l->mapping_id, w, w->mappings[want->mapping].key))
        return false;
    for (size_t n = 0; n < l->n_line; n++) {
        const Pd__View__Line *got = l->line[n];
        const line *line_want = &want->lines[n];
        if (got->line != line_want->line || got->column != line_want->column)
            return false;
        if (line_want->function == FUNCTIONS
                ? got->function_id != 0
                : !has_function(p, got->function_id, &w->functions[line_want->function]))
            return false;
    }
    return true;
}

static bool has_sample(const Pd__View__Profile *p, const Pd__View__Sample *s, const world *w,
                       const sample *want)
{
    if (s->n_location_id != want->depth || s->n_label != want->labels_len || s->n_value != 2 ||
        s->value[0] != want->values[0] || s->value[1] != want->values[1])
        return false;
    for (size_t n = 0; n < want->depth; n++)
        if (!has_location(p, s->location_id[n], w, want->stack[n]))
            return false;
    for (size_t n = 0; n < want->labels_len; n++) {
        const Pd__View__Label *l = s->label[n];
        const label *label_want = &want->labels[n];
        if (l->num != label_want->num || !is_string(p, l->key, label_want->key) ||
            !is_string(p, l->str, label_want->str) || !is_string(p, l->num_unit, label_want->unit))
            return false;
    }
    return true;
}

static void check_world(const Pd__View__Profile *p, const world *w)
{
    REQUIRE(p->n_sample == w->samples_len && p->n_sample_type == 2);
    for (size_t i = 0; i < w->samples_len; i++)
        CHECK_MSG(has_sample(p, p->sample[i], w, &w->samples[i]), "sample %zu", i);
    CHECK(is_string(p, p->sample_type[0]->type, 1) && is_string(p, p->sample_type[0]->unit, 8));
    CHECK(is_string(p, p->sample_type[1]->type, 8) && is_string(p, p->sample_type[1]->unit, 9));
    REQUIRE(p->n_comment == w->comments_len);
    for (size_t i = 0; i < w->comments_len; i++)
        CHECK(is_string(p, p->comment[i], w->comments[i]));
    CHECK((p->period_type != NULL) == w->header.has_period_type);
    CHECK(!p->period_type ||
          (is_string(p, p->period_type->type, 9) && is_string(p, p->period_type->unit, 9)));
    CHECK(p->period == w->header.period && p->time_nanos == w->header.time_nanos &&
          p->duration_nanos == w->header.duration_nanos);
    CHECK(is_string(p, p->drop_frames, 4) && is_string(p, p->keep_frames, 0) &&
          is_string(p, p->default_sample_type, 8) && is_string(p, p->doc_url, 10));
}

/* Every string, function, mapping and location is there once, with ids from 1 in their order. */
static void check_once(const Pd__View__Profile *p)
{
    CHECK(p->n_string_table && !p->string_table[0].len);
    for (size_t i = 0; i < p->n_string_table; i++)
        for (size_t n = 0; n < i; n++)
            CHECK(strcmp(view_text(p, (int64_t)i), view_text(p, (int64_t)n)) != 0);
    for (size_t i = 0; i < p->n_function; i++) {
        const Pd__View__Function *f = p->function[i];
        CHECK(f->id == i + 1);
        for (size_t n = 0; n < i; n++) {
            const Pd__View__Function *g = p->function[n];
            CHECK(f->name != g->name || f->system_name != g->system_name ||
                  f->filename != g->filename || f->start_line != g->start_line);
        }
    }
    for (size_t i = 0; i < p->n_mapping; i++)
        CHECK(p->mapping[i]->id == i + 1);
    for (size_t i = 0; i < p->n_location; i++)
        CHECK(p->location[i]->id == i + 1);
    CHECK(p->n_mapping <= 3 && p->n_location <= LOCATIONS);
}

/* ---------------------------------------------------------------------------------------------
 * The tests
 * ------------------------------------------------------------------------------------------ */

TEST(everything_is_written_once)
{
    kit k;
    begin(&k);
    for (uint64_t seed = 1; seed <= 400; seed++) {
        static world w;
        rng r = {seed};
        draw(&r, &w);
        pd_bytes out;
        REQUIRE(write_world(&k, &w, &out) == PPROFDELTA_OK);
        CHECK(k.compact.samples == w.samples_len);
        Pd__View__Profile *p = view_unpack(out.ptr, out.len);
        REQUIRE(p);
        check_world(p, &w);
        check_once(p);
        CHECK(p->base.n_unknown_fields == 0);
        view_free(p);
    }
    end(&k);
}

TEST(equal_input_gives_equal_bytes_without_new_memory)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        static world w;
        rng r = {seed};
        draw(&r, &w);
        kit k, fresh;
        begin(&k);
        begin(&fresh);
        pd_bytes first, again, other;
        REQUIRE(write_world(&fresh, &w, &first) == PPROFDELTA_OK);
        REQUIRE(write_world(&k, &w, &other) == PPROFDELTA_OK);
        size_t calls = k.tracker.calls;
        REQUIRE(write_world(&k, &w, &again) == PPROFDELTA_OK);
        CHECK(k.tracker.calls == calls);
        CHECK(first.len == again.len && memcmp(first.ptr, again.ptr, first.len) == 0);
        end(&k);
        end(&fresh);
    }
}

TEST(no_input_gives_an_empty_profile)
{
    kit k;
    begin(&k);
    pd_bytes out;
    pd_compact_begin(&k.compact, &k.mem, &k.err);
    REQUIRE(pd_compact_finish(&k.compact, &(pd_compact_header){0}, &out) == PPROFDELTA_OK);
    static const uint8_t want[] = {0x32, 0x00}; /* string_table: "" */
    CHECK(out.len == sizeof want && memcmp(out.ptr, want, sizeof want) == 0);
    end(&k);
}

/* Where an equal mapping was written first, addresses are to be moved to where that one begins. */
TEST(a_mapping_returns_its_written_start)
{
    kit k;
    begin(&k);
    pd_compact_begin(&k.compact, &k.mem, &k.err);
    pd_key app = {1, 1}, libc = {2, 1};
    pd_compact_mapping m = {.start = 0x400000, .limit = 0x500000};
    CHECK(pd_compact_add_mapping(&k.compact, app, &m) == 1 &&
          pd_compact_mapping_start(&k.compact, 1) == 0x400000);
    m.start = 0x7000;
    CHECK(pd_compact_add_mapping(&k.compact, libc, &m) == 2 &&
          pd_compact_mapping_start(&k.compact, 2) == 0x7000);
    CHECK(pd_compact_add_mapping(&k.compact, app, &m) == 1 &&
          pd_compact_mapping_start(&k.compact, 1) == 0x400000);
    m.start = 0x9000;
    CHECK(pd_compact_add_mapping(&k.compact, libc, &m) == 2 &&
          pd_compact_mapping_start(&k.compact, 2) == 0x7000);
    end(&k);
}

TEST(ids_are_encoded_as_varints)
{
    static const uint32_t ids[] = {1, 127, 128, 16383, 16384, 2097151, 2097152, PD_ENCODED_MAX};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        uint8_t want[PD_VARINT_MAX], got[PD_STACK_SLACK];
        size_t len = (size_t)(pd_varint_encode(want, ids[i]) - want);
        uint8_t *end = pd_compact_stack_put(got, pd_encode_id(ids[i]));
        CHECK((size_t)(end - got) == len && memcmp(got, want, len) == 0);
    }
    CHECK(pd_encode_id(0) == 0);
}

/* Alone, and with all behind it: trouble is told at the end, and the next profile is whole. */
TEST(every_allocation_may_fail)
{
    static world w;
    rng r = {4};
    do
        draw(&r, &w);
    while (w.samples_len < SAMPLES_MAX || w.comments_len < 2);
    kit whole;
    begin(&whole);
    pd_bytes want;
    REQUIRE(write_world(&whole, &w, &want) == PPROFDELTA_OK);
    for (int alone = 0; alone < 2; alone++) {
        size_t nth = 1, refused = 1;
        for (; refused; nth++) {
            kit k;
            begin(&k);
            k.tracker.fail_at = nth;
            k.tracker.is_alone = alone != 0;
            pd_bytes out = {NULL, 4711};
            pprofdelta_status status = write_world(&k, &w, &out);
            refused = k.tracker.refused;
            CHECK_MSG(status == (refused ? PPROFDELTA_E_MEMORY : PPROFDELTA_OK), "allocation %zu",
                      nth);
            CHECK(k.err.status == status);
            CHECK(!refused || (!out.ptr && out.len == 4711));
            k.tracker.fail_at = 0;
            REQUIRE(write_world(&k, &w, &out) == PPROFDELTA_OK);
            CHECK(out.len == want.len && memcmp(out.ptr, want.ptr, want.len) == 0);
            end(&k);
        }
        CHECK(nth > 20);
    }
    end(&whole);
}

TEST(the_first_error_is_reported)
{
    kit k;
    begin(&k);
    k.mem.limit = 400;
    static world w;
    rng r = {4};
    do
        draw(&r, &w);
    while (w.samples_len < SAMPLES_MAX);
    pd_bytes out;
    CHECK(write_world(&k, &w, &out) == PPROFDELTA_E_LIMIT);
    CHECK(k.err.status == PPROFDELTA_E_LIMIT && k.mem.used <= 400);
    end(&k);
}

TEST_MAIN()
