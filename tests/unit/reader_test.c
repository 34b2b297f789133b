/* Varints and fields: every length, every truncation, every tag. fuzz_reader.c compares whole messages
 * with protobuf-c. All input is in a block of its exact size, so that a sanitizer finds reads past it. */
#include "../support/test.h"

#include "rng.h"
#include "wire/reader.h"

#include <stdlib.h>

/* A copy of the bytes with nothing behind it. */
static uint8_t *exact(const uint8_t *bytes, size_t len)
{
    uint8_t *copy = malloc(len ? len : 1);
    if (!copy)
        abort();
    if (len)
        memcpy(copy, bytes, len);
    return copy;
}

/* ---------------------------------------------------------------------------------------------
 * Varints
 * ------------------------------------------------------------------------------------------ */

/* Bytes that the varint at p takes, with its value; 0 where it is cut off or too long. */
static size_t naive_varint(const uint8_t *p, size_t len, uint64_t *value)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < len && i < 10; i++) {
        uint64_t group = p[i] % 128;
        if (i == 9 && p[i] > 1)
            return 0;
        for (size_t n = 0; n < i; n++)
            group *= 128;
        sum += group;
        if (p[i] < 128) {
            *value = sum;
            return i + 1;
        }
    }
    return 0;
}

static size_t library_varint(const uint8_t *bytes, size_t len, uint64_t *value)
{
    uint8_t *copy = exact(bytes, len);
    const uint8_t *end = pd_varint_decode(copy, copy + len, value);
    size_t taken = end ? (size_t)(end - copy) : 0;
    free(copy);
    return taken;
}

static void check_round_trip(uint64_t value)
{
    uint8_t bytes[PD_VARINT_MAX + 2];
    memset(bytes, 0xff, sizeof bytes);
    size_t len = (size_t)(pd_varint_encode(bytes, value) - bytes);
    CHECK(len >= 1 && len <= PD_VARINT_MAX && bytes[len] == 0xff);
    CHECK_MSG(len == pd_varint_size(value), "%llx", (unsigned long long)value);
    CHECK(len == 1 || bytes[len - 1]); /* the shortest form */
    for (size_t more = 0; more <= 2; more++) {
        uint64_t got = ~value;
        CHECK(library_varint(bytes, len + more <= sizeof bytes ? len + more : len, &got) == len);
        CHECK_MSG(got == value, "%llx is not %llx", (unsigned long long)got,
                  (unsigned long long)value);
    }
    for (size_t cut = 0; cut < len; cut++) {
        uint64_t got = 12345;
        CHECK(library_varint(bytes, cut, &got) == 0 && got == 12345);
    }
}

TEST(every_varint_is_read_back)
{
    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t power = UINT64_C(1) << bit;
        check_round_trip(power);
        check_round_trip(power - 1);
        check_round_trip(power + 1);
        check_round_trip(~power);
    }
    rng r = {1};
    for (int i = 0; i < 2000; i++)
        check_round_trip(rng_next(&r) >> rng_below(&r, 64));
}

/* Zeros behind the number are allowed, as long as all fits ten bytes and 64 bits. */
TEST(padded_varints_are_read_and_overlong_ones_refused)
{
    for (unsigned first = 0; first < 128; first += 127)
        for (size_t len = 1; len <= 14; len++)
            for (unsigned last = 0; last < 128; last++) {
                uint8_t bytes[14];
                memset(bytes, 0x80 | (int)first, sizeof bytes);
                bytes[len - 1] = (uint8_t)last;
                uint64_t want = 0, got = 0;
                size_t taken = library_varint(bytes, len, &got);
                CHECK(taken == naive_varint(bytes, len, &want) && got == want);
                CHECK((taken != 0) == (len < 10 || (len == 10 && last <= 1)));
            }
}

/* ---------------------------------------------------------------------------------------------
 * Fields
 * ------------------------------------------------------------------------------------------ */

typedef bool next_function(pd_reader *reader, pd_field *field);

static bool next_quick(pd_reader *reader, pd_field *field)
{
    return pd_reader_next_quick(reader, field);
}

static next_function *const both[] = {pd_reader_next, next_quick};

/* Every tag of one and two bytes, with plenty behind it. */
TEST(invalid_tags_are_refused)
{
    for (size_t way = 0; way < 2; way++)
        for (unsigned tag = 0; tag < 1u << 14; tag++) {
            uint8_t bytes[16] = {0};
            pd_varint_encode(bytes, tag);
            pd_reader r = pd_reader_of(bytes, sizeof bytes);
            pd_field f;
            bool is_good = tag >= 8 && (tag % 8 <= 2 || tag % 8 == 5);
            CHECK(both[way](&r, &f) == is_good);
            CHECK((r.trouble == NULL) == is_good && (is_good || r.at == bytes));
        }
    static const uint64_t largest = (UINT64_C(1) << 29) - 1;
    static const struct {
        uint64_t tag;
        bool is_good;
    } cases[] = {{largest << 3, true},
                 {(largest + 1) << 3, false},
                 {UINT64_C(1) << 35 | 8, false}, /* 1, were it cut to 32 bits */
                 {UINT64_MAX & ~UINT64_C(7), false}};
    for (size_t way = 0; way < 2; way++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            uint8_t bytes[24] = {0};
            pd_varint_encode(bytes, cases[i].tag);
            pd_reader r = pd_reader_of(bytes, sizeof bytes);
            pd_field f;
            CHECK(both[way](&r, &f) == cases[i].is_good);
            CHECK(!cases[i].is_good || f.number == largest);
        }
}

/* Of a field that is cut off: what is asked for is never more than it takes, always more than is
 * there, and leads there. */
TEST(the_size_of_a_cut_field_is_known)
{
    rng r = {9};
    for (int i = 0; i < 3000; i++) {
        uint8_t bytes[400] = {0}, *end = bytes;
        static const uint32_t wires[] = {PD_WIRE_VARINT, PD_WIRE_FIXED64, PD_WIRE_BYTES,
                                         PD_WIRE_FIXED32};
        uint32_t wire = wires[rng_below(&r, 4)];
        size_t body = rng_below(&r, 300);
        end = pd_varint_encode(end, (1 + rng_below(&r, 1 << 20)) << 3 | wire);
        if (wire == PD_WIRE_VARINT)
            end = pd_varint_encode(end, rng_next(&r) >> rng_below(&r, 64));
        else if (wire == PD_WIRE_BYTES)
            end = pd_varint_encode(end, body) + body;
        else
            end += wire == PD_WIRE_FIXED64 ? 8 : 4;
        size_t len = (size_t)(end - bytes);
        for (size_t cut = 1; cut < len; cut++) {
            pd_reader run = pd_reader_of(bytes, cut);
            pd_field f;
            REQUIRE(!pd_reader_next(&run, &f) && run.trouble);
            uint64_t need = pd_reader_lacks(&run);
            CHECK(need > cut && need <= len);
        }
    }
    static const uint8_t bad[][12] = {
        {0x0b}, {0}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
    for (size_t i = 0; i < 3; i++) {
        pd_reader run = pd_reader_of(bad[i], sizeof bad[i]);
        pd_field f;
        CHECK(!pd_reader_next(&run, &f) && pd_reader_lacks(&run) <= sizeof bad[i]);
    }
}

TEST_MAIN()
