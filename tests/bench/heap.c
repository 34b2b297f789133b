/* What the live-heap door costs, measured where it runs: one line a figure, "name value unit".
 *
 * Medians of many runs. */
#include "pprofdelta_heap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { DEPTH = 24 };

static uint64_t nanos(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t len)
{
    qsort(values, len, sizeof *values, by_value);
    return values[len / 2];
}

static void say(const char *name, double value, const char *unit)
{
    printf("%-44s %12.3f %s\n", name, value, unit);
    fflush(stdout);
}

static int swallow(void *cookie, const void *data, size_t len)
{
    (void)data;
    *(size_t *)cookie = len;
    return 0;
}

static void fail(const char *what)
{
    fprintf(stderr, "heap: %s\n", what);
    exit(1);
}

static pprofdelta_heap *make(void)
{
    static pprofdelta_heap *heap;
    pprofdelta_heap_options options = PPROFDELTA_HEAP_OPTIONS_INIT;
    options.max_memory = UINT64_C(4) << 30;
    options.period = 512 << 10;
    if (pprofdelta_heap_new(&options, &heap, NULL) != PPROFDELTA_OK)
        fail("no tracker");
    return heap;
}

/* Stacks as programs have them: the outer frames are shared, the inner ones differ. */
static void stack_of(size_t number, uint64_t stack[DEPTH])
{
    uint64_t base = (uint64_t)(uintptr_t)&stack_of;
    for (size_t i = 0; i < DEPTH; i++) {
        size_t shared = i < 4 ? number : i < 10 ? number / 8 : i < 16 ? number / 64 : number / 4096;
        stack[i] = base + (shared * 64 + i) % 1000000;
    }
}

static const void *pointer(size_t at)
{
    return (const void *)(uintptr_t)(0x100000000 + at * 524288 % (UINT64_C(1) << 40) + at * 32);
}

static void track(pprofdelta_heap *heap, size_t at, size_t site)
{
    uint64_t stack[DEPTH];
    stack_of(site, stack);
    pprofdelta_heap_event event = {
        .ptr = pointer(at), .weight = {1, 524288}, .stack = stack, .depth = DEPTH};
    if (!pprofdelta_heap_track(heap, &event))
        fail("an allocation was dropped");
}

static size_t export(pprofdelta_heap *heap)
{
    size_t len = 0;
    pprofdelta_sink sink = {swallow, &len};
    if (pprofdelta_heap_begin(heap, 1, NULL, NULL) != PPROFDELTA_OK ||
        pprofdelta_heap_write(heap, PPROFDELTA_HEAP_CHANGES, &sink, NULL) != PPROFDELTA_OK)
        fail("no export");
    pprofdelta_heap_commit(heap);
    return len;
}

static double timed_export(pprofdelta_heap *heap, size_t *len)
{
    uint64_t start = nanos();
    *len = export(heap);
    return (double)(nanos() - start) / 1000;
}

/* live allocations over so many stacks. */
static pprofdelta_heap *populate(size_t live, size_t sites)
{
    pprofdelta_heap *heap = make();
    for (size_t i = 0; i < live; i++)
        track(heap, i, i % sites);
    return heap;
}

enum { RUNS = 101, CALLS = 2000 };

static void measure_insert(size_t live)
{
    pprofdelta_heap *heap = populate(live, 1000);
    static pprofdelta_heap_event events[CALLS];
    static uint64_t stacks[CALLS][DEPTH];
    double in[RUNS], out[RUNS], misses[RUNS];
    char name[64];
    for (size_t i = 0; i < CALLS; i++) {
        stack_of(i % 1000, stacks[i]);
        events[i] = (pprofdelta_heap_event){
            .ptr = pointer(live + i), .weight = {1, 524288}, .stack = stacks[i], .depth = DEPTH};
    }
    for (size_t run = 0; run < RUNS; run++) {
        uint64_t start = nanos();
        for (size_t i = 0; i < CALLS; i++)
            pprofdelta_heap_track(heap, &events[i]);
        uint64_t middle = nanos();
        for (size_t i = 0; i < CALLS; i++)
            pprofdelta_heap_untrack(heap, events[i].ptr);
        uint64_t end = nanos();
        for (size_t i = 0; i < CALLS; i++)
            pprofdelta_heap_untrack(heap, events[i].ptr);
        in[run] = (double)(middle - start) / CALLS;
        out[run] = (double)(end - middle) / CALLS;
        misses[run] = (double)(nanos() - end) / CALLS;
    }
    snprintf(name, sizeof name, "track, %zu live", live);
    say(name, median(in, RUNS), "ns");
    snprintf(name, sizeof name, "untrack, %zu live", live);
    say(name, median(out, RUNS), "ns");
    snprintf(name, sizeof name, "untrack of a stranger, %zu live", live);
    say(name, median(misses, RUNS), "ns");
    pprofdelta_heap_free(heap);
}

