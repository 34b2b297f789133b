/* Varints: every length, every truncation, padding. fuzz_reader.c compares fields with protobuf-c, and the
 * hostile files have the invalid ones. All input is in a block of its exact size, so that a sanitizer finds
 * reads past it. */
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

TEST_MAIN()
