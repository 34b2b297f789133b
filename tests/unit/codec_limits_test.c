/* What a container may take: memory within the limit whatever it promises, allocations and sinks
 * that fail. */
#include "codec_kit.h"

/* More than what a file of a few bytes is inflated with the careful way. */
enum { CAREFUL = 140000 };

/* Content that compresses a thousand times. */
static pd_buffer zeros_of(size_t len)
{
    pd_buffer b = {calloc(len, 1), len, len};
    if (!b.ptr)
        abort();
    return b;
}

/* A trailer that lies is told as a lie, also if what it says is beyond the limit, and takes no more
 * memory than a file of that length may. */
TEST(a_lying_length_does_not_allocate)
{
    enum { ZEROS = 3000000 };
    static const struct {
        size_t len; /* of the content; ZEROS: of zeros */
        uint32_t says;
        uint64_t limit, most;
    } lies[] = {
        {100, UINT32_MAX, UINT64_C(8) << 30, 10000 + CAREFUL},
        {100000, 1 << 24, UINT64_C(8) << 30, 100000 * PD_INFLATE_RATIO / 2 + CAREFUL},
        {ZEROS, UINT32_MAX, UINT64_C(8) << 30, 3 * ZEROS},
        {50000, 2 << 20, 1 << 20, 1 << 20},
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        pd_buffer content = lies[i].len == ZEROS ? zeros_of(ZEROS) : content_of(lies[i].len, 4),
                  file = {0};
        append_member(&file, content, 0);
        file.len -= 4;
        append32(&file, lies[i].says);
        kit k;
        kit_init(&k, lies[i].limit);
        pd_bytes out = {0};
        char words[40];
        snprintf(words, sizeof words, "the gzip trailer says %u", lies[i].says);
        CHECK_MSG(inflate_with(&k, file, &out) == PPROFDELTA_E_INFLATE, "%zu", i);
        CHECK_MSG(strstr(k.err.text, words), "%zu: %s", i, k.err.text);
        CHECK_MSG(k.mem.peak < lies[i].most, "%zu: %llu", i, (unsigned long long)k.mem.peak);
        kit_fini(&k);
        free(file.ptr);
        free(content.ptr);
    }
}

static void check_bomb(pd_buffer file)
{
    kit k;
    kit_init(&k, 1 << 20);
    pd_bytes out = {(const uint8_t *)"untouched", 9};
    CHECK(inflate_with(&k, file, &out) == PPROFDELTA_E_LIMIT);
    CHECK_STR(k.err.stage, "inflate");
    CHECK_MSG(strstr(k.err.text, "than max_memory allows"), "%s", k.err.text);
    CHECK(k.err.offset < file.len);
    CHECK(k.mem.peak <= 1 << 20);
    CHECK(out.len == 9);
    kit_fini(&k);
}

TEST(bombs_end_at_the_limit)
{
    pd_buffer zeros = zeros_of(10 << 20), file = {0}, nothing = {0};
    append_member(&file, zeros, 0);
    check_bomb(file);
    append_member(&file, nothing, 0);
    check_bomb(file);
    for (int with_size = 0; with_size < 2; with_size++) {
        file.len = 0;
        append_frame(&file, zeros, with_size);
        check_bomb(file);
    }
    free(file.ptr);
    free(zeros.ptr);
}

TEST(an_announced_bomb_ends_before_it_is_allocated)
{
    pd_buffer zeros = zeros_of(10 << 20);
    for (int zstd = 0; zstd < 2; zstd++) {
        pd_buffer file = {0};
        if (zstd)
            append_frame(&file, zeros, true);
        else
            append_member(&file, zeros, 0);
        kit k;
        kit_init(&k, 9 << 20);
        pd_bytes out;
        CHECK(inflate_with(&k, file, &out) == PPROFDELTA_E_LIMIT);
        CHECK(strstr(k.err.text, "says that it inflates"));
        CHECK_MSG(k.mem.peak < 3 << 20, "%llu", (unsigned long long)k.mem.peak);
        kit_fini(&k);
        free(file.ptr);
    }
    free(zeros.ptr);
}

TEST(the_limit_itself_can_be_used_up)
{
    pd_buffer content = content_of(1 << 20, 4);
    for (int zstd = 0; zstd < 2; zstd++) {
        pd_buffer file = {0};
        if (zstd)
            append_frame(&file, content, true);
        else
            append_member(&file, content, 0);
        uint64_t limit = LIMIT;
        for (int less = 0; less < 3; less++) { /* with plenty, with what that took, with less */
            kit k;
            kit_init(&k, limit - (less == 2));
            pd_bytes out = {0};
            CHECK(inflate_with(&k, file, &out) == (less == 2 ? PPROFDELTA_E_LIMIT : PPROFDELTA_OK));
            limit = k.mem.peak;
            kit_fini(&k);
        }
        free(file.ptr);
    }
    free(content.ptr);
}

TEST(no_room_at_all_is_a_limit)
{
    pd_buffer content = content_of(100, 4), gzip = {0}, zstd = {0};
    append_member(&gzip, content, 0);
    append_frame(&zstd, content, true);
    kit k;
    kit_init(&k, 0);
    pd_bytes out = {0};
    uint64_t written = 99;
    CHECK(inflate_with(&k, gzip, &out) == PPROFDELTA_E_LIMIT);
    CHECK(inflate_with(&k, zstd, &out) == PPROFDELTA_E_LIMIT);
    CHECK(deflate_into_sunk(&k, content.ptr, content.len, &written) == PPROFDELTA_E_LIMIT);
    CHECK(k.writes == 0 && written == 99);
    kit_fini(&k);
    free(gzip.ptr);
    free(zstd.ptr);
    free(content.ptr);
}

