/* The tracker: live allocations by pointer, each with the site it came from.
 *
 *     filter ....... surely not tracked?         (inline, in front of everything)
 *     entries ...... ptr -> weight, site         a pool, indexed by chains of ptr
 *     sites ........ stack and labels -> sums    a pool, indexed by chains of key
 *     export ....... the batch under way         begin, write, acknowledge or give back
 *
 * Two locks. `lock` guards entries and sites; it is taken where allocations are, and held for a
 * bounded number of steps, whoever takes it. `exporting` makes export steps wait for each other and
 * for fork; it is held while a profile is put together. exporting is taken before lock.
 *
 * Without the lock, an export step reads what it alone may write while a batch is under way: the
 * bases, and the sums and the list of the window that is being sent. */
#ifndef PD_HEAP_HEAP_H
#define PD_HEAP_HEAP_H

#include "codec/compress.h"
#include "heap/lock.h"
#include "heap/places.h"
#include "heap/site.h"
#include "profile/compact.h"

/* What an entry is. */
typedef enum pd_entry_state {
    PD_ENTRY_UNUSED = 0,
    PD_ENTRY_LIVE,       /* counted */
    PD_ENTRY_HELD,       /* counted, but taken out of the index while realloc is under way */
    PD_ENTRY_DEFERRED,   /* not counted: in the queue of the deferred */
    PD_ENTRY_COMPLETING, /* not counted: its callback is running */
} pd_entry_state;

typedef struct pd_entry {
    pd_link link;
    const void *ptr;
    pprofdelta_weight weight;
    uint32_t site;
    uint32_t state : 3;
    uint32_t life : 29;     /* how often this element was used before */
    uint32_t before, after; /* in the queue of the deferred */
} pd_entry;

typedef struct pd_deferral {
    uint32_t first, last; /* oldest and newest */
    uint32_t len, max;
    uint32_t is_completing; /* atomic */
} pd_deferral;

/* What is known of what was sent. */
typedef struct pd_heap_export {
    uint64_t id, epoch, sequence; /* of the last batch that arrived, or was lost */
    int64_t started_nanos, sent_nanos;
    int64_t ended_nanos;         /* of the last batch that was begun */
    pprofdelta_heap_batch batch; /* under way, if has_batch */
    uint32_t sites_made;         /* all sites of the batch have numbers up to this */
    uint32_t attempts;           /* batches in a row that were abandoned */
    bool has_batch;
    bool is_written;           /* the last write of the batch succeeded */
    bool is_full_due;          /* the next batch is full */
    bool has_epoch;            /* ... and its epoch was opened by an earlier attempt */
    uint32_t is_resync_wanted; /* atomic: the next batch is full and opens an epoch */
} pd_heap_export;

/* What writes profiles. */
typedef struct pd_heap_press {
    pd_pages pages;
    pd_mem mem;
    pd_compact compact;
    pd_compressor compressor;
    pd_places places;
    struct pd_known_place *known; /* addresses met in this profile: write.c */
    size_t known_cap;
    pd_keymap numbers;        /* those without a mapping, by themselves */
    pd_encoded *number_place; /* ... and what each became */
    size_t number_place_cap;
    uint64_t run;    /* which profile that is */
    bool is_reread;  /* places were read for an address in it */
    bool is_in_sink; /* the caller has the bytes */
} pd_heap_press;

struct pprofdelta_heap {
    pd_lock lock, exporting;
    pd_pages pages;
    pprofdelta_heap_filter *filter;
    pd_pool entries;
    pd_chains index;
    pd_sites sites;
    pd_deferral deferral;
    uint32_t sweep_next;
    uint32_t is_sweeping;  /* atomic */
    bool is_short_of_room; /* something was dropped that forgetting old sites might have kept */
    bool owns_filter;
    bool is_child;    /* of a fork, and what was inherited is still to be dealt with */
    bool is_to_clear; /* ... by forgetting it */
    pprofdelta_heap_stats stats;
    pprofdelta_heap_options options; /* with the defaults filled in */
    pd_heap_export export;
    pd_heap_press press;
};

static inline pd_entry *pd_entry_at(const pprofdelta_heap *heap, uint32_t number)
{
    return pd_pool_at(&heap->entries, number);
}

/* fork.c: deals with what the child of a fork inherited. With the lock held. */
void pd_heap_settle(pprofdelta_heap *heap);

/* Takes the lock, and settles what a fork left to do. */
static inline void pd_heap_enter(pprofdelta_heap *heap)
{
    pd_lock_take(&heap->lock);
    if (__builtin_expect(heap->is_child, 0))
        pd_heap_settle(heap);
}

static inline void pd_heap_leave(pprofdelta_heap *heap)
{
    pd_lock_give(&heap->lock);
}

/* heap.c: makes, and unmakes, what tracks: entries, index and sites. */
bool pd_heap_open(pprofdelta_heap *heap);
void pd_heap_close(pprofdelta_heap *heap);

/* ... after taking everything out of the filter. */
void pd_heap_clear(pprofdelta_heap *heap);

/* track.c, with the lock held. */

/* The number of the entry with this pointer, or 0. */
uint32_t pd_entry_find(const pprofdelta_heap *heap, const void *ptr);

/* A new entry, in the index and the filter, which holds its site but is not counted yet; or 0, and
 * the drop is counted. A former owner of the pointer goes. */
uint32_t pd_entry_make(pprofdelta_heap *heap, const pprofdelta_heap_event *event, pd_key key,
                       pd_entry_state state);

/* Counts it as alive. */
void pd_entry_count(pprofdelta_heap *heap, uint32_t number);

/* Ends it, whatever its state: as a tombstone if it was counted, as cancelled if it was
 * deferred. */
void pd_entry_end(pprofdelta_heap *heap, uint32_t number);

/* defer.c, with the lock held: takes the entry out of the queue. */
void pd_deferral_remove(pprofdelta_heap *heap, uint32_t number);

/* export.c: nothing was sent yet. id 0: a random one. */
void pd_export_init(pprofdelta_heap *heap, uint64_t id, int64_t started_nanos);

/* press.c. */
void pd_press_init(pprofdelta_heap *heap);
void pd_press_fini(pprofdelta_heap *heap);

/* write.c: the batch as a raw profile, owned by the press. With exporting held. */
pprofdelta_status pd_press_compose(pprofdelta_heap *heap, pprofdelta_heap_inuse inuse,
                                   pd_bytes *out, pprofdelta_error *err);
void pd_press_release_known(pd_heap_press *press);

#endif
