/* The encoded bytes are the same however the input comes; failures leave the encoder fit for the next
 * delta. */
#include "codec/encoder.h"

#include "codec/cut.h"
#include "member_kit.h"

#include <stdlib.h>
#include <zstd.h>

enum { PART = 96 << 10, PAIR = 64 << 10, MOST_RUNS = 7 };

typedef struct counting {
    unsigned long calls, fail_at; /* fail_at: the call, from 1, that returns NULL; 0: none */
} counting;

static counting allocations;
static pd_mem mem;

static void *counting_resize(void *cookie, void *ptr, size_t size)
{
    counting *c = cookie;
    return ++c->calls == c->fail_at ? NULL : realloc(ptr, size);
}

static void counting_release(void *cookie, void *ptr)
{
    (void)cookie;
    free(ptr);
}

static void mem_begin(uint64_t limit)
{
    pprofdelta_allocator allocator = {counting_resize, counting_release, &allocations};
    allocations = (counting){0, 0};
    pd_mem_init(&mem, &allocator, limit);
}

/* What the writer does. */
typedef struct course {
    size_t len;    /* of `in` */
    size_t source; /* of the profile that it comes of */
    size_t early;  /* bytes that are written before the last push */
    size_t step;   /* bytes between two pushes, at most */
    uint64_t seed;
} course;

/* A delta that is being written. */
typedef struct delta {
    const course *course;
    rng rng;
    pd_buffer writer;
    size_t at; /* in `in` */
    pd_bytes runs[MOST_RUNS];
} delta;

static delta begin_delta(const course *c)
{
    return (delta){.course = c, .rng = {c->seed}};
}

static void end_delta(delta *d)
{
    pd_buffer_release(&mem, &d->writer);
}

/* Writes and pushes once. */
static pprofdelta_status push_some(pd_encoder *e, delta *d)
{
    size_t some = 1 + rng_below(&d->rng, d->course->step), left = d->course->early - d->at;
    some = some < left ? some : left;
    pprofdelta_status status = pd_buffer_room(&mem, &d->writer, some + 1, NULL);
    if (status || !d->writer.ptr)
        return status;
    memcpy(d->writer.ptr + d->writer.len, in + d->at, some);
    d->writer.len += some;
    d->at += some;
    return pd_encoder_push(e, &d->writer, NULL);
}

/* What the writer has left, and the rest in runs, some of which are empty. */
static pprofdelta_status finish(pd_encoder *e, delta *d)
{
    size_t n = d->at ? 1 + rng_below(&d->rng, MOST_RUNS - 1) : rng_below(&d->rng, MOST_RUNS);
    size_t left = d->course->len - d->at;
    n = left ? MOST_RUNS : n;
    d->runs[0] = (pd_bytes){d->writer.ptr, d->writer.len};
    for (size_t i = 1; i < n; i++) {
        size_t some = i + 1 == n ? left : rng_chance(&d->rng, 30) ? 0 : rng_below(&d->rng, left);
        d->runs[i] = (pd_bytes){some ? in + d->course->len - left : NULL, some};
        left -= some;
    }
    return pd_encoder_finish(e, d->runs, n, NULL);
}

/* Up to the finish. */
static pprofdelta_status encode(pd_encoder *e, delta *d)
{
    pprofdelta_status status = pd_encoder_begin(e, &mem, d->course->source, NULL);
    while (!status && d->at < d->course->early)
        status = push_some(e, d);
    return status ? status : finish(e, d);
}

static pprofdelta_status write_out(pd_encoder *e)
{
    pprofdelta_sink sink = {keep, &out};
    uint64_t written = 7;
    out.len = out.calls = 0;
    pprofdelta_status status = pd_encoder_write(e, &sink, &written, NULL);
    CHECK(written == (status ? 7 : out.len));
    return status;
}

static pprofdelta_status run(pd_encoder *e, const course *c)
{
    delta d = begin_delta(c);
    pprofdelta_status status = encode(e, &d);
    if (!status)
        status = write_out(e);
    pd_encoder_drop(e);
    end_delta(&d);
    return status;
}

static uint8_t want[LONGEST + (1 << 16)];
static size_t want_len;

static bool is_as_wanted(void)
{
    return out.len == want_len && !memcmp(out.bytes, want, want_len);
}

/* The parts of a member, one after the other, as cut.h has them. */
static void join_parts(const pd_encoder *e, const course *c)
{
    size_t part = pd_cut_part(c->source), early = c->early / part;
    size_t rest = pd_cut_rest(part, c->len - early * part);
    joiner j = join_begin(e->level ? e->level : 2);
    for (; early; early--)
        join_part(&j, part, false);
    for (; rest; rest--)
        join_part(&j, (c->len - j.at) / rest, rest == 1);
}

