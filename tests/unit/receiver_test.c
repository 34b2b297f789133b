/* The receiver of the manual (docs/receiver.c) held against a model, for every course of a few
 * windows: deliveries and acknowledgements get lost, come twice and in any order, runs overlap, clocks
 * step back or stand still, programs restart, and senders end at any place.
 *
 * What must hold is said without stamps. Each event of a program is a sample of its own, so a time
 * that counts twice is a sample that does, and one that is lost is a sample that is missing. */
#include "../support/test.h"

#include "keep.h"
#include "live.h"
#include "rng.h"
#include "scene.h"

#define main receiver_main
int receiver_main(int argc, char **argv);
#include "../docs/receiver.c" /* NOLINT(bugprone-suspicious-include) */
#undef main

enum { MOST = 64 };

/* What was handed out, and whether it came. */
typedef struct sent {
    pprofdelta_stamp stamp;
    bool is_delivered;
    buf bytes;
} sent;

/* What a receiver keeps if it gets these, in an order that `shuffle` chooses, some of them twice. */
static size_t receive(const sent *all, size_t len, rng *shuffle, delta *kept)
{
    size_t order[2 * MOST], n = 0, have = 0;
    for (size_t i = 0; i < len; i++)
        for (size_t times = shuffle ? 1 + rng_below(shuffle, 2) : 1; times; times--)
            if (all[i].is_delivered)
                order[n++] = i;
    for (size_t i = n; shuffle && i > 1; i--) {
        size_t other = rng_below(shuffle, i), kept_order = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept_order;
    }
    for (size_t i = 0; i < n; i++)
        have = take(kept, have, (delta){.stamp = all[order[i]].stamp});
    return have;
}

/* In the order in which they were handed out, and then in other orders, all with the same end. */
static size_t receive_in_any_order(const sent *all, size_t len, rng *r, delta *kept)
{
    size_t have = receive(all, len, NULL, kept);
    for (int i = 0; i < 4; i++) {
        delta others[MOST];
        bool same = receive(all, len, r, others) == have;
        for (size_t n = 0; n < have && same; n++)
            same = is_again(&kept[n].stamp, &others[n].stamp);
        CHECK_MSG(same, "another order, another end");
    }
    return have;
}

static const sent *find(const sent *all, size_t len, const pprofdelta_stamp *stamp)
{
    for (size_t i = 0; i < len; i++)
        if (is_again(&all[i].stamp, stamp))
            return &all[i];
    return NULL;
}

/* ---- windows of a state ------------------------------------------------------------------------ */

/* A look at a program: in its `life`, when it had done so many things. */
typedef struct look {
    unsigned life, done;
    int64_t time;
    buf bytes;
} look;

typedef enum kind {
    LATER, /* more was done */
    STALE, /* an earlier look of this life, by a run that overlaps and was slower */
    OTHER, /* ... or of the life before */
    BACK,  /* more was done, and the clock says less */
    EQUAL, /* more was done, and the clock says the same */
    REBORN /* the program began anew */
} kind;
enum { KINDS = REBORN + 1, FATES = 3, LIVES = 16, EVENTS = 32, FIRST = 8 };

typedef struct course {
    arena arena;
    rng rng;
    look looks[MOST];
    sent sent[MOST];
    size_t looks_len, sent_len;
    buf state; /* on disk; empty: there is none */
    look committed;
    bool must[LIVES][EVENTS]; /* seen by a window that was acknowledged */
} course;

static void look_at(course *c, unsigned life, unsigned done, int64_t time)
{
    build b = {0};
    build_types(&b, "alloc_objects/count");
    for (unsigned i = 0; i < done; i++) {
        char stack[32];
        snprintf(stack, sizeof stack, "l%ue%u main", life, i);
        build_sample(&b, stack, "1");
    }
    b.m.time_nanos = time;
    buf bytes = build_bytes(&b);
    look *l = &c->looks[c->looks_len++];
    *l = (look){life, done, time, buf_begin(&c->arena)};
    buf_add(&l->bytes, bytes.ptr, bytes.len);
    build_free(&b);
}

