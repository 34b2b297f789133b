/* The law of the live heap: whatever happens, what a receiver has added up is what is alive.
 *
 * Random events go to a tracker and to a naive list. Batches arrive, are given back (having arrived
 * or not), or are lost; now and then the process forks and both sides go on. After each full or
 * added batch the receiver's sums are held against the list as it was when the batch began. */
#include "live.h"
#include "rng.h"
#include "seeds.h"

#include <sys/wait.h>
#include <unistd.h>

enum { SLOTS = 64, STACKS = 24, DEPTH = 6, MAX_DEPTH = 5, MOST_SENT = 64 };

typedef struct truth {
    bool is_alive, is_deferred;
    const char *key;
    pprofdelta_weight weight;
    unsigned life; /* which of the pointer's lives this is */
} truth;

typedef struct world {
    arena arena;
    rng r;
    pprofdelta_heap *heap;
    truth slots[SLOTS]; /* one for each pointer there is */
    live_sums sums;     /* what a full profile says */
    int64_t most;       /* bytes that were in use */
    live_receiver receiver;
    live_profile sent[MOST_SENT]; /* what arrived, as deltas or windows */
    live_sums then[MOST_SENT];    /* ... and what was alive then */
    size_t sent_len;
    uint64_t stacks[STACKS][DEPTH];
    int64_t now;
    const char *wrong;
} world;

static const uintptr_t lowest = (uintptr_t)UINT64_C(0x7f0000001000);

static const void *pointer(size_t slot)
{
    return (const void *)(lowest + slot * 48);
}

static size_t slot_of(const void *ptr)
{
    return ((uintptr_t)ptr - lowest) / 48;
}

static void account(world *w, const truth *t, int allocs, int inuse)
{
    int64_t values[LIVE_TYPES] = {t->weight.objects * allocs, t->weight.bytes * allocs,
                                  t->weight.objects * inuse, t->weight.bytes * inuse};
    live_add(&w->sums, t->key, values);
    live_note_peak(&w->sums, &w->most);
}

static void die(world *w, size_t slot)
{
    truth *t = &w->slots[slot];
    if (t->is_alive && !t->is_deferred)
        account(w, t, 0, -1);
    t->is_alive = false;
}

static pprofdelta_heap_event random_event(world *w, size_t slot, pprofdelta_label *labels)
{
    static const pprofdelta_label all[] = {{"thread", "main", 0, NULL},
                                           {"thread", "worker", 0, NULL},
                                           {"bytes", NULL, 48, "bytes"},
                                           {"bytes", NULL, 0, "bytes"},
                                           {"x", "", 7, NULL}};
    size_t stack = rng_below(&w->r, STACKS);
    pprofdelta_heap_event event = {
        .ptr = pointer(slot),
        .weight = {1 + (int64_t)rng_below(&w->r, 5), 1 + rng_magnitude(&w->r, 30)},
        .stack = w->stacks[stack],
        .depth = stack % (DEPTH + 1),
        .labels = labels,
        .labels_len = rng_below(&w->r, 3),
    };
    for (size_t i = 0; i < event.labels_len; i++)
        labels[i] = all[rng_below(&w->r, sizeof all / sizeof *all)];
    return event;
}

static void be_born(world *w, size_t slot, const pprofdelta_heap_event *event)
{
    truth *t = &w->slots[slot];
    *t = (truth){.is_alive = true,
                 .key = live_key(&w->arena, event, MAX_DEPTH),
                 .weight = event->weight,
                 .life = t->life + 1};
}

static void do_track(world *w)
{
    pprofdelta_label labels[3];
    size_t slot = rng_below(&w->r, SLOTS);
    die(w, slot); /* tracked again without being untracked: freed unseen */
    pprofdelta_heap_event event = random_event(w, slot, labels);
    CHECK(pprofdelta_heap_track(w->heap, &event) == 1);
    be_born(w, slot, &event);
    account(w, &w->slots[slot], 1, 1);
}

