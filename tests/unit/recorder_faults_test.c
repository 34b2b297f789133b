/* What a failure leaves of a recorder: everything. Memory that runs out and sinks that refuse, at
 * every place where it can happen; after each the recorder is asked for the window again, beside
 * one that had no trouble. And what it takes when nothing fails. */
#include "recorder_size.h"
#include "records.h"
#include "run.h"
#include "seeds.h"
#include "test.h"

/* A made-up process with a recorder that has trouble and one that has none. */
typedef struct duo {
    records r;
    arena arena; /* of the last window */
    tracker memory;
    pprofdelta_recorder *tried, *calm;
} duo;

static bool duo_begin(duo *d, uint64_t seed)
{
    *d = (duo){.memory = {.calls = 0}};
    records_init(&d->r, seed);
    pprofdelta_allocator allocator = tracker_allocator(&d->memory);
    return !pprofdelta_recorder_new(&d->r.options, &allocator, &d->tried, NULL) &&
           !pprofdelta_recorder_new(&d->r.options, NULL, &d->calm, NULL);
}

static void duo_end(duo *d)
{
    pprofdelta_recorder_free(d->tried);
    pprofdelta_recorder_free(d->calm);
    CHECK(d->memory.live == 0);
    records_free(&d->r);
    arena_free(&d->arena);
}

/* The window of one of them, not ended yet. */
static pprofdelta_status feed(duo *d, pprofdelta_recorder *recorder, collector *c)
{
    const pprofdelta_recording look = {.time_nanos = d->r.time_nanos, .period = d->r.period};
    pprofdelta_error err = {0};
    pprofdelta_sink sink = collector_sink(c);
    c->bytes = buf_begin(&d->arena);
    c->calls = 0;
    pprofdelta_status status = records_feed(&d->r, recorder, &look, &err);
    if (!status)
        status = pprofdelta_recorder_write(recorder, &sink, NULL, &err);
    if (status)
        CHECK(*err.text && err.status == status);
    return status;
}

/* Both, and the same comes of it; remembered by both. */
static bool agree(duo *d)
{
    collector by_tried = {.calls = 0}, by_calm = {.calls = 0};
    pprofdelta_status status = feed(d, d->tried, &by_tried);
    if (status != feed(d, d->calm, &by_calm))
        return false;
    pprofdelta_recorder_commit(d->tried);
    pprofdelta_recorder_commit(d->calm);
    return by_tried.bytes.len == by_calm.bytes.len &&
           (status || memcmp(by_tried.bytes.ptr, by_calm.bytes.ptr, by_calm.bytes.len) == 0);
}

/* The nth allocation from here on fails, with all behind it or alone. True if there was one. */
static bool fail_once(duo *d, size_t nth, bool is_alone)
{
    collector c = {.calls = 0};
    d->memory.refused = 0;
    d->memory.fail_at = d->memory.calls + nth;
    d->memory.is_alone = is_alone;
    pprofdelta_status status = feed(d, d->tried, &c);
    bool refused = d->memory.refused > 0;
    d->memory.fail_at = 0;
    CHECK_MSG(refused ? status == PPROFDELTA_E_MEMORY && !c.calls : status == PPROFDELTA_OK,
              "allocation %zu: status %d", nth, status);
    pprofdelta_recorder_abandon(d->tried);
    if (!status) { /* one attempt, and so it is for the other */
        CHECK(feed(d, d->calm, &c) == PPROFDELTA_OK);
        pprofdelta_recorder_abandon(d->calm);
    }
    return refused;
}

TEST(every_allocation_may_fail_and_the_next_window_is_whole)
{
    seed_range range = seeds(1);
    for (uint64_t seed = range.from; seed < range.to; seed += 4) {
        for (unsigned is_alone = 0; is_alone < 2; is_alone++) {
            bool refused = true;
            for (size_t nth = 1; refused; nth++) {
                duo d;
                REQUIRE(duo_begin(&d, seed));
                refused = fail_once(&d, nth, is_alone);
                bool same = agree(&d);
                records_evolve(&d.r, RECORDS_VANISH);
                refused |= fail_once(&d, nth, is_alone);
                same &= agree(&d);
                CHECK_MSG(same, "seed %" PRIu64 ", allocation %zu", seed, nth);
                duo_end(&d);
            }
        }
    }
}

TEST(a_new_recorder_without_memory_is_told)
{
    bool refused = true;
    for (size_t nth = 1; refused; nth++) {
        tracker memory = {.fail_at = nth};
        pprofdelta_allocator allocator = tracker_allocator(&memory);
        pprofdelta_recorder *r = NULL;
        pprofdelta_status status = pprofdelta_recorder_new(NULL, &allocator, &r, NULL);
        refused = memory.refused > 0;
        CHECK(status == (refused ? PPROFDELTA_E_MEMORY : PPROFDELTA_OK) && !r == refused);
        pprofdelta_recorder_free(r);
        CHECK(memory.live == 0);
    }
}

