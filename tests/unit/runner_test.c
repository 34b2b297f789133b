/* Windows with a runner beside windows without one: the same statuses, errors, reports and bytes,
 * whatever the runner does with the tasks. Built with the thread sanitizer, if there is one. */
#include "delta/context.h"

#include "film.h"
#include "keep.h"
#include "runners.h"
#include "seeds.h"
#include "test.h"

#include <stdlib.h>

typedef struct outcome {
    pprofdelta_status status;
    pprofdelta_error err;
    pprofdelta_report report;
    buf bytes;
} outcome;

static pprofdelta *new_context(const pprofdelta_options *options, test_runner *runner)
{
    pprofdelta_options o = *options;
    pprofdelta *pd;
    o.runner = runner ? test_runner_get(runner) : NULL;
    if (pprofdelta_new(&o, NULL, &pd, NULL))
        abort();
    pd->is_eager = true;
    return pd;
}

static outcome in_one_call(arena *a, pprofdelta *pd, buf cur)
{
    collector c = {.bytes = buf_begin(a)};
    pprofdelta_sink sink = collector_sink(&c);
    outcome o = {0};
    o.status = pprofdelta_window(pd, cur.ptr, cur.len, &sink, &o.report, &o.err);
    o.bytes = c.bytes;
    return o;
}

/* begin, what comes between, write without a sink, write to one that refuses, write. */
static outcome in_steps(arena *a, pprofdelta *pd, buf cur, const buf *state)
{
    outcome o = {.status = pprofdelta_begin(pd, cur.ptr, cur.len, &o.err)};
    CHECK(o.status == PPROFDELTA_OK);
    if (state)
        CHECK(keep_load(pd, *state, &o.err) == PPROFDELTA_OK);
    o.status = pprofdelta_write(pd, NULL, &o.report, &o.err);
    if (o.status)
        return o;
    collector none = {.bytes = buf_begin(a), .fail_at = 1}, c = {.bytes = buf_begin(a)};
    pprofdelta_sink refuses = collector_sink(&none), sink = collector_sink(&c);
    CHECK(pprofdelta_write(pd, &refuses, NULL, &o.err) == PPROFDELTA_E_SINK);
    o.status = pprofdelta_write(pd, &sink, &o.report, &o.err);
    CHECK(o.report.output_len == c.bytes.len);
    o.bytes = c.bytes;
    return o;
}

static bool same_types(const pprofdelta_report *a, const pprofdelta_report *b)
{
    if (a->types_len != b->types_len)
        return false;
    for (size_t i = 0; i < a->types_len; i++) {
        const pprofdelta_type_report *x = &a->types[i], *y = &b->types[i];
        if (strcmp(x->type, y->type) || strcmp(x->unit, y->unit) ||
            x->is_counter != y->is_counter || !pd_sum_equal(x->prev, y->prev) ||
            !pd_sum_equal(x->cur, y->cur) || !pd_sum_equal(x->delta, y->delta) ||
            !pd_sum_equal(x->clamped, y->clamped) || !pd_sum_equal(x->vanished, y->vanished))
            return false;
    }
    return true;
}

static bool same_report(const pprofdelta_report *a, const pprofdelta_report *b)
{
    return a->samples_in == b->samples_in && a->samples_out == b->samples_out &&
           a->matched == b->matched && a->fresh == b->fresh && a->vanished == b->vanished &&
           a->clamped == b->clamped && a->duplicates == b->duplicates &&
           a->by_address == b->by_address && a->by_lines == b->by_lines &&
           a->files_replaced == b->files_replaced && a->other_build == b->other_build &&
           a->unknown_fields == b->unknown_fields && a->had_base == b->had_base &&
           a->restart == b->restart && a->from_nanos == b->from_nanos &&
           a->to_nanos == b->to_nanos && a->sequence == b->sequence && a->attempt == b->attempt &&
           a->output_len == b->output_len && a->is_same == b->is_same &&
           a->may_be_window == b->may_be_window && same_types(a, b);
}

static bool same_bytes(buf a, buf b)
{
    return a.len == b.len && (!a.len || !memcmp(a.ptr, b.ptr, a.len));
}

/* NULL, or what differs. */
static const char *difference(const outcome *want, const outcome *got)
{
    if (want->status != got->status)
        return "the status";
    if (want->status)
        return same_error(&want->err, &got->err) ? NULL : "the error";
    if (!same_bytes(want->bytes, got->bytes))
        return "the bytes";
    return same_report(&want->report, &got->report) ? NULL : "the report";
}

#define SAME(want, got, seed, kind)                                                                \
    do {                                                                                           \
        const char *what_ = difference(&(want), &(got));                                           \
        CHECK_MSG(!what_, "seed %" PRIu64 ", runner %s: %s; %s", seed, test_runner_name(kind),     \
                  what_, (got).status ? (got).err.text : "");                                      \
    } while (0)

/* ---- windows ----------------------------------------------------------------------------------- */