static void do_untrack(world *w)
{
    size_t slot = rng_below(&w->r, SLOTS);
    bool was = w->slots[slot].is_alive;
    const pprofdelta_heap_filter *filter = pprofdelta_heap_filter_of(w->heap);
    CHECK(!was || pprofdelta_heap_maybe(filter, pointer(slot)));
    CHECK(pprofdelta_heap_untrack(w->heap, pointer(slot)) == was);
    die(w, slot);
}

/* The old block may be someone else's before realloc is through. */
static void do_realloc(world *w)
{
    size_t slot = rng_below(&w->r, SLOTS);
    truth *t = &w->slots[slot];
    bool was = t->is_alive && !t->is_deferred;
    if (t->is_deferred)
        die(w, slot);
    pprofdelta_heap_realloc r;
    CHECK(pprofdelta_heap_realloc_begin(w->heap, pointer(slot), &r) == was);
    if (!was)
        return;
    CHECK(pprofdelta_heap_untrack(w->heap, pointer(slot)) == 0);
    if (rng_chance(&w->r, 30)) {
        pprofdelta_heap_realloc_end(w->heap, &r, false);
        return;
    }
    truth old = *t;
    t->is_alive = false;
    if (rng_chance(&w->r, 50)) {
        pprofdelta_label labels[3];
        pprofdelta_heap_event event = random_event(w, slot, labels);
        CHECK(pprofdelta_heap_track(w->heap, &event) == 1);
        be_born(w, slot, &event);
        account(w, t, 1, 1);
    }
    pprofdelta_heap_realloc_end(w->heap, &r, true);
    account(w, &old, 0, -1);
}

static void do_defer(world *w)
{
    pprofdelta_label labels[3];
    size_t slot = rng_below(&w->r, SLOTS);
    die(w, slot);
    pprofdelta_heap_event event = random_event(w, slot, labels);
    CHECK(pprofdelta_heap_defer(w->heap, &event) != PPROFDELTA_HEAP_DROPPED);
    be_born(w, slot, &event);
    w->slots[slot].is_deferred = true;
}

/* Some are not wanted, some become another, some die in the callback, and the callback
 * allocates. */
static int complete(void *cookie, pprofdelta_heap_event *event)
{
    world *w = cookie;
    size_t slot = slot_of(event->ptr);
    truth *t = &w->slots[slot];
    unsigned life = t->life;
    CHECK(t->is_alive && t->is_deferred);
    if (rng_chance(&w->r, 20)) {
        do_track(w);
        if (rng_chance(&w->r, 50))
            do_defer(w);
    }
    if (rng_chance(&w->r, 20))
        do_untrack(w);
    if (!t->is_alive ||
        t->life != life) /* freed meanwhile: whatever is said now is said too late */
        return rng_chance(&w->r, 50);
    if (rng_chance(&w->r, 10)) {
        die(w, slot);
        return 0;
    }
    if (rng_chance(&w->r, 30)) {
        static pprofdelta_label late = {"class", "String", 0, NULL};
        event->labels = &late;
        event->labels_len = 1;
        t->key = live_key(&w->arena, event, MAX_DEPTH);
    }
    t->is_deferred = false;
    account(w, t, 1, 1);
    return 1;
}

static int is_alive(void *cookie, const void *ptr)
{
    world *w = cookie;
    size_t slot = slot_of(ptr);
    CHECK(w->slots[slot].is_alive && !w->slots[slot].is_deferred);
    if (rng_chance(&w->r, 90))
        return 1;
    die(w, slot);
    return 0;
}

static void do_event(world *w)
{
    size_t dice = rng_below(&w->r, 100);
    if (dice < 40)
        do_track(w);
    else if (dice < 75)
        do_untrack(w);
    else if (dice < 85)
        do_realloc(w);
    else if (dice < 94)
        do_defer(w);
    else if (dice < 97)
        pprofdelta_heap_complete(w->heap, complete, w);
    else if (dice < 99)
        pprofdelta_heap_sweep(w->heap, rng_below(&w->r, 40), is_alive, w, NULL);
    else
        pprofdelta_heap_resync(w->heap);
}