/* The look that a run of this kind has; NULL: there is none. */
static const look *choose(course *c, kind k)
{
    const look *last = &c->looks[c->looks_len - 1];
    if (k == STALE || k == OTHER) {
        for (size_t i = c->looks_len - 1; i-- > 0;)
            if ((c->looks[i].life == last->life) == (k == STALE))
                return &c->looks[i];
        return NULL;
    }
    static const int64_t steps[] = {[LATER] = 10, [BACK] = -1, [EQUAL] = 0, [REBORN] = 10};
    bool is_reborn = k == REBORN;
    look_at(c, last->life + is_reborn, is_reborn ? FIRST : last->done + 1, last->time + steps[k]);
    return &c->looks[c->looks_len - 1];
}

/* One run: a process that begins with what is on the disk. What has gone out is not taken back,
 * whatever becomes of it. False where it refuses the look. */
static bool run(course *c, const look *l, bool is_delivered, bool is_acknowledged)
{
    pprofdelta *pd;
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    pprofdelta_report report;
    options.compression = PPROFDELTA_PLAIN;
    collector got = {.bytes = buf_begin(&c->arena)};
    pprofdelta_sink sink = collector_sink(&got);
    if (pprofdelta_new(&options, NULL, &pd, NULL))
        abort();
    CHECK(!c->state.len || keep_load(pd, c->state, NULL) == PPROFDELTA_OK);
    pprofdelta_status status =
        pprofdelta_window(pd, l->bytes.ptr, l->bytes.len, &sink, &report, NULL);
    if (status) {
        CHECK(status == PPROFDELTA_E_MISMATCH && l->time < c->committed.time);
        pprofdelta_free(pd);
        return false;
    }
    if (!c->state.len)
        c->state = keep_save(&c->arena, pd);
    else
        buf_add(&c->state, "", 1);
    pprofdelta_census census;
    sent *s = &c->sent[c->sent_len++];
    pprofdelta_commit(pd);
    CHECK(pprofdelta_check(pd, got.bytes.ptr, got.bytes.len, &census, NULL) == PPROFDELTA_OK);
    CHECK(census.stamp.attempt == report.attempt && census.stamp.sequence == report.sequence);
    CHECK(!find(c->sent, c->sent_len - 1, &census.stamp));
    *s = (sent){census.stamp, is_delivered, got.bytes};
    if (is_acknowledged) {
        c->state = keep_save(&c->arena, pd);
        c->committed = *l;
        for (unsigned i = 0; i < l->done; i++)
            c->must[l->life][i] = true;
    }
    pprofdelta_free(pd);
    return true;
}

/* How often each event counts in what is kept. */
static void count(course *c, const delta *kept, size_t len, unsigned counts[LIVES][EVENTS])
{
    memset(counts, 0, LIVES * sizeof *counts);
    for (size_t i = 0; i < len; i++) {
        reading r = {0};
        const sent *s = find(c->sent, c->sent_len, &kept[i].stamp);
        REQUIRE(s && reading_make(&c->arena, s->bytes.ptr, s->bytes.len, &r) == PPROFDELTA_OK);
        for (size_t n = 0; n < r.samples_len; n++) {
            const reading_location *leaf = &r.locations[r.samples[n].stack[0]];
            const char *name =
                reading_string(&r, r.view->function[leaf->view->line[0]->function_id - 1]->name);
            char *end = NULL;
            unsigned long life = strtoul(name + 1, &end, 10), event = strtoul(end + 1, NULL, 10);
            REQUIRE(*name == 'l' && *end == 'e' && life < LIVES && event < EVENTS);
            counts[life][event] += (unsigned)r.samples[n].values[0];
        }
    }
}

