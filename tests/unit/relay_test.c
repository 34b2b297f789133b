/* A delta that is compressed while it is written: whoever helps and whenever, it is one gzip member
 * of what went in, and always the same bytes. */
#include "codec/relay.h"

#include "codec/cut.h"
#include "member_kit.h"

#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

static pd_mem mem;

static void mem_begin(uint64_t limit)
{
    pd_mem_init(&mem, NULL, limit);
}

static void *help(void *cookie)
{
    pd_relay_help(cookie);
    return NULL;
}

/* How the writer goes about it. */
typedef struct course {
    size_t len;     /* of `in` */
    size_t of;      /* what it is told that this comes of */
    size_t early;   /* bytes of it that may be given before the end */
    int helpers;    /* threads, from the beginning */
    bool is_slow;   /* they have time between the parts */
    bool is_warmed; /* they are ready before */
    bool gathers;
    bool has_deflater;
} course;

static pprofdelta_status give_early(pd_relay *r, const course *c, size_t *at)
{
    pd_buffer part = {0};
    pprofdelta_status status = PPROFDELTA_OK;
    while (!status && r->part_len <= c->early - *at) {
        size_t len = r->part_len + *at % 101 * *at % 100; /* a little more, as samples make it */
        len = len < c->early - *at ? len : c->early - *at;
        len = len < part.len ? part.len : len;
        status = pd_buffer_room(&mem, &part, len - part.len, NULL);
        if (!status) {
            CHECK(!part.len || !memcmp(part.ptr, in + *at, part.len));
            memcpy(part.ptr, in + *at, part.len = len);
            status = pd_relay_give(r, &part, r->part_len, NULL);
            *at += r->part_len;
        }
        if (c->is_slow)
            usleep(300);
    }
    pd_buffer_release(&mem, &part);
    return status;
}

static pprofdelta_status write_all(pd_relay *r, const course *c)
{
    size_t at = 0;
    uint64_t written = 0;
    pprofdelta_sink sink = {keep, &out};
    pd_bytes all;
    pprofdelta_status status = give_early(r, c, &at);
    pd_bytes rest = {in + at, c->len - at};
    if (!status && c->gathers)
        status = pd_relay_gather(r, rest, &all, NULL);
    if (!status && c->gathers)
        CHECK(all.len == c->len && !memcmp(all.ptr, in, c->len));
    if (!status)
        status = pd_relay_close(r, rest, NULL);
    if (!status)
        status = pd_relay_finish(r, &sink, &written, NULL);
    CHECK(status || written == out.len);
    return status;
}

static pprofdelta_status run(pd_deflater *d, const course *c)
{
    enum { MOST = 2 };
    pthread_t threads[MOST];
    pd_relay r = {0};
    out.len = 0;
    pprofdelta_status status = pd_relay_begin(&r, d, &mem, NULL);
    if (status)
        return status;
    pd_relay_measure(&r, c->of);
    r.gathers = c->gathers;
    r.has_deflater = c->has_deflater;
    if (c->is_warmed)
        pd_relay_warm(&r);
    for (int i = 0; i < c->helpers; i++)
        if (pthread_create(&threads[i], NULL, help, &r))
            abort();
    status = write_all(&r, c);
    if (status)
        pd_relay_stop(&r);
    for (int i = 0; i < c->helpers; i++)
        pthread_join(threads[i], NULL);
    pd_relay_end(&r);
    pd_relay_end(&r);
    return status;
}

static course draw(rng *r, size_t len, size_t of)
{
    course c = {.len = len, .of = of, .early = rng_below(r, len + 1)};
    c.helpers = (int)rng_below(r, 3);
    c.is_slow = rng_chance(r, 30);
    c.is_warmed = rng_chance(r, 50);
    c.gathers = rng_chance(r, 30);
    c.has_deflater = rng_chance(r, 60);
    return c;
}

TEST(one_member_of_what_went_in)
{
    rng r = {3};
    mem_begin(UINT64_C(1) << 30);
    for (int level = 0; level <= 9; level++) {
        pd_deflater d = {.compression = PPROFDELTA_GZIP, .level = level};
        for (int i = 0; i < 12; i++) {
            size_t len = rng_below(&r, i % 3 ? 1 << 18 : 1 << 20);
            course c = draw(&r, len, rng_below(&r, 1 << 22));
            make(&r, len, (unsigned)(i * 9));
            CHECK(run(&d, &c) == PPROFDELTA_OK);
            CHECK_MSG(is_member_of(len), "level %d, %zu bytes", level, len);
        }
        pd_deflater_fini(&d, &mem);
    }
    CHECK(mem.used == 0);
}

