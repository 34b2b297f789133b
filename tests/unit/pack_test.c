/* A window whose delta is compressed by whoever has time: whoever helps, and whenever, it is the
 * same bytes; and what else the context may do meanwhile. */
#include "keep.h"
#include "pack.h"
#include "parsed/context.h"
#include "test.h"
#include "two_threads.h"

#include <unistd.h>

typedef struct stand {
    arena arena;
    pair pair;
    outcome whole; /* in the ordinary way */
    pprofdelta *pd;
    pprofdelta_pack *pack;
    outcome o; /* this time */
} stand;

static void stand_begin(stand *s, const pprofdelta_options *options, uint64_t counted)
{
    *s = (stand){.pair = {.arena = &s->arena, .options = options}};
    s->pair.prev = large_profile(&s->arena, 0, NONE);
    s->pair.cur = pack_gzip(&s->arena, large_profile(&s->arena, counted, NONE), 1);
    s->whole = by_one(&s->pair);
    s->whole.next = PPROFDELTA_OK; /* nobody makes one here */
    s->o.out.bytes = buf_begin(&s->arena);
    CHECK(pprofdelta_new(options, NULL, &s->pd, NULL) == PPROFDELTA_OK);
    CHECK(pprofdelta_base(s->pd, s->pair.prev.ptr, s->pair.prev.len, NULL) == PPROFDELTA_OK);
    CHECK(pprofdelta_pack_window(s->pd, s->pair.cur.ptr, s->pair.cur.len, &s->pack, &s->o.report,
                                 NULL) == PPROFDELTA_OK);
}

static pprofdelta_status finish(stand *s)
{
    pprofdelta_sink sink = collector_sink(&s->o.out);
    return pprofdelta_pack_finish(s->pack, &sink, &s->o.report, NULL);
}

static void stand_end(stand *s)
{
    CHECK(!s->o.status && !differs(&s->arena, &s->whole, &s->o));
    pprofdelta_pack_free(s->pack);
    pprofdelta_free(s->pd);
    arena_free(&s->arena);
}

static void *help(void *cookie)
{
    pprofdelta_pack_help(cookie);
    return NULL;
}

/* Before, meanwhile, after, twice, or not at all. */
TEST(whoever_helps_and_whenever)
{
    enum { NOBODY, BEFORE, MEANWHILE, TWO, AFTER, WAYS };
    buf first = {0};
    arena a = {0};
    for (int way = NOBODY; way < WAYS; way++) {
        stand s;
        pthread_t threads[2];
        int len = way == TWO ? 2 : way == BEFORE || way == MEANWHILE;
        stand_begin(&s, NULL, 100);
        CHECK(pprofdelta_pack_is_large(s.pack));
        for (int i = 0; i < len; i++)
            REQUIRE(pthread_create(&threads[i], NULL, help, s.pack) == 0);
        if (way == BEFORE)
            usleep(50000);
        s.o.status = finish(&s);
        if (way == AFTER)
            pprofdelta_pack_help(s.pack);
        for (int i = 0; i < len; i++)
            pthread_join(threads[i], NULL);
        buf out = s.o.out.bytes;
        if (way == NOBODY) {
            first = buf_begin(&a);
            buf_add(&first, out.ptr, out.len);
        }
        CHECK(out.len == first.len && !memcmp(out.ptr, first.ptr, out.len));
        stand_end(&s);
    }
    arena_free(&a);
}

TEST(small_and_plain_ones_are_not_large)
{
    stand s;
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    stand_begin(&s, &options, 0);
    CHECK(!pprofdelta_pack_is_large(s.pack));
    s.o.status = finish(&s);
    stand_end(&s);
    options.compression = PPROFDELTA_PLAIN;
    stand_begin(&s, &options, 100);
    CHECK(!pprofdelta_pack_is_large(s.pack));
    pprofdelta_pack_help(s.pack);
    s.o.status = finish(&s);
    stand_end(&s);
}

static void make_again(stand *s)
{
    pprofdelta_abandon(s->pd);
    pprofdelta_pack_free(s->pack);
    s->pack = NULL;
    CHECK(pprofdelta_pack_window(s->pd, s->pair.cur.ptr, s->pair.cur.len, &s->pack, &s->o.report,
                                 NULL) == PPROFDELTA_OK);
}