static void events(world *w, size_t most)
{
    for (size_t n = rng_below(&w->r, most); n; n--)
        do_event(w);
}

/* Writes, in either way, and lets it arrive. */
static void deliver(world *w, const pprofdelta_heap_window *batch, const live_sums *then)
{
    live_mail mail = {.arena = &w->arena};
    pprofdelta_sink sink = live_sink(&mail);
    pprofdelta_error err;
    live_profile p;
    REQUIRE(pprofdelta_heap_write(w->heap, PPROFDELTA_HEAP_CHANGES, &sink, &err) == PPROFDELTA_OK);
    REQUIRE(live_read(&w->arena, mail.bytes, mail.len, &p));
    CHECK(p.epoch == batch->epoch && p.sequence == batch->sequence && p.id == batch->id);
    CHECK(p.from_nanos == batch->from_nanos && p.to_nanos == batch->to_nanos);
    CHECK_STR(p.kind, batch->kind == PPROFDELTA_HEAP_FULL ? "full" : "delta");
    live_receive(&w->receiver, &p);
    w->wrong = live_differ(&w->receiver.now, then);
    CHECK_MSG(!w->wrong, "epoch %" PRIu64 ", batch %" PRIu64 ": %s", p.epoch, p.sequence, w->wrong);
    CHECK(w->receiver.gaps == 0);
    REQUIRE(pprofdelta_heap_write(w->heap, PPROFDELTA_HEAP_SNAPSHOT, &sink, &err) == PPROFDELTA_OK);
    live_profile window;
    REQUIRE(live_read(&w->arena, mail.bytes, mail.len, &window));
    if (w->sent_len < MOST_SENT) {
        w->sent[w->sent_len] = p;
        if (rng_chance(&w->r, 30))
            REQUIRE(live_read(&w->arena, mail.bytes, mail.len, &w->sent[w->sent_len]));
        w->then[w->sent_len++] = *then;
    }
    /* What is in use as it stands, and the same allocations as in the delta. */
    for (size_t i = 0; i < then->len; i++) {
        int64_t more[LIVE_TYPES] = {0};
        for (int j = 2; j < LIVE_TYPES; j++)
            more[j] = -then->rows[i].values[j];
        live_add(&window.sums, then->rows[i].key, more);
    }
    for (size_t i = 0; i < p.sums.len; i++) {
        int64_t more[LIVE_TYPES] = {-p.sums.rows[i].values[0], -p.sums.rows[i].values[1], 0, 0};
        live_add(&window.sums, p.sums.rows[i].key, more);
    }
    live_sums nothing = {.arena = &w->arena};
    w->wrong = live_differ(&window.sums, &nothing);
    CHECK_MSG(!w->wrong, "as a window: %s", w->wrong);
}

static live_sums copy_sums(world *w)
{
    live_sums copy = {.arena = &w->arena};
    for (size_t i = 0; i < w->sums.len; i++)
        live_add(&copy, w->sums.rows[i].key, w->sums.rows[i].values);
    return copy;
}

static void do_batch(world *w)
{
    pprofdelta_heap_window batch = {.size = sizeof batch};
    w->now += 1 + (int64_t)rng_below(&w->r, 1000);
    REQUIRE(pprofdelta_heap_begin(w->heap, w->now, &batch, NULL) == PPROFDELTA_OK);
    live_sums then = copy_sums(w);
    events(w, 30);
    bool arrives = rng_chance(&w->r, 70);
    if (arrives)
        deliver(w, &batch, &then);
    events(w, 10);
    switch (rng_below(&w->r, 10)) {
    case 0: /* nobody knows */
    case 1:
        pprofdelta_heap_abandon(w->heap);
        break;
    case 2:
        pprofdelta_heap_abandon(w->heap);
        pprofdelta_heap_resync(w->heap);
        break;
    default:
        if (arrives)
            pprofdelta_heap_commit(w->heap);
        else
            pprofdelta_heap_abandon(w->heap);
    }
}

static void live_on(world *w, size_t batches)
{
    while (batches--) {
        events(w, 80);
        do_batch(w);
    }
}

