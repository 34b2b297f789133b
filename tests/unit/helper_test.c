/* A thread that helps the bounded way, through the public header: whoever helps and however long, the
 * calls are what they are without; and what they were lent is nobody's any more when they return. */
#include "gen.h"
#include "pack.h"
#include "parsed/context.h"
#include "seeds.h"
#include "serial.h"
#include "two_threads.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------------------------------------
 * A context's life, with a helper or without
 * ------------------------------------------------------------------------------------------ */

typedef struct aide {
    pprofdelta_helper *helper; /* NULL: there was no memory for one */
    pthread_t thread;
    bool is_there;
} aide;

static void *help(void *cookie)
{
    pprofdelta_helper_work(cookie);
    return NULL;
}

static void aide_begin(aide *h, pprofdelta *pd)
{
    *h = (aide){0};
    if (pprofdelta_helper_new(pd, &h->helper, NULL))
        return;
    if (pthread_create(&h->thread, NULL, help, h->helper))
        abort();
    h->is_there = true;
}

static void aide_stop(aide *h)
{
    if (!h->is_there)
        return;
    pprofdelta_helper_stop(h->helper);
    pthread_join(h->thread, NULL);
    h->is_there = false;
}

static void aide_end(aide *h)
{
    aide_stop(h);
    pprofdelta_helper_free(h->helper);
    h->helper = NULL;
}

/* What comes one after the other; the helper may go before any of them. */
enum { CHECKED, BASED, WINDOWED, PACKED, STAGES };

typedef struct course {
    const pair *pair;
    size_t piece; /* 0: the limit chooses the way */
    bool has_helper;
    int stop_before; /* a stage, or STAGES */
} course;

typedef struct life {
    pprofdelta_census census;
    pprofdelta_status status[STAGES];
    pprofdelta_error err[STAGES];
    outcome window, pack;
    bool had_pump;
} life;

/* For one call. */
static buf lend(buf file)
{
    buf b = {.ptr = malloc(file.len + !file.len), .len = file.len};
    if (!b.ptr)
        abort();
    if (file.len)
        memcpy(b.ptr, file.ptr, file.len);
    return b;
}

static void send(pprofdelta *pd, pprofdelta_pack *pack, outcome *o)
{
    pprofdelta_sink sink = collector_sink(&o->out);
    o->status = pprofdelta_pack_finish(pack, &sink, &o->report, &o->err);
    pprofdelta_pack_free(pack);
    o->status ? pprofdelta_abandon(pd) : pprofdelta_commit(pd);
}

static pprofdelta_status perform(pprofdelta *pd, const pair *p, int stage, life *l)
{
    buf in = lend(stage == BASED ? p->prev : p->cur);
    pprofdelta_sink sink = collector_sink(&l->window.out);
    pprofdelta_error *err = &l->err[stage];
    pprofdelta_pack *pack = NULL;
    pprofdelta_status status;
    if (stage == CHECKED)
        status = pprofdelta_check(pd, in.ptr, in.len, &l->census, err);
    else if (stage == BASED)
        status = pprofdelta_base(pd, in.ptr, in.len, err);
    else if (stage == WINDOWED)
        status = pprofdelta_window(pd, in.ptr, in.len, &sink, &l->window.report, err);
    else
        status = pprofdelta_pack_window(pd, in.ptr, in.len, &pack, &l->pack.report, err);
    free(in.ptr);
    if (stage == WINDOWED)
        pprofdelta_abandon(pd);
    if (stage == PACKED && !status)
        send(pd, pack, &l->pack);
    return status;
}

