/* Stamps: written and read back, which are valid and which are not. */
#include "../support/test.h"

#include "profile/stamp.h"

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

TEST(other_comments_are_not_stamps)
{
    static const char *const wrong[] = {
        "",
        "pprofdelta",
        "pprofdelta: delt",
        "pprofdelta: delta",
        "pprofdelta: deltas from=1 to=2",
        "pprofdelta: delta from=1",
        "pprofdelta: delta to=1",
        "pprofdelta: delta from= to=1",
        "pprofdelta: delta from=1x to=1",
        "pprofdelta: delta from=- to=1",
        "pprofdelta: delta from=9223372036854775808 to=1",
        "pprofdelta: delta from=-9223372036854775809 to=1",
        "pprofdelta: delta from=1 to=2 seq=-1",
        "pprofdelta: delta from=1 to=2 seq=18446744073709551616",
        "pprofdelta: delta from=1 to=2 seq=1 attempt=",
        "pprofdelta: delta from=1 to=2 seq=1 attempt=-1",
        "pprofdelta: delta from=1 to=2 seq=1 attempt=18446744073709551616",
        "pprofdelta: delta from=1 to=2 restart=maybe",
        "pprofdelta: delta from=1 to=2 restart=",
        " pprofdelta: delta from=1 to=2",
        "pprofdelta: live",
        "pprofdelta: live epoch=1 seq=2 kind=delta from=1 to=2",
        "pprofdelta: live epoch=1 seq=2 kind=delta from=1 id=1",
        "pprofdelta: live epoch=1 seq=2 kind=delta to=2 id=1",
        "pprofdelta: live epoch=1 kind=delta from=1 to=2 id=1",
        "pprofdelta: live seq=2 kind=full from=1 to=2 id=1",
        "pprofdelta: live epoch=1 seq=2 from=1 to=2 id=1",
        "pprofdelta: live epoch=1 seq=2 kind= from=1 to=2 id=1",
        "pprofdelta: live epoch=1 seq=2 kind=deltas from=1 to=2 id=1",
        "pprofdelta: live epoch=1 seq=2 kind=delta from=1 to=2 id=",
        "pprofdelta: live epoch=1 seq=2 kind=delta from=1 to=2 id=1g",
        "pprofdelta: live epoch=1 seq=2 kind=delta from=1 to=2 id=10000000000000000",
        "pprofdelta: live epoch=1 seq=0 kind=delta from=1 to=2 id=1",
        "pprofdelta: live epoch=1 seq=18446744073709551615 kind=delta from=1 to=2 id=1",
        "pprofdelta: live epoch=1 seq=2 first=3 kind=delta from=1 to=2 id=1",
        "pprofdelta: live epoch=1 seq=2 first=0 kind=delta from=1 to=2 id=1",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        pprofdelta_stamp out = {.sequence = 99};
        CHECK_MSG(!pd_stamp_read(bytes_of(wrong[i]), &out), "%s", wrong[i]);
        CHECK(out.sequence == 99);
    }
}

TEST_MAIN()
