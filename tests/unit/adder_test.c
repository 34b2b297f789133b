/* Sums: how profiles join, with the messages about gaps; the law that a sum is the inverse of the
 * subtraction; errors. fuzz_sum.c compares sums with a naive one, also where memory is short. */
#include "../support/test.h"

#include "scene.h"
#include "seeds.h"

#include <ctype.h>
#include <stdlib.h>

/* Reads a profile. Ends the test program on failure. */
static reading sums_read(arena *a, buf bytes)
{
    reading r = {0};
    if (reading_make(a, bytes.ptr, bytes.len, &r) != PPROFDELTA_OK) {
        fprintf(stderr, "what was written is not a profile\n");
        abort();
    }
    return r;
}

/* Adds all profiles and finishes. *status is that of the first call that failed. */
static buf sums_add(arena *a, const pprofdelta_options *options, const buf *profiles, size_t len,
                    pprofdelta_status *status, pprofdelta_error *err)
{
    pprofdelta_adder *adder;
    collector c = {.bytes = buf_begin(a)};
    pprofdelta_sink sink = collector_sink(&c);
    *status = pprofdelta_adder_new(options, NULL, &adder, err);
    if (*status)
        return c.bytes;
    for (size_t i = 0; i < len && !*status; i++)
        *status = pprofdelta_adder_add(adder, profiles[i].ptr, profiles[i].len, NULL, err);
    if (!*status)
        *status = pprofdelta_adder_finish(adder, &sink, err);
    pprofdelta_adder_free(adder);
    return c.bytes;
}

/* One window: from and to in seconds. sequence 0: no stamp. restart may be NULL. */
static buf sums_window(arena *a, int64_t from, int64_t to, unsigned sequence, const char *restart,
                       const char *values)
{
    ENDS(build_free) build b = {0};
    build_types(&b, HEAP_TYPES);
    build_sample(&b, "leaf main", values);
    b.m.time_nanos = to;
    b.m.duration_nanos = from ? to - from : 0;
    if (sequence || restart) {
        const char *stamp = arena_format(&b.arena, "pprofdelta: delta from=%lld to=%lld",
                                         (long long)from, (long long)to);
        if (sequence)
            stamp = arena_format(&b.arena, "%s seq=%u", stamp, sequence);
        if (restart && *restart)
            stamp = arena_format(&b.arena, "%s restart=%s", stamp, restart);
        build_comment(&b, stamp);
    }
    buf bytes = build_bytes(&b), kept = buf_begin(a);
    buf_add(&kept, bytes.ptr, bytes.len);
    return kept;
}

/* ---- How profiles join ----------------------------------------------------------------------- */

/* The parts of a sum, as "FROM-TO [#SEQUENCE] [RESTART] [JOIN]" with commas between them. Without a
 * sequence it is a cumulative profile, or with "stamped" a two-file delta. RESTART is why. Without a
 * join it is that of the first part or the next one. */
typedef struct joining {
    const char *parts;
    const char *want;  /* digits: the sum of the first counter, of parts that count 1, 10, 100 ...;
                        * else what the message about the last part contains */
    const char *stamp; /* of the sum; NULL: it is cumulative */
} joining;

