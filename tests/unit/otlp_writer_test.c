/* The writer of OTLP by itself: the same calls as for pprof make a request that means the same. */
#include "otlp_kit.h"
#include "seeds.h"

#include "base/utf8.h"
#include "profile/compact.h"
#include "profile/otlp_attributes.h"
#include "profile/otlp_resource.h"

static const char *const strings[] = {"",          "a",     "bytes",    "kb",           "bad\xff",
                                      "bad\xfe",   "x/y",   "\xc3\xa9", "\xed\xa0\x80", "deadbeef",
                                      "abc/d-_/f", "thread"};
enum { STRINGS = sizeof strings / sizeof *strings };

static uint32_t draw_string(rng *r, pd_compact *c)
{
    return pd_compact_string(c, pd_bytes_of(strings[rng_below(r, STRINGS)]));
}

static void write_labels(rng *r, pd_compact *c)
{
    size_t len = rng_chance(r, 70) ? rng_below(r, 3) : rng_below(r, 30);
    for (size_t i = 0; i < len; i++) {
        uint32_t key = draw_string(r, c), str = rng_chance(r, 40) ? draw_string(r, c) : 0;
        uint32_t unit = str || rng_chance(r, 50) ? 0 : draw_string(r, c);
        pd_compact_sample_label(c, key, str, str ? 0 : rng_magnitude(r, 40), unit);
    }
}

/* What a location is made of depends on its number only: OTLP has no id for one that is empty, which
 * is made again whenever it occurs. */
static uint32_t write_location(uint64_t seed, pd_compact *c, uint64_t number)
{
    rng own = {seed * 64 + number}, *r = &own;
    pd_key ident = {number * UINT64_C(0x9e3779b97f4a7c15), number};
    uint32_t id = pd_compact_find_location(c, ident), mapping = 0;
    if (id)
        return id;
    if (rng_chance(r, 60)) {
        pd_compact_mapping m = {.start = rng_below(r, 3) << 12,
                                .limit = 5 << 12,
                                .filename = draw_string(r, c),
                                .build_id = draw_string(r, c),
                                .has = (uint32_t)rng_below(r, 16)};
        mapping = pd_compact_add_mapping(c, (pd_key){rng_below(r, 9), 1}, &m);
    }
    for (size_t lines = rng_below(r, 3); lines; lines--) {
        uint32_t name = draw_string(r, c), system = draw_string(r, c), file = draw_string(r, c);
        uint32_t function =
            rng_chance(r, 20) ? 0 : pd_compact_add_function(c, name, system, file, 0);
        pd_compact_add_line(c, function, (int64_t)rng_below(r, 3), 0);
    }
    return pd_compact_add_location(c, ident, mapping, rng_below(r, 4), rng_chance(r, 10));
}

static void write_sample(rng *r, uint64_t seed, pd_compact *c)
{
    int64_t values[3];
    size_t depth = rng_below(r, 4);
    uint8_t *at;
    uint32_t ids[4];
    for (size_t i = 0; i < depth; i++)
        ids[i] = write_location(seed, c, rng_below(r, 40));
    if (depth && (at = pd_compact_stack(c, depth))) {
        for (size_t i = 0; i < depth; i++)
            at = pd_compact_stack_put(at, pd_encode_id(ids[i]));
        pd_compact_stack_end(c, at);
    }
    write_labels(r, c);
    for (size_t i = 0; i < 3; i++)
        values[i] = rng_chance(r, 30)   ? 0
                    : rng_chance(r, 10) ? (int64_t)rng_next(r)
                                        : rng_magnitude(r, 20);
    values[2] = values[0] | values[1] ? values[2] : 1;
    pd_compact_sample_end(c, values, 3);
}

/* The same calls for the same seed, whatever the format. */
static pprofdelta_status write_world(uint64_t seed, pd_compact *c, pd_mem *mem, pd_bytes *out)
{
    rng r = {seed};
    pprofdelta_error err;
    pd_compact_begin(c, mem, &err);
    for (size_t i = 0; i < 3; i++) {
        uint32_t type = draw_string(&r, c);
        pd_compact_type(c, type, draw_string(&r, c));
    }
    for (size_t samples = rng_below(&r, 40); samples; samples--)
        write_sample(&r, seed, c);
    for (size_t comments = rng_below(&r, 3); comments; comments--)
        pd_compact_comment(c, draw_string(&r, c));
    pd_compact_header h = {.has_period_type = rng_chance(&r, 50), .period = rng_magnitude(&r, 20)};
    uint32_t *const texts[] = {&h.period_type, &h.period_unit,         &h.drop_frames,
                               &h.keep_frames, &h.default_sample_type, &h.doc_url};
    for (size_t i = 0; i < 6; i++)
        *texts[i] = draw_string(&r, c);
    h.time_nanos = rng_chance(&r, 20) ? 0 : rng_magnitude(&r, 60);
    h.duration_nanos = rng_magnitude(&r, 60);
    return pd_compact_finish(c, &h, out);
}

