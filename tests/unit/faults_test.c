/* What a failure leaves behind: nothing. Memory that runs out, sinks that refuse and input that is
 * cut off or damaged, each at every place it can happen; and after each the context is asked for
 * the next window, which the oracle knows. And what memory a context takes when nothing fails. */
#include "delta/context.h"

#include "run.h"
#include "seeds.h"
#include "serial.h"

/* Four looks at one process, as files in any container, and options: all chosen by a seed. */
enum { FILM_LOOKS = 4 };

typedef struct film {
    gen g;
    rng rng;
    arena arena;
    pprofdelta_options options;
    buf looks[FILM_LOOKS];
} film;

/* With options that let every look through. long_varints is a serial_style's. false: this seed's
 * process counts nothing; skip it. */
static bool film_begin_as(film *f, uint64_t seed, serial_pack pack, unsigned long_varints)
{
    *f = (film){.rng = {seed * 2 + 1}};
    gen_init(&f->g, seed);
    f->options = draw_options(&f->rng, &f->g);
    f->options.on_reset = PPROFDELTA_ON_RESET_AUTO;
    for (size_t i = 0; i < FILM_LOOKS; i++) {
        serial_style style = serial_draw(&f->rng);
        style.pack = pack;
        style.long_varints = long_varints;
        f->looks[i] = serial_write(&f->arena, &f->g.m, &style);
        gen_evolve(&f->g, GEN_ANYTHING & ~(GEN_CLOCK | GEN_WINDOW));
    }
    return gen_counts(&f->g);
}

static void film_end(film *f)
{
    gen_free(&f->g);
    arena_free(&f->arena);
}

/* Feeds a profile to the library alone, into a sink that keeps nothing. */
static pprofdelta_status try_window(pprofdelta *pd, buf profile, size_t *written)
{
    arena a = {0};
    collector c = {.bytes = buf_begin(&a)};
    pprofdelta_sink sink = collector_sink(&c);
    pprofdelta_status status = pprofdelta_window(pd, profile.ptr, profile.len, &sink, NULL, NULL);
    *written = c.calls;
    arena_free(&a);
    return status;
}

/* The next window, which only comes out right if the context stands as before. Returns its status. */
static pprofdelta_status check_next(twin *t, buf profile, uint64_t seed)
{
    pprofdelta_status status;
    const char *wrong = twin_window(t, profile, &status);
    AGREE(seed, wrong);
    return status;
}

/* A generated profile may be of another service, as the oracle says, too. */
static bool goes_on(pprofdelta_status status)
{
    return status == PPROFDELTA_OK || status == PPROFDELTA_E_OTHER_TARGET;
}

static void check_whole(twin *t, buf profile, uint64_t seed)
{
    pprofdelta_status status = check_next(t, profile, seed);
    CHECK_MSG(goes_on(status), "seed %" PRIu64 ": status %d", seed, status);
}

/* ---- Input ----------------------------------------------------------------------------------- */

TEST(every_prefix_fails_cleanly_or_is_whole)
{
    seed_range range = seeds(1);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        ENDS(film_end) film f;
        if (film_begin_as(&f, seed, PACK_PLAIN, 10) && f.looks[1].len < 6000) {
            ENDS(twin_end) twin t;
            twin_begin(&t, &f.options, NULL);
            pprofdelta_status status;
            const char *wrong = twin_base(&t, f.looks[0], &status);
            AGREE(seed, wrong);
            for (size_t len = 0; len < f.looks[1].len; len++) {
                wrong = twin_window(&t, (buf){.ptr = f.looks[1].ptr, .len = len}, &status);
                CHECK_MSG(!wrong, "seed %" PRIu64 ", %zu bytes: %s", seed, len, wrong);
                if (status == PPROFDELTA_OK)
                    twin_abandon(&t);
            }
            check_whole(&t, f.looks[1], seed);
        }
    }
}

/* Bytes changed, cut out, or put in twice. */
static buf damage(film *f, buf whole)
{
    rng *r = &f->rng;
    buf out = buf_begin(&f->arena);
    buf_add(&out, whole.ptr, whole.len);
    size_t at = rng_below(r, out.len), len = rng_below(r, out.len - at + 1) % 40;
    switch (rng_below(r, 3)) {
    case 0:
        for (size_t n = 1 + rng_below(r, 3); n && out.len; n--)
            out.ptr[rng_below(r, out.len)] ^= (uint8_t)(1 << rng_below(r, 8));
        break;
    case 1:
        out.len = at;
        buf_add(&out, whole.ptr + at + len, whole.len - at - len);
        break;
    default:
        out.len = at;
        buf_add(&out, whole.ptr + at, len);
        buf_add(&out, whole.ptr + at, whole.len - at);
        break;
    }
    return out;
}

