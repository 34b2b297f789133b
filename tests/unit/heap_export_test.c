/* The life of batches: kinds, numbers, times; what is given back, lost, or asked for anew. What a
 * profile of them looks like is in heap_profile_test.c. */
#include "heap_scene.h"
#include "seeds.h"

#include <stdlib.h>

TEST(batches_follow_each_other)
{
    scene s;
    begin(&s, (pprofdelta_heap_options){.started_nanos = 10});
    track(&s, 1);
    live_profile p = sent(&s, 20);
    CHECK(is(&p, "full", 1, 1, 10, 20) && p.id == 0xabc && p.sums.len == 1);
    p = sent(&s, 30);
    CHECK(is(&p, "delta", 1, 2, 20, 30) && p.sums.len == 0);
    track(&s, 2);
    pprofdelta_heap_untrack(s.heap, pointer(1));
    p = sent(&s, 40);
    CHECK(is(&p, "delta", 1, 3, 30, 40) && p.sums.len == 2);
    CHECK(s.receiver.now.len == 2 && s.receiver.gaps == 0);
    end(&s);
}

/* A given-back ADD and a later REMOVE collapse too. */
TEST(a_batch_that_was_abandoned_comes_again_with_what_followed)
{
    scene s;
    begin(&s, (pprofdelta_heap_options){0});
    sent(&s, 1);
    track(&s, 1);
    track(&s, 2);
    pprofdelta_heap_window batch = begun(&s, 2);
    CHECK(batch.kind == PPROFDELTA_HEAP_DELTA && batch.sequence == 2 && batch.changed == 2 &&
          batch.attempt == 1);
    pprofdelta_heap_untrack(s.heap, pointer(1));
    track(&s, 3);
    live_profile lost = written(&s, PPROFDELTA_HEAP_CHANGES);
    pprofdelta_heap_abandon(s.heap);
    pprofdelta_heap_untrack(s.heap, pointer(2));
    batch = begun(&s, 3);
    CHECK(batch.sequence == 2 && batch.changed == 3 && batch.attempt == 2);
    live_profile again = written(&s, PPROFDELTA_HEAP_CHANGES);
    CHECK(is(&lost, "delta", 1, 2, 1, 2) && is(&again, "delta", 1, 2, 1, 3));
    int64_t inuse = 0, allocated = 0;
    for (size_t i = 0; i < again.sums.len; i++) {
        inuse += again.sums.rows[i].values[2];
        allocated += again.sums.rows[i].values[0];
    }
    CHECK(again.sums.len == 3 && inuse == 2 && allocated == 6);
    /* Of equal sequence the last counts: had the first one arrived after all, nothing would be
     * twice. */
    live_receive(&s.receiver, &lost);
    live_receive(&s.receiver, &again);
    pprofdelta_heap_commit(s.heap);
    live_profile p = sent(&s, 4);
    CHECK(is(&p, "delta", 1, 3, 3, 4) && p.sums.len == 0 && s.receiver.gaps == 0);
    inuse = 0;
    for (size_t i = 0; i < s.receiver.now.len; i++)
        inuse += s.receiver.now.rows[i].values[2];
    CHECK(inuse == 2);
    end(&s);
}

TEST(after_resync_an_abandoned_batch_comes_again_in_a_new_epoch)
{
    scene s;
    begin(&s, (pprofdelta_heap_options){.started_nanos = 5});
    track(&s, 1);
    sent(&s, 10);
    track(&s, 2);
    begun(&s, 20);
    written(&s, PPROFDELTA_HEAP_CHANGES);
    pprofdelta_heap_abandon(s.heap);
    pprofdelta_heap_resync(s.heap);
    track(&s, 3);
    live_profile p = sent(&s, 30);
    CHECK(is(&p, "full", 2, 2, 5, 30) && p.attempt == 2 && p.sums.len == 3);
    p = sent(&s, 40);
    CHECK(is(&p, "delta", 2, 3, 30, 40) && p.sums.len == 0);
    pprofdelta_heap_stats stats = {.size = sizeof stats};
    pprofdelta_heap_describe(s.heap, &stats);
    CHECK(stats.batches == 4 && stats.committed == 3 && stats.abandoned == 1 && stats.lost == 0 &&
          stats.resyncs == 1 && stats.epoch == 2 && stats.sequence == 3);
    end(&s);
}

