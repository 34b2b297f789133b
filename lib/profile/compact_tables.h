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

/* The columns, each before those inside it: its name, its format as in pd_arrow_kind, whose rows it has, how many are
 * inside it, and whether it is nullable. TARGET to RESTART are filled at the end. SAMPLE_VALUES: one for each type. */
#define PD_COLUMNS(X)                                                                              \
    X(FUNCTIONS, "", "+s", FUNCTIONS, 5, false)                                                    \
    X(FUNCTION_ID, "function_id", "l", FUNCTIONS, 0, false)                                        \
    X(FUNCTION_NAME, "name", "u", FUNCTIONS, 0, false)                                             \
    X(FUNCTION_SYSTEM_NAME, "system_name", "u", FUNCTIONS, 0, false)                               \
    X(FUNCTION_FILE, "file", "i", FUNCTIONS, 0, false)                                             \
    X(FUNCTION_START, "start_line", "l", FUNCTIONS, 0, false)                                      \
    X(LOCATIONS, "", "+s", LOCATIONS, 5, false)                                                    \
    X(LOCATION_ID, "location_id", "l", LOCATIONS, 0, false)                                        \
    X(LOCATION_BUILD_ID, "build_id", "i", LOCATIONS, 0, false)                                     \
    X(LOCATION_FILE, "file", "i", LOCATIONS, 0, false)                                             \
    X(LOCATION_ADDRESS, "address", "L", LOCATIONS, 0, false)                                       \
    X(LOCATION_LINES, "lines", "+l", LOCATIONS, 1, false)                                          \
    X(LINES, "item", "+s", LINES, 3, false)                                                        \
    X(LINE_FUNCTION, "function_id", "l", LINES, 0, false)                                          \
    X(LINE_NUMBER, "line", "l", LINES, 0, false)                                                   \
    X(LINE_INLINED, "inlined", "b", LINES, 0, false)                                               \
    X(STACKS, "", "+s", STACKS, 2, false)                                                          \
    X(STACK_ID, "stack_id", "l", STACKS, 0, false)                                                 \
    X(STACK_ENDS, "location_ids", "+l", STACKS, 1, false)                                          \
    X(STACK_LOCATIONS, "item", "l", PLACES, 0, false)                                              \
    X(SAMPLE_TARGET, "target", "i", SAMPLES, 0, false)                                             \
    X(SAMPLE_FROM, "from", "tsn:UTC", SAMPLES, 0, true)                                            \
    X(SAMPLE_TIME, "time", "tsn:UTC", SAMPLES, 0, true)                                            \
    X(SAMPLE_SEQUENCE, "sequence", "l", SAMPLES, 0, true)                                          \
    X(SAMPLE_ATTEMPT, "attempt", "l", SAMPLES, 0, true)                                            \
    X(SAMPLE_RESTART, "restart", "b", SAMPLES, 0, false)                                           \
    X(SAMPLE_STACK, "stack_id", "l", SAMPLES, 0, false)                                            \
    X(SAMPLE_LABELS, "labels", "+l", SAMPLES, 1, false)                                            \
    X(LABELS, "item", "+s", LABELS, 4, false)                                                      \
    X(LABEL_KEY, "key", "i", LABELS, 0, false)                                                     \
    X(LABEL_STR, "str", "i", LABELS, 0, true)                                                      \
    X(LABEL_NUM, "num", "l", LABELS, 0, true)                                                      \
    X(LABEL_UNIT, "unit", "i", LABELS, 0, true)                                                    \
    X(SAMPLE_VALUES, "", "l", SAMPLES, 0, false)

#define PD_COLUMN_NAME(column, ...) PD_COLUMN_##column,
enum { PD_COLUMNS(PD_COLUMN_NAME) };

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
    bool is_lasting_malloc; /* set by the owner: the writer's allocator ends with it */
    pprofdelta_tables out;
} pd_compact_tables; /* zero it to begin */

#endif
