/* A helper and a pack, in the bounded way: the thread that inflates for the window compresses it
 * when all is read. Whoever comes late, stops early or never comes, it is the same delta. */
#include "pack.h"
#include "parsed/context.h"
#include "test.h"
#include "two_threads.h"

#include <stdlib.h>
#include <unistd.h>

enum { WAYS = 12 };

static pprofdelta_options options_of(unsigned way)
{
    pprofdelta_options o = PPROFDELTA_OPTIONS_INIT;
    o.flags = PPROFDELTA_NO_SEQUENCE; /* each attempt gives the same bytes */
    o.flags |= (way & 1 ? PPROFDELTA_VERIFY : 0) | (way & 2 ? PPROFDELTA_NO_SAVE : 0);
    o.compression = (pprofdelta_compression)(way / 4);
    return o;
}

/* Made once, for all tests: two looks, and their delta in the ordinary way. */
static arena for_all;
static buf prev, cur;
static outcome wholes[WAYS];

/* Takes the fields apart: samples, or all else. */
static void add_fields(buf *out, buf in, bool are_samples)
{
    pd_reader r = pd_reader_of(in.ptr, in.len);
    pd_field f;
    while (pd_reader_next(&r, &f))
        if (are_samples == (f.number == PD_PROFILE_SAMPLE))
            buf_add(out, f.start, (size_t)(r.at - f.start));
}

/* A profile of many samples, behind all else: it can be read in one pass. */
static buf make_profile(uint64_t counted, size_t bad)
{
    buf in = large_profile(&for_all, counted, bad), out = buf_begin(&for_all);
    add_fields(&out, in, false);
    add_fields(&out, in, true);
    return pack_gzip(&for_all, out, 1);
}

static const outcome *whole_of(unsigned way)
{
    pprofdelta_options options = options_of(way);
    pair p = {.arena = &for_all, .options = &options};
    if (!prev.len) {
        prev = make_profile(0, NONE);
        cur = make_profile(100, NONE);
    }
    p.prev = prev;
    p.cur = cur;
    if (!wholes[way].out.calls)
        wholes[way] = by_one(&p);
    wholes[way].next = PPROFDELTA_OK; /* nobody makes one here */
    return &wholes[way];
}

typedef struct stand {
    arena arena;
    const outcome *whole;
    pprofdelta *pd;
    pprofdelta_helper *helper;
    pprofdelta_pack *pack;
    pthread_t thread;
    bool is_running;
    outcome o; /* this time */
} stand;

static void *work(void *helper)
{
    pprofdelta_helper_work(helper);
    return NULL;
}

static void run(stand *s)
{
    CHECK(pthread_create(&s->thread, NULL, work, s->helper) == 0);
    s->is_running = true;
}

static void stop(stand *s)
{
    if (!s->is_running)
        return;
    pprofdelta_helper_stop(s->helper);
    pthread_join(s->thread, NULL);
    s->is_running = false;
}

static void dismiss(stand *s)
{
    stop(s);
    pprofdelta_helper_free(s->helper);
    s->helper = NULL;
}

static void stand_begin(stand *s, unsigned way, bool is_running)
{
    pprofdelta_options options = options_of(way);
    *s = (stand){.whole = whole_of(way)};
    CHECK(pprofdelta_new(&options, NULL, &s->pd, NULL) == PPROFDELTA_OK);
    s->pd->piece = 1 << 14;
    CHECK(pprofdelta_helper_new(s->pd, &s->helper, NULL) == PPROFDELTA_OK);
    if (is_running)
        run(s);
    CHECK(pprofdelta_base(s->pd, prev.ptr, prev.len, NULL) == PPROFDELTA_OK);
}

static pprofdelta_status window(stand *s, buf look)
{
    s->o = (outcome){.out.bytes = buf_begin(&s->arena)};
    return pprofdelta_pack_window(s->pd, look.ptr, look.len, &s->pack, &s->o.report, NULL);
}

static pprofdelta_status finish(stand *s)
{
    pprofdelta_sink sink = collector_sink(&s->o.out);
    return pprofdelta_pack_finish(s->pack, &sink, &s->o.report, NULL);
}

