/* Sums: how profiles join, with the messages about gaps; the law that a sum is the inverse of the
 * subtraction; errors. fuzz_sum.c compares sums with a naive one, also where memory is short. */
#include "sum_scene.h"

#include "otlp_model.h"

#include <ctype.h>

/* ---- How profiles join ----------------------------------------------------------------------- */

/* The parts of a sum, as "FROM-TO[: WORDS OF THE STAMP][ >JOIN]". Without a colon it is a cumulative
 * profile; without a sequence a two-file delta. Without a join it is that of the first part or the
 * next one. */
typedef struct joining {
    const char *parts;
    const char *want;  /* digits: the sum of the first counter, of parts that count 1, 10, 100 ...;
                        * else what the message about the last part contains */
    const char *stamp; /* of the sum; NULL: it is cumulative */
} joining;

static const joining joinings[] = {
    {"0-10: seq=1", "1", NULL},
    {"0-10: seq=1|10-20: seq=2|20-30: seq=3", "111", NULL},
    {"0-10|10-20: seq=7", "11", NULL},
    {"0-10|10-20:", "11", NULL},
    {"5-10: seq=4|10-20: seq=5", "11", "pprofdelta: delta from=5 to=20"},
    /* sent again, with more, with the same, with less */
    {"0-10: seq=1|10-20: seq=2|10-30: seq=2 >again|30-40: seq=3", "1101", NULL},
    {"0-10: seq=1|0-10: seq=1 >equal|0-20: seq=1 >again|20-30: seq=2", "1100", NULL},
    {"0-10: seq=1|10-30: seq=2|10-20: seq=2 >stale|30-40: seq=3", "1011", NULL},
    {"5-10: seq=4|5-20: seq=4 >again", "10", "pprofdelta: delta from=5 to=20"},
    /* restarts */
    {"0-10: seq=1|10-20: seq=2 restart=mass >restart", "11", NULL},
    {"10-20: seq=2 restart=build_id|20-30: seq=3", "11", NULL},
    /* 2 went out, but nobody was told */
    {"0-10: seq=1|10-20: seq=2|20-30: seq=3 restart=mass acked=1 >restart|20-40: seq=3 "
     "restart=mass acked=1 >again",
     "1011", NULL},
    {"0-10: seq=1|30-40: seq=4 restart=mass acked=1 >ended", "11", NULL},
    /* the last attempt at 2 is missing */
    {"0-10: seq=1|10-20: seq=2|25-40: seq=3 restart=mass acked=1 >ended|40-50: seq=4", "1111",
     NULL},
    {"20-30: seq=2 restart=mass acked=0|30-40: seq=3", "11", NULL},
    {"0-10: seq=1|30-40: seq=4 restart=mass acked=2 >ended", "window 2 is missing", NULL},
    {"0-10: seq=1|10-20: seq=2|15-40: seq=3 restart=mass acked=1 >ended", "two states", NULL},
    /* profiles that never say what time it is */
    {"0-0|0-0: >untimed|0-0: >untimed", "111", NULL},
    {"0-0: seq=1|0-0: seq=2|0-0: seq=2 >equal", "11", NULL},
    {"0-0|0-0", "no stamp", NULL},
    {"0-0: seq=1|0-0: seq=3", "window 2 is missing", NULL},
    /* what does not */
    {"0-10: seq=1|20-30: seq=3", "window 2 is missing", NULL},
    {"0-10: seq=1|40-50: seq=9", "window 2 to window 8 are missing", NULL},
    {"5-10: seq=3|1-5: seq=2", "window 2 comes after window 3", NULL},
    {"0-10: seq=1|11-20: seq=2", "two states", NULL},
    {"5-10: seq=3|6-12: seq=3", "two windows 3", NULL},
    {"0-10|0-20: seq=1", "counts from the beginning", NULL},
    {"5-10: seq=3|0-20: seq=1", "counts from the beginning", NULL},
    {"0-10|0-20", "no stamp", NULL},
    {"0-10|12-20: seq=3",
     "from 1970-01-01T00:00:00.00000001Z to 1970-01-01T00:00:00.000000012Z is missing", NULL},
    {"0-10|8-20:",
     "overlap: the first ends at 1970-01-01T00:00:00.00000001Z and the second begins at "
     "1970-01-01T00:00:00.000000008Z",
     NULL},
    {"0-0|8-20:", "may be missing", NULL},
    {"0-10|0-20:", "may be missing", NULL},
    {"5-10: seq=2|10-30: seq=3 restart=mass >restart|10-20: seq=3", "two states", NULL},
};

