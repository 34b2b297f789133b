/* What two threads compress, or what comes in parts, is one gzip member that every reader takes for
 * what went in: at every level, whatever a part ends with, in whichever order the two are done. */
#include "codec/deflate.h"
#include "codec/member.h"
#include "rng.h"
#include "test.h"

#include <stdlib.h>
#include <zlib.h>

enum { SPLIT = 256 << 10, LONGEST = 3 << 20 };

typedef struct kept {
    uint8_t bytes[LONGEST + (1 << 16)];
    size_t len;
    bool refuses;
} kept;

static int keep(void *cookie, const void *data, size_t len)
{
    kept *k = cookie;
    if (k->refuses || len > sizeof k->bytes - k->len)
        return -1;
    memcpy(k->bytes + k->len, data, len);
    k->len += len;
    return 0;
}

static uint8_t in[LONGEST], back[LONGEST + 1];
static kept out;

/* Runs of what was there before, of one byte, and of noise. */
static void make(rng *r, size_t len, unsigned noise)
{
    for (size_t at = 0; at < len;) {
        size_t run = 1 + rng_below(r, 300), kind = rng_below(r, 100);
        run = run < len - at ? run : len - at;
        size_t far = at ? 1 + rng_below(r, at < 40000 ? at : 40000) : 0;
        for (size_t i = 0; i < run; i++)
            in[at + i] = kind < noise ? (uint8_t)rng_next(r) : far ? in[at + i - far] : 7;
        at += run;
    }
}

/* Is it one member, to the last byte, of this input? */
static bool is_member_of(size_t len)
{
    z_stream z = {.next_in = out.bytes,
                  .avail_in = (uInt)out.len,
                  .next_out = back,
                  .avail_out = sizeof back};
    if (inflateInit2(&z, 15 + 16) != Z_OK)
        return false;
    int end = inflate(&z, Z_FINISH);
    bool is_whole = end == Z_STREAM_END && !z.avail_in && z.total_out == len;
    inflateEnd(&z);
    return is_whole && !memcmp(back, in, len);
}

static pprofdelta_status compress_two(pd_deflater *d, pd_mem *mem, size_t len, bool second_first)
{
    pd_deflate_two two;
    uint64_t written = 0;
    pprofdelta_sink sink = {keep, &out};
    out.len = 0;
    pprofdelta_status status = pd_deflate_two_begin(&two, d, mem, in, len, NULL);
    if (status)
        return status;
    uint64_t used = mem->used;
    if (second_first)
        pd_deflate_two_second(&two);
    pd_deflate_two_first(&two);
    if (!second_first)
        pd_deflate_two_second(&two);
    CHECK(mem->used == used);
    status = pd_deflate_two_finish(&two, &sink, &written, NULL);
    CHECK(status || written == out.len);
    pd_deflate_two_end(&two);
    return status;
}

TEST(one_member_of_what_went_in)
{
    rng r = {3};
    pd_mem mem;
    pd_mem_init(&mem, NULL, UINT64_C(1) << 30);
    for (int level = 0; level <= 9; level++) {
        pd_deflater d = {.compression = PPROFDELTA_GZIP, .level = level};
        for (int i = 0; i < 12; i++) {
            size_t len = i == 0   ? SPLIT - 1
                         : i == 1 ? SPLIT
                                  : SPLIT + rng_below(&r, i == 2 ? LONGEST - SPLIT : SPLIT);
            make(&r, len, (unsigned)(i * 9));
            CHECK(compress_two(&d, &mem, len, i % 2) == PPROFDELTA_OK);
            CHECK_MSG(is_member_of(len), "level %d, %zu bytes", level, len);
        }
        pd_deflater_fini(&d, &mem);
    }
    CHECK(mem.used == 0);
}

static pprofdelta_status compress_parts(pd_deflater *d, pd_mem *mem, rng *r, size_t len)
{
    uint64_t written = 0;
    pprofdelta_sink sink = {keep, &out};
    out.len = 0;
    pprofdelta_status status = pd_deflate_begin(d, mem, NULL);
    for (size_t at = 0, part; at < len && !status; at += part) {
        part = rng_below(r, rng_chance(r, 20) ? 2 * SPLIT + SPLIT / 2 : 70000);
        part = part < len - at ? part : len - at;
        status = pd_deflate_part(d, mem, in + at, part, false, NULL);
    }
    if (!status)
        status = pd_deflate_part(d, mem, NULL, 0, true, NULL);
    if (!status)
        status = pd_deflate_write(d, &sink, &written, NULL);
    CHECK(status || written == out.len);
    return status;
}

TEST(one_member_of_all_parts)
{
    rng r = {7};
    pd_mem mem;
    pd_mem_init(&mem, NULL, UINT64_C(1) << 30);
    for (int level = 0; level <= 9; level++) {
        pd_deflater d = {.compression = PPROFDELTA_GZIP, .level = level};
        for (int i = 0; i < 8; i++) {
            size_t lens[] = {0, SPLIT - 1, SPLIT, SPLIT + 1, 2 * SPLIT};
            size_t len = i < 5 ? lens[i] : rng_below(&r, LONGEST);
            make(&r, len, (unsigned)(i * 14));
            CHECK(compress_parts(&d, &mem, &r, len) == PPROFDELTA_OK);
            CHECK_MSG(is_member_of(len), "level %d, %zu bytes", level, len);
        }
        pd_deflater_fini(&d, &mem);
    }
    CHECK(mem.used == 0);
}

