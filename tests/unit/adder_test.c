/* The sum against a naive one, the law that it is the inverse of the subtraction, and how profiles
 * join. */
#include "../support/test.h"

#include "gen.h"
#include "scene.h"
#include "seeds.h"

/* Reads a profile or ends the test program. */
static reading read_whole(arena *a, buf bytes)
{
    reading r = {0};
    if (reading_make(a, bytes.ptr, bytes.len, &r) != PPROFDELTA_OK) {
        fprintf(stderr, "what was written is not a profile\n");
        abort();
    }
    return r;
}

/* Adds all of them and finishes. *status is that of the first call that failed. */
static buf add_up(arena *a, const pprofdelta_options *options, const buf *profiles, size_t len,
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

/* ---------------------------------------------------------------------------------------------
 * Against a naive sum
 * ------------------------------------------------------------------------------------------ */

enum { MOST_WINDOWS = 7 };

/* A film of a process: its looks, and the deltas that one context made of them. */
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
    pprofdelta *pd;
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
    pprofdelta_free(pd);
}

static void film_end(film *f)
{
    gen_free(&f->g);
    arena_free(&f->arena);
}

typedef struct total {
    const char *key;
    int64_t *values; /* in the order of the columns of the last */
} total;

/* Which column of `from` is the column of `to`: the nth of equal ones as the nth. */
static size_t column_of(const reading *to, size_t column, const reading *from)
{
    size_t nth = 0;
    for (size_t pass = 0; pass < 2; pass++) {
        const reading *r = pass ? from : to;
        size_t end = pass ? from->view->n_sample_type : column + 1;
        for (size_t i = 0; i < end; i++) {
            const Pd__View__ValueType *a = r->view->sample_type[i];
            const Pd__View__ValueType *b = to->view->sample_type[column];
            bool equal = !strcmp(reading_string(r, a->type), reading_string(to, b->type)) &&
                         !strcmp(reading_string(r, a->unit), reading_string(to, b->unit));
            if (!pass)
                nth += equal;
            else if (equal && --nth == 0)
                return i;
        }
    }
    return SIZE_MAX;
}

static bool is_counter(const film *f, const reading *r, size_t column)
{
    const char *type = reading_string(r, r->view->sample_type[column]->type);
    for (size_t i = 0; i < f->g.m.types_len; i++)
        if (!strcmp(f->g.m.types[i].type, type) &&
            !strcmp(f->g.m.types[i].unit, reading_string(r, r->view->sample_type[column]->unit)))
            return f->g.is_counter[i];
    return false;
}

/* The sum, worked out the long way round, in *rows. */
static size_t naive_sum(film *f, const reading *all, size_t len, total **rows)
{
    size_t rows_len = 0, rows_cap = 0, types = all[len - 1].view->n_sample_type;
    *rows = NULL;
    for (size_t p = 0; p < len; p++) {
        for (size_t s = 0; s < all[p].samples_len; s++) {
            size_t at = 0;
            while (at < rows_len && strcmp((*rows)[at].key, all[p].samples[s].key) != 0)
                at++;
            if (at == rows_len)
                ARENA_PUSH(&f->arena, *rows, rows_len, rows_cap,
                           (total){all[p].samples[s].key, ARENA_ARRAY(&f->arena, int64_t, types)});
            for (size_t t = 0; t < types; t++) {
                int64_t value = all[p].samples[s].values[column_of(&all[len - 1], t, &all[p])];
                bool adds = is_counter(f, &all[len - 1], t);
                if (adds || p == len - 1)
                    (*rows)[at].values[t] += value;
            }
        }
    }
    return rows_len;
}

static bool is_something(const int64_t *values, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (values[i])
            return true;
    return false;
}

/* NULL where the sum has exactly these rows that are something; else what is wrong. */
static const char *compare_rows(arena *a, const reading *sum, const total *rows, size_t len)
{
    size_t types = sum->view->n_sample_type, something = 0;
    for (size_t i = 0; i < len; i++) {
        if (!is_something(rows[i].values, types))
            continue;
        if (something == sum->samples_len || strcmp(sum->samples[something].key, rows[i].key) != 0)
            return arena_format(a, "row %zu is another sample, or none", something);
        if (memcmp(sum->samples[something].values, rows[i].values, types * sizeof(int64_t)) != 0)
            return arena_format(a, "row %zu has other values", something);
        something++;
    }
    return something == sum->samples_len ? NULL : "there are more rows";
}