TEST(the_second_call_allocates_nothing)
{
    pd_buffer content = content_of(100000, 11);
    for (int c = PPROFDELTA_GZIP; c <= PPROFDELTA_PLAIN; c++) {
        kit k;
        kit_init(&k, LIMIT);
        k.compressor.compression = (pprofdelta_compression)c;
        unsigned long calls = 0;
        for (int round = 0; round < 3; round++) {
            uint64_t written = 0;
            pd_bytes out = {0};
            CHECK(deflate_into_sunk(&k, content.ptr, content.len, &written) == PPROFDELTA_OK);
            CHECK(inflate_with(&k, k.sunk, &out) == PPROFDELTA_OK);
            CHECK(equal(out, content.ptr, content.len));
            if (round == 0)
                calls = k.memory.calls;
        }
        CHECK(k.memory.calls == calls);
        CHECK(c == PPROFDELTA_PLAIN || calls > 0);
        kit_fini(&k);
    }
    free(content.ptr);
}

TEST(one_inflater_takes_every_format_and_outlives_failures)
{
    pd_buffer content = content_of(3000, 12), gzip = {0}, zstd = {0};
    append_member(&gzip, content, 0);
    append_frame(&zstd, content, true);
    kit k;
    kit_init(&k, LIMIT);
    for (int round = 0; round < 3; round++) {
        pd_bytes out = {0};
        CHECK(inflate_with(&k, gzip, &out) == PPROFDELTA_OK);
        CHECK(equal(out, content.ptr, content.len));
        CHECK(inflate_with(&k, (pd_buffer){gzip.ptr, gzip.len - 20, 0}, &out) != PPROFDELTA_OK);
        CHECK(inflate_with(&k, zstd, &out) == PPROFDELTA_OK);
        CHECK(equal(out, content.ptr, content.len));
        pd_buffer damaged = prefix_of(zstd, zstd.len);
        damaged.ptr[damaged.len / 2] ^= 1;
        CHECK(inflate_with(&k, damaged, &out) != PPROFDELTA_OK);
        free(damaged.ptr);
    }
    kit_fini(&k);
    free(gzip.ptr);
    free(zstd.ptr);
    free(content.ptr);
}

/* Inflates the file and deflates what came out, with the nth allocation failing. True while there
 * was an nth. */
static bool fails_at(pd_buffer file, pprofdelta_compression compression, unsigned long nth)
{
    kit k;
    kit_init(&k, LIMIT);
    k.compressor.compression = compression;
    k.memory.fail_at = nth;
    pd_bytes out = {0};
    uint64_t written = 99;
    pprofdelta_status status = inflate_with(&k, file, &out);
    CHECK(status == PPROFDELTA_OK || !out.ptr);
    if (status == PPROFDELTA_OK) {
        status = deflate_into_sunk(&k, out.ptr, out.len, &written);
        CHECK(status == PPROFDELTA_OK || (written == 99 && k.writes == 0));
    }
    bool reached = k.memory.calls >= nth;
    CHECK(status == (reached ? PPROFDELTA_E_MEMORY : PPROFDELTA_OK));
    if (reached) {
        k.memory.fail_at = 0;
        CHECK(inflate_with(&k, file, &out) == PPROFDELTA_OK);
        CHECK(deflate_into_sunk(&k, out.ptr, out.len, &written) == PPROFDELTA_OK);
    }
    kit_fini(&k);
    return reached;
}

TEST(every_failing_allocation_is_told)
{
    pd_buffer zeros = zeros_of(1 << 20), gzip = {0}, zstd = {0}, nothing = {0};
    append_member(&gzip, zeros, 0);
    append_member(&gzip, nothing, 0);
    append_frame(&zstd, zeros, false);
    unsigned long n = 0;
    while (fails_at(gzip, PPROFDELTA_GZIP, n + 1))
        n++;
    CHECK_MSG(n > 3, "%lu", n);
    for (n = 0; fails_at(zstd, PPROFDELTA_ZSTD, n + 1);)
        n++;
    CHECK_MSG(n > 3, "%lu", n);
    free(gzip.ptr);
    free(zstd.ptr);
    free(zeros.ptr);
}

TEST(a_sink_that_refuses_is_told)
{
    pd_buffer content = content_of(3000, 12);
    for (int c = PPROFDELTA_GZIP; c <= PPROFDELTA_PLAIN; c++) {
        kit k;
        kit_init(&k, LIMIT);
        k.compressor.compression = (pprofdelta_compression)c;
        k.refuse = true;
        uint64_t written = 99;
        CHECK(deflate_into_sunk(&k, content.ptr, content.len, &written) == PPROFDELTA_E_SINK);
        CHECK(k.err.status == PPROFDELTA_E_SINK && written == 99 && k.writes == 1);
        CHECK_STR(k.err.stage, "write");
        CHECK(k.err.offset == PPROFDELTA_NOWHERE);
        k.refuse = false;
        CHECK(deflate_into_sunk(&k, content.ptr, content.len, &written) == PPROFDELTA_OK);
        CHECK(written == k.sunk.len);
        kit_fini(&k);
    }
    free(content.ptr);
}

TEST(nobody_has_to_want_the_error)
{
    kit k;
    kit_init(&k, LIMIT);
    pd_bytes file = {(const uint8_t *)"\x1f\x8b", 2};
    CHECK(pd_source_open(&k.source, &k.mem, file, 0, NULL) == PPROFDELTA_E_INFLATE);
    kit_fini(&k);
}

TEST_MAIN()
