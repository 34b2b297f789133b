/* The receiver of the manual (docs/receiver.c) and the adder held against a model, for every course of
 * a few windows: deliveries and acknowledgements get lost, come twice and in any order, runs are
 * killed, profiles come late, clocks step back or stand still, programs restart.
 *
 * The model knows of no stamps. What must hold: of each process, the receiver has exactly what had
 * been counted, at its highest, when the last delta that was delivered was made; and no sequence has
 * deltas of two processes. */
#include "../support/test.h"

#include "census.h"
#include "keep.h"
#include "rng.h"
#include "scene.h"
#include "seeds.h"

#include <limits.h>

#define main receiver_main
int receiver_main(int argc, char **argv);
#include "../docs/receiver.c" /* NOLINT(bugprone-suspicious-include) */
#undef main

enum { MOST = 64 };

static bool is_again(const pprofdelta_stamp *a, const pprofdelta_stamp *b)
{
    return a->id == b->id && a->sequence == b->sequence && a->attempt == b->attempt;
}

/* What was handed out, and whether it came. */
typedef struct sent {
    pprofdelta_stamp stamp;
    bool is_delivered;
    buf bytes;
    unsigned life; /* of a window: the process */
} sent;

/* What a receiver keeps if it gets these, in an order that `shuffle` chooses, some of them twice. */
static size_t receive(const sent *all, size_t len, rng *shuffle, delta *kept)
{
    size_t order[2 * MOST], n = 0, have = 0;
    for (size_t i = 0; i < len; i++)
        for (size_t times = shuffle ? 1 + rng_below(shuffle, 2) : 1; times; times--)
            if (all[i].is_delivered)
                order[n++] = i;
    if (shuffle)
        rng_shuffle(shuffle, order, n);
    for (size_t i = 0; i < n; i++)
        have = take(kept, have, (delta){.stamp = all[order[i]].stamp});
    return have;
}

