/* The life of batches: kinds, numbers, times; what is given back, lost, or asked for anew. What a
 * profile of them looks like is in heap_profile_test.c. */
#include "heap_scene.h"
#include "rows.h"
#include "run.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a batch says of itself: its kind, epoch, sequence and attempt, its time, its samples, and the sum
 * of what they have in use. */
static void describe(const live_profile *p, buf *out)
{
    int64_t inuse = 0;
    for (size_t i = 0; i < p->sums.len; i++)
        inuse += p->sums.rows[i].values[2];
    buf_format(
        out, "%s%s %" PRIu64 "/%" PRIu64 ".%" PRIu64 " %" PRId64 "-%" PRId64 " [%zu: %" PRId64 "]",
        out->len ? ", " : "", p->kind, p->epoch, p->sequence, p->attempt, p->from_nanos,
        p->to_nanos, p->sums.len, inuse);
}

/* Steps: "+N" tracks the pointer N, "-N" ends it, "*N" tracks N new ones; "b" begins a batch and writes
 * it, "B" only begins it; "c" commits, "a" abandons, "r" resyncs. A batch begins 10 after the last. */
static const char *play(scene *s, const char *steps)
{
    buf out = buf_begin(&s->arena);
    live_profile p;
    int64_t now = 0;
    for (const char *at = steps; *at; at += strcspn(at, " "), at += *at == ' ') {
        size_t number = strtoul(at + 1, NULL, 10);
        if (*at == '+')
            track(s, number);
        else if (*at == '-')
            CHECK(pprofdelta_heap_untrack(s->heap, live_pointer(number)));
        for (size_t i = 0; *at == '*' && i < number; i++)
            track(s, 100 + i + (size_t)now * 10);
        if (*at == 'r')
            pprofdelta_heap_resync(s->heap);
        else if (*at == 'a')
            pprofdelta_heap_abandon(s->heap);
        else if (*at == 'c')
            CHECK(pprofdelta_heap_commit(s->heap) == PPROFDELTA_OK);
        if (*at == 'b' || *at == 'B')
            begun(s, now += 10);
        if (*at != 'b')
            continue;
        p = written(s, PPROFDELTA_HEAP_BY_FORMAT);
        live_receive(&s->receiver, &p);
        describe(&p, &out);
    }
    return buf_string(&out);
}

static pprofdelta_heap_options options_of(const char *text)
{
    bool is_otlp = !strcmp(text, "otlp");
    pprofdelta_heap_options o = {.format = is_otlp ? PPROFDELTA_OTLP : PPROFDELTA_PPROF};
    o.started_nanos = is_otlp ? 5 : 0;
    o.max_attempts = !strcmp(text, "max_attempts=2") ? 2 : 0;
    o.max_retry = !strcmp(text, "max_retry=10000") ? 10000 : 0;
    return o;
}

TEST(batches_have_kinds_numbers_and_times)
{
    table_rows r = {0};
    while (rows_next(&r, "heap", "batches")) {
        ENDS(end) scene s;
        begin(&s, options_of(r.cells[0]));
        CHECK_STR(play(&s, r.cells[1]), r.cells[2]);
        CHECK(s.receiver.gaps == 0);
    }
}

TEST(what_became_of_batches_is_counted)
{
    ENDS(end) scene s;
    pprofdelta_heap_stats stats = {.size = sizeof stats};
    begin(&s, (pprofdelta_heap_options){0});
    play(&s, "+1 b c +2 b a r +3 b c b c");
    pprofdelta_heap_describe(s.heap, &stats);
    CHECK(stats.batches == 4 && stats.committed == 3 && stats.abandoned == 1 && stats.lost == 0 &&
          stats.resyncs == 1 && stats.epoch == 2 && stats.sequence == 3);
}

/* Sites without anything in use make room; their counters go to the one without a stack, and the
 * next batch tells everything anew. */
