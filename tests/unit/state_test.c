/* What a context remembers, saved and loaded: it goes on as if nothing had been; and bytes that are
 * no state, or a state that somebody tampered with, are refused and change nothing. */
#include "../support/test.h"

#include "delta/state_format.h"
#include "gen.h"
#include "keep.h"
#include "scene.h"
#include "seeds.h"

/* ---------------------------------------------------------------------------------------------
 * There and back
 * ------------------------------------------------------------------------------------------ */

/* Puts the context's memory into a new one, which takes its place. */
static void move_house(twin *t, const pprofdelta_options *options, size_t step, uint64_t seed)
{
    arena a = {0};
    buf saved = keep_save(&a, t->pd);
    pprofdelta *fresh = NULL;
    pprofdelta_error err = {0};
    keep_source s = {.ptr = saved.ptr, .len = saved.len, .step = step};
    pprofdelta_source source = keep_source_of(&s);
    REQUIRE(pprofdelta_new(options, NULL, &fresh, NULL) == PPROFDELTA_OK);
    pprofdelta_status status = pprofdelta_load(fresh, &source, &err);
    CHECK_MSG(status == PPROFDELTA_OK, "seed %" PRIu64 ": %s", seed, err.text);
    buf again = keep_save(&a, fresh);
    CHECK_MSG(again.len == saved.len && !memcmp(again.ptr, saved.ptr, saved.len),
              "seed %" PRIu64 ": a loaded state is saved differently", seed);
    pprofdelta_free(t->pd);
    t->pd = fresh;
    arena_free(&a);
}

TEST(a_context_that_is_loaded_goes_on_as_if_nothing_had_been)
{
    seed_range range = seeds(10);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        gen g;
        rng r = {seed * 2 + 1};
        arena a = {0};
        twin t;
        gen_init(&g, seed);
        pprofdelta_options options = draw_options(&r, &g);
        if (options.on_reset == PPROFDELTA_ON_RESET_NEGATIVE)
            options.on_reset = PPROFDELTA_ON_RESET_AUTO;
        twin_begin(&t, &options, NULL);
        for (size_t window = 0; window < 6; window++) {
            serial_style style = serial_draw(&r);
            pprofdelta_status status;
            buf look = serial_write(&a, &g.m, &style);
            if (window == 0 && seed % 5 == 0)
                AGREE(seed, twin_base(&t, look, &status));
            const char *wrong = twin_window(&t, look, &status);
            AGREE(seed, wrong);
            if (!status && rng_chance(&r, 80))
                twin_commit(&t);
            else if (!status)
                twin_abandon(&t);
            if (!t.oracle.is_fresh_base) /* a base that is loaded is one window of a sequence */
                move_house(&t, &options, window % 3, seed);
            gen_evolve(&g, GEN_ANYTHING);
        }
        twin_end(&t);
        gen_free(&g);
        arena_free(&a);
    }
}

/* A scene with a state of two windows behind it: three samples, of which one is gone. */
typedef struct stand {
    scene s;
    build p;
    buf saved;
} stand;

static buf look_of(stand *k, int64_t time, const char *kept, const char *other)
{
    build_free(&k->p);
    k->p = (build){0};
    build_types(&k->p, HEAP_TYPES);
    model_mapping *app = build_mapping(&k->p, 0x400000, 0x500000, 0, "/bin/app", "id-12");
    build_place(&k->p, "leaf", app, 0x401000);
    build_sample(&k->p, "leaf main", kept);
    build_sample(&k->p, other, "4 40 0 0");
    build_sample(&k->p, "large main", "9 5000 0 0");
    k->p.m.time_nanos = time;
    return build_bytes(&k->p);
}

static void stand_begin(stand *k, const pprofdelta_options *options)
{
    *k = (stand){0};
    scene_begin(&k->s, options);
    scene_window(&k->s, look_of(k, 1000, "1 10 1 10", "gone main"));
    CHECK(k->s.status == PPROFDELTA_OK);
    scene_window(&k->s, look_of(k, 2000, "3 30 1 10", "fresh main"));
    CHECK(k->s.status == PPROFDELTA_OK);
    k->saved = keep_save(&k->s.arena, k->s.pd);
}

static void stand_end(stand *k)
{
    scene_end(&k->s);
    build_free(&k->p);
}

