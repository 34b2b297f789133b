/* Reads the two text formats of heap profiles, stack by stack.
 *
 * gperftools (HEAPPROFILE, and jemalloc before version 4). The rate is at the end of the header, if
 * there is one:
 *
 *     heap profile:  20400: 41280000 [204000: 412800000] @ heapprofile
 *        400: 40000000 [  4000: 400000000] @ 0x55d2e16a 0x55d2e216
 *        in use: bytes [allocated: bytes]
 *
 * jemalloc, one block for each stack. The line "t*" has the sum of the threads:
 *
 *     heap_v2/524288
 *       t*: 717: 1637884 [7149: 14821897]
 *     @ 0x55d2e16a 0x55d2e216
 *       t*: 20: 1280 [220: 14080]
 *       t0: 20: 1280 [220: 14080]
 *
 * Both end with a copy of /proc/self/maps after the line "MAPPED_LIBRARIES:". A text without that
 * line is truncated and refused. */
#ifndef PD_TEXT_RECORDS_H
#define PD_TEXT_RECORDS_H

#include "text/lines.h"

enum {
    PD_TEXT_ALLOC_OBJECTS,
    PD_TEXT_ALLOC_SPACE,
    PD_TEXT_INUSE_OBJECTS,
    PD_TEXT_INUSE_SPACE,
    PD_TEXT_VALUES
};

typedef struct pd_record {
    int64_t values[PD_TEXT_VALUES];
    pd_bytes stack; /* return addresses as text, leaf first */
    size_t line;    /* line and offset of the stack, for messages */
    size_t off;
} pd_record;

typedef struct pd_records {
    pd_lines lines;
    bool is_jemalloc;
    bool repeats_inuse; /* tcmalloc's heap sample: no sums, the values in use twice */
    bool has_maps;      /* the line before the maps was read */
    uint32_t rate;      /* one byte in `rate` is sampled; 1: all are */
    bool is_ahead;      /* jemalloc: the current line begins the next block */
} pd_records;

/* Reads the header. Returns false if the text is not in one of these formats. */
bool pd_records_begin(pd_records *records, pd_bytes text);

/* Reads the next stack. At the end *has_one is false and the next lines are the maps. */
pprofdelta_status pd_records_next(pd_records *records, pd_record *record, bool *has_one,
                                  pprofdelta_error *err);

#endif
