/* How long the live-heap door takes to export a window, in microseconds: medians of many runs; and how many bytes a
 * window with ages has. What an allocation takes, agent.py measures with the whole agent. */
#include "clock.h"
#include "pprofdelta_heap.h"

#include <stdio.h>
#include <stdlib.h>

enum { DEPTH = 24, RUNS = 101, WINDOWS = 30 };

static size_t swallowed;

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

static int swallow(void *cookie, const void *data, size_t len)
{
    (void)cookie, (void)data;
    swallowed += len;
    return 0;
}

static void fail(const char *what)
{
    fprintf(stderr, "heap: %s\n", what);
    exit(1);
}

static pprofdelta_heap *make(unsigned flags)
{
    static pprofdelta_heap *heap;
    pprofdelta_heap_options options = PPROFDELTA_HEAP_OPTIONS_INIT;
    options.max_memory = UINT64_C(4) << 30;
    options.period = 512 << 10;
    options.flags = flags;
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

static void export(pprofdelta_heap *heap, pprofdelta_heap_inuse inuse)
{
    pprofdelta_sink sink = {.write = swallow};
    if (pprofdelta_heap_begin(heap, 1, NULL, NULL) != PPROFDELTA_OK ||
        pprofdelta_heap_write(heap, inuse, &sink, NULL) != PPROFDELTA_OK)
        fail("no export");
    pprofdelta_heap_commit(heap);
}

/* Exports of live allocations of so many sites, behind so many pairs of so many stacks, which leave nothing in use. */
static void measure_exports(size_t live, size_t sites, size_t pairs, size_t stacks)
{
    pprofdelta_heap *heap = make(PPROFDELTA_HEAP_AGES);
    double took[RUNS];
    for (size_t i = 0; i < live; i++)
        track(heap, i, i % sites);
    export(heap, PPROFDELTA_HEAP_CHANGES);
    for (size_t run = 0; run < RUNS; run++) {
        for (size_t i = 0; i < pairs; i++) {
            track(heap, live + i, i % stacks);
            pprofdelta_heap_untrack(heap, pointer(live + i));
        }
        int64_t start = now(CLOCK_MONOTONIC);
        export(heap, PPROFDELTA_HEAP_CHANGES);
        took[run] = (double)(now(CLOCK_MONOTONIC) - start) / 1000;
    }
    printf("%zu live, after %zu pairs of %zu stacks: %.1f us\n", live, pairs, stacks,
           median(took, RUNS));
    fflush(stdout);
    pprofdelta_heap_free(heap);
}

/* The bytes of a window in which one of `life` of the live allocations ends, at random, and one begins for it. */
static size_t count_bytes(unsigned flags, size_t live, size_t sites, int life)
{
    pprofdelta_heap *heap = make(flags);
    srand(1);
    for (size_t window = 0; window < WINDOWS; window++) {
        for (size_t i = 0; i < live; i++) {
            if (window && rand() % life)
                continue;
            pprofdelta_heap_untrack(heap, pointer(i));
            track(heap, i, (size_t)rand() % sites);
        }
        swallowed = 0;
        export(heap, PPROFDELTA_HEAP_SNAPSHOT);
    }
    pprofdelta_heap_free(heap);
    return swallowed;
}

static void measure_bytes(size_t live, size_t sites, int life)
{
    size_t plain = count_bytes(0, live, sites, life);
    size_t aged = count_bytes(PPROFDELTA_HEAP_AGES, live, sites, life);
    printf("%zu live of %zu stacks, one of %d ends in a window: %zu bytes, with ages %.2f times\n",
           live, sites, life, plain, (double)aged / (double)plain);
    fflush(stdout);
}

int main(void)
{
    measure_exports(1000, 100, 0, 0);
    measure_exports(1000000, 10000, 0, 0);
    measure_exports(10000, 1000, 500, 10);
    measure_exports(10000, 1000, 500, 500);
    measure_exports(10000, 1000, 50000, 10); /* the cost does not grow with churn */
    measure_bytes(100000, 2000, 20);
    measure_bytes(100000, 2000, 100);
    measure_bytes(100000, 10000, 20);
    measure_bytes(100000, 60000, 20);
}