static void drop(stand *s)
{
    pprofdelta_pack_free(s->pack);
    s->pack = NULL;
}

static void check(stand *s)
{
    const char *wrong = differs(&s->arena, s->whole, &s->o);
    CHECK_MSG(!wrong, "%s", wrong);
}

static void stand_end(stand *s)
{
    drop(s);
    dismiss(s);
    CHECK(!pd_pump_is_open(&s->pd->pump) && !pd_relay_is_begun(&s->pd->relay));
    pprofdelta_free(s->pd);
    arena_free(&s->arena);
}

/* With and without VERIFY, in one pass and in more, in each compression. */
TEST(a_helper_reads_and_compresses)
{
    for (unsigned way = 0; way < WAYS; way++) {
        stand s;
        stand_begin(&s, way, true);
        for (int again = 0; again < 2; again++) {
            CHECK(window(&s, cur) == PPROFDELTA_OK && finish(&s) == PPROFDELTA_OK);
            CHECK(s.pd->cur.is_streamed && s.pd->cur.tables.is_once == (way >> 1 & 1));
            check(&s);
            pprofdelta_abandon(s.pd);
            drop(&s);
        }
        stand_end(&s);
    }
}

typedef void moment(stand *s);

static void nobody(stand *s)
{
    (void)s;
}

static void comes(stand *s)
{
    run(s);
}

static void comes_early(stand *s)
{
    run(s);
    usleep(30000);
}

/* `between`: the window and its finish. */
static void try_course(unsigned way, bool is_running, moment *between, moment *behind)
{
    stand s;
    stand_begin(&s, way, is_running);
    CHECK(window(&s, cur) == PPROFDELTA_OK);
    between(&s);
    CHECK(finish(&s) == PPROFDELTA_OK);
    check(&s);
    behind(&s);
    pprofdelta_commit(s.pd);
    stand_end(&s);
}

TEST(whoever_comes_and_goes_whenever)
{
    for (unsigned way = 0; way < 4; way += 3) {
        try_course(way, false, nobody, nobody);
        try_course(way, false, comes, nobody);
        try_course(way, false, comes_early, nobody);
        try_course(way, false, nobody, comes);
        try_course(way, true, stop, nobody);
        try_course(way, true, nobody, stop);
        try_course(way, true, dismiss, nobody);
        try_course(way, true, nobody, dismiss);
        try_course(way, false, dismiss, nobody);
    }
}

/* Freed at once, when the helper may be at it, or after a while. */
TEST(a_pack_that_is_freed_before_it_is_finished)
{
    for (unsigned way = 0; way < 4; way += 3)
        for (int is_later = 0; is_later < 2; is_later++) {
            stand s;
            stand_begin(&s, way, true);
            for (int again = 0; again < 2; again++) {
                CHECK(window(&s, cur) == PPROFDELTA_OK);
                if (is_later)
                    usleep(5000);
                drop(&s);
                pprofdelta_abandon(s.pd);
            }
            CHECK(window(&s, cur) == PPROFDELTA_OK && finish(&s) == PPROFDELTA_OK);
            check(&s);
            stand_end(&s);
        }
}

/* Cut off in the middle, damaged at the end, or with a sample that is wrong: the helper is there
 * for the next. */
TEST(a_window_that_fails)
{
    for (unsigned way = 0; way < 4; way += 3) {
        stand s;
        stand_begin(&s, way, true);
        buf cut = {.ptr = cur.ptr, .len = cur.len / 2};
        buf bad = make_profile(100, 5000);
        buf damaged = buf_begin(&s.arena);
        buf_add(&damaged, cur.ptr, cur.len);
        damaged.ptr[damaged.len - 6] ^= 1;
        const buf looks[] = {cut, bad, damaged};
        for (size_t i = 0; i < 3; i++) {
            CHECK(window(&s, looks[i]) != PPROFDELTA_OK && !s.pack);
            CHECK(!pd_relay_is_begun(&s.pd->relay));
            CHECK(window(&s, cur) == PPROFDELTA_OK && finish(&s) == PPROFDELTA_OK);
            check(&s);
            drop(&s);
            pprofdelta_abandon(s.pd);
        }
        stand_end(&s);
    }
}

