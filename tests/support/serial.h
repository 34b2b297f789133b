/* Encodes a model as a profile, in all the ways in which real encoders do it.
 *
 * A style of zeros is that of a plain exporter: ids from 1, tables after the samples, nothing
 * packed, nothing twice, nothing unused. serial_draw draws a style from a seed. The content of the
 * profile does not depend on the style, with the exceptions noted at its members. */
#ifndef PD_TESTS_SERIAL_H
#define PD_TESTS_SERIAL_H

#include "emit.h"
#include "model.h"

/* IDS_AS_USED: from 1, in the order in which samples use locations, and locations functions. So are the tables. */
typedef enum serial_ids {
    IDS_SEQUENTIAL,
    IDS_SHUFFLED,
    IDS_SPARSE,
    IDS_HUGE,
    IDS_AS_USED
} serial_ids;
/* TABLES_AS_USED is Go's order: the header, then each location, with its functions, before the
 * first sample that uses it, then everything else. */
typedef enum serial_tables {
    TABLES_AFTER,
    TABLES_BEFORE,
    TABLES_MIXED,
    TABLES_AS_USED
} serial_tables;
typedef enum serial_pack { PACK_PLAIN, PACK_GZIP, PACK_ZSTD } serial_pack;

typedef struct serial_style {
    uint64_t seed;
    serial_ids ids;
    serial_tables tables;
    emit_packing packing;
    serial_pack pack;
    unsigned members; /* gzip members or zstd frames; 0 means 1 */
    bool shuffle_fields;
    bool shuffle_tables; /* the first mapping stays first */
    bool shuffle_labels;
    bool shuffle_columns; /* equal (type, unit) pairs keep their order */
    bool shuffle_samples; /* changes which of two equal samples is first */
    bool write_unused;    /* functions, locations and mappings that no sample uses */
    bool wide_splits;     /* the values of a split sample may be below zero, and far apart */
    unsigned explicit_zeros, long_varints, unknown_fields, said_twice; /* percent, see emitter */
    unsigned split_samples;  /* percent of samples that are split into several records */
    unsigned repeat_strings; /* percent of uses of a string that add it to the table again */
    unsigned repeat_records; /* percent of functions and locations that are written twice */
} serial_style;

serial_style serial_draw(rng *r);

/* The bytes are in a. Of m only what model_number sets is changed. */
buf serial_write(arena *a, model *m, const serial_style *style);

#endif
