/* Sixteen threads allocate and free, also what others allocated, while batches are begun, written,
 * given back and lost, while somebody looks at the top sites, and forks. Made to be run
 * under ThreadSanitizer; without it the sums are still held against the truth. */
#include "live.h"
#include "rng.h"
#include "seeds.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 16, SLOTS = 2048, STACKS = 40, BATCHES = 100, DEPTH = 4 };

enum { FREE, BUSY, ALIVE, DEFERRED };

typedef struct slot {
    atomic_int state;
    size_t stack;
    pprofdelta_weight weight;
} slot;

typedef struct stage {
    pprofdelta_heap *heap;
    slot slots[SLOTS];
    atomic_bool is_over;
} stage;

typedef struct actor {
    stage *stage;
    pthread_t thread;
    rng r;
    int64_t allocated[STACKS][2]; /* objects, bytes */
    unsigned long wrong;
} actor;

static const void *pointer(size_t at)
{
    return (const void *)(uintptr_t)(0x10000 + at * 16);
}

static pprofdelta_heap_event event_of(size_t at, const slot *s, uint64_t stack[DEPTH])
{
    for (size_t i = 0; i < DEPTH; i++)
        stack[i] = 0x1000 + s->stack * (i + 1);
    return (pprofdelta_heap_event){
        .ptr = pointer(at), .weight = s->weight, .stack = stack, .depth = DEPTH};
}

static void allocate(actor *a, size_t at, slot *s)
{
    uint64_t stack[DEPTH];
    s->stack = rng_below(&a->r, STACKS);
    s->weight = (pprofdelta_weight){1, 1 + (int64_t)rng_below(&a->r, 1000)};
    pprofdelta_heap_event event = event_of(at, s, stack);
    bool is_deferred = rng_chance(&a->r, 10);
    a->wrong += is_deferred ? pprofdelta_heap_defer(a->stage->heap, &event) == 0
                            : pprofdelta_heap_track(a->stage->heap, &event) == 0;
    if (!is_deferred) {
        a->allocated[s->stack][0] += s->weight.objects;
        a->allocated[s->stack][1] += s->weight.bytes;
    }
    atomic_store_explicit(&s->state, is_deferred ? DEFERRED : ALIVE, memory_order_release);
}

static const pprofdelta_heap_filter *filter_of(pprofdelta_heap *heap)
{
    pprofdelta_heap_stats stats = {.size = sizeof stats};
    pprofdelta_heap_describe(heap, &stats);
    return stats.filter;
}

static void release(actor *a, size_t at, slot *s)
{
    pprofdelta_heap *heap = a->stage->heap;
    a->wrong += !pprofdelta_heap_maybe(filter_of(heap), pointer(at));
    pprofdelta_heap_realloc r;
    if (rng_chance(&a->r, 80)) {
        a->wrong += pprofdelta_heap_untrack(heap, pointer(at)) != 1;
    } else if (pprofdelta_heap_realloc_begin(heap, pointer(at), &r)) {
        if (rng_chance(&a->r, 50)) {
            pprofdelta_heap_realloc_end(heap, &r, pointer(at), 0, 0);
            atomic_store_explicit(&s->state, ALIVE, memory_order_release);
            return;
        }
        pprofdelta_heap_realloc_end(heap, &r, NULL, 0, 0);
    }
    atomic_store_explicit(&s->state, FREE, memory_order_release);
}

/* What is deferred is only ever freed here, and committed at the end, where nobody else is
 * there. */
static void *act(void *cookie)
{
    actor *a = cookie;
    while (!atomic_load_explicit(&a->stage->is_over, memory_order_relaxed)) {
        size_t at = rng_below(&a->r, SLOTS);
        slot *s = &a->stage->slots[at];
        int was = atomic_exchange_explicit(&s->state, BUSY, memory_order_acquire);
        if (was == FREE)
            allocate(a, at, s);
        else if (was == ALIVE)
            release(a, at, s);
        else if (was == DEFERRED) {
            a->wrong += pprofdelta_heap_untrack(a->stage->heap, pointer(at)) != 1;
            atomic_store_explicit(&s->state, FREE, memory_order_release);
        }
        /* BUSY: somebody has it, who will set the state when done. */
    }
    return NULL;
}

