/* A generated process with cumulative records, and the profile of the same records.
 *
 * records_evolve changes it as gen_evolve changes a profile's process. records_feed passes all
 * records to a recorder; records_model makes a profile of them, sample by sample, so that the delta
 * of the parsed door can be compared. */
#ifndef PD_TESTS_RECORDS_H
#define PD_TESTS_RECORDS_H

#include "arena.h"
#include "model.h"
#include "pprofdelta_record.h"
#include "rng.h"

enum {
    RECORDS_DECREASE = 1 << 0,
    RECORDS_VANISH = 1 << 1,
    RECORDS_RESTART = 1 << 2,
    RECORDS_ANYTHING = (1 << 3) - 1
};

/* No two sites have the same lines. */
typedef struct records_site {
    uintptr_t pc;
    pprofdelta_frame *frames;
    size_t frames_len;
    bool is_hidden;
} records_site;

typedef struct records_row {
    size_t *stack; /* indices in sites */
    size_t depth;
    int64_t block_size;
    pprofdelta_label *labels;
    size_t labels_len;
    int64_t *values;
    bool is_gone;
} records_row;

typedef struct records {
    arena arena;
    rng rng;
    pprofdelta_recorder_options options; /* all except on_reset and first, which the test sets */
    const char *counters[PPROFDELTA_MAX_TYPES], *gauges[PPROFDELTA_MAX_TYPES]; /* "type/unit" */
    size_t counters_len, gauges_len;
    records_site *sites;
    size_t sites_len;
    records_row *rows;
    size_t rows_len, rows_cap;
    const pprofdelta_value_type *types;
    size_t types_len;
    int64_t time_nanos, period;
    size_t symbolized; /* number of calls of the callback */
} records;

void records_init(records *r, uint64_t seed);
void records_evolve(records *r, unsigned events);
void records_free(records *r);

/* Sets the types, counters and gauges by the options, for a process that was not drawn by chance.
 */
void records_use_types(records *r);

/* Begins a window and adds every record. Returns the status of the first call that failed. */
pprofdelta_status records_feed(records *r, pprofdelta_recorder *recorder,
                               const pprofdelta_recording *look, pprofdelta_error *err);

/* One record in the recorder's form. The stack is in the arena. */
pprofdelta_record records_record(records *r, size_t index);

/* The same as a cumulative profile, as a recorder without mappings makes it: a site with lines is
 * identified by them. by_address: every site has an address too, and is identified by it. */
void records_model(records *r, arena *a, bool by_address, model *m);

/* For options.symbolize, with the records as cookie. */
void records_symbolize(void *cookie, uint64_t pc, pprofdelta_symbol *out);

#endif
