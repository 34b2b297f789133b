/* The tracker's contract, call by call. What adds up to what is the business of fuzz/fuzz_heap.c. */
#include "live.h"
#include "seeds.h"

#include <errno.h>

static const uint64_t a_stack[] = {0x1000, 0x2000, 0x3000, 0x4000};

static pprofdelta_heap_event event_at(size_t at)
{
    return (pprofdelta_heap_event){
        .ptr = live_pointer(at), .weight = {2, 100}, .stack = a_stack, .depth = 4};
}

static pprofdelta_heap *make(pprofdelta_heap_options options)
{
    pprofdelta_heap *heap = NULL;
    options.size = sizeof options;
    CHECK(pprofdelta_heap_new(&options, &heap, NULL) == PPROFDELTA_OK);
    return heap;
}

static int track(pprofdelta_heap *heap, size_t at)
{
    pprofdelta_heap_event event = event_at(at);
    return pprofdelta_heap_track(heap, &event);
}

static pprofdelta_heap_stats stats_of(pprofdelta_heap *heap)
{
    pprofdelta_heap_stats stats = {.size = sizeof stats};
    pprofdelta_heap_describe(heap, &stats);
    return stats;
}

/* What was in use is forgotten, and another series begins. */
TEST(a_tracker_begins_anew)
{
    pprofdelta_heap_window first = {.size = sizeof first}, second = first;
    pprofdelta_heap *heap = make((pprofdelta_heap_options){.flags = PPROFDELTA_HEAP_ATTACHED});
    for (size_t at = 0; at < 3000; at++)
        CHECK(track(heap, at));
    CHECK(pprofdelta_heap_begin(heap, 1000, &first, NULL) == PPROFDELTA_OK);
    pprofdelta_heap_abandon(heap);
    for (int round = 0; round < 2; round++) {
        pprofdelta_heap_fork(heap, PPROFDELTA_FORK_PREPARE, 0);
        pprofdelta_heap_fork(heap, PPROFDELTA_FORK_ANEW, 5000);
        pprofdelta_heap_fork(heap, PPROFDELTA_FORK_PARENT, 0);
        CHECK(!pprofdelta_heap_untrack(heap, live_pointer(7)));
        pprofdelta_heap_stats stats = stats_of(heap);
        CHECK(stats.live == 0 && stats.inuse_bytes == 0 && stats.inuse_objects == 0);
        CHECK(!pprofdelta_heap_maybe(stats.filter, live_pointer(7)));
        CHECK(track(heap, 7) && stats_of(heap).inuse_bytes == 100);
    }
    CHECK(pprofdelta_heap_begin(heap, 9000, &second, NULL) == PPROFDELTA_OK);
    CHECK(second.id != first.id && second.epoch == 1 && second.sequence == 1);
    CHECK(second.kind == PPROFDELTA_HEAP_FULL && second.from_nanos == 5000);
    pprofdelta_heap_abandon(heap);
    pprofdelta_heap_free(heap);
}