TEST(sites_are_forgotten_where_room_is_short)
{
    ENDS(end) scene s;
    begin(&s, (pprofdelta_heap_options){.max_sites = 10});
    for (size_t i = 0; i < 10; i++) {
        track(&s, i);
        if (i < 7)
            pprofdelta_heap_untrack(s.heap, live_pointer(i));
    }
    uint64_t stack[] = {7, 7};
    pprofdelta_heap_event event = {
        .ptr = live_pointer(50), .weight = {1, 1}, .stack = stack, .depth = 2};
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
}

/* No more than was granted is ever held for writing. */
TEST(an_export_keeps_its_limit)
{
    pprofdelta_status status = PPROFDELTA_E_LIMIT;
    for (uint64_t limit = 1024; limit < (1 << 24) && status; limit += limit / 2) {
        scene s;
        tracker pages = {0};
        pprofdelta_heap_pages source = tracker_pages(&pages);
        begin(&s, (pprofdelta_heap_options){.pages = &source, .max_export = limit});
        for (size_t i = 0; i < 500; i++)
            track(&s, i);
        size_t before = pages.live;
        begun(&s, 1);
        status = pprofdelta_heap_write(s.heap, PPROFDELTA_HEAP_CHANGES, &s.sink, NULL);
        CHECK((status == PPROFDELTA_OK || (status == PPROFDELTA_E_LIMIT && limit < 1 << 20)));
        CHECK(s.mail.calls == !status);
        /* Each of some twenty buffers is rounded up to pages. */
        CHECK_MSG(pages.live - before <= limit + (32 << 12), "%zu of %" PRIu64, pages.live - before,
                  limit);
        end(&s);
        CHECK(pages.live == 0);
    }
    CHECK(status == PPROFDELTA_OK);
}

/* Whichever mapping fails, nothing is counted that is not there, and the next batch has everything. */
TEST(each_mapping_may_fail)
{
    bool refused = true;
    for (size_t turn = 2; refused && turn < 1000; turn++) { /* alone, and with all that follow */
        size_t nth = turn / 2;
        scene s = {0};
        tracker pages = {.fail_at = nth, .is_alone = turn % 2};
        pprofdelta_heap_pages source = tracker_pages(&pages);
        pprofdelta_heap_options options = PPROFDELTA_HEAP_OPTIONS_INIT;
        options.pages = &source;
        options.max_sites = 40;
        options.max_attempts = 1;
        options.format = turn / 2 % 2 ? PPROFDELTA_OTLP : PPROFDELTA_PPROF;
        options.resource = &(const pprofdelta_attribute){"service.name", "app"};
        options.resource_len = turn / 2 % 2;
        s.mail.arena = s.receiver.arena = &s.arena;
        s.sink = live_sink(&s.mail);
        pprofdelta_status status = pprofdelta_heap_new(&options, &s.heap, NULL);
        int64_t live = 0;
        for (size_t n = 0; n < 60 && !status; n++) {
            uint64_t stack[300] = {0x100 + n}; /* few of them have room in one mapping */
            pprofdelta_heap_event event = {
                .ptr = live_pointer(n), .weight = {2, 100}, .stack = stack, .depth = 300};
            live += pprofdelta_heap_track(s.heap, &event);
            if (n < 50)
                live -= pprofdelta_heap_untrack(s.heap, event.ptr);
        }
        for (int64_t now = 1; now <= 3 && !status; now++) {
            CHECK(pprofdelta_heap_begin(s.heap, now, NULL, NULL) == PPROFDELTA_OK);
            if (pprofdelta_heap_write(s.heap, PPROFDELTA_HEAP_CHANGES, &s.sink, NULL))
                pprofdelta_heap_abandon(s.heap);
            else
                pprofdelta_heap_commit(s.heap);
        }
        refused = pages.refused > 0;
        CHECK(!status || (status == PPROFDELTA_E_MEMORY && refused));
        if (!status) {
            pages.fail_at = 0;
            pprofdelta_heap_resync(s.heap);
            live_profile p = sent(&s, 4);
            int64_t inuse = 0;
            for (size_t i = 0; i < p.sums.len; i++)
                inuse += p.sums.rows[i].values[2];
            CHECK_MSG(inuse == 2 * live, "mapping %zu: %" PRId64 " of %" PRId64, nth, inuse,
                      2 * live);
        }
        pprofdelta_heap_free(status ? NULL : s.heap);
        arena_free(&s.arena);
        CHECK_MSG(pages.live == 0, "mapping %zu: %zu bytes", nth, pages.live);
    }
    CHECK(!refused);
}

