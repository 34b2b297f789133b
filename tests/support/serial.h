/* From a model to the bytes of a profile, in any of the ways that writers in the field choose.
 *
 * A style that is all zero writes as a plain exporter would: ids from 1, tables behind the samples,
 * nothing packed, nothing twice, nothing unused. serial_draw draws every choice from a seed; what
 * the profile says stays the same but for what the style's comments name. */
#ifndef PD_TESTS_SERIAL_H
#define PD_TESTS_SERIAL_H

#include "emit.h"
#include "model.h"

typedef enum serial_ids { IDS_SEQUENTIAL, IDS_SHUFFLED, IDS_SPARSE, IDS_HUGE } serial_ids;
/* As used: each location, with its functions, right before the first sample that has it, the header
 * in front and everything else behind, as Go writes it. */
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
    unsigned members; /* gzip members or zstd frames; 0 is 1 */
    bool shuffle_fields;
    bool shuffle_tables; /* the first mapping stays the first */
    bool shuffle_labels;
    bool shuffle_columns; /* equal (type, unit) pairs keep their order */
    bool shuffle_samples; /* changes which of two equal samples comes first */
    bool write_unused;    /* functions, locations and mappings that no sample uses */
    bool wide_splits;     /* parts of a split sample may wrap around */
    unsigned explicit_zeros, long_varints, unknown_fields, said_twice; /* percent, see emitter */
    unsigned split_samples;  /* percent of samples whose values lie in several records */
    unsigned repeat_strings; /* percent of uses of a string that add it to the table again */
    unsigned repeat_records; /* percent of functions and locations that stand there twice */
} serial_style;

serial_style serial_draw(rng *r);

/* What of that Go could have chosen, or what makes no difference to who reads it in one pass. */
serial_style serial_draw_as_go(rng *r);

/* The bytes live in a. m changes only in what model_number keeps. */
buf serial_write(arena *a, model *m, const serial_style *style);

#endif
