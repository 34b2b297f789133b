/* pprofdelta, the live-heap door: a sampled heap profile that stays on and tells what changed.
 *
 * An allocator, or whatever wraps one, feeds two structs: a sampler for each thread, which decides
 * with a subtraction and a branch whether this allocation is one to look at, and one tracker, which
 * remembers the sampled allocations that are alive. Every window, somebody takes a batch of what
 * changed and sends it on its way as a small pprof:
 *
 *     void *my_malloc(size_t size)
 *     {
 *         void *ptr = real_malloc(size);
 *         if (pprofdelta_sampler_tick(&sampler, size))      // 2 instructions, seldom true
 *             took(ptr, size);
 *         return ptr;
 *     }
 *     void took(void *ptr, size_t size)
 *     {
 *         pprofdelta_heap_event event = {.ptr = ptr};
 *         if (pprofdelta_sampler_take(&sampler, size, &event.weight) && ptr) {
 *             event.depth = unwind(stack), event.stack = stack;
 *             pprofdelta_heap_track(heap, &event);
 *         }
 *     }
 *     void my_free(void *ptr)
 *     {
 *         if (pprofdelta_heap_maybe(&filter, ptr))          // 4 instructions, seldom true
 *             pprofdelta_heap_untrack(heap, ptr);           // before the allocator has it back
 *         real_free(ptr);
 *     }
 *     every minute:
 *         if (pprofdelta_heap_begin(heap, now, &batch, &err) == PPROFDELTA_OK) {
 *             if (pprofdelta_heap_write(heap, PPROFDELTA_HEAP_CHANGES, &sink, &err) == PPROFDELTA_OK)
 *                 pprofdelta_heap_acknowledge(heap);
 *             else
 *                 pprofdelta_heap_give_back(heap);
 *         }
 *
 * What is in a profile
 *     Four types: alloc_objects/count, alloc_space/bytes, inuse_objects/count, inuse_space/bytes,
 *     estimates for all allocations from those that were sampled. A batch is of one of two kinds
 *     (a FULL one opens an epoch, CHANGES continue it) and can be written in two ways:
 *         kind=full     everything since the tracker began, and all that is in use
 *         kind=delta    what was allocated in the window; in use: what came minus what went
 *         kind=window   what was allocated in the window; in use: all, as it stands
 *     The law: the last full profile plus all later deltas of its epoch, added up sample by sample,
 *     is what a full profile would say. An allocation that came and went within one window adds
 *     nothing to the in-use types; one that goes later takes away exactly what it brought.
 *
 * The stamp (a comment of the profile)
 *     pprofdelta: live epoch=N seq=N attempt=N kind=full|delta|window from=NANOS to=NANOS id=HEX
 *     id tells trackers (processes) apart: 16 hexadecimal digits. seq counts the batches of a
 *     tracker from 1, across epochs. A batch that was given back comes again with later events in
 *     it, under the same seq and with a higher attempt. from is where the window begins: of a full
 *     one, when the tracker began. Each batch and each attempt ends (to) later than all before it,
 *     whatever the clock says.
 *
 * Two full batches as two profiles
 *     pprofdelta_window takes full profiles. It reports PPROFDELTA_RESTART_LIVE if the id is another
 *     than that of the profile before, or from is after its to.
 *
 * What a receiver does
 *     Of each id and seq it keeps the batch with the highest attempt, in whatever order they come.
 *     It adds up from the full batch with the highest seq on. The batch with the next seq is added
 *     if it has the same epoch and its from equals the to of the batch before it. Otherwise a batch
 *     is missing, and the sum waits for that batch or for the next full one, which opens a higher
 *     epoch and takes the place of everything. The check of from cannot be left out: batch n may
 *     arrive although it was given back, and its next attempt, with more in it, may be acknowledged
 *     and then get lost. Only the from of batch n+1 shows that. pprofdelta_heap(3) has a receiver as
 *     a program; pprofdelta_adder and `pprofdelta sum` do the same.
 *
 * Threads, signals, fork
 *     A sampler belongs to a thread. Tracking functions (track, untrack, realloc, defer, sweep) may be
 *     called by any number of threads at once and from inside an allocator: they take memory from
 *     mmap only, keep errno, and hold a lock for well under a microsecond. The one thing that must
 *     not happen is that a thread that is in one of them comes in again (a signal handler that
 *     allocates or frees): keep a flag in the thread, and skip. Export functions (begin, write,
 *     acknowledge, give_back, lost) may be called by any thread, from a place where malloc may be
 *     called; they wait for each other, and no tracking function waits for them longer than a few
 *     microseconds. write may call malloc (the compressor's, once): pause the thread's sampler
 *     around it where malloc is what is tracked. top_sites and dump may be called from anywhere,
 *     signal handlers included. What fork needs is at the end.
 */