static int fork_in_sink(void *cookie, const void *data, size_t len)
{
    scene *s = cookie;
    (void)data, (void)len;
    pprofdelta_heap_fork(s->heap, PPROFDELTA_FORK_PREPARE, 0);
    pid_t child = fork();
    pprofdelta_heap_fork(s->heap, child ? PPROFDELTA_FORK_PARENT : PPROFDELTA_FORK_CHILD, 50);
    s->is_child = child == 0;
    int how = -1;
    CHECK(s->is_child || (waitpid(child, &how, 0) == child && how == 0));
    return 0;
}

/* What was in use is in use in the child. Its windows are its own, and the parent's go on. */
TEST(a_child_that_is_born_while_a_batch_is_sent_sends_its_own)
{
    ENDS(end) scene s;
    begin(&s, (pprofdelta_heap_options){0});
    track(&s, 1);
    sent(&s, 1);
    track(&s, 2);
    begun(&s, 2);
    pprofdelta_sink sink = {.write = fork_in_sink, .cookie = &s};
    pprofdelta_status status = pprofdelta_heap_write(s.heap, PPROFDELTA_HEAP_CHANGES, &sink, NULL);
    if (s.is_child) {
        CHECK(status == PPROFDELTA_E_USAGE);
        s.receiver = (live_receiver){.arena = &s.arena};
        live_profile p = sent(&s, 60);
        CHECK(is(&p, "full", 1, 1, 50, 60) && p.id != 0xabc && p.sums.len == 2);
        for (size_t i = 0; i < p.sums.len; i++)
            CHECK(!p.sums.rows[i].values[0] && p.sums.rows[i].values[2] == 2);
        _exit(test_failures != 0);
    }
    CHECK(status == PPROFDELTA_OK && pprofdelta_heap_commit(s.heap) == PPROFDELTA_OK);
    live_profile p = sent(&s, 3);
    CHECK(is(&p, "delta", 1, 3, 2, 3) && p.sums.len == 0);
}

/* ---- ages ------------------------------------------------------------------------------------ */

/* What ended in a batch: "100 age 2: 1 50", the leaf, the age, objects and bytes. */
static const char *ended(scene *s, int64_t now)
{
    buf out = buf_begin(&s->arena);
    const live_profile p = sent(s, now);
    for (size_t i = 0; i < p.sums.len; i++) {
        const live_row *row = &p.sums.rows[i];
        const char *age = strstr(row->key, "age= ");
        if (row->values[6] || row->values[7])
            buf_format(&out, "%s%.3s age %.1s: %" PRId64 " %" PRId64, out.len ? ", " : "", row->key,
                       age ? age + 5 : "0", row->values[6], row->values[7]);
    }
    return buf_string(&out);
}

static void track_at(scene *s, size_t at, uint64_t leaf, int64_t bytes, bool is_piece)
{
    pprofdelta_heap_event event = {.ptr = live_pointer(at),
                                   .weight = {1, bytes},
                                   .stack = &leaf,
                                   .depth = 1,
                                   .is_piece = is_piece};
    CHECK(pprofdelta_heap_track(s->heap, &event));
}