static const joining joinings[] = {
    {"0-10 #1", "1", NULL},
    {"0-10 #1, 10-20 #2, 20-30 #3", "111", NULL},
    {"0-10, 10-20 #7", "11", NULL},
    {"0-10, 10-20 stamped", "11", NULL},
    {"5-10 #4, 10-20 #5", "11", "pprofdelta: delta from=5 to=20"},
    /* sent again, with more, with the same, with less */
    {"0-10 #1, 10-20 #2, 10-30 #2 again, 30-40 #3", "1101", NULL},
    {"0-10 #1, 0-10 #1 equal, 0-20 #1 again, 20-30 #2", "1100", NULL},
    {"0-10 #1, 10-30 #2, 10-20 #2 stale, 30-40 #3", "1011", NULL},
    {"5-10 #4, 5-20 #4 again", "10", "pprofdelta: delta from=5 to=20"},
    /* restarts */
    {"0-10 #1, 10-20 #2 mass restart", "11", NULL},
    {"10-20 #2 build_id, 20-30 #3", "11", NULL},
    /* 2 went out, but nobody was told */
    {"0-10 #1, 10-20 #2, 20-30 #3 mass acked=1 restart, 20-40 #3 mass acked=1 again", "1011", NULL},
    {"0-10 #1, 30-40 #4 mass acked=1 ended", "11", NULL},
    /* the last attempt at 2 is missing */
    {"0-10 #1, 10-20 #2, 25-40 #3 mass acked=1 ended, 40-50 #4", "1111", NULL},
    {"20-30 #2 mass acked=0, 30-40 #3", "11", NULL},
    {"0-10 #1, 30-40 #4 mass acked=2 ended", "window 2 is missing", NULL},
    {"0-10 #1, 10-20 #2, 15-40 #3 mass acked=1 ended", "two states", NULL},
    /* profiles that never say what time it is */
    {"0-0, 0-0 stamped untimed, 0-0 stamped untimed", "111", NULL},
    {"0-0 #1, 0-0 #2, 0-0 #2 equal", "11", NULL},
    {"0-0, 0-0", "no stamp", NULL},
    {"0-0 #1, 0-0 #3", "window 2 is missing", NULL},
    /* what does not */
    {"0-10 #1, 20-30 #3", "window 2 is missing", NULL},
    {"0-10 #1, 40-50 #9", "window 2 to window 8 are missing", NULL},
    {"5-10 #3, 1-5 #2", "window 2 comes after window 3", NULL},
    {"0-10 #1, 11-20 #2", "two states", NULL},
    {"5-10 #3, 6-12 #3", "two windows 3", NULL},
    {"0-10, 0-20 #1", "counts from the beginning", NULL},
    {"5-10 #3, 0-20 #1", "counts from the beginning", NULL},
    {"0-10, 0-20", "no stamp", NULL},
    {"0-10, 12-20 #3",
     "from 1970-01-01T00:00:00.00000001Z to 1970-01-01T00:00:00.000000012Z is missing", NULL},
    {"0-10, 8-20 stamped",
     "overlap: the first ends at 1970-01-01T00:00:00.00000001Z and the second begins at "
     "1970-01-01T00:00:00.000000008Z",
     NULL},
    {"0-0, 8-20 stamped", "may be missing", NULL},
    {"0-10, 0-20 stamped", "may be missing", NULL},
    {"5-10 #2, 10-30 #3 mass restart, 10-20 #3", "two states", NULL},
};

typedef struct part {
    int64_t from, to;
    unsigned sequence;
    char restart[32];
    bool is_stamped;
    pprofdelta_join join;
} part;

enum { MOST_PARTS = 4 };

static void read_word(part *p, const char *word)
{
    static const struct {
        const char *word;
        pprofdelta_join join;
    } joins[] = {{"again", PPROFDELTA_JOIN_AGAIN},     {"ended", PPROFDELTA_JOIN_ENDED},
                 {"equal", PPROFDELTA_JOIN_EQUAL},     {"stale", PPROFDELTA_JOIN_STALE},
                 {"restart", PPROFDELTA_JOIN_RESTART}, {"untimed", PPROFDELTA_JOIN_UNTIMED}};
    p->is_stamped |= *word != '#';
    for (size_t i = 0; i < sizeof joins / sizeof *joins; i++)
        if (!strcmp(word, joins[i].word)) {
            p->join = joins[i].join;
            return;
        }
    if (*word == '#')
        p->sequence = (unsigned)strtoul(word + 1, NULL, 10);
    else if (strcmp(word, "stamped") != 0)
        snprintf(p->restart + strlen(p->restart), sizeof p->restart - strlen(p->restart), "%s%s",
                 *p->restart ? " " : "", word);
}