/* A bit of the file, or its end, is not as it was. */
static buf damage(arena *a, rng *r, buf file)
{
    buf copy = buf_begin(a);
    buf_add(&copy, file.ptr, file.len);
    if (copy.len && rng_chance(r, 50))
        copy.ptr[rng_below(r, copy.len)] ^= (uint8_t)(1u << rng_below(r, 8));
    else if (copy.len)
        copy.len = rng_below(r, copy.len);
    return copy;
}

/* The same life in two contexts. Sometimes the second is given its state between begin and write. */
static void live(film *f, uint64_t seed, runner_kind kind)
{
    test_runner *runner = test_runner_new(kind, seed);
    pprofdelta *plain = new_context(&f->options, NULL), *other = new_context(&f->options, runner);
    rng r = {seed + 1};
    if (rng_chance(&r, 30))
        other->piece = 1 + rng_below(&r, 5000);
    for (size_t i = 0; i < FILM_LOOKS; i++) {
        buf look = rng_chance(&r, 20) ? damage(&f->arena, &r, f->looks[i]) : f->looks[i];
        buf state = keep_save(&f->arena, plain);
        bool is_loaded = rng_chance(&r, 50), commits = rng_chance(&r, 70);
        outcome want = in_one_call(&f->arena, plain, look);
        outcome got = in_steps(&f->arena, other, look, is_loaded ? &state : NULL);
        SAME(want, got, seed, kind);
        if (commits) {
            pprofdelta_commit(plain);
            pprofdelta_commit(other);
        }
        pprofdelta_abandon(plain);
        pprofdelta_abandon(other);
        CHECK(same_bytes(keep_save(&f->arena, plain), keep_save(&f->arena, other)));
    }
    pprofdelta_free(plain);
    pprofdelta_free(other);
    test_runner_free(runner);
}

TEST(windows_do_not_depend_on_the_runner)
{
    seed_range range = seeds(1);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        film f;
        film_begin(&f, seed + 500000);
        if (f.options.on_reset == PPROFDELTA_ON_RESET_NEGATIVE)
            f.options.on_reset = PPROFDELTA_ON_RESET_AUTO;
        f.options.flags |= seed % 3 ? 0 : PPROFDELTA_VERIFY;
        for (runner_kind kind = RUNNER_NULL; kind < RUNNER_KINDS; kind++)
            live(&f, seed, kind);
        film_end(&f);
    }
}

/* ---- two profiles ------------------------------------------------------------------------------ */

static outcome by_compare(arena *a, pprofdelta *pd, buf prev, buf cur)
{
    collector c = {.bytes = buf_begin(a)};
    pprofdelta_sink sink = collector_sink(&c);
    outcome o = {0};
    o.status =
        pprofdelta_compare(pd, prev.ptr, prev.len, cur.ptr, cur.len, &sink, &o.report, &o.err);
    o.bytes = c.bytes;
    return o;
}

static outcome by_base(arena *a, pprofdelta *pd, buf prev, buf cur)
{
    outcome o = {0};
    o.status = pprofdelta_base(pd, prev.ptr, prev.len, &o.err);
    if (o.status) {
        o.err.is_prev = 1;
        return o;
    }
    o = in_one_call(a, pd, cur);
    pprofdelta_abandon(pd);
    return o;
}

TEST(a_comparison_is_a_base_and_a_window)
{
    seed_range range = seeds(1);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        film f;
        film_begin(&f, seed + 600000);
        f.options.flags |= PPROFDELTA_NO_SEQUENCE;
        rng r = {seed};
        buf prev = rng_chance(&r, 20) ? damage(&f.arena, &r, f.looks[0]) : f.looks[0];
        buf cur = rng_chance(&r, 20) ? damage(&f.arena, &r, f.looks[1]) : f.looks[1];
        pprofdelta *plain = new_context(&f.options, NULL);
        outcome want = by_base(&f.arena, plain, prev, cur);
        f.options.flags &= ~(unsigned)PPROFDELTA_NO_SEQUENCE;
        for (runner_kind kind = RUNNER_NULL; kind < RUNNER_KINDS; kind++) {
            test_runner *runner = test_runner_new(kind, seed);
            pprofdelta *pd = new_context(&f.options, runner);
            for (int again = 0; again < 2; again++) {
                outcome got = by_compare(&f.arena, pd, prev, cur);
                bool is_swapped =
                    got.status == PPROFDELTA_E_MISMATCH && !strcmp(got.err.field, "time_nanos");
                if (is_swapped) /* in a series the counters decide */
                    continue;
                SAME(want, got, seed, kind);
                pprofdelta_memory memory;
                pprofdelta_describe(pd, &memory);
                CHECK(!memory.has_base && !memory.sequence && !memory.attempts);
            }
            pprofdelta_free(pd);
            test_runner_free(runner);
        }
        pprofdelta_free(plain);
        film_end(&f);
    }
}

/* ---- failures ---------------------------------------------------------------------------------- */

