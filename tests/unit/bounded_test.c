/* Profiles that are read as streams, beside profiles that are in memory: the same deltas by the
 * oracle, the same bytes, the same errors. */
#include "delta/context.h"

#include "film.h"
#include "pack.h"
#include "seeds.h"

#include <dirent.h>
#include <stdlib.h>

/* From a byte at a time to everything at once. */
static size_t draw_piece(rng *r)
{
    return rng_chance(r, 20) ? 1 : 1 + rng_below(r, rng_chance(r, 60) ? 300 : 20000);
}

/* Two contexts, one for each way. */
typedef struct pair {
    pprofdelta *whole, *bounded;
    rng rng;
    unsigned long refused;
} pair;

static void pair_begin(pair *p, const pprofdelta_options *options)
{
    *p = (pair){.rng = {1}};
    if (pprofdelta_new(options, NULL, &p->whole, NULL) ||
        pprofdelta_new(options, NULL, &p->bounded, NULL))
        abort();
}

static void pair_end(pair *p)
{
    pprofdelta_free(p->whole);
    pprofdelta_free(p->bounded);
}

/* Both say the same of a file. */
static void check_both(pair *p, buf file, const char *what)
{
    pprofdelta_error whole_err, err;
    pprofdelta_memory whole = {.size = sizeof whole}, bounded = {.size = sizeof bounded};
    p->bounded->piece = draw_piece(&p->rng);
    pprofdelta_status want = pprofdelta_base(p->whole, file.ptr, file.len, &whole_err);
    pprofdelta_status got = pprofdelta_base(p->bounded, file.ptr, file.len, &err);
    pprofdelta_describe(p->whole, &whole);
    pprofdelta_describe(p->bounded, &bounded);
    CHECK_MSG(whole.samples == bounded.samples && whole.to_nanos == bounded.to_nanos, "%s", what);
    p->refused += want != PPROFDELTA_OK;
    if (want != got)
        CHECK_MSG(false, "%s: status %d, not %d", what, got, want);
    else if (want)
        CHECK_MSG(same_error(&whole_err, &err),
                  "%s, piece %zu: \"%s\" in %s at %" PRIu64 ", not \"%s\" in %s at %" PRIu64, what,
                  p->bounded->piece, err.text, err.field, err.offset, whole_err.text,
                  whole_err.field, whole_err.offset);
}

/* ---------------------------------------------------------------------------------------------
 * Deltas
 * ------------------------------------------------------------------------------------------ */

TEST(deltas_are_as_the_oracle_says)
{
    seed_range range = seeds(10);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        film f;
        film_begin(&f, seed + 100000);
        if (rng_chance(&f.rng, 50))
            f.options.flags |= PPROFDELTA_VERIFY;
        twin t;
        twin_begin(&t, &f.options, NULL);
        const char *wrong = NULL;
        pprofdelta_status status = PPROFDELTA_OK;
        for (size_t i = 0; i < 4 && !wrong; i++) {
            t.pd->piece = draw_piece(&f.rng);
            if (rng_chance(&f.rng, 30)) {
                wrong = twin_base(&t, f.looks[i], &status);
            } else {
                wrong = twin_window(&t, f.looks[i], &status);
                rng_chance(&f.rng, 70) ? twin_commit(&t) : twin_abandon(&t);
            }
            AGREE(seed, wrong);
        }
        twin_end(&t);
        film_end(&f);
    }
}

static buf window_of(arena *a, pprofdelta *pd, buf prev, buf cur, pprofdelta_status *status)
{
    collector c = {.bytes = buf_begin(a)};
    pprofdelta_sink sink = collector_sink(&c);
    *status = pprofdelta_base(pd, prev.ptr, prev.len, NULL);
    if (!*status)
        *status = pprofdelta_window(pd, cur.ptr, cur.len, &sink, NULL, NULL);
    pprofdelta_abandon(pd);
    return c.bytes;
}

TEST(the_bytes_are_those_of_the_ordinary_way)
{
    size_t equal = 0;
    seed_range range = seeds(5);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        film f;
        pair p;
        film_begin(&f, seed + 200000);
        f.options.compression = (pprofdelta_compression)(seed % 3);
        pair_begin(&p, &f.options);
        p.bounded->piece = draw_piece(&f.rng);
        pprofdelta_status want, got;
        buf whole = window_of(&f.arena, p.whole, f.looks[0], f.looks[1], &want);
        buf bounded = window_of(&f.arena, p.bounded, f.looks[0], f.looks[1], &got);
        CHECK_MSG(want == got, "seed %" PRIu64 ": status %d, not %d", seed, got, want);
        if (!want && !got) {
            CHECK_MSG(whole.len == bounded.len && memcmp(whole.ptr, bounded.ptr, whole.len) == 0,
                      "seed %" PRIu64, seed);
            equal++;
        }
        pair_end(&p);
        film_end(&f);
    }
    CHECK(equal > 0);
}