/* The adder, given what is kept, comes to the same. */
static void check_adder(course *c, const delta *kept, size_t len, uint64_t total)
{
    pprofdelta_adder *adder;
    pprofdelta_error err = {0};
    collector got = {.bytes = buf_begin(&c->arena)};
    pprofdelta_sink sink = collector_sink(&got);
    uint64_t found = 0;
    reading r = {0};
    REQUIRE(pprofdelta_adder_new(NULL, NULL, &adder, NULL) == PPROFDELTA_OK);
    pprofdelta_status status = PPROFDELTA_OK;
    for (size_t i = 0; i < len && !status; i++) {
        const sent *s = find(c->sent, c->sent_len, &kept[i].stamp);
        status = pprofdelta_adder_add(adder, s->bytes.ptr, s->bytes.len, NULL, &err);
    }
    status = status ? status : pprofdelta_adder_finish(adder, &sink, &err);
    pprofdelta_adder_free(adder);
    CHECK_MSG(!status, "%s", err.text);
    REQUIRE(!status && !reading_make(&c->arena, got.bytes.ptr, got.bytes.len, &r));
    for (size_t i = 0; i < r.samples_len; i++)
        found += (uint64_t)r.samples[i].values[0];
    CHECK(found == total);
}

/* ... and given all that came as it came, where it takes it, too. */
static void check_adder_of_all(course *c, uint64_t total)
{
    delta all[MOST];
    size_t len = 0;
    pprofdelta_adder *adder;
    REQUIRE(pprofdelta_adder_new(NULL, NULL, &adder, NULL) == PPROFDELTA_OK);
    pprofdelta_status status = PPROFDELTA_OK;
    for (size_t i = 0; i < c->sent_len && !status; i++) {
        const sent *s = &c->sent[i];
        if (!s->is_delivered)
            continue;
        all[len++] = (delta){.stamp = s->stamp};
        status = pprofdelta_adder_add(adder, s->bytes.ptr, s->bytes.len, NULL, NULL);
    }
    pprofdelta_adder_free(adder);
    CHECK(!status || status == PPROFDELTA_E_MISMATCH);
    if (!status && len)
        check_adder(c, all, len, total);
}

static void judge(course *c)
{
    delta kept[MOST];
    unsigned counts[LIVES][EVENTS] = {{0}};
    uint64_t total = 0;
    size_t first, len = receive_in_any_order(c->sent, c->sent_len, &c->rng, kept);
    count(c, kept, len, counts);
    for (unsigned life = 0; life < LIVES; life++)
        for (unsigned event = 0; event < EVENTS; event++) {
            unsigned n = counts[life][event];
            CHECK_MSG(n <= 1, "event %u of life %u counts %u times", event, life, n);
            CHECK_MSG(n || !c->must[life][event], "event %u of life %u is lost", event, life);
            total += n;
        }
    CHECK(usable(kept, len, &first) == len && first == 0);
    if (len)
        check_adder(c, kept, len, total);
    check_adder_of_all(c, total);
}

/* A step is a kind of look and a fate: it does not arrive, it does and nobody is told, or all is
 * well. */
static void step(course *c, unsigned choice)
{
    unsigned fate = choice / KINDS % FATES;
    const look *l = choose(c, (kind)(choice % KINDS));
    if (l)
        run(c, l, fate > 0, fate == 2);
}

static void play(uint64_t seed, const unsigned *choices, size_t len)
{
    course c = {.rng = {seed}};
    unsigned long failures = test_failures;
    look_at(&c, 0, FIRST, 1000);
    for (size_t i = 0; i < len; i++)
        step(&c, choices[i]);
    judge(&c);
    if (test_failures != failures && failures < 3) {
        printf("  the course:");
        for (size_t i = 0; i < len; i++)
            printf(" %u/%u", choices[i] % KINDS, choices[i] / KINDS);
        printf("\n");
    }
    arena_free(&c.arena);
}

TEST(every_course_of_three_windows_and_a_first)
{
    enum { CHOICES = KINDS * FATES };
    for (unsigned i = 0; i < FATES * CHOICES * CHOICES * CHOICES; i++)
        play(i,
             (unsigned[]){i % FATES * KINDS + LATER, i / FATES % CHOICES,
                          i / FATES / CHOICES % CHOICES, i / FATES / CHOICES / CHOICES},
             4);
}

