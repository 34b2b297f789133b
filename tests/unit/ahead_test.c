/* Two threads for one window against the ordinary way: the same delta, the same report, the same
 * error, whatever happened to the process or to its profile; and where memory fails, nothing
 * lost. */
#include "gen.h"
#include "pack.h"
#include "seeds.h"
#include "serial.h"
#include "two_threads.h"

#include <unistd.h>

/* NULL, or what two threads do that one does not. */
static const char *compare(const pair *p)
{
    shared_tracker s = shared_tracker_begin();
    outcome one = by_one(p), two = by_two(p, &s);
    return s.t.live ? "something is not given back" : differs(p->arena, &one, &two);
}

TEST(as_the_ordinary_way)
{
    seed_range range = seeds(10);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        gen g;
        rng r = {seed * 2 + 1};
        arena a = {0};
        gen_init(&g, seed);
        pprofdelta_options options = draw_options(&r, &g);
        serial_style style = serial_draw(&r);
        pair p = {.arena = &a, .options = &options, .prev = serial_write(&a, &g.m, &style)};
        gen_evolve(&g, rng_chance(&r, 50) ? GEN_ANYTHING : GEN_VANISH);
        style = serial_draw(&r);
        p.cur = serial_write(&a, &g.m, &style);
        p.started = g.started_nanos;
        const char *wrong = compare(&p);
        AGREE(seed, wrong);
        arena_free(&a);
        gen_free(&g);
    }
}

TEST(large_profiles_in_every_container)
{
    arena a = {0};
    buf prev = large_profile(&a, 0, NONE), cur = large_profile(&a, 100, NONE);
    buf in[] = {cur, pack_gzip(&a, cur, 1), pack_gzip(&a, cur, 3), pack_zstd(&a, cur, 1)};
    for (size_t i = 0; i < sizeof in / sizeof *in; i++)
        for (int c = PPROFDELTA_GZIP; c <= PPROFDELTA_PLAIN; c++) {
            pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
            options.compression = (pprofdelta_compression)c;
            options.flags = i % 2 ? PPROFDELTA_VERIFY : 0;
            const char *wrong = compare(&(pair){&a, &options, 0, prev, in[i]});
            CHECK_MSG(!wrong, "input %zu, compression %d: %s", i, c, wrong);
        }
    arena_free(&a);
}

/* So many bytes of it, and the byte `at`, if it is among them, changed. */
static buf damage(arena *a, buf whole, size_t len, size_t at)
{
    buf out = buf_begin(a);
    buf_add(&out, whole.ptr, len);
    if (at < len)
        out.ptr[at] ^= 0x15;
    return out;
}

TEST(what_is_wrong_is_told_as_ever)
{
    static const char text[] = "heap profile:  3:  300 [  5:  700] @ heapprofile\n"
                               "  2:  200 [  4:  600] @ 0x401001 0x401f00\n"
                               "  1:  100 [  1:  100] @ 0x401003\n"
                               "MAPPED_LIBRARIES:\n# none\n";
    static const size_t bad[] = {0, 511, 512, LARGE_SAMPLES - 1};
    arena a = {0};
    rng r = {11};
    buf prev = large_profile(&a, 0, NONE), cur = large_profile(&a, 100, NONE), written, all[40];
    buf packed[] = {cur, pack_gzip(&a, cur, 1), pack_zstd(&a, cur, 1)};
    size_t len = 0;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        all[len++] = large_profile(&a, 100, bad[i]);
    for (size_t i = 0; i < 24; i++) {
        buf whole = packed[i % 3];
        size_t at = rng_below(&r, whole.len);
        all[len++] = i % 6 < 3 ? damage(&a, whole, whole.len, at) : damage(&a, whole, at, at);
    }
    for (size_t n = 0; n < 4; n++) /* nothing, and hardly anything */
        all[len++] = damage(&a, packed[1], n, n);
    written = buf_begin(&a);
    buf_text(&written, text);
    all[len++] = written;
    all[len++] = pack_gzip(&a, written, 1);
    for (size_t i = 0; i < len; i++) {
        const char *wrong = compare(&(pair){&a, NULL, 0, prev, all[i]});
        CHECK_MSG(!wrong, "input %zu: %s", i, wrong);
        if (i % 3)
            continue;
        wrong = compare(&(pair){&a, NULL, 0, all[i], cur});
        CHECK_MSG(!wrong, "base %zu: %s", i, wrong);
    }
    const char *wrong = compare(&(pair){&a, NULL, 0, written, written});
    CHECK_MSG(!wrong, "text: %s", wrong);
    arena_free(&a);
}