/* The bytes that are to come out, by a way that knows no buffers. */
static void make_want(const pd_encoder *e, const course *c)
{
    pd_mem own;
    pd_compressor whole = {.compression = e->compression, .level = e->level};
    pprofdelta_sink sink = {keep, &out};
    uint64_t written;
    pd_mem_init(&own, NULL, UINT64_C(1) << 30);
    out.len = 0;
    if (e->compression == PPROFDELTA_GZIP)
        join_parts(e, c);
    else
        CHECK(pd_compress(&whole, &own, (pd_bytes){in, c->len}, &sink, &written, NULL) ==
              PPROFDELTA_OK);
    memcpy(want, out.bytes, want_len = out.len);
    pd_compressor_fini(&whole, &own);
}

static bool is_decoded(const pd_encoder *e, size_t len)
{
    if (e->compression == PPROFDELTA_GZIP)
        return is_member_of(len);
    if (e->compression == PPROFDELTA_PLAIN)
        return out.len == len && !memcmp(out.bytes, in, len);
    return ZSTD_getFrameContentSize(out.bytes, out.len) == len &&
           ZSTD_decompress(back, sizeof back, out.bytes, out.len) == len && !memcmp(back, in, len);
}

static course draw(rng *r, size_t len)
{
    course c = {.len = len, .source = rng_below(r, 1 << 22), .seed = rng_next(r)};
    c.early = rng_chance(r, 20) ? 0 : rng_chance(r, 20) ? len : rng_below(r, len + 1);
    c.step = rng_chance(r, 20) ? len + 1 : 1 + rng_below(r, rng_chance(r, 50) ? 2000 : 200000);
    return c;
}

/* Twice with one encoder, so that the second finds what the first has left. */
static void twice(pd_encoder *e, const course *c)
{
    for (int i = 0; i < 2; i++) {
        CHECK(run(e, c) == PPROFDELTA_OK);
        CHECK_MSG(is_as_wanted(), "%zu of %zu bytes, compression %d, level %d", c->early, c->len,
                  (int)e->compression, e->level);
    }
}

TEST(every_length_gives_the_same_bytes)
{
    static const size_t lens[] = {
        0,           1,      5000,          PAIR - 1,          PAIR,    PART - 1, PART,
        PART + PAIR, 700000, PD_ZSTD_SHORT, PD_ZSTD_SHORT + 1, 1500000, LONGEST,
    };
    rng r = {3};
    mem_begin(UINT64_C(1) << 30);
    for (int compression = PPROFDELTA_GZIP; compression <= PPROFDELTA_PLAIN; compression++) {
        pd_encoder e = {.compression = (pprofdelta_compression)compression, .level = 1};
        for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
            course c = draw(&r, lens[i]);
            make(&r, c.len, 20);
            make_want(&e, &c);
            twice(&e, &c);
            CHECK_MSG(is_decoded(&e, c.len), "%zu bytes, compression %d", c.len, compression);
        }
        pd_encoder_fini(&e, &mem);
    }
    CHECK(mem.used == 0);
}

TEST(every_level_gives_the_same_bytes)
{
    rng r = {5};
    mem_begin(UINT64_C(1) << 30);
    for (int way = 0; way < 2 * 10; way++) {
        pd_encoder e = {.compression = (pprofdelta_compression)(way % 2), .level = way / 2};
        course c = draw(&r, rng_below(&r, 1 << 19));
        make(&r, c.len, (unsigned)way * 4);
        make_want(&e, &c);
        twice(&e, &c);
        CHECK_MSG(is_decoded(&e, c.len), "way %d, %zu bytes", way, c.len);
        pd_encoder_fini(&e, &mem);
    }
    CHECK(mem.used == 0);
}

/* Once the buffers are large enough. */
TEST(a_steady_state_allocates_nothing)
{
    rng r = {7};
    mem_begin(UINT64_C(1) << 30);
    make(&r, 1200000, 20);
    for (int compression = PPROFDELTA_GZIP; compression <= PPROFDELTA_PLAIN; compression++) {
        pd_encoder e = {.compression = (pprofdelta_compression)compression};
        course c = {.len = 1200000, .source = 1, .seed = 9}; /* no writer: it would allocate */
        CHECK(run(&e, &c) == PPROFDELTA_OK);
        unsigned long before = allocations.calls;
        CHECK(run(&e, &c) == PPROFDELTA_OK);
        CHECK_MSG(allocations.calls == before, "compression %d", compression);
        pd_encoder_fini(&e, &mem);
    }
    CHECK(mem.used == 0);
}