static buf read_part(arena *a, const char *text, const char *values, pprofdelta_join *join)
{
    static const struct {
        const char *word;
        pprofdelta_join join;
    } joins[] = {{" >again", PPROFDELTA_JOIN_AGAIN},     {" >ended", PPROFDELTA_JOIN_ENDED},
                 {" >equal", PPROFDELTA_JOIN_EQUAL},     {" >stale", PPROFDELTA_JOIN_STALE},
                 {" >restart", PPROFDELTA_JOIN_RESTART}, {" >untimed", PPROFDELTA_JOIN_UNTIMED}};
    const char *words = strchr(text, ':');
    window w = {.values = values};
    if (sscanf(text, "%lld-%lld", &w.from, &w.to) != 2)
        abort();
    for (size_t i = 0; i < sizeof joins / sizeof *joins; i++)
        if (strstr(text, joins[i].word))
            *join = joins[i].join;
    if (words)
        w.stamp = arena_format(a, STAMP " from=%lld to=%lld%.*s", w.from, w.to,
                               (int)strcspn(words + 1, ">"), words + 1);
    return window_bytes(a, w);
}

static pprofdelta_status join_parts(const joining *j, pprofdelta_adder *adder, size_t number,
                                    pprofdelta_error *err)
{
    static const char *const ones[] = {"1 1 7 7", "10 1 7 7", "100 1 7 7", "1000 1 7 7"};
    ENDS(arena_free) arena a = {0};
    char text[TEXT_SIZE];
    const char *list = j->parts;
    pprofdelta_status status = PPROFDELTA_OK;
    for (size_t i = 0; next_text(&list, text); i++) {
        pprofdelta_join want = i ? PPROFDELTA_JOIN_NEXT : PPROFDELTA_JOIN_FIRST,
                        join = PPROFDELTA_JOIN_FORCED;
        buf bytes = read_part(&a, text, ones[i], &want);
        CHECK_MSG(!status, "case %zu, part %zu: %s", number, i, err->text);
        status = pprofdelta_adder_add(adder, bytes.ptr, bytes.len, &join, err);
        CHECK_MSG(status || join == want, "case %zu, part %zu: %d", number, i, join);
    }
    return status;
}

static void check_sum(const joining *j, buf bytes, size_t number)
{
    ENDS(arena_free) arena a = {0};
    reading r = sum_read(&a, bytes);
    char text[32];
    REQUIRE(r.samples_len == 1);
    snprintf(text, sizeof text, "%lld", (long long)r.samples[0].values[0]);
    CHECK_MSG(!strcmp(text, j->want), "case %zu: %s, not %s", number, text, j->want);
    CHECK_MSG(r.samples[0].values[2] == 7, "case %zu: gauges are the last one's", number);
    CHECK_MSG(r.view->n_comment == (j->stamp ? 1 : 0), "case %zu", number);
    if (j->stamp && r.view->n_comment)
        CHECK_STR(reading_string(&r, r.view->comment[0]), j->stamp);
}

TEST(windows_join_or_the_message_names_the_gap)
{
    for (size_t i = 0; i < sizeof joinings / sizeof *joinings; i++) {
        const joining *j = &joinings[i];
        ENDS(arena_free) arena a = {0};
        pprofdelta_adder *adder;
        pprofdelta_error err = {0};
        collector c = {.bytes = buf_begin(&a)};
        REQUIRE(pprofdelta_adder_new(NULL, NULL, &adder, NULL) == PPROFDELTA_OK);
        pprofdelta_status status = join_parts(j, adder, i, &err);
        bool joins = isdigit((unsigned char)*j->want);
        CHECK_MSG(status == (joins ? PPROFDELTA_OK : PPROFDELTA_E_MISMATCH), "case %zu: %s", i,
                  err.text);
        CHECK_MSG(joins || strstr(err.text, j->want), "case %zu: %s", i, err.text);
        bool names_gap = strstr(j->want, "is missing") || strstr(j->want, "are");
        CHECK_MSG((err.reason == PPROFDELTA_REASON_WINDOW_MISSING) == names_gap, "case %zu", i);
        /* What was refused is not in it. */
        CHECK(pprofdelta_adder_finish(adder, collecting(&c), &err) == PPROFDELTA_OK);
        if (joins)
            check_sum(j, c.bytes, i);
        pprofdelta_adder_free(adder);
    }
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
    pprofdelta_options options = sum_options(PPROFDELTA_FORCE);
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        ENDS(arena_free) arena a = {0};
        buf parts[3], out;
        for (size_t j = 0; j < 3; j++)
            parts[j] = window_bytes(
                &a, (window){.from = orders[i].times[j][0], .to = orders[i].times[j][1]});
        REQUIRE(!sum_up(&a, &options, parts, 3, &out, NULL));
        reading r = sum_read(&a, out);
        CHECK_MSG(r.view->duration_nanos == orders[i].duration, "%zu", i);
        CHECK_MSG(r.view->time_nanos == orders[i].time, "%zu", i);
    }
}

/* A longer window is a delta, and can be added like one. */
TEST(sums_can_be_added)
{
    ENDS(arena_free) arena a = {0};
    static const char *const windows[][2] = {{"0-10: seq=1", "1 1 5 5"},
                                             {"10-20: seq=2", "10 1 6 6"},
                                             {"20-30: seq=3", "100 1 7 7"},
                                             {"30-40: seq=4", "1000 1 8 8"}};
    buf parts[4], hour, all;
    pprofdelta_join join;
    for (size_t i = 0; i < 4; i++)
        parts[i] = read_part(&a, windows[i][0], windows[i][1], &join);
    REQUIRE(!sum_up(&a, NULL, parts + 1, 2, &hour, NULL));
    REQUIRE(!sum_up(&a, NULL, (const buf[]){parts[0], hour, parts[3]}, 3, &all, NULL));
    reading h = sum_read(&a, hour), r = sum_read(&a, all);
    CHECK(h.view->duration_nanos == 20 && h.view->time_nanos == 30);
    CHECK(r.samples_len == 1 && r.samples[0].values[0] == 1111 && r.samples[0].values[3] == 8);
    CHECK(r.view->duration_nanos == 0 && r.view->time_nanos == 40 && r.view->n_comment == 0);
}