TEST(a_refused_write_loses_nothing)
{
    seed_range range = seeds(10);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        duo d;
        REQUIRE(duo_begin(&d, seed));
        for (size_t window = 0; window < 5; window++) {
            collector refusing = {.fail_at = 1};
            CHECK(feed(&d, d.tried, &refusing) == PPROFDELTA_E_SINK);
            pprofdelta_recorder_abandon(d.tried);
            collector lost = {.calls = 0}; /* one attempt for the other, too */
            CHECK(feed(&d, d.calm, &lost) == PPROFDELTA_OK);
            pprofdelta_recorder_abandon(d.calm);
            CHECK_MSG(agree(&d), "seed %" PRIu64 ", window %zu", seed, window);
            records_evolve(&d.r, RECORDS_ANYTHING);
        }
        duo_end(&d);
    }
}

TEST(a_limit_is_kept)
{
    duo d;
    REQUIRE(duo_begin(&d, 3));
    collector c = {.calls = 0};
    pprofdelta_recorder *r = NULL;
    bool fits = false;
    for (uint64_t limit = 1024; !fits && limit < UINT64_C(1) << 32; limit += limit / 4) {
        d.r.options.max_memory = limit;
        pprofdelta_status status = pprofdelta_recorder_new(&d.r.options, NULL, &r, NULL);
        if (!status) {
            status = feed(&d, r, &c);
            CHECK(r->mem.peak <= limit);
            pprofdelta_recorder_free(r);
        }
        fits = !status;
        CHECK(fits || status == PPROFDELTA_E_LIMIT);
    }
    CHECK(fits);
    duo_end(&d);
}

/* Many stacks, as they are in a service: what they take and, where nothing is new, not even
 * that. */
static void fill(duo *d, pprofdelta_recorder *r, size_t stacks, int64_t window)
{
    collector c = {.bytes = buf_begin(&d->arena)};
    pprofdelta_sink sink = collector_sink(&c);
    pprofdelta_recording look = {.period = 524288, .time_nanos = window};
    CHECK(pprofdelta_recorder_begin(r, &look, NULL) == PPROFDELTA_OK);
    for (size_t i = 0; i < stacks; i++) {
        const uintptr_t stack[] = {i % 97, i / 97, 1, 2, 3};
        const int64_t moved = i % 100 == (size_t)window % 100 ? window : 0;
        const int64_t values[] = {10 + moved, 640 + 64 * moved, 0, 0};
        pprofdelta_record record = {.stack = stack, .depth = 5, .values = values, .block_size = 64};
        CHECK(pprofdelta_recorder_add(r, &record, NULL) == PPROFDELTA_OK);
    }
    CHECK(pprofdelta_recorder_write(r, &sink, NULL, NULL) == PPROFDELTA_OK);
    pprofdelta_recorder_commit(r);
    arena_free(&d->arena);
}

TEST(an_entry_takes_at_most_64_bytes_and_the_steady_state_allocates_nothing)
{
    for (size_t stacks = 300; stacks < 40000; stacks += stacks / 3) {
        duo d = {.memory = {.calls = 0}};
        pprofdelta_allocator allocator = tracker_allocator(&d.memory);
        pprofdelta_recorder *r = NULL;
        pprofdelta_recorder_options options = PPROFDELTA_RECORDER_OPTIONS_INIT;
        options.id = 1;
        options.flags = PPROFDELTA_NO_MAPPINGS;
        options.on_reset = stacks % 2 ? PPROFDELTA_ON_RESET_AUTO : PPROFDELTA_ON_RESET_CLAMP;
        REQUIRE(pprofdelta_recorder_new(&options, &allocator, &r, NULL) == PPROFDELTA_OK);
        for (int64_t window = 1; window < 4; window++)
            fill(&d, r, stacks, window);
        size_t calls = d.memory.calls;
        for (int64_t window = 4; window < 8; window++)
            fill(&d, r, stacks, window);
        CHECK_MSG(d.memory.calls == calls, "%zu allocations", d.memory.calls - calls);
        size_t bytes = recorder_ledger_bytes(r);
        CHECK(r->ledger.committed == stacks);
        CHECK_MSG(bytes <= 64 * stacks, "%zu bytes for %zu", bytes, stacks);
        pprofdelta_recorder_free(r);
        CHECK(d.memory.live == 0);
    }
}

TEST_MAIN()