/* The nth allocation fails. A task that fails is made up for, so the delta may come out right. */
static bool fail_nth(film *f, size_t nth, uint64_t seed, const outcome *want)
{
    tracker memory = {.fail_at = nth, .is_alone = seed % 2};
    pprofdelta_allocator allocator = tracker_allocator(&memory);
    test_runner *runner = test_runner_new(seed % 3 ? RUNNER_SHUFFLED : RUNNER_AT_WAIT, seed);
    pprofdelta_options options = f->options;
    pprofdelta *pd;
    options.runner = test_runner_get(runner);
    if (pprofdelta_new(&options, &allocator, &pd, NULL) == PPROFDELTA_OK) {
        pd->is_eager = true;
        pd->piece = seed % 5 ? 0 : 100;
        outcome got = by_compare(&f->arena, pd, f->looks[0], f->looks[1]);
        if (got.status != PPROFDELTA_E_MEMORY)
            SAME(*want, got, seed, RUNNER_SHUFFLED);
        CHECK(got.status != PPROFDELTA_E_MEMORY || memory.refused);
        memory.fail_at = 0;
        got = by_compare(&f->arena, pd, f->looks[0], f->looks[1]);
        SAME(*want, got, seed, RUNNER_SHUFFLED);
        pprofdelta_free(pd);
    }
    test_runner_free(runner);
    CHECK_MSG(memory.live == 0, "seed %" PRIu64, seed);
    return memory.refused > 0;
}

TEST(a_failed_allocation_fails_the_call_or_nothing)
{
    seed_range range = seeds(1);
    for (uint64_t seed = range.from; seed < range.to && seed < range.from + 30; seed++) {
        film f;
        film_begin(&f, seed + 700000);
        pprofdelta *plain = new_context(&f.options, NULL);
        outcome want = by_compare(&f.arena, plain, f.looks[0], f.looks[1]);
        size_t nth = 1;
        while (nth < 2000 && fail_nth(&f, nth, seed, &want))
            nth++;
        CHECK_MSG(nth < 2000, "seed %" PRIu64, seed);
        pprofdelta_free(plain);
        film_end(&f);
    }
}

/* ---- the order of calls ------------------------------------------------------------------------ */

TEST(calls_out_of_order_are_refused)
{
    film f;
    film_begin(&f, 4);
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.id = 1;
    options.flags = PPROFDELTA_FORCE;
    for (runner_kind kind = RUNNER_NULL; kind < RUNNER_KINDS; kind++) {
        test_runner *runner = test_runner_new(kind, 1);
        pprofdelta *pd = new_context(&options, runner);
        collector c = {.bytes = buf_begin(&f.arena)};
        pprofdelta_sink sink = collector_sink(&c), none = {0};
        const uint8_t *bytes = f.looks[0].ptr;
        size_t len = f.looks[0].len;
        pprofdelta_error err;
        CHECK(pprofdelta_write(pd, &sink, NULL, &err) == PPROFDELTA_E_USAGE);
        CHECK(pprofdelta_begin(pd, NULL, 1, &err) == PPROFDELTA_E_USAGE);
        CHECK(pprofdelta_begin(pd, bytes, len, &err) == PPROFDELTA_OK);
        CHECK(pprofdelta_begin(pd, bytes, len, &err) == PPROFDELTA_E_USAGE);
        CHECK(pprofdelta_write(pd, &none, NULL, &err) == PPROFDELTA_E_USAGE);
        CHECK(pprofdelta_window(pd, bytes, len, &sink, NULL, &err) == PPROFDELTA_E_USAGE);
        CHECK(pprofdelta_compare(pd, bytes, len, bytes, len, &sink, NULL, &err) ==
              PPROFDELTA_E_USAGE);
        pprofdelta_commit(pd); /* nothing is pending */
        pprofdelta_abandon(pd);
        CHECK(pprofdelta_write(pd, &sink, NULL, &err) == PPROFDELTA_E_USAGE);
        CHECK(pprofdelta_begin(pd, bytes, len, &err) == PPROFDELTA_OK);
        CHECK(pprofdelta_write(pd, NULL, NULL, &err) == PPROFDELTA_OK && !c.calls);
        CHECK(pprofdelta_begin(pd, bytes, len, &err) == PPROFDELTA_E_USAGE);
        CHECK(pprofdelta_base(pd, bytes, len, &err) == PPROFDELTA_E_USAGE);
        pprofdelta_commit(pd);
        CHECK(pprofdelta_write(pd, &sink, NULL, &err) == PPROFDELTA_OK && c.calls);
        CHECK(pprofdelta_begin(pd, bytes, len, &err) == PPROFDELTA_OK);
        pprofdelta_free(pd); /* what was begun is dropped */
        test_runner_free(runner);
    }
    film_end(&f);
}

TEST_MAIN(CASE(windows_do_not_depend_on_the_runner), CASE(a_comparison_is_a_base_and_a_window),
          CASE(a_failed_allocation_fails_the_call_or_nothing), CASE(calls_out_of_order_are_refused))