static void begin_world(world *w, uint64_t seed)
{
    *w = (world){.r = {seed}, .now = 1000};
    w->sums.arena = w->receiver.arena = &w->arena;
    for (size_t i = 0; i < STACKS; i++)
        for (size_t j = 0; j < DEPTH; j++)
            w->stacks[i][j] = 0x400000 + rng_below(&w->r, 40);
    pprofdelta_heap_options options = PPROFDELTA_HEAP_OPTIONS_INIT;
    options.flags = PPROFDELTA_NO_MAPPINGS;
    options.started_nanos = 500;
    options.max_depth = MAX_DEPTH;
    options.max_attempts = 1 + (uint32_t)rng_below(&w->r, 4);
    options.max_deferred = 1000;
    options.compression = PPROFDELTA_PLAIN;
    CHECK(pprofdelta_heap_new(&options, &w->heap, NULL) == PPROFDELTA_OK);
}

/* Does this one go on where that one ended? */
static bool continues(const live_profile *p, const live_profile *last)
{
    return strcmp(p->kind, "full") == 0 ||
           (p->epoch == last->epoch &&
            (p->sequence == last->sequence ||
             (p->sequence == last->sequence + 1 && p->from_nanos == last->to_nanos)));
}

/* `pprofdelta sum` says the same of all that arrived; and where some are lost on the way behind the
 * receiver's back, it says so unless a full one comes later. */
static void sum_up(world *w)
{
    live_profile got, some[MOST_SENT];
    pprofdelta_error err;
    size_t len = 0, chance = rng_below(&w->r, 12);
    bool is_whole = true;
    REQUIRE(w->sent_len > 0);
    CHECK_MSG(live_sum(&w->arena, w->sent, w->sent_len, &got, &err), "sum: %s", err.text);
    w->wrong = live_differ(&got.sums, &w->then[w->sent_len - 1]);
    CHECK_MSG(!w->wrong, "sum: %s", w->wrong);
    CHECK_STR(got.kind, "full");
    size_t last = 0;
    for (size_t i = 0; i < w->sent_len; i++) {
        if (i && rng_chance(&w->r, (unsigned)chance))
            continue;
        bool joins = !len || continues(&w->sent[i], &w->sent[last]);
        is_whole = strcmp(w->sent[i].kind, "full") == 0 || (is_whole && joins);
        last = is_whole ? i : last;
        some[len++] = w->sent[i];
    }
    bool is_summed = live_sum(&w->arena, some, len, &got, &err);
    CHECK_MSG(is_summed == is_whole, "sum of %zu of %zu: %s", len, w->sent_len,
              is_summed ? "did not notice" : err.text);
    w->wrong = is_summed ? live_differ(&got.sums, &w->then[last]) : NULL;
    CHECK_MSG(!w->wrong, "sum of %zu of %zu: %s", len, w->sent_len, w->wrong);
    CHECK_MSG(is_summed || (err.status == PPROFDELTA_E_MISMATCH && strstr(err.text, "missing")),
              "it says %s", err.text);
}

/* Everything dies: what a receiver has in use is exactly nothing, and so are the filter's bytes. The
 * peak stays. */
static void end_world(world *w)
{
    for (size_t slot = 0; slot < SLOTS; slot++) {
        CHECK(pprofdelta_heap_untrack(w->heap, pointer(slot)) == w->slots[slot].is_alive);
        die(w, slot);
    }
    for (size_t slot = 0; slot < SLOTS; slot++)
        CHECK(!pprofdelta_heap_maybe(pprofdelta_heap_filter_of(w->heap), pointer(slot)));
    pprofdelta_heap_window batch = {.size = sizeof batch};
    CHECK(pprofdelta_heap_begin(w->heap, w->now + 1, &batch, NULL) == PPROFDELTA_OK);
    live_sums then = copy_sums(w);
    deliver(w, &batch, &then);
    pprofdelta_heap_commit(w->heap);
    sum_up(w);
    for (size_t i = 0; i < w->receiver.now.len; i++)
        CHECK(!w->receiver.now.rows[i].values[2] && !w->receiver.now.rows[i].values[3]);
    pprofdelta_heap_stats stats = {.size = sizeof stats};
    pprofdelta_heap_describe(w->heap, &stats);
    CHECK(stats.live == 0 && stats.inuse_objects == 0 && stats.inuse_bytes == 0);
    int64_t objects = 0, bytes = 0;
    for (size_t i = 0; i < w->receiver.now.len; i++) {
        objects += w->receiver.now.rows[i].values[4];
        bytes += w->receiver.now.rows[i].values[5];
    }
    CHECK(stats.peak_objects == objects && stats.peak_bytes == bytes && bytes == w->most);
    CHECK(stats.peak_nanos > 0);
    CHECK(stats.deferred == 0 && !stats.dropped_memory && !stats.dropped_sites);
    pprofdelta_heap_free(w->heap);
    arena_free(&w->arena);
}