TEST(the_bounded_way_gives_the_same_bytes)
{
    stand s;
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.flags = PPROFDELTA_NO_SEQUENCE; /* each attempt gives the same bytes */
    stand_begin(&s, &options, 100);
    CHECK(finish(&s) == PPROFDELTA_OK);
    buf whole = s.o.out.bytes;
    s.o.out = (collector){.bytes = buf_begin(&s.arena)};
    s.pd->piece = 1 << 16;
    make_again(&s);
    CHECK(pprofdelta_pack_is_large(s.pack));
    pprofdelta_pack_help(s.pack);
    s.o.status = finish(&s);
    buf bounded = s.o.out.bytes;
    CHECK(bounded.len == whole.len && !memcmp(bounded.ptr, whole.ptr, whole.len));
    stand_end(&s);
}

TEST(committed_and_saved_meanwhile)
{
    stand s, t;
    pthread_t thread;
    stand_begin(&s, NULL, 100);
    REQUIRE(pthread_create(&thread, NULL, help, s.pack) == 0);
    pprofdelta_commit(s.pd);
    buf one = keep_save(&s.arena, s.pd);
    CHECK(pprofdelta_base(s.pd, s.pair.prev.ptr, s.pair.prev.len, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_pack_window(s.pd, s.pair.cur.ptr, s.pair.cur.len, &s.pack, NULL, NULL) ==
          PPROFDELTA_E_USAGE);
    pprofdelta_ahead *ahead = NULL;
    CHECK(pprofdelta_ahead_new(s.pd, &ahead, NULL) == PPROFDELTA_E_USAGE && !ahead);
    s.o.status = finish(&s);
    pthread_join(thread, NULL);
    stand_begin(&t, NULL, 100);
    t.o.status = finish(&t);
    pprofdelta_commit(t.pd);
    buf other = keep_save(&t.arena, t.pd);
    CHECK(one.len == other.len && !memcmp(one.ptr, other.ptr, one.len));
    stand_end(&t);
    stand_end(&s);
}

TEST(a_sink_that_refuses_may_be_followed_by_another)
{
    stand s;
    pprofdelta_error err;
    stand_begin(&s, NULL, 100);
    s.o.out.fail_at = 1;
    CHECK(pprofdelta_pack_finish(s.pack, NULL, NULL, &err) == PPROFDELTA_E_USAGE);
    CHECK(finish(&s) == PPROFDELTA_E_SINK && !s.o.out.bytes.len && !s.o.report.output_len);
    s.o.status = finish(&s);
    stand_end(&s);
}

TEST(abandoned_and_made_again)
{
    stand s;
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.flags = PPROFDELTA_NO_SEQUENCE; /* each attempt gives the same bytes */
    stand_begin(&s, &options, 100);
    make_again(&s);
    pprofdelta_pack_free(NULL);
    s.o.status = finish(&s);
    stand_end(&s);
}

/* Then no window is pending, and the report is as it was. */
TEST(what_cannot_begin_is_no_window)
{
    arena a = {0};
    pair p = {&a, NULL, 0, large_profile(&a, 0, NONE), large_profile(&a, 100, NONE)};
    outcome whole = by_one(&p);
    size_t failures = 0;
    for (size_t fail_at = 1;; fail_at++) {
        shared_tracker s = shared_tracker_begin();
        pprofdelta_allocator allocator = shared_allocator(&s);
        outcome o = {.out.bytes = buf_begin(&a)};
        pprofdelta_pack *pack = NULL;
        pprofdelta *pd;
        REQUIRE(pprofdelta_new(NULL, &allocator, &pd, NULL) == PPROFDELTA_OK);
        CHECK(pprofdelta_base(pd, p.prev.ptr, p.prev.len, NULL) == PPROFDELTA_OK);
        s.t.fail_at = s.t.calls + fail_at;
        s.t.is_alone = true;
        pprofdelta_status status =
            pprofdelta_pack_window(pd, p.cur.ptr, p.cur.len, &pack, &o.report, NULL);
        bool is_refused = s.t.refused;
        if (status) {
            CHECK(status == PPROFDELTA_E_MEMORY && !pack && !o.report.samples_in);
            failures++;
            status = pprofdelta_pack_window(pd, p.cur.ptr, p.cur.len, &pack, &o.report, NULL);
        }
        CHECK(!status && !send_pack(pd, pack, &o) && !differs(&a, &whole, &o));
        pprofdelta_free(pd);
        CHECK(s.t.live == 0);
        if (!is_refused)
            break;
    }
    CHECK(failures > 8);
    arena_free(&a);
}

TEST_MAIN(CASE(whoever_helps_and_whenever), CASE(small_and_plain_ones_are_not_large),
          CASE(the_bounded_way_gives_the_same_bytes), CASE(committed_and_saved_meanwhile),
          CASE(a_sink_that_refuses_may_be_followed_by_another), CASE(abandoned_and_made_again),
          CASE(what_cannot_begin_is_no_window))
