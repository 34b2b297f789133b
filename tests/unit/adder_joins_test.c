/* How profiles join: which windows follow each other, the message about a gap, sums of sums. */
#include "../support/test.h"

#include "sums.h"

typedef struct part {
    int64_t from, to;
    unsigned sequence;   /* 0 with restart NULL: a cumulative profile; with "": a two-file delta */
    const char *restart; /* why */
    pprofdelta_joint joint;
} part;

typedef struct joining {
    part parts[4];
    size_t len;
    const char *refused; /* what is said of the last part; NULL: all join */
    const char *sum;     /* of the first counter, where they do: the parts count 1, 10, 100 ... */
    const char *stamp;   /* of the sum; NULL: it is cumulative */
} joining;

static const joining joinings[] = {
    {{{0, 10, 1, NULL, PPROFDELTA_JOINT_FIRST}}, 1, NULL, "1", NULL},
    {{{0, 10, 1, NULL, PPROFDELTA_JOINT_FIRST},
      {10, 20, 2, NULL, PPROFDELTA_JOINT_NEXT},
      {20, 30, 3, NULL, PPROFDELTA_JOINT_NEXT}},
     3,
     NULL,
     "111",
     NULL},
    {{{0, 10, 0, NULL, PPROFDELTA_JOINT_FIRST}, {10, 20, 7, NULL, PPROFDELTA_JOINT_NEXT}},
     2,
     NULL,
     "11",
     NULL},
    {{{0, 10, 0, NULL, PPROFDELTA_JOINT_FIRST}, {10, 20, 0, "", PPROFDELTA_JOINT_NEXT}},
     2,
     NULL,
     "11",
     NULL},
    {{{5, 10, 4, NULL, PPROFDELTA_JOINT_FIRST}, {10, 20, 5, NULL, PPROFDELTA_JOINT_NEXT}},
     2,
     NULL,
     "11",
     "pprofdelta: delta from=5 to=20"},
    /* sent again, with more, with the same, with less */
    {{{0, 10, 1, NULL, PPROFDELTA_JOINT_FIRST},
      {10, 20, 2, NULL, PPROFDELTA_JOINT_NEXT},
      {10, 30, 2, NULL, PPROFDELTA_JOINT_AGAIN},
      {30, 40, 3, NULL, PPROFDELTA_JOINT_NEXT}},
     4,
     NULL,
     "1101",
     NULL},
    {{{0, 10, 1, NULL, PPROFDELTA_JOINT_FIRST},
      {0, 10, 1, NULL, PPROFDELTA_JOINT_EQUAL},
      {0, 20, 1, NULL, PPROFDELTA_JOINT_AGAIN},
      {20, 30, 2, NULL, PPROFDELTA_JOINT_NEXT}},
     4,
     NULL,
     "1100",
     NULL},
    {{{0, 10, 1, NULL, PPROFDELTA_JOINT_FIRST},
      {10, 30, 2, NULL, PPROFDELTA_JOINT_NEXT},
      {10, 20, 2, NULL, PPROFDELTA_JOINT_STALE},
      {30, 40, 3, NULL, PPROFDELTA_JOINT_NEXT}},
     4,
     NULL,
     "1011",
     NULL},
    {{{5, 10, 4, NULL, PPROFDELTA_JOINT_FIRST}, {5, 20, 4, NULL, PPROFDELTA_JOINT_AGAIN}},
     2,
     NULL,
     "10",
     "pprofdelta: delta from=5 to=20"},
    /* restarts */
    {{{0, 10, 1, NULL, PPROFDELTA_JOINT_FIRST}, {10, 20, 2, "mass", PPROFDELTA_JOINT_RESTART}},
     2,
     NULL,
     "11",
     NULL},
    {{{10, 20, 2, "build_id", PPROFDELTA_JOINT_FIRST}, {20, 30, 3, NULL, PPROFDELTA_JOINT_NEXT}},
     2,
     NULL,
     "11",
     NULL},
    {{{0, 10, 1, NULL, PPROFDELTA_JOINT_FIRST},
      {10, 20, 2, NULL, PPROFDELTA_JOINT_NEXT},
      {20, 30, 3, "mass acked=1", PPROFDELTA_JOINT_RESTART}, /* 2 went out, but nobody was told */
      {20, 40, 3, "mass acked=1", PPROFDELTA_JOINT_AGAIN}},
     4,
     NULL,
     "1011",
     NULL},
    {{{0, 10, 1, NULL, PPROFDELTA_JOINT_FIRST},
      {30, 40, 4, "mass acked=1", PPROFDELTA_JOINT_ENDED}},
     2,
     NULL,
     "11",
     NULL},
    {{{0, 10, 1, NULL, PPROFDELTA_JOINT_FIRST},
      {10, 20, 2, NULL, PPROFDELTA_JOINT_NEXT},
      {25, 40, 3, "mass acked=1", PPROFDELTA_JOINT_ENDED}, /* the last attempt at 2 is missing */
      {40, 50, 4, NULL, PPROFDELTA_JOINT_NEXT}},
     4,
     NULL,
     "1111",
     NULL},
    {{{20, 30, 2, "mass acked=0", PPROFDELTA_JOINT_FIRST},
      {30, 40, 3, NULL, PPROFDELTA_JOINT_NEXT}},
     2,
     NULL,
     "11",
     NULL},
    {{{0, 10, 1, NULL, PPROFDELTA_JOINT_FIRST},
      {30, 40, 4, "mass acked=2", PPROFDELTA_JOINT_ENDED}},
     2,
     "window 2 is missing",
     NULL,
     NULL},
    {{{0, 10, 1, NULL, PPROFDELTA_JOINT_FIRST},
      {10, 20, 2, NULL, PPROFDELTA_JOINT_NEXT},
      {15, 40, 3, "mass acked=1", PPROFDELTA_JOINT_ENDED}},
     3,
     "two states",
     NULL,
     NULL},
    /* profiles that never say what time it is */
    {{{0, 0, 0, NULL, PPROFDELTA_JOINT_FIRST},
      {0, 0, 0, "", PPROFDELTA_JOINT_UNTIMED},
      {0, 0, 0, "", PPROFDELTA_JOINT_UNTIMED}},
     3,
     NULL,
     "111",
     NULL},
    {{{0, 0, 1, NULL, PPROFDELTA_JOINT_FIRST},
      {0, 0, 2, NULL, PPROFDELTA_JOINT_NEXT},
      {0, 0, 2, NULL, PPROFDELTA_JOINT_EQUAL}},
     3,
     NULL,
     "11",
     NULL},
    {{{0, 0, 0, NULL, PPROFDELTA_JOINT_FIRST}, {0, 0, 0, NULL, PPROFDELTA_JOINT_NEXT}},
     2,
     "no stamp",
     NULL,
     NULL},
    {{{0, 0, 1, NULL, PPROFDELTA_JOINT_FIRST}, {0, 0, 3, NULL, PPROFDELTA_JOINT_NEXT}},
     2,
     "window 2 is missing",
     NULL,
     NULL},
    /* what does not */
    {{{0, 10, 1, NULL, PPROFDELTA_JOINT_FIRST}, {20, 30, 3, NULL, PPROFDELTA_JOINT_NEXT}},
     2,
     "window 2 is missing",
     NULL,
     NULL},
    {{{0, 10, 1, NULL, PPROFDELTA_JOINT_FIRST}, {40, 50, 9, NULL, PPROFDELTA_JOINT_NEXT}},
     2,
     "windows 2 to 8 are missing",
     NULL,
     NULL},
    {{{5, 10, 3, NULL, PPROFDELTA_JOINT_FIRST}, {1, 5, 2, NULL, PPROFDELTA_JOINT_NEXT}},
     2,
     "window 2 comes after window 3",
     NULL,
     NULL},
    {{{0, 10, 1, NULL, PPROFDELTA_JOINT_FIRST}, {11, 20, 2, NULL, PPROFDELTA_JOINT_NEXT}},
     2,
     "two states",
     NULL,
     NULL},
    {{{5, 10, 3, NULL, PPROFDELTA_JOINT_FIRST}, {6, 12, 3, NULL, PPROFDELTA_JOINT_NEXT}},
     2,
     "two windows 3",
     NULL,
     NULL},
    {{{0, 10, 0, NULL, PPROFDELTA_JOINT_FIRST}, {0, 20, 1, NULL, PPROFDELTA_JOINT_NEXT}},
     2,
     "counts from the beginning",
     NULL,
     NULL},
    {{{5, 10, 3, NULL, PPROFDELTA_JOINT_FIRST}, {0, 20, 1, NULL, PPROFDELTA_JOINT_NEXT}},
     2,
     "counts from the beginning",
     NULL,
     NULL},
    {{{0, 10, 0, NULL, PPROFDELTA_JOINT_FIRST}, {0, 20, 0, NULL, PPROFDELTA_JOINT_NEXT}},
     2,
     "no stamp",
     NULL,
     NULL},
    {{{0, 10, 0, NULL, PPROFDELTA_JOINT_FIRST}, {12, 20, 3, NULL, PPROFDELTA_JOINT_NEXT}},
     2,
     "from 1970-01-01T00:00:00.00000001Z to 1970-01-01T00:00:00.000000012Z is missing",
     NULL,
     NULL},
    {{{0, 10, 0, NULL, PPROFDELTA_JOINT_FIRST}, {8, 20, 0, "", PPROFDELTA_JOINT_NEXT}},
     2,
     "overlap: the first ends at 1970-01-01T00:00:00.00000001Z and the second begins at "
     "1970-01-01T00:00:00.000000008Z",
     NULL,
     NULL},
    {{{0, 0, 0, NULL, PPROFDELTA_JOINT_FIRST}, {8, 20, 0, "", PPROFDELTA_JOINT_NEXT}},
     2,
     "may be missing",
     NULL,
     NULL},
    {{{0, 10, 0, NULL, PPROFDELTA_JOINT_FIRST}, {0, 20, 0, "", PPROFDELTA_JOINT_NEXT}},
     2,
     "may be missing",
     NULL,
     NULL},
    {{{5, 10, 2, NULL, PPROFDELTA_JOINT_FIRST},
      {10, 30, 3, "mass", PPROFDELTA_JOINT_RESTART},
      {10, 20, 3, NULL, PPROFDELTA_JOINT_NEXT}},
     3,
     "two states",
     NULL,
     NULL},
};

