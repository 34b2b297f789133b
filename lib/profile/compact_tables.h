/* What the compact writer holds for tables: rows, which become columns at the end.
 *
 * Until the end, rows are appended to buffers of the writer, in the order of their output ids:
 *
 *     out              a sample: where its stack ends, where its labels end, its values
 *     stack, labels    of all samples, one after the other
 *     location_bytes   a location: where its lines end
 *     lines            of all locations
 *     function_bytes   a function
 *
 * Strings, value types, locations by content, and stacks are in the sets of compact_otlp.h, which OTLP does not
 * need at the same time. The rows stay, so that the columns can be made again when they have been moved. */
#ifndef PD_PROFILE_COMPACT_TABLES_H
#define PD_PROFILE_COMPACT_TABLES_H

#include "base/mem.h"
#include "pprofdelta_tables.h"

typedef struct pd_compact_tables {
    pd_buffer stack_of; /* of each sample: the number of its stack */
    pd_buffer first;    /* of each stack: the first sample that has it */
    pd_buffer indices;  /* of each string: its index in a dictionary, plus 1 */
    size_t places;      /* of all stacks */
    pprofdelta_stamp stamp;
    uint64_t target;        /* number of a string */
    bool is_lasting_malloc; /* set by the owner: the writer's allocator ends with it */
    pprofdelta_tables out;
} pd_compact_tables; /* zero it to begin */

#endif
