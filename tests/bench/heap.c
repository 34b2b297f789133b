/* How long the live-heap door takes to export a window, in microseconds: medians of many runs. What an allocation
 * takes, agent.py measures with the whole agent. */
#include "pprofdelta_heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { DEPTH = 24, RUNS = 101 };

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

static int swallow(void *cookie, const void *data, size_t len)
{
    (void)cookie, (void)data, (void)len;
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
    options.flags = PPROFDELTA_HEAP_AGES;
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

static void export(pprofdelta_heap *heap)
{
    pprofdelta_sink sink = {.write = swallow};
    if (pprofdelta_heap_begin(heap, 1, NULL, NULL) != PPROFDELTA_OK ||
        pprofdelta_heap_write(heap, PPROFDELTA_HEAP_CHANGES, &sink, NULL) != PPROFDELTA_OK)
        fail("no export");
    pprofdelta_heap_commit(heap);
}

/* live allocations over so many stacks. */
static pprofdelta_heap *populate(size_t live, size_t sites)
{
    pprofdelta_heap *heap = make();
    for (size_t i = 0; i < live; i++)
        track(heap, i, i % sites);
    return heap;
}

/* Exports behind so many pairs of so many stacks, which leave nothing in use. */
static void measure_exports(size_t live, size_t sites, size_t pairs, size_t stacks)
{
    pprofdelta_heap *heap = populate(live, sites);
    double took[RUNS];
    export(heap);
    for (size_t run = 0; run < RUNS; run++) {
        for (size_t i = 0; i < pairs; i++) {
            track(heap, live + i, i % stacks);
            pprofdelta_heap_untrack(heap, pointer(live + i));
        }
        uint64_t start = nanos();
        export(heap);
        took[run] = (double)(nanos() - start) / 1000;
    }
    printf("%zu live, after %zu pairs of %zu stacks: %.1f us\n", live, pairs, stacks,
           median(took, RUNS));
    fflush(stdout);
    pprofdelta_heap_free(heap);
}

int main(void)
{
    measure_exports(1000, 100, 0, 0);
    measure_exports(1000000, 10000, 0, 0);
    measure_exports(10000, 1000, 500, 10);
    measure_exports(10000, 1000, 500, 500);
    measure_exports(10000, 1000, 50000, 10); /* the cost does not grow with churn */
}
