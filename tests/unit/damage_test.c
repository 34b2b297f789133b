/* What is wrong with deflate data: zlib's words and the byte. */
#include "codec_kit.h"

#include "codec/damage.h"

TEST(nothing_is_wrong_with_whole_deflate_data)
{
    static const size_t sizes[] = {0, 1, 50, 5000, 200000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        pd_buffer content = content_of(sizes[i], 8);
        memset(content.ptr, 0, sizes[i] / 2);
        for (int level = 0; level <= 12; level += 2) {
            pd_buffer packed = {0};
            append_deflated(&packed, content, level);
            size_t len = packed.len;
            append(&packed, "behind it", 9);
            pd_damage damage = pd_damage_find(packed.ptr, packed.len);
            CHECK_MSG(damage.kind == PD_DAMAGE_NONE && damage.at == len && !damage.why &&
                          damage.made == content.len,
                      "level %d, %zu bytes: %zu, not %zu", level, sizes[i], damage.at, len);
            free(packed.ptr);
        }
        free(content.ptr);
    }
}

/* Bits as text, in the order of the stream, with zeros behind. */
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
        size_t bits = pack_bits(cases[i].bits, packed);
        pd_damage damage = pd_damage_find(packed, sizeof packed);
        CHECK_MSG(damage.kind == PD_DAMAGE_BAD, "case %zu", i);
        CHECK_STR(damage.why ? damage.why : "no reason", cases[i].why);
        CHECK_MSG(damage.at == (bits - 1) / 8, "case %zu: %zu", i, damage.at);
    }
}

/* The same damage seen through gzip, at its place in the file. */
TEST(damaged_deflate_data_is_told_with_its_offset)
{
    pd_buffer file = {0};
    append_header(&file, FNAME, 0);
    size_t body = file.len;
    append(&file, "\x00\x00\x00\xff\xff\x07\0\0\0\0\0\0\0\0", 14);
    check_refused(file, "the deflate data is damaged: invalid block type", body + 5);
    free(file.ptr);
}

/* zlib may be stricter than libdeflate, never more lenient; and no damage is found before it is. */
TEST(damage_is_found_in_damaged_deflate_data_only)
{
    pd_buffer content = content_of(700, 10), packed = {0};
    append_deflated(&packed, content, 6);
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    if (!d)
        abort();
    unsigned long damaged = 0;
    for (size_t bit = 0; bit < packed.len * 8; bit++) {
        uint8_t room[8192];
        size_t used = 0, made = 0;
        packed.ptr[bit / 8] ^= (uint8_t)(1u << bit % 8);
        enum libdeflate_result result = libdeflate_deflate_decompress_ex(
            d, packed.ptr, packed.len, room, sizeof room, &used, &made);
        pd_damage damage = pd_damage_find(packed.ptr, packed.len);
        CHECK_MSG(damage.kind != PD_DAMAGE_NONE ||
                      (result == LIBDEFLATE_SUCCESS && damage.at == used && damage.made == made),
                  "bit %zu", bit);
        CHECK_MSG(damage.kind != PD_DAMAGE_BAD ||
                      (damage.at >= bit / 8 && damage.at < packed.len && damage.why),
                  "bit %zu: %zu", bit, damage.at);
        CHECK(damage.kind != PD_DAMAGE_CUT_OFF || (damage.at == packed.len && !damage.why));
        damaged += damage.kind == PD_DAMAGE_BAD;
        packed.ptr[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    CHECK(damaged > 0);
    libdeflate_free_decompressor(d);
    free(packed.ptr);
    free(content.ptr);
}

TEST_MAIN(CASE(nothing_is_wrong_with_whole_deflate_data), CASE(the_damage_is_named_with_its_byte),
          CASE(damaged_deflate_data_is_told_with_its_offset),
          CASE(damage_is_found_in_damaged_deflate_data_only))
