#include "heap/trace.h"

#include "profile/identity.h"

enum {
    STEP = 64,
    LARGEST_STEP = STEP * PD_TRACE_STEPS,
    LARGEST = LARGEST_STEP << (PD_TRACE_CLASSES - PD_TRACE_STEPS),
    CHUNK = 64 << 10,
    SEED_STACK = 301
};

typedef struct pd_trace_chunk {
    struct pd_trace_chunk *next;
    size_t size;
} pd_trace_chunk;

_Static_assert(sizeof(pd_trace_chunk) % _Alignof(pd_trace) == 0, "traces are aligned behind it");

static size_t class_size(uint32_t size_class)
{
    return size_class < PD_TRACE_STEPS ? (size_t)STEP * (size_class + 1)
                                       : (size_t)LARGEST_STEP << (size_class - PD_TRACE_STEPS + 1);
}

/* size is at most LARGEST. */
static uint32_t class_of(size_t size)
{
    if (size <= LARGEST_STEP)
        return (uint32_t)((size - 1) / STEP);
    uint32_t size_class = PD_TRACE_STEPS;
    while (class_size(size_class) < size)
        size_class++;
    return size_class;
}

void pd_traces_fini(pd_traces *traces)
{
    while (traces->chunks) {
        pd_trace_chunk *chunk = traces->chunks;
        traces->chunks = chunk->next;
        pd_pages_unmap(traces->pages, chunk, chunk->size);
    }
    *traces = (pd_traces){.pages = traces->pages};
}

static bool add_chunk(pd_traces *traces, size_t block)
{
    size_t size = block > CHUNK - sizeof(pd_trace_chunk) ? block + sizeof(pd_trace_chunk) : CHUNK;
    pd_trace_chunk *chunk = pd_pages_map(traces->pages, size);
    if (!chunk)
        return false;
    *chunk = (pd_trace_chunk){traces->chunks, size};
    traces->chunks = chunk;
    traces->room = (uint8_t *)(chunk + 1);
    traces->end = (uint8_t *)chunk + size;
    return true;
}

static pd_trace *take_block(pd_traces *traces, size_t size)
{
    uint32_t size_class = class_of(size);
    pd_trace *trace = traces->unused[size_class];
    if (trace) {
        traces->unused[size_class] = trace->unused;
        return trace;
    }
    size = class_size(size_class);
    if ((size_t)(traces->end - traces->room) < size && !add_chunk(traces, size))
        return NULL;
    trace = (pd_trace *)(void *)traces->room;
    traces->room += size;
    trace->size_class = size_class;
    return trace;
}

void pd_trace_give(pd_traces *traces, pd_trace *trace)
{
    trace->unused = traces->unused[trace->size_class];
    traces->unused[trace->size_class] = trace;
}

size_t pd_trace_size(const pd_trace *trace)
{
    return class_size(trace->size_class);
}

pd_key pd_trace_key(const pprofdelta_heap_event *event, size_t depth)
{
    pd_identity identity = {0};
    pd_identity_addresses(&identity, event->stack, depth * sizeof *event->stack,
                          SEED_STACK + event->code);
    for (size_t i = 0; i < event->labels_len; i++) {
        pd_label_parts parts = pd_label_parts_of(&event->labels[i]);
        pd_identity_label(&identity, pd_label_parts_key(&parts));
    }
    return pd_identity_key(&identity);
}

/* A copy with a NUL, or NULL for the empty string. */
static char *copy_text(pd_bytes text, char **to)
{
    if (!text.len)
        return NULL;
    char *copy = *to;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = 0;
    *to += text.len + 1;
    return copy;
}

static size_t labels_size(const pprofdelta_heap_event *event)
{
    size_t size = event->labels_len * sizeof *event->labels;
    for (size_t i = 0; i < event->labels_len; i++) {
        pd_label_parts label = pd_label_parts_of(&event->labels[i]);
        size += label.key.len + label.str.len + label.num_unit.len + 3;
        if (size > LARGEST)
            return size;
    }
    return size;
}

static void copy_labels(pd_trace *trace, const pprofdelta_heap_event *event)
{
    char *texts = (char *)(trace->labels + event->labels_len);
    for (size_t i = 0; i < event->labels_len; i++) {
        pd_label_parts label = pd_label_parts_of(&event->labels[i]);
        trace->labels[i] = (pprofdelta_label){
            .key = copy_text(label.key, &texts),
            .str = copy_text(label.str, &texts),
            .num = label.num,
            .num_unit = copy_text(label.num_unit, &texts),
        };
    }
}

pd_trace *pd_trace_copy(pd_traces *traces, const pprofdelta_heap_event *event, size_t depth)
{
    if (depth > LARGEST / sizeof *event->stack || event->labels_len > LARGEST / STEP)
        return NULL;
    size_t front = sizeof(pd_trace) + depth * sizeof *event->stack;
    size_t size = front + labels_size(event);
    pd_trace *trace = size > LARGEST ? NULL : take_block(traces, size);
    if (!trace)
        return NULL;
    /* Word by word: another thread may read an older trace here without the lock. */
    for (size_t i = 0; i < depth; i++)
        __atomic_store_n(&trace->stack[i], event->stack[i], __ATOMIC_RELAXED);
    __atomic_store_n(&trace->depth, (uint32_t)depth, __ATOMIC_RELAXED);
    trace->code = event->code;
    trace->labels_len = (uint32_t)event->labels_len;
    trace->labels = (pprofdelta_label *)(void *)(trace->stack + depth);
    copy_labels(trace, event);
    return trace;
}