static void measure_still(size_t live, size_t sites)
{
    pprofdelta_heap *heap = populate(live, sites);
    double took[RUNS];
    size_t len;
    char name[64];
    export(heap);
    for (size_t run = 0; run < RUNS; run++)
        took[run] = timed_export(heap, &len);
    snprintf(name, sizeof name, "export without a change, %zu live", live);
    say(name, median(took, RUNS), "us");
    pprofdelta_heap_free(heap);
}

static void churn(pprofdelta_heap *heap, size_t pairs, size_t stacks)
{
    for (size_t i = 0; i < pairs; i++) {
        track(heap, 10000 + i, i % stacks);
        pprofdelta_heap_untrack(heap, pointer(10000 + i));
    }
}

/* Whatever the pairs, the same number of calls comes before each export, the rest of them to
 * another tracker: caches are as cold for few as for many. */
static double churned(size_t pairs, size_t most, size_t stacks)
{
    pprofdelta_heap *heap = populate(10000, 1000), *other = populate(10000, 1000);
    double took[RUNS];
    size_t len;
    export(heap);
    for (size_t run = 0; run < RUNS; run++) {
        churn(heap, pairs, stacks);
        churn(other, most - pairs, stacks);
        took[run] = timed_export(heap, &len);
    }
    pprofdelta_heap_free(other);
    pprofdelta_heap_free(heap);
    return median(took, RUNS);
}

static void measure_churn(size_t pairs, size_t stacks)
{
    char name[64];
    snprintf(name, sizeof name, "export after %zu churn pairs, %zu stacks", pairs, stacks);
    say(name, churned(pairs, pairs, stacks), "us");
}

/* Does the cost grow with churn? A hundred times as much of it. */
static void measure_growth(size_t stacks)
{
    double few = churned(500, 50000, stacks), many = churned(50000, 50000, stacks);
    say("... with caches as cold as after 50000 pairs", few, "us");
    say("export after 50000 churn pairs, 10 stacks", many, "us");
}

/* changes: 0 or 10. */
static void measure_full(size_t live, size_t sites, size_t changes)
{
    pprofdelta_heap *heap = populate(live, sites);
    double full[11], delta[RUNS];
    size_t full_len = 0, delta_len = 0;
    char name[64];
    for (size_t run = 0; run < 11; run++) {
        pprofdelta_heap_resync(heap);
        full[run] = timed_export(heap, &full_len);
    }
    for (size_t run = 0; run < RUNS; run++) {
        for (size_t i = 0; i < changes; i++) {
            pprofdelta_heap_untrack(heap, pointer(i));
            track(heap, i, i % sites);
        }
        delta[run] = timed_export(heap, &delta_len);
    }
    double slow = median(full, 11), fast = median(delta, RUNS);
    snprintf(name, sizeof name, "full export, %zu live, %zu stacks", live, sites);
    say(name, slow / 1000, "ms");
    say("... size", (double)full_len, "bytes");
    snprintf(name, sizeof name, "delta of %zu changes", changes);
    say(name, fast, "us");
    say("... size", (double)delta_len, "bytes");
    snprintf(name, sizeof name, "delta of %s cheaper than full by",
             changes ? "10 changes" : "no change");
    say(name, slow / fast, "x");
    pprofdelta_heap_free(heap);
}

typedef struct busy {
    pprofdelta_heap *heap;
    atomic_bool is_over;
    atomic_ullong longest; /* nanoseconds, since it was last taken */
    atomic_ullong count;   /* insertions since then */
} busy;

static void *insert_all_the_time(void *cookie)
{
    busy *b = cookie;
    for (size_t i = 0; !atomic_load_explicit(&b->is_over, memory_order_relaxed); i++) {
        uint64_t start = nanos();
        track(b->heap, 1000000 + i % 1000, i % 2000);
        uint64_t took = nanos() - start;
        atomic_fetch_add_explicit(&b->count, 1, memory_order_relaxed);
        if (took > atomic_load_explicit(&b->longest, memory_order_relaxed))
            atomic_store_explicit(&b->longest, took, memory_order_relaxed);
    }
    return NULL;
}