static const char *const ones[] = {"1 1 7 7", "10 1 7 7", "100 1 7 7", "1000 1 7 7"};

static pprofdelta_status join_parts(const joining *j, pprofdelta_adder *adder, size_t number,
                                    pprofdelta_error *err)
{
    pprofdelta_status status = PPROFDELTA_OK;
    for (size_t i = 0; i < j->len && !status; i++) {
        build b;
        const part *p = &j->parts[i];
        pprofdelta_joint joint = PPROFDELTA_JOINT_FORCED;
        buf bytes = sums_window(&b, p->from, p->to, p->sequence, p->restart, ones[i]);
        status = pprofdelta_adder_add(adder, bytes.ptr, bytes.len, &joint, err);
        CHECK_MSG(!status || i == j->len - 1, "case %zu, part %zu: %s", number, i, err->text);
        CHECK_MSG(status || joint == p->joint, "case %zu, part %zu: %d", number, i, joint);
        build_free(&b);
    }
    return status;
}

static void check_sum(const joining *j, buf bytes, size_t number)
{
    arena a = {0};
    reading r = sums_read(&a, bytes);
    char text[32];
    REQUIRE(r.samples_len == 1);
    snprintf(text, sizeof text, "%lld", (long long)r.samples[0].values[0]);
    CHECK_MSG(!strcmp(text, j->sum), "case %zu: %s, not %s", number, text, j->sum);
    CHECK_MSG(r.samples[0].values[2] == 7, "case %zu: gauges are the last one's", number);
    CHECK_MSG(r.view->n_comment == (j->stamp ? 1 : 0), "case %zu", number);
    if (j->stamp && r.view->n_comment)
        CHECK_STR(reading_string(&r, r.view->comment[0]), j->stamp);
    arena_free(&a);
}