/* The next window comes out as it should; it is not remembered. */
static void check_stands(stand *k)
{
    CHECK_STR(scene_pending(&k->s, look_of(k, 3000, "8 80 0 0", "fresh main")),
              "leaf;main 5 50 0 0");
    CHECK(k->s.report.sequence == 3 && k->s.report.from_nanos == 2000);
    pprofdelta_abandon(k->s.pd);
}

TEST(what_is_remembered_can_be_told)
{
    stand k;
    pprofdelta_memory m;
    stand_begin(&k, NULL);
    pprofdelta_describe(k.s.pd, &m);
    CHECK(m.has_base && m.sequence == 2 && m.samples == 4 && m.unseen == 1);
    CHECK(m.from_nanos == 1000 && m.to_nanos == 2000 && m.restart == PPROFDELTA_RESTART_NONE);
    CHECK_STR(m.build_id, "id-12");
    REQUIRE(m.types_len == 4);
    CHECK_STR(m.types[1].type, "alloc_space");
    CHECK(m.types[1].is_counter && !m.types[2].is_counter && m.types[1].prev.lo == 5110);
    pprofdelta *pd;
    REQUIRE(pprofdelta_new(NULL, NULL, &pd, NULL) == PPROFDELTA_OK);
    pprofdelta_describe(pd, &m);
    CHECK(!m.has_base && !m.sequence && !m.samples && !m.types_len);
    CHECK_STR(m.build_id, "");
    pprofdelta_free(pd);
    stand_end(&k);
}

/* There is one way to write it: without the padding that another reader would skip. */
TEST(an_empty_state_has_nothing_to_spare)
{
    enum { HEAD = PD_STATE_FIXED + PD_STATE_HEAD_SUM, MORE = 40 };
    stand k;
    pprofdelta_error err = {0};
    pprofdelta *pd;
    stand_begin(&k, NULL);
    REQUIRE(pprofdelta_new(NULL, NULL, &pd, NULL) == PPROFDELTA_OK);
    buf nothing = keep_save(&k.s.arena, pd), longer = buf_begin(&k.s.arena);
    static const uint8_t zeros[MORE];
    REQUIRE(nothing.len == HEAD + PD_STATE_CHECK);
    buf_add(&longer, nothing.ptr, PD_STATE_FIXED);
    buf_add(&longer, zeros, MORE);
    buf_add(&longer, nothing.ptr + PD_STATE_FIXED, nothing.len - PD_STATE_FIXED);
    longer.ptr[PD_STATE_AT_HEAD] = HEAD + MORE;
    keep_forge(longer.ptr, longer.len);
    CHECK(keep_load(k.s.pd, longer, &err) == PPROFDELTA_E_STATE);
    CHECK_STR(err.field, "head");
    check_stands(&k);
    pprofdelta_free(pd);
    stand_end(&k);
}

TEST(an_empty_context_stays_one)
{
    arena a = {0};
    scene s;
    stand k;
    scene_begin(&s, NULL);
    buf nothing = keep_save(&a, s.pd);
    CHECK(keep_load(s.pd, nothing, NULL) == PPROFDELTA_OK);
    stand_begin(&k, NULL);
    CHECK_STR(scene_pending(&s, look_of(&k, 5, "1 1 0 0", "other main")),
              "leaf;main 1 1 0 0, other;main 4 40 0 0, large;main 9 5000 0 0");
    CHECK(s.report.sequence == 1 && !s.report.had_base);
    pprofdelta_abandon(s.pd);
    CHECK(keep_load(k.s.pd, nothing, NULL) == PPROFDELTA_OK); /* forgets */
    scene_pending(&k.s, look_of(&k, 5, "1 1 0 0", "other main"));
    CHECK(k.s.report.sequence == 1 && !k.s.report.had_base);
    stand_end(&k);
    scene_end(&s);
    arena_free(&a);
}

/* A pending window is not part of it, and takes no harm. */
TEST(a_pending_window_is_not_saved)
{
    stand k;
    stand_begin(&k, NULL);
    scene_pending(&k.s, look_of(&k, 3000, "8 80 0 0", "quite new"));
    buf saved = keep_save(&k.s.arena, k.s.pd);
    CHECK(saved.len == k.saved.len && !memcmp(saved.ptr, k.saved.ptr, saved.len));
    pprofdelta_error err = {0};
    CHECK(keep_load(k.s.pd, saved, &err) == PPROFDELTA_E_USAGE && *err.text);
    pprofdelta_abandon(k.s.pd);
    check_stands(&k);
    stand_end(&k);
}