TEST(what_a_receiver_adds_up_is_what_is_alive)
{
    seed_range range = seeds(4);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        unsigned long before = test_failures;
        world w;
        begin_world(&w, seed);
        live_on(&w, 20);
        end_world(&w);
        CHECK_MSG(test_failures == before, "seed %" PRIu64, seed);
    }
}

/* The child's truth: what was in use is in use, and nothing was allocated yet. */
static void become_child(world *w)
{
    pprofdelta_heap_fork(w->heap, PPROFDELTA_FORK_CHILD, w->now);
    w->receiver = (live_receiver){.arena = &w->arena};
    w->sent_len = 0;
    w->sums = live_inherited(&w->sums, &w->most);
    pprofdelta_heap_stats stats = {.size = sizeof stats};
    pprofdelta_heap_describe(w->heap, &stats);
    CHECK(stats.tracked == 0 && stats.batches == 0);
}

static int run_child(world *w)
{
    test_failures = 0;
    become_child(w);
    live_on(w, 5);
    end_world(w);
    return test_failures != 0;
}

/* Returns the exit status of the child. */
static int fork_world(world *w)
{
    int status = -1;
    pprofdelta_heap_fork(w->heap, PPROFDELTA_FORK_PREPARE, 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(run_child(w));
    pprofdelta_heap_fork(w->heap, PPROFDELTA_FORK_PARENT, 0);
    return waitpid(child, &status, 0) == child ? status : -1;
}

TEST(parent_and_child_each_have_their_own_truth)
{
    seed_range range = seeds(1);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        world w;
        begin_world(&w, seed);
        live_on(&w, 1 + seed % 4);
        bool in_batch = seed % 3 == 0;
        live_sums then = {.arena = &w.arena};
        pprofdelta_heap_window batch = {.size = sizeof batch};
        if (in_batch) {
            CHECK(pprofdelta_heap_begin(w.heap, ++w.now, &batch, NULL) == PPROFDELTA_OK);
            then = copy_sums(&w);
            events(&w, 30);
        }
        CHECK_MSG(fork_world(&w) == 0, "seed %" PRIu64, seed);
        if (in_batch) {
            deliver(&w, &batch, &then);
            pprofdelta_heap_commit(w.heap);
        }
        live_on(&w, 3);
        end_world(&w);
    }
}

/* Forks while the bytes of a batch are on their way, which no lock tells. */
static int fork_in_sink(void *cookie, const void *data, size_t len)
{
    world *w = cookie;
    (void)data;
    (void)len;
    CHECK(fork_world(w) == 0);
    return 0;
}

TEST(a_child_that_is_born_while_a_batch_is_sent_sends_its_own)
{
    world w;
    begin_world(&w, 1);
    live_on(&w, 2);
    CHECK(pprofdelta_heap_begin(w.heap, ++w.now, NULL, NULL) == PPROFDELTA_OK);
    pprofdelta_sink sink = {fork_in_sink, &w};
    CHECK(pprofdelta_heap_write(w.heap, PPROFDELTA_HEAP_CHANGES, &sink, NULL) == PPROFDELTA_OK);
    pprofdelta_heap_abandon(w.heap);
    live_on(&w, 2);
    end_world(&w);
}

TEST_MAIN()
