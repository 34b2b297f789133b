/* Files that are read whole and a piece at a time: whatever the pieces, the same bytes come out, and
 * what is wrong is refused in the same words. */
#include "run.h"
#include "seeds.h"
#include "source_kit.h"

#include <zstd.h>

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

/* A frame without a checksum, so that damage may come out as other content. */
static buf draw_frame(arena *a, rng *r, buf content)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    buf out = {.arena = a, .cap = ZSTD_compressBound(content.len)};
    out.ptr = arena_alloc(a, out.cap);
    ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, 1 + (int)rng_below(r, 19));
    ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, rng_chance(r, 50));
    if (rng_chance(r, 50))
        ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, 10 + (int)rng_below(r, 8));
    out.len = ZSTD_compress2(c, out.ptr, out.cap, content.ptr, content.len);
    ZSTD_freeCCtx(c);
    return out;
}

/* libzstd's decoders accept different damaged frames. What the library makes of one depends neither on
 * the way nor on what was read before. */
TEST(damaged_zstd_frames_do_not_depend_on_the_way)
{
    enum { MUTANTS = 100 };
    seed_range range = slow_seeds(12);
    unsigned changed = 0, refused = 0;
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        rng r = {seed};
        arena a = {0};
        pd_mem mem;
        pd_mem_init(&mem, NULL, PLENTY);
        pd_source whole = {0}, streamed = {0};
        buf content = draw_content(&a, &r, 1 + rng_below(&r, rng_chance(&r, 10) ? 60000 : 5000));
        buf file = draw_frame(&a, &r, content);
        for (int i = 0; i < MUTANTS && content.len / PD_INFLATE_RATIO < file.len; i++) {
            arena each = {0};
            buf mutant = {.ptr = arena_alloc(&each, file.len), .len = file.len};
            memcpy(mutant.ptr, file.ptr, file.len);
            for (size_t times = 1 + rng_below(&r, 3); times; times--)
                mutant.ptr[4 + rng_below(&r, file.len - 4)] ^= (uint8_t)(1 << rng_below(&r, 8));
            both b = read_both(&whole, &streamed, &mem, mutant, &r, &each);
            bool is_limit = b.streamed == PPROFDELTA_E_LIMIT;
            CHECK_MSG(is_limit || b.whole == b.streamed, "seed %" PRIu64 ": \"%s\", \"%s\"", seed,
                      b.whole ? b.whole_err.text : "", b.streamed ? b.err.text : "");
            CHECK_MSG(b.whole || is_limit || has_equal_bytes(&b), "seed %" PRIu64, seed);
            refused += b.whole != PPROFDELTA_OK;
            changed += !b.whole && (b.bytes.len != content.len ||
                                    memcmp(b.bytes.ptr, content.ptr, content.len) != 0);
            arena_free(&each);
        }
        pd_source_end(&whole);
        pd_source_end(&streamed);
        CHECK(mem.used == 0);
        arena_free(&a);
    }
    CHECK_MSG(changed > 100 && refused > 100, "%u and %u", changed, refused);
}

/* ---------------------------------------------------------------------------------------------
 * Limits
 * ------------------------------------------------------------------------------------------ */

TEST(what_the_limit_cannot_hold_is_refused)
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
        REQUIRE(!pd_source_open(&s, &mem, (pd_bytes){files[i].ptr, files[i].len}, PIECE, &err));
        CHECK(pd_source_reach(&s, LEN / 4, LEN / 8, &out, &err) == PPROFDELTA_OK);
        CHECK(out.len >= LEN / 8 && memcmp(out.ptr, content.ptr + LEN / 4, out.len) == 0);
        CHECK(pd_source_reach(&s, LEN / 4, LEN / 2, &out, &err) == PPROFDELTA_E_LIMIT);
        CHECK(mem.peak <= LIMIT);
        pd_source_end(&s);
        CHECK(mem.used == 0);
    }
    arena_free(&a);
}

TEST(what_inflates_without_end_is_refused)
{
    enum { LEN = 16 << 20 };
    arena a = {0};
    buf zeros = {.arena = &a, .ptr = arena_alloc(&a, LEN), .len = LEN};
    const buf files[] = {pack_gzip(&a, zeros, 1), pack_gzip(&a, zeros, 3), pack_zstd(&a, zeros, 1)};
    for (size_t i = 0; i < 3; i++) {
        pd_mem mem;
        pd_mem_init(&mem, NULL, 1 << 20);
        pd_source s = {0};
        pprofdelta_error err;
        REQUIRE(!pd_source_open(&s, &mem, (pd_bytes){files[i].ptr, files[i].len}, 1000, &err));
        pprofdelta_status status = pd_source_finish(&s, &err);
        CHECK_MSG(status == PPROFDELTA_E_LIMIT, "file %zu: status %d", i, status);
        CHECK(strstr(err.text, "max_memory") != NULL && strcmp(err.stage, "inflate") == 0);
        CHECK(pd_source_len(&s) < (uint64_t)files[i].len * PD_INFLATE_RATIO + (300 << 10));
        pd_source_end(&s);
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
