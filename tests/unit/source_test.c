/* Files that are read whole and a piece at a time: whatever the pieces, the same bytes come out, and
 * what is wrong is refused in the same words. */
#include "run.h"
#include "seeds.h"
#include "source_kit.h"

/* ---------------------------------------------------------------------------------------------
 * Reading, both ways
 * ------------------------------------------------------------------------------------------ */

TEST(any_pieces_are_the_whole)
{
    seed_range range = slow_seeds(20);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        rng r = {seed};
        arena a = {0};
        pd_mem mem;
        pd_mem_init(&mem, NULL, PLENTY);
        pd_source s = {0};
        for (int again = 0; again < 4; again++) {
            buf content = draw_content(&a, &r, rng_below(&r, rng_chance(&r, 20) ? 300000 : 3000));
            buf file = draw_file(&a, &r, content), got = buf_begin(&a);
            size_t piece = 1 + rng_below(&r, rng_chance(&r, 50) ? 100 : 70000);
            pprofdelta_error err;
            source_way how = {.mem = &mem, .piece = piece};
            pprofdelta_status status = read_streamed(&s, &how, file, &r, &got, &err);
            if (status == PPROFDELTA_E_LIMIT && content.len / PD_INFLATE_RATIO > file.len)
                continue;
            CHECK_MSG(status == PPROFDELTA_OK, "seed %" PRIu64 ": %s", seed, err.text);
            CHECK_MSG(got.len == content.len && memcmp(got.ptr, content.ptr, got.len) == 0,
                      "seed %" PRIu64 ": %zu of %zu bytes", seed, got.len, content.len);
        }
        pd_source_end(&s);
        CHECK(mem.used == 0);
        arena_free(&a);
    }
}

/* A file read whole and streamed, from sources that may have read others before. */
typedef struct both {
    pprofdelta_status whole, streamed;
    pprofdelta_error whole_err, err;
    pd_bytes bytes; /* of the whole one */
    buf got;        /* of the streamed one */
} both;

static both read_both(pd_source *whole, pd_source *streamed, pd_mem *mem, buf file, rng *r,
                      arena *a)
{
    both b = {.got = buf_begin(a)};
    source_way how = {.mem = mem, .piece = 1 + rng_below(r, rng_chance(r, 50) ? 500 : 50000)};
    b.whole = pd_source_open(whole, mem, (pd_bytes){file.ptr, file.len}, 0, &b.whole_err);
    b.bytes = b.whole ? (pd_bytes){0} : whole->whole;
    b.streamed = read_streamed(streamed, &how, file, r, &b.got, &b.err);
    return b;
}

static bool has_equal_bytes(const both *b)
{
    return b->got.len == b->bytes.len &&
           (!b->got.len || memcmp(b->got.ptr, b->bytes.ptr, b->got.len) == 0);
}

/* libdeflate accepts a code that no symbol has: see source.h. */
static bool is_unused_code(const both *b)
{
    return !b->whole && b->streamed == PPROFDELTA_E_INFLATE &&
           strstr(b->err.text, "the deflate data is damaged: invalid ");
}

/* Both accept a file, or both refuse it in the same words. */
static void compare(buf file, rng *r, arena *a, const char *what, uint64_t seed)
{
    pd_mem mem;
    pd_mem_init(&mem, NULL, PLENTY);
    pd_source whole = {0}, streamed = {0};
    both b = read_both(&whole, &streamed, &mem, file, r, a);
    bool is_equal =
        b.whole == b.streamed &&
        (b.whole ? b.err.offset == b.whole_err.offset && strcmp(b.err.text, b.whole_err.text) == 0
                 : has_equal_bytes(&b));
    CHECK_MSG(is_equal || is_unused_code(&b),
              "seed %" PRIu64 ", %s: \"%s\" at %" PRIu64 ", not \"%s\" at %" PRIu64, seed, what,
              b.err.text, b.err.offset, b.whole_err.text, b.whole_err.offset);
    pd_source_end(&whole);
    pd_source_end(&streamed);
    CHECK(mem.used == 0);
}