TEST(the_member_does_not_tell_how_the_parts_were_cut)
{
    rng r = {11};
    pd_mem mem;
    pd_mem_init(&mem, NULL, UINT64_C(1) << 30);
    pd_deflater d = {.compression = PPROFDELTA_GZIP};
    size_t len = 3 * SPLIT + 1234, first_len = 0;
    make(&r, len, 30);
    for (int i = 0; i < 5; i++) {
        CHECK(compress_parts(&d, &mem, &r, len) == PPROFDELTA_OK);
        if (i == 0)
            memcpy(back, out.bytes, first_len = out.len);
        CHECK(out.len == first_len && !memcmp(back, out.bytes, first_len));
    }
    pd_deflater_fini(&d, &mem);
}

TEST(only_whole_deflate_data_are_opened)
{
    static pd_member_check check;
    uint8_t empty[3 + PD_MEMBER_JOINT] = {0x03, 0x00}, data[] = {0x03, 0xff, 0xff, 0xff};
    CHECK(pd_member_open(&check, empty, 1) == 0);
    CHECK(pd_member_open(&check, empty, 2) != 0);
    CHECK(empty[0] == 0x02); /* no longer the final block */
    data[0] = 0x07;          /* a kind of block that there is not */
    CHECK(pd_member_open(&check, data, sizeof data) == 0);
    CHECK(pd_member_open(&check, data, 0) == 0);
}

TEST(other_compressions_and_small_inputs_are_one_part)
{
    rng r = {5};
    pd_mem mem;
    pd_mem_init(&mem, NULL, UINT64_C(1) << 30);
    make(&r, SPLIT * 2, 30);
    for (int c = PPROFDELTA_GZIP; c <= PPROFDELTA_PLAIN; c++) {
        size_t len = c == PPROFDELTA_GZIP ? SPLIT / 2 : SPLIT * 2;
        pd_deflater d = {.compression = (pprofdelta_compression)c};
        CHECK(compress_two(&d, &mem, len, true) == PPROFDELTA_OK);
        size_t two_len = out.len;
        memcpy(back, out.bytes, two_len);
        uint64_t written;
        pprofdelta_sink sink = {keep, &out};
        out.len = 0;
        CHECK(pd_deflate(&d, &mem, in, len, &sink, &written, NULL) == PPROFDELTA_OK);
        CHECK(out.len == two_len && !memcmp(back, out.bytes, two_len));
        pd_deflater_fini(&d, &mem);
    }
}

TEST(parts_fail_without_a_trace)
{
    size_t len = SPLIT * 3, failures = 0;
    make(&(rng){13}, len, 30);
    for (uint64_t limit = 0;; limit += 50000) {
        pd_mem mem;
        pd_mem_init(&mem, NULL, limit);
        pd_deflater d = {.compression = PPROFDELTA_GZIP};
        rng r = {13};
        pprofdelta_status status = compress_parts(&d, &mem, &r, len);
        pd_deflater_fini(&d, &mem);
        CHECK(mem.used == 0);
        if (!status)
            break;
        failures++;
        CHECK(status == PPROFDELTA_E_LIMIT && !out.len);
    }
    CHECK(failures > 2);
}

TEST(failures_leave_nothing)
{
    rng r = {9};
    size_t len = SPLIT * 2;
    make(&r, len, 30);
    size_t failures = 0;
    for (uint64_t limit = 0;; limit += 100000) {
        pd_mem mem;
        pd_mem_init(&mem, NULL, limit);
        pd_deflater d = {.compression = PPROFDELTA_GZIP};
        pprofdelta_status status = compress_two(&d, &mem, len, false);
        pd_deflater_fini(&d, &mem);
        CHECK(mem.used == 0);
        if (!status)
            break;
        failures++;
        CHECK(status == PPROFDELTA_E_LIMIT && !out.len);
    }
    CHECK(failures > 2);
    pd_mem mem;
    pd_mem_init(&mem, NULL, UINT64_C(1) << 30);
    pd_deflater d = {.compression = PPROFDELTA_GZIP};
    out.refuses = true;
    CHECK(compress_two(&d, &mem, len, false) == PPROFDELTA_E_SINK);
    out.refuses = false;
    CHECK(compress_two(&d, &mem, len, false) == PPROFDELTA_OK && is_member_of(len));
    pd_deflater_fini(&d, &mem);
    CHECK(mem.used == 0);
}

TEST_MAIN(CASE(one_member_of_what_went_in), CASE(one_member_of_all_parts),
          CASE(the_member_does_not_tell_how_the_parts_were_cut),
          CASE(only_whole_deflate_data_are_opened), CASE(parts_fail_without_a_trace),
          CASE(other_compressions_and_small_inputs_are_one_part), CASE(failures_leave_nothing))