#ifndef PPROFDELTA_HEAP_H
#define PPROFDELTA_HEAP_H

#include "pprofdelta.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------
 * The sampler: one for each thread
 * ------------------------------------------------------------------------------------------ */

/* What one sampled allocation stands for: about 1/(1-exp(-size/interval)) allocations of its size,
 * rounded up or down at random so that sums are right on average. Never negative. */
typedef struct pprofdelta_weight {
    int64_t objects;
    int64_t bytes;
} pprofdelta_weight;

/* Owned by the caller, usually in thread-local storage (initial-exec, if inside an allocator). All
 * members are private. All zeros is a sampler that has not begun: its first tick of a size above 0
 * says 1, and pprofdelta_sampler_take then 0 (see pprofdelta_sampler_has_begun). It holds no
 * resource: a thread that ends needs to do nothing, and may simply leave it behind. */
typedef struct pprofdelta_sampler {
    int64_t left;      /* bytes to the next sample; below 0: take it */
    int64_t held;      /* left, while paused */
    uint64_t interval; /* mean distance; 0: off */
    uint64_t random[2];
    uint32_t pauses;
    uint32_t has_begun;
} pprofdelta_sampler;

/* Begins, or begins anew. interval: the mean number of allocated bytes between two samples; 0 is
 * off; 1 takes every allocation, for what it is. seed: the same seed draws the same samples; 0: one
 * that is not guessed (from the clock and the address). Must be called again in the child of a fork,
 * which would otherwise draw what its parent draws. */
PPROFDELTA_API void pprofdelta_sampler_init(pprofdelta_sampler *sampler, uint64_t interval,
                                            uint64_t seed);

/* Changes the interval from here on, also while paused. Samples taken keep their weight. */
PPROFDELTA_API void pprofdelta_sampler_set_interval(pprofdelta_sampler *sampler, uint64_t interval);

static inline int pprofdelta_sampler_has_begun(const pprofdelta_sampler *sampler)
{
    return sampler->has_begun != 0;
}

/* An allocation of size bytes, which must not be more than PTRDIFF_MAX (as no allocation is):
 * 1 if it is likely to be a sample; ask pprofdelta_sampler_take. Allocations of 0 bytes are never
 * sampled: tick them with 1 to see them. It does not matter whether the tick is before or after the
 * allocation, nor that some ticked allocations fail. */
static inline int pprofdelta_sampler_tick(pprofdelta_sampler *sampler, size_t size)
{
    sampler->left = (int64_t)((uint64_t)sampler->left - (uint64_t)size);
    return __builtin_expect(sampler->left < 0, 0) != 0;
}

/* The slow path, after a tick said 1, with the same size: draws the distance to the next sample. 1:
 * this allocation is a sample, and *weight is what it stands for. 0: it is not (off, paused, not
 * begun). */
PPROFDELTA_API int pprofdelta_sampler_take(pprofdelta_sampler *sampler, size_t size,
                                           pprofdelta_weight *weight);

/* Between pause and resume, which nest, this thread's allocations are not seen: neither sampled nor
 * counted towards the next sample. resume without pause does nothing. */
