/* Entries: an allocation from track to untrack, with realloc and deferral. And the filter: the number of entries
 * whose allocations begin in each KiB.
 *
 * The lock is held when the filter is written; readers do not hold it. A byte that reaches 255 keeps
 * that value: lookups there take longer, but stay correct. */
#define PPROFDELTA_EXPERIMENTAL
#include "heap/heap.h"
#include "heap/usdt.h"

#include <time.h>

static uint32_t hash_of(const void *ptr)
{
    return (uint32_t)((uint64_t)(uintptr_t)ptr * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* The number of the entry with this pointer, or 0. */
static uint32_t find_entry(const pprofdelta_heap *heap, const void *ptr)
{
    uint32_t number = *pd_chains_head(&heap->index, hash_of(ptr));
    while (number) {
        const pd_entry *entry = pd_entry_at(heap, number);
        if (entry->ptr == ptr)
            return number;
        number = entry->link.next;
    }
    return 0;
}

static uint8_t *filter_byte(pprofdelta_heap_filter *filter, const void *ptr)
{
    return &filter->at[(uint32_t)(uintptr_t)ptr >> PPROFDELTA_HEAP_GRANULE_BITS];
}

static void filter_count(pprofdelta_heap_filter *filter, const void *ptr, int more)
{
    uint8_t *byte = filter_byte(filter, ptr);
    if (*byte != UINT8_MAX)
        __atomic_store_n(byte, (uint8_t)(*byte + more), __ATOMIC_RELAXED);
}

/* From here on the entry is found by its pointer. The probes report it; size is as in the event, weight that
 * of the block. */
static void index_add(pprofdelta_heap *heap, uint32_t number, size_t size,
                      const pprofdelta_weight *weight)
{
    const pd_entry *entry = pd_entry_at(heap, number);
    pd_chains_add(&heap->index, number, hash_of(entry->ptr));
    filter_count(heap->filter, entry->ptr, 1);
    pd_usdt_began(entry->ptr, size, weight);
}

/* From here on the allocator may give the pointer to another thread. */
static void index_remove(pprofdelta_heap *heap, uint32_t number)
{
    const void *ptr = pd_entry_at(heap, number)->ptr;
    pd_chains_remove(&heap->index, number);
    filter_count(heap->filter, ptr, -1);
    pd_usdt_ended(ptr);
}

void pd_entries_clear_filter(pprofdelta_heap *heap)
{
    for (uint32_t number = 1; number <= heap->entries.made; number++) {
        const pd_entry *entry = pd_entry_at(heap, number);
        if (entry->state == PD_ENTRY_LIVE || entry->state >= PD_ENTRY_DEFERRED)
            __atomic_store_n(filter_byte(heap->filter, entry->ptr), 0, __ATOMIC_RELAXED);
    }
}

void pd_entries_rejoin(pprofdelta_heap *heap)
{
    enum { AT_ONCE = 256 };
    if (!pd_heap_enter(heap))
        return;
    uint32_t window = heap->sites.window;
    for (uint32_t number = 1; number <= heap->entries.made; number++) {
        pd_entry *entry = pd_entry_at(heap, number);
        if (pd_entry_is_counted(entry) && entry->born > window)
            entry->born = window;
        if (number % AT_ONCE == 0 && !pd_heap_rest(heap))
            return;
    }
    pd_heap_leave(heap);
}

/* ---- deferred allocations --------------------------------------------------------------------- */

/* An allocation is not counted until it is completed.
 *
 *     first -> o <-> o <-> o <-> o <- last        oldest first, linked through the entries
 *
 * A deferred allocation is an entry and is found by its pointer, so a free removes it from the
 * queue. While its completion function runs it is not in the queue, but is still found: a free then
 * ends it, and it is not there when the function returns. */
static void remove_deferred(pprofdelta_heap *heap, uint32_t number)
{
    pd_deferral *queue = &heap->deferral;
    pd_entry *entry = pd_entry_at(heap, number);
    *(entry->before ? &pd_entry_at(heap, entry->before)->after : &queue->first) = entry->after;
    *(entry->after ? &pd_entry_at(heap, entry->after)->before : &queue->last) = entry->before;
    queue->len--;
}

static void add_deferred(pprofdelta_heap *heap, uint32_t number)
{
    pd_deferral *queue = &heap->deferral;
    pd_entry *entry = pd_entry_at(heap, number);
    entry->before = queue->last;
    entry->after = 0;
    *(queue->last ? &pd_entry_at(heap, queue->last)->after : &queue->first) = number;
    queue->last = number;
    queue->len++;
}

void pd_peak_begin(pprofdelta_heap *heap, int64_t nanos)
{
    pprofdelta_heap_stats *stats = &heap->stats;
    heap->sites.peak++;
    stats->peak_objects = stats->inuse_objects;
    stats->peak_bytes = stats->inuse_bytes;
    stats->peak_nanos = nanos;
    heap->sites.peak_seal = pd_peak_seal(heap);
}

/* ---- counting -------------------------------------------------------------------------------- */

static int64_t coarse_now(void)
{
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void count_begin(pprofdelta_heap *heap, uint32_t site, const pprofdelta_weight *weight)
{
    pd_sites_write(&heap->sites, site);
    pd_site_begins(&heap->sites, site, weight);
    pd_weight_add(&heap->allocated, weight);
    pd_heap_add(&heap->stats.inuse_objects, weight->objects);
    pd_heap_add(&heap->stats.inuse_bytes, weight->bytes);
    if (heap->stats.inuse_bytes > heap->stats.peak_bytes)
        pd_peak_begin(heap, coarse_now());
    pd_sites_write(&heap->sites, 0);
}

/* Counts it as alive. */
static void count_entry(pprofdelta_heap *heap, uint32_t number)
{
    pd_entry *entry = pd_entry_at(heap, number);
    entry->state = PD_ENTRY_LIVE;
    entry->born = heap->sites.window;
    entry->more = 0;
    heap->stats.live++;
    heap->stats.tracked++;
    count_begin(heap, entry->site, &entry->weight);
}

/* Some of an entry's weight, or all, is not in use any more. */
static void count_end(pprofdelta_heap *heap, const pd_entry *entry, const pprofdelta_weight *weight)
{
    pd_sites_write(&heap->sites, entry->site);
    pd_site_ends(&heap->sites, entry->site, weight, entry->born);
    pd_sites_write(&heap->sites, 0);
    pd_heap_add(&heap->stats.inuse_objects, (int64_t) - (uint64_t)weight->objects);
    pd_heap_add(&heap->stats.inuse_bytes, (int64_t) - (uint64_t)weight->bytes);
}

static void release_entry(pprofdelta_heap *heap, uint32_t number)
{
    pd_entry *entry = pd_entry_at(heap, number);
    if (pd_entry_is_counted(entry)) {
        count_end(heap, entry, &entry->weight);
        heap->stats.live--;
        heap->stats.untracked++;
    }
    pd_site_at(&heap->sites, entry->site)->holders--;
    entry->state = PD_ENTRY_UNUSED;
    entry->life++;
    pd_pool_give(&heap->entries, number);
}

/* Ends an entry in any state, with its pieces. If it was counted, its end is counted; if it was deferred, it counts
 * as cancelled. */
static void end_entry(pprofdelta_heap *heap, uint32_t number)
{
    const pd_entry *entry = pd_entry_at(heap, number);
    if (pd_entry_is_counted(entry)) {
        for (uint32_t piece = entry->more, next; piece; piece = next) {
            next = pd_entry_at(heap, piece)->more;
            release_entry(heap, piece);
        }
    } else {
        heap->stats.cancelled++;
        if (entry->state == PD_ENTRY_DEFERRED)
            remove_deferred(heap, number);
    }
    if (entry->state != PD_ENTRY_HELD)
        index_remove(heap, number);
    release_entry(heap, number);
}

void pd_entries_end(pprofdelta_heap *heap)
{
    for (uint32_t number = 1; number <= heap->entries.made; number++) {
        pd_entry_state state = pd_entry_at(heap, number)->state;
        if (state != PD_ENTRY_UNUSED && state != PD_ENTRY_PIECE)
            end_entry(heap, number);
    }
}

/* ---- making entries -------------------------------------------------------------------------- */

/* Ends the entry with this pointer, if there is one: its end was not seen. */
static void end_former(pprofdelta_heap *heap, const void *ptr)
{
    uint32_t former = find_entry(heap, ptr);
    if (!former)
        return;
    heap->stats.replaced++;
    end_entry(heap, former);
}

/* Can the event be counted: has it its arrays, a weight that is not below 0, and do all sums stay within 64
 * bits? If not, it counts as refused. */
static bool admit(pprofdelta_heap *heap, const pprofdelta_heap_event *event)
{
    const pprofdelta_weight *weight = &event->weight, *all = &heap->allocated;
    bool is_sound = pd_trace_has_arrays(event) && weight->objects >= 0 && weight->bytes >= 0 &&
                    weight->objects <= INT64_MAX - all->objects &&
                    weight->bytes <= INT64_MAX - all->bytes;
    heap->stats.refused += !is_sound;
    return is_sound;
}

static void count_drop(pprofdelta_heap *heap, const pd_pool *pool, uint64_t *capped)
{
    (*(pd_pool_is_full(pool) ? capped : &heap->stats.dropped_memory))++;
}

/* Holds the site of the event. Returns 0 if there is no room; the drop is counted. */
static uint32_t hold_site(pprofdelta_heap *heap, const pprofdelta_heap_event *event, pd_key key)
{
    uint32_t site = pd_site_for(&heap->sites, event, key);
    if (!site) {
        heap->is_short_of_room = true;
        count_drop(heap, &heap->sites.pool, &heap->stats.dropped_sites);
        return 0;
    }
    if (event->depth > heap->options.max_depth)
        heap->stats.cut++;
    pd_site_at(&heap->sites, site)->holders++;
    return site;
}

/* An entry that holds the site of the event. Returns 0 if there is no room; the drop is counted. */
static uint32_t take_entry(pprofdelta_heap *heap, const pprofdelta_heap_event *event, pd_key key,
                           pd_entry_state state)
{
    uint32_t number = pd_pool_take(&heap->entries);
    if (!number) {
        count_drop(heap, &heap->entries, &heap->stats.dropped_live);
        return 0;
    }
    uint32_t site = hold_site(heap, event, key);
    if (!site) {
        pd_pool_give(&heap->entries, number);
        return 0;
    }
    pd_entry *entry = pd_entry_at(heap, number);
    entry->ptr = event->ptr;
    entry->weight = event->weight;
    entry->site = site;
    entry->state = state;
    return number;
}

/* Makes an entry, in the index and the filter. It holds its site and is not counted yet. Returns 0
 * if there is no room; the drop is counted. An older entry with the same pointer ends. */
static uint32_t make_entry(pprofdelta_heap *heap, const pprofdelta_heap_event *event, pd_key key,
                           pd_entry_state state)
{
    end_former(heap, event->ptr);
    uint32_t number = take_entry(heap, event, key, state);
    if (number)
        index_add(heap, number, event->size, &event->weight);
    return number;
}

/* Counts an entry that was deferred, as the event has it now. Returns false if there is no room: it has
 * ended. */
static bool complete_entry(pprofdelta_heap *heap, uint32_t number,
                           const pprofdelta_heap_event *event, pd_key key)
{
    pd_entry *entry = pd_entry_at(heap, number);
    bool is_moved = event->ptr != entry->ptr;
    if (is_moved)
        end_former(heap, event->ptr);
    uint32_t site = admit(heap, event) ? hold_site(heap, event, key) : 0;
    if (!site) {
        end_entry(heap, number);
        heap->stats.cancelled--; /* it was dropped or refused */
        return false;
    }
    pd_site_at(&heap->sites, entry->site)->holders--;
    entry->site = site;
    entry->weight = event->weight;
    if (is_moved) {
        index_remove(heap, number);
        entry->ptr = event->ptr;
        index_add(heap, number, event->size, &event->weight);
    }
    count_entry(heap, number);
    return true;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* That of its pieces. */
static pprofdelta_weight weight_of(const pprofdelta_heap *heap, uint32_t block)
{
    pprofdelta_weight weight = {0, 0};
    for (uint32_t number = block; number; number = pd_entry_at(heap, number)->more)
        pd_weight_add(&weight, &pd_entry_at(heap, number)->weight);
    return weight;
}

/* Adds a piece to a block that is alive. A piece with the site and the window of the latest one joins that,
 * so a block has no more pieces than windows, times the sites that resize it. The probes report the block
 * anew. */
static bool add_piece(pprofdelta_heap *heap, uint32_t block, const pprofdelta_heap_event *event,
                      pd_key key)
{
    pd_entry *head = pd_entry_at(heap, block);
    pd_entry *last = head->more ? pd_entry_at(heap, head->more) : head;
    if (last->born == heap->sites.window &&
        pd_key_equal(pd_site_at(&heap->sites, last->site)->key, key)) {
        pd_weight_add(&last->weight, &event->weight);
        count_begin(heap, last->site, &event->weight);
    } else {
        uint32_t number = take_entry(heap, event, key, PD_ENTRY_PIECE);
        if (!number)
            return false;
        count_entry(heap, number);
        pd_entry_at(heap, number)->state = PD_ENTRY_PIECE;
        pd_entry_at(heap, number)->more = head->more;
        head->more = number;
    }
    pprofdelta_weight weight = weight_of(heap, block);
    pd_usdt_ended(head->ptr);
    pd_usdt_began(head->ptr, 0, &weight);
    return true;
}

static int64_t share_of(double bytes, size_t before, size_t after)
{
    double share = bytes / (double)before * (double)after;
    return share < 0x1p62 ? (int64_t)share : (int64_t)1 << 62;
}

/* The block has fewer bytes: each piece keeps its share. They are rounded so that their sum is right. A piece
 * without bytes ends, so that a buffer that grows and shrinks for ever has few. */
static void shrink_block(pprofdelta_heap *heap, uint32_t block, size_t before, size_t after)
{
    double all = 0;
    int64_t kept = 0, upto;
    uint32_t last = block;
    for (uint32_t number = block, next; number; number = next) {
        pd_entry *entry = pd_entry_at(heap, number);
        next = entry->more;
        all += (double)entry->weight.bytes;
        upto = share_of(all, before, after);
        int64_t less = entry->weight.bytes - (upto - kept);
        kept = upto;
        count_end(heap, entry, &(pprofdelta_weight){0, less});
        entry->weight.bytes -= less;
        if (number == block || entry->weight.bytes) {
            last = number;
            continue;
        }
        pd_entry_at(heap, last)->more = next;
        release_entry(heap, number);
    }
}

int pprofdelta_heap_track(pprofdelta_heap *heap, const pprofdelta_heap_event *event)
{
    if (!event || !event->ptr)
        return 0;
    pd_key key = pd_site_key(&heap->sites, event);
    if (!pd_heap_enter(heap))
        return 0;
    uint32_t number = event->is_piece ? find_entry(heap, event->ptr) : 0;
    if (!admit(heap, event)) {
        number = 0;
    } else if (number && pd_entry_at(heap, number)->state == PD_ENTRY_LIVE) {
        number = add_piece(heap, number, event, key);
    } else {
        number = make_entry(heap, event, key, PD_ENTRY_LIVE);
        if (number)
            count_entry(heap, number);
    }
    pd_heap_leave(heap);
    return number != 0;
}

int pprofdelta_heap_untrack(pprofdelta_heap *heap, const void *ptr)
{
    if (!ptr || !pd_heap_enter(heap))
        return 0;
    uint32_t number = find_entry(heap, ptr);
    if (number)
        end_entry(heap, number);
    else
        heap->stats.not_tracked++;
    pd_heap_leave(heap);
    return number != 0;
}

/* The life of the entry, above its number: by then the number may be unused or belong to another
 * allocation. */
static uint64_t id_of(const pd_entry *entry, uint32_t number)
{
    return (uint64_t)entry->life << 32 | number;
}

/* The number of the entry with this id if it is in this state; else 0. */
static uint32_t entry_with(const pprofdelta_heap *heap, uint64_t id, pd_entry_state state)
{
    uint32_t number = (uint32_t)id;
    if (!number || number > heap->entries.made)
        return 0;
    const pd_entry *entry = pd_entry_at(heap, number);
    return entry->state == state && id_of(entry, number) == id ? number : 0;
}

int pprofdelta_heap_realloc_begin(pprofdelta_heap *heap, const void *ptr,
                                  pprofdelta_heap_realloc *r)
{
    if (!ptr || !r || !pd_heap_enter(heap))
        return 0;
    uint32_t number = find_entry(heap, ptr);
    pd_entry *entry = number ? pd_entry_at(heap, number) : NULL;
    bool was = entry && entry->state == PD_ENTRY_LIVE;
    if (was) {
        entry->state = PD_ENTRY_HELD;
        index_remove(heap, number);
        r->held = id_of(entry, number);
        r->bytes = weight_of(heap, number).bytes;
    } else if (entry) {
        end_entry(heap, number);
    } else {
        heap->stats.not_tracked++;
    }
    pd_heap_leave(heap);
    return was;
}

void pprofdelta_heap_realloc_end(pprofdelta_heap *heap, pprofdelta_heap_realloc *r, const void *ptr,
                                 size_t before, size_t after)
{
    if (!pd_heap_enter(heap))
        return;
    uint32_t number = entry_with(heap, r->held, PD_ENTRY_HELD);
    if (number && !ptr) {
        end_entry(heap, number);
    } else if (number) {
        end_former(heap, ptr);
        if (after < before)
            shrink_block(heap, number, before, after);
        pd_entry *entry = pd_entry_at(heap, number);
        entry->state = PD_ENTRY_LIVE;
        entry->ptr = ptr;
        pprofdelta_weight weight = weight_of(heap, number);
        index_add(heap, number, 0, &weight);
    }
    r->held = 0;
    pd_heap_leave(heap);
}

/* ---- completing -------------------------------------------------------------------------------- */

int pprofdelta_heap_defer(pprofdelta_heap *heap, const pprofdelta_heap_event *event)
{
    if (!event || !event->ptr)
        return PPROFDELTA_HEAP_DROPPED;
    pd_key key = pd_site_key(&heap->sites, event);
    int answer = PPROFDELTA_HEAP_DROPPED;
    if (!pd_heap_enter(heap))
        return answer;
    const uint32_t *len = &heap->deferral.len, max = heap->options.max_deferred;
    const bool is_sound = admit(heap, event), is_full = *len >= max;
    heap->stats.dropped_deferred += is_sound && is_full;
    uint32_t number = is_sound && !is_full ? make_entry(heap, event, key, PD_ENTRY_DEFERRED) : 0;
    if (number) {
        add_deferred(heap, number);
        answer = *len > max / 2 ? PPROFDELTA_HEAP_COMPLETE_SOON : PPROFDELTA_HEAP_DEFERRED;
    }
    pd_heap_leave(heap);
    return answer;
}

/* An allocation that is being completed: the id of its entry, and its site. */
typedef struct completing {
    uint64_t id;
    uint32_t site;
    pprofdelta_heap_event event;
} completing;

/* Takes the oldest one from the queue. Holds its site once more: what the event points to must
 * outlive a free that comes meanwhile. */
static bool take_oldest(pprofdelta_heap *heap, completing *c)
{
    if (!pd_heap_enter(heap))
        return false;
    uint32_t number = heap->deferral.first;
    if (number) {
        remove_deferred(heap, number);
        pd_entry *entry = pd_entry_at(heap, number);
        pd_site *site = pd_site_at(&heap->sites, entry->site);
        const pd_trace *trace = site->trace;
        entry->state = PD_ENTRY_COMPLETING;
        site->holders++;
        *c = (completing){.id = id_of(entry, number),
                          .site = entry->site,
                          .event = {.ptr = entry->ptr,
                                    .weight = entry->weight,
                                    .stack = trace->stack,
                                    .depth = trace->depth,
                                    .labels = trace->labels,
                                    .labels_len = trace->labels_len,
                                    .code = trace->code}};
    }
    pd_heap_leave(heap);
    return number != 0;
}

/* Counts the completed allocation, if it has not ended meanwhile. */
static bool count_completed(pprofdelta_heap *heap, const completing *c, bool is_wanted)
{
    bool is_tracked = false;
    pd_key key = pd_site_key(&heap->sites, &c->event);
    if (!pd_heap_enter(heap))
        return false;
    uint32_t number = entry_with(heap, c->id, PD_ENTRY_COMPLETING);
    if (number && is_wanted && c->event.ptr)
        is_tracked = complete_entry(heap, number, &c->event, key);
    else if (number)
        end_entry(heap, number);
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
