/* The stack and the labels of a site: one block of pages.
 *
 *     pd_trace | stack[depth] | labels[labels_len] | the strings of the labels
 *
 * Sizes go in steps of 64 bytes up to 2 KiB, then in powers of two. A block keeps its size and is
 * used again for traces of that size only. So a depth that is read without the lock never leads out
 * of the block. */
#ifndef PD_HEAP_TRACE_H
#define PD_HEAP_TRACE_H

#include "base/key.h"
#include "heap/pools.h"

enum { PD_TRACE_STEPS = 32, PD_TRACE_CLASSES = PD_TRACE_STEPS + 10 };

typedef struct pd_trace {
    uint32_t depth, labels_len;
    uint32_t size_class;
    uint64_t code; /* as in the event */
    union {
        pprofdelta_label *labels;
        struct pd_trace *unused; /* the next of those let go */
    };
    pd_shared_word stack[];
} pd_trace;

typedef struct pd_traces {
    pd_pages *pages;
    struct pd_trace_chunk *chunks; /* the latest first */
    uint8_t *room, *end;           /* what is left in it */
    pd_trace *unused[PD_TRACE_CLASSES];
} pd_traces; /* zero it and set pages to begin */

void pd_traces_fini(pd_traces *traces);

/* Has the event no array that is NULL and whose length is not 0? */
static inline bool pd_trace_has_arrays(const pprofdelta_heap_event *event)
{
    return (event->stack || !event->depth) && (event->labels || !event->labels_len);
}

/* The identity of a trace: its addresses in order, its labels in any order. */
pd_key pd_trace_key(const pprofdelta_heap_event *event, size_t depth);

/* Copies the first `depth` addresses and the labels of the event. Returns NULL if it is too large
 * or there are no pages. */
pd_trace *pd_trace_copy(pd_traces *traces, const pprofdelta_heap_event *event, size_t depth);
void pd_trace_give(pd_traces *traces, pd_trace *trace);

/* Bytes that the trace takes. */
size_t pd_trace_size(const pd_trace *trace);

#endif