TEST(sums_are_as_the_naive_one_says)
{
    seed_range range = seeds(6);
    size_t added = 0;
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        film f;
        shoot(&f, seed, GEN_ANYTHING & ~(GEN_CLOCK | GEN_RESTART));
        reading all[MOST_WINDOWS];
        pprofdelta_status status;
        pprofdelta_error err = {0};
        for (size_t i = 0; i < f.len; i++)
            all[i] = read_whole(&f.arena, f.deltas[i]);
        for (size_t len = 1; len <= f.len; len++) {
            total *rows;
            buf bytes = add_up(&f.arena, &f.options, f.deltas, len, &status, &err);
            CHECK_MSG(status == PPROFDELTA_OK || status == PPROFDELTA_E_LIMIT,
                      "seed %" PRIu64 ", %zu: %s", seed, len, err.text);
            if (status)
                break; /* the values of a made-up process may be as large as they like */
            added++;
            reading sum = read_whole(&f.arena, bytes);
            size_t rows_len = naive_sum(&f, all, len, &rows);
            const char *wrong = compare_rows(&f.arena, &sum, rows, rows_len);
            AGREE(seed, wrong);
            wrong = compare_compact(&f.arena, &sum);
            AGREE(seed, wrong);
        }
        film_end(&f);
    }
    CHECK(added > 100);
}

/* The law: the first full delta and all later ones make the last look again. */
TEST(the_sum_of_all_deltas_is_the_last_look)
{
    seed_range range = seeds(6);
    size_t added = 0;
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        film f;
        shoot(&f, seed + 500, GEN_MOVE | GEN_RENAME | GEN_HEADER);
        pprofdelta_status status;
        pprofdelta_error err = {0};
        buf bytes = add_up(&f.arena, &f.options, f.deltas, f.len, &status, &err);
        bool whole = f.len == MOST_WINDOWS;
        CHECK_MSG(!whole || status == PPROFDELTA_OK || status == PPROFDELTA_E_LIMIT,
                  "seed %" PRIu64 ": %s", seed, err.text);
        if (whole && !status) {
            reading sum = read_whole(&f.arena, bytes);
            reading last = read_whole(&f.arena, f.looks[f.len - 1]);
            size_t found = 0;
            for (size_t i = 0; i < last.samples_len; i++) {
                const reading_sample *s = &last.samples[i], *same = NULL;
                if (!is_something(s->values, last.view->n_sample_type))
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
            buf other = add_up(&f.arena, &f.options, from_look, f.len, &status, &err);
            CHECK_MSG(status == PPROFDELTA_OK, "seed %" PRIu64 ": %s", seed, err.text);
            if (!status) {
                reading again = read_whole(&f.arena, other);
                CHECK_MSG(again.samples_len == sum.samples_len, "seed %" PRIu64, seed);
            }
        }
        film_end(&f);
    }
    CHECK(added > 100);
}

/* ---------------------------------------------------------------------------------------------
 * How profiles join
 * ------------------------------------------------------------------------------------------ */

