/* Containers that lie, are cut off or damaged: nothing of them comes out, and what is wrong is told
 * with its byte. */
#include "codec_kit.h"

/* ---------------------------------------------------------------------------------------------
 * gzip headers and trailers
 * ------------------------------------------------------------------------------------------ */

TEST(every_header_option_is_read)
{
    pd_buffer content = content_of(500, 4);
    for (unsigned flags = 0; flags < 32; flags++) {
        pd_buffer file = {0};
        append_member(&file, content, flags);
        check_inflates_to(file, content.ptr, content.len);
        append_member(&file, content, 31 - flags);
        pd_buffer twice = {0};
        append(&twice, content.ptr, content.len);
        append(&twice, content.ptr, content.len);
        check_inflates_to(file, twice.ptr, twice.len);
        free(twice.ptr);
        free(file.ptr);
    }
    free(content.ptr);
}

TEST(a_wrong_header_crc_is_refused)
{
    for (unsigned bit = 0; bit < 16; bit++) {
        pd_buffer file = {0};
        append_header(&file, FHCRC | FNAME, (uint16_t)(1u << bit));
        append(&file, "\3\0\0\0\0\0\0\0\0\0", 10);
        check_refused(file, "the gzip header has the CRC-16", 15);
        free(file.ptr);
    }
}

TEST(what_gzip_does_not_have_is_refused)
{
    pd_buffer content = content_of(50, 4), file = {0};
    append_member(&file, content, 0);
    file.ptr[2] = 7;
    check_refused(file, "the gzip method is 7", 2);
    file.ptr[2] = 8;
    for (unsigned bit = 5; bit < 8; bit++) {
        file.ptr[3] = (uint8_t)(1u << bit);
        check_refused(file, "reserved gzip flags", 3);
    }
    free(file.ptr);
    free(content.ptr);
}

TEST(the_trailer_is_checked)
{
    pd_buffer content = content_of(5000, 4), file = {0};
    append_member(&file, content, 0);
    for (unsigned bit = 0; bit < 64; bit++) {
        size_t trailer = file.len - 8;
        uint8_t *byte = file.ptr + trailer + bit / 8;
        *byte ^= (uint8_t)(1u << bit % 8);
        if (bit < 32)
            check_refused(file, "the content has the CRC-32", trailer);
        else
            check_refused(file, "the content is 5000 bytes long and the gzip trailer says",
                          trailer + 4);
        *byte ^= (uint8_t)(1u << bit % 8);
    }
    check_inflates_to(file, content.ptr, content.len);
    free(file.ptr);
    free(content.ptr);
}

TEST(both_crcs_are_told)
{
    pd_buffer file = {0};
    append_header(&file, 0, 0);
    append(&file, "\x01\x01\x00\xfe\xff\x61", 6);
    append32(&file, 0x12345678);
    append32(&file, 1);
    check_refused(file, "the CRC-32 e8b7be43 and the gzip trailer says 12345678", 16);
    free(file.ptr);
}

TEST(bytes_behind_the_end_are_refused)
{
    pd_buffer content = content_of(50, 4), gzip = {0}, zstd = {0};
    append_member(&gzip, content, 0);
    append_frame(&zstd, content, true);
    size_t gzip_len = gzip.len, zstd_len = zstd.len;
    append_byte(&gzip, 0);
    append_byte(&zstd, 0x28);
    check_refused(gzip, "bytes after the gzip trailer: 1, the first 0x00", gzip_len);
    check_refused(zstd, "bytes after the last zstd frame: 1, the first 0x28", zstd_len);
    append_frame(&gzip, content, true);
    append_member(&zstd, content, 0);
    check_refused(gzip, "bytes after the gzip trailer", gzip_len);
    check_refused(zstd, "bytes after the last zstd frame", zstd_len);
    gzip.ptr[gzip_len] = 0x1f;
    gzip.len = gzip_len + 1;
    check_refused(gzip, "bytes after the gzip trailer: 1, the first 0x1f", gzip_len);
    free(gzip.ptr);
    free(zstd.ptr);
    free(content.ptr);
}

/* ---------------------------------------------------------------------------------------------
 * Files that are cut off or damaged
 * ------------------------------------------------------------------------------------------ */

TEST(gzip_cut_off_at_any_byte_is_told_as_such)
{
    pd_buffer content = content_of(900, 5);
    for (int level = 0; level <= 6; level += 3) {
        pd_buffer file = {0};
        append_header(&file, 31, 0);
        size_t body = file.len;
        append_deflated(&file, content, level);
        size_t trailer = file.len;
        append32(&file, libdeflate_crc32(0, content.ptr, content.len));
        append32(&file, (uint32_t)content.len);
        for (size_t len = 2; len < file.len; len++) {
            pd_buffer cut = prefix_of(file, len);
            check_refused(cut,
                          len < body      ? "the file is cut off in the gzip header"
                          : len < trailer ? "the file is cut off in the deflate data"
                                          : "the file is cut off in the gzip trailer",
                          len);
            free(cut.ptr);
        }
        free(file.ptr);
    }
    free(content.ptr);
}

/* Deflate data, bit by bit. Spaces are for the eye. */
static size_t pack_bits(const char *text, uint8_t room[64])
{
    size_t n = 0;
    memset(room, 0, 64);
    for (; *text; text++) {
        if (*text == ' ')
            continue;
        room[n / 8] |= (uint8_t)((*text - '0') << n % 8);
        n++;
    }
    return n;
}