static life live(const course *c, shared_tracker *s)
{
    const pair *p = c->pair;
    life l = {.window.out.bytes = buf_begin(p->arena), .pack.out.bytes = buf_begin(p->arena)};
    pprofdelta_allocator allocator = shared_allocator(s);
    pprofdelta *pd;
    aide h = {0};
    l.status[CHECKED] = pprofdelta_new(p->options, &allocator, &pd, &l.err[CHECKED]);
    if (l.status[CHECKED])
        return l;
    pd->piece = c->piece;
    pprofdelta_set_started(pd, p->started);
    if (c->has_helper)
        aide_begin(&h, pd);
    for (int stage = CHECKED; stage < STAGES; stage++) {
        if (stage == c->stop_before)
            aide_stop(&h);
        l.status[stage] = perform(pd, p, stage, &l);
        l.had_pump |= pd->pump.slots[0].cap > 0;
        CHECK(!pd->pump.is_taken && !pd->pump.is_wanted && !pd->pump.is_working);
    }
    aide_end(&h);
    pprofdelta_free(pd);
    return l;
}

static bool same_bytes(const outcome *x, const outcome *y)
{
    buf a = x->out.bytes, b = y->out.bytes;
    return a.len == b.len && (!a.len || !memcmp(a.ptr, b.ptr, a.len));
}

static bool same_census(const pprofdelta_census *a, const pprofdelta_census *b)
{
    return !strcmp(a->format, b->format) && a->inflated_len == b->inflated_len &&
           a->samples == b->samples && a->locations == b->locations && a->strings == b->strings &&
           a->unknown_fields == b->unknown_fields && a->time_nanos == b->time_nanos;
}

/* NULL, or what they do not share. */
static const char *differ(arena *a, const life *x, const life *y)
{
    static const char *const names[] = {"check", "base", "window", "pack"};
    for (int stage = CHECKED; stage < STAGES; stage++) {
        outcome one = {.status = x->status[stage], .err = x->err[stage]};
        outcome two = {.status = y->status[stage], .err = y->err[stage]};
        const char *wrong = one.status || two.status ? differs(a, &one, &two) : NULL;
        if (wrong)
            return arena_format(a, "%s: %s", names[stage], wrong);
    }
    const char *wrong = !x->status[WINDOWED] ? differs(a, &x->window, &y->window) : NULL;
    if (!wrong && !x->status[PACKED])
        wrong = differs(a, &x->pack, &y->pack);
    if (wrong)
        return wrong;
    if (!same_bytes(&x->window, &y->window) || !same_bytes(&x->pack, &y->pack))
        return "the bytes";
    return x->status[CHECKED] || same_census(&x->census, &y->census) ? NULL : "the census";
}

/* One life with a helper, and one without. */
static const char *compare(const course *c, life *with)
{
    shared_tracker one = shared_tracker_begin(), two = shared_tracker_begin();
    course alone = *c;
    alone.has_helper = false;
    life without = live(&alone, &one);
    *with = live(c, &two);
    if (one.t.live || two.t.live || without.had_pump)
        return "something is not given back";
    return differ(c->pair->arena, &without, with);
}

/* ---------------------------------------------------------------------------------------------
 * The same
 * ------------------------------------------------------------------------------------------ */

TEST(any_process_as_without_a_helper)
{
    seed_range range = seeds(3);
    size_t made = 0, pumped = 0;
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
        course c = {&p, 1 + rng_below(&r, rng_chance(&r, 60) ? 300 : 20000), true, 0};
        c.stop_before = rng_chance(&r, 70) ? STAGES : (int)rng_below(&r, STAGES);
        life with;
        const char *wrong = compare(&c, &with);
        AGREE(seed, wrong);
        made += !with.status[PACKED];
        pumped += with.had_pump;
        arena_free(&a);
        gen_free(&g);
    }
    CHECK(made > 0 && pumped > 0);
}