/* One window by hand: from and to in seconds; sequence 0: no stamp at all; restart may be NULL. */
static buf window_of(build *b, int64_t from, int64_t to, unsigned sequence, const char *restart,
                     const char *values)
{
    char stamp[160];
    *b = (build){0};
    build_types(b, HEAP_TYPES);
    build_sample(b, "leaf main", values);
    b->m.time_nanos = to;
    b->m.duration_nanos = from ? to - from : 0;
    if (sequence || restart) {
        snprintf(stamp, sizeof stamp, "pprofdelta: delta from=%lld to=%lld", (long long)from,
                 (long long)to);
        if (sequence)
            snprintf(stamp + strlen(stamp), sizeof stamp - strlen(stamp), " seq=%u", sequence);
        if (restart && *restart)
            snprintf(stamp + strlen(stamp), sizeof stamp - strlen(stamp), " restart=%s", restart);
        build_comment(b, stamp);
    }
    return build_bytes(b);
}

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
      {0, 10, 1, NULL, PPROFDELTA_JOINT_AGAIN},
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
      {10, 30, 2, "mass", PPROFDELTA_JOINT_RESTART}, /* 2 went out, but nobody was told */
      {10, 40, 2, "mass", PPROFDELTA_JOINT_AGAIN}},
     4,
     NULL,
     "1011",
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
      {0, 0, 2, NULL, PPROFDELTA_JOINT_AGAIN}},
     3,
     NULL,
     "101",
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
     "from 10 to 12 is missing",
     NULL,
     NULL},
    {{{0, 10, 0, NULL, PPROFDELTA_JOINT_FIRST}, {8, 20, 0, "", PPROFDELTA_JOINT_NEXT}},
     2,
     "overlap",
     NULL,
     NULL},
    {{{0, 0, 0, NULL, PPROFDELTA_JOINT_FIRST}, {8, 20, 0, "", PPROFDELTA_JOINT_NEXT}},
     2,
     "not known",
     NULL,
     NULL},
    {{{0, 10, 0, NULL, PPROFDELTA_JOINT_FIRST}, {0, 20, 0, "", PPROFDELTA_JOINT_NEXT}},
     2,
     "not known",
     NULL,
     NULL},
    {{{5, 10, 2, NULL, PPROFDELTA_JOINT_FIRST},
      {10, 30, 3, "mass", PPROFDELTA_JOINT_RESTART},
      {10, 20, 3, NULL, PPROFDELTA_JOINT_NEXT}},
     3,
     "before comes after the restart",
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
        buf bytes = window_of(&b, p->from, p->to, p->sequence, p->restart, ones[i]);
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
    reading r = read_whole(&a, bytes);
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

TEST(windows_join_or_it_is_said_what_is_missing)
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
        /* What was refused is not in it. */
        CHECK(pprofdelta_adder_finish(adder, &sink, &err) == PPROFDELTA_OK);
        if (!j->refused)
            check_sum(j, c.bytes, i);
        pprofdelta_adder_free(adder);
        arena_free(&a);
    }
}

TEST(what_does_not_join_can_be_forced)
{
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.flags = PPROFDELTA_ACCEPT_STAMPED;
    arena a = {0};
    build b[3];
    buf parts[] = {window_of(&b[0], 0, 10, 0, NULL, "1 1 5 5"),
                   window_of(&b[1], 90, 100, 9, NULL, "10 1 6 6"),
                   window_of(&b[2], 0, 50, 0, NULL, "100 1 7 7")};
    pprofdelta_status status;
    pprofdelta_error err;
    buf bytes = add_up(&a, &options, parts, 3, &status, &err);
    REQUIRE(status == PPROFDELTA_OK);
    reading r = read_whole(&a, bytes);
    CHECK(r.samples_len == 1 && r.samples[0].values[0] == 111 && r.samples[0].values[2] == 7);
    for (size_t i = 0; i < 3; i++)
        build_free(&b[i]);
    arena_free(&a);
}

/* A longer window is a delta, and can be added like one. */
TEST(sums_of_sums)
{
    arena a = {0};
    build b[4];
    buf one = window_of(&b[0], 0, 10, 1, NULL, "1 1 5 5");
    buf later[] = {window_of(&b[1], 10, 20, 2, NULL, "10 1 6 6"),
                   window_of(&b[2], 20, 30, 3, NULL, "100 1 7 7")};
    pprofdelta_status status;
    pprofdelta_error err;
    buf hour = add_up(&a, NULL, later, 2, &status, &err);
    REQUIRE(status == PPROFDELTA_OK);
    buf all[] = {one, hour, window_of(&b[3], 30, 40, 4, NULL, "1000 1 8 8")};
    buf bytes = add_up(&a, NULL, all, 3, &status, &err);
    REQUIRE(status == PPROFDELTA_OK);
    reading h = read_whole(&a, hour), r = read_whole(&a, bytes);
    CHECK(h.view->duration_nanos == 20 && h.view->time_nanos == 30);
    CHECK(r.samples_len == 1 && r.samples[0].values[0] == 1111 && r.samples[0].values[3] == 8);
    CHECK(r.view->duration_nanos == 0 && r.view->time_nanos == 40 && r.view->n_comment == 0);
    for (size_t i = 0; i < 4; i++)
        build_free(&b[i]);
    arena_free(&a);
}

/* ---------------------------------------------------------------------------------------------
 * Trouble
 * ------------------------------------------------------------------------------------------ */

TEST(a_sum_that_does_not_fit_is_told)
{
    arena a = {0};
    build b[2];
    pprofdelta_status status;
    pprofdelta_error err = {0};
    buf parts[] = {window_of(&b[0], 0, 10, 1, NULL, "9223372036854775807 1 0 0"),
                   window_of(&b[1], 10, 20, 2, NULL, "1 1 0 0")};
    add_up(&a, NULL, parts, 2, &status, &err);
    CHECK(status == PPROFDELTA_E_LIMIT && strstr(err.text, "64 bits"));
    build_free(&b[0]);
    build_free(&b[1]);
    arena_free(&a);
}