/* The samples that are gone are read in the base, also by a call that is made again for want of memory. */
TEST(negative_deltas_are_those_of_the_ordinary_way)
{
    size_t equal = 0;
    seed_range range = seeds(5);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        film f;
        pair p;
        film_begin(&f, seed + 250000);
        f.options.on_reset = PPROFDELTA_ON_RESET_NEGATIVE;
        pair_begin(&p, &f.options);
        p.bounded->is_always_tight = true;
        pprofdelta_status want, got;
        buf prev = pack_gzip(&f.arena, f.looks[0], 1);
        buf whole = window_of(&f.arena, p.whole, prev, f.looks[1], &want);
        buf bounded = window_of(&f.arena, p.bounded, prev, f.looks[1], &got);
        CHECK_MSG(want == got, "seed %" PRIu64 ": status %d, not %d", seed, got, want);
        CHECK_MSG(whole.len == bounded.len && !memcmp(whole.ptr, bounded.ptr, whole.len),
                  "seed %" PRIu64, seed);
        equal += !want;
        pair_end(&p);
        film_end(&f);
    }
    CHECK(equal > 0);
}

/* ---------------------------------------------------------------------------------------------
 * What is wrong
 * ------------------------------------------------------------------------------------------ */

TEST(what_is_cut_off_or_damaged_is_told_as_by_the_ordinary_way)
{
    seed_range range = seeds(1);
    pair p;
    pair_begin(&p, NULL);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        arena a = {0};
        gen g;
        gen_init(&g, seed + 300000);
        serial_style style = serial_draw(&p.rng);
        style.pack = PACK_PLAIN;
        buf plain = serial_write(&a, &g.m, &style);
        size_t step = 1 + plain.len / 500;
        for (size_t len = 0; len < plain.len; len += step) {
            buf cut = {.ptr = plain.ptr, .len = len};
            check_both(&p, rng_chance(&p.rng, 10) ? pack_gzip(&a, cut, 1) : cut, "cut off");
        }
        for (int i = 0; i < 400 && plain.len; i++) {
            size_t at = rng_below(&p.rng, plain.len);
            uint8_t was = plain.ptr[at];
            plain.ptr[at] = (uint8_t)rng_next(&p.rng);
            check_both(&p, rng_chance(&p.rng, 10) ? pack_gzip(&a, plain, 1) : plain, "damaged");
            if (rng_chance(&p.rng, 90))
                plain.ptr[at] = was;
        }
        gen_free(&g);
        arena_free(&a);
    }
    CHECK(p.refused > 0);
    pair_end(&p);
}

static buf read_file(arena *a, const char *path)
{
    buf b = buf_begin(a);
    uint8_t piece[4096];
    FILE *file = fopen(path, "rb");
    for (size_t got; file && (got = fread(piece, 1, sizeof piece, file)) > 0;)
        buf_add(&b, piece, got);
    if (file)
        fclose(file);
    return b;
}

TEST(every_file_of_the_test_data_is_told_as_by_the_ordinary_way)
{
    static const char *const folders[] = {"valid", "hostile", "regress"};
    const char *data = getenv("PD_TESTDATA");
    pair p;
    pair_begin(&p, NULL);
    size_t files = 0;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        arena a = {0};
        const char *folder = arena_format(&a, "%s/%s", data ? data : PD_TESTDATA, folders[i]);
        DIR *dir = opendir(folder);
        for (struct dirent *entry; dir && (entry = readdir(dir));) {
            if (entry->d_name[0] == '.')
                continue;
            buf file = read_file(&a, arena_format(&a, "%s/%s", folder, entry->d_name));
            if (strstr(entry->d_name, "bomb")) /* in memory there is room for it */
                continue;
            for (int again = 0; again < 3; again++)
                check_both(&p, file, entry->d_name);
            files++;
        }
        if (dir)
            closedir(dir);
        arena_free(&a);
    }
    CHECK(files > 20 && p.refused > 20);
    pair_end(&p);
}

/* ---------------------------------------------------------------------------------------------
 * Memory
 * ------------------------------------------------------------------------------------------ */