PPROFDELTA_API void pprofdelta_sampler_pause(pprofdelta_sampler *sampler);
PPROFDELTA_API void pprofdelta_sampler_resume(pprofdelta_sampler *sampler);

/* ---------------------------------------------------------------------------------------------
 * The filter: is this pointer surely not tracked?
 * ------------------------------------------------------------------------------------------ */

#define PPROFDELTA_HEAP_GRANULE_BITS 10
#define PPROFDELTA_HEAP_FILTER_LEN   ((size_t)1 << (32 - PPROFDELTA_HEAP_GRANULE_BITS))

/* One byte for each kilobyte of address space, round every 4 GiB: how many tracked allocations begin
 * there. Neighbours in memory are neighbours here, so that the bytes that are asked for stay in the
 * cache. 4 MiB of address space, of which only what is written becomes memory: put it into static
 * storage (zeroed), where the compiler knows its address, or let the tracker map it. */
typedef struct pprofdelta_heap_filter {
    uint8_t at[PPROFDELTA_HEAP_FILTER_LEN];
} pprofdelta_heap_filter;

/* A racing write to this byte concerns another allocation, whichever value is read: a plain load is
 * right, and is the only kind that compilers fold into the comparison. ThreadSanitizer has to be
 * told. */
#if defined(__SANITIZE_THREAD__)
#define PPROFDELTA_HEAP_LOAD_(byte) __atomic_load_n(&(byte), __ATOMIC_RELAXED)
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PPROFDELTA_HEAP_LOAD_(byte) __atomic_load_n(&(byte), __ATOMIC_RELAXED)
#endif
#endif
#ifndef PPROFDELTA_HEAP_LOAD_
#define PPROFDELTA_HEAP_LOAD_(byte) (byte)
#endif

/* 0: the tracker surely does not have this pointer, and the allocator may have it back without
 * further ado. 1: ask pprofdelta_heap_untrack, which knows. NULL is never tracked. */
static inline int pprofdelta_heap_maybe(const pprofdelta_heap_filter *filter, const void *ptr)
{
    const uint8_t *byte = &filter->at[(uint32_t)(uintptr_t)ptr >> PPROFDELTA_HEAP_GRANULE_BITS];
    return __builtin_expect(PPROFDELTA_HEAP_LOAD_(*byte) != 0, 0) != 0;
}

/* ---------------------------------------------------------------------------------------------
 * The tracker: its life
 * ------------------------------------------------------------------------------------------ */

typedef struct pprofdelta_heap pprofdelta_heap;

/* Where a tracker's memory comes from, if not from mmap: pages, zeroed. map returns NULL when there
 * are none. size is a multiple of 4096. Called with a lock held: must not call the tracker. */
typedef struct pprofdelta_heap_pages {
    void *(*map)(void *cookie, size_t size);
    void (*unmap)(void *cookie, void *ptr, size_t size);
    void *cookie;
} pprofdelta_heap_pages;

/* Flags of pprofdelta_heap_options, besides PPROFDELTA_NO_STAMP and PPROFDELTA_NO_MAPPINGS. Batches
 * without a stamp cannot be added up safely. */
enum {
    /* The symbolizer knows the names of functions only. Readers of the profile may look for lines and
     * inlined calls. */
    PPROFDELTA_HEAP_NAMES_ONLY = 1u << 11
};

/* Begin with PPROFDELTA_HEAP_OPTIONS_INIT; later versions add members at the end and tell by `size`
 * what the caller knew. Zero is the default of every member. */
