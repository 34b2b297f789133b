/* A file that is inflated ahead of its reader: whoever helps, and whenever, what comes out is what
 * the stream gives by itself, and what is wrong is refused in the same words at the same place. */
#include "codec/pump.h"

#include "run.h"
#include "seeds.h"
#include "stream_kit.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* ---------------------------------------------------------------------------------------------
 * Helpers
 * ------------------------------------------------------------------------------------------ */

enum { MOST_HELPERS = 2 };

/* A pump, and who works at it. */
typedef struct crew {
    pd_mem mem;
    pd_pump pump;
    pthread_t threads[MOST_HELPERS];
    int len;
} crew;

static void *work(void *cookie)
{
    pd_pump_work(cookie);
    return NULL;
}

static void crew_come(crew *c, int helpers)
{
    for (; c->len < helpers; c->len++)
        if (pthread_create(&c->threads[c->len], NULL, work, &c->pump))
            abort();
}

static void crew_begin(crew *c, int helpers)
{
    *c = (crew){0};
    pd_mem_init(&c->mem, NULL, PLENTY);
    CHECK(pd_pump_open(&c->pump, &c->mem, NULL) == PPROFDELTA_OK && pd_pump_is_open(&c->pump));
    crew_come(c, helpers);
}

static void crew_go(crew *c)
{
    pd_pump_stop(&c->pump);
    while (c->len)
        pthread_join(c->threads[--c->len], NULL);
}

static void crew_end(crew *c)
{
    crew_go(c);
    pd_pump_close(&c->pump);
    pd_pump_close(&c->pump);
    CHECK(!pd_pump_is_open(&c->pump) && c->mem.used == 0);
}

/* ---------------------------------------------------------------------------------------------
 * A reader with helpers, and one without
 * ------------------------------------------------------------------------------------------ */

/* What happens between two steps of the reader. */
typedef struct course {
    crew *crew;
    int late;        /* so many helpers come after the first steps, */
    bool goes;       /* and all go after some more */
    unsigned pauses; /* in percent: the reader dawdles, */
    unsigned jolts;  /* or a helper does, wherever it is */
    rng rng;
    int steps;
} course;

static void dawdle(int number)
{
    (void)number;
    nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

static void pause_of(void *cookie)
{
    course *c = cookie;
    int step = c->steps++;
    if (step == 2)
        crew_come(c->crew, c->late);
    if (step == 6 && c->goes)
        crew_go(c->crew);
    if (rng_chance(&c->rng, c->pauses))
        dawdle(0);
    if (c->crew->len && rng_chance(&c->rng, c->jolts))
        pthread_kill(c->crew->threads[rng_below(&c->rng, (size_t)c->crew->len)], SIGUSR1);
}

typedef struct outcome {
    pprofdelta_status status;
    pprofdelta_error err;
    buf got;
    bool had_pump;
} outcome;

static outcome read_as(arena *a, const stream_way *how, pd_stream *s, buf file, uint64_t seed)
{
    rng r = {seed};
    outcome o = {.got = buf_begin(a)};
    o.status = read_stream(s, how, file, &r, &o.got, &o.err);
    o.had_pump = s->pump != NULL;
    return o;
}

static outcome read_alone(arena *a, buf file, size_t piece, uint64_t limit, uint64_t seed)
{
    pd_mem mem;
    pd_stream s = {0};
    pd_mem_init(&mem, NULL, limit);
    stream_way how = {.mem = &mem, .piece = piece};
    outcome o = read_as(a, &how, &s, file, seed);
    pd_stream_end(&s);
    CHECK(!o.had_pump && mem.used == 0);
    return o;
}

static bool same(const outcome *x, const outcome *y)
{
    const pprofdelta_error *e = &x->err, *f = &y->err;
    return x->status == y->status && x->got.len == y->got.len &&
           (!x->got.len || !memcmp(x->got.ptr, y->got.ptr, x->got.len)) &&
           (!x->status ||
            (e->status == f->status && !strcmp(e->stage, f->stage) && !strcmp(e->text, f->text) &&
             !strcmp(e->field, f->field) && e->element == f->element && e->offset == f->offset));
}

/* Nothing that repeats itself, in half of its length. */
static buf draw_letters(arena *a, rng *r, size_t len)
{
    buf b = {.arena = a, .ptr = arena_alloc(a, len), .len = len};
    for (size_t i = 0; i < len; i++)
        b.ptr[i] = (uint8_t)(rng_next(r) >> 60);
    return b;
}

static bool is_gzip(buf file)
{
    return pd_format_of(file.ptr, file.len) == PD_FORMAT_GZIP;
}

/* One file, both ways; the stream is used again. True where it could be read. */
static bool compare(arena *a, crew *c, course *how, pd_stream *s, buf file, size_t piece,
                    uint64_t seed)
{
    outcome alone = read_alone(a, file, piece, PLENTY, seed);
    stream_way with = {&c->mem, piece, &c->pump, how ? pause_of : NULL, how};
    outcome ahead = read_as(a, &with, s, file, seed);
    CHECK_MSG(ahead.had_pump == is_gzip(file), "seed %" PRIu64, seed);
    CHECK_MSG(same(&alone, &ahead),
              "seed %" PRIu64 ", piece %zu: %zu bytes, %d \"%s\" at %" PRIu64
              ", not %zu, %d \"%s\" at %" PRIu64,
              seed, piece, ahead.got.len, ahead.status, ahead.status ? ahead.err.text : "",
              ahead.status ? ahead.err.offset : 0, alone.got.len, alone.status,
              alone.status ? alone.err.text : "", alone.status ? alone.err.offset : 0);
    return !alone.status;
}

/* Pieces of which a file of so many bytes has a few, or some hundred. */
static size_t draw_piece(rng *r, size_t len)
{
    size_t most = rng_chance(r, 50) ? len / 200 : len;
    return 1 + len / 1000 + rng_below(r, most);
}

static course draw_course(rng *r, crew *c)
{
    signal(SIGUSR1, dawdle);
    course how = {.crew = c, .rng = {rng_next(r)}};
    how.late = rng_chance(r, 30) ? 1 + (int)rng_below(r, MOST_HELPERS) : 0;
    how.goes = rng_chance(r, 20);
    how.pauses = rng_chance(r, 30) ? 30 : 0;
    how.jolts = rng_chance(r, 30) ? 30 : 0;
    return how;
}

TEST(whoever_helps_it_is_what_the_stream_gives_alone)
{
    seed_range range = seeds(2);
    size_t made = 0;
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        rng r = {seed};
        arena a = {0};
        crew c;
        pd_stream s = {0};
        crew_begin(&c, (int)rng_below(&r, MOST_HELPERS + 1));
        for (int again = 0; again < 3; again++) {
            size_t len = rng_below(&r, rng_chance(&r, 20) ? 300000 : 3000);
            buf file = draw_file(&a, &r, draw_content(&a, &r, len));
            course how = draw_course(&r, &c);
            made += compare(&a, &c, &how, &s, file, draw_piece(&r, len), seed);
        }
        pd_stream_end(&s);
        crew_end(&c);
        arena_free(&a);
    }
    CHECK(made > 0);
}

