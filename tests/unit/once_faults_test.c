/* One pass where something is wrong: what is told, what is given back, and what is done without the
 * memory that it would take. */
#include "build.h"
#include "keep.h"
#include "once_kit.h"
#include "scene.h"

/* Two looks that are read in one pass. */
typedef struct stand {
    build b;
    buf plain[2], gzip[2];
} stand;

static void stand_begin(stand *s, size_t samples)
{
    *s = (stand){0};
    build *b = &s->b;
    build_types(b, HEAP_TYPES);
    model_mapping *app = build_mapping(b, 0x400000, 0x500000, 0x1000, "/bin/app", "build-1");
    build_place(b, "main", app, 0x401000);
    for (size_t i = 0; i < samples; i++) {
        const char *name = arena_format(&b->arena, "f%zu", i);
        build_place(b, name, app, 0x402000 + i);
        model_sample *sample =
            build_sample(b, arena_format(&b->arena, "%s main", name), "10 1000 0 0");
        build_label(b, sample, "bytes", "", 100, "");
    }
    b->m.drop_frames = b->m.keep_frames = b->m.default_sample_type = b->m.doc_url = "";
    b->m.period_type = (model_type){"space", "bytes"};
    serial_style style = {.tables = TABLES_AS_USED, .packing = EMIT_AS_GO};
    for (size_t look = 0; look < 2; look++) {
        b->m.time_nanos += 1000;
        for (size_t i = 0; look && i < samples; i += 2)
            b->m.samples[i]->values[0] += 1 + (int64_t)i;
        s->plain[look] = serial_write(&b->arena, &b->m, &style);
        s->gzip[look] = pack_gzip(&b->arena, s->plain[look], 1);
    }
}

static void stand_end(stand *s)
{
    build_free(&s->b);
}

/* ---- what is told ------------------------------------------------------------------------------ */

/* As a base, and as a window of a base in one pass. */
static void check_file(ways *w, buf base, buf file, const char *what)
{
    const char *wrong = ways_base(w, file);
    CHECK_MSG(!wrong, "%s as base: %s", what, wrong);
    wrong = ways_base(w, base);
    CHECK_MSG(!wrong && base_was_once(w->once), "%s", what);
    wrong = ways_window(w, file);
    CHECK_MSG(!wrong, "%s as window: %s", what, wrong);
    ways_abandon(w);
    wrong = ways_window(w, base);
    CHECK_MSG(!wrong, "%s, behind it: %s", what, wrong);
    ways_abandon(w);
}

TEST(what_is_cut_off_or_damaged_is_told_as_by_two_passes)
{
    seed_range range = seeds(1);
    for (uint64_t seed = range.from; seed < range.to; seed += 4) {
        stand s;
        ways w;
        rng r = {seed};
        stand_begin(&s, 1 + rng_below(&r, 12));
        ways_begin(&w, NULL);
        buf plain = s.plain[1];
        for (size_t len = 0; len < plain.len; len += 1 + rng_below(&r, 8)) {
            buf cut = {.ptr = plain.ptr, .len = len};
            w.once->piece = draw_piece(&r);
            bool is_packed = rng_chance(&r, 10);
            check_file(&w, s.plain[0], is_packed ? pack_gzip(&s.b.arena, cut, 1) : cut, "cut off");
        }
        for (int i = 0; i < 200; i++) {
            bool is_packed = rng_chance(&r, 20);
            buf file = is_packed ? s.gzip[1] : plain;
            size_t at = rng_below(&r, file.len);
            uint8_t was = file.ptr[at];
            w.once->piece = draw_piece(&r);
            w.whole->piece =
                is_packed ? w.once->piece : 0; /* the ways differ in what they inflate by */
            file.ptr[at] =
                rng_chance(&r, 50) ? was ^ (uint8_t)(1 << rng_below(&r, 8)) : (uint8_t)rng_next(&r);
            check_file(&w, s.plain[0], file, "damaged");
            file.ptr[at] = was;
        }
        ways_end(&w);
        stand_end(&s);
    }
}