static bool fail_nth(film *f, size_t nth, uint64_t seed)
{
    tracker memory = {.fail_at = nth};
    pprofdelta_allocator allocator = tracker_allocator(&memory);
    pprofdelta *pd;
    size_t before = 0;
    if (pprofdelta_new(&f->options, &allocator, &pd, NULL) == PPROFDELTA_OK) {
        arena a = {0};
        pd->piece = 50;
        before = memory.refused;
        pprofdelta_status status;
        buf got = window_of(&a, pd, f->looks[0], f->looks[1], &status);
        CHECK_MSG((status == PPROFDELTA_E_MEMORY) == (memory.refused > before),
                  "seed %" PRIu64 ", allocation %zu: status %d", seed, nth, status);
        memory.fail_at = 0;
        pprofdelta_status after;
        buf want = window_of(&a, pd, f->looks[0], f->looks[1], &after);
        CHECK_MSG(after != PPROFDELTA_E_MEMORY, "seed %" PRIu64, seed);
        CHECK_MSG(status || (got.len == want.len && memcmp(got.ptr, want.ptr, got.len) == 0),
                  "seed %" PRIu64, seed);
        pprofdelta_free(pd);
        arena_free(&a);
    }
    CHECK_MSG(memory.live == 0, "seed %" PRIu64, seed);
    return memory.refused > 0;
}

TEST(every_failed_allocation_is_told)
{
    seed_range range = seeds(1);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        film f;
        size_t nth = 1;
        film_begin(&f, seed + 400000);
        f.options.flags |= seed % 2 ? PPROFDELTA_VERIFY : 0;
        f.options.flags |= PPROFDELTA_NO_SEQUENCE; /* each attempt gives the same bytes */
        while (nth < 2000 && fail_nth(&f, nth, seed))
            nth++;
        CHECK_MSG(nth < 2000, "seed %" PRIu64, seed);
        film_end(&f);
    }
}

/* A profile of many samples in less memory than it inflates to; and its delta, with less than the
 * profile in memory needs. */
TEST(a_profile_larger_than_the_limit_is_taken)
{
    enum { STACKS = 20000, LIMIT = 5 << 20 };
    arena a = {0};
    buf b = buf_begin(&a);
    /* Types, a mapping, 50 locations of one function, samples of 100 locations each, strings. */
    static const uint8_t head[] = {0x0a, 4, 8, 1, 16, 2, 0x1a, 2, 8, 1, 0x2a, 4, 8, 1, 16, 1};
    buf_add(&b, head, sizeof head);
    for (unsigned id = 1; id <= 50; id++) {
        const uint8_t location[] = {0x22, 7, 8, (uint8_t)id, 16, 1, 24, 0x80 | (uint8_t)id, 1};
        buf_add(&b, location, sizeof location);
    }
    rng r = {1};
    size_t values_at[STACKS];
    for (size_t i = 0; i < STACKS; i++) {
        uint8_t sample[2 + 3 + 2 + 100] = {0x12, 3 + 2 + 100, 0x12, 1, 1, 0x0a, 100};
        for (size_t n = 7; n < sizeof sample; n++)
            sample[n] = (uint8_t)(1 + rng_below(&r, 50));
        values_at[i] = b.len + 4;
        buf_add(&b, sample, sizeof sample);
    }
    static const char *const strings[] = {"", "contentions", "count"};
    for (size_t i = 0; i < 3; i++) {
        const uint8_t tag[] = {0x32, (uint8_t)strlen(strings[i])};
        buf_add(&b, tag, 2);
        buf_text(&b, strings[i]);
    }
    buf prev = pack_gzip(&a, b, 1);
    for (size_t i = 0; i < STACKS; i += 100)
        b.ptr[values_at[i]] = 5;
    buf cur = pack_gzip(&a, b, 1);
    pair p;
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.id = 1;
    pair_begin(&p, &options);
    pprofdelta_status want, got;
    buf whole = window_of(&a, p.whole, prev, cur, &want);
    tracker memory = {0};
    pprofdelta_allocator allocator = tracker_allocator(&memory);
    pprofdelta *pd;
    options.max_memory = LIMIT;
    REQUIRE(pprofdelta_new(&options, &allocator, &pd, NULL) == PPROFDELTA_OK);
    buf bounded = window_of(&a, pd, prev, cur, &got);
    REQUIRE(want == PPROFDELTA_OK && got == PPROFDELTA_OK);
    CHECK(whole.len == bounded.len && memcmp(whole.ptr, bounded.ptr, whole.len) == 0);
    CHECK_MSG(memory.peak <= LIMIT && memory.peak < b.len, "%zu bytes for %zu", memory.peak, b.len);
    pprofdelta_free(pd);
    pair_end(&p);
    arena_free(&a);
}

TEST_MAIN()