TEST(a_full_batch_that_was_abandoned_is_full_again_in_the_same_epoch)
{
    scene s;
    begin(&s, (pprofdelta_heap_options){.started_nanos = 5});
    track(&s, 1);
    begun(&s, 10);
    pprofdelta_heap_abandon(s.heap);
    track(&s, 2);
    live_profile p = sent(&s, 20);
    CHECK(is(&p, "full", 1, 1, 5, 20) && p.sums.len == 2);
    p = sent(&s, 30);
    CHECK(is(&p, "delta", 1, 2, 20, 30));
    end(&s);
}

TEST(a_resync_comes_with_the_next_batch)
{
    scene s;
    begin(&s, (pprofdelta_heap_options){0});
    track(&s, 1);
    sent(&s, 1);
    begun(&s, 2);
    pprofdelta_heap_resync(s.heap); /* the batch under way stays what it is */
    live_profile p = written(&s, PPROFDELTA_HEAP_CHANGES);
    CHECK(is(&p, "delta", 1, 2, 1, 2));
    pprofdelta_heap_abandon(s.heap);
    p = sent(&s, 3);
    CHECK(is(&p, "full", 2, 2, 0, 3) && p.sums.len == 1);
    p = sent(&s, 4);
    CHECK(is(&p, "delta", 2, 3, 3, 4));
    end(&s);
}

TEST(attempts_are_bounded)
{
    scene s;
    begin(&s, (pprofdelta_heap_options){.max_attempts = 3});
    sent(&s, 1);
    track(&s, 1);
    for (uint32_t i = 0; i < 4; i++) {
        pprofdelta_heap_window batch = begun(&s, 2 + i);
        CHECK(batch.kind == PPROFDELTA_HEAP_DELTA && batch.attempt == i + 1 && batch.sequence == 2);
        written(&s, PPROFDELTA_HEAP_CHANGES);
        pprofdelta_heap_abandon(s.heap);
    }
    live_profile p = sent(&s, 9);
    CHECK(is(&p, "full", 2, 3, 0, 9) && p.sums.len == 1);
    /* A success in between begins the count anew. */
    for (uint32_t i = 0; i < 10; i++) {
        pprofdelta_heap_window batch = begun(&s, 10 + i);
        CHECK(batch.kind == PPROFDELTA_HEAP_DELTA && batch.attempt == i % 2 + 1);
        written(&s, PPROFDELTA_HEAP_CHANGES);
        if (i % 2)
            pprofdelta_heap_commit(s.heap);
        else
            pprofdelta_heap_abandon(s.heap);
    }
    end(&s);
}

TEST(bytes_that_wait_are_bounded)
{
    scene s;
    begin(&s, (pprofdelta_heap_options){.max_retry = 10000});
    sent(&s, 1);
    for (size_t i = 0; i < 10; i++)
        track(&s, i);
    begun(&s, 2);
    pprofdelta_heap_abandon(s.heap);
    CHECK(begun(&s, 3).kind == PPROFDELTA_HEAP_DELTA);
    written(&s, PPROFDELTA_HEAP_CHANGES);
    pprofdelta_heap_commit(s.heap);
    for (size_t i = 100; i < 200; i++)
        track(&s, i);
    begun(&s, 4);
    pprofdelta_heap_abandon(s.heap);
    live_profile p = sent(&s, 5);
    CHECK_STR(p.kind, "full");
    CHECK(p.epoch == 2 && p.sums.len == 110);
    end(&s);
}