TEST(other_rules_for_the_types_are_told)
{
    static const char *const gauges[] = {"alloc_objects"};
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.gauges = gauges;
    options.gauges_len = 1;
    stand k;
    scene s;
    stand_begin(&k, NULL);
    scene_begin(&s, &options);
    CHECK(keep_load(s.pd, k.saved, NULL) == PPROFDELTA_OK);
    scene_pending(&s, look_of(&k, 3000, "8 80 0 0", "fresh main"));
    CHECK(s.status == PPROFDELTA_E_MISMATCH);
    scene_end(&s);
    stand_end(&k);
}

/* Forty bytes a sample at most, whatever has vanished. */
TEST(a_state_is_small)
{
    stand k;
    scene s;
    build b = {0};
    stand_begin(&k, NULL);
    scene_begin(&s, NULL);
    for (int look = 0; look < 2; look++) {
        build_free(&b);
        b = (build){0};
        build_types(&b, HEAP_TYPES);
        for (int i = 0; i < 3000; i++) {
            char stack[32];
            snprintf(stack, sizeof stack, "f%d main", look * 1400 + i);
            build_sample(&b, stack, "1000000 123456789 5 5");
        }
        scene_window(&s, build_bytes(&b));
        CHECK(s.status == PPROFDELTA_OK);
    }
    pprofdelta_memory m;
    pprofdelta_describe(s.pd, &m);
    CHECK(m.samples == 4400 && m.unseen == 1400);
    buf saved = keep_save(&s.arena, s.pd);
    CHECK_MSG(saved.len <= m.samples * 40, "%zu bytes", saved.len);
    build_free(&b);
    scene_end(&s);
    stand_end(&k);
}

/* The bytes of a state are a contract with every later version. If this fails because keys or layout
 * changed, states that lie on disks no longer fit: raise PD_STATE_FORMAT. */
TEST(the_layout_stands)
{
    stand k;
    stand_begin(&k, NULL);
    CHECK(k.saved.len == 80 + 4 * 8 + 5 + 68 + 7 + 8 + 4 * 32 + 8 + 16);
    CHECK(pd_get64(k.saved.ptr + PD_STATE_AT_SEQUENCE) == 2);
    CHECK(pd_get32(k.saved.ptr + PD_STATE_AT_HEAD) == 200);
    CHECK(pd_get64(k.saved.ptr + PD_STATE_AT_ENTRIES) == 4);
    CHECK(pd_get64(k.saved.ptr + 200 + 16) == 3 && pd_get64(k.saved.ptr + 200 + 24) == 30);
    CHECK(pd_get32(k.saved.ptr + 200 + 128) == 1 && pd_get32(k.saved.ptr + 200 + 132) == 1);
    uint64_t sum = XXH3_64bits(k.saved.ptr, k.saved.len);
    CHECK_MSG(sum == UINT64_C(0xba6c27755ffe43a7), "the sum is now %#" PRIx64, sum);
    stand_end(&k);
}

/* ---------------------------------------------------------------------------------------------
 * Trouble
 * ------------------------------------------------------------------------------------------ */

TEST(every_prefix_is_refused)
{
    stand k;
    stand_begin(&k, NULL);
    for (size_t len = 0; len < k.saved.len; len++) {
        pprofdelta_error err = {0};
        uint8_t *copy =
            arena_alloc(&k.s.arena, len); /* of that size: a sanitizer watches its end */
        memcpy(copy, k.saved.ptr, len);
        CHECK_MSG(keep_load(k.s.pd, (buf){.ptr = copy, .len = len}, &err) == PPROFDELTA_E_STATE,
                  "%zu bytes", len);
        CHECK(err.status == PPROFDELTA_E_STATE && strcmp(err.stage, "state") == 0 && *err.text);
    }
    check_stands(&k);
    stand_end(&k);
}

