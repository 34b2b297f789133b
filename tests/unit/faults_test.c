/* A pair of profiles of one generated process for fuzz_delta.c, which lets it fail in every way (input that is
 * cut off or damaged, a sink that refuses, no memory) and asks for the same window again. And what memory a
 * context takes when nothing fails. */
#include "fuzz/fuzz.h"
#include "fuzz/pair.h"

#include "delta_stage.h"
#include "seeds.h"

/* ---- Failures -------------------------------------------------------------------------------- */

/* A pair, as it is laid out in pair.h, through the target. */
static void run_pair(arena *a, uint8_t header[PAIR_HEADER], buf prev, buf cur)
{
    buf input = buf_begin(a);
    pair_set_len(header, prev.len);
    buf_add(&input, header, PAIR_HEADER);
    buf_add(&input, prev.ptr, prev.len);
    buf_add(&input, cur.ptr, cur.len);
    CHECK(!LLVMFuzzerTestOneInput(input.ptr, input.len));
}

/* What is done to the pair is drawn, too. */
TEST(what_fails_leaves_nothing_behind)
{
    enum { WAYS = 6 };
    seed_range range = seeds(1);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        ENDS(stage_end) stage s;
        stage_begin(&s, seed + 3000);
        buf prev = look(&s);
        gen_evolve(&s.g, GEN_ANYTHING);
        buf cur = look(&s);
        for (int way = 0; way < WAYS; way++) {
            uint8_t header[PAIR_HEADER];
            for (size_t i = 0; i < sizeof header; i++)
                header[i] = (uint8_t)rng_next(&s.rng);
            run_pair(&s.arena, header, prev, cur);
        }
    }
}

/* In every mode and format, whole and in pieces: who carries on gets what he would have got. */
TEST(each_allocation_may_fail)
{
    ENDS(arena_free) arena a = {0};
    ENDS(gen_free) gen g;
    gen_init(&g, 3001);
    fuzz_delta_starved = 128; /* whatever else is promised does not depend on the allocation */
    for (uint8_t mode = 0; mode < 15; mode++) {
        const uint8_t how = mode < 5 ? mode : 43 + mode; /* plain; gzip or zstd */
        serial_style style = {
            .seed = mode, .packing = EMIT_PACKED, .pack = (serial_pack)(mode % 3)};
        buf prev = serial_write(&a, &g.m, &style);
        gen_evolve(&g, GEN_DECREASE | GEN_VANISH | GEN_RENAME);
        buf cur = serial_write(&a, &g.m, &style);
        uint8_t header[PAIR_HEADER] = {how, mode % 2 ? 64 : 0, [PAIR_AT] = 20};
        run_pair(&a, header, prev, cur);
    }
}

/* ---- Memory ---------------------------------------------------------------------------------- */

/* Calls of malloc, also by the compression libraries. Where malloc cannot be counted there are none. */
static size_t mallocs;

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) &&       \
    !defined(__clang__)
void *__libc_malloc(size_t size);                 // NOLINT: glibc's
void *__libc_calloc(size_t len, size_t size);     // NOLINT
void *__libc_realloc(void *ptr, size_t size);     // NOLINT
void *__libc_memalign(size_t align, size_t size); // NOLINT

void *malloc(size_t size)
{
    mallocs++;
    return __libc_malloc(size);
}

void *calloc(size_t len, size_t size)
{
    mallocs++;
    return __libc_calloc(len, size);
}

void *realloc(void *ptr, size_t size)
{
    mallocs++;
    return __libc_realloc(ptr, size);
}

int posix_memalign(void **out, size_t align, size_t size)
{
    mallocs++;
    *out = __libc_memalign(align, size);
    return *out ? 0 : 12;
}
#endif

static int ignore(void *cookie, const void *data, size_t len)
{
    (void)cookie, (void)data, (void)len;
    return 0;
}

static pprofdelta_status try_window(pprofdelta *pd, buf profile)
{
    const pprofdelta_sink sink = {.write = ignore};
    return pprofdelta_window(pd, profile.ptr, profile.len, &sink, NULL, NULL);
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
        ENDS(arena_free) arena a = {0};
        ENDS(gen_free) gen g;
        rng r = {seed * 2 + 1};
        gen_init(&g, seed + 5000);
        pprofdelta_options options = draw_options(&r, &g);
        options.on_reset = modes[seed / 4 % 4];
        tracker memory = {0};
        pprofdelta *pd;
        REQUIRE(pprofdelta_new(&options, tracking(&memory), &pd, NULL) == PPROFDELTA_OK);
        char *comment = memset(arena_alloc(&a, 4097), '#', 4096);
        g.m.comments = (const char *[]){comment};
        size_t warm = 0;
        for (size_t window = 1; window <= 8 && gen_counts(&g); window++) {
            serial_style style = {.seed = window % 2,
                                  .ids = (serial_ids)(seed % 4),
                                  .tables = (serial_tables)(seed % 3),
                                  .packing = (emit_packing)(seed % 2),
                                  .pack = (serial_pack)(seed % 3),
                                  .members = 1 + (unsigned)(seed / 3 % 3),
                                  .shuffle_tables = true,
                                  .shuffle_labels = true};
            g.m.comments_len = window <= WARM_UP;
            buf now = serial_write(&a, &g.m, &style);
            size_t before = mallocs;
            CHECK_MSG(!try_window(pd, now), "seed %" PRIu64, seed);
            CHECK_MSG(window <= WARM_UP || mallocs == before,
                      "seed %" PRIu64 ", window %zu: %zu calls of malloc", seed, window,
                      mallocs - before);
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
            tick(&g);
        }
        pprofdelta_free(pd);
        CHECK_MSG(memory.live == 0, "seed %" PRIu64, seed);
    }
}

TEST_MAIN()