TEST(a_sink_that_refuses_may_be_followed_by_another)
{
    stand s;
    stand_begin(&s, 0, true);
    CHECK(window(&s, cur) == PPROFDELTA_OK);
    s.o.out.fail_at = 1;
    CHECK(finish(&s) == PPROFDELTA_E_SINK && !s.o.out.bytes.len);
    CHECK(finish(&s) == PPROFDELTA_OK);
    check(&s);
    stand_end(&s);
}

/* Between window and finish the context may be used for what leaves its writer alone. */
TEST(checked_meanwhile)
{
    stand s;
    pprofdelta_census census;
    stand_begin(&s, 2, true);
    CHECK(window(&s, cur) == PPROFDELTA_OK);
    CHECK(pprofdelta_check(s.pd, cur.ptr, cur.len, &census, NULL) == PPROFDELTA_OK);
    CHECK(census.samples == LARGE_SAMPLES);
    pprofdelta_commit(s.pd);
    CHECK(finish(&s) == PPROFDELTA_OK);
    check(&s);
    stand_end(&s);
}

/* As these bytes are, in a context of these flags that has room for all. */
static int pays(unsigned flags, buf bytes, size_t piece)
{
    pprofdelta_options o = PPROFDELTA_OPTIONS_INIT;
    pprofdelta *pd = NULL;
    o.flags = flags;
    if (pprofdelta_new(&o, NULL, &pd, NULL))
        abort();
    pd->piece = piece;
    int it_pays = pprofdelta_helper_pays(pd, bytes.ptr, bytes.len);
    pprofdelta_free(pd);
    return it_pays;
}

/* Zeros that follow make it large; nobody looks that far. */
static buf lengthen(buf profile)
{
    buf raw = buf_begin(&for_all), out = buf_begin(&for_all);
    if (!unpack(&for_all, profile.ptr, profile.len, &raw))
        abort();
    buf_add(&out, raw.ptr, raw.len);
    uint8_t *zeros = arena_alloc(&for_all, 8 << 20);
    buf_add(&out, zeros, 8 << 20);
    return pack_gzip(&for_all, out, 1);
}

TEST(a_helper_pays_for_what_is_read_in_pieces)
{
    whole_of(0);
    buf in = large_profile(&for_all, 0, NONE), samples_first = buf_begin(&for_all);
    add_fields(&samples_first, in, true);
    add_fields(&samples_first, in, false);
    buf turned = pack_gzip(&for_all, samples_first, 1);
    buf large = lengthen(prev), large_turned = lengthen(turned);
    CHECK(pays(PPROFDELTA_NO_SAVE, large, 0));
    CHECK(!pays(0, large, 0));
    CHECK(!pays(PPROFDELTA_NO_SAVE, large_turned, 0));
    CHECK(!pays(PPROFDELTA_NO_SAVE, prev, 0));
    CHECK(pays(0, prev, 1000) && pays(0, turned, 1000)); /* the bounded way */
    CHECK(!pays(PPROFDELTA_NO_SAVE, (buf){.ptr = large.ptr, .len = 0}, 0));
    CHECK(!pays(PPROFDELTA_NO_SAVE, (buf){0}, 0));
}

TEST(a_pending_window_is_left_alone)
{
    stand s;
    stand_begin(&s, 2, false);
    CHECK(window(&s, cur) == PPROFDELTA_OK);
    CHECK(!pprofdelta_helper_pays(s.pd, prev.ptr, prev.len));
    CHECK(finish(&s) == PPROFDELTA_OK);
    check(&s);
    stand_end(&s);
}

TEST_MAIN(CASE(a_helper_reads_and_compresses), CASE(whoever_comes_and_goes_whenever),
          CASE(a_pack_that_is_freed_before_it_is_finished), CASE(a_window_that_fails),
          CASE(a_sink_that_refuses_may_be_followed_by_another), CASE(checked_meanwhile),
          CASE(a_helper_pays_for_what_is_read_in_pieces), CASE(a_pending_window_is_left_alone))
