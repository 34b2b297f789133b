/* What comes in parts is one gzip member that every reader takes for what went in: at every level,
 * whatever a part ends with. */
#include "member_kit.h"

TEST(one_member_of_all_parts)
{
    rng r = {7};
    for (int way = 0; way < 10 * 8; way++) {
        const size_t lens[] = {0, SPLIT - 1, SPLIT, SPLIT + 1, (size_t)2 * SPLIT};
        size_t len = way / 10 < 5 ? lens[way / 10] : rng_below(&r, LONGEST), part;
        make(&r, len, (unsigned)(way / 10 * 14));
        joiner j = join_begin(way % 10);
        while (j.at < len) {
            part = rng_below(&r, rng_chance(&r, 20) ? 2 * SPLIT + SPLIT / 2 : 70000);
            join_part(&j, part < len - j.at ? part : len - j.at, false);
        }
        join_part(&j, 0, true);
        CHECK_MSG(is_member_of(len), "level %d, %zu bytes", way % 10, len);
    }
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

TEST_MAIN(CASE(one_member_of_all_parts), CASE(only_whole_deflate_data_are_opened))