/* Each case ends with the bit that shows the damage. */
TEST(the_damage_is_named_with_its_byte)
{
    static const struct {
        const char *bits, *why;
    } cases[] = {
        {"1 11", "invalid block type"},
        {"0 00 00000 0000000000000000 1111111111111111 0 11", "invalid block type"},
        {"1 00 00000 1010000000000000 0000000000000000", "invalid stored block lengths"},
        {"1 10 0000001 00000", "invalid distance too far back"},
        {"1 10 00110000 0000001 00001", "invalid distance too far back"},
        {"1 10 11000110", "invalid literal/length code"},
        {"1 10 00110000 0000001 11110", "invalid distance code"},
        {"1 01 11111 00000 0000", "too many length or distance symbols"},
        {"1 01 00000 00000 0000 100 100 100 100", "invalid code lengths set"},
        {"1 01 00000 00000 0000 010 010 000 000", "invalid code lengths set"},
        {"1 01 00000 00000 0000 100 000 100 000 0", "invalid bit length repeat"},
        {"1 01 00000 00000 0000 000 100 100 000 1 1111111 1 1111111", "invalid bit length repeat"},
        {"1 01 00000 00000 0000 000 100 100 000 1 1111111 1 1011011",
         "invalid code -- missing end-of-block"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t packed[64];
        char words[80];
        size_t bits = pack_bits(cases[i].bits, packed);
        pd_buffer file = {0};
        append_header(&file, i % 2 ? FNAME : 0, 0);
        size_t body = file.len;
        append(&file, packed, sizeof packed);
        snprintf(words, sizeof words, "the deflate data is damaged: %s", cases[i].why);
        check_refused(file, words, body + (bits - 1) / 8);
        free(file.ptr);
    }
}

TEST(a_second_member_cut_off_at_any_byte_is_told_as_such)
{
    pd_buffer content = content_of(300, 5), file = {0};
    append_member(&file, content, 0);
    size_t first = file.len;
    append_member(&file, content, FNAME);
    for (size_t len = first + 2; len < file.len; len++) {
        pd_buffer cut = prefix_of(file, len);
        check_refused(cut, "the file is cut off in the", len);
        free(cut.ptr);
    }
    free(file.ptr);
    free(content.ptr);
}

TEST(zstd_cut_off_at_any_byte_is_told_as_such)
{
    pd_buffer content = content_of(900, 5), file = {0};
    append_frame(&file, content, true);
    size_t first = file.len;
    append_frame(&file, content, false);
    size_t second = file.len;
    append_skippable(&file);
    for (size_t len = 4; len < file.len; len++) {
        size_t into_frame = len < first ? len : len < second ? len - first : len - second;
        if (into_frame == 0)
            continue;
        pd_buffer cut = prefix_of(file, len);
        if (into_frame < 4)
            check_refused(cut, "bytes after the last zstd frame", len - into_frame);
        else
            check_refused(cut, "the file is cut off in a zstd frame", len);
        free(cut.ptr);
    }
    free(file.ptr);
    free(content.ptr);
}

static void flip_every_bit(pd_buffer file, pd_buffer content)
{
    unsigned long refused = 0;
    for (size_t bit = 0; bit < file.len * 8; bit++) {
        kit k;
        kit_init(&k, LIMIT);
        pd_buffer flipped = prefix_of(file, file.len);
        flipped.ptr[bit / 8] ^= (uint8_t)(1u << bit % 8);
        pd_bytes out = {0};
        pprofdelta_status status = inflate_with(&k, flipped, &out);
        if (pd_format_of(flipped.ptr, flipped.len) == PD_FORMAT_PLAIN) {
            CHECK(status == PPROFDELTA_OK && out.ptr == flipped.ptr);
        } else if (status == PPROFDELTA_OK) {
            CHECK_MSG(equal(out, content.ptr, content.len), "bit %zu", bit);
        } else {
            CHECK_MSG(status == PPROFDELTA_E_INFLATE, "bit %zu: status %d", bit, (int)status);
            CHECK(k.err.offset <= flipped.len && k.err.text[0]);
            refused++;
        }
        free(flipped.ptr);
        kit_fini(&k);
    }
    CHECK_MSG(refused > file.len * 8 * 3 / 4, "%lu of %zu", refused, file.len * 8);
}

TEST(no_flipped_bit_changes_the_content)
{
    pd_buffer content = content_of(1500, 6);
    for (int level = 0; level <= 6; level += 3) {
        pd_buffer gzip = {0};
        append_header(&gzip, FHCRC | FEXTRA | FNAME, 0);
        append_deflated(&gzip, content, level);
        append32(&gzip, libdeflate_crc32(0, content.ptr, content.len));
        append32(&gzip, (uint32_t)content.len);
        flip_every_bit(gzip, content);
        free(gzip.ptr);
    }
    pd_buffer zstd = {0};
    append_frame(&zstd, content, true);
    flip_every_bit(zstd, content);
    free(zstd.ptr);
    free(content.ptr);
}

TEST(zstd_headers_that_lie_are_refused)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *why;
    } cases[] = {
        /* a single segment of 2^62 bytes: an empty raw block */
        {"\x28\xb5\x2f\xfd\xe0\0\0\0\0\0\0\0\x40\1\0\0", 16,
         "too short for the 4611686018427387904 bytes it announces"},
        /* a single segment of 5 bytes: one byte 1000 times */
        {"\x28\xb5\x2f\xfd\x20\5\x43\x1f\0a", 10,
         "the zstd frame inflates to more than it can hold"},
        /* dictionary 7, 0 bytes in one segment: an empty raw block */
        {"\x28\xb5\x2f\xfd\x21\7\0\1\0\0", 10, "needs a dictionary"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pd_buffer file = {0};
        append(&file, cases[i].bytes, cases[i].len);
        check_refused(file, cases[i].why, 0);
        free(file.ptr);
    }
}

TEST_MAIN()
