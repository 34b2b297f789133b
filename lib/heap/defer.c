/* Deferred tracking: an allocation is not counted until it is completed.
 *
 *     first -> o <-> o <-> o <-> o <- last        oldest first, linked through the entries
 *
 * A deferred allocation is an entry and is found by its pointer, so a free removes it from the
 * queue. While its completion function runs it is not in the queue, but is still found: a free then
 * ends it, and it is not there when the function returns. */
#define PPROFDELTA_EXPERIMENTAL
#include "heap/heap.h"

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
    if (!event || !event->ptr)
        return PPROFDELTA_HEAP_DROPPED;
    pd_key key = pd_site_key(&heap->sites, event);
    pd_deferral *queue = &heap->deferral;
    int answer = PPROFDELTA_HEAP_DROPPED;
    if (!pd_heap_enter(heap))
        return answer;
    if (!pd_event_admit(heap, event)) {
        answer = PPROFDELTA_HEAP_DROPPED;
    } else if (queue->len >= queue->max) {
        heap->stats.dropped_deferred++;
    } else {
        uint32_t number = pd_entry_make(heap, event, key, PD_ENTRY_DEFERRED);
        if (number) {
            append(heap, number);
            answer = queue->len > queue->max / 2 ? PPROFDELTA_HEAP_COMPLETE_SOON
                                                 : PPROFDELTA_HEAP_DEFERRED;
        }
    }
    pd_heap_leave(heap);
    return answer;
}

/* An allocation that is being completed: its entry, the life of the entry, and its site. */
typedef struct completing {
    uint32_t number, life, site;
    pprofdelta_heap_event event;
} completing;

/* Takes the oldest one from the queue. Holds its site once more: what the event points to must
 * outlive a free that comes meanwhile. */
static bool take_oldest(pprofdelta_heap *heap, completing *c)
{
    if (!pd_heap_enter(heap))
        return false;
    c->number = heap->deferral.first;
    if (c->number) {
        pd_deferral_remove(heap, c->number);
        pd_entry *entry = pd_entry_at(heap, c->number);
        entry->state = PD_ENTRY_COMPLETING;
        c->life = entry->life;
        c->site = entry->site;
        c->event = (pprofdelta_heap_event){.ptr = entry->ptr, .weight = entry->weight};
        pd_site *site = pd_site_at(&heap->sites, entry->site);
        site->holders++;
        pd_trace_show(site->trace, &c->event);
    }
    pd_heap_leave(heap);
    return c->number != 0;
}

/* Counts the completed allocation, if it has not ended meanwhile. */
static bool count_completed(pprofdelta_heap *heap, const completing *c, bool is_wanted)
{
    bool is_tracked = false;
    pd_key key = pd_site_key(&heap->sites, &c->event);
    if (!pd_heap_enter(heap))
        return false;
    const pd_entry *entry = pd_entry_at(heap, c->number);
    bool is_there = entry->state == PD_ENTRY_COMPLETING && entry->life == c->life;
    if (is_there && is_wanted && c->event.ptr)
        is_tracked = pd_entry_complete(heap, c->number, &c->event, key);
    else if (is_there)
        pd_entry_end(heap, c->number);
    heap->stats.completed += is_tracked;
    pd_site_at(&heap->sites, c->site)->holders--;
    pd_heap_leave(heap);
    return is_tracked;
}

size_t pprofdelta_heap_complete(pprofdelta_heap *heap, pprofdelta_heap_completion *completion,
                                void *cookie)
{
    size_t tracked = 0;
    uint32_t left = 0;
    if (__atomic_exchange_n(&heap->deferral.is_completing, 1, __ATOMIC_ACQUIRE))
        return 0;
    if (pd_heap_enter(heap)) {
        left = heap->deferral.len;
        pd_heap_leave(heap);
    }
    completing c;
    for (; left && take_oldest(heap, &c); left--) {
        bool is_wanted = !completion || completion(cookie, &c.event);
        tracked += count_completed(heap, &c, is_wanted);
    }
    __atomic_store_n(&heap->deferral.is_completing, 0, __ATOMIC_RELEASE);
    return tracked;
}