/* Looks, without ever waiting. */
static void *watch(void *cookie)
{
    actor *a = cookie;
    pprofdelta_heap_stats stats = {.size = sizeof stats};
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    while (!atomic_load(&a->stage->is_over)) {
        a->wrong +=
            pprofdelta_heap_dump(a->stage->heap, null, rng_below(&a->r, 3) * 8, NULL, NULL) != 0;
        pprofdelta_heap_describe(a->stage->heap, &stats);
        pprofdelta_heap_note_mappings(a->stage->heap);
    }
    close(null);
    return NULL;
}

/* The child has a whole tracker: its first batch is full and says what its numbers say. */
static int check_child(stage *s, arena *memory)
{
    pprofdelta_heap_fork(s->heap, PPROFDELTA_FORK_CHILD, 9);
    uint64_t stack[DEPTH] = {1, 2, 3, 4};
    pprofdelta_heap_event event = {.ptr = &stack, .weight = {3, 5}, .stack = stack, .depth = DEPTH};
    pprofdelta_heap_stats stats = {.size = sizeof stats};
    pprofdelta_heap_window batch = {.size = sizeof batch};
    live_mail mail = {.arena = memory};
    pprofdelta_sink sink = live_sink(&mail);
    live_profile p;
    if (!pprofdelta_heap_track(s->heap, &event) ||
        pprofdelta_heap_begin(s->heap, 10, &batch, NULL) != PPROFDELTA_OK ||
        pprofdelta_heap_write(s->heap, PPROFDELTA_HEAP_CHANGES, &sink, NULL) != PPROFDELTA_OK ||
        !live_read(memory, mail.bytes, mail.len, &p))
        return 1;
    pprofdelta_heap_describe(s->heap, &stats);
    int64_t sums[LIVE_TYPES] = {0};
    for (size_t i = 0; i < p.sums.len; i++)
        for (int j = 0; j < LIVE_TYPES; j++)
            sums[j] += p.sums.rows[i].values[j];
    bool good = p.id == batch.id && p.epoch == 1 && p.sequence == 1 && sums[0] == 3 &&
                sums[1] == 5 && sums[2] == stats.inuse_objects && sums[3] == stats.inuse_bytes &&
                sums[4] == stats.peak_objects && sums[5] == stats.peak_bytes;
    return good ? 0 : 2;
}

static void do_fork(actor *a, arena *memory)
{
    pprofdelta_heap_fork(a->stage->heap, PPROFDELTA_FORK_PREPARE, 0);
    pid_t child = fork();
    if (child == 0)
        _exit(check_child(a->stage, memory));
    pprofdelta_heap_fork(a->stage->heap, PPROFDELTA_FORK_PARENT, 0);
    int status = -1;
    CHECK_MSG(waitpid(child, &status, 0) == child && status == 0, "the child ended with %d",
              status);
}

/* What arrives adds up, whatever became of the batches in between; and nothing is ever less than
 * nothing. */
static void send(actor *a, arena *memory, live_receiver *receiver, int64_t now)
{
    pprofdelta_heap *heap = a->stage->heap;
    live_mail mail = {.arena = memory};
    pprofdelta_sink sink = live_sink(&mail);
    live_profile p;
    CHECK(pprofdelta_heap_begin(heap, now, NULL, NULL) == PPROFDELTA_OK);
    if (rng_chance(&a->r, 10))
        do_fork(a, memory);
    if (rng_chance(&a->r, 80)) {
        CHECK(pprofdelta_heap_write(heap, PPROFDELTA_HEAP_CHANGES, &sink, NULL) == PPROFDELTA_OK);
        REQUIRE(live_read(memory, mail.bytes, mail.len, &p));
        live_receive(receiver, &p);
        CHECK(receiver->gaps == 0);
        for (size_t i = 0; i < receiver->now.len; i++)
            for (int j = 0; j < LIVE_TYPES; j++)
                CHECK(receiver->now.rows[i].values[j] >= 0);
        if (rng_chance(&a->r, 80)) {
            pprofdelta_heap_commit(heap);
            return;
        }
    }
    pprofdelta_heap_abandon(heap);
    if (rng_chance(&a->r, 20))
        pprofdelta_heap_resync(heap);
}