typedef struct writers {
    tracker memory;
    pd_mem mem;
    pd_buffer resource;
    pd_compact pprof, otlp;
} writers;

static void writers_begin(writers *w)
{
    *w = (writers){0};
    pprofdelta_allocator allocator = tracker_allocator(&w->memory);
    pd_mem_init(&w->mem, &allocator, UINT64_C(1) << 32);
    CHECK(!pd_otlp_resource(resource, sizeof resource / sizeof *resource, &w->mem, &w->resource,
                            NULL));
    w->otlp.format = PPROFDELTA_OTLP;
    w->otlp.resource = (pd_bytes){w->resource.ptr, w->resource.len};
}

static void writers_end(writers *w)
{
    pd_compact_release(&w->pprof, &w->mem);
    pd_compact_release(&w->otlp, &w->mem);
    pd_buffer_release(&w->mem, &w->resource);
    CHECK(w->memory.live == 0);
}

TEST(any_content_means_the_same)
{
    seed_range range = seeds(40);
    writers w;
    writers_begin(&w);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        arena a = {0};
        pd_bytes pprof, request;
        otlp_model one, other;
        REQUIRE(!write_world(seed, &w.pprof, &w.mem, &pprof));
        REQUIRE(!write_world(seed, &w.otlp, &w.mem, &request));
        REQUIRE(otlp_model_of_pprof(&a, pprof.ptr, pprof.len, &one));
        otlp_model_read(&a, request.ptr, request.len, &other);
        const char *wrong = otlp_model_differ(&a, &one, &other);
        AGREE(seed, wrong);
        CHECK_STR(other.resource, resource_text);
        arena_free(&a);
    }
    size_t calls = w.memory.calls;
    pd_bytes out;
    for (uint64_t seed = range.from; seed < range.to; seed++)
        CHECK(!write_world(seed, &w.otlp, &w.mem, &out));
    CHECK_MSG(w.memory.calls == calls, "%zu allocations in the steady state",
              w.memory.calls - calls);
    writers_end(&w);
}

TEST(every_allocation_may_fail)
{
    for (uint64_t seed = 0; seed < 12; seed++) {
        bool has_failed = true;
        for (size_t n = 1; has_failed; n++) {
            writers w;
            pd_bytes out;
            writers_begin(&w);
            w.memory.fail_at = w.memory.calls + n;
            w.memory.is_alone = seed % 2;
            pprofdelta_status status = write_world(seed, &w.otlp, &w.mem, &out);
            has_failed = w.memory.refused != 0;
            CHECK(status == (has_failed ? PPROFDELTA_E_MEMORY : PPROFDELTA_OK));
            w.memory.fail_at = 0;
            CHECK(!write_world(seed, &w.otlp, &w.mem, &out));
            writers_end(&w);
        }
    }
}

/* ---- small rules ----------------------------------------------------------------------------- */

TEST(build_ids_are_named_by_their_form)
{
    static const struct {
        const char *id, *last;
    } rows[] = {{"deadbeef", "gnu"},      {"a", "gnu"},
                {"C0FFEE01", "gnu"},      {"6b1b2c/ab-_9/zz/Q", "go"},
                {"action/content", "go"}, {"/abc", "gnu"},
                {"abc/", "gnu"},          {"a//b", "gnu"},
                {"a/b c", "gnu"},         {"01234567-89ab", "gnu"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *key = pd_otlp_build_id_key(pd_bytes_of(rows[i].id));
        CHECK_STR(strrchr(key, '.') + 1, rows[i].last);
    }
}

TEST(bytes_that_are_not_utf8_are_replaced_one_by_one)
{
    static const struct {
        const char *given, *want;
    } rows[] = {{"", ""},
                {"plain text of some length", "plain text of some length"},
                {"\x80", "\xef\xbf\xbd"},
                {"a\xffz", "a\xef\xbf\xbdz"},
                {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
                {"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},
                {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
                {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
                {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
                {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"}};
    writers w;
    pd_buffer out = {0};
    writers_begin(&w);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pd_bytes given = pd_bytes_of(rows[i].given);
        CHECK(!pd_utf8_repair(given, &w.mem, &out, NULL));
        bool is_same = !out.len || !memcmp(out.ptr, rows[i].want, out.len);
        CHECK_MSG(out.len == strlen(rows[i].want) && is_same, "%zu", i);
        CHECK(pd_utf8_is_valid(given) == !strcmp(rows[i].given, rows[i].want));
    }
    pd_buffer_release(&w.mem, &out);
    writers_end(&w);
}

TEST_MAIN()
