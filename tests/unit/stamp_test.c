/* Stamps: written and read back, which are valid and which are not. */
#include "../support/test.h"

#include "profile/stamp.h"
#include "rows.h"

static pd_bytes bytes_of(const char *text)
{
    return (pd_bytes){(const uint8_t *)text, strlen(text)};
}

static pprofdelta_stamp read_back(const pprofdelta_stamp *in)
{
    pprofdelta_stamp out;
    char text[PD_STAMP_MAX];
    memset(&out, 0x5a, sizeof out);
    size_t len = pd_stamp_write(in, 0, text);
    CHECK(len < PD_STAMP_MAX && strlen(text) == len);
    CHECK(pd_stamp_read((pd_bytes){(const uint8_t *)text, len}, &out));
    return out;
}

TEST(a_written_stamp_is_read_back)
{
    static const int64_t times[] = {0, 1, -1, INT64_MAX, INT64_MIN, 1795251404323304910};
    static const uint64_t sequences[] = {0, 1, 10, UINT64_MAX};
    enum { TIMES = sizeof times / sizeof *times };
    for (size_t i = 0; i < (size_t)TIMES * TIMES * 4 * 6; i++) {
        pprofdelta_stamp in = {.is_delta = 1,
                               .from_nanos = times[i % TIMES],
                               .to_nanos = times[i / TIMES % TIMES],
                               .sequence = sequences[i / TIMES / TIMES % 4],
                               .attempt = sequences[i / TIMES / TIMES % 4 * (i % 4 != 0)],
                               .restart = (pprofdelta_restart)(i / TIMES / TIMES / 4)};
        if (in.sequence)
            in.acked = i % 3 ? in.sequence - 1 : in.sequence / 2;
        pprofdelta_stamp out = read_back(&in);
        CHECK(out.is_delta && out.from_nanos == in.from_nanos && out.to_nanos == in.to_nanos &&
              out.sequence == in.sequence && out.restart == in.restart);
        CHECK(out.attempt == in.attempt && out.acked == in.acked);
    }
}

TEST(the_text_is_fixed)
{
    char text[PD_STAMP_MAX];
    pd_stamp_write(&(pprofdelta_stamp){.is_delta = 1, .from_nanos = 5, .to_nanos = 6}, 0, text);
    CHECK_STR(text, "pprofdelta: delta from=5 to=6");
    pd_stamp_write(&(pprofdelta_stamp){.is_delta = 1,
                                       .from_nanos = 5,
                                       .to_nanos = 6,
                                       .sequence = 7,
                                       .attempt = 3,
                                       .acked = 6,
                                       .restart = PPROFDELTA_RESTART_BUILD_ID},
                   0, text);
    CHECK_STR(text, "pprofdelta: delta from=5 to=6 seq=7 attempt=3 restart=build_id");
    pd_stamp_write(&(pprofdelta_stamp){.is_delta = 1, .sequence = 7, .attempt = 1, .acked = 4}, 0,
                   text);
    CHECK_STR(text, "pprofdelta: delta from=0 to=0 seq=7 attempt=1 acked=4");
}

TEST(a_written_live_stamp_is_read_back)
{
    static const uint64_t numbers[] = {1, 2, UINT64_MAX - 1};
    for (unsigned i = 0; i < 3 * 3 * 3 * 3; i++) {
        uint64_t a = numbers[i % 3], b = numbers[i / 3 % 3], first = i / 9 % 3 ? a : 1;
        pprofdelta_stamp in = {.live = (pprofdelta_live)(1 + i / 27),
                               .from_nanos = INT64_MIN,
                               .to_nanos = INT64_MAX,
                               .sequence = a,
                               .first = first,
                               .epoch = b,
                               .attempt = i % 2 ? UINT64_MAX : i,
                               .id = i % 2 ? UINT64_MAX : i};
        in.is_delta = in.live != PPROFDELTA_LIVE_FULL;
        pprofdelta_stamp out = read_back(&in);
        CHECK(out.live == in.live && out.is_delta == in.is_delta && out.id == in.id);
        CHECK(out.sequence == a && out.epoch == b && out.first == first && !out.restart);
        CHECK(out.attempt == in.attempt);
        CHECK(out.from_nanos == INT64_MIN && out.to_nanos == INT64_MAX);
    }
}

TEST(unknown_words_are_skipped)
{
    pprofdelta_stamp out;
    CHECK(pd_stamp_read(bytes_of("pprofdelta: delta to=6 host=a=b  from=5 x seq=7 "), &out));
    CHECK(out.from_nanos == 5 && out.to_nanos == 6 && out.sequence == 7 && !out.restart);
}

static void check_wrong(const char *text)
{
    pprofdelta_stamp out = {.sequence = 99};
    CHECK_MSG(!pd_stamp_read(bytes_of(text), &out), "%s", text);
    CHECK(out.sequence == 99);
}

TEST(other_comments_are_not_stamps)
{
    table_rows r = {0};
    check_wrong("");
    while (rows_next(&r, "stamps", "wrong"))
        check_wrong(r.cells[0]);
}

TEST_MAIN()