TEST(windows_join_or_the_message_names_the_gap)
{
    for (size_t i = 0; i < sizeof joinings / sizeof *joinings; i++) {
        const joining *j = &joinings[i];
        arena a = {0};
        pprofdelta_adder *adder;
        pprofdelta_error err = {0};
        collector c = {.bytes = buf_begin(&a)};
        pprofdelta_sink sink = collector_sink(&c);
        REQUIRE(pprofdelta_adder_new(NULL, NULL, &adder, NULL) == PPROFDELTA_OK);
        pprofdelta_status status = join_parts(j, adder, i, &err);
        CHECK_MSG(status == (j->refused ? PPROFDELTA_E_MISMATCH : PPROFDELTA_OK), "case %zu: %s", i,
                  err.text);
        CHECK_MSG(!j->refused || strstr(err.text, j->refused), "case %zu: %s", i, err.text);
        bool names_gap =
            j->refused && (strstr(j->refused, "is missing") || strstr(j->refused, "are"));
        CHECK_MSG((err.reason == PPROFDELTA_REASON_WINDOW_MISSING) == names_gap, "case %zu", i);
        /* What was refused is not in it. */
        CHECK(pprofdelta_adder_finish(adder, &sink, &err) == PPROFDELTA_OK);
        if (!j->refused)
            check_sum(j, c.bytes, i);
        pprofdelta_adder_free(adder);
        arena_free(&a);
    }
}

