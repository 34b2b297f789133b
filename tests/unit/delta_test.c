/* What a delta is, held against the oracle: thousands of made-up processes, read again and again, whole or as
 * streams, by contexts that go on in others by their states. A failure names its seed; PD_TEST_SEED=n runs it alone. What fails is in faults_test.c,
 * and receiver_test.c adds windows up to what was counted. */
#include "delta/context.h"

#include "delta_stage.h"
#include "keep.h"
#include "seeds.h"

/* ---- Against the oracle ---------------------------------------------------------------------- */

/* Every other profile is read in pieces: from a byte at a time to everything at once. Some are read as by a call that
 * is made again for want of memory; the samples that are gone are then read so in the base, too. */
static void draw_piece(stage *s, twin *t)
{
    rng *r = &s->rng;
    t->pd->is_always_tight = rng_chance(r, 20);
    t->pd->chunk = rng_chance(r, 50)   ? 0
                   : rng_chance(r, 20) ? 1
                                       : 1 + rng_below(r, rng_chance(r, 60) ? 300 : 20000);
}

/* Now and then the options name what the profile does not have. */
static void spoil_options(stage *s, const char *names[2])
{
    names[0] = s->g.m.types[0].type;
    names[1] = "no_such_type";
    if (rng_chance(&s->rng, 2)) {
        s->options.counters = names;
        s->options.counters_len = 2;
    } else if (rng_chance(&s->rng, 1)) {
        s->options.gauges = names + 1;
        s->options.gauges_len = 1;
    }
}

static void tell_start(stage *s, twin *t)
{
    size_t dice = rng_below(&s->rng, 10);
    if (dice < 3)
        twin_set_started(t, s->g.started_nanos);
    else if (dice == 3)
        twin_set_started(t, 0);
}

/* The context goes on in another one, by its state, which comes in pieces of any length. */
static void move_house(stage *s, twin *t)
{
    buf saved = keep_save(&s->arena, t->pd);
    keep_source source = {.ptr = saved.ptr, .len = saved.len, .step = rng_below(&s->rng, 3)};
    pprofdelta_source bytes = keep_source_of(&source);
    pprofdelta *fresh = NULL;
    pprofdelta_error err = {0};
    REQUIRE(pprofdelta_new(&s->options, NULL, &fresh, NULL) == PPROFDELTA_OK);
    CHECK_MSG(!pprofdelta_load(fresh, &bytes, &err), "%s", err.text);
    buf again = keep_save(&s->arena, fresh);
    CHECK_MSG(buf_equal(again, saved), "a loaded state is saved differently");
    pprofdelta_set_started(fresh, t->oracle.started_nanos);
    pprofdelta_free(t->pd);
    t->pd = fresh;
}

/* One look, fed to both as a base or as a window that is then remembered or lost. Returns what is
 * wrong, which ends the sequence: the two do not stand for the same any more. */
static const char *step(stage *s, twin *t)
{
    pprofdelta_status status;
    draw_piece(s, t);
    if (rng_chance(&s->rng, s->options.on_reset == PPROFDELTA_ON_RESET_NEGATIVE ? 60 : 8))
        return twin_base(t, look(s), &status);
    tell_start(s, t);
    const char *wrong = twin_window(t, look(s), &status);
    if (wrong || status != PPROFDELTA_OK)
        return wrong;
    buf written = buf_begin(&s->arena);
    buf_add(&written, t->output.ptr, t->output.len);
    if (rng_chance(&s->rng, 70))
        twin_commit(t);
    else
        twin_abandon(t);
    if (!rng_chance(&s->rng, 5))
        return NULL;
    wrong = twin_window(t, written, &status); /* a delta is a profile: refused if it is stamped */
    if (status == PPROFDELTA_OK)
        twin_abandon(t);
    return wrong;
}

TEST(sequences_are_as_the_oracle_says)
{
    seed_range range = seeds(15);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        ENDS(stage_end) stage s;
        stage_begin(&s, seed + 100000);
        s.options.flags |= rng_chance(&s.rng, 20) ? PPROFDELTA_NO_SEQUENCE : 0;
        const char *names[2];
        spoil_options(&s, names);
        ENDS(twin_end) twin t;
        twin_begin(&t, &s.options, NULL);
        const char *wrong = NULL;
        for (size_t steps = 3 + rng_below(&s.rng, 6); steps && !wrong; steps--) {
            wrong = step(&s, &t);
            AGREE(seed, wrong);
            bool has_state = !(s.options.flags & PPROFDELTA_NO_SEQUENCE) &&
                             s.options.on_reset != PPROFDELTA_ON_RESET_NEGATIVE;
            if (rng_chance(&s.rng, 40) && has_state)
                move_house(&s, &t);
            gen_evolve(&s.g, GEN_ANYTHING);
        }
    }
}

