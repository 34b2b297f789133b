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
    pprofdelta_heap_acknowledge(heap);
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

/* Whatever the pairs, the same number of calls comes before each export, the rest of them to another
 * tracker: caches are as cold for few as for many. */
static void measure_churn(size_t pairs, size_t most, size_t stacks)
{
    pprofdelta_heap *heap = populate(10000, 1000), *other = populate(10000, 1000);
    double took[RUNS];
    size_t len;
    char name[64];
    export(heap);
    for (size_t run = 0; run < RUNS; run++) {
        churn(heap, pairs, stacks);
        churn(other, most - pairs, stacks);
        took[run] = timed_export(heap, &len);
    }
    snprintf(name, sizeof name, "export after %zu churn pairs, %zu stacks", pairs, stacks);
    say(name, median(took, RUNS), "us");
    pprofdelta_heap_free(other);
    pprofdelta_heap_free(heap);
}

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
    say("... cheaper by", slow / fast, "x");
    pprofdelta_heap_free(heap);
}

typedef struct busy {
    pprofdelta_heap *heap;
    atomic_bool is_over;
    atomic_ullong longest; /* nanoseconds, since it was last taken */
} busy;

static void *insert_all_the_time(void *cookie)
{
    busy *b = cookie;
    for (size_t i = 0; !atomic_load_explicit(&b->is_over, memory_order_relaxed); i++) {
        uint64_t start = nanos();
        track(b->heap, 1000000 + i % 1000, i % 2000);
        uint64_t took = nanos() - start;
        if (took > atomic_load_explicit(&b->longest, memory_order_relaxed))
            atomic_store_explicit(&b->longest, took, memory_order_relaxed);
    }
    return NULL;
}

static void export_one_way_or_the_other(pprofdelta_heap *heap, size_t nth)
{
    size_t len;
    pprofdelta_sink sink = {swallow, &len};
    if (nth % 4 == 0)
        pprofdelta_heap_resync(heap);
    pprofdelta_heap_begin(heap, 1, NULL, NULL);
    pprofdelta_heap_write(heap, PPROFDELTA_HEAP_CHANGES, &sink, NULL);
    if (nth % 3)
        pprofdelta_heap_acknowledge(heap);
    else
        pprofdelta_heap_give_back(heap);
}

static void wait_nanos(uint64_t how_long)
{
    uint64_t start = nanos();
    while (nanos() - start < how_long)
        continue;
}

/* The longest insertion during each export (full ones, deltas, some given back), and during equal
 * times without: the machine interrupts threads too. */
static void measure_pause(void)
{
    enum { EXPORTS = 200 };
    double during[EXPORTS], between[EXPORTS];
    busy b = {.heap = populate(100000, 20000)};
    pthread_t thread;
    if (pthread_create(&thread, NULL, insert_all_the_time, &b) != 0)
        fail("no thread");
    wait_nanos(10000000);
    for (size_t i = 0; i < EXPORTS; i++) {
        atomic_store(&b.longest, 0);
        uint64_t start = nanos();
        export_one_way_or_the_other(b.heap, i);
        uint64_t took = nanos() - start;
        during[i] = (double)atomic_exchange(&b.longest, 0) / 1000;
        wait_nanos(took);
        between[i] = (double)atomic_load(&b.longest) / 1000;
    }
    atomic_store(&b.is_over, true);
    pthread_join(thread, NULL);
    say("longest insertion during an export", median(during, EXPORTS), "us");
    say("... of 90% of exports, below", during[EXPORTS * 9 / 10], "us");
    say("longest insertion in as long without", median(between, EXPORTS), "us");
    say("... of 90% of such times, below", between[EXPORTS * 9 / 10], "us");
    pprofdelta_heap_free(b.heap);
}

int main(int argc, char **argv)
{
    bool is_quick = argc > 1 && argv[1][0] == 'q';
    measure_insert(1000);
    measure_insert(100000);
    measure_still(1000, 100);
    measure_still(is_quick ? 100000 : 1000000, 10000);
    measure_churn(500, 500, 1);
    measure_churn(500, 500, 10);
    measure_churn(500, 500, 500);
    measure_churn(500, 50000, 10);
    measure_churn(50000, 50000, 10);
    measure_full(100000, 100000, 0);
    measure_full(100000, 100000, 10);
    measure_full(100000, 10000, 10);
    measure_pause();
}