TEST(options_are_checked)
{
    static const struct {
        const char *what;
        pprofdelta_heap_options options;
    } bad[] = {
        {"size", {.size = 3}},
        {"flags", {.flags = 1u << 20}},
        {"compression", {.compression = (pprofdelta_compression)3}},
        {"level", {.level = 10}},
        {"level", {.level = -1}},
        {"period", {.period = UINT64_MAX}},
        {"max_live", {.max_live = UINT32_MAX}},
        {"max_sites", {.max_sites = UINT32_MAX}},
        {"max_depth", {.max_depth = UINT32_MAX}},
        {"started_nanos", {.started_nanos = INT64_MAX}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pprofdelta_heap_options options = bad[i].options;
        options.size = options.size ? options.size : sizeof options;
        pprofdelta_error err;
        pprofdelta_heap *untouched = (pprofdelta_heap *)&err, *heap = untouched;
        CHECK(pprofdelta_heap_new(&options, &heap, &err) == PPROFDELTA_E_USAGE);
        CHECK(heap == untouched && err.status == PPROFDELTA_E_USAGE);
        CHECK_MSG(strstr(err.text, bad[i].what), "\"%s\" does not name %s", err.text, bad[i].what);
    }
    pprofdelta_heap *heap;
    CHECK(pprofdelta_heap_new(NULL, &heap, NULL) == PPROFDELTA_OK);
    pprofdelta_heap_free(heap);
    pprofdelta_heap_free(NULL);
    static const pprofdelta_heap_options zero = {.size = sizeof zero},
                                         init = PPROFDELTA_HEAP_OPTIONS_INIT;
    CHECK(memcmp(&zero, &init, sizeof zero) == 0);
}

TEST(null_is_never_tracked)
{
    ENDS(heap_end) pprofdelta_heap *heap = make((pprofdelta_heap_options){0});
    pprofdelta_heap_event event = event_at(1);
    pprofdelta_heap_realloc r;
    event.ptr = NULL;
    CHECK(!pprofdelta_heap_track(heap, &event) && !pprofdelta_heap_defer(heap, &event));
    CHECK(!pprofdelta_heap_untrack(heap, NULL));
    CHECK(!pprofdelta_heap_realloc_begin(heap, NULL, &r));
    CHECK(stats_of(heap).sites == 1 && stats_of(heap).dropped_memory == 0);
}

static int lose_its_stack(void *cookie, pprofdelta_heap_event *event)
{
    (void)cookie;
    event->stack = NULL;
    return 1;
}

TEST(an_array_that_is_null_has_no_length)
{
    ENDS(heap_end) pprofdelta_heap *heap = make((pprofdelta_heap_options){0});
    pprofdelta_heap_event events[] = {event_at(1), event_at(1), event_at(2)};
    pprofdelta_heap_realloc r;
    events[0].stack = NULL;
    events[1].labels_len = 1;
    for (size_t i = 0; i < 2; i++) {
        CHECK(!pprofdelta_heap_track(heap, &events[i]));
        CHECK(pprofdelta_heap_defer(heap, &events[i]) == PPROFDELTA_HEAP_DROPPED);
    }
    CHECK(stats_of(heap).refused == 4 && stats_of(heap).sites == 1);
    CHECK(pprofdelta_heap_defer(heap, &events[2]) == PPROFDELTA_HEAP_DEFERRED);
    CHECK(pprofdelta_heap_complete(heap, lose_its_stack, NULL) == 0);
    pprofdelta_heap_stats s = stats_of(heap);
    CHECK(s.refused == 5 && s.live == 0 && s.completed == 0 && s.cancelled == 0);
    CHECK(!pprofdelta_heap_track(heap, NULL) && !pprofdelta_heap_defer(heap, NULL));
    CHECK(track(heap, 1) && !pprofdelta_heap_realloc_begin(heap, live_pointer(1), NULL));
    CHECK(pprofdelta_heap_realloc_begin(heap, live_pointer(1), &r));
    pprofdelta_heap_realloc_end(heap, &r, NULL, 0, 0);
}

/* Each window ends later than it begins and than the one before, at every time that is accepted. */
TEST(windows_end_later_at_every_time)
{
    static const int64_t latest = INT64_MAX - (INT64_C(1) << 40);
    const int64_t times[] = {0, 1, -1, INT64_MIN, latest, latest + 1, INT64_MAX};
    for (size_t started = 0; started < 5; started++) {
        ENDS(heap_end)
        pprofdelta_heap *heap = make((pprofdelta_heap_options){.started_nanos = times[started]});
        int64_t last = times[started];
        for (size_t i = 0; i < 21; i++) {
            pprofdelta_heap_window w = {.size = sizeof w};
            pprofdelta_status status = pprofdelta_heap_begin(heap, times[i % 7], &w, NULL);
            CHECK(status == (i % 7 < 5 ? PPROFDELTA_OK : PPROFDELTA_E_USAGE));
            CHECK_MSG(status || (w.to_nanos > last && w.to_nanos > w.from_nanos),
                      "%" PRId64 " after %" PRId64, w.to_nanos, last);
            last = status ? last : w.to_nanos;
            pprofdelta_heap_abandon(heap);
        }
    }
}

TEST(a_pointer_that_was_freed_unseen_gives_way)
{
    ENDS(heap_end) pprofdelta_heap *heap = make((pprofdelta_heap_options){0});
    CHECK(track(heap, 1) && track(heap, 1) && track(heap, 1));
    pprofdelta_heap_stats s = stats_of(heap);
    CHECK(s.live == 1 && s.replaced == 2 && s.tracked == 3 && s.untracked == 2);
    CHECK(pprofdelta_heap_untrack(heap, live_pointer(1)) &&
          !pprofdelta_heap_untrack(heap, live_pointer(1)));
    CHECK(!pprofdelta_heap_maybe(stats_of(heap).filter, live_pointer(1)));
}

/* A full byte of the filter stays full: it says perhaps, and is never wrong the other way. */
TEST(a_crowd_in_one_kilobyte_is_still_found)
{
    ENDS(heap_end) pprofdelta_heap *heap = make((pprofdelta_heap_options){0});
    const pprofdelta_heap_filter *filter = stats_of(heap).filter;
    enum { N = 600 };
    for (size_t i = 0; i < N; i++) {
        pprofdelta_heap_event event = event_at(0);
        event.ptr = (const char *)live_pointer(1) + i;
        CHECK(pprofdelta_heap_track(heap, &event));
    }
    for (size_t i = 0; i < N; i++) {
        CHECK(pprofdelta_heap_maybe(filter, (const char *)live_pointer(1) + i));
        CHECK(pprofdelta_heap_untrack(heap, (const char *)live_pointer(1) + i));
    }
}

static int drop_second(void *cookie, pprofdelta_heap_event *event)
{
    CHECK(event->depth == 4 && memcmp(event->stack, a_stack, sizeof a_stack) == 0);
    CHECK(event->weight.objects == 2 && event->weight.bytes == 100);
    return ++*(int *)cookie != 2;
}

TEST(what_is_deferred_counts_when_it_is_committed)
{
    ENDS(heap_end) pprofdelta_heap *heap = make((pprofdelta_heap_options){.max_deferred = 4});
    static const int answers[] = {PPROFDELTA_HEAP_DEFERRED, PPROFDELTA_HEAP_DEFERRED,
                                  PPROFDELTA_HEAP_COMPLETE_SOON, PPROFDELTA_HEAP_COMPLETE_SOON,
                                  PPROFDELTA_HEAP_DROPPED};
    for (size_t i = 0; i < 5; i++) {
        pprofdelta_heap_event event = event_at(i);
        CHECK(pprofdelta_heap_defer(heap, &event) == answers[i]);
    }
    pprofdelta_heap_stats s = stats_of(heap);
    CHECK(s.deferred == 4 && s.dropped_deferred == 1 && s.live == 0 && s.tracked == 0);
    CHECK(pprofdelta_heap_untrack(heap, live_pointer(0)) &&
          !pprofdelta_heap_untrack(heap, live_pointer(0)));
    CHECK(pprofdelta_heap_untrack(heap, live_pointer(2))); /* an early free */
    CHECK(!pprofdelta_heap_maybe(stats_of(heap).filter, live_pointer(2)));
    int calls = 0;
    CHECK(pprofdelta_heap_complete(heap, drop_second, &calls) == 1 && calls == 2);
    CHECK(pprofdelta_heap_complete(heap, drop_second, &calls) == 0 && calls == 2);
    s = stats_of(heap);
    CHECK(s.deferred == 0 && s.live == 1 && s.tracked == 1 && s.completed == 1 &&
          s.cancelled == 3 && s.inuse_bytes == 100);
    CHECK(pprofdelta_heap_untrack(heap, live_pointer(1)));
}

TEST(deep_stacks_are_cut_at_the_root)
{
    ENDS(heap_end) pprofdelta_heap *heap = make((pprofdelta_heap_options){.max_depth = 2});
    static const uint64_t deep[] = {1, 2, 3}, other[] = {1, 2, 4}, flat[] = {1, 2};
    const uint64_t *stacks[] = {deep, other, flat};
    for (size_t i = 0; i < 3; i++) {
        pprofdelta_heap_event event = event_at(i);
        event.stack = stacks[i];
        event.depth = i < 2 ? 3 : 2;
        CHECK(pprofdelta_heap_track(heap, &event));
    }
    CHECK(stats_of(heap).cut == 2 && stats_of(heap).sites == 2);
}

TEST(memory_is_kept_within_its_cap_and_does_not_grow_with_churn)
{
    pprofdelta_heap *heap = make((pprofdelta_heap_options){.max_memory = 1 << 20});
    size_t tracked = 0;
    for (size_t i = 0; i < 100000; i++) {
        errno = 1234;
        tracked += (size_t)track(heap, i);
        CHECK(errno == 1234);
    }
    pprofdelta_heap_stats s = stats_of(heap);
    CHECK(s.live == tracked && tracked > 5000 && s.dropped_memory == 100000 - tracked);
    CHECK(s.memory <= 1 << 20);
    for (size_t i = 0; i < 100000; i++)
        pprofdelta_heap_untrack(heap, live_pointer(i));
    for (size_t i = 0; i < 1000000; i++) {
        CHECK(track(heap, i) == 1);
        CHECK(pprofdelta_heap_untrack(heap, live_pointer(i)) == 1);
    }
    CHECK(stats_of(heap).memory == s.memory && stats_of(heap).live == 0);
    pprofdelta_heap_free(heap);
    pprofdelta_heap_options tiny = PPROFDELTA_HEAP_OPTIONS_INIT;
    tiny.max_memory = 8192;
    CHECK(pprofdelta_heap_new(&tiny, &heap, NULL) == PPROFDELTA_E_MEMORY);
}

/* The text of a dump of the largest sites. */
static const char *dump_named(pprofdelta_heap *heap, size_t sites, pprofdelta_heap_namer *name,
                              void *cookie)
{
    static char text[1 << 20];
    FILE *file = tmpfile();
    errno = 77;
    CHECK(file && pprofdelta_heap_dump(heap, fileno(file), sites, name, cookie) == 0 &&
          errno == 77);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

static const char *dump(pprofdelta_heap *heap, size_t sites)
{
    return dump_named(heap, sites, NULL, NULL);
}

/* As in the child of a fork in a signal handler, with locks of threads that are not there. */
TEST(a_lost_tracker_waits_for_no_lock_and_uses_no_table)
{
    pprofdelta_heap *heap = make((pprofdelta_heap_options){
        .compression = PPROFDELTA_PLAIN, .gauge = "size", .gauge_unit = "bytes"});
    ENDS(arena_free) arena a = {0};
    live_mail mail = {.arena = &a};
    const pprofdelta_sink sink = live_sink(&mail);
    pprofdelta_heap_realloc move = {0};
    pprofdelta_heap_stats stats = {.size = sizeof stats, .live = 77};
    pprofdelta_heap_event event = event_at(3);
    pprofdelta_error err;
    CHECK(track(heap, 1) && track(heap, 2) && pprofdelta_heap_defer(heap, &event));
    CHECK(pprofdelta_heap_realloc_begin(heap, live_pointer(2), &move));
    CHECK(pprofdelta_heap_begin(heap, 1, NULL, NULL) == PPROFDELTA_OK);
    CHECK(pprofdelta_heap_write(heap, PPROFDELTA_HEAP_CHANGES, &sink, NULL) == PPROFDELTA_OK);
    pprofdelta_heap_fork(heap, PPROFDELTA_FORK_PREPARE, 0);
    pprofdelta_heap_fork(heap, PPROFDELTA_FORK_LOST, 0);
    for (int i = 0; i < 2; i++) {
        CHECK(!track(heap, 4) && !pprofdelta_heap_untrack(heap, live_pointer(1)));
        CHECK(!pprofdelta_heap_realloc_begin(heap, live_pointer(1), &move));
        pprofdelta_heap_realloc_end(heap, &move, live_pointer(5), 100, 200);
        CHECK(pprofdelta_heap_defer(heap, &event) == PPROFDELTA_HEAP_DROPPED);
        CHECK(!pprofdelta_heap_complete(heap, NULL, NULL));
        CHECK(pprofdelta_heap_commit(heap) == PPROFDELTA_E_USAGE);
        pprofdelta_heap_abandon(heap);
        pprofdelta_heap_resync(heap);
        pprofdelta_heap_note_mappings(heap);
        CHECK(pprofdelta_heap_begin(heap, 2, NULL, &err) == PPROFDELTA_E_USAGE);
        CHECK_MSG(strstr(err.text, "lost"), "%s", err.text);
        CHECK(pprofdelta_heap_set_gauge(heap, NULL, 0, NULL, &err) == PPROFDELTA_E_USAGE);
        CHECK(pprofdelta_heap_write(heap, PPROFDELTA_HEAP_CHANGES, &sink, &err) ==
              PPROFDELTA_E_USAGE);
        CHECK(pprofdelta_heap_describe(heap, &stats) == PPROFDELTA_E_USAGE && stats.live == 77);
        /* A child of it that is made by the rule is lost, too. */
        pprofdelta_heap_fork(heap, PPROFDELTA_FORK_PREPARE, 0);
        pprofdelta_heap_fork(heap, i ? PPROFDELTA_FORK_PARENT : PPROFDELTA_FORK_CHILD, 9);
    }
    pprofdelta_heap_free(heap);
}

TEST(a_dump_is_the_text_that_pprof_reads)
{
    ENDS(heap_end) pprofdelta_heap *heap = make((pprofdelta_heap_options){0});
    CHECK(track(heap, 1));
    pprofdelta_heap_event event = event_at(2);
    event.weight = (pprofdelta_weight){1, 5000};
    event.depth = 1;
    CHECK(pprofdelta_heap_track(heap, &event));
    static const char wanted[] = "heap profile: 3: 5100 [3: 5100] @ heapprofile\n"
                                 "1: 5000 [1: 5000] @ 0x1001\n"
                                 "2: 100 [2: 100] @ 0x1001 0x2001 0x3001 0x4001\n"
                                 "\nMAPPED_LIBRARIES:\n";
    const char *text = dump(heap, 10);
    CHECK_MSG(strncmp(text, wanted, sizeof wanted - 1) == 0, "%.300s", text);
    CHECK(strstr(text, " r-xp ") || strstr(text, " r-x"));
    text = dump(heap, 1);
    CHECK(strstr(text, "5000]") && !strstr(text, "2: 100"));
    text = dump(heap, 0);
    CHECK(strstr(text, "5000]") && strstr(text, "2: 100"));
    CHECK(pprofdelta_heap_dump(heap, -1, 1, NULL, NULL) == EBADF);
}

static int name_one(void *cookie, uint64_t address, pprofdelta_frame *out)
{
    if (address != *(const uint64_t *)cookie)
        return 0;
    *out = (pprofdelta_frame){.name = "rows.load", .filename = "/srv/rows.py", .line = 42};
    return 1;
}

TEST(a_dump_names_what_it_is_told)
{
    ENDS(heap_end) pprofdelta_heap *heap = make((pprofdelta_heap_options){0});
    uint64_t address = 0x2000;
    CHECK(track(heap, 1));
    static const char wanted[] = "2: 100 [2: 100] @ 0x1001 0x2001 0x3001 0x4001\n"
                                 "#  0x2001  rows.load  /srv/rows.py:42\n"
                                 "\nMAPPED_LIBRARIES:\n";
    const char *text = dump_named(heap, 10, name_one, &address);
    CHECK_MSG(strstr(text, wanted), "%.300s", text);
}

/* Numbers that are not addresses must not be looked for in mappings. */
TEST(a_dump_has_no_mappings_where_there_are_none)
{
    ENDS(heap_end)
    pprofdelta_heap *heap = make((pprofdelta_heap_options){.flags = PPROFDELTA_NO_MAPPINGS});
    CHECK(track(heap, 1));
    CHECK_STR(dump(heap, 0), "heap profile: 2: 100 [2: 100] @ heapprofile\n"
                             "2: 100 [2: 100] @ 0x1001 0x2001 0x3001 0x4001\n"
                             "\nMAPPED_LIBRARIES:\n# none\n");
}

TEST_MAIN()
