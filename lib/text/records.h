/* The two ways in which heap profiles are written as text, read record by record.
 *
 * gperftools (HEAPPROFILE, and jemalloc before version 4), rate from the header's end if it has
 * one:
 *
 *     heap profile:  20400: 41280000 [204000: 412800000] @ heapprofile
 *        400: 40000000 [  4000: 400000000] @ 0x55d2e16a 0x55d2e216
 *        in use: bytes [allocated: bytes]
 *
 * jemalloc, one block a stack, where t* sums up the threads:
 *
 *     heap_v2/524288
 *       t*: 717: 1637884 [7149: 14821897]
 *     @ 0x55d2e16a 0x55d2e216
 *       t*: 20: 1280 [220: 14080]
 *       t0: 20: 1280 [220: 14080]
 *
 * Both end in a copy of /proc/self/maps, behind the line "MAPPED_LIBRARIES:". Without that line the
 * text is cut off, and refused. */
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
    pd_bytes stack; /* return addresses as they are written, leaf first */
    size_t line;    /* where the stack stands, for messages */
    size_t off;
} pd_record;

typedef struct pd_records {
    pd_lines lines;
    bool is_jemalloc;
    bool
        repeats_inuse; /* tcmalloc's sample of the heap has no sums: it writes what is in use twice */
    bool has_maps;     /* the line behind which the maps stand was read */
    uint32_t rate;     /* one byte in so many is sampled; 1: all are */
    bool is_ahead;     /* jemalloc: the line under way begins the next block */
} pd_records;

/* Reads the header; false where this is no heap profile of these kinds. */
bool pd_records_begin(pd_records *records, pd_bytes text);

/* The next record. At the end *has_one is false, and the lines of the maps come next. */
pprofdelta_status pd_records_next(pd_records *records, pd_record *record, bool *has_one,
                                  pprofdelta_error *err);

#endif