TEST(whoever_helps_it_is_the_same_bytes)
{
    rng r = {5};
    size_t len = 700000, first_len = 0;
    mem_begin(UINT64_C(1) << 30);
    make(&r, len, 20);
    for (int i = 0; i < 12; i++) {
        pd_deflater d = {.compression = PPROFDELTA_GZIP};
        course c = draw(&r, len, 2 * len);
        c.early = 500000;
        CHECK(run(&d, &c) == PPROFDELTA_OK);
        if (i == 0)
            memcpy(back, out.bytes, first_len = out.len);
        CHECK(out.len == first_len && !memcmp(back, out.bytes, first_len));
        pd_deflater_fini(&d, &mem);
    }
    CHECK(mem.used == 0);
}

TEST(other_compressions_and_small_ones_are_as_ever)
{
    rng r = {7};
    size_t len = 500000;
    mem_begin(UINT64_C(1) << 30);
    make(&r, len, 30);
    for (int c = PPROFDELTA_GZIP; c <= PPROFDELTA_PLAIN; c++)
        for (int helpers = 0; helpers < 2; helpers++) {
            pd_deflater d = {.compression = (pprofdelta_compression)c};
            size_t some = c == PPROFDELTA_GZIP ? 20000 : len;
            course way = {.len = some, .of = len, .early = some, .helpers = helpers};
            CHECK(run(&d, &way) == PPROFDELTA_OK);
            size_t first_len = out.len;
            memcpy(back, out.bytes, first_len);
            uint64_t written;
            pprofdelta_sink sink = {keep, &out};
            out.len = 0;
            CHECK(pd_deflate(&d, &mem, in, some, &sink, &written, NULL) == PPROFDELTA_OK);
            CHECK(out.len == first_len && !memcmp(back, out.bytes, first_len));
            pd_deflater_fini(&d, &mem);
        }
    CHECK(mem.used == 0);
}

/* As pd_deflate_part makes it of what is written bit by bit. */
static void write_inline(pd_deflater *d, const course *c, size_t part)
{
    size_t at = 0;
    uint64_t written;
    pprofdelta_sink sink = {keep, &out};
    out.len = 0;
    CHECK(pd_deflate_begin(d, &mem, NULL) == PPROFDELTA_OK);
    for (; c->early - at >= part; at += part)
        CHECK(pd_deflate_part(d, &mem, in + at, part, false, NULL) == PPROFDELTA_OK);
    for (size_t parts = pd_cut_rest(part, c->len - at), len; parts; parts--, at += len) {
        len = (c->len - at) / parts;
        CHECK(pd_deflate_part(d, &mem, in + at, len, parts == 1, NULL) == PPROFDELTA_OK);
    }
    CHECK(pd_deflate_write(d, &sink, &written, NULL) == PPROFDELTA_OK && written == out.len);
}

/* By a relay, inline or whole, at every level of every compression. */
TEST(every_way_makes_the_same_bytes)
{
    static const size_t lens[] = {0, 5000, 70000, 700000, 1048576, 1048577};
    enum { LENS = sizeof lens / sizeof *lens };
    rng r = {19};
    mem_begin(UINT64_C(1) << 30);
    for (unsigned way = 0; way < 3 * 10 * LENS; way++) {
        pd_deflater d = {.compression = (pprofdelta_compression)(way % 3),
                         .level = (int)(way / 3 % 10)};
        course c = draw(&r, lens[way / 30], 2000000);
        size_t part = pd_cut_part(c.of);
        make(&r, c.len, 30);
        write_inline(&d, &c, part);
        size_t first_len = out.len;
        memcpy(back, out.bytes, first_len);
        CHECK(run(&d, &c) == PPROFDELTA_OK);
        CHECK_MSG(out.len == first_len && !memcmp(back, out.bytes, first_len), "relay, %u", way);
        pd_bytes whole;
        CHECK(pd_deflate_cut(&d, &mem, (pd_bytes){in, c.len}, c.early, part, &whole, NULL) ==
              PPROFDELTA_OK);
        CHECK_MSG(whole.len == first_len && !memcmp(back, whole.ptr, first_len), "whole, %u", way);
        pd_deflater_fini(&d, &mem);
    }
    CHECK(mem.used == 0);
}