static live_sums truth_of(stage *s, actor *actors, arena *memory)
{
    live_sums sums = {.arena = memory};
    for (size_t at = 0; at < SLOTS; at++) {
        uint64_t stack[DEPTH];
        pprofdelta_heap_event event = event_of(at, &s->slots[at], stack);
        int64_t values[LIVE_TYPES] = {0, 0, event.weight.objects, event.weight.bytes};
        if (s->slots[at].state == ALIVE)
            live_add(&sums, live_key(memory, &event, DEPTH), values);
    }
    for (size_t i = 0; i < THREADS; i++)
        for (size_t stack_number = 0; stack_number < STACKS; stack_number++) {
            uint64_t stack[DEPTH];
            slot as_slot = {.stack = stack_number};
            pprofdelta_heap_event event = event_of(0, &as_slot, stack);
            int64_t values[LIVE_TYPES] = {actors[i].allocated[stack_number][0],
                                          actors[i].allocated[stack_number][1], 0, 0};
            live_add(&sums, live_key(memory, &event, DEPTH), values);
        }
    return sums;
}

static void check_end(stage *s, actor *actors, arena *memory, live_receiver *receiver)
{
    pprofdelta_heap_complete(s->heap, NULL, NULL);
    for (size_t at = 0; at < SLOTS; at++) {
        slot *one = &s->slots[at];
        if (one->state != DEFERRED)
            continue;
        actors[0].allocated[one->stack][0] += one->weight.objects;
        actors[0].allocated[one->stack][1] += one->weight.bytes;
        one->state = ALIVE;
    }
    live_mail mail = {.arena = memory};
    pprofdelta_sink sink = live_sink(&mail);
    live_profile p;
    live_sums truth = truth_of(s, actors, memory);
    CHECK(pprofdelta_heap_begin(s->heap, 1 << 30, NULL, NULL) == PPROFDELTA_OK);
    CHECK(pprofdelta_heap_write(s->heap, PPROFDELTA_HEAP_CHANGES, &sink, NULL) == PPROFDELTA_OK);
    REQUIRE(live_read(memory, mail.bytes, mail.len, &p));
    live_receive(receiver, &p);
    /* When the peak was is not known here, but how much it was. What ended has the ages of all threads'
     * windows, but how much it is follows. */
    live_sums got = {.arena = memory};
    pprofdelta_heap_stats stats = {.size = sizeof stats};
    pprofdelta_heap_describe(s->heap, &stats);
    for (size_t i = 0; i < receiver->now.len; i++) {
        int64_t *values = receiver->now.rows[i].values;
        CHECK(values[4] >= 0 && values[5] >= 0);
        stats.peak_objects -= values[4];
        stats.peak_bytes -= values[5];
        values[4] = values[5] = 0;
        const char *key = receiver->now.rows[i].key;
        live_add(&got, arena_format(memory, "%.*s", (int)strcspn(key, "{"), key), values);
    }
    for (size_t i = 0; i < truth.len; i++) {
        int64_t *values = truth.rows[i].values;
        values[6] = values[0] - values[2];
        values[7] = values[1] - values[3];
    }
    CHECK(!stats.peak_objects && !stats.peak_bytes);
    const char *wrong = live_differ(&got, &truth);
    CHECK_MSG(!wrong, "%s", wrong);
    CHECK(receiver->gaps == 0);
}

TEST(sixteen_threads_and_everything_else_at_once)
{
    static stage s;
    static actor actors[THREADS + 1];
    ENDS(arena_free) arena memory = {0};
    live_receiver receiver = {.arena = &memory};
    pprofdelta_heap_options options = PPROFDELTA_HEAP_OPTIONS_INIT;
    options.compression = PPROFDELTA_PLAIN;
    options.max_deferred = SLOTS;
    options.flags = PPROFDELTA_HEAP_AGES;
    REQUIRE(pprofdelta_heap_new(&options, &s.heap, NULL) == PPROFDELTA_OK);
    for (size_t i = 0; i <= THREADS; i++) {
        actors[i] = (actor){.stage = &s, .r = {i}};
        REQUIRE(pthread_create(&actors[i].thread, NULL, i < THREADS ? act : watch, &actors[i]) ==
                0);
    }
    actor self = {.stage = &s, .r = {99}};
    for (int64_t now = 1; now <= BATCHES; now++)
        send(&self, &memory, &receiver, now);
    atomic_store(&s.is_over, true);
    for (size_t i = 0; i <= THREADS; i++)
        pthread_join(actors[i].thread, NULL);
    for (size_t i = 0; i <= THREADS; i++)
        CHECK_MSG(actors[i].wrong == 0, "thread %zu: %lu", i, actors[i].wrong);
    check_end(&s, actors, &memory, &receiver);
    pprofdelta_heap_free(s.heap);
}

