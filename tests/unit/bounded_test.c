/* Profiles that are read as streams have the census and the errors of profiles that are in memory. The deltas
 * are compared in delta_test.c, their bytes in limits_test.c. */
#include "delta/context.h"

#include "run.h"
#include "serial.h"
#include "pack.h"
#include "seeds.h"

#include <dirent.h>
#include <inttypes.h>
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

TEST(what_is_cut_off_or_damaged_is_told_as_by_the_ordinary_way)
{
    seed_range range = seeds(1);
    ENDS(pair_end) pair p;
    pair_begin(&p, NULL);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        ENDS(arena_free) arena a = {0};
        ENDS(gen_free) gen g;
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
    }
    CHECK(p.refused > 0);
}

TEST(every_file_of_the_test_data_is_told_as_by_the_ordinary_way)
{
    static const char *const folders[] = {"valid", "hostile", "regress"};
    const char *data = getenv("PD_TESTDATA");
    ENDS(pair_end) pair p;
    pair_begin(&p, NULL);
    size_t files = 0;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        ENDS(arena_free) arena a = {0};
        const char *folder = arena_format(&a, "%s/%s", data ? data : PD_TESTDATA, folders[i]);
        DIR *dir = opendir(folder);
        for (struct dirent *entry; dir && (entry = readdir(dir));) {
            if (entry->d_name[0] == '.')
                continue;
            buf file = testdata_file(&a, arena_format(&a, "%s/%s", folders[i], entry->d_name));
            if (strstr(entry->d_name, "bomb")) /* in memory there is room for it */
                continue;
            for (int again = 0; again < 3; again++)
                check_both(&p, file, entry->d_name);
            files++;
        }
        if (dir)
            closedir(dir);
    }
    CHECK(files > 20 && p.refused > 20);
}

TEST_MAIN()
