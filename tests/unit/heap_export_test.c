/* The life of batches: kinds, numbers, times; what is given back, lost, or asked for anew; what a
 * profile of them looks like. */
#include "live.h"
#include "reading.h"
#include "seeds.h"

#include <dlfcn.h>
#include <stdlib.h>

typedef struct scene {
    arena arena;
    pprofdelta_heap *heap;
    live_mail mail;
    pprofdelta_sink sink;
    live_receiver receiver;
} scene;

static void begin(scene *s, pprofdelta_heap_options options)
{
    *s = (scene){0};
    options.size = sizeof options;
    options.id = options.id ? options.id : 0xabc;
    options.flags |= options.symbolize ? 0 : PPROFDELTA_HEAP_NO_MAPPINGS;
    s->mail.arena = s->receiver.arena = &s->arena;
    s->sink = live_sink(&s->mail);
    CHECK(pprofdelta_heap_new(&options, &s->heap, NULL) == PPROFDELTA_OK);
}

static void end(scene *s)
{
    pprofdelta_heap_free(s->heap);
    arena_free(&s->arena);
}

static const void *pointer(size_t at)
{
    return (const void *)(uintptr_t)(0x10000 + at * 4096);
}

/* Each pointer from a stack of its own. */
static void track(scene *s, size_t at)
{
    uint64_t stack[] = {0x100 + at, 0x200};
    pprofdelta_heap_event event = {
        .ptr = pointer(at), .weight = {2, 100}, .stack = stack, .depth = 2};
    CHECK(pprofdelta_heap_track(s->heap, &event));
}

static live_profile written(scene *s, pprofdelta_heap_inuse inuse)
{
    live_profile p = {0};
    CHECK(pprofdelta_heap_write(s->heap, inuse, &s->sink, NULL) == PPROFDELTA_OK);
    CHECK(live_read(&s->arena, s->mail.bytes, s->mail.len, &p));
    return p;
}

static pprofdelta_heap_batch begun(scene *s, int64_t now)
{
    pprofdelta_heap_batch batch = {0};
    CHECK(pprofdelta_heap_begin(s->heap, now, &batch, NULL) == PPROFDELTA_OK);
    return batch;
}

/* One batch that arrives. */
static live_profile sent(scene *s, int64_t now)
{
    begun(s, now);
    live_profile p = written(s, PPROFDELTA_HEAP_CHANGES);
    live_receive(&s->receiver, &p);
    pprofdelta_heap_acknowledge(s->heap);
    return p;
}

static bool is(const live_profile *p, const char *kind, uint64_t epoch, uint64_t sequence,
               int64_t from, int64_t to)
{
    bool same = strcmp(p->kind, kind) == 0 && p->epoch == epoch && p->sequence == sequence &&
                p->from_nanos == from && p->to_nanos == to;
    if (!same)
        printf("  it is kind=%s epoch=%" PRIu64 " seq=%" PRIu64 " from=%" PRId64 " to=%" PRId64
               "\n",
               p->kind, p->epoch, p->sequence, p->from_nanos, p->to_nanos);
    return same;
}

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

/* An allocation and its end: in one window they leave the counters, in two exactly the negation. */
TEST(a_tombstone_is_the_negation_of_what_was_sent)
{
    scene s;
    begin(&s, (pprofdelta_heap_options){0});
    sent(&s, 1);
    track(&s, 1);
    live_profile add = sent(&s, 2);
    pprofdelta_heap_untrack(s.heap, pointer(1));
    live_profile tombstone = sent(&s, 3);
    CHECK(add.sums.len == 1 && tombstone.sums.len == 1);
    static const int64_t added[] = {2, 100, 2, 100}, removed[] = {0, 0, -2, -100},
                         both[] = {2, 100, 0, 0};
    CHECK(memcmp(add.sums.rows[0].values, added, sizeof added) == 0);
    CHECK(memcmp(tombstone.sums.rows[0].values, removed, sizeof removed) == 0);
    CHECK_STR(add.sums.rows[0].key, tombstone.sums.rows[0].key);
    track(&s, 2);
    pprofdelta_heap_untrack(s.heap, pointer(2));
    live_profile collapsed = sent(&s, 4);
    CHECK(collapsed.sums.len == 1 && memcmp(collapsed.sums.rows[0].values, both, sizeof both) == 0);
    end(&s);
}