/* Damage that happens to leave a valid profile is taken: but then it is valid to the oracle, too.
 * (Not the other way round: in protobuf-c a string ends at a NUL. And no varints with bytes to
 * spare here: it refuses tags and lengths of more than five, where others differ.) */
static bool check_damaged(twin *t, buf damaged, uint64_t seed)
{
    size_t written;
    pprofdelta_status status = try_window(t->pd, damaged, &written);
    CHECK_MSG(status == PPROFDELTA_OK || !written, "seed %" PRIu64, seed);
    if (status != PPROFDELTA_OK)
        return false;
    pprofdelta_abandon(t->pd);
    const expectation *x;
    status_set set = oracle_window(&t->oracle, damaged.ptr, damaged.len, &x);
    oracle_abandon(&t->oracle);
    CHECK_MSG(set == STATUS(PPROFDELTA_OK), "seed %" PRIu64 ": accepted, not %#x", seed, set);
    return true;
}

TEST(damaged_input_between_windows_costs_no_window)
{
    seed_range range = seeds(10);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        ENDS(film_end) film f;
        if (film_begin_as(&f, seed + 1000, seed % 5 ? PACK_PLAIN : PACK_GZIP, 0)) {
            ENDS(twin_end) twin t;
            twin_begin(&t, &f.options, NULL);
            bool is_taken =
                false; /* a profile that was taken may have other types, or a later time */
            for (size_t i = 0; i < 3; i++) {
                for (size_t n = rng_below(&f.rng, 8); n; n--)
                    is_taken |= check_damaged(&t, damage(&f, f.looks[i]), seed);
                CHECK(goes_on(check_next(&t, f.looks[i], seed)) || is_taken);
                twin_commit(&t);
            }
            /* A base that fails leaves the old one. */
            pprofdelta_base(t.pd, "\x0a", 1, NULL);
            CHECK(goes_on(check_next(&t, f.looks[3], seed)) || is_taken);
        }
    }
}

/* ---- The sink -------------------------------------------------------------------------------- */

/* The oracle's window, when the context's was made outside of the twin and abandoned. */
static void abandon_naively(twin *t, buf profile)
{
    const expectation *ignored;
    oracle_window(&t->oracle, profile.ptr, profile.len, &ignored);
    oracle_abandon(&t->oracle);
}

TEST(a_sink_that_refuses_costs_no_window)
{
    seed_range range = seeds(2);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        ENDS(film_end) film f;
        if (film_begin_as(&f, seed + 2000, PACK_PLAIN, 10)) {
            ENDS(twin_end) twin t;
            twin_begin(&t, &f.options, NULL);
            check_whole(&t, f.looks[0], seed);
            twin_commit(&t);
            pprofdelta_status status = PPROFDELTA_E_SINK;
            for (size_t nth = 1; status != PPROFDELTA_OK; nth++) {
                collector c = {.bytes = buf_begin(&f.arena), .fail_at = nth};
                pprofdelta_sink sink = collector_sink(&c);
                pprofdelta_error err = {0};
                status = pprofdelta_window(t.pd, f.looks[1].ptr, f.looks[1].len, &sink, NULL, &err);
                abandon_naively(&t, f.looks[1]);
                bool told = status == PPROFDELTA_E_SINK && err.status == PPROFDELTA_E_SINK;
                CHECK_MSG(told == (c.calls >= nth), "seed %" PRIu64 ", write %zu", seed, nth);
                REQUIRE(status == PPROFDELTA_OK || status == PPROFDELTA_E_SINK);
            }
            pprofdelta_abandon(t.pd);
            check_whole(&t, f.looks[2], seed);
        }
    }
}

/* ---- Memory ---------------------------------------------------------------------------------- */

typedef pprofdelta_status attempt(twin *t, buf profile);

static pprofdelta_status attempt_window(twin *t, buf profile)
{
    size_t written;
    pprofdelta_status status = try_window(t->pd, profile, &written);
    CHECK(status == PPROFDELTA_OK || !written);
    if (status == PPROFDELTA_OK)
        pprofdelta_abandon(t->pd);
    if (status == PPROFDELTA_OK)
        abandon_naively(t, profile);
    return status;
}

/* Lets allocation number nth fail (alone, or with all that follow) while look 2 is fed to a context
 * that knows looks 0 and 1; then asks for the window up to look 3. Was any allocation refused? */