/* Returns the number of parts. */
static size_t read_parts(const char *text, part parts[MOST_PARTS])
{
    char copy[160], *rest;
    size_t len = 0;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *item = strtok_r(copy, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
        char *words, *word = strtok_r(item, " ", &words);
        long long from, to;
        if (len == MOST_PARTS || sscanf(word, "%lld-%lld", &from, &to) != 2)
            abort();
        parts[len] = (part){
            .from = from, .to = to, .join = len ? PPROFDELTA_JOIN_NEXT : PPROFDELTA_JOIN_FIRST};
        while ((word = strtok_r(NULL, " ", &words)))
            read_word(&parts[len], word);
        len++;
    }
    return len;
}

static const char *const ones[] = {"1 1 7 7", "10 1 7 7", "100 1 7 7", "1000 1 7 7"};

static pprofdelta_status join_parts(const joining *j, pprofdelta_adder *adder, size_t number,
                                    pprofdelta_error *err)
{
    part parts[MOST_PARTS];
    pprofdelta_status status = PPROFDELTA_OK;
    size_t len = read_parts(j->parts, parts);
    for (size_t i = 0; i < len && !status; i++) {
        ENDS(arena_free) arena a = {0};
        const part *p = &parts[i];
        pprofdelta_join join = PPROFDELTA_JOIN_FORCED;
        buf bytes = sums_window(&a, p->from, p->to, p->sequence, p->is_stamped ? p->restart : NULL,
                                ones[i]);
        status = pprofdelta_adder_add(adder, bytes.ptr, bytes.len, &join, err);
        CHECK_MSG(!status || i == len - 1, "case %zu, part %zu: %s", number, i, err->text);
        CHECK_MSG(status || join == p->join, "case %zu, part %zu: %d", number, i, join);
    }
    return status;
}

static void check_sum(const joining *j, buf bytes, size_t number)
{
    ENDS(arena_free) arena a = {0};
    reading r = sums_read(&a, bytes);
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
        pprofdelta_sink sink = collector_sink(&c);
        REQUIRE(pprofdelta_adder_new(NULL, NULL, &adder, NULL) == PPROFDELTA_OK);
        pprofdelta_status status = join_parts(j, adder, i, &err);
        bool joins = isdigit((unsigned char)*j->want);
        CHECK_MSG(status == (joins ? PPROFDELTA_OK : PPROFDELTA_E_MISMATCH), "case %zu: %s", i,
                  err.text);
        CHECK_MSG(joins || strstr(err.text, j->want), "case %zu: %s", i, err.text);
        bool names_gap = strstr(j->want, "is missing") || strstr(j->want, "are");
        CHECK_MSG((err.reason == PPROFDELTA_REASON_WINDOW_MISSING) == names_gap, "case %zu", i);
        /* What was refused is not in it. */
        CHECK(pprofdelta_adder_finish(adder, &sink, &err) == PPROFDELTA_OK);
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
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.flags = PPROFDELTA_FORCE;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        ENDS(arena_free) arena a = {0};
        buf parts[3];
        pprofdelta_status status;
        pprofdelta_error err;
        for (size_t j = 0; j < 3; j++)
            parts[j] =
                sums_window(&a, orders[i].times[j][0], orders[i].times[j][1], 0, NULL, "1 1 5 5");
        buf bytes = sums_add(&a, &options, parts, 3, &status, &err);
        REQUIRE(status == PPROFDELTA_OK);
        reading r = sums_read(&a, bytes);
        CHECK_MSG(r.view->duration_nanos == orders[i].duration, "%zu", i);
        CHECK_MSG(r.view->time_nanos == orders[i].time, "%zu", i);
    }
}