/* A long life with a ledger that has to let go of what went away. */
TEST(long_sequences_are_as_the_oracle_says)
{
    seed_range range = seeds(1);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        ENDS(stage_end) stage s;
        stage_begin(&s, seed + 200000);
        s.options.on_reset = seed % 2 ? PPROFDELTA_ON_RESET_CLAMP : PPROFDELTA_ON_RESET_AUTO;
        ENDS(twin_end) twin t;
        twin_begin(&t, &s.options, NULL);
        const char *wrong = NULL;
        for (size_t windows = 60; windows && !wrong; windows--) {
            pprofdelta_status status;
            wrong = twin_window(&t, look_in_order(&s), &status);
            AGREE(seed, wrong);
            if (rng_chance(&s.rng, 85))
                twin_commit(&t);
            else
                twin_abandon(&t);
            gen_evolve(&s.g, GEN_DECREASE | GEN_VANISH | GEN_RENAME | GEN_MOVE);
        }
    }
}

/* A hundred new stacks in every window: fastdelta and godeltaprof remember all of them for ever. */
TEST(stacks_that_are_gone_are_forgotten)
{
    enum { WINDOWS = 60, STACKS = 100, WARM = 20 };
    tracker memory = {0};
    ENDS(context_end) pprofdelta *pd = NULL;
    REQUIRE(pprofdelta_new(NULL, tracking(&memory), &pd, NULL) == PPROFDELTA_OK);
    size_t warm = 0;
    for (int window = 0; window < WINDOWS; window++) {
        build b = {0};
        build_types(&b, CONTENTION_TYPES);
        for (int n = 0; n < STACKS; n++)
            build_sample(&b, arena_format(&b.arena, "f%d main", 100000 + window * STACKS + n),
                         "1 1");
        buf now = build_bytes(&b);
        collector c = {.bytes = buf_begin(&b.arena)};
        CHECK(pprofdelta_window(pd, now.ptr, now.len, collecting(&c), NULL, NULL) == PPROFDELTA_OK);
        pprofdelta_commit(pd);
        build_free(&b);
        if (window == WARM)
            warm = memory.live;
    }
    CHECK_MSG(memory.live == warm, "%zu bytes, and %zu after window %d", memory.live, warm, WARM);
}

TEST(real_pairs_are_as_the_oracle_says)
{
    static const char *const kinds[] = {"heap", "mutex", "block"};
    static const pprofdelta_on_reset modes[] = {PPROFDELTA_ON_RESET_AUTO, PPROFDELTA_ON_RESET_CLAMP,
                                                PPROFDELTA_ON_RESET_NEGATIVE};
    for (size_t i = 0; i < 9; i++) {
        ENDS(arena_free) arena a = {0};
        ENDS(twin_end) twin t;
        pprofdelta_status status;
        pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
        options.on_reset = modes[i / 3];
        options.flags = PPROFDELTA_VERIFY;
        twin_begin(&t, &options, NULL);
        const char *wrong = twin_base(
            &t, testdata_file(&a, arena_format(&a, "valid/%s.1.pb.gz", kinds[i % 3])), &status);
        CHECK_MSG(!wrong && !status, "%s: %s", kinds[i % 3], wrong);
        wrong = twin_window(
            &t, testdata_file(&a, arena_format(&a, "valid/%s.2.pb.gz", kinds[i % 3])), &status);
        CHECK_MSG(!wrong && !status, "%s: %s", kinds[i % 3], wrong);
    }
}

/* Their types are no counters by name, and their times are those of windows. */
TEST(other_producers_are_as_the_oracle_says)
{
    static const struct producer {
        const char *name, *end, *counters[5];
        size_t len;
    } producers[] = {
        {"dotnet", "", {"cpu", "cpu-samples", "alloc-samples", "alloc-size"}, 4},
        {"java-alloc", "", {"allocations"}, 1},
        {"java-cpu", "", {"cpu"}, 1},
        {"node-heap", ".gz", {"inuse_objects", "inuse_space"}, 2},
        {"node-time", ".gz", {"sample", "wall"}, 2},
        {"perf", "", {"samples", "cpu-clock"}, 2},
        {"php", "", {"sample", "wall-time", "cpu-time", "alloc-samples", "alloc-size"}, 5},
        {"ruby", "", {"cpu-time", "cpu-samples", "wall-time", "alloc-samples"}, 4},
        {"v8", "", {"sample", "wall"}, 2},
    };
    for (size_t i = 0; i < 2 * (sizeof producers / sizeof *producers); i++) {
        const struct producer *p = &producers[i / 2];
        ENDS(arena_free) arena a = {0};
        ENDS(twin_end) twin t;
        pprofdelta_status status = PPROFDELTA_OK;
        pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
        options.on_reset = i % 2 ? PPROFDELTA_ON_RESET_NEGATIVE : PPROFDELTA_ON_RESET_AUTO;
        options.flags = PPROFDELTA_VERIFY | PPROFDELTA_FORCE;
        options.counters = p->counters;
        options.counters_len = p->len;
        twin_begin(&t, &options, NULL);
        const char *one = arena_format(&a, "producers/%s.1.pb%s", p->name, p->end);
        const char *wrong = twin_base(&t, testdata_file(&a, one), &status);
        CHECK_MSG(!wrong && !status, "%s: %s", p->name, wrong);
        const char *two = arena_format(&a, "producers/%s.2.pb%s", p->name, p->end);
        wrong = twin_window(&t, testdata_file(&a, two), &status);
        CHECK_MSG(!wrong && !status, "%s: %s", p->name, wrong);
    }
}

TEST_MAIN()