typedef struct pprofdelta_heap_options {
    size_t size; /* sizeof(pprofdelta_heap_options) */
    unsigned flags;
    uint64_t period;                /* the samplers' interval, told in the profile */
    uint64_t id;                    /* of the tracker, for the stamp; 0: a random one */
    int64_t started_nanos;          /* since 1970: the time from which the first window counts */
    pprofdelta_heap_filter *filter; /* zeroed, outlives the tracker; NULL: mapped by it */
    const pprofdelta_heap_pages *pages; /* copied; NULL: mmap */
    /* Caps. What does not fit is dropped, and counted in the stats. 0: the default. */
    uint64_t max_memory;   /* bytes mapped for tracking, the filter not counted; 256 MiB */
    uint32_t max_live;     /* tracked allocations alive at once; 4,194,304 */
    uint32_t max_sites;    /* distinct stacks with labels; 1,048,576 */
    uint32_t max_depth;    /* frames of a stack that are kept, from the leaf on; 512 */
    uint32_t max_deferred; /* allocations begun and not committed; 4,096 */
    uint32_t max_attempts; /* times that a batch may be given back; 16 */
    uint64_t max_retry;    /* bytes of sites that may wait in a batch that is given back; 64 MiB */
    uint64_t max_export;   /* bytes that writing a profile may take; 1 GiB */
    pprofdelta_compression compression; /* of the profiles */
    int level;                          /* 1..9; 0: the quickest */
    /* Called once for each address in a profile, while it is written. It must give the same answer for
     * a number in no mapping as long as allocations with that number are alive, since a batch must
     * subtract at the same location what an earlier batch added. NULL: addresses and mappings only. */
    pprofdelta_symbolizer *symbolize;
    void *symbolize_cookie;
} pprofdelta_heap_options;

#define PPROFDELTA_HEAP_OPTIONS_INIT                                                               \
    {                                                                                              \
        sizeof(pprofdelta_heap_options), 0, 0, 0, 0, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0,           \
            PPROFDELTA_GZIP, 0, NULL, NULL                                                         \
    }

/* Makes an empty tracker. Takes no memory but from options.pages. E_MEMORY, E_USAGE. */
PPROFDELTA_API pprofdelta_status pprofdelta_heap_new(const pprofdelta_heap_options *options,
                                                     pprofdelta_heap **out, pprofdelta_error *err);

/* Gives everything back; the filter forgets what was tracked. Nobody may be in a call on it, or come
 * in later. NULL is fine. */
PPROFDELTA_API void pprofdelta_heap_free(pprofdelta_heap *heap);

/* The filter of this tracker: its own or the caller's. */
PPROFDELTA_API const pprofdelta_heap_filter *pprofdelta_heap_filter_of(const pprofdelta_heap *heap);

/* ---------------------------------------------------------------------------------------------
 * Tracking
 * ------------------------------------------------------------------------------------------ */

/* A sampled allocation. Everything is copied. */
typedef struct pprofdelta_heap_event {
    const void *ptr; /* the pointer, or where liveness is asked for (sweep), any id but 0 */
    pprofdelta_weight weight;
    /* Leaf first, addresses as they are to be written: of a call, an address within the call
     * instruction (so the return address minus 1). With a symbolizer, any numbers. */
    const uint64_t *stack;
    size_t depth;
    const pprofdelta_label *labels; /* a multiset: their order does not matter */
    size_t labels_len;
    /* Where code was unloaded and other code may have come to stand at its addresses: stacks are the
     * same only if this is. Any number, such as a count of what was unloaded there. */
    uint64_t code;
} pprofdelta_heap_event;

/* It is alive. 1: tracked. 0: dropped for want of room, and counted: it is then in no number, and
 * neither will its end be. A pointer that is tracked already was freed unseen: the old one goes
 * first (stats.replaced). */
PPROFDELTA_API int pprofdelta_heap_track(pprofdelta_heap *heap, const pprofdelta_heap_event *event);

/* It is about to be freed. To be called before the allocator has the pointer back, or another
 * thread may be given it, and track it, before. 1: it was tracked (or deferred). */
PPROFDELTA_API int pprofdelta_heap_untrack(pprofdelta_heap *heap, const void *ptr);