TEST(many_courses_of_ten_windows)
{
    rng r = {7};
    for (unsigned i = 0; i < 3000; i++) {
        unsigned choices[10];
        for (size_t n = 0; n < 10; n++)
            choices[n] = (unsigned)rng_below(&r, (size_t)KINDS * FATES);
        play(i, choices, 10);
    }
}

/* ---- batches of a live heap -------------------------------------------------------------------- */

typedef struct tracker_course {
    arena arena;
    rng rng;
    pprofdelta_heap *heap;
    sent sent[MOST];
    live_sums truth[MOST]; /* when the batch began: all that was allocated and is in use */
    live_sums now;
    int64_t most; /* bytes that were in use */
    size_t sent_len;
    size_t last_of[MOST]; /* the last attempt at each sequence, in sent */
} tracker_course;

static const void *pointer(size_t at)
{
    return (const void *)(uintptr_t)(0x10000 + at * 4096);
}

/* Something is allocated, and what was allocated two steps before is freed. */
static void live_on(tracker_course *c, size_t at)
{
    for (size_t i = 0; i < 2; i++) {
        bool is_new = i == 0;
        size_t which = is_new ? at : at - 2;
        uint64_t stack[] = {0x100 + which, 0x200};
        pprofdelta_heap_event event = {
            .ptr = pointer(which), .weight = {1, 64}, .stack = stack, .depth = 2};
        if (!is_new && at < 2)
            continue;
        CHECK(is_new ? pprofdelta_heap_track(c->heap, &event)
                     : pprofdelta_heap_untrack(c->heap, event.ptr));
        const int64_t values[LIVE_TYPES] = {is_new, is_new ? 64 : 0, is_new ? 1 : -1,
                                            is_new ? 64 : -64};
        live_add(&c->now, live_key(&c->arena, &event, 64), values);
        live_note_peak(&c->now, &c->most);
    }
}

enum { COMMIT, ABANDON, RESYNC, ENDS };

static void send_batch(tracker_course *c, int64_t now, bool is_delivered, unsigned end)
{
    pprofdelta_heap_batch batch;
    pprofdelta_census census;
    live_mail mail = {.arena = &c->arena};
    pprofdelta_sink sink = live_sink(&mail);
    pprofdelta *pd;
    REQUIRE(pprofdelta_heap_begin(c->heap, now, &batch, NULL) == PPROFDELTA_OK);
    REQUIRE(pprofdelta_heap_write(c->heap, PPROFDELTA_HEAP_CHANGES, &sink, NULL) == PPROFDELTA_OK);
    REQUIRE(pprofdelta_new(NULL, NULL, &pd, NULL) == PPROFDELTA_OK);
    CHECK(pprofdelta_check(pd, mail.bytes, mail.len, &census, NULL) == PPROFDELTA_OK);
    pprofdelta_free(pd);
    CHECK(census.stamp.attempt == batch.attempt);
    CHECK(!find(c->sent, c->sent_len, &census.stamp));
    buf bytes = buf_begin(&c->arena);
    buf_add(&bytes, mail.bytes, mail.len);
    live_sums *truth = &c->truth[c->sent_len];
    *truth = (live_sums){.arena = &c->arena};
    for (size_t i = 0; i < c->now.len; i++)
        live_add(truth, c->now.rows[i].key, c->now.rows[i].values);
    c->last_of[batch.sequence] = c->sent_len;
    c->sent[c->sent_len++] = (sent){census.stamp, is_delivered, bytes};
    if (end == COMMIT)
        pprofdelta_heap_commit(c->heap);
    else
        pprofdelta_heap_abandon(c->heap);
    if (end == RESYNC)
        pprofdelta_heap_resync(c->heap);
}

/* Up to which sequence the kept ones can be added up, by what the tracker knows: from the last full
 * one that came, as long as the last attempt at each came. 0: nothing can. */