/* Then buffers grow by little, and what is needed for input only is given back. */
TEST(tight_memory)
{
    rng r = {11};
    make(&r, LONGEST, 20);
    for (int compression = PPROFDELTA_GZIP; compression <= PPROFDELTA_PLAIN; compression++) {
        pd_encoder e = {.compression = (pprofdelta_compression)compression};
        course c = draw(&r, LONGEST);
        delta d = begin_delta(&c);
        mem_begin(UINT64_C(1) << 30);
        mem.is_tight = true;
        make_want(&e, &c);
        CHECK(encode(&e, &d) == PPROFDELTA_OK);
        CHECK(mem.used == d.writer.cap + e.out.cap);
        CHECK(write_out(&e) == PPROFDELTA_OK && is_as_wanted());
        end_delta(&d);
        pd_encoder_fini(&e, &mem);
        CHECK(mem.used == 0);
    }
}

/* The sink refuses its nth call; another sink gets all. */
TEST(a_sink_that_refuses_may_be_followed_by_another)
{
    rng r = {13};
    mem_begin(UINT64_C(1) << 30);
    for (int way = 0; way < 3; way++) {
        pd_encoder e = {.compression = (pprofdelta_compression)(way % 3)};
        course c = draw(&r, 500000);
        delta d = begin_delta(&c);
        make(&r, c.len, 20);
        make_want(&e, &c);
        CHECK(encode(&e, &d) == PPROFDELTA_OK);
        out.refuses = true;
        CHECK(write_out(&e) == PPROFDELTA_E_SINK && out.calls == 1);
        out.refuses = false;
        for (out.most = 1; write_out(&e) == PPROFDELTA_E_SINK && out.most < 20; out.most++)
            CHECK(out.calls == out.most + 1);
        CHECK(out.calls == out.most && is_as_wanted());
        out.most = 0;
        CHECK(write_out(&e) == PPROFDELTA_OK && is_as_wanted());
        pd_encoder_fini(&e, &mem);
        end_delta(&d);
    }
    CHECK(mem.used == 0);
}

TEST(the_encoded_bytes_in_one_piece)
{
    rng r = {15};
    mem_begin(UINT64_C(1) << 30);
    for (int way = 0; way < 6; way++) {
        pd_encoder e = {.compression = (pprofdelta_compression)(way % 3)};
        course c = draw(&r, way / 3 % 2 ? 900000 : 3000);
        delta d = begin_delta(&c);
        pd_bytes all = {0};
        make(&r, c.len, 20);
        make_want(&e, &c);
        CHECK(encode(&e, &d) == PPROFDELTA_OK);
        if (way % 7 == 0)
            CHECK(write_out(&e) == PPROFDELTA_OK && is_as_wanted());
        for (int twice = 0; twice < 2; twice++) {
            CHECK(pd_encoder_bytes(&e, &all, NULL) == PPROFDELTA_OK);
            CHECK(all.len == want_len && !memcmp(all.ptr, want, want_len));
        }
        CHECK(write_out(&e) == PPROFDELTA_OK && is_as_wanted());
        pd_encoder_fini(&e, &mem);
        end_delta(&d);
    }
    CHECK(mem.used == 0);
}

TEST(one_buffer_is_one_part)
{
    static const size_t lens[] = {0, 1, 100000, 700000, PD_ZSTD_SHORT, PD_ZSTD_SHORT + 1};
    rng r = {17};
    mem_begin(UINT64_C(1) << 30);
    for (size_t way = 0; way < 3 * sizeof lens / sizeof *lens; way++) {
        pd_encoder e = {.compression = (pprofdelta_compression)(way % 3)};
        pd_compressor small = {.compression = e.compression};
        pprofdelta_sink sink = {keep, &out};
        uint64_t written = 0;
        pd_bytes all = {in, lens[way / 3]};
        make(&r, all.len, 20);
        out.len = 0;
        CHECK(pd_encode(&e, &mem, all, &sink, &written, NULL) == PPROFDELTA_OK);
        CHECK(written == out.len && is_decoded(&e, all.len));
        memcpy(want, out.bytes, want_len = out.len);
        out.len = 0;
        CHECK(pd_compress(&small, &mem, all, &sink, &written, NULL) == PPROFDELTA_OK);
        CHECK(written == out.len && is_as_wanted());
        out.refuses = true;
        CHECK(pd_encode(&e, &mem, all, &sink, &written, NULL) ==
              (all.len || e.compression != PPROFDELTA_PLAIN ? PPROFDELTA_E_SINK : PPROFDELTA_OK));
        out.refuses = false;
        pd_encoder_fini(&e, &mem);
        pd_compressor_fini(&small, &mem);
    }
    CHECK(mem.used == 0);
}