/* realloc, in three steps, since the old block may be given to another thread before the call has
 * returned, and stays where it is if the call fails:
 *
 *     pprofdelta_heap_realloc r;
 *     int was = pprofdelta_heap_maybe(&filter, old) && pprofdelta_heap_realloc_begin(heap, old, &r);
 *     ptr = real_realloc(old, size);
 *     if (was)
 *         ptr || !size ? pprofdelta_heap_realloc_commit(heap, &r)
 *                      : pprofdelta_heap_realloc_abort(heap, &r);
 *
 * and then, if ptr and the sampler says so, track ptr as a new allocation. Between begin and the end
 * the old allocation counts as alive, but is not found by its pointer. Every begin that said 1 is
 * to be ended by one commit or abort. */
typedef struct pprofdelta_heap_realloc {
    uint64_t held;
} pprofdelta_heap_realloc;

/* 1: it is tracked, and *r holds it. 0: it is not; there is nothing to end. A deferred allocation is
 * cancelled, whatever becomes of the realloc. */
PPROFDELTA_API int pprofdelta_heap_realloc_begin(pprofdelta_heap *heap, const void *ptr,
                                                 pprofdelta_heap_realloc *r);
/* The old block is gone. */
PPROFDELTA_API void pprofdelta_heap_realloc_commit(pprofdelta_heap *heap,
                                                   pprofdelta_heap_realloc *r);
/* The old block stands. Cannot fail. */
PPROFDELTA_API void pprofdelta_heap_realloc_abort(pprofdelta_heap *heap,
                                                  pprofdelta_heap_realloc *r);

/* ---------------------------------------------------------------------------------------------
 * Deferred recording: when not everything can be known inside the allocation
 * ------------------------------------------------------------------------------------------ */

/* What pprofdelta_heap_defer answers. */
enum {
    PPROFDELTA_HEAP_DROPPED = 0,     /* no room: it will be in no number */
    PPROFDELTA_HEAP_DEFERRED = 1,    /* kept */
    PPROFDELTA_HEAP_FLUSH_WANTED = 2 /* kept, and half of max_deferred is in use: commit soon */
};

/* Begin: keeps what is known of the allocation inside it (pointer and weight; perhaps stack and
 * labels). It is in no number until it is committed. Freed before, by pprofdelta_heap_untrack or
 * pprofdelta_heap_cancel, it is as if it had never been (stats.cancelled). */
PPROFDELTA_API int pprofdelta_heap_defer(pprofdelta_heap *heap, const pprofdelta_heap_event *event);

/* Completes one deferred allocation: *event has what it began with, and any of it may be replaced
 * (the pointer too: by the id by which liveness is asked for). What it points to need only last
 * until the function is called again or the commit returns. 0: forget it (stats.cancelled). No lock
 * is held: it may allocate, and track, untrack and defer. */
typedef int pprofdelta_heap_complete(void *cookie, pprofdelta_heap_event *event);

/* Commit, from a safe place: those that were deferred before the call, oldest first. complete may be
 * NULL where nothing is missing. Returns how many are now tracked. Does nothing if a commit is
 * already going on, in this thread or another. */
PPROFDELTA_API size_t pprofdelta_heap_commit(pprofdelta_heap *heap,
                                             pprofdelta_heap_complete *complete, void *cookie);

/* Cancel: forgets ptr if it is deferred. 1: it was. */
PPROFDELTA_API int pprofdelta_heap_cancel(pprofdelta_heap *heap, const void *ptr);

/* Is this one still alive? No lock is held, as above. */
typedef int pprofdelta_heap_alive(void *cookie, const void *ptr);

/* For runtimes that do not tell when something dies: asks for up to `most` of the tracked (not the
 * deferred) and untracks those that are not alive. The next call goes on where this one ended; *done
 * (may be NULL) becomes 1 where the round is complete. Returns how many it untracked. One sweep at
 * a time: does nothing if one is going on. */