/* Sites without anything in use make room; their counters go to the one without a stack, and the
 * next batch tells everything anew. */
TEST(sites_are_forgotten_where_room_is_short)
{
    scene s;
    begin(&s, (pprofdelta_heap_options){.max_sites = 10});
    for (size_t i = 0; i < 10; i++) {
        track(&s, i);
        if (i < 7)
            pprofdelta_heap_untrack(s.heap, pointer(i));
    }
    uint64_t stack[] = {7, 7};
    pprofdelta_heap_event event = {
        .ptr = pointer(50), .weight = {1, 1}, .stack = stack, .depth = 2};
    CHECK(!pprofdelta_heap_track(s.heap, &event));
    sent(&s, 1);
    pprofdelta_heap_stats stats = {.size = sizeof stats};
    pprofdelta_heap_describe(s.heap, &stats);
    CHECK(stats.forgotten == 7 && stats.sites == 4 && stats.dropped_sites == 1);
    CHECK(pprofdelta_heap_track(s.heap, &event));
    live_profile p = sent(&s, 2);
    CHECK(is(&p, "full", 2, 2, 0, 2));
    int64_t sums[LIVE_TYPES] = {0};
    for (size_t i = 0; i < p.sums.len; i++)
        for (int j = 0; j < LIVE_TYPES; j++)
            sums[j] += p.sums.rows[i].values[j];
    CHECK(p.sums.len == 5 && sums[0] == 21 && sums[1] == 1001 && sums[2] == 7 && sums[3] == 301);
    for (size_t i = 0; i < p.sums.len; i++)
        CHECK(*p.sums.rows[i].key || p.sums.rows[i].values[0] == 14);
    /* Nothing is short any more: nothing more is forgotten. */
    p = sent(&s, 3);
    CHECK(is(&p, "delta", 2, 3, 2, 3));
    end(&s);
}

/* A site that is forgotten was part of the peak. Its share goes where its counters go, also if it was
 * held for a batch that is lost, and the next batch has the same peak. */
TEST(a_forgotten_site_stays_in_the_peak)
{
    scene s;
    begin(&s, (pprofdelta_heap_options){.max_sites = 3, .max_attempts = 1});
    pprofdelta_heap_event without_stack = {.ptr = pointer(9), .weight = {2, 100}};
    CHECK(pprofdelta_heap_track(s.heap, &without_stack));
    for (size_t i = 1; i <= 3; i++)
        track(&s, i);
    pprofdelta_heap_untrack(s.heap, pointer(3));
    uint64_t stack[] = {7, 7};
    pprofdelta_heap_event event = {
        .ptr = pointer(50), .weight = {1, 1}, .stack = stack, .depth = 2};
    CHECK(!pprofdelta_heap_track(s.heap, &event));
    for (int64_t now = 1; now <= 2; now++) {
        begun(&s, now);
        s.mail.refuses = true;
        CHECK(pprofdelta_heap_write(s.heap, PPROFDELTA_HEAP_CHANGES, &s.sink, NULL) ==
              PPROFDELTA_E_SINK);
        pprofdelta_heap_abandon(s.heap);
    }
    s.mail.refuses = false;
    pprofdelta_heap_stats stats = {.size = sizeof stats};
    pprofdelta_heap_describe(s.heap, &stats);
    CHECK(stats.lost == 1 && stats.forgotten == 1 && stats.peak_bytes == 400);
    live_profile p = sent(&s, 3);
    CHECK(is(&p, "full", 2, 2, 0, 3) && p.sums.len == 3);
    for (size_t i = 0; i < p.sums.len; i++) {
        int64_t sites = *p.sums.rows[i].key ? 1 : 2;
        CHECK(p.sums.rows[i].values[4] == 2 * sites && p.sums.rows[i].values[5] == 100 * sites);
    }
    end(&s);
}

TEST_MAIN()