static uint64_t reach(const tracker_course *c, const delta *kept, size_t len)
{
    size_t at = len;
    for (size_t i = 0; i < len; i++)
        if (kept[i].stamp.live == PPROFDELTA_LIVE_FULL)
            at = i;
    if (at == len)
        return 0;
    for (; at + 1 < len; at++) {
        const pprofdelta_stamp *s = &kept[at].stamp, *next = &kept[at + 1].stamp;
        bool is_last = is_again(&c->sent[c->last_of[s->sequence]].stamp, s);
        if (next->sequence != s->sequence + 1 || !is_last || next->epoch != s->epoch)
            break;
    }
    return kept[at].stamp.sequence;
}

static void judge_tracker(tracker_course *c)
{
    delta kept[MOST];
    size_t first, len = receive_in_any_order(c->sent, c->sent_len, &c->rng, kept);
    size_t n = usable(kept, len, &first);
    uint64_t want = reach(c, kept, len);
    CHECK((n ? kept[first + n - 1].stamp.sequence : 0) == want);
    if (!n)
        return;
    live_profile parts[MOST], sum;
    pprofdelta_error err = {0};
    for (size_t i = 0; i < n; i++) {
        const sent *s = find(c->sent, c->sent_len, &kept[first + i].stamp);
        REQUIRE(live_read(&c->arena, s->bytes.ptr, s->bytes.len, &parts[i]));
    }
    REQUIRE(live_sum(&c->arena, parts, n, &sum, &err));
    const sent *last = find(c->sent, c->sent_len, &kept[first + n - 1].stamp);
    const char *wrong = live_differ(&sum.sums, &c->truth[last - c->sent]);
    CHECK_MSG(!wrong, "%s", wrong);
    CHECK(want != c->sent[c->sent_len - 1].stamp.sequence || n == 1 || last->is_delivered);
}

/* A step is a fate of the delivery, an end of the batch, and what the clock does. */
static void play_tracker(uint64_t seed, const unsigned *choices, size_t len)
{
    static const int64_t clocks[] = {10, 0, -7};
    tracker_course c = {.rng = {seed}};
    pprofdelta_heap_options options = PPROFDELTA_HEAP_OPTIONS_INIT;
    unsigned long failures = test_failures;
    int64_t now = 1000;
    c.now.arena = &c.arena;
    options.id = 5;
    options.started_nanos = 900;
    options.flags = PPROFDELTA_NO_MAPPINGS;
    REQUIRE(pprofdelta_heap_new(&options, &c.heap, NULL) == PPROFDELTA_OK);
    for (size_t i = 0; i < len; i++) {
        now += clocks[choices[i] / 2 / ENDS % 3];
        live_on(&c, i);
        send_batch(&c, now, choices[i] % 2, choices[i] / 2 % ENDS);
    }
    judge_tracker(&c);
    if (test_failures != failures && failures < 3) {
        printf("  the course:");
        for (size_t i = 0; i < len; i++)
            printf(" %u/%u/%u", choices[i] % 2, choices[i] / 2 % ENDS, choices[i] / 2 / ENDS);
        printf("\n");
    }
    pprofdelta_heap_free(c.heap);
    arena_free(&c.arena);
}

TEST(every_course_of_four_batches)
{
    enum { CHOICES = 2 * ENDS };
    for (unsigned i = 0; i < CHOICES * CHOICES * CHOICES * CHOICES; i++) {
        unsigned clock = i % 3 * CHOICES;
        play_tracker(i,
                     (unsigned[]){i % CHOICES, i / CHOICES % CHOICES + clock,
                                  i / CHOICES / CHOICES % CHOICES + clock,
                                  i / CHOICES / CHOICES / CHOICES + clock},
                     4);
    }
}

TEST(many_courses_of_ten_batches)
{
    rng r = {11};
    for (unsigned i = 0; i < 1500; i++) {
        unsigned choices[10];
        for (size_t n = 0; n < 10; n++) /* mostly delivered, so that some is left to add up */
            choices[n] = (unsigned)rng_below(&r, (size_t)6 * ENDS) | rng_chance(&r, 60);
        play_tracker(i, choices, 10);
    }
}

TEST_MAIN(CASE(every_course_of_three_windows_and_a_first), CASE(many_courses_of_ten_windows),
          CASE(every_course_of_four_batches), CASE(many_courses_of_ten_batches))