TEST(calls_out_of_order_are_refused)
{
    arena a = {0};
    build b;
    pprofdelta_adder *adder;
    collector c = {.bytes = buf_begin(&a)};
    pprofdelta_sink sink = collector_sink(&c);
    buf one = window_of(&b, 0, 10, 1, NULL, "1 1 5 5");
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
    build_free(&b);
    arena_free(&a);
}

TEST(types_that_differ_are_told)
{
    arena a = {0};
    build b, other = {0};
    pprofdelta_status status;
    pprofdelta_error err = {0};
    build_types(&other, CONTENTION_TYPES);
    build_sample(&other, "leaf main", "1 1");
    build_comment(&other, "pprofdelta: delta from=10 to=20 seq=2");
    buf parts[] = {window_of(&b, 0, 10, 1, NULL, "1 1 5 5"), build_bytes(&other)};
    add_up(&a, NULL, parts, 2, &status, &err);
    CHECK(status == PPROFDELTA_E_MISMATCH && strstr(err.text, "contentions/count"));
    build_free(&b);
    build_free(&other);
    arena_free(&a);
}

TEST(a_stamp_that_nobody_understands_is_refused)
{
    arena a = {0};
    build b = {0};
    pprofdelta_status status;
    pprofdelta_error err = {0};
    build_types(&b, HEAP_TYPES);
    build_sample(&b, "leaf main", "1 1 1 1");
    build_comment(&b, "pprofdelta: delta from=yesterday");
    buf bytes = build_bytes(&b);
    add_up(&a, NULL, &bytes, 1, &status, &err);
    CHECK(status == PPROFDELTA_E_MISMATCH && strstr(err.text, "stamp"));
    build_free(&b);
    arena_free(&a);
}

/* Every allocation of a sum of three, with one of them sent again. */
TEST(every_failed_allocation_is_told)
{
    build b[4];
    buf parts[] = {window_of(&b[0], 0, 10, 1, NULL, "1 1 5 5"),
                   window_of(&b[1], 10, 20, 2, NULL, "10 1 6 6"),
                   window_of(&b[2], 10, 30, 2, NULL, "10 1 6 6"),
                   window_of(&b[3], 30, 40, 3, NULL, "100 1 7 7")};
    bool refused = true;
    for (size_t nth = 1; refused; nth++) {
        tracker memory = {.fail_at = nth};
        arena a = {0};
        pprofdelta_allocator allocator = tracker_allocator(&memory);
        collector c = {.bytes = buf_begin(&a)};
        pprofdelta_sink sink = collector_sink(&c);
        pprofdelta_adder *adder = NULL;
        pprofdelta_status status = pprofdelta_adder_new(NULL, &allocator, &adder, NULL);
        for (size_t i = 0; i < 4 && !status; i++)
            status = pprofdelta_adder_add(adder, parts[i].ptr, parts[i].len, NULL, NULL);
        if (!status)
            status = pprofdelta_adder_finish(adder, &sink, NULL);
        refused = memory.refused > 0;
        CHECK_MSG(status == (refused ? PPROFDELTA_E_MEMORY : PPROFDELTA_OK), "allocation %zu", nth);
        CHECK_MSG(!refused || !c.calls, "allocation %zu", nth);
        if (refused && adder) {
            memory.fail_at = 0;
            CHECK(pprofdelta_adder_finish(adder, &sink, NULL) == PPROFDELTA_E_USAGE);
        }
        pprofdelta_adder_free(adder);
        CHECK_MSG(memory.live == 0, "allocation %zu", nth);
        arena_free(&a);
    }
    for (size_t i = 0; i < 4; i++)
        build_free(&b[i]);
}

TEST_MAIN(CASE(sums_are_as_the_naive_one_says), CASE(the_sum_of_all_deltas_is_the_last_look),
          CASE(windows_join_or_it_is_said_what_is_missing), CASE(what_does_not_join_can_be_forced),
          CASE(sums_of_sums), CASE(a_sum_that_does_not_fit_is_told),
          CASE(calls_out_of_order_are_refused), CASE(types_that_differ_are_told),
          CASE(a_stamp_that_nobody_understands_is_refused), CASE(every_failed_allocation_is_told))