/* A longer window is a delta, and can be added like one. */
TEST(sums_can_be_added)
{
    ENDS(arena_free) arena a = {0};
    buf one = sums_window(&a, 0, 10, 1, NULL, "1 1 5 5");
    buf later[] = {sums_window(&a, 10, 20, 2, NULL, "10 1 6 6"),
                   sums_window(&a, 20, 30, 3, NULL, "100 1 7 7")};
    pprofdelta_status status;
    pprofdelta_error err;
    buf hour = sums_add(&a, NULL, later, 2, &status, &err);
    REQUIRE(status == PPROFDELTA_OK);
    buf all[] = {one, hour, sums_window(&a, 30, 40, 4, NULL, "1000 1 8 8")};
    buf bytes = sums_add(&a, NULL, all, 3, &status, &err);
    REQUIRE(status == PPROFDELTA_OK);
    reading h = sums_read(&a, hour), r = sums_read(&a, bytes);
    CHECK(h.view->duration_nanos == 20 && h.view->time_nanos == 30);
    CHECK(r.samples_len == 1 && r.samples[0].values[0] == 1111 && r.samples[0].values[3] == 8);
    CHECK(r.view->duration_nanos == 0 && r.view->time_nanos == 40 && r.view->n_comment == 0);
}

/* ---- The law --------------------------------------------------------------------------------- */

enum { MOST_WINDOWS = 7 };

/* A series of profiles of a process, and the deltas that one context made of them. */
typedef struct film {
    gen g;
    rng rng;
    arena arena;
    pprofdelta_options options;
    buf looks[MOST_WINDOWS], deltas[MOST_WINDOWS];
    size_t len;
} film;

static void shoot(film *f, uint64_t seed, unsigned events)
{
    *f = (film){.rng = {seed * 2 + 1}};
    gen_init(&f->g, seed);
    f->options = draw_options(&f->rng, &f->g);
    f->options.on_reset = seed % 3 ? PPROFDELTA_ON_RESET_AUTO : PPROFDELTA_ON_RESET_CLAMP;
    f->options.flags &= ~(unsigned)PPROFDELTA_NO_STAMP;
    f->options.first = PPROFDELTA_FIRST_FULL;
    ENDS(context_end) pprofdelta *pd = NULL;
    if (!gen_counts(&f->g) || pprofdelta_new(&f->options, NULL, &pd, NULL) != PPROFDELTA_OK)
        return;
    for (size_t i = 0; i < MOST_WINDOWS; i++) {
        serial_style style = serial_draw(&f->rng);
        collector c = {.bytes = buf_begin(&f->arena)};
        pprofdelta_sink sink = collector_sink(&c);
        buf look = serial_write(&f->arena, &f->g.m, &style);
        if (pprofdelta_window(pd, look.ptr, look.len, &sink, NULL, NULL) == PPROFDELTA_OK) {
            pprofdelta_commit(pd);
            f->looks[f->len] = look;
            f->deltas[f->len++] = c.bytes;
        }
        gen_evolve(&f->g, events);
    }
}

static void film_end(film *f)
{
    gen_free(&f->g);
    arena_free(&f->arena);
}

/* The law: the first full delta and all later ones make the last look again. */
TEST(base_plus_all_deltas_is_the_last_profile)
{
    seed_range range = seeds(6);
    size_t added = 0;
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        ENDS(film_end) film f;
        shoot(&f, seed + 500, GEN_MOVE | GEN_RENAME | GEN_HEADER);
        pprofdelta_status status;
        pprofdelta_error err = {0};
        buf bytes = sums_add(&f.arena, &f.options, f.deltas, f.len, &status, &err);
        bool whole = f.len == MOST_WINDOWS;
        CHECK_MSG(!whole || status == PPROFDELTA_OK || status == PPROFDELTA_E_LIMIT,
                  "seed %" PRIu64 ": %s", seed, err.text);
        if (whole && !status) {
            reading sum = sums_read(&f.arena, bytes);
            reading last = sums_read(&f.arena, f.looks[f.len - 1]);
            size_t found = 0;
            for (size_t i = 0; i < last.samples_len; i++) {
                const reading_sample *s = &last.samples[i], *same = NULL;
                if (!is_nonzero(s->values, last.view->n_sample_type))
                    continue;
                for (size_t n = 0; n < sum.samples_len && !same; n++)
                    if (!strcmp(sum.samples[n].key, s->key))
                        same = &sum.samples[n];
                CHECK_MSG(same && !memcmp(same->values, s->values,
                                          last.view->n_sample_type * sizeof(int64_t)),
                          "seed %" PRIu64 ", sample %zu", seed, i);
                found++;
            }
            CHECK_MSG(found == sum.samples_len, "seed %" PRIu64 ": %zu more", seed,
                      sum.samples_len - found);
            CHECK(sum.view->time_nanos == last.view->time_nanos);
            added++;
            /* A cumulative profile instead of the first delta does as well. */
            buf from_look[MOST_WINDOWS];
            memcpy(from_look, f.deltas, sizeof from_look);
            from_look[0] = f.looks[0];
            buf other = sums_add(&f.arena, &f.options, from_look, f.len, &status, &err);
            CHECK_MSG(!status && sums_read(&f.arena, other).samples_len == sum.samples_len,
                      "seed %" PRIu64 ": %s", seed, status ? err.text : "another length");
        }
    }
    CHECK(added > (range.to - range.from) / 2);
}

