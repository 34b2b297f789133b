/* The tracker: live allocations by pointer, each with its site.
 *
 *     filter ....... is the pointer certainly not tracked?   (inline, before everything else)
 *     entries ...... ptr -> weight, site                     a pool, indexed by chains of ptr
 *     sites ........ stack and labels -> sums                a pool, indexed by chains of key
 *     export ....... the batch under way                     begin, write, commit or abandon
 *
 * There are two locks. `lock` guards entries and sites. Allocations take it; it is held for a
 * bounded number of steps. `exporting` is held by export steps and by fork, so that they wait for
 * each other; it is held while a profile is computed. exporting is taken before lock.
 *
 * While a batch is under way, the export steps alone write the bases, and the sums and the list of
 * the window that is being sent. So they read them without `lock`. */
#ifndef PD_HEAP_HEAP_H
#define PD_HEAP_HEAP_H

#include "base/steps.h"
#include "base/lock.h"
#include "places/places.h"
#include "heap/site.h"
#include "encode/door.h"

/* What an entry is. */
typedef enum pd_entry_state {
    PD_ENTRY_UNUSED = 0,
    PD_ENTRY_LIVE,       /* counted */
    PD_ENTRY_HELD,       /* counted, but not in the index: realloc is under way */
    PD_ENTRY_PIECE,      /* counted, but not in the index: what a realloc added to a block */
    PD_ENTRY_DEFERRED,   /* not counted: in the queue of deferred allocations */
    PD_ENTRY_COMPLETING, /* not counted: its completion function runs */
} pd_entry_state;

typedef struct pd_entry {
    pd_link link;
    const void *ptr;
    pprofdelta_weight weight;
    uint32_t site;
    uint32_t state : 3;
    uint32_t life : 29; /* how often this element was used before; tells two uses apart */
    union {
        struct {
            uint32_t before, after; /* not counted: in the queue of the deferred */
        };
        struct {
            uint32_t born; /* counted: the window in which it was counted */
            uint32_t more; /* ... and the next piece of the block, the latest first; 0: no more */
        };
    };
} pd_entry;

typedef struct pd_deferral {
    uint32_t first, last; /* oldest and newest */
    uint32_t len;
    uint32_t is_completing; /* atomic */
} pd_deferral;

enum { PD_NEITHER = 2 }; /* of the two windows of sums */

/* What a recovery has to know of the windows so far. The parts of it change one after another; so they
 * are written, whole, at each step. */
typedef struct pd_heap_journal {
    uint64_t check;  /* of what follows */
    uint64_t serial; /* the latest journal has the highest one */
    pd_series series;
    uint64_t epoch;
    uint64_t sent_peak;     /* the number of the peak that was committed last; 0: none */
    pprofdelta_weight sent; /* what was in use at that peak: the shares of it, added up */
    int64_t ended_nanos;    /* of the last batch that was begun */
    uint32_t is_full_due;   /* the next batch is full */
    uint32_t has_epoch;     /* ... and an earlier attempt has opened its epoch */
    uint32_t is_ending;     /* the window being sent has arrived, or is lost: it counts no more */
    uint32_t sending;       /* ... which of the two it is */
    uint32_t ending_peaks;  /* ... and the sites, up to this one, whose shares have arrived, too */
    uint32_t
        newer; /* the window (0 or 1) whose ages are too high by 1 if the batch is abandoned; 2: none */
} pd_heap_journal;

/* Of a fork; pd_heap_enter_child is still to be called. By a signal handler within the tracker: see fork.c. */
enum { PD_CHILD = 1, PD_LOST = 2 };

#define PD_WANTED UINT32_C(0x736e6373)

/* What is known of what was sent. */
typedef struct pd_heap_export {
    pd_steps steps;
    pd_heap_journal now, journal[2];
    uint64_t journalled; /* the serial of the one that counts, which is at that number modulo 2 */
    uint64_t id;
    int64_t started_nanos;
    pprofdelta_heap_window batch; /* under way */
    uint32_t sites_made;          /* the sites of the batch have numbers up to this one */
    pprofdelta_weight held;       /* what was in use at the peak of the batch */
    uint32_t is_resync_wanted;    /* atomic: PD_WANTED: the next batch is full and opens an epoch */
} pd_heap_export;

/* What writes profiles. */
typedef struct pd_batch_writer {
    pd_pages pages;
    pd_mem mem;
    pd_door door;
    pd_places places;
    uint64_t loads;                  /* of the loader, before the window is written */
    const pprofdelta_heap_row *rows; /* of the gauge, for the batch under way */
    size_t rows_len;
    const char *comment; /* NULL: none */
    char remark[256];    /* of a recovered tracker: a comment in all its profiles */
} pd_batch_writer;

/* The mappings as of the last reading of them, for a recovery: one block of pages with the tables of pd_places.
 *
 *     pd_heap_maps | maps[len] | pd_place_span [spans_len] | text[text_len] */
typedef struct pd_heap_maps {
    uint64_t check; /* of what follows */
    uint64_t size;  /* of all of it */
    uint64_t len, spans_len, text_len;
    uint32_t era;
    uint32_t main; /* in `maps`, or PD_MAP_NONE */
    pd_map maps[];
} pd_heap_maps;

/* No time of the caller is later: there are 18 minutes of nanoseconds for batches that end later than others. */
#define PD_HEAP_LATEST (INT64_MAX - (INT64_C(1) << 40))

/* What the check word of a journal, or of copied mappings, is: it stands first, before what it is of. */
static inline uint64_t pd_heap_check_of(const void *block, size_t size)
{
    return pd_key_of_bytes((const uint64_t *)block + 1, size - sizeof(uint64_t), 0).lo;
}