TEST(every_changed_bit_is_refused)
{
    stand k;
    stand_begin(&k, NULL);
    for (size_t bit = 0; bit < k.saved.len * 8; bit++) {
        k.saved.ptr[bit / 8] ^= (uint8_t)(1 << bit % 8);
        CHECK_MSG(keep_load(k.s.pd, k.saved, NULL) == PPROFDELTA_E_STATE, "bit %zu", bit);
        k.saved.ptr[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    check_stands(&k);
    stand_end(&k);
}

TEST(what_is_no_state_is_called_that)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *says;
    } cases[] = {
        {"", 0, "empty"},
        {"\x1f\x8b\x08\0\0\0\0\0\0\xff", 10, "looks like a profile"},
        {"\x0a\x04\x08\x01\x10\x02", 6, "looks like a profile"},
        {"hello, world, this is no state", 30, "not a state"},
        {"\x89PD", 3, "cut short"},
        {PD_STATE_MAGIC "\x01\0\0", 11, "cut short"},
    };
    stand k;
    stand_begin(&k, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pprofdelta_error err = {0};
        uint8_t bytes[32];
        memcpy(bytes, cases[i].bytes, cases[i].len);
        CHECK(keep_load(k.s.pd, (buf){.ptr = bytes, .len = cases[i].len}, &err) ==
              PPROFDELTA_E_STATE);
        CHECK_MSG(strstr(err.text, cases[i].says), "%s", err.text);
    }
    check_stands(&k);
    stand_end(&k);
}

/* A number in the head or behind it, overwritten, with sums that are right. */
typedef struct forgery {
    size_t at;
    int bytes;
    uint64_t value;
    const char *says;
} forgery;

enum { ENTRIES = 200, UNSEEN = ENTRIES + 4 * 32 };

static const forgery forgeries[] = {
    {PD_STATE_AT_FORMAT, 4, 2, "newer pprofdelta"},
    {PD_STATE_AT_FORMAT, 4, UINT32_MAX, "newer pprofdelta"},
    {PD_STATE_AT_FORMAT, 4, 0, "no pprofdelta wrote"},
    {PD_STATE_AT_HEAD, 4, 0, "damaged"},
    {PD_STATE_AT_HEAD, 4, 16, "damaged"},
    {PD_STATE_AT_HEAD, 4, 24, "too short"},
    {PD_STATE_AT_HEAD, 4, 192, "do not fit"},
    {PD_STATE_AT_HEAD, 4, 208, "do not fit"},
    {PD_STATE_AT_HEAD, 4, 201, "damaged"},
    {PD_STATE_AT_HEAD, 4, UINT32_MAX - 7, "damaged"},
    {PD_STATE_AT_HEAD, 4, 1 << 20, "cut short"},
    {PD_STATE_AT_SEQUENCE, 8, UINT64_MAX, "no window comes after"},
    {PD_STATE_AT_FROM, 8, 2001, "ends before it begins"},
    {PD_STATE_AT_ENTRIES, 8, 5, "cut short"},
    {PD_STATE_AT_ENTRIES, 8, 3, NULL},
    {PD_STATE_AT_ENTRIES, 8, 0, "do not fit"},
    {PD_STATE_AT_ENTRIES, 8, UINT32_MAX / 2, NULL},
    {PD_STATE_AT_ENTRIES, 8, UINT64_MAX, "do not fit"},
    {PD_STATE_AT_UNSEEN, 8, 0, "sum is wrong"},
    {PD_STATE_AT_UNSEEN, 8, 2, NULL},
    {PD_STATE_AT_UNSEEN, 8, 5, "do not fit"},
    {PD_STATE_AT_UNSEEN, 8, UINT64_MAX, "do not fit"},
    {PD_STATE_AT_HAS_BASE, 4, 0, "says that it is empty"},
    {PD_STATE_AT_HAS_BASE, 4, 2, "flag"},
    {PD_STATE_AT_RESTART, 4, 5, "no such restart"},
    {PD_STATE_AT_TYPES, 4, 0, "numbers of types"},
    {PD_STATE_AT_TYPES, 4, 65, "numbers of types"},
    {PD_STATE_AT_TYPES, 4, 64, "do not fit"},
    {PD_STATE_AT_TYPES, 4, 3, "do not fit"},
    {PD_STATE_AT_COUNTERS, 4, 0, "numbers of types"},
    {PD_STATE_AT_COUNTERS, 4, 5, "numbers of types"},
    {PD_STATE_AT_COUNTERS, 4, 3, NULL},
    {PD_STATE_AT_BUILD_ID, 4, 6, NULL}, /* into the padding */
    {PD_STATE_AT_BUILD_ID, 4, 13, "do not fit"},
    {PD_STATE_AT_BUILD_ID, 4, UINT32_MAX, "do not fit"},
    {PD_STATE_AT_RATE, 4, UINT32_MAX, NULL},
    {PD_STATE_FIXED, 4, UINT32_MAX, "do not fit"},
    {PD_STATE_FIXED + 28, 4, 1000, "do not fit"},
    {ENTRIES - 15, 1, 1, "should"},
    {ENTRIES + 32, 8, 0, NULL},
    {UNSEEN, 4, 4, "entry behind"},
    {UNSEEN, 4, UINT32_MAX, "entry behind"},
    {UNSEEN + 4, 4, 0, "entry behind"},
    {UNSEEN + 4, 4, UINT32_MAX, "entry behind"},
};