/* A zstd frame of any length says how long its content is, and is the same however it came. */
TEST(a_long_zstd_frame_does_not_depend_on_its_pieces)
{
    rng r = {21};
    size_t len = 1500000;
    mem_begin(UINT64_C(1) << 30);
    make(&r, len, 30);
    for (int i = 0; i < 20; i++) {
        pd_deflater d = {.compression = PPROFDELTA_ZSTD, .level = i % 10};
        pd_bytes whole;
        CHECK(pd_deflate_begin(&d, &mem, NULL) == PPROFDELTA_OK);
        for (size_t at = 0, some; at < len; at += some) {
            some = 1 + rng_below(&r, rng_chance(&r, 30) ? 300000 : 5000);
            some = some < len - at ? some : len - at;
            CHECK(pd_deflate_part(&d, &mem, in + at, some, at + some == len, NULL) ==
                  PPROFDELTA_OK);
        }
        size_t first_len = d.out.len;
        memcpy(back, d.out.ptr, first_len);
        CHECK(ZSTD_getFrameContentSize(back, first_len) == len);
        CHECK(pd_deflate_prepare(&d, &mem, len, NULL) == PPROFDELTA_OK);
        CHECK(pd_deflate_whole(&d, in, len, &whole, NULL) == PPROFDELTA_OK);
        CHECK_MSG(whole.len == first_len && !memcmp(whole.ptr, back, first_len), "round %d", i);
        CHECK(ZSTD_decompress(back, len, whole.ptr, whole.len) == len && !memcmp(back, in, len));
        pd_deflater_fini(&d, &mem);
    }
    CHECK(mem.used == 0);
}

/* Parts that nobody wants any more, and a helper who waits for more. */
TEST(stopped_and_dropped)
{
    rng r = {9};
    size_t len = 300000;
    mem_begin(UINT64_C(1) << 30);
    make(&r, len, 30);
    for (int way = 0; way < 3; way++) {
        pd_deflater d = {.compression = PPROFDELTA_GZIP};
        course c = {.len = len, .of = len, .early = len};
        pthread_t thread;
        pd_relay relay = {0};
        size_t at = 0;
        CHECK(pd_relay_begin(&relay, &d, &mem, NULL) == PPROFDELTA_OK);
        pd_relay_measure(&relay, c.of);
        REQUIRE(pthread_create(&thread, NULL, help, &relay) == 0);
        if (way)
            CHECK(give_early(&relay, &c, &at) == PPROFDELTA_OK && at > len / 2);
        if (way == 2)
            pd_relay_drop(&relay);
        else
            pd_relay_stop(&relay);
        pthread_join(thread, NULL);
        pd_relay_end(&relay);
        pd_deflater_fini(&d, &mem);
        CHECK(mem.used == 0);
    }
}

TEST(a_sink_that_refuses_may_be_followed_by_another)
{
    rng r = {11};
    size_t lens[] = {5000, 400000};
    mem_begin(UINT64_C(1) << 30);
    for (size_t i = 0; i < 2; i++) {
        pd_deflater d = {.compression = PPROFDELTA_GZIP};
        pd_relay relay = {0};
        pprofdelta_sink sink = {keep, &out};
        uint64_t written = 0;
        make(&r, lens[i], 30);
        CHECK(pd_relay_begin(&relay, &d, &mem, NULL) == PPROFDELTA_OK);
        pd_relay_measure(&relay, lens[i]);
        CHECK(pd_relay_close(&relay, (pd_bytes){in, lens[i]}, NULL) == PPROFDELTA_OK);
        out.len = 0;
        out.refuses = true;
        CHECK(pd_relay_finish(&relay, &sink, &written, NULL) == PPROFDELTA_E_SINK && !written);
        out.refuses = false;
        out.calls = out.len = 0;
        out.most = i; /* of several parts it takes the first */
        CHECK(pd_relay_finish(&relay, &sink, &written, NULL) == (i ? PPROFDELTA_E_SINK : 0));
        out.calls = out.len = out.most = 0;
        CHECK(pd_relay_finish(&relay, &sink, &written, NULL) == PPROFDELTA_OK);
        CHECK(i == 0 || out.calls > 1);
        CHECK(written == out.len && is_member_of(lens[i]));
        pd_relay_end(&relay);
        pd_deflater_fini(&d, &mem);
    }
    CHECK(mem.used == 0);
}

TEST(failures_leave_nothing)
{
    rng r = {13};
    size_t len = 300000, failures = 0;
    make(&r, len, 30);
    for (uint64_t limit = 0;; limit += 20000) {
        pd_deflater d = {.compression = PPROFDELTA_GZIP};
        course c = {.len = len, .of = len, .early = len / 2, .helpers = limit % 40000 != 0};
        mem_begin(limit);
        pprofdelta_status status = run(&d, &c);
        pd_deflater_fini(&d, &mem);
        CHECK(mem.used == 0);
        if (!status)
            break;
        failures++;
        CHECK(status == PPROFDELTA_E_LIMIT && !out.len);
    }
    CHECK(failures > 10 && is_member_of(len));
}

/* Gives so many parts, all alike, and tells how many buffers it got for them, and how many parts
 * were compressed on the way. */
