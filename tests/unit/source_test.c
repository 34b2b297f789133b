/* Files that are read whole and a piece at a time: whatever the pieces, the same bytes come out, and
 * what is wrong is refused in the same words. */
#include "fuzz/fuzz.h"

#include "pack.h"
#include "run.h"
#include "seeds.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define PLENTY (UINT64_C(1) << 30)

/* Noise, one byte, few letters, near copies, far copies: deflate data of every kind. */
static buf draw_content(arena *a, rng *r, size_t len)
{
    buf b = {.arena = a, .ptr = arena_alloc(a, len + 1), .len = len};
    size_t kind = rng_below(r, 5), period = 1 + rng_below(r, kind == 3 ? 30 : 40000);
    for (size_t i = 0; i < len; i++) {
        uint8_t byte = (uint8_t)(rng_next(r) >> 56);
        b.ptr[i] = kind == 0                ? byte
                   : kind == 1              ? 'x'
                   : kind == 2              ? (uint8_t)(byte % 9 * (byte % 5))
                   : i < period || byte < 3 ? byte
                                            : b.ptr[i - period];
    }
    return b;
}

static buf gzip_by_libdeflate(arena *a, buf in, int level)
{
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(level);
    buf out = {.arena = a, .cap = libdeflate_gzip_compress_bound(c, in.len)};
    out.ptr = arena_alloc(a, out.cap);
    out.len = libdeflate_gzip_compress(c, in.ptr, in.len, out.ptr, out.cap);
    libdeflate_free_compressor(c);
    return out;
}

static buf draw_file(arena *a, rng *r, buf content)
{
    static const int strategies[] = {Z_DEFAULT_STRATEGY, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED};
    switch (rng_below(r, 6)) {
    case 0:
        return gzip_by_libdeflate(a, content, (int)rng_below(r, 13));
    case 1:
        return pack_gzip(a, content, 1 + (unsigned)rng_below(r, 4));
    case 2:
        return pack_zstd(a, content, 1 + (unsigned)rng_below(r, 4));
    case 3:
        return content.len && pd_format_of(content.ptr, content.len) == PD_FORMAT_PLAIN
                   ? content
                   : pack_zstd(a, content, 1);
    default:
        return pack_gzip_as(a, content, (int)rng_below(r, 10), strategies[rng_below(r, 4)]);
    }
}

/* Reads a file to its end by steps of any length, and appends what it got to *got. */
static pprofdelta_status read_streamed(pd_source *s, pd_mem *mem, size_t piece, buf file, rng *r,
                                       buf *got, pprofdelta_error *err)
{
    pprofdelta_status status = pd_source_open(s, mem, (pd_bytes){file.ptr, file.len}, piece, err);
    for (uint64_t from = 0; !status;) {
        pd_bytes out;
        size_t need = 1 + rng_below(r, rng_chance(r, 80) ? piece : piece * 5);
        status = pd_source_reach(s, from, need, &out, err);
        if (status)
            break;
        size_t take = out.len < need ? out.len : need + rng_below(r, out.len - need + 1);
        CHECK(s->is_done || out.len >= need);
        buf_add(got, out.ptr, take);
        from += take;
        if (s->is_done && take == out.len) {
            CHECK(pd_source_len(s) == from);
            return pd_source_finish(s, err);
        }
    }
    return status;
}

/* ---- Reading, both ways ---------------------------------------------------------------------- */

TEST(any_pieces_are_the_whole)
{
    seed_range range = slow_seeds(20);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        rng r = {seed};
        ENDS(arena_free) arena a = {0};
        pd_mem mem;
        pd_mem_init(&mem, NULL, PLENTY);
        pd_source s = {0};
        for (int again = 0; again < 4; again++) {
            buf content = draw_content(&a, &r, rng_below(&r, rng_chance(&r, 20) ? 300000 : 3000));
            buf file = draw_file(&a, &r, content), got = buf_begin(&a);
            size_t piece = 1 + rng_below(&r, rng_chance(&r, 50) ? 100 : 70000);
            pprofdelta_error err;
            pprofdelta_status status = read_streamed(&s, &mem, piece, file, &r, &got, &err);
            if (status == PPROFDELTA_E_LIMIT && content.len / PD_INFLATE_RATIO > file.len)
                continue;
            CHECK_MSG(status == PPROFDELTA_OK, "seed %" PRIu64 ": %s", seed, err.text);
            CHECK_MSG(buf_equal(got, content), "seed %" PRIu64 ": %zu of %zu bytes", seed, got.len,
                      content.len);
        }
        pd_source_end(&s);
        CHECK(mem.used == 0);
    }
}

/* fuzz_inflate.c holds what is said of a file whole against what is said of it in pieces. */
TEST(what_is_wrong_is_told_the_same_in_every_way)
{
    seed_range range = seeds(1);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        rng r = {seed};
        ENDS(arena_free) arena a = {0};
        buf content = draw_content(&a, &r, rng_below(&r, 300));
        buf file = draw_file(&a, &r, content);
        for (size_t len = 0; len < file.len; len++)
            CHECK(!LLVMFuzzerTestOneInput(file.ptr, len));
        for (size_t i = 0; i < file.len; i++) { /* a bit of each byte */
            uint8_t bit = (uint8_t)(1 << (i + seed) % 8);
            file.ptr[i] ^= bit;
            CHECK(!LLVMFuzzerTestOneInput(file.ptr, file.len));
            file.ptr[i] ^= bit;
        }
        buf more = buf_begin(&a);
        buf_add(&more, file.ptr, file.len);
        buf_text(&more, "more");
        CHECK(!LLVMFuzzerTestOneInput(more.ptr, more.len));
    }
}

/* ---- Limits ---------------------------------------------------------------------------------- */

TEST(what_the_limit_cannot_hold_is_refused)
{
    enum { LEN = 4 << 20, LIMIT = 1 << 20, PIECE = 1000 };
    ENDS(arena_free) arena a = {0};
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
}

TEST(a_failed_allocation_is_told)
{
    ENDS(arena_free) arena a = {0};
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
            pprofdelta_status status = read_streamed(&s, &mem, 1000, files[i], &r, &got, NULL);
            refused = memory.refused > 0;
            CHECK_MSG(status == (refused ? PPROFDELTA_E_MEMORY : PPROFDELTA_OK),
                      "file %zu, allocation %zu", i, nth);
            pd_source_end(&s);
            CHECK(memory.live == 0);
        }
    }
}

TEST_MAIN()
