/* What a test hands to the library: a sink that collects or refuses, an allocator that counts or
 * fails; and the whole way of one call, held against the oracle. */
#ifndef PD_TESTS_RUN_H
#define PD_TESTS_RUN_H

#include "compare.h"
#include "gen.h"
#include "rng.h"

/* Collects what is written. Zero it but for bytes.arena to begin. */
typedef struct collector {
    buf bytes;
    size_t calls;
    size_t fail_at; /* the call that is refused, from 1; 0: none */
} collector;

pprofdelta_sink collector_sink(collector *c);

/* Counts what is allocated. Zero it to begin; nothing may be live at the end. */
typedef struct tracker {
    size_t calls, live, peak;
    size_t fail_at; /* the call that fails, from 1, and all behind it; 0: none */
    bool is_alone;  /* those behind it do not */
    size_t refused;
} tracker;

pprofdelta_allocator tracker_allocator(tracker *t);

/* Options that chance chose, for a made-up process; its names stay with it. */
pprofdelta_options draw_options(rng *r, const gen *g);

/* One context beside its oracle. */
typedef struct twin {
    pprofdelta *pd;
    oracle oracle;
    arena arena; /* of the last call */
    buf output;  /* of the last window that was OK */
    pprofdelta_report report;
    const expectation *expected;
} twin;

/* options and allocator may be NULL; both are borrowed until twin_end. */
void twin_begin(twin *t, const pprofdelta_options *options, const pprofdelta_allocator *allocator);
void twin_end(twin *t);

/* Feeds both and returns NULL where they agree, else what does not, lasting until the next call.
 * *status is the library's. A window that is OK is pending in both. */
const char *twin_base(twin *t, buf profile, pprofdelta_status *status);
const char *twin_window(twin *t, buf profile, pprofdelta_status *status);
void twin_commit(twin *t);
void twin_abandon(twin *t);
void twin_set_started(twin *t, int64_t started_nanos);

#endif
