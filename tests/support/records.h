/* A process with cumulative records, and the profile of the same records, sample by sample. */
#ifndef PD_TESTS_RECORDS_H
#define PD_TESTS_RECORDS_H

#include "arena.h"
#include "model.h"
#include "pprofdelta_record.h"

/* No two sites have the same lines. */
typedef struct records_site {
    uint64_t pc;
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
} records;

void records_free(records *r);

/* Sets the types, counters and gauges by the options. */
void records_use_types(records *r);

/* One record in the recorder's form. The stack is in the arena. */
pprofdelta_record records_record(records *r, size_t index);

/* The same as a cumulative profile. Every site has an address and is identified by it: what a site is
 * called may change. */
void records_model(records *r, arena *a, model *m);

/* For options.symbolize, with the records as cookie. */
void records_symbolize(void *cookie, uint64_t pc, pprofdelta_symbol *out);

#endif
