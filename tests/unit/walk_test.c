/* What is wrong with deflate data: the walk that finds the words and the byte. */
#include "codec_kit.h"

#include "codec/walk.h"

TEST(whole_deflate_data_walks_to_its_end)
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
            pd_walk walk = pd_deflate_walk(packed.ptr, packed.len);
            CHECK_MSG(walk.end == PD_WALK_WHOLE && walk.at == len && !walk.why,
                      "level %d, %zu bytes: %zu, not %zu", level, sizes[i], walk.at, len);
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
        {"1 11", "a block of a type that does not exist"},
        {"0 00 00000 0000000000000000 1111111111111111 0 11",
         "a block of a type that does not exist"},
        {"1 00 00000 1010000000000000 0000000000000000",
         "a stored block that contradicts itself about its length"},
        {"1 10 0000001 00000", "a copy from before the beginning"},
        {"1 10 00110000 0000001 00001", "a copy from before the beginning"},
        {"1 10 11000110", "a literal or length that has no code"},
        {"1 10 00110000 0000001 11110", "a distance that has no code"},
        {"1 01 11111 00000 0000", "more symbols than there are"},
        {"1 01 00000 00000 0000 100 100 100 100",
         "a Huffman code with more symbols than its lengths have room for"},
        {"1 01 00000 00000 0000 010 010 000 000", "a Huffman code with gaps"},
        {"1 01 00000 00000 0000 000 000 100 000 111111111111111", "a code length that has no code"},
        {"1 01 00000 00000 0000 100 000 000 000 0", "a code length that repeats nothing"},
        {"1 01 00000 00000 0000 000 000 100 000 0 1111111 0 1111111",
         "more code lengths than there are symbols"},
        {"1 01 00000 00000 0000 000 000 100 000 0 1111111 0 1011011", "a block that cannot end"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t packed[64];
        size_t bits = pack_bits(cases[i].bits, packed);
        pd_walk walk = pd_deflate_walk(packed, sizeof packed);
        CHECK_MSG(walk.end == PD_WALK_DAMAGED, "case %zu", i);
        CHECK_STR(walk.why ? walk.why : "no reason", cases[i].why);
        CHECK_MSG(walk.at == (bits - 1) / 8, "case %zu: %zu", i, walk.at);
    }
}

/* The same damage seen through gzip, at its place in the file. */
TEST(damaged_deflate_data_is_told_with_its_offset)
{
    pd_buffer file = {0};
    append_header(&file, FNAME, 0);
    size_t body = file.len;
    append(&file, "\x00\x00\x00\xff\xff\x07\0\0\0\0\0\0\0\0", 14);
    check_refused(file, "the deflate data is damaged: a block of a type", body + 5);
    free(file.ptr);
}

/* The walk may be stricter than libdeflate, never more lenient. */
TEST(damaged_deflate_data_never_walks_to_its_end)
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
        pd_walk walk = pd_deflate_walk(packed.ptr, packed.len);
        CHECK_MSG(walk.end != PD_WALK_WHOLE || (result == LIBDEFLATE_SUCCESS && walk.at == used),
                  "bit %zu", bit);
        damaged += result == LIBDEFLATE_BAD_DATA;
        packed.ptr[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    CHECK(damaged > 0);
    libdeflate_free_decompressor(d);
    free(packed.ptr);
    free(content.ptr);
}

TEST_MAIN(CASE(whole_deflate_data_walks_to_its_end), CASE(the_damage_is_named_with_its_byte),
          CASE(damaged_deflate_data_is_told_with_its_offset),
          CASE(damaged_deflate_data_never_walks_to_its_end))
