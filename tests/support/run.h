/* What a test passes to the library: a sink that collects or refuses, an allocator that counts or
 * fails; and a context with its oracle, called together. */
#ifndef PD_TESTS_RUN_H
#define PD_TESTS_RUN_H

#include "compare.h"
#include "gen.h"
#include "pprofdelta_heap.h"
#include "rng.h"

/* Collects what is written. Zero all but bytes.arena to begin. */
typedef struct collector {
    buf bytes;
    size_t calls;
    size_t fail_at; /* number of the call that is refused, from 1; 0: none */
    pprofdelta_sink sink;
} collector;

pprofdelta_sink collector_sink(collector *c);

/* The same, in the collector. */
const pprofdelta_sink *collecting(collector *c);

/* Counts allocations. Zero it to begin. Nothing may be allocated at the end. */
typedef struct tracker {
    size_t calls, live, peak;
    size_t fail_at; /* number of the first call that fails, from 1; 0: none */
    bool is_alone;  /* only that call fails */
    size_t refused;
    pprofdelta_allocator allocator;
} tracker;

pprofdelta_allocator tracker_allocator(tracker *t);

/* The same, in the tracker. */
const pprofdelta_allocator *tracking(tracker *t);

/* Pages of a heap, counted as allocations. */
pprofdelta_heap_pages tracker_pages(tracker *t);

/* Options drawn by chance for a generated process. Their names belong to it. */
pprofdelta_options draw_options(rng *r, const gen *g);

/* One context and its oracle. */
typedef struct twin {
    pprofdelta *pd;
    oracle oracle;
    arena arena; /* of the last call */
    buf output;  /* of the last window that was OK */
    pprofdelta_report report;
    const expectation *expected;
} twin;

/* options and allocator may be NULL. Both are borrowed until twin_end. */
void twin_begin(twin *t, const pprofdelta_options *options, const pprofdelta_allocator *allocator);
void twin_end(twin *t);

/* Calls both and returns NULL if they agree, else the difference, valid until the next call.
 * *status is the library's. A window that is OK is pending in both. */
const char *twin_base(twin *t, buf profile, pprofdelta_status *status);
const char *twin_window(twin *t, buf profile, pprofdelta_status *status);
void twin_commit(twin *t);
void twin_abandon(twin *t);
void twin_set_started(twin *t, int64_t started_nanos);

/* For ENDS. */
static inline void context_end(pprofdelta **pd)
{
    pprofdelta_free(*pd);
}

/* A file below the folder of the test data; empty if it cannot be read. */
buf testdata_file(arena *a, const char *name);

#endif