TEST(what_is_wrong_is_told_as_by_the_whole_way)
{
    seed_range range = seeds(1);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        rng r = {seed};
        arena a = {0};
        buf content = draw_content(&a, &r, rng_below(&r, 300));
        buf file = draw_file(&a, &r, content);
        for (size_t len = 0; len < file.len; len++)
            compare((buf){.ptr = file.ptr, .len = len}, &r, &a, "cut off", seed);
        for (size_t bit = 0; bit < file.len * 8; bit++) {
            file.ptr[bit / 8] ^= (uint8_t)(1 << bit % 8);
            compare(file, &r, &a, "a bit flipped", seed);
            file.ptr[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        buf more = buf_begin(&a);
        buf_add(&more, file.ptr, file.len);
        buf_text(&more, "more");
        compare(more, &r, &a, "more behind it", seed);
        arena_free(&a);
    }
}

/* ---------------------------------------------------------------------------------------------
 * Limits
 * ------------------------------------------------------------------------------------------ */

TEST(what_the_limit_cannot_hold_is_refused_only_if_it_is_there)
{
    enum { LEN = 4 << 20, LIMIT = 1 << 20, PIECE = 1000 };
    arena a = {0};
    rng r = {1};
    buf content = {.arena = &a, .ptr = arena_alloc(&a, LEN), .len = LEN};
    for (size_t i = 0; i < LEN; i++)
        content.ptr[i] = (uint8_t)(rng_next(&r) >> 60);
    const buf files[] = {content, pack_gzip(&a, content, 1), pack_zstd(&a, content, 20)};
    for (size_t i = 0; i < 3; i++) {
        pd_mem mem;
        pd_mem_init(&mem, NULL, LIMIT);
        pd_source s = {0};
        pd_bytes out;
        pprofdelta_error err;
        for (int there = 0; there < 2; there++) {
            uint64_t from = LEN / 4, need = there ? LEN / 2 : LEN;
            REQUIRE(!pd_source_open(&s, &mem, (pd_bytes){files[i].ptr, files[i].len}, PIECE, &err));
            pprofdelta_status status = pd_source_reach(&s, from, need, &out, &err);
            CHECK_MSG(status == (there ? PPROFDELTA_E_LIMIT : PPROFDELTA_OK), "file %zu", i);
            CHECK(there || (s.is_done && out.len && out.len < need &&
                            memcmp(out.ptr, content.ptr + from, out.len) == 0));
        }
        CHECK(mem.peak <= LIMIT);
        pd_source_end(&s);
        CHECK(mem.used == 0);
    }
    arena_free(&a);
}

TEST(a_failed_allocation_is_told)
{
    arena a = {0};
    rng r = {7};
    buf content = draw_content(&a, &r, 100000);
    const buf files[] = {content, pack_gzip(&a, content, 2), pack_zstd(&a, content, 2)};
    for (size_t i = 0; i < 3; i++) {
        bool refused = true;
        for (size_t nth = 1; refused; nth++) {
            tracker memory = {.fail_at = nth};
            pprofdelta_allocator allocator = tracker_allocator(&memory);
            pd_mem mem;
            pd_mem_init(&mem, &allocator, PLENTY);
            pd_source s = {0};
            buf got = buf_begin(&a);
            source_way how = {.mem = &mem, .piece = 1000};
            pprofdelta_status status = read_streamed(&s, &how, files[i], &r, &got, NULL);
            refused = memory.refused > 0;
            CHECK_MSG(status == (refused ? PPROFDELTA_E_MEMORY : PPROFDELTA_OK),
                      "file %zu, allocation %zu", i, nth);
            pd_source_end(&s);
            CHECK(memory.live == 0);
        }
    }
    arena_free(&a);
}

TEST_MAIN()