TEST(large_profiles_in_every_container)
{
    arena a = {0};
    buf prev = pack_gzip(&a, large_profile(&a, 0, NONE), 1), cur = large_profile(&a, 100, NONE);
    buf in[] = {cur, pack_gzip(&a, cur, 1), pack_gzip(&a, cur, 30), pack_zstd(&a, cur, 1)};
    for (size_t i = 0; i < sizeof in / sizeof *in; i++)
        for (size_t verifies = 0; verifies < 2; verifies++) {
            pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
            options.compression = (pprofdelta_compression)((i + verifies) % 3);
            options.flags = verifies ? PPROFDELTA_VERIFY : 0;
            options.flags |= PPROFDELTA_NO_SEQUENCE; /* each attempt gives the same bytes */
            pair p = {&a, &options, 0, prev, in[i]};
            life with;
            const char *wrong = compare(&(course){&p, 5000, true, STAGES}, &with);
            CHECK_MSG(!wrong, "input %zu, compression %d: %s", i, options.compression, wrong);
            CHECK(with.had_pump && !with.status[PACKED] && with.pack.out.bytes.len > 1000);
            outcome whole = by_one(&p);
            with.pack.next = PPROFDELTA_OK; /* nobody makes one here */
            wrong = differs(&a, &whole, &with.pack);
            CHECK_MSG(!wrong, "input %zu, held against the ordinary way: %s", i, wrong);
        }
    arena_free(&a);
}

/* Whatever it is, a damaged byte, an end too early or a sample that cannot be. */
TEST(what_is_wrong_is_told_as_without_a_helper)
{
    static const size_t bad[] = {0, LARGE_SAMPLES - 1};
    enum { DAMAGED = 6, ALL = DAMAGED + sizeof bad / sizeof *bad };
    arena a = {0};
    rng r = {11};
    buf good = pack_gzip(&a, large_profile(&a, 100, NONE), 2), all[ALL];
    for (size_t i = 0; i < ALL; i++) {
        if (i >= DAMAGED) {
            all[i] = pack_gzip(&a, large_profile(&a, 100, bad[i - DAMAGED]), 1);
            continue;
        }
        size_t at = 2 + rng_below(&r, good.len - 2);
        all[i] = buf_begin(&a);
        buf_add(&all[i], good.ptr, i % 2 ? good.len : at);
        if (i % 2)
            all[i].ptr[at] ^= 0x15;
    }
    for (size_t i = 0; i < ALL; i++) {
        pair cur_is = {&a, NULL, 0, good, all[i]}, prev_is = {&a, NULL, 0, all[i], good};
        life with;
        const char *wrong = compare(&(course){&cur_is, 7000, true, STAGES}, &with);
        CHECK_MSG(!wrong && with.status[WINDOWED], "input %zu: %s", i, wrong);
        CHECK(with.status[CHECKED] && with.status[PACKED] && !with.status[BASED]);
        if (i % 3)
            continue;
        wrong = compare(&(course){&prev_is, 7000, true, STAGES}, &with);
        CHECK_MSG(!wrong && with.status[BASED], "base %zu: %s", i, wrong);
    }
    arena_free(&a);
}

/* ---------------------------------------------------------------------------------------------
 * Failures
 * ------------------------------------------------------------------------------------------ */

/* Two looks at a process that is small enough to fail everywhere. */
static void look_twice(arena *a, pair *p)
{
    gen g;
    rng r = {5};
    gen_init(&g, 5);
    serial_style style = serial_draw(&r);
    style.pack = PACK_PLAIN;
    *p = (pair){.arena = a, .prev = pack_gzip(a, serial_write(a, &g.m, &style), 1)};
    gen_evolve(&g, 0);
    p->cur = pack_gzip(a, serial_write(a, &g.m, &style), 1);
    gen_free(&g);
}

static bool lacked_memory(const life *l)
{
    bool is_told = l->pack.status == PPROFDELTA_E_MEMORY;
    for (int stage = CHECKED; stage < STAGES; stage++)
        is_told |= l->status[stage] == PPROFDELTA_E_MEMORY;
    return is_told;
}