/* The law: the first full delta and all later ones make the last look again. A cumulative profile
 * instead of the first delta does as well. */
TEST(base_plus_all_deltas_is_the_last_profile)
{
    seed_range range = seeds(6);
    size_t added = 0;
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        ENDS(film_end) film f;
        film_begin(&f, seed + 500);
        f.s.options.on_reset = seed % 3 ? PPROFDELTA_ON_RESET_AUTO : PPROFDELTA_ON_RESET_CLAMP;
        f.s.options.first = PPROFDELTA_FIRST_FULL;
        film_shoot(&f, GEN_MOVE | GEN_RENAME | GEN_HEADER, false);
        for (int from_look = 0; from_look < 2 && f.len == WINDOWS; from_look++) {
            buf bytes;
            pprofdelta_error err = {0};
            rows want = {.arena = &f.s.arena};
            f.deltas[0] = from_look ? f.looks[0] : f.deltas[0];
            pprofdelta_status status =
                sum_up(&f.s.arena, &f.s.options, f.deltas, f.len, &bytes, &err);
            CHECK_MSG(!status || status == PPROFDELTA_E_LIMIT, "seed %" PRIu64 ": %s", seed,
                      err.text);
            if (status)
                break;
            reading sum = sum_read(&f.s.arena, bytes),
                    last = sum_read(&f.s.arena, f.looks[f.len - 1]);
            rows_add(&want, &last, &f.s.g, true);
            AGREE(seed, rows_differ(&want, &sum, &f.s.g));
            CHECK(sum.view->time_nanos == last.view->time_nanos);
            added++;
        }
    }
    CHECK(added > range.to - range.from);
}

/* A profile of a binary with this name. `used`: its main mapping has a sample, too. */
static buf of_binary(arena *a, const char *name, bool used)
{
    ENDS(build_free) build b = {0};
    build_types(&b, HEAP_TYPES);
    model_mapping *app = build_mapping(&b, 0x400000, 0x500000, 0, name, "id-1");
    build_place(&b, "in_app", app, 0x401000);
    build_place(&b, "in_lib", build_mapping(&b, 0x600000, 0x700000, 0, "/lib", "id-2"), 0x601000);
    build_sample(&b, "in_lib", "1 1 5 5");
    if (used)
        build_sample(&b, "in_app", "1 1 5 5");
    return build_bytes_in(a, &b);
}

/* pprof has the main mapping of the last profile first. OTLP has it when a sample of another profile needs it. */
TEST(a_sum_names_the_main_mapping_as_the_last_profile_does)
{
    ENDS(arena_free) arena a = {NULL};
    buf given[] = {of_binary(&a, "/old", true), of_binary(&a, "/new", false)}, pprof, request;
    pprofdelta_options options = sum_options(PPROFDELTA_FORCE), otlp = options;
    otlp_model meant, sent;
    otlp.format = PPROFDELTA_OTLP;
    CHECK(!sum_up(&a, &options, given, 2, &pprof, NULL));
    CHECK(!sum_up(&a, &otlp, given, 2, &request, NULL));
    REQUIRE(otlp_model_read_pprof(&a, pprof.ptr, pprof.len, &meant));
    otlp_model_read(&a, request.ptr, request.len, &sent);
    const char *wrong = otlp_model_differ(&a, &meant, &sent);
    CHECK_MSG(!wrong, "%s", wrong);
    CHECK(strstr(sent.text, "/new") && !strstr(sent.text, "/old"));
}

/* ---- Errors ---------------------------------------------------------------------------------- */

TEST(other_types_and_invalid_stamps_are_refused)
{
    static const char *const cases[][4] = {
        {CONTENTION_TYPES, "1 1", STAMP " from=10 to=20 seq=2", "contentions/count"},
        {HEAP_TYPES, "1 1 1 1", STAMP " from=yesterday", "stamp"}};
    for (size_t i = 0; i < 2; i++) {
        ENDS(arena_free) arena a = {0};
        ENDS(build_free) build b = {0};
        pprofdelta_error err = {0};
        build_types(&b, cases[i][0]);
        build_sample(&b, "leaf main", cases[i][1]);
        build_comment(&b, cases[i][2]);
        buf out, parts[] = {window_bytes(&a, (window){.to = 10}), build_bytes(&b)};
        pprofdelta_status status = sum_up(&a, NULL, parts, 2, &out, &err);
        CHECK(status == PPROFDELTA_E_MISMATCH && strstr(err.text, cases[i][3]));
    }
}

TEST_MAIN()