/* A given-back ADD and a later REMOVE collapse too. */
TEST(a_batch_that_was_given_back_comes_again_with_what_followed)
{
    scene s;
    begin(&s, (pprofdelta_heap_options){0});
    sent(&s, 1);
    track(&s, 1);
    track(&s, 2);
    pprofdelta_heap_batch batch = begun(&s, 2);
    CHECK(batch.kind == PPROFDELTA_HEAP_DELTA && batch.sequence == 2 && batch.changed == 2 &&
          batch.attempts == 0);
    pprofdelta_heap_untrack(s.heap, pointer(1));
    track(&s, 3);
    live_profile lost = written(&s, PPROFDELTA_HEAP_CHANGES);
    pprofdelta_heap_give_back(s.heap);
    pprofdelta_heap_untrack(s.heap, pointer(2));
    batch = begun(&s, 3);
    CHECK(batch.sequence == 2 && batch.changed == 3 && batch.attempts == 1);
    live_profile again = written(&s, PPROFDELTA_HEAP_CHANGES);
    CHECK(is(&lost, "delta", 1, 2, 1, 2) && is(&again, "delta", 1, 2, 1, 3));
    int64_t inuse = 0, allocated = 0;
    for (size_t i = 0; i < again.sums.len; i++) {
        inuse += again.sums.rows[i].values[2];
        allocated += again.sums.rows[i].values[0];
    }
    CHECK(again.sums.len == 3 && inuse == 2 && allocated == 6);
    /* Of equal sequence the last counts: had the first one arrived after all, nothing would be twice. */
    live_receive(&s.receiver, &lost);
    live_receive(&s.receiver, &again);
    pprofdelta_heap_acknowledge(s.heap);
    live_profile p = sent(&s, 4);
    CHECK(is(&p, "delta", 1, 3, 3, 4) && p.sums.len == 0 && s.receiver.gaps == 0);
    inuse = 0;
    for (size_t i = 0; i < s.receiver.now.len; i++)
        inuse += s.receiver.now.rows[i].values[2];
    CHECK(inuse == 2);
    end(&s);
}

TEST(a_lost_batch_opens_an_epoch)
{
    scene s;
    begin(&s, (pprofdelta_heap_options){.started_nanos = 5});
    track(&s, 1);
    sent(&s, 10);
    track(&s, 2);
    begun(&s, 20);
    pprofdelta_heap_lost(s.heap);
    track(&s, 3);
    live_profile p = sent(&s, 30);
    CHECK(is(&p, "full", 2, 3, 5, 30) && p.sums.len == 3);
    p = sent(&s, 40);
    CHECK(is(&p, "delta", 2, 4, 30, 40) && p.sums.len == 0);
    pprofdelta_heap_stats stats;
    pprofdelta_heap_get_stats(s.heap, &stats);
    CHECK(stats.batches == 4 && stats.acknowledged == 3 && stats.lost == 1 && stats.resyncs == 1 &&
          stats.epoch == 2 && stats.sequence == 4);
    end(&s);
}