/* Types, a place and one sample, by hand, with this in its label. */
static buf with_label(arena *a, const uint8_t *label, size_t len)
{
    static const uint8_t head[] = {0x0a, 4,  8, 1,    16, 2, 0x0a, 4,  8,
                                   3,    16, 4, 0x22, 4,  8, 1,    24, 9};
    static const char *const strings[] = {"", "contentions", "count", "delay", "nanoseconds"};
    const uint8_t sample[] = {0x12, (uint8_t)(len + 9), 0x12, 2, 5, 6, 0x0a, 1, 1,
                              0x1a, (uint8_t)len};
    buf b = buf_begin(a);
    buf_add(&b, head, sizeof head);
    buf_add(&b, sample, sizeof sample);
    buf_add(&b, label, len);
    for (size_t i = 0; i < 5; i++) {
        const uint8_t tag[] = {0x32, (uint8_t)strlen(strings[i])};
        buf_add(&b, tag, sizeof tag);
        buf_text(&b, strings[i]);
    }
    return b;
}

/* A string that is not there is wrong even where the label says another one in its place. */
TEST(a_label_that_says_a_string_twice)
{
    static const uint8_t good[] = {8, 2, 16, 1};
    static const uint8_t labels[][4] = {
        {8, 2, 16, 1},   {8, 1, 8, 2},    {8, 99, 8, 2},  {8, 5, 8, 2},   {8, 2, 8, 99},
        {16, 99, 16, 2}, {32, 99, 32, 2}, {8, 99, 16, 2}, {32, 4, 32, 2}, {16, 5, 16, 0}};
    arena a = {0};
    ways w;
    size_t refused = 0;
    ways_begin(&w, NULL);
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        buf file = with_label(&a, labels[i], sizeof labels[i]);
        check_file(&w, with_label(&a, good, sizeof good), file, "a label");
        CHECK(!ways_base(&w, file));
        refused += w.status != PPROFDELTA_OK;
    }
    CHECK(refused == 7);
    ways_end(&w);
    arena_free(&a);
}

/* ---- the trailer ------------------------------------------------------------------------------- */

TEST(a_trailer_that_lies)
{
    static const uint32_t lies[] = {0, 1, 100, 1 << 20, UINT32_MAX};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++)
        for (size_t piece = 0; piece < 2; piece++) {
            stand s;
            ways w;
            stand_begin(&s, 50);
            ways_begin(&w, NULL);
            w.once->piece = piece ? 1000 : 0; /* 0: by what the file says of its length */
            buf file = pack_gzip(&s.b.arena, s.plain[1], 1);
            for (size_t n = 0; n < 4; n++)
                file.ptr[file.len - 4 + n] = (uint8_t)(lies[i] >> 8 * n);
            const char *wrong = ways_base(&w, file);
            CHECK_MSG(!wrong && w.status == PPROFDELTA_E_INFLATE, "%s", wrong ? wrong : "taken");
            AGREE((uint64_t)i, ways_base(&w, s.gzip[0]));
            wrong = ways_window(&w, file);
            CHECK_MSG(!wrong && w.status == PPROFDELTA_E_INFLATE, "%s", wrong ? wrong : "taken");
            AGREE((uint64_t)i, ways_window(&w, s.gzip[1]));
            CHECK(window_was_once(w.once) == piece);
            ways_end(&w);
            stand_end(&s);
        }
}

/* ---- what is kept ------------------------------------------------------------------------------ */

TEST(it_cannot_be_saved_but_loaded)
{
    stand s;
    ways w;
    stand_begin(&s, 20);
    ways_begin(&w, NULL);
    CHECK(!ways_base(&w, s.plain[0]) && base_was_once(w.once));
    buf state = keep_save(&s.b.arena, w.whole);
    pprofdelta_error err = {0};
    collector c = {.bytes = buf_begin(&s.b.arena)};
    pprofdelta_sink sink = collector_sink(&c);
    CHECK(pprofdelta_save(w.once, &sink, &err) == PPROFDELTA_E_USAGE && !c.calls);
    CHECK(err.status == PPROFDELTA_E_USAGE && *err.text);
    CHECK(!ways_window(&w, s.plain[1]) && window_was_once(w.once));
    ways_commit(&w);
    CHECK(keep_load(w.once, state, NULL) == PPROFDELTA_OK && !base_was_once(w.once));
    CHECK(keep_load(w.whole, state, NULL) == PPROFDELTA_OK);
    CHECK(!ways_window(&w, s.plain[1]) && !w.status && !window_was_once(w.once));
    ways_commit(&w);
    CHECK(!ways_base(&w, s.plain[0]) && base_was_once(w.once));
    CHECK(!ways_window(&w, s.plain[1]) && window_was_once(w.once));
    ways_end(&w);
    stand_end(&s);
}