/* Two looks at a process that is small enough to fail everywhere. */
static void look_twice(arena *a, pair *p)
{
    gen g;
    rng r = {5};
    gen_init(&g, 5);
    serial_style style = serial_draw(&r);
    *p = (pair){.arena = a, .prev = serial_write(a, &g.m, &style)};
    gen_evolve(&g, 0);
    p->cur = serial_write(a, &g.m, &style);
    gen_free(&g);
}

TEST(every_allocation_may_fail)
{
    arena a = {0};
    pair p;
    look_twice(&a, &p);
    outcome whole = by_one(&p);
    CHECK(whole.status == PPROFDELTA_OK);
    for (int is_alone = 0; is_alone < 2; is_alone++) {
        size_t fail_at = 1;
        for (;; fail_at++) {
            shared_tracker s = shared_tracker_begin();
            s.t.fail_at = fail_at;
            s.t.is_alone = is_alone;
            outcome o = by_two(&p, &s);
            CHECK(s.t.live == 0);
            if (!s.t.refused)
                break;
            o.next = PPROFDELTA_OK; /* it may fail there as well */
            CHECK(o.status == PPROFDELTA_E_MEMORY || !differs(&a, &whole, &o));
        }
        CHECK(fail_at > 20);
    }
    arena_free(&a);
}

TEST(the_limit_holds_for_both)
{
    arena a = {0};
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    pair p = {&a, &options, 0, large_profile(&a, 0, NONE), large_profile(&a, 100, NONE)};
    size_t made = 0, refused = 0;
    p.cur = pack_gzip(&a, p.cur, 1);
    for (options.max_memory = 200000; options.max_memory < 20000000;
         options.max_memory += options.max_memory / 4) {
        shared_tracker s = shared_tracker_begin();
        outcome one = by_one(&p), two = by_two(&p, &s);
        CHECK(s.t.live == 0 && s.t.peak <= options.max_memory);
        const char *wrong = differs(&a, &one, &two);
        CHECK_MSG(!wrong, "%s in %" PRIu64, wrong, options.max_memory);
        made += !two.status;
        refused += two.status != PPROFDELTA_OK;
    }
    CHECK(made > 2 && refused > 2);
    arena_free(&a);
}

/* Where the first thread goes away. */
enum { AT_ONCE, AFTER_A_WHILE, AFTER_BASE, AFTER_WINDOW, AFTER_PACK, STAGES };

static void leave_at(pprofdelta *pd, const pair *p, int stage)
{
    reader other;
    outcome o = {.out.bytes = buf_begin(p->arena)};
    pprofdelta_pack *pack = NULL;
    reader_begin(&other, pd, p->cur);
    if (stage == AFTER_A_WHILE)
        usleep(20000);
    if (stage >= AFTER_BASE)
        CHECK(pprofdelta_base(pd, p->prev.ptr, p->prev.len, NULL) == PPROFDELTA_OK);
    if (stage >= AFTER_WINDOW)
        CHECK(pprofdelta_ahead_window(other.ahead, &pack, NULL, NULL) == PPROFDELTA_OK);
    if (stage == AFTER_PACK)
        CHECK(send_pack(pd, pack, &o) == PPROFDELTA_OK);
    else
        pprofdelta_pack_free(pack);
    pprofdelta_abandon(pd);
    reader_end(&other);
}

TEST(who_wants_no_window_may_go)
{
    arena a = {0};
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.flags = PPROFDELTA_NO_SEQUENCE; /* each attempt gives the same bytes */
    pair p = {&a, &options, 0, large_profile(&a, 0, NONE), large_profile(&a, 100, NONE)};
    outcome whole = by_one(&p);
    p.cur = pack_gzip(&a, p.cur, 1);
    for (int stage = AT_ONCE; stage < STAGES; stage++) {
        shared_tracker s = shared_tracker_begin();
        pprofdelta_allocator allocator = shared_allocator(&s);
        pprofdelta *pd;
        REQUIRE(pprofdelta_new(&options, &allocator, &pd, NULL) == PPROFDELTA_OK);
        leave_at(pd, &p, stage);
        outcome after = {.out.bytes = buf_begin(&a)};
        pprofdelta_sink sink = collector_sink(&after.out);
        CHECK(pprofdelta_base(pd, p.prev.ptr, p.prev.len, NULL) == PPROFDELTA_OK);
        CHECK(pprofdelta_window(pd, p.cur.ptr, p.cur.len, &sink, &after.report, NULL) ==
              PPROFDELTA_OK);
        CHECK_MSG(!differs(&a, &whole, &after), "stage %d", stage);
        pprofdelta_free(pd);
        CHECK(s.t.live == 0);
    }
    arena_free(&a);
}

