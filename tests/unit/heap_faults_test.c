/* What a tracker does without pages: whichever mapping fails, from the first to the last, every
 * call ends, nothing is counted that is not there, and what a receiver adds up is still the truth.
 *
 * The truth is a list beside the tracker, which believes only what track and defer answered. */
#include "../support/test.h"

#include "live.h"
#include "run.h"
#include "seeds.h"

enum { SLOTS = 9000, DEPTH = 9 };

typedef struct show {
    arena arena;
    tracker memory;
    pprofdelta_heap_pages pages;
    pprofdelta_heap *heap;
    rng r;
    bool is_alive[SLOTS], is_deferred[SLOTS];
    uint64_t alive, deferred;
    live_receiver receiver;
    size_t failed_writes;
} show;

static const void *pointer(size_t at)
{
    return (const void *)(uintptr_t)(0x1000000 + at * 128);
}

static void do_one(show *s)
{
    size_t at = rng_below(&s->r, SLOTS);
    uint64_t stack[DEPTH];
    for (size_t i = 0; i < DEPTH; i++)
        stack[i] = at % 1700 + i;
    pprofdelta_heap_event event = {
        .ptr = pointer(at), .weight = {1, 3}, .stack = stack, .depth = DEPTH};
    bool was = s->is_alive[at] || s->is_deferred[at];
    if (rng_chance(&s->r, 25)) {
        CHECK(pprofdelta_heap_untrack(s->heap, event.ptr) == was);
        s->is_alive[at] = s->is_deferred[at] = false;
    } else if (!was) {
        bool later = rng_chance(&s->r, 10);
        int answer =
            later ? pprofdelta_heap_defer(s->heap, &event) : pprofdelta_heap_track(s->heap, &event);
        *(later ? &s->is_deferred[at] : &s->is_alive[at]) = answer != 0;
    }
}

static void count(show *s)
{
    s->alive = s->deferred = 0;
    for (size_t i = 0; i < SLOTS; i++) {
        s->alive += s->is_alive[i];
        s->deferred += s->is_deferred[i];
    }
}

/* Each allocation is worth 1 object and 3 bytes: what the receiver has says how many there are. */
static void check_receiver(show *s)
{
    int64_t sums[LIVE_TYPES] = {0};
    for (size_t i = 0; i < s->receiver.now.len; i++)
        for (int j = 0; j < LIVE_TYPES; j++)
            sums[j] += s->receiver.now.rows[i].values[j];
    count(s);
    CHECK_MSG(sums[2] == (int64_t)s->alive && sums[3] == 3 * (int64_t)s->alive,
              "%" PRId64 " of %" PRIu64, sums[2], s->alive);
    CHECK(sums[1] == 3 * sums[0] && sums[0] >= sums[2]);
    CHECK(sums[5] == 3 * sums[4] && sums[4] >= sums[2] && sums[4] <= sums[0]);
    CHECK(s->receiver.gaps == 0);
}

static void send(show *s, int64_t now)
{
    live_mail mail = {.arena = &s->arena};
    pprofdelta_sink sink = live_sink(&mail);
    pprofdelta_error err = {0};
    live_profile p;
    REQUIRE(pprofdelta_heap_begin(s->heap, now, NULL, NULL) == PPROFDELTA_OK);
    pprofdelta_status status = pprofdelta_heap_write(s->heap, PPROFDELTA_HEAP_CHANGES, &sink, &err);
    if (status) {
        CHECK(status == PPROFDELTA_E_MEMORY && err.status == status && mail.calls == 0);
        s->failed_writes++;
        pprofdelta_heap_abandon(s->heap);
        return;
    }
    REQUIRE(live_read(&s->arena, mail.bytes, mail.len, &p));
    live_receive(&s->receiver, &p);
    check_receiver(s);
    pprofdelta_heap_commit(s->heap);
}

/* False: there was not even a tracker. */
static bool play(show *s, uint64_t seed, size_t fail_at, bool for_good)
{
    *s = (show){.memory = {.fail_at = fail_at, .is_alone = !for_good}, .r = {seed}};
    s->receiver.arena = &s->arena;
    s->pages = tracker_pages(&s->memory);
    pprofdelta_heap_options options = PPROFDELTA_HEAP_OPTIONS_INIT;
    options.pages = &s->pages;
    options.compression = PPROFDELTA_PLAIN;
    options.max_attempts = 4;
    options.flags = seed % 2 ? 0 : PPROFDELTA_NO_MAPPINGS;
    pprofdelta_heap *untouched = (pprofdelta_heap *)&options;
    s->heap = untouched;
    pprofdelta_error err;
    pprofdelta_status status = pprofdelta_heap_new(&options, &s->heap, &err);
    if (status) {
        CHECK(status == PPROFDELTA_E_MEMORY && s->heap == untouched && s->memory.live == 0);
        return false;
    }
    for (int64_t now = 1; now <= 4; now++) {
        for (int i = 0; i < 2500; i++)
            do_one(s);
        send(s, now);
    }
    return true;
}

