/* What the compact writer holds for tables.
 *
 * The columns are appended to as functions, locations and samples come, and are shared with the tables (arrow.h). Text is
 * made at the end, of numbers of strings. Besides, in buffers of the writer:
 *
 *     function_bytes   the keys of the functions
 *     lines            of the location that is being added
 *
 * Strings, value types, locations by content, and stacks are in the sets of compact_otlp.h, which OTLP does not
 * need at the same time. Everything stays, so that the tables can be made again when they have been moved. */
#ifndef PD_PROFILE_COMPACT_TABLES_H
#define PD_PROFILE_COMPACT_TABLES_H

#include "base/key.h"
#include "profile/arrow.h"

/* The columns, each before those inside it. */
enum {
    PD_COLUMN_FUNCTIONS,
    PD_COLUMN_FUNCTION_ID,
    PD_COLUMN_FUNCTION_NAME,
    PD_COLUMN_FUNCTION_SYSTEM_NAME,
    PD_COLUMN_FUNCTION_FILE,
    PD_COLUMN_FUNCTION_START,
    PD_COLUMN_LOCATIONS,
    PD_COLUMN_LOCATION_ID,
    PD_COLUMN_LOCATION_BUILD_ID,
    PD_COLUMN_LOCATION_FILE,
    PD_COLUMN_LOCATION_ADDRESS,
    PD_COLUMN_LOCATION_LINES,
    PD_COLUMN_LINES,
    PD_COLUMN_LINE_FUNCTION,
    PD_COLUMN_LINE_NUMBER,
    PD_COLUMN_LINE_INLINED,
    PD_COLUMN_STACKS,
    PD_COLUMN_STACK_ID,
    PD_COLUMN_STACK_ENDS,
    PD_COLUMN_STACK_LOCATIONS,
    PD_COLUMN_SAMPLE_TARGET, /* these six are filled at the end */
    PD_COLUMN_SAMPLE_FROM,
    PD_COLUMN_SAMPLE_TIME,
    PD_COLUMN_SAMPLE_SEQUENCE,
    PD_COLUMN_SAMPLE_ATTEMPT,
    PD_COLUMN_SAMPLE_RESTART,
    PD_COLUMN_SAMPLE_STACK,
    PD_COLUMN_SAMPLE_LABELS,
    PD_COLUMN_LABELS,
    PD_COLUMN_LABEL_KEY,
    PD_COLUMN_LABEL_STR,
    PD_COLUMN_LABEL_NUM,
    PD_COLUMN_LABEL_UNIT,
    PD_COLUMN_SAMPLE_VALUES, /* one for each type */
};

/* The rows that columns have. */
enum {
    PD_ROWS_FUNCTIONS,
    PD_ROWS_LOCATIONS,
    PD_ROWS_LINES,
    PD_ROWS_STACKS,
    PD_ROWS_PLACES, /* of PD_COLUMN_STACK_LOCATIONS */
    PD_ROWS_SAMPLES,
    PD_ROWS_LABELS,
    PD_ROWS
};

typedef struct pd_compact_rows {
    size_t len, cap;
} pd_compact_rows;

/* The strings of a column: of text, those of its rows; of a dictionary, in the order of first use. */
typedef struct pd_compact_dictionary {
    pd_buffer indices; /* uint32_t by number of the string: its index plus 1; 0: it is not there */
    pd_buffer strings; /* uint32_t: their numbers */
} pd_compact_dictionary;

typedef struct pd_compact_tables {
    pd_arrow_values columns[PD_COLUMN_SAMPLE_VALUES + PPROFDELTA_MAX_TYPES];
    pd_compact_dictionary dictionaries[PD_COLUMN_SAMPLE_VALUES];
    pd_compact_rows rows[PD_ROWS];
    pd_key pending; /* the stack of the last sample, behind the others' locations */
    size_t pending_len;
    bool has_pending;
    bool is_lasting_malloc; /* set by the owner: the writer's allocator ends with it */
    pprofdelta_tables out;
} pd_compact_tables; /* zero it to begin */

#endif