TEST(many_members_and_empty_ones)
{
    static const size_t lens[] = {0, 1, 100, 200000};
    arena a = {0};
    rng r = {3};
    crew c;
    pd_stream s = {0};
    crew_begin(&c, 1);
    for (size_t i = 0; i < sizeof lens / sizeof *lens; i++)
        for (unsigned members = 1; members <= 900; members *= 30) {
            buf file = pack_gzip(&a, draw_content(&a, &r, lens[i]), members);
            for (size_t piece = 1 + lens[i] / 500; piece < 300000; piece *= 40)
                CHECK(compare(&a, &c, NULL, &s, file, piece, i));
        }
    pd_stream_end(&s);
    crew_end(&c);
    arena_free(&a);
}

/* ---------------------------------------------------------------------------------------------
 * What is wrong
 * ------------------------------------------------------------------------------------------ */

TEST(every_bit_that_is_wrong_is_told_as_without_a_pump)
{
    arena a = {0};
    rng r = {5};
    crew c;
    pd_stream s = {0};
    buf file = pack_gzip(&a, draw_letters(&a, &r, 200), 2);
    size_t refused = 0;
    crew_begin(&c, 1);
    for (size_t len = 2; len < file.len; len++) /* less is no gzip */
        refused += !compare(&a, &c, NULL, &s, (buf){.ptr = file.ptr, .len = len}, 20, len);
    for (size_t bit = 16; bit < file.len * 8; bit++) {
        file.ptr[bit / 8] ^= (uint8_t)(1 << bit % 8);
        refused += !compare(&a, &c, NULL, &s, file, 1 + rng_below(&r, 50), bit);
        file.ptr[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    CHECK(compare(&a, &c, NULL, &s, file, 20, 1) && refused > file.len * 4);
    pd_stream_end(&s);
    crew_end(&c);
    arena_free(&a);
}

/* Pieces lie ready when it is found, or somebody waits for one. */
TEST(what_is_wrong_far_behind_is_told_as_without_a_pump)
{
    arena a = {0};
    rng r = {7};
    size_t refused = 0;
    buf whole = gzip_by_zlib(&a, draw_letters(&a, &r, 100000), 6, Z_DEFAULT_STRATEGY);
    for (int i = 0; i < 60; i++) {
        crew c;
        pd_stream s = {0};
        buf file = buf_begin(&a);
        size_t at = 20 + rng_below(&r, whole.len - 20);
        buf_add(&file, whole.ptr, i % 3 ? whole.len : at);
        if (i % 3)
            file.ptr[at] ^= 0x15;
        crew_begin(&c, i % (MOST_HELPERS + 1));
        course how = draw_course(&r, &c);
        refused += !compare(&a, &c, &how, &s, file, 3000, at);
        pd_stream_end(&s);
        crew_end(&c);
    }
    CHECK(refused == 60);
    arena_free(&a);
}

TEST(what_inflates_without_end_is_refused)
{
    enum { LEN = 8 << 20 };
    arena a = {0};
    crew c;
    pd_stream s = {0};
    buf zeros = {.arena = &a, .ptr = arena_alloc(&a, LEN), .len = LEN};
    crew_begin(&c, 1);
    for (unsigned members = 1; members < 4; members++)
        CHECK(!compare(&a, &c, NULL, &s, pack_gzip(&a, zeros, members), 100000, members));
    pd_stream_end(&s);
    crew_end(&c);
    arena_free(&a);
}

/* ---------------------------------------------------------------------------------------------
 * Who comes, and who goes
 * ------------------------------------------------------------------------------------------ */

/* A file that is gone as soon as nobody may look at it any more. */
static buf lend(buf file)
{
    buf b = {.ptr = malloc(file.len + 1), .len = file.len};
    if (!b.ptr)
        abort();
    memcpy(b.ptr, file.ptr, file.len);
    return b;
}

TEST(a_reader_leaves_in_the_middle_and_begins_another_file)
{
    enum { LEN = 60000, PIECE = 700 };
    arena a = {0};
    rng r = {9};
    crew c;
    pd_stream s = {0};
    buf content = draw_letters(&a, &r, LEN), other = draw_letters(&a, &r, LEN / 2);
    buf first = gzip_by_libdeflate(&a, content, 6), second = pack_gzip(&a, other, 3);
    crew_begin(&c, 1);
    for (int i = 0; i < 100; i++) {
        buf lent = lend(first);
        pd_bytes out;
        uint64_t from = i % 10 ? rng_below(&r, LEN) : 0;
        stream_way how = {.mem = &c.mem, .piece = PIECE, .pump = &c.pump};
        REQUIRE(!pd_stream_begin(&s, &c.mem, lent.ptr, lent.len, PIECE, &c.pump, NULL));
        CHECK(s.pump == &c.pump);
        if (from) {
            REQUIRE(!pd_stream_reach(&s, from, 1, &out, NULL));
            CHECK(out.len && out.ptr[0] == content.ptr[from]);
        }
        i % 2 ? pd_stream_rest(&s) : pd_stream_end(&s);
        free(lent.ptr);
        outcome o = read_as(&a, &how, &s, second, (uint64_t)i);
        CHECK(!o.status && o.had_pump && o.got.len == other.len);
        CHECK(!memcmp(o.got.ptr, other.ptr, other.len));
    }
    pd_stream_end(&s);
    crew_end(&c);
    arena_free(&a);
}

TEST(of_two_streams_the_second_goes_alone)
{
    enum { LEN = 50000, STEP = 500 };
    arena a = {0};
    rng r = {11};
    crew c;
    pd_stream both[2] = {{0}, {0}};
    buf content = draw_letters(&a, &r, LEN), file = pack_gzip(&a, content, 2);
    crew_begin(&c, 1);
    for (int turn = 0; turn < 4; turn++) {
        pd_stream *one = &both[turn % 2], *two = &both[1 - turn % 2];
        REQUIRE(!pd_stream_begin(one, &c.mem, file.ptr, file.len, 1000, &c.pump, NULL));
        REQUIRE(!pd_stream_begin(two, &c.mem, file.ptr, file.len, 300, &c.pump, NULL));
        CHECK(one->pump == &c.pump && !two->pump);
        for (size_t at = 0; at + STEP < LEN; at += STEP)
            for (int i = 0; i < 2; i++) {
                pd_bytes out;
                REQUIRE(!pd_stream_reach(&both[i], at, STEP, &out, NULL));
                CHECK(out.len >= STEP && !memcmp(out.ptr, content.ptr + at, STEP));
            }
        pd_stream_rest(one);
        CHECK(!pd_stream_finish(two, NULL) && pd_stream_len(two) == LEN);
        CHECK(
            !pd_pump_begin(&c.pump, file.ptr, file.len, SIZE_MAX)); /* it is free, but too small */
    }
    pd_stream_end(&both[0]);
    pd_stream_end(&both[1]);
    crew_end(&c);
    arena_free(&a);
}

static long times_slept(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
}

/* And does not wake the others who have nothing to do. */
TEST(who_has_nothing_to_do_sleeps)
{
    enum { LEN = 100000, FEW = 500 };
    arena a = {0};
    rng r = {13};
    crew c;
    pd_stream s = {0};
    pd_bytes out;
    buf file = pack_gzip(&a, draw_letters(&a, &r, LEN), 1);
    crew_begin(&c, MOST_HELPERS);
    for (int is_begun = 0; is_begun < 2; is_begun++) { /* no file, and no free slot */
        REQUIRE(!pd_stream_begin(&s, &c.mem, file.ptr, file.len, 1000, &c.pump, NULL));
        if (is_begun)
            CHECK(!pd_stream_reach(&s, LEN / 2, 1, &out, NULL));
        else
            CHECK(!pd_stream_finish(&s, NULL));
        usleep(20000);
        long before = times_slept();
        usleep(50000);
        CHECK_MSG(times_slept() - before < FEW, "%ld times", times_slept() - before);
    }
    pd_stream_end(&s);
    crew_end(&c);
    arena_free(&a);
}

/* ---------------------------------------------------------------------------------------------
 * Memory
 * ------------------------------------------------------------------------------------------ */

TEST(where_memory_is_scarce_there_is_no_pump_and_no_failure)
{
    arena a = {0};
    rng r = {15};
    buf content = draw_letters(&a, &r, 50000), file = pack_gzip(&a, content, 1);
    size_t without = 0, with = 0;
    for (uint64_t limit = 100000; limit < 3000000; limit += limit / 5) {
        crew c;
        pd_stream s = {0};
        outcome alone = read_alone(&a, file, 2000, limit, limit);
        crew_begin(&c, 1);
        c.mem.limit = limit;
        stream_way how = {.mem = &c.mem, .piece = 2000, .pump = &c.pump};
        outcome o = read_as(&a, &how, &s, file, limit);
        CHECK_MSG(same(&alone, &o), "%" PRIu64 ": status %d, not %d", limit, o.status,
                  alone.status);
        CHECK(c.mem.peak <= limit && (!o.had_pump || c.mem.used < limit / 2));
        with += o.had_pump;
        without += !o.had_pump && !o.status;
        pd_stream_end(&s);
        crew_end(&c);
    }
    CHECK(with > 2 && without > 2);
    arena_free(&a);
}

/* What the pump lacks it does without; what the stream lacks is told. */
TEST(every_allocation_may_fail)
{
    arena a = {0};
    rng r = {17};
    buf content = draw_letters(&a, &r, 50000), file = pack_gzip(&a, content, 1);
    for (int is_alone = 0; is_alone < 2; is_alone++) {
        bool refused = true;
        for (size_t nth = 1; refused; nth++) {
            tracker memory = {.fail_at = nth, .is_alone = is_alone};
            pprofdelta_allocator allocator = tracker_allocator(&memory);
            crew c;
            pd_stream s = {0};
            crew_begin(&c, 1);
            pd_mem_init(&c.mem, &allocator, PLENTY);
            stream_way how = {.mem = &c.mem, .piece = 1000, .pump = &c.pump};
            outcome o = read_as(&a, &how, &s, file, nth);
            bool is_pumps = nth <= PD_PUMP_SLOTS + 1; /* and the decoder's state */
            refused = memory.refused > 0;
            CHECK_MSG(o.had_pump == !(refused && is_pumps), "allocation %zu", nth);
            CHECK_MSG(o.status == (refused && !(is_pumps && is_alone) ? PPROFDELTA_E_MEMORY : 0),
                      "allocation %zu: status %d", nth, o.status);
            CHECK(o.status ||
                  (o.got.len == content.len && !memcmp(o.got.ptr, content.ptr, content.len)));
            pd_stream_end(&s);
            crew_end(&c);
            CHECK(memory.live == 0);
        }
    }
    arena_free(&a);
}

TEST_MAIN(CASE(whoever_helps_it_is_what_the_stream_gives_alone), CASE(many_members_and_empty_ones),
          CASE(every_bit_that_is_wrong_is_told_as_without_a_pump),
          CASE(what_is_wrong_far_behind_is_told_as_without_a_pump),
          CASE(what_inflates_without_end_is_refused),
          CASE(a_reader_leaves_in_the_middle_and_begins_another_file),
          CASE(of_two_streams_the_second_goes_alone), CASE(who_has_nothing_to_do_sleeps),
          CASE(where_memory_is_scarce_there_is_no_pump_and_no_failure),
          CASE(every_allocation_may_fail))
