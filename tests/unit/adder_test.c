/* The sum compared with a naive one, the law that it is the inverse of the subtraction, and errors.
 * adder_joins_test.c tests how profiles join. */
#include "../support/test.h"

#include "seeds.h"
#include "sums.h"

/* ---------------------------------------------------------------------------------------------
 * Against a naive sum
 * ------------------------------------------------------------------------------------------ */

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

/* The sum, computed naively, in *rows. */
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

/* Returns NULL if the sum has exactly these rows that are not zero; else the difference. */
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

TEST(sums_equal_a_naive_sum)
{
    seed_range range = seeds(6);
    size_t added = 0;
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        film f;
        shoot(&f, seed, GEN_ANYTHING & ~(GEN_CLOCK | GEN_RESTART | GEN_REPLACE));
        reading all[MOST_WINDOWS];
        pprofdelta_status status;
        pprofdelta_error err = {0};
        for (size_t i = 0; i < f.len; i++)
            all[i] = sums_read(&f.arena, f.deltas[i]);
        for (size_t len = 1; len <= f.len; len++) {
            total *rows;
            buf bytes = sums_add(&f.arena, &f.options, f.deltas, len, &status, &err);
            CHECK_MSG(status == PPROFDELTA_OK || status == PPROFDELTA_E_LIMIT,
                      "seed %" PRIu64 ", %zu: %s", seed, len, err.text);
            if (status)
                break; /* the values of a made-up process may be as large as they like */
            added++;
            reading sum = sums_read(&f.arena, bytes);
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
TEST(base_plus_all_deltas_is_the_last_profile)
{
    seed_range range = seeds(6);
    size_t added = 0;
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        film f;
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
            buf other = sums_add(&f.arena, &f.options, from_look, f.len, &status, &err);
            CHECK_MSG(status == PPROFDELTA_OK, "seed %" PRIu64 ": %s", seed, err.text);
            if (!status) {
                reading again = sums_read(&f.arena, other);
                CHECK_MSG(again.samples_len == sum.samples_len, "seed %" PRIu64, seed);
            }
        }
        film_end(&f);
    }
    CHECK(added > 100);
}

/* ---------------------------------------------------------------------------------------------
 * Trouble
 * ------------------------------------------------------------------------------------------ */

TEST(a_sum_beyond_64_bits_is_refused)
{
    arena a = {0};
    build b[2];
    pprofdelta_status status;
    pprofdelta_error err = {0};
    buf parts[] = {sums_window(&b[0], 0, 10, 1, NULL, "9223372036854775807 1 0 0"),
                   sums_window(&b[1], 10, 20, 2, NULL, "1 1 0 0")};
    sums_add(&a, NULL, parts, 2, &status, &err);
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
    buf one = sums_window(&b, 0, 10, 1, NULL, "1 1 5 5");
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

TEST(other_types_are_refused)
{
    arena a = {0};
    build b, other = {0};
    pprofdelta_status status;
    pprofdelta_error err = {0};
    build_types(&other, CONTENTION_TYPES);
    build_sample(&other, "leaf main", "1 1");
    build_comment(&other, "pprofdelta: delta from=10 to=20 seq=2");
    buf parts[] = {sums_window(&b, 0, 10, 1, NULL, "1 1 5 5"), build_bytes(&other)};
    sums_add(&a, NULL, parts, 2, &status, &err);
    CHECK(status == PPROFDELTA_E_MISMATCH && strstr(err.text, "contentions/count"));
    build_free(&b);
    build_free(&other);
    arena_free(&a);
}

TEST(an_invalid_stamp_is_refused)
{
    arena a = {0};
    build b = {0};
    pprofdelta_status status;
    pprofdelta_error err = {0};
    build_types(&b, HEAP_TYPES);
    build_sample(&b, "leaf main", "1 1 1 1");
    build_comment(&b, "pprofdelta: delta from=yesterday");
    buf bytes = build_bytes(&b);
    sums_add(&a, NULL, &bytes, 1, &status, &err);
    CHECK(status == PPROFDELTA_E_MISMATCH && strstr(err.text, "stamp"));
    build_free(&b);
    arena_free(&a);
}

/* Every allocation of a sum of three, with one of them sent again. */
TEST(every_failed_allocation_is_reported)
{
    build b[4];
    buf parts[] = {sums_window(&b[0], 0, 10, 1, NULL, "1 1 5 5"),
                   sums_window(&b[1], 10, 20, 2, NULL, "10 1 6 6"),
                   sums_window(&b[2], 10, 30, 2, NULL, "10 1 6 6"),
                   sums_window(&b[3], 30, 40, 3, NULL, "100 1 7 7")};
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

TEST_MAIN()
