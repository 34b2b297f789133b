/* What the compact writer holds for tables.
 *
 * The long columns, those of samples, labels and stacks, are appended to as the samples come, and are shared with
 * the tables (arrow.h). The rest is rows in buffers of the writer, of which columns are made at the end:
 *
 *     location_bytes   a location: where its lines end
 *     lines            of all locations
 *     function_bytes   a function
 *
 * Strings, value types, locations by content, and stacks are in the sets of compact_otlp.h, which OTLP does not
 * need at the same time. Everything stays, so that the tables can be made again when they have been moved. */
#ifndef PD_PROFILE_COMPACT_TABLES_H
#define PD_PROFILE_COMPACT_TABLES_H

#include "base/key.h"
#include "profile/arrow.h"

/* The columns that are appended to. Those of stacks, of labels and of samples stand together. */
enum {
    PD_COLUMN_STACK_LOCATIONS,
    PD_COLUMN_STACK_ID,
    PD_COLUMN_STACK_ENDS, /* offsets, from 0, as PD_COLUMN_SAMPLE_LABELS */
    PD_COLUMN_LABEL_KEY,  /* the first with a dictionary */
    PD_COLUMN_LABEL_STR,
    PD_COLUMN_LABEL_UNIT,
    PD_COLUMN_LABEL_NUM,
    PD_COLUMN_SAMPLE_TARGET, /* these five are filled at the end */
    PD_COLUMN_SAMPLE_FROM,
    PD_COLUMN_SAMPLE_TIME,
    PD_COLUMN_SAMPLE_SEQUENCE,
    PD_COLUMN_SAMPLE_ATTEMPT,
    PD_COLUMN_SAMPLE_STACK,
    PD_COLUMN_SAMPLE_LABELS,
    PD_COLUMN_SAMPLE_VALUES, /* one for each type */
};

/* Columns that get a row together. */
typedef struct pd_compact_rows {
    size_t len, cap;
} pd_compact_rows;

/* Strings in the order of first use. */
typedef struct pd_compact_dictionary {
    pd_buffer indices; /* uint32_t by number of the string: its index plus 1; 0: it is not there */
    pd_buffer strings; /* uint64_t by index: their numbers */
} pd_compact_dictionary;

enum { PD_DICTIONARIES = 3 }; /* of the labels; one more is for columns that are made of rows */

typedef struct pd_compact_tables {
    pd_arrow_values columns[PD_COLUMN_SAMPLE_VALUES + PPROFDELTA_MAX_TYPES];
    pd_compact_dictionary dictionaries[PD_DICTIONARIES + 1];
    pd_compact_rows stacks, labels, samples;
    size_t places;          /* the rows of PD_COLUMN_STACK_LOCATIONS */
    pd_buffer location_ids; /* uint64_t by output id */
    pd_key pending;         /* the stack of the last sample, behind the others' locations */
    size_t pending_len;
    bool has_pending;
    pprofdelta_stamp stamp;
    uint64_t target;        /* number of a string */
    bool is_lasting_malloc; /* set by the owner: the writer's allocator ends with it */
    pprofdelta_tables out;
} pd_compact_tables; /* zero it to begin */

#endif