/* One look that the base does not like leaves the base before as it was. */
TEST(a_base_that_fails_leaves_the_other)
{
    stand s;
    ways w;
    stand_begin(&s, 20);
    ways_begin(&w, NULL);
    CHECK(!ways_base(&w, s.plain[0]));
    buf cut = {.ptr = s.plain[1].ptr, .len = s.plain[1].len - 30};
    CHECK(!ways_base(&w, cut) && w.status);
    CHECK(!ways_window(&w, cut) && w.status);
    CHECK(!ways_window(&w, s.plain[1]) && !w.status && window_was_once(w.once));
    ways_end(&w);
    stand_end(&s);
}

/* More of them than so many bytes usually hold: the base has no room for all from the beginning. */
TEST(small_samples_some_of_which_repeat)
{
    enum { PEOPLE = 100, SAMPLES = 5000 };
    for (uint64_t seed = 0; seed < 4; seed++) {
        stand s;
        ways w;
        rng r = {seed};
        stand_begin(&s, PEOPLE);
        model *m = &s.b.m;
        for (size_t n = 0; n < SAMPLES; n++) {
            size_t i = rng_below(&r, PEOPLE), j = rng_below(&r, rng_chance(&r, 50) ? 2 : PEOPLE);
            const char *stack = arena_format(&s.b.arena, "f%zu f%zu", i, j);
            for (size_t times = 1 + rng_below(&r, 3); times; times--)
                build_sample(&s.b, stack, "1 2 0 0");
        }
        serial_style style = {.tables = TABLES_AS_USED, .packing = EMIT_AS_GO};
        buf look = serial_write(&s.b.arena, m, &style);
        ways_begin(&w, NULL);
        AGREE(seed, ways_base(&w, look));
        CHECK(base_was_once(w.once));
        m->samples[0]->values[0]++;
        look = serial_write(&s.b.arena, m, &style);
        AGREE(seed, ways_window(&w, look));
        CHECK(window_was_once(w.once));
        ways_end(&w);
        stand_end(&s);
    }
}

/* Where the limit leaves little the records are lost, and read again. */
TEST(records_that_are_lost_are_read_again)
{
    enum { SAMPLES = 3000 };
    stand s;
    stand_begin(&s, SAMPLES);
    for (unsigned flags = 0; flags <= PPROFDELTA_VERIFY; flags += PPROFDELTA_VERIFY) {
        ways w;
        bool was_lost = false, was_kept = false;
        pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
        options.flags = flags | PPROFDELTA_NO_SEQUENCE; /* each attempt gives the same bytes */
        ways_begin(&w, &options);
        uint64_t limit = w.once->mem.limit;
        CHECK(!ways_base(&w, s.gzip[0]) && base_was_once(w.once));
        CHECK(!ways_window(&w, s.gzip[1]) && window_was_once(w.once));
        ways_abandon(&w);
        buf out, want = w.out;
        for (uint64_t left = 16 << 10; left < 4 << 20; left += left / 3) {
            w.once->mem.limit = w.once->mem.used + left;
            collector c = {.bytes = buf_begin(&w.arena)};
            pprofdelta_sink sink = collector_sink(&c);
            pprofdelta_status status =
                pprofdelta_window(w.once, s.gzip[1].ptr, s.gzip[1].len, &sink, NULL, NULL);
            CHECK(!status || status == PPROFDELTA_E_LIMIT);
            CHECK(status || (unpack(&w.arena, c.bytes.ptr, c.bytes.len, &out) &&
                             out.len == want.len && !memcmp(out.ptr, want.ptr, out.len)));
            was_lost |= !status && window_was_once(w.once) && w.once->cur.kept.is_lost;
            was_kept |= !status && window_was_once(w.once) && !w.once->cur.kept.is_lost;
            pprofdelta_abandon(w.once);
        }
        w.once->mem.limit = limit;
        CHECK(was_lost && was_kept);
        ways_end(&w);
    }
    stand_end(&s);
}

/* ---- memory ------------------------------------------------------------------------------------ */

typedef struct life {
    arena arena;
    buf out;
    pprofdelta_status base, window;
} life;

static pprofdelta_options options_of(unsigned way)
{
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.flags = PPROFDELTA_NO_SAVE | PPROFDELTA_NO_SEQUENCE | (way % 2 ? PPROFDELTA_VERIFY : 0);
    options.compression = (pprofdelta_compression)(way / 2);
    return options;
}

