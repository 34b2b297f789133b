/* The containers a piece at a time, in and out: whatever the pieces, what comes out is what the
 * whole way gives, and what is wrong is refused in the same words. */
#include "run.h"
#include "seeds.h"
#include "stream_kit.h"

/* ---------------------------------------------------------------------------------------------
 * Reading, both ways
 * ------------------------------------------------------------------------------------------ */

static pprofdelta_status read_whole(const pd_inflate_backend *backend, pd_mem *mem, buf file,
                                    arena *a, buf *got, pprofdelta_error *err)
{
    pd_inflater inflater = {.backend = backend};
    pd_buffer into = {0};
    pd_bytes out;
    pprofdelta_status status = pd_inflate(&inflater, mem, file.ptr, file.len, &into, &out, err);
    *got = buf_begin(a);
    if (!status)
        buf_add(got, out.ptr, out.len);
    pd_buffer_release(mem, &into);
    pd_inflater_fini(&inflater);
    return status;
}

TEST(any_pieces_are_the_whole)
{
    seed_range range = seeds(10);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        rng r = {seed};
        arena a = {0};
        pd_mem mem;
        pd_mem_init(&mem, NULL, PLENTY);
        pd_stream s = {0};
        for (int again = 0; again < 4; again++) {
            if (again == 2) {
                pd_stream_end(&s);
                s.unpacker.backend = &pd_inflate_zlib;
            }
            buf content = draw_content(&a, &r, rng_below(&r, rng_chance(&r, 20) ? 300000 : 3000));
            buf file = draw_file(&a, &r, content), got = buf_begin(&a);
            size_t piece = 1 + rng_below(&r, rng_chance(&r, 50) ? 100 : 70000);
            pprofdelta_error err;
            stream_way how = {.mem = &mem, .piece = piece};
            pprofdelta_status status = read_stream(&s, &how, file, &r, &got, &err);
            if (status == PPROFDELTA_E_LIMIT && content.len / PD_UNPACK_RATIO > file.len)
                continue;
            CHECK_MSG(status == PPROFDELTA_OK, "seed %" PRIu64 ": %s", seed, err.text);
            CHECK_MSG(got.len == content.len && memcmp(got.ptr, content.ptr, got.len) == 0,
                      "seed %" PRIu64 ": %zu of %zu bytes", seed, got.len, content.len);
        }
        pd_stream_end(&s);
        CHECK(mem.used == 0);
        arena_free(&a);
    }
}

/* Both accept a file, or both refuse it in the same words; but for a part of a zstd frame there may be
 * other words, or a limit. */
static void compare_with(const pd_inflate_backend *backend, buf file, rng *r, arena *a,
                         const char *what, uint64_t seed)
{
    pd_mem mem;
    pd_mem_init(&mem, NULL, PLENTY);
    pd_stream s = {.unpacker.backend = backend};
    pprofdelta_error whole_err = {0}, err = {0};
    buf whole, got = buf_begin(a);
    pprofdelta_status want = read_whole(backend, &mem, file, a, &whole, &whole_err);
    stream_way how = {.mem = &mem, .piece = 1 + rng_below(r, 500)};
    pprofdelta_status status = read_stream(&s, &how, file, r, &got, &err);
    pd_stream_end(&s);
    if (status == PPROFDELTA_E_LIMIT) /* a window that only the whole way does without */
        CHECK_MSG(strstr(err.text, "max_memory"), "%s", err.text);
    else if (status && file.len && file.ptr[0] == 0x28) /* zstd has other words for a part */
        CHECK_MSG(status == want, "seed %" PRIu64 ", %s: %s", seed, what, err.text);
    else
        CHECK_MSG(
            status == want &&
                (status ? err.offset == whole_err.offset && strcmp(err.text, whole_err.text) == 0
                        : got.len == whole.len && memcmp(got.ptr, whole.ptr, got.len) == 0),
            "%s, seed %" PRIu64 ", %s: \"%s\" at %" PRIu64 ", not \"%s\" at %" PRIu64,
            backend->name, seed, what, err.text, err.offset, whole_err.text, whole_err.offset);
    CHECK(mem.used == 0);
}

static void compare(buf file, rng *r, arena *a, const char *what, uint64_t seed)
{
    compare_with(pd_inflate_backend_used(), file, r, a, what, seed);
    compare_with(&pd_inflate_zlib, file, r, a, what, seed);
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
        pd_stream s = {0};
        pd_bytes out;
        pprofdelta_error err;
        for (int there = 0; there < 2; there++) {
            uint64_t from = LEN / 4, need = there ? LEN / 2 : LEN;
            REQUIRE(
                !pd_stream_begin(&s, &mem, (pd_bytes){files[i].ptr, files[i].len}, PIECE, &err));
            pprofdelta_status status = pd_stream_reach(&s, from, need, &out, &err);
            CHECK_MSG(status == (there ? PPROFDELTA_E_LIMIT : PPROFDELTA_OK), "file %zu", i);
            CHECK(there || (s.is_done && out.len && out.len < need &&
                            memcmp(out.ptr, content.ptr + from, out.len) == 0));
        }
        CHECK(mem.peak <= LIMIT);
        pd_stream_end(&s);
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
        pd_stream s = {0};
        pprofdelta_error err;
        REQUIRE(!pd_stream_begin(&s, &mem, (pd_bytes){files[i].ptr, files[i].len}, 1000, &err));
        pprofdelta_status status = pd_stream_finish(&s, &err);
        CHECK_MSG(status == PPROFDELTA_E_LIMIT, "file %zu: status %d", i, status);
        CHECK(strstr(err.text, "max_memory") != NULL && strcmp(err.stage, "inflate") == 0);
        CHECK(pd_stream_len(&s) < (uint64_t)files[i].len * PD_UNPACK_RATIO + (300 << 10));
        pd_stream_end(&s);
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
            pd_stream s = {0};
            buf got = buf_begin(&a);
            stream_way how = {.mem = &mem, .piece = 1000};
            pprofdelta_status status = read_stream(&s, &how, files[i], &r, &got, NULL);
            refused = memory.refused > 0;
            CHECK_MSG(status == (refused ? PPROFDELTA_E_MEMORY : PPROFDELTA_OK),
                      "file %zu, allocation %zu", i, nth);
            pd_stream_end(&s);
            CHECK(memory.live == 0);
        }
    }
    arena_free(&a);
}

TEST_MAIN(CASE(any_pieces_are_the_whole), CASE(what_is_wrong_is_told_as_by_the_whole_way),
          CASE(what_the_limit_cannot_hold_is_refused_only_if_it_is_there),
          CASE(what_inflates_without_end_is_refused), CASE(a_failed_allocation_is_told))