static bool fail_nth(film *f, size_t nth, bool alone, attempt *feed, uint64_t seed)
{
    tracker memory = {0};
    pprofdelta_allocator allocator = tracker_allocator(&memory);
    twin t;
    twin_begin(&t, &f->options, &allocator);
    t.pd->piece = seed / 2 % 2 ? 50 : 0; /* read whole, or as a stream */
    check_whole(&t, f->looks[0], seed);
    twin_commit(&t);
    check_whole(&t, f->looks[1], seed);
    twin_commit(&t);
    memory.fail_at = memory.calls + nth;
    memory.is_alone = alone;
    pprofdelta_status status = feed(&t, f->looks[2]);
    memory.fail_at = 0;
    bool refused = memory.refused > 0;
    CHECK_MSG(status == (refused ? PPROFDELTA_E_MEMORY : PPROFDELTA_OK),
              "seed %" PRIu64 ", allocation %zu: status %d", seed, nth, status);
    if (refused) {
        check_whole(&t, f->looks[2], seed);
        memory.fail_at = 1;
        memory.is_alone = false;
        twin_commit(&t); /* needs no memory */
        memory.fail_at = 0;
        check_whole(&t, f->looks[3], seed);
    }
    twin_end(&t);
    CHECK_MSG(memory.live == 0, "seed %" PRIu64 ": %zu bytes left", seed, memory.live);
    return refused;
}

static void fail_each(attempt *feed, uint64_t first)
{
    seed_range range = seeds(1);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        ENDS(film_end) film f;
        if (film_begin_as(&f, seed + first, (serial_pack)(seed % 3), 10)) {
            size_t nth = 1;
            while (nth < 1000 && fail_nth(&f, nth, seed % 2, feed, seed))
                nth++;
            CHECK_MSG(nth < 1000, "seed %" PRIu64 ": a thousand allocations", seed);
        }
    }
}

TEST(every_failed_allocation_of_a_window_costs_no_window)
{
    fail_each(attempt_window, 3000);
}

/* Every counter goes on by what its sample always adds: values grow, numbers of bytes do not. */
static void tick(gen *g)
{
    for (size_t i = 0; i < g->m.samples_len; i++)
        for (size_t t = 0; t < g->m.types_len; t++)
            if (g->is_counter[t])
                g->m.samples[i]->values[t] += (int64_t)i + 1;
    g->m.time_nanos += 1000;
    if (g->m.duration_nanos)
        g->m.duration_nanos += 1000;
}

/* Two ways of numbering that take turns, as Go numbers anew every time. The first windows, of which
 * the very first may be empty, warm up: with a long comment, so that no later one is the
 * longest. */
TEST(the_steady_state_allocates_nothing)
{
    enum { WARM_UP = 3 };
    static const pprofdelta_on_reset modes[] = {
        PPROFDELTA_ON_RESET_AUTO, PPROFDELTA_ON_RESET_RESTART, PPROFDELTA_ON_RESET_CLAMP,
        PPROFDELTA_ON_RESET_FAIL};
    seed_range range = seeds(2);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        ENDS(film_end) film f;
        bool counts = film_begin_as(&f, seed + 5000, PACK_PLAIN, 0);
        f.options.on_reset = modes[seed / 4 % 4];
        tracker memory = {0};
        pprofdelta_allocator allocator = tracker_allocator(&memory);
        pprofdelta *pd;
        REQUIRE(pprofdelta_new(&f.options, &allocator, &pd, NULL) == PPROFDELTA_OK);
        char *comment = memset(arena_alloc(&f.arena, 4097), '#', 4096);
        f.g.m.comments = (const char *[]){comment};
        size_t warm = 0;
        for (size_t window = 1; window <= 8 && counts; window++) {
            serial_style style = {.seed = window % 2,
                                  .ids = (serial_ids)(seed % 4),
                                  .tables = (serial_tables)(seed % 3),
                                  .packing = (emit_packing)(seed % 2),
                                  .pack = (serial_pack)(seed % 3),
                                  .shuffle_tables = true,
                                  .shuffle_labels = true};
            f.g.m.comments_len = window <= WARM_UP;
            buf now = serial_write(&f.arena, &f.g.m, &style);
            size_t written;
            pprofdelta_status status = try_window(pd, now, &written);
            CHECK_MSG(status == PPROFDELTA_OK, "seed %" PRIu64, seed);
            if (window == WARM_UP - 1 ||
                window == WARM_UP + 3) /* an attempt has arrays of its own */
                pprofdelta_abandon(pd);
            else
                pprofdelta_commit(pd);
            if (window == WARM_UP)
                warm = memory.calls;
            CHECK_MSG(window <= WARM_UP || memory.calls == warm,
                      "seed %" PRIu64 ", window %zu: %zu allocations", seed, window,
                      memory.calls - warm);
            tick(&f.g);
        }
        pprofdelta_free(pd);
        CHECK_MSG(memory.live == 0, "seed %" PRIu64, seed);
    }
}

TEST_MAIN()