static void live(life *l, pprofdelta *pd, const stand *s)
{
    collector c = {.bytes = buf_begin(&l->arena)};
    pprofdelta_sink sink = collector_sink(&c);
    const buf *looks = s->gzip;
    pd->piece = 300;
    l->base = pprofdelta_base(pd, looks[0].ptr, looks[0].len, NULL);
    l->window = pprofdelta_window(pd, looks[1].ptr, looks[1].len, &sink, NULL, NULL);
    pprofdelta_abandon(pd);
    l->out = c.bytes;
}

static void check_same(const life *a, const life *b, size_t nth)
{
    CHECK_MSG(a->base == b->base && a->window == b->window && a->out.len == b->out.len &&
                  !memcmp(a->out.ptr, b->out.ptr, a->out.len),
              "allocation %zu", nth);
}

static bool fail_nth(const stand *s, unsigned way, size_t nth, bool is_alone, const life *whole)
{
    tracker memory = {.fail_at = nth, .is_alone = is_alone};
    pprofdelta_allocator allocator = tracker_allocator(&memory);
    pprofdelta_options options = options_of(way);
    pprofdelta *pd;
    if (!pprofdelta_new(&options, &allocator, &pd, NULL)) {
        life l = {0};
        live(&l, pd, s);
        CHECK(!l.base || l.base == PPROFDELTA_E_MEMORY);
        CHECK(!l.window || l.window == PPROFDELTA_E_MEMORY);
        if (!l.base && !l.window)
            check_same(&l, whole, nth);
        CHECK(is_alone || !memory.refused || l.window);
        memory.fail_at = 0;
        live(&l, pd, s);
        check_same(&l, whole, nth);
        arena_free(&l.arena);
        pprofdelta_free(pd);
    }
    CHECK(memory.live == 0);
    return memory.refused > 0;
}

/* One that fails alone may be made up for by the ordinary way; either way it is the same delta. */
TEST(every_allocation_may_fail)
{
    stand s;
    stand_begin(&s, 40);
    for (unsigned way = 0; way < 6; way++)
        for (int is_alone = 0; is_alone < 2; is_alone++) {
            pprofdelta_options options = options_of(way);
            pprofdelta *pd;
            life whole = {0};
            REQUIRE(pprofdelta_new(&options, NULL, &pd, NULL) == PPROFDELTA_OK);
            live(&whole, pd, &s);
            REQUIRE(!whole.base && !whole.window && window_was_once(pd));
            pprofdelta_free(pd);
            size_t nth = 1;
            while (fail_nth(&s, way, nth, is_alone, &whole))
                nth++;
            CHECK_MSG(nth > 30 && nth < 1000, "%zu", nth);
            arena_free(&whole.arena);
        }
    stand_end(&s);
}

TEST(whatever_the_limit_it_is_the_same_or_refused)
{
    stand s;
    stand_begin(&s, 400);
    pprofdelta_options options = options_of(1);
    pprofdelta *pd;
    life whole = {0};
    size_t refused = 0, taken = 0;
    REQUIRE(pprofdelta_new(&options, NULL, &pd, NULL) == PPROFDELTA_OK);
    live(&whole, pd, &s);
    pprofdelta_free(pd);
    for (options.max_memory = 20000; options.max_memory < 2 << 20; options.max_memory += 5000) {
        tracker memory = {0};
        pprofdelta_allocator allocator = tracker_allocator(&memory);
        life l = {0};
        if (pprofdelta_new(&options, &allocator, &pd, NULL) == PPROFDELTA_OK) {
            live(&l, pd, &s);
            CHECK(memory.peak <= options.max_memory);
            CHECK(!l.base || l.base == PPROFDELTA_E_LIMIT);
            CHECK(!l.window || l.window == PPROFDELTA_E_LIMIT);
            if (!l.base && !l.window)
                check_same(&l, &whole, taken++);
            refused += l.base || l.window;
            pprofdelta_free(pd);
        }
        CHECK(memory.live == 0);
        arena_free(&l.arena);
    }
    CHECK_MSG(refused > 5 && taken > 100, "%zu refused, %zu taken", refused, taken);
    arena_free(&whole.arena);
    stand_end(&s);
}

TEST_MAIN(CASE(what_is_cut_off_or_damaged_is_told_as_by_two_passes),
          CASE(a_label_that_says_a_string_twice), CASE(a_trailer_that_lies),
          CASE(it_cannot_be_saved_but_loaded), CASE(a_base_that_fails_leaves_the_other),
          CASE(small_samples_some_of_which_repeat), CASE(records_that_are_lost_are_read_again),
          CASE(every_allocation_may_fail), CASE(whatever_the_limit_it_is_the_same_or_refused))