/* ---- Errors ---------------------------------------------------------------------------------- */

TEST(a_sum_beyond_64_bits_is_refused)
{
    ENDS(arena_free) arena a = {0};
    pprofdelta_status status;
    pprofdelta_error err = {0};
    buf parts[] = {sums_window(&a, 0, 10, 1, NULL, "9223372036854775807 1 0 0"),
                   sums_window(&a, 10, 20, 2, NULL, "1 1 0 0")};
    sums_add(&a, NULL, parts, 2, &status, &err);
    CHECK(status == PPROFDELTA_E_LIMIT && strstr(err.text, "64 bits"));
}

TEST(calls_out_of_order_are_refused)
{
    ENDS(arena_free) arena a = {0};
    pprofdelta_adder *adder;
    collector c = {.bytes = buf_begin(&a)};
    pprofdelta_sink sink = collector_sink(&c);
    buf one = sums_window(&a, 0, 10, 1, NULL, "1 1 5 5");
    pprofdelta_adder_free(NULL);
    REQUIRE(pprofdelta_adder_new(NULL, NULL, &adder, NULL) == PPROFDELTA_OK);
    CHECK(pprofdelta_adder_finish(adder, &sink, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_adder_add(adder, "\xff", 1, NULL, NULL) != PPROFDELTA_OK);
    CHECK(pprofdelta_adder_add(adder, one.ptr, one.len, NULL, NULL) == PPROFDELTA_OK);
    CHECK(pprofdelta_adder_finish(adder, NULL, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_adder_finish(adder, &sink, NULL) == PPROFDELTA_OK && c.bytes.len);
    CHECK(pprofdelta_adder_add(adder, one.ptr, one.len, NULL, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_adder_finish(adder, &sink, NULL) == PPROFDELTA_E_USAGE);
    pprofdelta_adder_free(adder);
}

TEST(other_types_and_invalid_stamps_are_refused)
{
    static const char *const rows[][4] = {
        {CONTENTION_TYPES, "1 1", "pprofdelta: delta from=10 to=20 seq=2", "contentions/count"},
        {HEAP_TYPES, "1 1 1 1", "pprofdelta: delta from=yesterday", "stamp"}};
    for (size_t i = 0; i < 2; i++) {
        ENDS(arena_free) arena a = {0};
        ENDS(build_free) build b = {0};
        pprofdelta_status status;
        pprofdelta_error err = {0};
        build_types(&b, rows[i][0]);
        build_sample(&b, "leaf main", rows[i][1]);
        build_comment(&b, rows[i][2]);
        buf parts[] = {sums_window(&a, 0, 10, 1, NULL, "1 1 5 5"), build_bytes(&b)};
        sums_add(&a, NULL, parts, 2, &status, &err);
        CHECK(status == PPROFDELTA_E_MISMATCH && strstr(err.text, rows[i][3]));
    }
}

TEST_MAIN()