PPROFDELTA_API size_t pprofdelta_heap_sweep(pprofdelta_heap *heap, size_t most,
                                            pprofdelta_heap_alive *alive, void *cookie, int *done);

/* ---------------------------------------------------------------------------------------------
 * Export, in two phases
 * ------------------------------------------------------------------------------------------ */

typedef enum pprofdelta_heap_kind {
    PPROFDELTA_HEAP_DELTA = 0, /* continues its epoch */
    PPROFDELTA_HEAP_FULL       /* opens an epoch */
} pprofdelta_heap_kind;

/* How a batch is written; a FULL one is written in the same way always. */
typedef enum pprofdelta_heap_inuse {
    PPROFDELTA_HEAP_CHANGES = 0, /* kind=delta: what changed */
    PPROFDELTA_HEAP_SNAPSHOT     /* kind=window: all that is in use, beside what was allocated */
} pprofdelta_heap_inuse;

/* What is being sent. */
typedef struct pprofdelta_heap_batch {
    pprofdelta_heap_kind kind;
    uint64_t id, epoch, sequence;
    int64_t from_nanos, to_nanos;
    uint64_t changed;  /* sites (stacks with labels) with events in it */
    uint32_t attempts; /* how often it was given back before: the stamp's attempt is 1 more */
} pprofdelta_heap_batch;

/* Takes everything up to now as a batch, in constant time, and lets new events gather apart. now:
 * nanoseconds since 1970; where that is not later than the last batch's end, the batch ends one
 * nanosecond after that. batch may be NULL. Until the batch is acknowledged, given back or lost,
 * another begin is E_USAGE. The first batch is FULL; later ones are where that one has not arrived
 * yet, after pprofdelta_heap_lost or pprofdelta_heap_resync, after a batch was given back too often
 * or grew too large, and when the tracker had to forget sites to make room. */
PPROFDELTA_API pprofdelta_status pprofdelta_heap_begin(pprofdelta_heap *heap, int64_t now,
                                                       pprofdelta_heap_batch *batch,
                                                       pprofdelta_error *err);

/* Writes the batch as a profile; again, if wanted, also in the other way. The sink is called once,
 * with no lock held, when everything has been computed. E_USAGE without a batch, E_MEMORY, E_LIMIT,
 * E_SINK: the batch stands. */
PPROFDELTA_API pprofdelta_status pprofdelta_heap_write(pprofdelta_heap *heap,
                                                       pprofdelta_heap_inuse inuse,
                                                       const pprofdelta_sink *sink,
                                                       pprofdelta_error *err);

/* It has arrived. Without a batch these three do nothing. */
PPROFDELTA_API void pprofdelta_heap_acknowledge(pprofdelta_heap *heap);

/* It has not, or that is not known: the next batch has its events too, its sequence number and a
 * higher attempt. After max_attempts in a row, or where more than max_retry bytes would wait, the
 * batch is lost. */
PPROFDELTA_API void pprofdelta_heap_give_back(pprofdelta_heap *heap);

/* It is lost: the next batch is FULL and opens a new epoch, so that nothing is missing in the end. */
PPROFDELTA_API void pprofdelta_heap_lost(pprofdelta_heap *heap);

/* On request: the next batch to begin is FULL and opens a new epoch. */
PPROFDELTA_API void pprofdelta_heap_resync(pprofdelta_heap *heap);

/* Which files are mapped where is looked up when a profile is written and an address is new. Code
 * that is unloaded before that has no name: call this before dlclose. May call nothing but mmap and
 * read. Cheap if nothing changed; waits for a write that is going on. */
PPROFDELTA_API void pprofdelta_heap_note_mappings(pprofdelta_heap *heap);

/* ---------------------------------------------------------------------------------------------
 * When something is wrong: no allocation, from any place
 * ------------------------------------------------------------------------------------------ */

#define PPROFDELTA_HEAP_TOP_DEPTH 32