TEST(every_allocation_may_fail)
{
    arena a = {0};
    pair p;
    look_twice(&a, &p);
    course c = {&p, 50, true, STAGES};
    shared_tracker none = shared_tracker_begin();
    life whole = live(&c, &none);
    CHECK(whole.had_pump && !whole.status[PACKED] && !whole.pack.status);
    for (int is_alone = 0; is_alone < 2; is_alone++) {
        size_t fail_at = 1, done_without = 0;
        for (;; fail_at++) {
            shared_tracker s = shared_tracker_begin();
            s.t.fail_at = fail_at;
            s.t.is_alone = is_alone;
            life l = live(&c, &s);
            CHECK_MSG(s.t.live == 0, "allocation %zu", fail_at);
            if (!s.t.refused)
                break;
            const char *wrong = lacked_memory(&l) ? NULL : differ(&a, &whole, &l);
            CHECK_MSG(!wrong, "allocation %zu: %s", fail_at, wrong);
            done_without += !lacked_memory(&l);
        }
        CHECK(fail_at > 20 && (!is_alone || done_without >= PD_PUMP_SLOTS));
    }
    arena_free(&a);
}

/* Each call succeeds with a helper where it does without one, and has the same bytes. */
TEST(the_limit_holds_with_a_helper)
{
    arena a = {0};
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    buf prev = pack_gzip(&a, large_profile(&a, 0, NONE), 1);
    pair p = {&a, &options, 0, prev, pack_gzip(&a, large_profile(&a, 100, NONE), 1)};
    size_t made = 0, refused = 0, pumped = 0;
    for (options.max_memory = 200000; options.max_memory < 8000000;
         options.max_memory += options.max_memory / 2) {
        shared_tracker one = shared_tracker_begin(), two = shared_tracker_begin();
        life without = live(&(course){&p, 20000, false, STAGES}, &one);
        life with = live(&(course){&p, 20000, true, STAGES}, &two);
        CHECK(!one.t.live && !two.t.live && two.t.peak <= options.max_memory);
        const char *wrong = differ(&a, &without, &with);
        CHECK_MSG(!wrong, "%s in %" PRIu64, wrong, options.max_memory);
        made += !with.status[PACKED];
        refused += with.status[PACKED] != PPROFDELTA_OK;
        pumped += with.had_pump;
    }
    CHECK(made > 2 && refused > 2 && pumped > 2);
    arena_free(&a);
}

/* ---------------------------------------------------------------------------------------------
 * Who comes, and who goes
 * ------------------------------------------------------------------------------------------ */

TEST(it_may_go_at_any_time_or_never_come)
{
    arena a = {0};
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.flags = PPROFDELTA_NO_SEQUENCE; /* each attempt gives the same bytes */
    buf prev = pack_gzip(&a, large_profile(&a, 0, NONE), 1);
    pair p = {&a, &options, 0, prev, pack_gzip(&a, large_profile(&a, 100, NONE), 1)};
    shared_tracker s = shared_tracker_begin();
    course c = {&p, 10000, false, STAGES};
    life whole = live(&c, &s), l;
    c.has_helper = true;
    for (c.stop_before = CHECKED; c.stop_before <= STAGES; c.stop_before++) {
        l = live(&c, &s);
        const char *wrong = differ(&a, &whole, &l);
        CHECK_MSG(!wrong && l.had_pump, "gone before stage %d: %s", c.stop_before, wrong);
    }
    pprofdelta *pd; /* there is one, but no thread; then one that is late */
    pprofdelta_helper *helper = NULL;
    REQUIRE(pprofdelta_new(&options, NULL, &pd, NULL) == PPROFDELTA_OK);
    pd->piece = c.piece;
    REQUIRE(pprofdelta_helper_new(pd, &helper, NULL) == PPROFDELTA_OK);
    CHECK(!perform(pd, &p, BASED, &l) && pd->pump.slots[0].cap);
    pprofdelta_helper_stop(helper);
    pprofdelta_helper_work(helper); /* returns at once */
    l.window.out = (collector){.bytes = buf_begin(&a)};
    CHECK(!perform(pd, &p, WINDOWED, &l) && same_bytes(&l.window, &whole.window));
    pprofdelta_helper_free(helper);
    l.window.out = (collector){.bytes = buf_begin(&a)};
    CHECK(!perform(pd, &p, WINDOWED, &l) && same_bytes(&l.window, &whole.window));
    pprofdelta_free(pd);
    CHECK(s.t.live == 0);
    arena_free(&a);
}