/* Everything that an export does, so that all of it is there to be in the way. */
static void export_all_ways(pprofdelta_heap *heap, size_t nth)
{
    size_t len;
    pprofdelta_sink sink = {swallow, &len};
    if (nth % 2)
        pprofdelta_heap_resync(heap);
    pprofdelta_heap_begin(heap, 1, NULL, NULL);
    pprofdelta_heap_write(heap, PPROFDELTA_HEAP_SNAPSHOT, &sink, NULL);
    pprofdelta_heap_abandon(heap);
    pprofdelta_heap_begin(heap, 2, NULL, NULL);
    pprofdelta_heap_write(heap, PPROFDELTA_HEAP_CHANGES, &sink, NULL);
    pprofdelta_heap_commit(heap);
}

static void wait_nanos(uint64_t how_long)
{
    uint64_t start = nanos();
    while (nanos() - start < how_long)
        continue;
}

/* What was noted since the last time, in microseconds, if there were enough insertions to tell. */
static size_t note(busy *b, double *out)
{
    double longest = (double)atomic_exchange(&b->longest, 0) / 1000;
    if (atomic_exchange(&b->count, 0) < 1000)
        return 0;
    *out = longest;
    return 1;
}

/* The longest insertion during each export (with 20,000 sites, written whole, given back, written
 * again), and during equal times without: the machine interrupts threads too. */
static void measure_pause(void)
{
    enum { EXPORTS = 100 };
    double during[EXPORTS] = {0}, between[EXPORTS] = {0};
    size_t during_len = 0, between_len = 0;
    busy b = {.heap = populate(100000, 20000)};
    pthread_t thread;
    if (pthread_create(&thread, NULL, insert_all_the_time, &b) != 0)
        fail("no thread");
    wait_nanos(10000000);
    for (size_t i = 0; i < EXPORTS; i++) {
        double ignored;
        note(&b, &ignored);
        uint64_t start = nanos();
        export_all_ways(b.heap, i);
        uint64_t took = nanos() - start;
        during_len += note(&b, &during[during_len]);
        wait_nanos(took);
        between_len += note(&b, &between[between_len]);
    }
    atomic_store(&b.is_over, true);
    pthread_join(thread, NULL);
    if (!during_len || !between_len)
        fail("too few insertions between exports");
    say("longest insertion during an export", median(during, during_len), "us");
    say("... of 90% of exports, below", during[during_len * 9 / 10], "us");
    say("longest insertion in as long without", median(between, between_len), "us");
    say("... of 90% of such times, below", between[between_len * 9 / 10], "us");
    pprofdelta_heap_free(b.heap);
}

/* How long export steps hold the lock, which no insertion can be made to wait longer for: begin,
 * and abandon of so many sites, of which it does 32 at a time. */
static void measure_holds(void)
{
    enum { SITES = 20000, STEP = 32 };
    pprofdelta_heap *heap = populate(SITES, SITES);
    const size_t whole_steps = SITES / STEP;
    const double steps = (double)whole_steps;
    double begins[RUNS], backs[RUNS];
    for (size_t run = 0; run < RUNS; run++) {
        uint64_t start = nanos();
        pprofdelta_heap_begin(heap, 1, NULL, NULL);
        uint64_t middle = nanos();
        pprofdelta_heap_abandon(heap);
        begins[run] = (double)(middle - start) / 1000;
        backs[run] = (double)(nanos() - middle) / 1000 / steps;
        if (run % 8 == 0) { /* before it has been abandoned too often */
            export(heap);
            for (size_t i = 0; i < SITES; i++)
                track(heap, i, i);
        }
    }
    say("the lock is held by begin, at most", median(begins, RUNS), "us");
    say("... 99% of them, below", begins[RUNS * 99 / 100], "us");
    say("the lock is held by a step of abandon", median(backs, RUNS), "us");
    pprofdelta_heap_free(heap);
}

int main(int argc, char **argv)
{
    bool is_quick = argc > 1 && argv[1][0] == 'q';
    measure_insert(1000);
    measure_insert(100000);
    measure_still(1000, 100);
    measure_still(is_quick ? 100000 : 1000000, 10000);
    measure_churn(500, 1);
    measure_churn(500, 10);
    measure_churn(500, 500);
    measure_growth(10);
    measure_full(100000, 100000, 0);
    measure_full(100000, 100000, 10);
    measure_full(100000, 10000, 10);
    measure_holds();
    measure_pause();
}
