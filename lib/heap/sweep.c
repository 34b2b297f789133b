/* Sweep: asks which allocations are alive. It asks for a few at a time, without the lock. An entry
 * is untracked only if it still has the life for which was asked. */
#include "heap/heap.h"

enum { AT_ONCE = 64 };

typedef struct asked {
    uint32_t number, life;
    const void *ptr;
} asked;

/* The next live entries, at most `most`. */
static size_t next_live(pprofdelta_heap *heap, asked *out, size_t most, bool *done)
{
    size_t len = 0;
    *done = true;
    if (!pd_heap_enter(heap))
        return 0;
    uint32_t number = heap->sweep_next;
    /* Limits the steps, so that many unused entries do not mean a long time with the lock. */
    for (int steps = 0; steps < AT_ONCE * 4 && len < most && number <= heap->entries.made;
         steps++) {
        const pd_entry *entry = pd_entry_at(heap, number);
        if (entry->state == PD_ENTRY_LIVE)
            out[len++] = (asked){number, entry->life, entry->ptr};
        number++;
    }
    *done = number > heap->entries.made;
    heap->sweep_next = *done ? 1 : number;
    pd_heap_leave(heap);
    return len;
}

static bool end_if_same(pprofdelta_heap *heap, const asked *dead)
{
    if (!pd_heap_enter(heap))
        return false;
    const pd_entry *entry = pd_entry_at(heap, dead->number);
    bool is_same = entry->state == PD_ENTRY_LIVE && entry->life == dead->life;
    if (is_same)
        pd_entry_end(heap, dead->number);
    heap->stats.swept += is_same;
    pd_heap_leave(heap);
    return is_same;
}

size_t pprofdelta_heap_sweep(pprofdelta_heap *heap, size_t most, pprofdelta_heap_alive *alive,
                             void *cookie, int *done)
{
    asked batch[AT_ONCE];
    size_t ended = 0;
    bool is_done = false;
    if (!alive || __atomic_exchange_n(&heap->is_sweeping, 1, __ATOMIC_ACQUIRE))
        return 0;
    while (most && !is_done) {
        size_t len = next_live(heap, batch, most < AT_ONCE ? most : AT_ONCE, &is_done);
        for (size_t i = 0; i < len; i++)
            if (!alive(cookie, batch[i].ptr))
                ended += end_if_same(heap, &batch[i]);
        most -= len;
    }
    __atomic_store_n(&heap->is_sweeping, 0, __ATOMIC_RELEASE);
    if (done)
        *done = is_done;
    return ended;
}
