/* Which deflate data can be opened; what becomes of it is tested with the encoder. */
#include "codec/member.h"
#include "test.h"

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

TEST_MAIN(CASE(only_whole_deflate_data_are_opened))