/* In the order in which they were handed out, and then in other orders, all with the same end. */
static size_t receive_in_any_order(const sent *all, size_t len, rng *r, delta *kept)
{
    size_t have = receive(all, len, NULL, kept);
    for (int i = 0; i < 2; i++) {
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

/* ---- windows of a process after another -------------------------------------------------------- */

typedef enum kind {
    GREW,
    SHRANK,  /* a new process, in which every counter is smaller */
    TOLD,    /* a new process, which has outgrown all before it; the caller knows when it began */
    SHIFTED, /* a new process, in which one counter has outgrown the old one and one is smaller */
    FELL,    /* it grew, but for some counters that are a little lower */
    LATE,    /* an earlier profile of the process, by a run that overlaps and was slower */
    BACK,    /* it grew, and the clock says less */
    EQUAL    /* it grew, and the clock says the same */
} kind;

typedef enum fate {
    ARRIVED,    /* and was acknowledged */
    UNANSWERED, /* it arrived, and the answer was lost, or the run was killed before it */
    LOST,       /* or the run was killed between its state and the sending */
    KILLED      /* before anything was written */
} fate;

typedef enum door { STATE, CONTEXT } door;

enum { RESTARTS = SHIFTED + 1, FALLS = FELL + 1, KINDS = EQUAL + 1, FATES = KILLED + 1 };
enum { KEYS = 8, DOORS = 2 };

/* A profile of a process: in its `life`, how much was counted of each key. */
typedef struct look {
    unsigned life;
    int64_t time, started; /* started: 0 if nobody knows */
    int64_t counts[KEYS];
} look;

typedef struct course {
    arena arena;
    rng rng;
    door door;
    pprofdelta *pd;
    look looks[MOST];
    sent sent[MOST];
    size_t looks_len, sent_len;
    buf state;              /* STATE: on disk; empty: there is none */
    unsigned low, high;     /* the magnitudes of all processes so far */
    const look *last_seen;  /* by a window that was handed out */
    pprofdelta_report open; /* of the window that was not acknowledged; attempt 0: none */
    /* Of each life: the most that was handed out, and what was of that when a delta arrived, and when one
     * was acknowledged. */
    int64_t seen[MOST][KEYS], delivered[MOST][KEYS], acknowledged[MOST][KEYS];
} course;

/* Counter `heavy` is a thousand times 2 to the magnitude, the others ten times that. */
static void begin_life(course *c, look *l, unsigned magnitude)
{
    l->life++;
    l->started = 0;
    for (unsigned key = 0; key < KEYS; key++)
        l->counts[key] = (key == l->life % KEYS ? INT64_C(1000) : INT64_C(10)) << magnitude;
    c->low = magnitude < c->low ? magnitude : c->low;
    c->high = magnitude > c->high ? magnitude : c->high;
}

/* Has all that this profile has been handed out? */
static bool is_covered(const course *c, const look *l)
{
    bool all = true;
    for (unsigned key = 0; key < KEYS; key++)
        all &= l->counts[key] <= c->seen[l->life][key];
    return all;
}

static const look *choose(course *c, kind k)
{
    const look *last = &c->looks[c->looks_len - 1];
    if (k == LATE) {
        for (const look *l = last; l-- > c->looks;)
            if (l->life == last->life && c->last_seen && l->time < c->last_seen->time &&
                l->counts[0] < c->last_seen->counts[0] && is_covered(c, l))
                return l;
        return NULL;
    }
    look *next = &c->looks[c->looks_len++];
    *next = *last;
    next->time += k == BACK ? -1 : k == EQUAL ? 0 : 10;
    if (k == SHRANK)
        begin_life(c, next, c->low - 2);
    else if (k == TOLD)
        begin_life(c, next, c->high + 2);
    else if (k == SHIFTED)
        begin_life(c, next, c->low);
    if (k == TOLD)
        next->started = next->time - 5;
    for (unsigned key = 0; key < KEYS && k != SHRANK && k != TOLD && k != SHIFTED; key++)
        next->counts[key] +=
            k == FELL && key % 3 == 1 ? -2 : key % 3 == 0 || rng_chance(&c->rng, 50);
    return next;
}

static buf bytes_of(course *c, const look *l)
{
    build b = {0};
    build_types(&b, "alloc_objects/count");
    for (unsigned key = 0; key < KEYS; key++) {
        char stack[32], value[32];
        snprintf(stack, sizeof stack, "key%u main", key);
        snprintf(value, sizeof value, "%lld", (long long)l->counts[key]);
        build_sample(&b, stack, value);
    }
    b.m.time_nanos = l->time;
    buf bytes = build_bytes_in(&c->arena, &b);
    build_free(&b);
    return bytes;
}

static pprofdelta *new_context(void)
{
    pprofdelta *pd;
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.compression = PPROFDELTA_PLAIN;
    options.flags = PPROFDELTA_VERIFY;
    if (pprofdelta_new(&options, NULL, &pd, NULL))
        abort();
    return pd;
}

static pprofdelta_status hand_out(course *c, const look *l, collector *got,
                                  pprofdelta_report *report)
{
    if (c->door == STATE) {
        c->pd = new_context();
        CHECK(!c->state.len || keep_load(c->pd, c->state, NULL) == PPROFDELTA_OK);
    }
    buf bytes = bytes_of(c, l);
    pprofdelta_set_started(c->pd, l->started);
    return pprofdelta_window(c->pd, bytes.ptr, bytes.len, collecting(got), report, NULL);
}

/* The end of a window that was handed out. The state was saved before it was sent. */
static void end_window(course *c, bool is_acknowledged)
{
    if (c->door == STATE && is_acknowledged && rng_chance(&c->rng, 50))
        c->state.ptr[c->state.len - 1] = 1;
    else if (is_acknowledged)
        pprofdelta_commit(c->pd);
    else
        pprofdelta_abandon(c->pd);
    if (c->door == STATE) {
        bool is_marked = c->state.ptr[c->state.len - 1];
        buf again = keep_save(&c->arena, c->pd);
        CHECK(is_acknowledged || /* an abandoned window is what a pending one was */
              buf_equal(again, c->state));
        c->state = is_marked ? c->state : again;
        pprofdelta_free(c->pd);
        c->pd = NULL;
    }
}

/* Is the late look later than where the open window begins, which may not have arrived? */
static bool continues_base(const course *c, const look *l)
{
    bool grew = false;
    for (unsigned key = 0; key < KEYS; key++)
        grew |= l->counts[key] > c->acknowledged[l->life][key];
    return grew && c->open.attempt && !c->open.restart && l->time >= c->open.from_nanos;
}

/* One run with this look. Only a profile that is late is refused. */
static void run(course *c, const look *l, bool is_late, fate end)
{
    pprofdelta_report report = {.size = sizeof report};
    pprofdelta_census census;
    collector got = {.bytes = buf_begin(&c->arena)};
    pprofdelta_status status = hand_out(c, l, &got, &report);
    bool is_refused = is_late && !continues_base(c, l);
    CHECK_MSG(status == (is_refused ? PPROFDELTA_E_OLDER : PPROFDELTA_OK), "status %d", status);
    if (status) {
        if (c->door == STATE) {
            pprofdelta_free(c->pd);
            c->pd = NULL;
        }
        return;
    }
    if (c->door == STATE)
        c->state = keep_save(&c->arena, c->pd);
    CHECK(census_of(got.bytes.ptr, got.bytes.len, &census, NULL) == PPROFDELTA_OK);
    CHECK(census.stamp.attempt == report.attempt && census.stamp.sequence == report.sequence &&
          census.stamp.restart == report.restart);
    CHECK(report.from_nanos <= report.to_nanos);
    for (size_t i = 0; i < c->sent_len; i++) {
        CHECK(!is_again(&c->sent[i].stamp, &census.stamp));
        CHECK_MSG(c->sent[i].stamp.sequence != census.stamp.sequence || c->sent[i].life == l->life,
                  "sequence %llu has two processes", (unsigned long long)census.stamp.sequence);
    }
    if (is_late)
        CHECK(report.attempt == c->open.attempt + 1 && !report.restart && !report.clock_set_back &&
              report.to_nanos == c->open.to_nanos);
    else
        c->last_seen = l;
    c->open = report;
    c->open.attempt = end == ARRIVED ? 0 : report.attempt;
    c->sent[c->sent_len++] = (sent){census.stamp, end <= UNANSWERED, got.bytes, l->life};
    for (unsigned key = 0; key < KEYS; key++) {
        int64_t *seen = &c->seen[l->life][key];
        *seen = l->counts[key] > *seen ? l->counts[key] : *seen;
        if (end <= UNANSWERED)
            c->delivered[l->life][key] = *seen;
        if (end == ARRIVED)
            c->acknowledged[l->life][key] = *seen;
    }
    end_window(c, end == ARRIVED);
}

/* Adds the counters of a delta to sums, by key. */
static void add_up(course *c, buf bytes, int64_t sums[KEYS])
{
    reading r = {0};
    REQUIRE(reading_make(&c->arena, bytes.ptr, bytes.len, &r) == PPROFDELTA_OK);
    for (size_t n = 0; n < r.samples_len; n++) {
        const reading_location *leaf = &r.locations[r.samples[n].stack[0]];
        int64_t name = r.view->function[leaf->view->line[0]->function_id - 1]->name;
        size_t key = strtoul(reading_string(&r, name) + strlen("key"), NULL, 10);
        REQUIRE(key < KEYS);
        sums[key] += r.samples[n].values[0];
    }
}

static void check_sums(const int64_t got[KEYS], const int64_t want[KEYS], const char *what,
                       unsigned life)
{
    for (unsigned key = 0; key < KEYS; key++)
        CHECK_MSG(got[key] == want[key], "%s, process %u, key %u: %lld, not %lld", what, life, key,
                  (long long)got[key], (long long)want[key]);
}

/* The adder, given these in their order, comes to the same. */
static void check_adder(course *c, const delta *kept, size_t len, const int64_t want[KEYS],
                        const char *what)
{
    pprofdelta_adder *adder;
    pprofdelta_error err = {0};
    collector got = {.bytes = buf_begin(&c->arena)};
    int64_t sums[KEYS] = {0};
    REQUIRE(pprofdelta_adder_new(NULL, NULL, &adder, NULL) == PPROFDELTA_OK);
    pprofdelta_status status = PPROFDELTA_OK;
    for (size_t i = 0; i < len && !status; i++) {
        const sent *s = find(c->sent, c->sent_len, &kept[i].stamp);
        status = pprofdelta_adder_add(adder, s->bytes.ptr, s->bytes.len, NULL, &err);
    }
    status = status ? status : pprofdelta_adder_finish(adder, collecting(&got), &err);
    pprofdelta_adder_free(adder);
    CHECK_MSG(!status, "%s: %s", what, err.text);
    if (status)
        return;
    add_up(c, got.bytes, sums);
    check_sums(sums, want, what, 0);
}

static void judge(course *c)
{
    delta kept[MOST];
    int64_t sums[MOST][KEYS] = {{0}}, total[KEYS] = {0};
    size_t first, len = receive_in_any_order(c->sent, c->sent_len, &c->rng, kept);
    for (size_t i = 0; i < len; i++) {
        const sent *s = find(c->sent, c->sent_len, &kept[i].stamp);
        add_up(c, s->bytes, sums[s->life]);
    }
    unsigned lives = c->looks[c->looks_len - 1].life + 1;
    for (unsigned life = 0; life < lives; life++) {
        check_sums(sums[life], c->delivered[life], "the receiver", life);
        for (unsigned key = 0; key < KEYS; key++)
            total[key] += sums[life][key];
    }
    CHECK(usable(kept, len, &first) == len && first == 0);
    if (!len)
        return;
    check_adder(c, kept, len, total, "the sum");
    len = 0; /* ... and given all that came, as it came */
    for (size_t i = 0; i < c->sent_len; i++)
        if (c->sent[i].is_delivered)
            kept[len++] = (delta){.stamp = c->sent[i].stamp};
    check_adder(c, kept, len, total, "the sum of all");
}

/* A step is a kind and a fate. */
static void step(course *c, unsigned choice)
{
    kind k = (kind)(choice % KINDS);
    fate f = (fate)(choice / KINDS % FATES);
    const look *l = choose(c, k);
    if (l && f != KILLED)
        run(c, l, k == LATE, f);
}

static void play(uint64_t seed, door way, const unsigned *choices, size_t len)
{
    course c = {.rng = {seed}, .door = way, .looks_len = 1, .low = 24, .high = 24};
    unsigned long failures = test_failures;
    if (way == CONTEXT)
        c.pd = new_context();
    c.looks[0] = (look){.life = UINT_MAX, .time = 1000};
    begin_life(&c, &c.looks[0], 24);
    for (size_t i = 0; i < len; i++)
        step(&c, choices[i]);
    judge(&c);
    if (test_failures != failures && failures < 3) {
        printf("  the course, door %d:", way);
        for (size_t i = 0; i < len; i++)
            printf(" %u/%u", choices[i] % KINDS, choices[i] / KINDS);
        printf("\n");
    }
    pprofdelta_free(c.pd);
    arena_free(&c.arena);
}

/* The courses of `len` windows with these kinds and fates, the first of which grows: every 23rd (in a short run, every
 * 97th), or all with PD_TEST_SEEDS=8000. The numbers of choices are no multiple of 11, so each choice is made in
 * each place. */
static void play_all(door way, unsigned kinds, unsigned fates, size_t len)
{
    seed_range range = slow_seeds(100);
    unsigned step = is_short_run() ? 97 : range.to - range.from < USUAL_SEEDS ? 23 : 1;
    unsigned choices[8] = {0}, courses = fates;
    for (size_t i = 1; i < len; i++)
        courses *= kinds * fates;
    for (unsigned i = 0; i < courses; i += step) {
        unsigned rest = i / fates;
        choices[0] = i % fates * KINDS + GREW;
        for (size_t n = 1; n < len; n++, rest /= kinds * fates)
            choices[n] = rest % kinds + rest / kinds % fates * KINDS;
        play(i, way, choices, len);
    }
}

TEST(every_course_of_four_windows_of_a_state)
{
    play_all(STATE, FALLS, FATES, 4);
}

TEST(every_course_of_five_windows_of_a_context)
{
    play_all(CONTEXT, RESTARTS, LOST + 1, 5);
}

TEST(every_course_with_clocks_and_late_profiles)
{
    play_all(STATE, KINDS, LOST + 1, 3);
    play_all(CONTEXT, KINDS, LOST + 1, 3);
}

TEST(many_courses_of_ten_windows)
{
    rng r = {7};
    seed_range range = slow_seeds(100);
    for (unsigned i = 0; i < range.to - range.from; i++) {
        unsigned choices[10];
        door way = (door)(i % DOORS);
        for (size_t n = 0; n < 10; n++) {
            kind k = (kind)rng_below(&r, KINDS);
            choices[n] = k + (unsigned)rng_below(&r, FATES) * KINDS;
        }
        play(i, way, choices, 10);
    }
}

/* Restarts by which an older rule lost data: between two attempts at the first window, twice between two
 * acknowledgements, and of a process that outgrows the base. */
TEST(restarts_that_lost_data_once)
{
    enum { AGAIN = UNANSWERED * KINDS };
    static const struct {
        unsigned choices[4];
        size_t len;
    } courses[] = {{{AGAIN + GREW, SHRANK}, 2},
                   {{AGAIN + GREW, TOLD}, 2},
                   {{GREW, AGAIN + SHRANK, SHRANK, GREW}, 4},
                   {{GREW, AGAIN + GREW, AGAIN + SHIFTED, GREW}, 4}};
    for (size_t i = 0; i < sizeof courses / sizeof *courses * DOORS; i++)
        play(1, (door)(i % DOORS), courses[i / DOORS].choices, courses[i / DOORS].len);
}

/* ---- batches of a live heap -------------------------------------------------------------------- */

/* Batches that came, "KIND EPOCH/SEQUENCE.ATTEMPT FROM-TO" (full or delta), and the sequences of those that can be
 * added up. heap_export_test.c has what a tracker sends, and fuzz_heap.c and fuzz_sum.c what that adds up to. */
static const struct {
    const char *batches, *usable;
} batches[] = {
    {"full 1/1.1 0-10|delta 1/2.1 10-20|delta 1/3.1 20-30", "1 to 3"},
    {"full 1/1.1 0-10|full 1/1.2 0-20|delta 1/2.1 20-30", "1 to 2"},
    {"full 1/1.1 0-10|delta 1/2.1 10-20|delta 1/2.2 10-30|delta 1/3.1 30-40", "1 to 3"},
    {"full 1/1.1 0-10|delta 1/2.1 10-20|delta 1/3.1 30-40", "1 to 2"}, /* 2.2 did not come */
    {"full 1/1.1 0-10|delta 1/3.1 20-30|delta 1/4.1 30-40", "1 to 1"},
    {"full 1/1.1 0-10|delta 1/3.1 20-30|full 2/4.1 0-40|delta 2/5.1 40-50", "4 to 5"},
    {"full 1/1.1 0-10|delta 1/2.1 10-20|full 2/2.2 0-30|delta 2/3.1 30-40", "2 to 3"},
    {"full 1/1.1 0-10|delta 2/2.1 10-20", "1 to 1"},
    {"full 1/1.1 0-10|delta 1/2.1 10-10|delta 1/3.1 10-3", "1 to 3"}, /* a clock that is set back */
    {"delta 1/2.1 10-20|delta 1/3.1 20-30", "none"},
};

static size_t read_batches(const char *text, sent *out)
{
    char one[TEXT_SIZE];
    size_t len = 0;
    for (; next_text(&text, one); len++) {
        unsigned epoch, sequence, attempt;
        long long from, to;
        if (sscanf(one, "%*s %u/%u.%u %lld-%lld", &epoch, &sequence, &attempt, &from, &to) != 5)
            abort();
        out[len] =
            (sent){.is_delivered = true,
                   .stamp = {.id = 5,
                             .epoch = epoch,
                             .sequence = sequence,
                             .attempt = attempt,
                             .from_nanos = from,
                             .to_nanos = to,
                             .live = *one == 'f' ? PPROFDELTA_LIVE_FULL : PPROFDELTA_LIVE_DELTA}};
    }
    return len;
}

TEST(batches_are_added_up_from_the_last_full_one_to_the_first_gap)
{
    rng r = {11};
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        sent all[MOST];
        delta kept[MOST];
        char got[32] = "none";
        size_t first,
            len = receive_in_any_order(all, read_batches(batches[i].batches, all), &r, kept);
        size_t n = usable(kept, len, &first);
        if (n)
            snprintf(got, sizeof got, "%u to %u", (unsigned)kept[first].stamp.sequence,
                     (unsigned)kept[first + n - 1].stamp.sequence);
        CHECK_MSG(!strcmp(got, batches[i].usable), "%s: %s", batches[i].batches, got);
    }
}

TEST_MAIN()