static void finish(show *s)
{
    pprofdelta_heap_stats stats = {.size = sizeof stats};
    s->memory.fail_at = 0; /* there are pages again: the next batch tells all */
    count(s);
    CHECK(pprofdelta_heap_complete(s->heap, NULL, NULL) == s->deferred);
    for (size_t i = 0; i < SLOTS; i++)
        s->is_alive[i] |= s->is_deferred[i];
    send(s, 100);
    CHECK(s->receiver.has_any);
    pprofdelta_heap_describe(s->heap, &stats);
    CHECK(stats.live == s->alive && stats.deferred == 0);
    CHECK(stats.inuse_objects == (int64_t)s->alive && stats.inuse_bytes == 3 * (int64_t)s->alive);
    pprofdelta_heap_free(s->heap);
    CHECK_MSG(s->memory.live == 0, "%zu bytes", s->memory.live);
    arena_free(&s->arena);
}

static void fail_each(bool for_good)
{
    size_t none = 0, writes = 0, drops = 0;
    bool refused = true;
    for (size_t nth = 1; refused; nth++) {
        static show s;
        CHECK_MSG(nth < 1000, "a thousand mappings");
        if (!play(&s, nth, nth, for_good)) {
            none++;
            continue;
        }
        refused = s.memory.refused > 0;
        pprofdelta_heap_stats stats = {.size = sizeof stats};
        pprofdelta_heap_describe(s.heap, &stats);
        drops += stats.dropped_memory > 0;
        writes += s.failed_writes > 0;
        finish(&s);
    }
    /* All three ways to fail were met. */
    CHECK_MSG(none > 0 && writes > 0 && drops > 0, "%zu %zu %zu", none, writes, drops);
}

TEST(every_mapping_may_fail_once)
{
    fail_each(false);
}

TEST(every_mapping_may_be_the_last)
{
    fail_each(true);
}

/* No more than was granted is ever held for writing, and what fails for that is told. */
TEST(an_export_keeps_its_cap)
{
    static show s;
    CHECK(play(&s, 2, 0, false));
    pprofdelta_heap_options options = PPROFDELTA_HEAP_OPTIONS_INIT;
    pprofdelta_heap *heap;
    bool failed = false, done = false;
    for (uint64_t cap = 1024; cap < (1 << 24) && !done; cap += cap / 2) {
        tracker pages = {0};
        pprofdelta_heap_pages source = tracker_pages(&pages);
        live_mail mail = {.arena = &s.arena};
        pprofdelta_sink sink = live_sink(&mail);
        options.pages = &source;
        options.max_export = cap;
        CHECK(pprofdelta_heap_new(&options, &heap, NULL) == PPROFDELTA_OK);
        for (size_t i = 0; i < 500; i++) {
            uint64_t stack[] = {i, i + 1};
            pprofdelta_heap_event event = {
                .ptr = pointer(i), .weight = {1, 3}, .stack = stack, .depth = 2};
            CHECK(pprofdelta_heap_track(heap, &event));
        }
        size_t before = pages.live;
        CHECK(pprofdelta_heap_begin(heap, 1, NULL, NULL) == PPROFDELTA_OK);
        pprofdelta_status status =
            pprofdelta_heap_write(heap, PPROFDELTA_HEAP_CHANGES, &sink, NULL);
        CHECK(status == PPROFDELTA_OK || status == PPROFDELTA_E_LIMIT);
        CHECK(mail.calls == (status == PPROFDELTA_OK));
        /* Each of some twenty buffers is rounded up to pages. */
        CHECK_MSG(pages.live - before <= cap + (32 << 12), "%zu of %" PRIu64, pages.live - before,
                  cap);
        failed |= status != PPROFDELTA_OK;
        done = status == PPROFDELTA_OK;
        pprofdelta_heap_free(heap);
        CHECK(pages.live == 0);
    }
    CHECK(failed && done);
    finish(&s);
}

TEST_MAIN()
