/* Reading ahead against the ordinary way: the same bytes, the same report, the same status, whatever
 * happened to the process between the looks; and where memory fails, nothing lost. */
#include "parsed/ahead.h"
#include "scene.h"
#include "seeds.h"

typedef struct outcome {
    pprofdelta_status status;
    pprofdelta_report report;
    collector out;
} outcome;

static outcome ordinary(arena *a, const pprofdelta_options *options, int64_t started, buf prev,
                        buf cur)
{
    outcome o = {.out.bytes = buf_begin(a)};
    pprofdelta *pd;
    CHECK(pprofdelta_new(options, NULL, &pd, NULL) == PPROFDELTA_OK);
    pprofdelta_set_started(pd, started);
    o.status = pprofdelta_base(pd, prev.ptr, prev.len, NULL);
    pprofdelta_sink sink = collector_sink(&o.out);
    if (!o.status)
        o.status = pprofdelta_window(pd, cur.ptr, cur.len, &sink, &o.report, NULL);
    pprofdelta_free(pd);
    return o;
}

/* What is not borrowed may go before the samples are read. */
static pprofdelta_status read_whole(pd_ahead *ahead, buf cur)
{
    uint8_t *copy = malloc(cur.len + 1);
    memcpy(copy, cur.ptr, cur.len);
    pprofdelta_status status = pd_ahead_open(ahead, copy, cur.len);
    bool is_borrowed = !status && pd_ahead_borrows(ahead);
    free(copy);
    if (is_borrowed)
        status = pd_ahead_open(ahead, cur.ptr, cur.len);
    if (!status)
        status = pd_ahead_feed(ahead);
    if (!status && cur.len % 2)
        pd_ahead_read(ahead);
    return status;
}

/* As the command does it, but one after the other. What it tracks is all given back. */
static outcome ahead_of(arena *a, const pprofdelta_options *options, int64_t started, buf prev,
                        buf cur, tracker *t)
{
    outcome o = {.out.bytes = buf_begin(a)};
    pprofdelta_allocator allocator = tracker_allocator(t);
    pprofdelta *pd;
    o.status = pprofdelta_new(options, &allocator, &pd, NULL);
    if (o.status)
        return o;
    pprofdelta_set_started(pd, started);
    pd_ahead ahead;
    uint64_t limit = pd->mem.limit;
    pd_ahead_begin(&ahead, pd);
    pprofdelta_status read = read_whole(&ahead, cur);
    o.status = pprofdelta_base(pd, prev.ptr, prev.len, NULL);
    pprofdelta_sink sink = collector_sink(&o.out);
    if (!o.status)
        o.status = read ? read : pd_ahead_window(pd, &ahead, &sink, &o.report, NULL);
    pd_ahead_end(&ahead, pd);
    pd_ahead_end(&ahead, pd);
    CHECK(pd->mem.limit == limit);
    if (!o.status) { /* and the context goes on */
        collector next = {.bytes = buf_begin(a)};
        sink = collector_sink(&next);
        pprofdelta_commit(pd);
        pprofdelta_status status = pprofdelta_window(pd, cur.ptr, cur.len, &sink, NULL, NULL);
        CHECK(status == PPROFDELTA_OK ||
              (options && options->on_reset == PPROFDELTA_ON_RESET_NEGATIVE));
    }
    pprofdelta_free(pd);
    CHECK(t->live == 0);
    return o;
}

static const char *differs(const outcome *a, const outcome *b)
{
    const pprofdelta_report *x = &a->report, *y = &b->report;
    if (a->status != b->status)
        return "the status";
    if (a->out.bytes.len != b->out.bytes.len ||
        (a->out.bytes.len && memcmp(a->out.bytes.ptr, b->out.bytes.ptr, a->out.bytes.len) != 0))
        return "the bytes";
    if (x->samples_in != y->samples_in || x->matched != y->matched || x->fresh != y->fresh ||
        x->vanished != y->vanished || x->clamped != y->clamped || x->duplicates != y->duplicates ||
        x->unknown_fields != y->unknown_fields || x->restart != y->restart)
        return "the report";
    return NULL;
}

