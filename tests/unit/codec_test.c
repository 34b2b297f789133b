/* The containers: what goes in comes out, whatever the format, the level and the pieces. What is
 * wrong with a file, and what it may take, have files of their own: codec_damage_test.c,
 * codec_limits_test.c. */
#include "codec_kit.h"

TEST(formats_are_told_by_their_magic)
{
    static const struct {
        const char *bytes;
        size_t len;
        pd_format format;
    } cases[] = {
        {"", 0, PD_FORMAT_PLAIN},
        {"\x1f", 1, PD_FORMAT_PLAIN},
        {"\x1f\x8b", 2, PD_FORMAT_GZIP},
        {"\x1f\x8c", 2, PD_FORMAT_PLAIN},
        {"\x28\xb5\x2f", 3, PD_FORMAT_PLAIN},
        {"\x28\xb5\x2f\xfd", 4, PD_FORMAT_ZSTD},
        {"\x28\xb5\x2f\xfc", 4, PD_FORMAT_PLAIN},
        {"\x50\x2a\x4d\x18", 4, PD_FORMAT_ZSTD},
        {"\x5f\x2a\x4d\x18", 4, PD_FORMAT_ZSTD},
        {"\x60\x2a\x4d\x18", 4, PD_FORMAT_PLAIN},
        {"\x0a\x04\x08\x01\x10\x02", 6, PD_FORMAT_PLAIN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_MSG(pd_format_of((const uint8_t *)cases[i].bytes, cases[i].len) == cases[i].format,
                  "case %zu", i);
    CHECK_STR(pd_format_name(PD_FORMAT_PLAIN), "plain");
    CHECK_STR(pd_format_name(PD_FORMAT_GZIP), "gzip");
    CHECK_STR(pd_format_name(PD_FORMAT_ZSTD), "zstd");
}

TEST(plain_is_handed_on_as_it_is)
{
    kit k;
    kit_init(&k, 0);
    pd_bytes out = {0};
    uint8_t plain[] = "\x0a\x04";
    CHECK(inflate_with(&k, (pd_buffer){plain, 2, 2}, &out) == PPROFDELTA_OK);
    CHECK(out.ptr == plain && out.len == 2);
    CHECK(inflate_with(&k, (pd_buffer){0}, &out) == PPROFDELTA_OK);
    CHECK(out.len == 0);
    CHECK(k.memory.calls == 0);
    kit_fini(&k);
}

static void check_round_trip(pprofdelta_compression compression, int level, pd_buffer content)
{
    static const pd_format format[] = {PD_FORMAT_GZIP, PD_FORMAT_ZSTD, PD_FORMAT_PLAIN};
    kit k;
    kit_init(&k, LIMIT);
    k.compressor.compression = compression;
    k.compressor.level = level;
    uint64_t written = 0;
    pd_bytes out = {0};
    CHECK(deflate_into_sunk(&k, content.ptr, content.len, &written) == PPROFDELTA_OK);
    CHECK(k.writes == 1 && written == k.sunk.len);
    CHECK(pd_format_of(k.sunk.ptr, k.sunk.len) == format[compression]);
    CHECK(inflate_with(&k, k.sunk, &out) == PPROFDELTA_OK);
    CHECK_MSG(equal(out, content.ptr, content.len), "compression %d, level %d, %zu bytes",
              (int)compression, level, content.len);
    kit_fini(&k);
}

TEST(every_format_and_level_round_trips)
{
    static const size_t sizes[] = {1, 2, 100, 5000, 300000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        pd_buffer content = content_of(sizes[i], (uint32_t)i);
        for (int level = 0; level <= 9; level++)
            for (int c = PPROFDELTA_GZIP; c <= PPROFDELTA_PLAIN; c++)
                check_round_trip((pprofdelta_compression)c, level, content);
        free(content.ptr);
    }
}

TEST(a_higher_level_compresses_more)
{
    pd_buffer content = content_of(300000, 1);
    for (int c = PPROFDELTA_GZIP; c <= PPROFDELTA_ZSTD; c++) {
        uint64_t fast = 0, small = 0;
        for (int level = 1; level <= 9; level += 8) {
            kit k;
            kit_init(&k, LIMIT);
            k.compressor.compression = (pprofdelta_compression)c;
            k.compressor.level = level;
            CHECK(deflate_into_sunk(&k, content.ptr, content.len, level == 1 ? &fast : &small) ==
                  PPROFDELTA_OK);
            kit_fini(&k);
        }
        CHECK_MSG(small < fast, "compression %d: %llu and %llu", c, (unsigned long long)small,
                  (unsigned long long)fast);
    }
    free(content.ptr);
}

TEST(equal_input_gives_equal_bytes)
{
    pd_buffer content = content_of(20000, 7);
    for (int c = PPROFDELTA_GZIP; c <= PPROFDELTA_ZSTD; c++) {
        kit first, again;
        uint64_t written = 0;
        kit_init(&first, LIMIT);
        kit_init(&again, LIMIT);
        first.compressor.compression = again.compressor.compression = (pprofdelta_compression)c;
        CHECK(deflate_into_sunk(&first, content.ptr, content.len, &written) == PPROFDELTA_OK);
        CHECK(deflate_into_sunk(&again, content.ptr, 100, &written) == PPROFDELTA_OK);
        CHECK(deflate_into_sunk(&again, content.ptr, content.len, &written) == PPROFDELTA_OK);
        CHECK(equal((pd_bytes){first.sunk.ptr, first.sunk.len}, again.sunk.ptr, again.sunk.len));
        if (c == PPROFDELTA_GZIP)
            CHECK(memcmp(first.sunk.ptr, "\x1f\x8b\x08\0\0\0\0\0", 8) == 0);
        kit_fini(&first);
        kit_fini(&again);
    }
    free(content.ptr);
}

TEST(zstd_output_carries_its_size_and_a_checksum)
{
    kit k;
    kit_init(&k, LIMIT);
    k.compressor.compression = PPROFDELTA_ZSTD;
    uint64_t written = 0;
    pd_buffer content = content_of(5000, 3);
    CHECK(deflate_into_sunk(&k, content.ptr, content.len, &written) == PPROFDELTA_OK);
    CHECK(ZSTD_getFrameContentSize(k.sunk.ptr, k.sunk.len) == content.len);
    k.sunk.ptr[k.sunk.len - 1] ^= 1;
    check_refused(k.sunk, "checksum", 0);
    free(content.ptr);
    kit_fini(&k);
}

TEST(members_and_frames_are_joined)
{
    pd_buffer content = content_of(70000, 9), gzip = {0}, zstd = {0};
    size_t cuts[] = {0, 0, 1, 1, 30000, 69999, 70000, 70000};
    append_skippable(&zstd);
    for (size_t i = 0; i + 1 < sizeof cuts / sizeof *cuts; i++) {
        pd_buffer part = {content.ptr + cuts[i], cuts[i + 1] - cuts[i], 0};
        append_member(&gzip, part, i % 2 ? FNAME : 0);
        append_frame(&zstd, part, i % 2);
        if (i % 3 == 0)
            append_skippable(&zstd);
    }
    check_inflates_to(gzip, content.ptr, content.len);
    check_inflates_to(zstd, content.ptr, content.len);
    free(gzip.ptr);
    free(zstd.ptr);
    free(content.ptr);
}

TEST(empty_members_and_frames_are_empty)
{
    pd_buffer gzip = {0}, zstd = {0}, skippable = {0}, nothing = {0};
    append_member(&gzip, nothing, 0);
    check_inflates_to(gzip, NULL, 0);
    append_member(&gzip, nothing, 0);
    check_inflates_to(gzip, NULL, 0);
    append_frame(&zstd, nothing, true);
    append_frame(&zstd, nothing, false);
    check_inflates_to(zstd, NULL, 0);
    append_skippable(&skippable);
    check_inflates_to(skippable, NULL, 0);
    free(gzip.ptr);
    free(zstd.ptr);
    free(skippable.ptr);
}

TEST(stored_blocks_inflate)
{
    pd_buffer content = content_of(200000, 2), file = {0};
    append_header(&file, 0, 0);
    append_deflated(&file, content, 0);
    append32(&file, libdeflate_crc32(0, content.ptr, content.len));
    append32(&file, (uint32_t)content.len);
    check_inflates_to(file, content.ptr, content.len);
    free(file.ptr);
    free(content.ptr);
}

/* Sizes that no claim tells, and claims beyond what is believed at once. */
TEST(output_grows_as_far_as_it_must)
{
    pd_buffer zeros = {calloc(3000000, 1), 3000000, 3000000}, gzip = {0}, zstd = {0}, claim = {0};
    pd_buffer nothing = {0};
    if (!zeros.ptr)
        abort();
    append_member(&gzip, zeros, 0);
    check_inflates_to(gzip, zeros.ptr, zeros.len);
    append_member(&gzip, nothing, 0);
    check_inflates_to(gzip, zeros.ptr, zeros.len);
    append_frame(&zstd, zeros, false);
    check_inflates_to(zstd, zeros.ptr, zeros.len);
    append_frame(&claim, zeros, true);
    check_inflates_to(claim, zeros.ptr, zeros.len);
    free(gzip.ptr);
    free(zstd.ptr);
    free(claim.ptr);
    free(zeros.ptr);
}

TEST_MAIN()