static size_t give_parts(pd_relay *r, size_t parts, size_t *made)
{
    const void *buffers[100];
    size_t len = 0;
    pd_buffer part = {0};
    for (size_t i = 0; i < parts; i++) {
        CHECK(pd_buffer_room(&mem, &part, r->part_len, NULL) == PPROFDELTA_OK);
        memcpy(part.ptr, in, part.len = r->part_len);
        size_t known = 0;
        while (known < len && buffers[known] != part.ptr)
            known++;
        if (known == len)
            buffers[len++] = part.ptr;
        CHECK(pd_relay_give(r, &part, part.len, NULL) == PPROFDELTA_OK && !part.len);
    }
    *made = r->taken;
    pd_buffer_release(&mem, &part);
    return len;
}

/* A writer that nobody helps compresses in between, and does with few buffers, unless all is wanted
 * again. */
TEST(alone_it_needs_little_room)
{
    enum { PARTS = 30, FEW = 5 };
    rng r = {15};
    make(&r, 400000, 30);
    for (int way = 0; way < 4; way++) {
        mem_begin(UINT64_C(1) << 30);
        pd_deflater d = {.compression = PPROFDELTA_GZIP};
        pd_relay relay = {0};
        size_t made;
        pd_bytes all, rest = {in, 1000};
        CHECK(pd_relay_begin(&relay, &d, &mem, NULL) == PPROFDELTA_OK);
        pd_relay_measure(&relay, 1);
        relay.gathers = way & 1;
        relay.has_deflater = way & 2;
        size_t buffers = give_parts(&relay, PARTS, &made);
        CHECK_MSG(buffers == PARTS ? way != 2 : buffers <= FEW && way == 2, "way %d, %zu", way,
                  buffers);
        CHECK_MSG(relay.has_deflater ? made + FEW > PARTS && made < PARTS : !made, "%zu", made);
        if (relay.gathers) {
            CHECK(pd_relay_gather(&relay, rest, &all, NULL) == PPROFDELTA_OK);
            CHECK(all.len == PARTS * relay.part_len + rest.len);
            for (size_t i = 0; i < PARTS; i++)
                CHECK(!memcmp(all.ptr + i * relay.part_len, in, relay.part_len));
        }
        pprofdelta_sink sink = {keep, &out};
        uint64_t written;
        out.len = 0;
        CHECK(pd_relay_close(&relay, rest, NULL) == PPROFDELTA_OK);
        CHECK(pd_relay_finish(&relay, &sink, &written, NULL) == PPROFDELTA_OK && out.len > 1000);
        if (way == 0)
            memcpy(back, out.bytes, out.len);
        CHECK(!memcmp(back, out.bytes, out.len));
        pd_relay_end(&relay);
        pd_deflater_fini(&d, &mem);
        CHECK(mem.used == 0);
    }
}

static void *warm(void *deflater)
{
    usleep(20000);
    pd_deflate_warm(deflater);
    return NULL;
}

/* Somebody gets the deflater ready while parts are given: it is not the writer's yet. */
TEST(the_deflater_is_left_to_who_has_it)
{
    rng r = {17};
    pthread_t thread;
    make(&r, 400000, 30);
    mem_begin(UINT64_C(1) << 30);
    pd_deflater d = {.compression = PPROFDELTA_GZIP};
    pd_relay relay = {0};
    size_t made;
    CHECK(pd_relay_begin(&relay, &d, &mem, NULL) == PPROFDELTA_OK);
    pd_relay_measure(&relay, 1);
    REQUIRE(pthread_create(&thread, NULL, warm, &d) == 0);
    give_parts(&relay, 8, &made);
    CHECK(made == 0 && !relay.own.gzip);
    pthread_join(thread, NULL);
    pprofdelta_sink sink = {keep, &out};
    uint64_t written;
    CHECK(pd_relay_close(&relay, (pd_bytes){in, 1000}, NULL) == PPROFDELTA_OK);
    CHECK(pd_relay_finish(&relay, &sink, &written, NULL) == PPROFDELTA_OK);
    pd_relay_end(&relay);
    pd_deflater_fini(&d, &mem);
    CHECK(mem.used == 0);
}

TEST_MAIN(CASE(one_member_of_what_went_in), CASE(whoever_helps_it_is_the_same_bytes),
          CASE(other_compressions_and_small_ones_are_as_ever), CASE(every_way_makes_the_same_bytes),
          CASE(a_long_zstd_frame_does_not_depend_on_its_pieces), CASE(stopped_and_dropped),
          CASE(a_sink_that_refuses_may_be_followed_by_another), CASE(failures_leave_nothing),
          CASE(alone_it_needs_little_room), CASE(the_deflater_is_left_to_who_has_it))