/* ---- a signal handler that forks ------------------------------------------------------------- */

enum { FORKS = 60, PATIENCE = 300 };

static stage interrupted;
static volatile sig_atomic_t children, is_lost;

/* The thread may be in the tracker, so no locks are taken. */
static void fork_within(int number)
{
    (void)number;
    pid_t child = is_lost || children == FORKS ? -1 : fork();
    children += child > 0;
    if (child)
        return;
    is_lost = true;
    signal(SIGALRM, SIG_DFL);
    alarm(PATIENCE);
    pprofdelta_heap_fork(interrupted.heap, PPROFDELTA_FORK_LOST, 0);
}

static int discard(void *cookie, const void *data, size_t len)
{
    (void)cookie, (void)data, (void)len;
    return 0;
}

/* A few of all calls that may be interrupted. */
static bool use_all(pprofdelta_heap *heap, int64_t now)
{
    uint64_t stack[DEPTH];
    const slot one = {.stack = STACKS, .weight = {1, 1}};
    const pprofdelta_sink sink = {.write = discard};
    pprofdelta_heap_event event = event_of(SLOTS, &one, stack);
    bool is_tracked = false;
    for (int i = 0; i < 50; i++) {
        is_tracked = pprofdelta_heap_track(heap, &event);
        pprofdelta_heap_untrack(heap, event.ptr);
    }
    bool is_sent =
        pprofdelta_heap_begin(heap, now, NULL, NULL) == PPROFDELTA_OK &&
        pprofdelta_heap_write(heap, PPROFDELTA_HEAP_CHANGES, &sink, NULL) == PPROFDELTA_OK;
    if (now % 2 && is_sent)
        pprofdelta_heap_commit(heap);
    else
        pprofdelta_heap_abandon(heap);
    return is_tracked || is_sent;
}

/* What it interrupted ends, though other threads were in the tracker, which are not in the child. */
TEST(a_child_that_a_signal_handler_forks_within_the_tracker_goes_on)
{
    static actor actors[THREADS + 1];
    const struct itimerval often = {{0, 700}, {0, 700}}, never = {{0, 0}, {0, 0}};
    pprofdelta_heap_options options = PPROFDELTA_HEAP_OPTIONS_INIT;
    options.flags = PPROFDELTA_HEAP_AGES;
    options.compression = PPROFDELTA_PLAIN;
    sigset_t alarms;
    REQUIRE(pprofdelta_heap_new(&options, &interrupted.heap, NULL) == PPROFDELTA_OK);
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, NULL);
    for (size_t i = THREADS - 4; i <= THREADS; i++) {
        actors[i] = (actor){.stage = &interrupted, .r = {i}};
        REQUIRE(pthread_create(&actors[i].thread, NULL, i < THREADS ? act : watch, &actors[i]) ==
                0);
    }
    pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
    signal(SIGALRM, fork_within);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int64_t now = 1; children < FORKS && !is_lost; now++)
        use_all(interrupted.heap, now);
    if (is_lost)
        _exit(use_all(interrupted.heap, 1) ? 1 : 0);
    setitimer(ITIMER_REAL, &never, NULL);
    atomic_store(&interrupted.is_over, true);
    for (size_t i = THREADS - 4; i <= THREADS; i++)
        pthread_join(actors[i].thread, NULL);
    for (int status; waitpid(-1, &status, 0) > 0;)
        CHECK_MSG(status == 0, "a child ended with %d", status);
    pprofdelta_heap_free(interrupted.heap);
}

TEST_MAIN()