TEST(force_adds_windows_that_do_not_join)
{
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.flags = PPROFDELTA_FORCE;
    arena a = {0};
    build b[3];
    buf parts[] = {sums_window(&b[0], 0, 10, 0, NULL, "1 1 5 5"),
                   sums_window(&b[1], 90, 100, 9, NULL, "10 1 6 6"),
                   sums_window(&b[2], 0, 50, 0, NULL, "100 1 7 7")};
    pprofdelta_status status;
    pprofdelta_error err;
    buf bytes = sums_add(&a, &options, parts, 3, &status, &err);
    REQUIRE(status == PPROFDELTA_OK);
    reading r = sums_read(&a, bytes);
    CHECK(r.samples_len == 1 && r.samples[0].values[0] == 111 && r.samples[0].values[2] == 7);
    for (size_t i = 0; i < 3; i++)
        build_free(&b[i]);
    arena_free(&a);
}

/* The time of what was added by force is from the first beginning to the last end, in any order. */
TEST(force_never_makes_a_negative_duration)
{
    static const struct {
        int64_t times[3][2], duration, time;
    } orders[] = {{{{200, 260}, {100, 150}, {120, 130}}, 160, 260},
                  {{{100, 110}, {300, 400}, {200, 210}}, 300, 400},
                  {{{100, 110}, {0, 90}, {200, 210}}, 0, 210}, /* the beginning is not known */
                  {{{0, 110}, {20, 90}, {200, 210}}, 0, 210}};
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.flags = PPROFDELTA_FORCE;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        arena a = {0};
        build b[3];
        buf parts[3];
        pprofdelta_status status;
        pprofdelta_error err;
        for (size_t j = 0; j < 3; j++)
            parts[j] = sums_window(&b[j], orders[i].times[j][0], orders[i].times[j][1], 0, NULL,
                                   "1 1 5 5");
        buf bytes = sums_add(&a, &options, parts, 3, &status, &err);
        REQUIRE(status == PPROFDELTA_OK);
        reading r = sums_read(&a, bytes);
        CHECK_MSG(r.view->duration_nanos == orders[i].duration, "%zu", i);
        CHECK_MSG(r.view->time_nanos == orders[i].time, "%zu", i);
        for (size_t j = 0; j < 3; j++)
            build_free(&b[j]);
        arena_free(&a);
    }
}

/* A longer window is a delta, and can be added like one. */
TEST(sums_can_be_added)
{
    arena a = {0};
    build b[4];
    buf one = sums_window(&b[0], 0, 10, 1, NULL, "1 1 5 5");
    buf later[] = {sums_window(&b[1], 10, 20, 2, NULL, "10 1 6 6"),
                   sums_window(&b[2], 20, 30, 3, NULL, "100 1 7 7")};
    pprofdelta_status status;
    pprofdelta_error err;
    buf hour = sums_add(&a, NULL, later, 2, &status, &err);
    REQUIRE(status == PPROFDELTA_OK);
    buf all[] = {one, hour, sums_window(&b[3], 30, 40, 4, NULL, "1000 1 8 8")};
    buf bytes = sums_add(&a, NULL, all, 3, &status, &err);
    REQUIRE(status == PPROFDELTA_OK);
    reading h = sums_read(&a, hour), r = sums_read(&a, bytes);
    CHECK(h.view->duration_nanos == 20 && h.view->time_nanos == 30);
    CHECK(r.samples_len == 1 && r.samples[0].values[0] == 1111 && r.samples[0].values[3] == 8);
    CHECK(r.view->duration_nanos == 0 && r.view->time_nanos == 40 && r.view->n_comment == 0);
    for (size_t i = 0; i < 4; i++)
        build_free(&b[i]);
    arena_free(&a);
}

TEST_MAIN(CASE(windows_join_or_the_message_names_the_gap),
          CASE(force_adds_windows_that_do_not_join), CASE(force_never_makes_a_negative_duration),
          CASE(sums_can_be_added))