typedef struct pprofdelta_heap_site {
    int64_t objects, bytes; /* in use */
    uint64_t stack[PPROFDELTA_HEAP_TOP_DEPTH];
    uint32_t depth; /* of stack; the whole one may be longer */
} pprofdelta_heap_site;

/* The n sites with the most bytes in use, most first; returns how many there are. Best effort:
 * takes the lock if it is free, and does without where it is not, so that numbers may then be of
 * slightly different moments and a site that is just being made may be missing. */
PPROFDELTA_API size_t pprofdelta_heap_top_sites(const pprofdelta_heap *heap,
                                                pprofdelta_heap_site *out, size_t n);

#define PPROFDELTA_HEAP_DUMP_MAX 64

/* Writes the n (at most PPROFDELTA_HEAP_DUMP_MAX; 0: all, in no order) largest sites to fd as text,
 * in gperftools' heap profile format, which pprof reads, with the mappings from /proc/self/maps, or
 * "# none" with PPROFDELTA_NO_MAPPINGS. Uses write(2) and less than 4 KiB of stack. 0, or an
 * errno value where fd does not take it. */
PPROFDELTA_API int pprofdelta_heap_dump(const pprofdelta_heap *heap, int fd, size_t n);

/* ---------------------------------------------------------------------------------------------
 * fork
 * ------------------------------------------------------------------------------------------ */

/* Around fork (pthread_atfork, or by hand). prepare waits for a write or an export step in another
 * thread; then all locks are held until parent, or child, in the same thread. */
PPROFDELTA_API void pprofdelta_heap_fork_prepare(pprofdelta_heap *heap);
PPROFDELTA_API void pprofdelta_heap_fork_parent(pprofdelta_heap *heap);

typedef enum pprofdelta_heap_child {
    PPROFDELTA_HEAP_KEEP = 0, /* what the parent had in use is in use in the child too */
    PPROFDELTA_HEAP_CLEAR     /* the child begins with nothing */
} pprofdelta_heap_child;

/* The child has its own identity, allocations counted from zero, epoch 1 and sequence 1; a batch
 * that its parent was sending is its parent's. Quick in both ways, since most children run another
 * program at once: the work is done by the first call in the child that tracks or begins a batch.
 * id as in the options. now: the time from which its window counts. */
PPROFDELTA_API void pprofdelta_heap_fork_child(pprofdelta_heap *heap, pprofdelta_heap_child what,
                                               uint64_t id, int64_t now);

/* ---------------------------------------------------------------------------------------------
 * Stats
 * ------------------------------------------------------------------------------------------ */

/* Counts since the tracker (or the child of a fork) began, unless they say "now". */
typedef struct pprofdelta_heap_stats {
    uint64_t live, sites, deferred;     /* now: tracked, distinct stacks, begun and not committed */
    int64_t inuse_objects, inuse_bytes; /* now: the estimates */
    uint64_t memory;                    /* now: bytes mapped for tracking, the filter not counted */
    uint64_t tracked, untracked;
    uint64_t not_tracked;      /* untrack calls for pointers that the filter let through */
    uint64_t replaced;         /* tracked again without having been untracked */
    uint64_t cut;              /* stacks deeper than max_depth */
    uint64_t dropped_live;     /* not tracked: max_live */
    uint64_t dropped_sites;    /* not tracked: max_sites */
    uint64_t dropped_memory;   /* not tracked: max_memory, or no pages to be had */
    uint64_t dropped_deferred; /* not deferred: max_deferred */
    uint64_t committed, cancelled;
    uint64_t swept;     /* untracked by a sweep */
    uint64_t forgotten; /* sites without anything in use that made room for others */
    uint64_t batches, acknowledged, given_back, lost, resyncs;
    uint64_t epoch, sequence; /* of the last batch that was begun */
} pprofdelta_heap_stats;

PPROFDELTA_API void pprofdelta_heap_get_stats(pprofdelta_heap *heap, pprofdelta_heap_stats *out);

#ifdef __cplusplus
}
#endif
#endif