static buf forge(arena *a, buf state, const forgery *f)
{
    buf out = buf_begin(a);
    buf_add(&out, state.ptr, state.len);
    for (int i = 0; i < f->bytes; i++)
        out.ptr[f->at + (size_t)i] = (uint8_t)(f->value >> 8 * i);
    keep_forge(out.ptr, out.len);
    return out;
}

/* Where a forgery is no contradiction (NULL), it may be taken; then the state is used. */
TEST(a_forged_state_is_refused_where_it_contradicts_itself)
{
    for (size_t i = 0; i < sizeof forgeries / sizeof *forgeries; i++) {
        const forgery *f = &forgeries[i];
        stand k;
        pprofdelta_error err = {0};
        stand_begin(&k, NULL);
        pprofdelta_status status = keep_load(k.s.pd, forge(&k.s.arena, k.saved, f), &err);
        if (f->says) {
            CHECK_MSG(status == PPROFDELTA_E_STATE, "case %zu: %d", i, status);
            CHECK_MSG(strstr(err.text, f->says) || strstr(err.field, f->says), "case %zu: %s %s", i,
                      err.field, err.text);
        } else if (!status) {
            scene_window(&k.s, look_of(&k, 9000, "8 80 0 0", "fresh main"));
        }
        if (status)
            check_stands(&k);
        stand_end(&k);
    }
}

TEST(a_key_that_is_there_twice_is_refused)
{
    stand k;
    pprofdelta_error err = {0};
    stand_begin(&k, NULL);
    memcpy(k.saved.ptr + ENTRIES + (size_t)96, k.saved.ptr + ENTRIES + (size_t)32, 16);
    keep_forge(k.saved.ptr, k.saved.len);
    CHECK(keep_load(k.s.pd, k.saved, &err) == PPROFDELTA_E_STATE);
    CHECK(err.element == 3 && err.offset == ENTRIES + 3 * 32);
    CHECK_STR(err.field, "entry");
    check_stands(&k);
    stand_end(&k);
}

TEST(what_follows_the_end_is_refused)
{
    stand k;
    pprofdelta_error err = {0};
    stand_begin(&k, NULL);
    buf more = buf_begin(&k.s.arena);
    buf_add(&more, k.saved.ptr, k.saved.len);
    buf_add(&more, "\n", 1);
    CHECK(keep_load(k.s.pd, more, &err) == PPROFDELTA_E_STATE && err.offset == k.saved.len);
    check_stands(&k);
    stand_end(&k);
}

/* A head that promises two thousand million entries costs no more memory than the bytes that come. */
TEST(a_promise_is_not_believed)
{
    forgery many = {PD_STATE_AT_ENTRIES, 8, UINT32_MAX / 2, NULL};
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    tracker memory = {0};
    pprofdelta_allocator allocator = tracker_allocator(&memory);
    stand k;
    pprofdelta *pd;
    stand_begin(&k, NULL);
    REQUIRE(pprofdelta_new(&options, &allocator, &pd, NULL) == PPROFDELTA_OK);
    CHECK(keep_load(pd, forge(&k.s.arena, k.saved, &many), NULL) == PPROFDELTA_E_STATE);
    CHECK_MSG(memory.peak < 8 << 20, "%zu bytes", memory.peak);
    pprofdelta_free(pd);
    CHECK(memory.live == 0);
    stand_end(&k);
}

