/* What comes in parts is one gzip member that every reader takes for what went in: at every level,
 * whatever a part ends with. */
#include "codec/member.h"
#include "member_kit.h"

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

TEST_MAIN(CASE(one_member_of_all_parts), CASE(only_whole_deflate_data_are_opened),
          CASE(parts_fail_without_a_trace))