TEST(an_ahead_that_nobody_feeds_or_wants)
{
    arena a = {0};
    pair p = {&a, NULL, 0, large_profile(&a, 0, NONE), large_profile(&a, 100, NONE)};
    pprofdelta_ahead *ahead = NULL;
    pprofdelta_pack *pack = NULL;
    pprofdelta_error err;
    pprofdelta *pd;
    REQUIRE(pprofdelta_new(NULL, NULL, &pd, NULL) == PPROFDELTA_OK);
    CHECK(pprofdelta_base(pd, p.prev.ptr, p.prev.len, NULL) == PPROFDELTA_OK);
    for (int is_null = 0; is_null < 2; is_null++) {
        REQUIRE(pprofdelta_ahead_new(pd, &ahead, NULL) == PPROFDELTA_OK);
        if (is_null)
            CHECK(pprofdelta_ahead_open(ahead, NULL, 7) == 0);
        pprofdelta_ahead_read(ahead);
        CHECK(pprofdelta_ahead_window(ahead, &pack, NULL, &err) == PPROFDELTA_E_AHEAD);
        CHECK(err.status == PPROFDELTA_E_AHEAD && !strcmp(err.stage, "ahead") && !pack);
        CHECK(pprofdelta_ahead_window(ahead, &pack, NULL, NULL) == PPROFDELTA_E_AHEAD);
        pprofdelta_ahead_free(ahead);
    }
    /* Stopped before its samples were read: the window reads them by itself. */
    outcome whole = by_one(&p), o = {.out.bytes = buf_begin(&a)};
    REQUIRE(pprofdelta_ahead_new(pd, &ahead, NULL) == PPROFDELTA_OK);
    CHECK(pprofdelta_ahead_open(ahead, p.cur.ptr, p.cur.len) == 1);
    pprofdelta_ahead_stop(ahead);
    pprofdelta_ahead_read(ahead);
    CHECK(pprofdelta_ahead_window(ahead, &pack, &o.report, NULL) == PPROFDELTA_OK);
    CHECK(send_pack(pd, pack, &o) == PPROFDELTA_OK && !differs(&a, &whole, &o));
    pprofdelta_ahead_free(ahead);
    pprofdelta_ahead_free(NULL);
    pprofdelta_free(pd);
    arena_free(&a);
}

TEST(calls_out_of_order)
{
    arena a = {0};
    pair p = {&a, NULL, 0, large_profile(&a, 0, NONE), large_profile(&a, 100, NONE)};
    outcome whole = by_one(&p), o = {.out.bytes = buf_begin(&a)};
    pprofdelta_ahead *second = NULL;
    pprofdelta_pack *pack = NULL;
    pprofdelta_sink sink = collector_sink(&o.out);
    const uint8_t *cur = p.cur.ptr;
    reader other;
    pprofdelta *pd;
    REQUIRE(pprofdelta_new(NULL, NULL, &pd, NULL) == PPROFDELTA_OK);
    CHECK(pprofdelta_window(pd, p.prev.ptr, p.prev.len, &sink, NULL, NULL) == PPROFDELTA_OK);
    reader_begin(&other, pd, p.cur);
    REQUIRE(other.ahead != NULL);
    CHECK(pprofdelta_ahead_new(pd, &second, NULL) == PPROFDELTA_E_USAGE && !second);
    CHECK(pprofdelta_ahead_window(other.ahead, &pack, NULL, NULL) == PPROFDELTA_E_USAGE);
    pprofdelta_commit(pd);
    CHECK(pprofdelta_window(pd, cur, p.cur.len, &sink, NULL, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_pack_window(pd, cur, p.cur.len, &pack, NULL, NULL) == PPROFDELTA_E_USAGE);
    CHECK(!pack && pprofdelta_base(pd, p.prev.ptr, p.prev.len, NULL) == PPROFDELTA_OK);
    CHECK(pprofdelta_ahead_window(other.ahead, &pack, &o.report, NULL) == PPROFDELTA_OK);
    o.out = (collector){.bytes = buf_begin(&a)};
    CHECK(pprofdelta_ahead_window(other.ahead, &pack, NULL, NULL) == PPROFDELTA_E_USAGE);
    CHECK(send_pack(pd, pack, &o) == PPROFDELTA_OK && !differs(&a, &whole, &o));
    reader_end(&other);
    pprofdelta_free(pd);
    arena_free(&a);
}

TEST_MAIN(CASE(as_the_ordinary_way), CASE(large_profiles_in_every_container),
          CASE(what_is_wrong_is_told_as_ever), CASE(every_allocation_may_fail),
          CASE(the_limit_holds_for_both), CASE(who_wants_no_window_may_go),
          CASE(an_ahead_that_nobody_feeds_or_wants), CASE(calls_out_of_order))