TEST(as_the_ordinary_way)
{
    seed_range range = seeds(50);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        gen g;
        rng r = {seed * 2 + 1};
        arena a = {0};
        tracker t = {0};
        gen_init(&g, seed);
        pprofdelta_options options = draw_options(&r, &g);
        serial_style style = serial_draw(&r);
        buf prev = serial_write(&a, &g.m, &style);
        gen_evolve(&g, rng_chance(&r, 50) ? GEN_ANYTHING : GEN_VANISH);
        style = serial_draw(&r);
        buf cur = serial_write(&a, &g.m, &style);
        outcome one = ordinary(&a, &options, g.started_nanos, prev, cur);
        outcome other = ahead_of(&a, &options, g.started_nanos, prev, cur, &t);
        const char *wrong = differs(&one, &other);
        AGREE(seed, wrong);
        arena_free(&a);
        gen_free(&g);
    }
}

TEST(a_damaged_profile_is_refused_when_it_is_read)
{
    arena a = {0};
    pprofdelta *pd;
    CHECK(pprofdelta_new(NULL, NULL, &pd, NULL) == PPROFDELTA_OK);
    pd_ahead ahead;
    pd_ahead_begin(&ahead, pd);
    CHECK(pd_ahead_open(&ahead, "\x0a\x7f", 2) == PPROFDELTA_E_WIRE);
    CHECK(pd_ahead_open(&ahead, "\x1f\x8b", 2) == PPROFDELTA_E_INFLATE);
    CHECK(pd_ahead_open(&ahead, NULL, 0) != PPROFDELTA_OK);
    pd_ahead_end(&ahead, pd);
    pprofdelta_free(pd);
    arena_free(&a);
}

TEST(every_allocation_may_fail)
{
    arena a = {0};
    gen g;
    rng r = {5};
    gen_init(&g, 5);
    serial_style style = serial_draw(&r);
    buf prev = serial_write(&a, &g.m, &style);
    gen_evolve(&g, 0);
    buf cur = serial_write(&a, &g.m, &style);
    outcome whole = ordinary(&a, NULL, 0, prev, cur);
    CHECK(whole.status == PPROFDELTA_OK);
    size_t fail_at = 1;
    for (;; fail_at++) {
        tracker t = {.fail_at = fail_at};
        outcome o = ahead_of(&a, NULL, 0, prev, cur, &t);
        if (!t.refused)
            break;
        CHECK(o.status == PPROFDELTA_E_MEMORY || !differs(&whole, &o));
    }
    CHECK(fail_at > 20);
    gen_free(&g);
    arena_free(&a);
}

TEST(the_memory_that_it_was_lent_is_its_limit)
{
    arena a = {0};
    gen g;
    rng r = {7};
    gen_init(&g, 7);
    serial_style style = serial_draw(&r);
    buf cur = serial_write(&a, &g.m, &style);
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.max_memory = 1 << 20;
    pprofdelta *pd;
    CHECK(pprofdelta_new(&options, NULL, &pd, NULL) == PPROFDELTA_OK);
    uint64_t left = pd->mem.limit - pd->mem.used;
    pd_ahead ahead;
    pd_ahead_begin(&ahead, pd);
    CHECK(ahead.mem.limit == left / 2);
    CHECK(pd->mem.limit - pd->mem.used == left - left / 2);
    ahead.mem.limit = 100;
    pd->mem.limit += left / 2 - 100;
    CHECK(pd_ahead_open(&ahead, cur.ptr, cur.len) == PPROFDELTA_E_LIMIT);
    pd_ahead_end(&ahead, pd);
    CHECK(pd->mem.limit - pd->mem.used == left);
    pprofdelta_free(pd);
    gen_free(&g);
    arena_free(&a);
}

TEST_MAIN(CASE(as_the_ordinary_way), CASE(a_damaged_profile_is_refused_when_it_is_read),
          CASE(every_allocation_may_fail), CASE(the_memory_that_it_was_lent_is_its_limit))
