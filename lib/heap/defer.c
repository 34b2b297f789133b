/* Deferred tracking: an allocation is not counted until it is completed.
 *
 *     first -> o <-> o <-> o <-> o <- last        oldest first, linked through the entries
 *
 * A deferred allocation is an entry and is found by its pointer, so a free removes it from the
 * queue. While its completion function runs it is not in the queue, but is still found: a free then
 * ends it, and it is not there when the function returns. */
#include "heap/heap.h"
#include "heap/usdt.h"

void pd_deferral_remove(pprofdelta_heap *heap, uint32_t number)
{
    pd_deferral *queue = &heap->deferral;
    pd_entry *entry = pd_entry_at(heap, number);
    *(entry->before ? &pd_entry_at(heap, entry->before)->after : &queue->first) = entry->after;
    *(entry->after ? &pd_entry_at(heap, entry->after)->before : &queue->last) = entry->before;
    queue->len--;
}

static void append(pprofdelta_heap *heap, uint32_t number)
{
    pd_deferral *queue = &heap->deferral;
    pd_entry *entry = pd_entry_at(heap, number);
    entry->before = queue->last;
    entry->after = 0;
    *(queue->last ? &pd_entry_at(heap, queue->last)->after : &queue->first) = number;
    queue->last = number;
    queue->len++;
}

int pprofdelta_heap_defer(pprofdelta_heap *heap, const pprofdelta_heap_event *event)
{
    if (!event->ptr)
        return PPROFDELTA_HEAP_DROPPED;
    pd_key key = pd_site_key(&heap->sites, event);
    pd_deferral *queue = &heap->deferral;
    int answer = PPROFDELTA_HEAP_DROPPED;
    pd_heap_enter(heap);
    uint64_t replaced = heap->stats.replaced;
    if (queue->len >= queue->max) {
        heap->stats.dropped_deferred++;
    } else {
        uint32_t number = pd_entry_make(heap, event, key, PD_ENTRY_DEFERRED);
        if (number) {
            append(heap, number);
            answer = queue->len > queue->max / 2 ? PPROFDELTA_HEAP_COMPLETE_SOON
                                                 : PPROFDELTA_HEAP_DEFERRED;
        }
    }
    bool has_replaced = heap->stats.replaced != replaced;
    pd_heap_leave(heap);
    pd_entry_probe(event, has_replaced, answer != PPROFDELTA_HEAP_DROPPED);
    return answer;
}

/* An allocation that is being completed: its entry, the life of the entry, its site, and its pointer
 * while it was deferred. */
typedef struct completing {
    uint32_t number, life, site;
    const void *ptr;
    pprofdelta_heap_event event;
} completing;

/* Takes the oldest one from the queue. Holds its site once more: what the event points to must
 * outlive a free that comes meanwhile. */
static bool take_oldest(pprofdelta_heap *heap, completing *c)
{
    pd_heap_enter(heap);
    c->number = heap->deferral.first;
    if (c->number) {
        pd_deferral_remove(heap, c->number);
        pd_entry *entry = pd_entry_at(heap, c->number);
        entry->state = PD_ENTRY_COMPLETING;
        c->life = entry->life;
        c->site = entry->site;
        c->ptr = entry->ptr;
        c->event = (pprofdelta_heap_event){.ptr = entry->ptr, .weight = entry->weight};
        pd_site *site = pd_site_at(&heap->sites, entry->site);
        site->holders++;
        pd_trace_show(site->trace, &c->event);
    }
    pd_heap_leave(heap);
    return c->number != 0;
}

static bool is_as_it_began(const pprofdelta_heap *heap, const completing *c)
{
    pprofdelta_heap_event began = {0};
    const pd_entry *entry = pd_entry_at(heap, c->number);
    pd_trace_show(pd_site_at(&heap->sites, c->site)->trace, &began);
    return c->event.ptr == entry->ptr && c->event.stack == began.stack &&
           c->event.depth == began.depth && c->event.labels == began.labels &&
           c->event.labels_len == began.labels_len && c->event.code == began.code;
}

/* The probes saw the allocation when it was deferred. They see it again only if it was forgotten, or
 * has another pointer now. */
static void probe_completed(const completing *c, bool has_replaced, bool is_tracked)
{
    bool is_same = is_tracked && c->event.ptr == c->ptr;
    if (!is_same)
        pd_usdt_ended(c->ptr);
    pd_entry_probe(&c->event, has_replaced, is_tracked && !is_same);
}

/* Counts the completed allocation, if it has not ended meanwhile. */
static bool count_completed(pprofdelta_heap *heap, const completing *c, bool is_wanted)
{
    bool is_tracked = false;
    pd_key key = pd_site_key(&heap->sites, &c->event);
    pd_heap_enter(heap);
    uint64_t replaced = heap->stats.replaced;
    pd_entry *entry = pd_entry_at(heap, c->number);
    bool is_there = entry->state == PD_ENTRY_COMPLETING && entry->life == c->life;
    if (is_there && (!is_wanted || !c->event.ptr)) {
        pd_entry_end(heap, c->number);
    } else if (is_there && is_as_it_began(heap, c)) {
        entry->weight = c->event.weight;
        pd_entry_count(heap, c->number);
        is_tracked = true;
    } else if (is_there) {
        pd_entry_end(heap, c->number);
        heap->stats.cancelled--; /* it was not cancelled: it becomes another entry */
        uint32_t number = pd_entry_make(heap, &c->event, key, PD_ENTRY_LIVE);
        if (number)
            pd_entry_count(heap, number);
        is_tracked = number != 0;
    }
    heap->stats.completed += is_tracked;
    pd_site_at(&heap->sites, c->site)->holders--;
    bool has_replaced = heap->stats.replaced != replaced;
    pd_heap_leave(heap);
    if (is_there)
        probe_completed(c, has_replaced, is_tracked);
    return is_tracked;
}

size_t pprofdelta_heap_complete(pprofdelta_heap *heap, pprofdelta_heap_completion *completion,
                                void *cookie)
{
    size_t tracked = 0;
    if (__atomic_exchange_n(&heap->deferral.is_completing, 1, __ATOMIC_ACQUIRE))
        return 0;
    pd_heap_enter(heap);
    uint32_t left = heap->deferral.len;
    pd_heap_leave(heap);
    completing c;
    for (; left && take_oldest(heap, &c); left--) {
        bool is_wanted = !completion || completion(cookie, &c.event);
        tracked += count_completed(heap, &c, is_wanted);
    }
    __atomic_store_n(&heap->deferral.is_completing, 0, __ATOMIC_RELEASE);
    return tracked;
}