/* fuzz_heap.c joins the windows of an abandoned batch and of the one after it; there, none grows as old as here. */
TEST(ages_count_the_windows_that_were_committed)
{
    enum { BATCHES = 200 };
    ENDS(end) scene s;
    begin(&s, (pprofdelta_heap_options){.flags = PPROFDELTA_HEAP_AGES});
    for (size_t i = 0; i < BATCHES; i++) {
        track_at(&s, i, 0x100, 10, false);
        sent(&s, 1 + (int64_t)i);
    }
    live_sums got = {.arena = &s.arena}, want = {.arena = &s.arena};
    const int64_t one[LIVE_TYPES] = {[6] = 1, [7] = 10};
    for (size_t i = 0; i < BATCHES; i++) {
        CHECK(pprofdelta_heap_untrack(s.heap, live_pointer(i)));
        live_add(&want, live_age_key(&s.arena, "100 ", (unsigned)(BATCHES - i)), one);
    }
    live_profile p = sent(&s, BATCHES + 1);
    for (size_t i = 0; i < p.sums.len; i++) {
        const int64_t *values = p.sums.rows[i].values;
        live_add(&got, p.sums.rows[i].key, (int64_t[LIVE_TYPES]){[6] = values[6], [7] = values[7]});
    }
    const char *wrong = live_differ(&got, &want);
    CHECK_MSG(!wrong, "%s", wrong);
}

TEST(what_realloc_adds_is_a_piece)
{
    ENDS(end) scene s;
    pprofdelta_heap_realloc r;
    begin(&s, (pprofdelta_heap_options){.flags = PPROFDELTA_HEAP_AGES});
    track_at(&s, 1, 0x100, 101, false);
    CHECK_STR(ended(&s, 1), "");
    CHECK(pprofdelta_heap_realloc_begin(s.heap, live_pointer(1), &r) && r.bytes == 101);
    pprofdelta_heap_realloc_end(s.heap, &r, live_pointer(2), 101, 304);
    track_at(&s, 2, 0x200, 201, true);
    track_at(&s, 2, 0x200, 1, true); /* joins the piece */
    track_at(&s, 2, 0x300, 1, true);
    CHECK_STR(ended(&s, 2), ""); /* nothing has ended */
    CHECK(pprofdelta_heap_realloc_begin(s.heap, live_pointer(2), &r) && r.bytes == 304);
    pprofdelta_heap_realloc_end(s.heap, &r, live_pointer(2), 304, 151);
    CHECK_STR(ended(&s, 3), "200 age 1: 0 101, 300 age 1: 1 1, 100 age 2: 0 51");
    CHECK(pprofdelta_heap_realloc_begin(s.heap, live_pointer(2), &r) && r.bytes == 151);
    pprofdelta_heap_realloc_end(s.heap, &r, live_pointer(2), 0, 0); /* it failed */
    CHECK(pprofdelta_heap_untrack(s.heap, live_pointer(2)));
    CHECK_STR(ended(&s, 4), "100 age 3: 1 50, 200 age 2: 2 101");
    track_at(&s, 3, 0x300, 10, true); /* of a block that is not tracked */
    CHECK(pprofdelta_heap_untrack(s.heap, live_pointer(3)));
    CHECK_STR(ended(&s, 5), "300 age 0: 1 10");
}

TEST(a_block_that_grows_and_shrinks_has_few_pieces)
{
    ENDS(end) scene s;
    pprofdelta_heap_realloc r;
    pprofdelta_heap_stats stats = {.size = sizeof stats};
    begin(&s, (pprofdelta_heap_options){.flags = PPROFDELTA_HEAP_AGES});
    track_at(&s, 1, 0x100, 100, false);
    for (unsigned window = 1; window < 100; window++) {
        track_at(&s, 1, 0x200, 1000, true);
        CHECK(pprofdelta_heap_realloc_begin(s.heap, live_pointer(1), &r));
        pprofdelta_heap_realloc_end(s.heap, &r, live_pointer(1), 1100, 1);
        ended(&s, window);
    }
    pprofdelta_heap_describe(s.heap, &stats);
    CHECK(stats.live <= 2 && stats.inuse_objects <= 2);
}

TEST_MAIN()