/* Dropped at a stage, by a new begin or by itself, it serves the next delta. */
static void drop_at(pd_encoder *e, const course *c, size_t stage)
{
    delta d = begin_delta(c);
    pprofdelta_status status = pd_encoder_begin(e, &mem, c->source, NULL);
    for (size_t i = 0; !status && i < stage && d.at < c->early; i++)
        status = push_some(e, &d);
    if (!status && stage % 4 == 1)
        status = finish(e, &d);
    CHECK(status == PPROFDELTA_OK);
    if (stage % 4 == 2)
        pd_encoder_release(e, &mem);
    else if (stage % 4)
        pd_encoder_drop(e);
    CHECK(run(e, c) == PPROFDELTA_OK && is_as_wanted());
    pd_encoder_drop(e);
    end_delta(&d);
}

TEST(dropped_at_every_stage)
{
    rng r = {19};
    mem_begin(UINT64_C(1) << 30);
    for (int way = 0; way < 3; way++) {
        pd_encoder e = {.compression = (pprofdelta_compression)(way % 3), .level = 1};
        course c = {.len = 700000, .source = 1, .early = 600000, .step = 120000, .seed = 21};
        make(&r, c.len, 20);
        make_want(&e, &c);
        for (size_t stage = 0; stage < 8; stage++)
            drop_at(&e, &c, stage);
        pd_encoder_fini(&e, &mem);
    }
    CHECK(mem.used == 0);
}

TEST(failures_leave_nothing)
{
    rng r = {23};
    make(&r, 400000, 20);
    for (int way = 0; way < 3; way++) {
        size_t failures = 0;
        course c = {.len = 400000, .source = 1, .early = 200000, .step = 50000, .seed = 21};
        for (unsigned long nth = 1;; nth++) {
            pd_encoder e = {.compression = (pprofdelta_compression)(way % 3), .level = 1};
            mem_begin(UINT64_C(1) << 30);
            if (nth == 1)
                make_want(&e, &c);
            allocations.fail_at = nth;
            pprofdelta_status status = run(&e, &c);
            bool was_reached = allocations.calls >= nth;
            allocations.fail_at = 0;
            failures += status != PPROFDELTA_OK;
            CHECK(status == PPROFDELTA_E_MEMORY || (!status && is_as_wanted()));
            CHECK(run(&e, &c) == PPROFDELTA_OK && is_as_wanted());
            pd_encoder_fini(&e, &mem);
            CHECK(mem.used == 0);
            if (!was_reached)
                break;
        }
        CHECK(failures > 0 || way % 3 == PPROFDELTA_PLAIN);
    }
}

/* The same with a limit: what succeeds has the same bytes. */
TEST(limits)
{
    rng r = {25};
    make(&r, 700000, 20);
    for (int way = 0; way < 2; way++) {
        size_t failures = 0, in_a_row = 0;
        course c = {.len = 700000, .source = 1, .early = 300000, .step = 9000, .seed = 21};
        for (uint64_t limit = 0; in_a_row < 4; limit += 120000) {
            pd_encoder e = {.compression = (pprofdelta_compression)(way % 2), .level = 1};
            mem_begin(limit);
            if (limit == 0)
                make_want(&e, &c);
            pprofdelta_status status = run(&e, &c);
            CHECK(status == PPROFDELTA_E_LIMIT || (!status && is_as_wanted()));
            failures += status != PPROFDELTA_OK;
            in_a_row = status ? 0 : in_a_row + 1;
            CHECK(mem.peak <= limit);
            pd_encoder_fini(&e, &mem);
            CHECK(mem.used == 0);
        }
        CHECK(failures > 5);
    }
}

TEST_MAIN(CASE(every_length_gives_the_same_bytes), CASE(every_level_gives_the_same_bytes),
          CASE(a_steady_state_allocates_nothing), CASE(tight_memory),
          CASE(a_sink_that_refuses_may_be_followed_by_another),
          CASE(the_encoded_bytes_in_one_piece), CASE(one_buffer_is_one_part),
          CASE(dropped_at_every_stage), CASE(failures_leave_nothing), CASE(limits))