TEST(a_full_batch_that_was_given_back_is_full_again_in_the_same_epoch)
{
    scene s;
    begin(&s, (pprofdelta_heap_options){.started_nanos = 5});
    track(&s, 1);
    begun(&s, 10);
    pprofdelta_heap_give_back(s.heap);
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
    pprofdelta_heap_give_back(s.heap);
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
        pprofdelta_heap_batch batch = begun(&s, 2 + i);
        CHECK(batch.kind == PPROFDELTA_HEAP_DELTA && batch.attempts == i && batch.sequence == 2);
        pprofdelta_heap_give_back(s.heap);
    }
    live_profile p = sent(&s, 9);
    CHECK(is(&p, "full", 2, 3, 0, 9) && p.sums.len == 1);
    /* A success in between begins the count anew. */
    for (uint32_t i = 0; i < 10; i++) {
        pprofdelta_heap_batch batch = begun(&s, 10 + i);
        CHECK(batch.kind == PPROFDELTA_HEAP_DELTA && batch.attempts == i % 2);
        if (i % 2)
            pprofdelta_heap_acknowledge(s.heap);
        else
            pprofdelta_heap_give_back(s.heap);
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
    pprofdelta_heap_give_back(s.heap);
    CHECK(begun(&s, 3).kind == PPROFDELTA_HEAP_DELTA);
    pprofdelta_heap_acknowledge(s.heap);
    for (size_t i = 100; i < 200; i++)
        track(&s, i);
    begun(&s, 4);
    pprofdelta_heap_give_back(s.heap);
    live_profile p = sent(&s, 5);
    CHECK_STR(p.kind, "full");
    CHECK(p.epoch == 2 && p.sums.len == 110);
    end(&s);
}

/* Sites without anything in use make room; their counters go to the one without a stack, and the next
 * batch tells everything anew. */
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
    pprofdelta_heap_stats stats;
    pprofdelta_heap_get_stats(s.heap, &stats);
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

TEST(calls_out_of_order_are_refused_or_do_nothing)
{
    scene s;
    pprofdelta_error err;
    begin(&s, (pprofdelta_heap_options){0});
    pprofdelta_heap_acknowledge(s.heap);
    pprofdelta_heap_give_back(s.heap);
    pprofdelta_heap_lost(s.heap);
    CHECK(pprofdelta_heap_write(s.heap, PPROFDELTA_HEAP_CHANGES, &s.sink, &err) ==
          PPROFDELTA_E_USAGE);
    CHECK(s.mail.calls == 0 && strstr(err.text, "begin one first"));
    pprofdelta_heap_batch batch = begun(&s, 1), other = {.epoch = 99};
    CHECK(batch.sequence == 1);
    CHECK(pprofdelta_heap_begin(s.heap, 2, &other, &err) == PPROFDELTA_E_USAGE);
    CHECK(other.epoch == 99 && strstr(err.text, "give it back first"));
    CHECK(pprofdelta_heap_write(s.heap, (pprofdelta_heap_inuse)2, &s.sink, &err) ==
          PPROFDELTA_E_USAGE);
    s.mail.refuses = true;
    CHECK(pprofdelta_heap_write(s.heap, PPROFDELTA_HEAP_CHANGES, &s.sink, &err) ==
          PPROFDELTA_E_SINK);
    CHECK(err.status == PPROFDELTA_E_SINK && strcmp(err.stage, "write") == 0);
    s.mail.refuses = false;
    live_profile p = written(&s, PPROFDELTA_HEAP_CHANGES);
    CHECK(is(&p, "full", 1, 1, 0, 1));
    end(&s);
}

/* The sink holds no lock: it may look, and end the batch; only another write has to wait. */
static int nosy(void *cookie, const void *data, size_t len)
{
    scene *s = cookie;
    pprofdelta_heap_stats stats;
    (void)data, (void)len;
    pprofdelta_heap_get_stats(s->heap, &stats);
    track(s, 9);
    CHECK(pprofdelta_heap_write(s->heap, PPROFDELTA_HEAP_CHANGES, &s->sink, NULL) ==
          PPROFDELTA_E_USAGE);
    pprofdelta_heap_acknowledge(s->heap);
    return 0;
}

TEST(the_sink_holds_no_lock)
{
    scene s;
    begin(&s, (pprofdelta_heap_options){0});
    begun(&s, 1);
    pprofdelta_sink sink = {nosy, &s};
    CHECK(pprofdelta_heap_write(s.heap, PPROFDELTA_HEAP_CHANGES, &sink, NULL) == PPROFDELTA_OK);
    live_profile p = sent(&s, 2);
    CHECK(is(&p, "delta", 1, 2, 1, 2) && p.sums.len == 1);
    end(&s);
}

