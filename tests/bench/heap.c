/* What the live-heap door costs, measured where it runs: one line a figure, "name value unit".
 *
 * Medians of many runs. */
#include "pprofdelta_heap.h"

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

static size_t export(pprofdelta_heap *heap)
{
    size_t len = 0;
    pprofdelta_sink sink = {.write = swallow, .cookie = &len};
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

/* Exports behind so many pairs of so many stacks, which leave nothing in use. */
static void measure_exports(size_t live, size_t sites, size_t pairs, size_t stacks)
{
    pprofdelta_heap *heap = populate(live, sites);
    double took[RUNS];
    size_t len;
    char name[64];
    export(heap);
    for (size_t run = 0; run < RUNS; run++) {
        for (size_t i = 0; i < pairs; i++) {
            track(heap, live + i, i % stacks);
            pprofdelta_heap_untrack(heap, pointer(live + i));
        }
        took[run] = timed_export(heap, &len);
    }
    if (pairs)
        snprintf(name, sizeof name, "export after %zu churn pairs, %zu stacks", pairs, stacks);
    else
        snprintf(name, sizeof name, "export without a change, %zu live", live);
    say(name, median(took, RUNS), "us");
    pprofdelta_heap_free(heap);
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
    measure_exports(1000, 100, 0, 0);
    measure_exports(is_quick ? 100000 : 1000000, 10000, 0, 0);
    measure_exports(10000, 1000, 500, 1);
    measure_exports(10000, 1000, 500, 10);
    measure_exports(10000, 1000, 500, 500);
    measure_exports(10000, 1000, 50000, 10); /* the cost does not grow with churn */
    measure_full(100000, 100000, 0);
    measure_full(100000, 100000, 10);
    measure_full(100000, 10000, 10);
    measure_holds();
}