TEST(a_source_that_fails_changes_nothing)
{
    stand k;
    stand_begin(&k, NULL);
    pprofdelta_status status = PPROFDELTA_E_SOURCE;
    for (size_t nth = 1; status; nth++) {
        pprofdelta_error err = {0};
        keep_source s = {.ptr = k.saved.ptr, .len = k.saved.len, .step = 7, .fail_at = nth};
        pprofdelta_source source = keep_source_of(&s);
        status = pprofdelta_load(k.s.pd, &source, &err);
        REQUIRE(status == (s.calls >= nth ? PPROFDELTA_E_SOURCE : PPROFDELTA_OK));
        CHECK(err.status == status);
        check_stands(&k);
    }
    pprofdelta_source none = {NULL, NULL};
    CHECK(pprofdelta_load(k.s.pd, &none, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_load(k.s.pd, NULL, NULL) == PPROFDELTA_E_USAGE);
    stand_end(&k);
}

TEST(a_sink_that_refuses_is_told)
{
    stand k;
    stand_begin(&k, NULL);
    pprofdelta_status status = PPROFDELTA_E_SINK;
    for (size_t nth = 1; status; nth++) {
        collector c = {.bytes = buf_begin(&k.s.arena), .fail_at = nth};
        pprofdelta_sink sink = collector_sink(&c);
        status = pprofdelta_save(k.s.pd, &sink, NULL);
        REQUIRE(status == (c.calls >= nth ? PPROFDELTA_E_SINK : PPROFDELTA_OK));
    }
    CHECK(pprofdelta_save(k.s.pd, NULL, NULL) == PPROFDELTA_E_USAGE);
    check_stands(&k);
    stand_end(&k);
}

TEST(every_failed_allocation_of_a_load_changes_nothing)
{
    stand k;
    stand_begin(&k, NULL);
    bool refused = true;
    for (size_t nth = 1; refused; nth++) {
        tracker memory = {0};
        pprofdelta_allocator allocator = tracker_allocator(&memory);
        scene s;
        scene_begin(&s, NULL);
        pprofdelta_free(s.pd);
        REQUIRE(pprofdelta_new(NULL, &allocator, &s.pd, NULL) == PPROFDELTA_OK);
        scene_window(&s, look_of(&k, 7, "1 10 1 10", "gone main"));
        memory.fail_at = memory.calls + nth;
        pprofdelta_status status = keep_load(s.pd, k.saved, NULL);
        refused = memory.refused > 0;
        memory.fail_at = 0;
        CHECK_MSG(status == (refused ? PPROFDELTA_E_MEMORY : PPROFDELTA_OK), "allocation %zu", nth);
        scene_pending(&s, look_of(&k, 3000, "8 80 0 0", "gone main"));
        CHECK(s.report.sequence == (refused ? 2 : 3));
        scene_end(&s);
        CHECK(memory.live == 0);
    }
    stand_end(&k);
}

/* A context may be given bases with ever other types: room for entries is room for their counters. */
TEST(a_ledger_that_changes_its_types_has_room)
{
    stand k;
    stand_begin(&k, NULL);
    for (int more = 0; more < 2; more++) {
        build b = {0};
        build_types(&b, more ? HEAP_TYPES : "delay/nanoseconds");
        for (int i = 0; i < (more ? 10 : 1000); i++) {
            char stack[32];
            snprintf(stack, sizeof stack, "f%d main", i);
            build_sample(&b, stack, more ? "1 1 1 1" : "1");
        }
        CHECK_STR(scene_base(&k.s, build_bytes(&b)), "base");
        CHECK_STR(scene_base(&k.s, build_bytes(&b)), "base");
        build_free(&b);
    }
    build b = {0};
    build_types(&b, HEAP_TYPES);
    for (int i = 0; i < 900; i++) {
        char stack[32];
        snprintf(stack, sizeof stack, "f%d main", i);
        build_sample(&b, stack, "2 2 2 2");
    }
    scene_window(&k.s, build_bytes(&b));
    CHECK(k.s.status == PPROFDELTA_OK && k.s.report.fresh == 890);
    build_free(&b);
    stand_end(&k);
}

TEST_MAIN(CASE(a_context_that_is_loaded_goes_on_as_if_nothing_had_been),
          CASE(what_is_remembered_can_be_told), CASE(an_empty_state_has_nothing_to_spare),
          CASE(an_empty_context_stays_one), CASE(a_pending_window_is_not_saved),
          CASE(other_rules_for_the_types_are_told), CASE(a_state_is_small), CASE(the_layout_stands),
          CASE(every_prefix_is_refused), CASE(every_changed_bit_is_refused),
          CASE(what_is_no_state_is_called_that),
          CASE(a_forged_state_is_refused_where_it_contradicts_itself),
          CASE(a_key_that_is_there_twice_is_refused), CASE(what_follows_the_end_is_refused),
          CASE(a_promise_is_not_believed), CASE(a_source_that_fails_changes_nothing),
          CASE(a_sink_that_refuses_is_told),
          CASE(every_failed_allocation_of_a_load_changes_nothing),
          CASE(a_ledger_that_changes_its_types_has_room))