TEST(the_stamp_can_be_left_out)
{
    scene s;
    begin(&s, (pprofdelta_heap_options){.flags = PPROFDELTA_HEAP_NO_STAMP, .period = 4096});
    track(&s, 1);
    begun(&s, 1);
    CHECK(pprofdelta_heap_write(s.heap, PPROFDELTA_HEAP_CHANGES, &s.sink, NULL) == PPROFDELTA_OK);
    reading r;
    REQUIRE(reading_make(&s.arena, s.mail.bytes, s.mail.len, &r) == PPROFDELTA_OK);
    CHECK(r.view->n_comment == 0 && r.samples_len == 1 && r.view->period == 4096);
    CHECK_STR(reading_string(&r, r.view->default_sample_type), "inuse_space");
    CHECK_STR(reading_string(&r, r.view->period_type->type), "space");
    CHECK_STR(reading_string(&r, r.view->period_type->unit), "bytes");
    end(&s);
}

/* A full profile counts from the beginning and may be the input of a delta; the others may not. */
TEST(the_parsed_door_knows_a_delta_by_its_stamp)
{
    scene s;
    pprofdelta *pd;
    pprofdelta_census census;
    begin(&s, (pprofdelta_heap_options){0});
    CHECK(pprofdelta_new(NULL, NULL, &pd, NULL) == PPROFDELTA_OK);
    track(&s, 1);
    static const int stamped[] = {0, 0, 1, 1};
    for (int i = 0; i < 4; i++) {
        if (i % 2 == 0)
            begun(&s, i);
        CHECK(pprofdelta_heap_write(s.heap, (pprofdelta_heap_inuse)(i % 2), &s.sink, NULL) ==
              PPROFDELTA_OK);
        CHECK(pprofdelta_check(pd, s.mail.bytes, s.mail.len, &census, NULL) == PPROFDELTA_OK);
        CHECK_MSG(census.is_stamped == stamped[i], "%d", i);
        CHECK(pprofdelta_base(pd, s.mail.bytes, s.mail.len, NULL) ==
              (stamped[i] ? PPROFDELTA_E_STAMPED : PPROFDELTA_OK));
        if (i % 2)
            pprofdelta_heap_acknowledge(s.heap);
    }
    pprofdelta_free(pd);
    end(&s);
}

static size_t two_frames(void *cookie, uint64_t address, pprofdelta_heap_frame *frames, size_t cap)
{
    ++*(size_t *)cookie;
    if (address % 2 || cap < 2)
        return 0;
    frames[0] = (pprofdelta_heap_frame){.function = "inlined", .file = "a.c", .line = 3};
    frames[1] = (pprofdelta_heap_frame){
        .function = "outer", .system_name = "_Zouter", .file = "a.c", .line = 9, .start_line = 7};
    return 2;
}

TEST(a_symbolizer_is_asked_once_for_an_address)
{
    scene s;
    size_t calls = 0;
    begin(&s, (pprofdelta_heap_options){.symbolize = two_frames, .symbolize_cookie = &calls});
    for (size_t i = 0; i < 50; i++)
        track(&s, i);
    begun(&s, 1);
    CHECK(pprofdelta_heap_write(s.heap, PPROFDELTA_HEAP_CHANGES, &s.sink, NULL) == PPROFDELTA_OK);
    CHECK(calls == 51); /* 50 leaves and the frame below them all */
    reading r;
    REQUIRE(reading_make(&s.arena, s.mail.bytes, s.mail.len, &r) == PPROFDELTA_OK);
    size_t with_lines = 0;
    for (size_t i = 0; i < r.view->n_location; i++) {
        const Pd__View__Location *l = r.view->location[i];
        CHECK(l->n_line == (l->address % 2 ? 0 : 2));
        if (l->n_line != 2)
            continue;
        with_lines++;
        CHECK(l->line[0]->line == 3 && l->line[1]->line == 9);
    }
    CHECK(with_lines == 26 && r.view->n_function == 2);
    end(&s);
}