#define PD_HEAP_MOST_DEPTH (UINT32_C(1) << 17)

/* The format of the tables: a recovery reads no others. It does not read the writer, whose size
 * when the format was made stands for it. */
enum { PD_HEAP_WRITER = 2824 };
#define PD_HEAP_READ offsetof(pprofdelta_heap, writer)
#define PD_HEAP_LAYOUT                                                                             \
    ((UINT64_C(3) << 56) + ((uint64_t)(PD_HEAP_READ + PD_HEAP_WRITER) << 32) +                     \
     (sizeof(pd_site) << 16) + (sizeof(pd_entry) << 8) + sizeof(pd_trace) +                        \
     sizeof(pd_heap_journal) + sizeof(pd_map))

struct pprofdelta_heap {
    uint64_t layout; /* PD_HEAP_LAYOUT once the tracker is complete */
    uint64_t seal;   /* pd_heap_seal: of what does not change */
    pd_lock lock, exporting;
    pd_pages pages;
    pprofdelta_heap_filter *filter;
    pd_pool entries;
    pd_chains index;
    pd_sites sites;
    pd_deferral deferral;
    bool is_short_of_room; /* something was dropped for which removed sites might have made room */
    uint32_t birth; /* PD_CHILD and PD_LOST; 0: nothing is to be done before the tables are used */
    pprofdelta_weight allocated; /* all that was ever counted: no sum of the tables is more */
    pprofdelta_heap_stats stats;
    pprofdelta_heap_options options; /* with the defaults filled in */
    pd_heap_export export;
    pd_heap_maps *maps;   /* NULL: none yet */
    uintptr_t maps_again; /* ~maps */
    pd_batch_writer writer;
};

uint64_t pd_heap_seal(const pprofdelta_heap *heap);

static inline uint64_t pd_peak_seal(const pprofdelta_heap *heap)
{
    const pprofdelta_heap_stats *stats = &heap->stats;
    return pd_seal(heap->sites.peak, (uint64_t)stats->peak_objects, (uint64_t)stats->peak_bytes);
}

static inline pd_entry *pd_entry_at(const pprofdelta_heap *heap, uint32_t number)
{
    return pd_pool_at(&heap->entries, number);
}

static inline bool pd_entry_is_counted(const pd_entry *entry)
{
    return entry->state >= PD_ENTRY_LIVE && entry->state <= PD_ENTRY_PIECE;
}

static inline bool pd_heap_is_lost(const pprofdelta_heap *heap)
{
    return heap->birth & PD_LOST;
}

#define PD_ASK __attribute__((warn_unused_result))

/* fork.c: does what the fork left to do in the child, with the lock held. Returns false, without the lock, if the
 * tracker is lost. */
PD_ASK bool pd_heap_enter_child(pprofdelta_heap *heap);

/* Takes the lock. In the child of a fork, first does what the fork left to do. Returns false, without the lock, if
 * the tables must not be used: the tracker is lost. */
PD_ASK static inline bool pd_heap_enter(pprofdelta_heap *heap)
{
    pd_lock_take(&heap->lock);
    return __builtin_expect(!heap->birth, 1) || pd_heap_enter_child(heap);
}

static inline void pd_heap_leave(pprofdelta_heap *heap)
{
    pd_lock_give(&heap->lock);
}

/* As pd_lock_rest. Returns false as pd_heap_enter. */
PD_ASK static inline bool pd_heap_rest(pprofdelta_heap *heap)
{
    pd_lock_rest(&heap->lock);
    return !heap->birth || pd_heap_enter_child(heap);
}

/* fork.c: takes exporting. Returns OK, or E_USAGE without it if the tracker is lost. */
PD_ASK pprofdelta_status pd_export_enter(pprofdelta_heap *heap, pprofdelta_error *err);
pprofdelta_status pd_refuse_lost(pprofdelta_error *err);

/* track.c. After a batch was abandoned: what was counted while it was under way was born in the window that
 * goes on. Takes the lock, some entries at a time. */
void pd_entries_rejoin(pprofdelta_heap *heap);

/* ... with the lock: ends all. */
void pd_entries_end(pprofdelta_heap *heap);

/* ... without the lock: removes this tracker's allocations from the filter, which may be the
 * caller's. */
void pd_entries_clear_filter(pprofdelta_heap *heap);

/* ... with the lock held: notes that as much is in use now as at the latest peak. */
void pd_peak_begin(pprofdelta_heap *heap, int64_t nanos);

/* batch.c: the state before the first batch. id 0: pd_export_make_id makes a random one. */
void pd_export_init(pprofdelta_heap *heap, uint64_t id, int64_t started_nanos);
void pd_export_make_id(pprofdelta_heap *heap);

/* ... for a batch with another peak than the last one: all its sites hold their shares. With exporting
 * held. */
void pd_export_hold_peak(pprofdelta_heap *heap);

/* Has the batch another peak than the last one that was committed? */
static inline bool pd_export_has_new_peak(const pprofdelta_heap *heap)
{
    return heap->sites.held_peak != heap->export.now.sent_peak;
}

/* batch.c. If init fails, nothing is held. */
pprofdelta_status pd_batch_open(pprofdelta_heap *heap, pprofdelta_error *err);
void pd_batch_close(pprofdelta_heap *heap);

/* maps_copy.c: copies the mappings, if they changed since. Without pages those from before count. With
 * exporting held. */
void pd_heap_copy_maps(pprofdelta_heap *heap);

/* write.c: the batch as a profile that is not compressed; it belongs to the writer. With exporting
 * held. */
pprofdelta_status pd_batch_compose(pprofdelta_heap *heap, pprofdelta_heap_inuse inuse,
                                   pd_bytes *out, pprofdelta_error *err);

#endif