TEST(one_at_a_time)
{
    pprofdelta *pd;
    pprofdelta_helper *first = NULL, *second = NULL;
    pprofdelta_error err;
    REQUIRE(pprofdelta_new(NULL, NULL, &pd, NULL) == PPROFDELTA_OK);
    REQUIRE(pprofdelta_helper_new(pd, &first, NULL) == PPROFDELTA_OK);
    CHECK(pprofdelta_helper_new(pd, &second, &err) == PPROFDELTA_E_USAGE && !second);
    CHECK(err.status == PPROFDELTA_E_USAGE && strstr(err.text, "helper"));
    CHECK(pprofdelta_helper_new(pd, &second, NULL) == PPROFDELTA_E_USAGE && !second);
    pprofdelta_helper_free(first);
    CHECK(pprofdelta_helper_new(pd, &second, &err) == PPROFDELTA_OK && second);
    pprofdelta_helper_free(second);
    pprofdelta_helper_free(NULL);
    pprofdelta_free(pd);
}

/* Both other threads at once: what is read ahead is read whole, and the base a piece at a time. */
TEST(a_helper_beside_an_ahead)
{
    arena a = {0};
    pair p = {&a, NULL, 0, large_profile(&a, 0, NONE), large_profile(&a, 100, NONE)};
    p.prev = pack_gzip(&a, p.prev, 1);
    p.cur = pack_gzip(&a, p.cur, 1);
    outcome whole = by_one(&p), o = {.out.bytes = buf_begin(&a)}, next = o;
    shared_tracker s = shared_tracker_begin();
    pprofdelta_allocator allocator = shared_allocator(&s);
    pprofdelta_pack *pack = NULL;
    pprofdelta *pd;
    reader other;
    aide h;
    REQUIRE(pprofdelta_new(NULL, &allocator, &pd, NULL) == PPROFDELTA_OK);
    pd->piece = 4000;
    aide_begin(&h, pd);
    reader_begin(&other, pd, p.cur);
    REQUIRE(h.is_there && other.ahead);
    CHECK(pprofdelta_base(pd, p.prev.ptr, p.prev.len, NULL) == PPROFDELTA_OK);
    CHECK(pd->pump.slots[0].cap > 0);
    REQUIRE(pprofdelta_ahead_window(other.ahead, &pack, &o.report, NULL) == PPROFDELTA_OK);
    CHECK(send_pack(pd, pack, &o) == PPROFDELTA_OK && !differs(&a, &whole, &o));
    reader_end(&other);
    pprofdelta_sink sink = collector_sink(&next.out);
    CHECK(!pprofdelta_window(pd, p.cur.ptr, p.cur.len, &sink, &next.report, NULL));
    CHECK(next.report.matched == next.report.samples_in);
    pprofdelta_abandon(pd);
    aide_end(&h);
    pprofdelta_free(pd);
    CHECK(s.t.live == 0);
    arena_free(&a);
}

TEST_MAIN(CASE(any_process_as_without_a_helper), CASE(large_profiles_in_every_container),
          CASE(what_is_wrong_is_told_as_without_a_helper), CASE(every_allocation_may_fail),
          CASE(the_limit_holds_with_a_helper), CASE(it_may_go_at_any_time_or_never_come),
          CASE(one_at_a_time), CASE(a_helper_beside_an_ahead))