static const Pd__View__Mapping *mapping_of(const Pd__View__Profile *p, uint64_t address)
{
    for (size_t i = 0; i < p->n_location; i++)
        for (size_t j = 0; p->location[i]->address == address && j < p->n_mapping; j++)
            if (p->mapping[j]->id == p->location[i]->mapping_id)
                return p->mapping[j];
    return NULL;
}

static int a_function(void)
{
    return 1;
}

/* The program's own code and a library's are told apart, by name; an address that is in no file is
 * without a mapping; the program is the first mapping, as pprof takes it. */
TEST(addresses_have_their_mappings)
{
    scene s;
    pprofdelta_heap_options options = PPROFDELTA_HEAP_OPTIONS_INIT;
    *&s = (scene){0};
    s.mail.arena = &s.arena;
    s.sink = live_sink(&s.mail);
    REQUIRE(pprofdelta_heap_new(&options, &s.heap, NULL) == PPROFDELTA_OK);
    uint64_t here = (uint64_t)(uintptr_t)&a_function,
             theirs_at = (uint64_t)(uintptr_t)dlsym(NULL, "getppid");
    uint64_t stack[] = {theirs_at, here, 16};
    pprofdelta_heap_event event = {.ptr = &s, .weight = {1, 1}, .stack = stack, .depth = 3};
    CHECK(a_function() && pprofdelta_heap_track(s.heap, &event));
    begun(&s, 1);
    CHECK(pprofdelta_heap_write(s.heap, PPROFDELTA_HEAP_CHANGES, &s.sink, NULL) == PPROFDELTA_OK);
    reading r;
    REQUIRE(reading_make(&s.arena, s.mail.bytes, s.mail.len, &r) == PPROFDELTA_OK);
    const Pd__View__Mapping *ours = mapping_of(r.view, here),
                            *theirs = mapping_of(r.view, theirs_at);
    REQUIRE(ours && theirs && ours != theirs);
    CHECK(ours == r.view->mapping[0] && !mapping_of(r.view, 16));
    CHECK(strstr(reading_string(&r, ours->filename), "heap_export_test"));
    CHECK(ours->memory_start <= here && here < ours->memory_limit);
    CHECK(theirs->memory_start <= theirs_at && theirs_at < theirs->memory_limit);
    pprofdelta_heap_note_mappings(s.heap);
    end(&s);
}

static int take_nothing(void *cookie, const void *data, size_t len)
{
    (void)data;
    *(size_t *)cookie = len;
    return 0;
}

/* In the steady state nothing is mapped for tracking, and a batch without changes is small. */
TEST(a_batch_without_changes_is_small)
{
    scene s;
    begin(&s, (pprofdelta_heap_options){0});
    for (size_t i = 0; i < 5000; i++)
        track(&s, i);
    sent(&s, 1);
    begun(&s, 2);
    size_t len = 0;
    pprofdelta_sink sink = {take_nothing, &len};
    CHECK(pprofdelta_heap_write(s.heap, PPROFDELTA_HEAP_CHANGES, &sink, NULL) == PPROFDELTA_OK);
    CHECK_MSG(len < 300, "%zu bytes", len);
    end(&s);
}

TEST_MAIN(CASE(batches_follow_each_other), CASE(a_tombstone_is_the_negation_of_what_was_sent),
          CASE(a_batch_that_was_given_back_comes_again_with_what_followed),
          CASE(a_lost_batch_opens_an_epoch),
          CASE(a_full_batch_that_was_given_back_is_full_again_in_the_same_epoch),
          CASE(a_resync_comes_with_the_next_batch), CASE(attempts_are_bounded),
          CASE(bytes_that_wait_are_bounded), CASE(sites_are_forgotten_where_room_is_short),
          CASE(calls_out_of_order_are_refused_or_do_nothing), CASE(the_sink_holds_no_lock),
          CASE(the_stamp_can_be_left_out), CASE(the_parsed_door_knows_a_delta_by_its_stamp),
          CASE(a_symbolizer_is_asked_once_for_an_address), CASE(addresses_have_their_mappings),
          CASE(a_batch_without_changes_is_small))
