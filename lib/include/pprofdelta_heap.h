/* pprofdelta for allocators: a heap profile of the allocations that are alive, by sampling.
 *
 * An allocator, or a library that wraps one, has a sampler in each thread and one tracker. The
 * sampler decides which allocations are samples; most allocations cost two instructions. The
 * tracker holds the samples that are alive. At the end of each window the program takes what
 * changed as a batch and writes it as a small pprof profile.
 *
 *     void *my_malloc(size_t size)
 *     {
 *         void *ptr = real_malloc(size);
 *         if (pprofdelta_sampler_tick(&sampler, size))      // 2 instructions, rarely true
 *             sampled(ptr, size);
 *         return ptr;
 *     }
 *     void sampled(void *ptr, size_t size)
 *     {
 *         pprofdelta_heap_event event = {.ptr = ptr};
 *         if (pprofdelta_sampler_take(&sampler, size, &event.weight) && ptr) {
 *             event.depth = unwind(stack), event.stack = stack;
 *             pprofdelta_heap_track(heap, &event);
 *         }
 *     }
 *     void my_free(void *ptr)
 *     {
 *         if (pprofdelta_heap_maybe(&filter, ptr))          // 4 instructions, rarely true
 *             pprofdelta_heap_untrack(heap, ptr);           // before the allocator has it back
 *         real_free(ptr);
 *     }
 *     every minute:
 *         if (pprofdelta_heap_begin(heap, now, NULL, &err) == PPROFDELTA_OK) {
 *             status = pprofdelta_heap_write(heap, PPROFDELTA_HEAP_BY_FORMAT, &sink, &err);
 *             if (!status && the profile has arrived)
 *                 pprofdelta_heap_commit(heap);
 *             else
 *                 pprofdelta_heap_abandon(heap);
 *         }
 *
 * The profile
 *     It has six types: alloc_objects/count, alloc_space/bytes, inuse_objects/count,
 *     inuse_space/bytes, peak_objects/count and peak_space/bytes. The peak is what was in use when
 *     most bytes were in use, from when the tracker began to the end of the window. The values are
 *     estimates for all allocations, computed from the sampled ones. There are three kinds:
 *         kind=full     allocated: since the tracker began   in use, peak: everything
 *         kind=delta    allocated: in the window             in use, peak: what changed
 *         kind=window   allocated: in the window             in use, peak: everything
 *     A full batch opens an epoch. The batches after it continue the epoch, and each can be written
 *     as delta or as window. The last full profile plus all later deltas of its epoch, added up
 *     sample by sample, equals what a full profile would contain. An allocation that is freed in
 *     the window in which it was made changes no in-use value. One that is freed later subtracts
 *     exactly what it added. The peak changes only in a window in which more was in use than ever
 *     before; a stack with a smaller share of the new peak than of the one before has negative
 *     values. Deferred allocations are in use, and count for the peak, when they are completed.
 *     With PPROFDELTA_HEAP_AGES there are two more types, freed_objects/count and freed_space/bytes:
 *     what ended in the window, by age. In the samples above they are of age 0: it ended in the window
 *     in which it was made. What is older is in samples of its own, with the same stack and labels and one
 *     more label: `age`, a number with the unit "windows". Age 1: it was made in the window before. A
 *     window is one that was committed or lost; one that was abandoned is part of the next. Ages are
 *     exact up to 15, then rounded down to two significant bits (16, 24, 32, 48, 64, ...), so that a stack has
 *     few ages. A full profile has what ended since the tracker began. So of
 *     what a stack allocated in a window, what is still alive follows from the profiles of this window
 *     and later ones: alloc_* of the window, minus freed_* with the age that leads back to it.
 *     The caller may add one more type, a gauge with rows of its own (pprofdelta_heap_set_gauge). It
 *     is absolute in every kind of profile: a receiver takes it from the last batch.
 *
 * The stamp (a comment in the profile)
 *     pprofdelta: live epoch=N seq=N attempt=N kind=full|delta|window from=NANOS to=NANOS id=HEX
 *     id identifies the tracker, and so the process: 16 hexadecimal digits. seq counts the batches
 *     of a tracker from 1, across epochs. A batch that was abandoned is sent again with the events
 *     that followed it, with the same seq and a higher attempt. from is the beginning of the
 *     window; in a full profile it is when the tracker began. to is later than the to of every
 *     earlier batch and attempt, whatever the clock says.
 *
 * Two full profiles
 *     pprofdelta_window accepts full profiles. It reports PPROFDELTA_RESTART_LIVE if the id differs
 *     from that of the profile before, or if from is later than the to of the profile before.
 *
 * Receivers
 *     For each id and seq a receiver keeps the batch with the highest attempt, in whatever order
 *     they arrive. It adds up from the full batch with the highest seq on. It adds the batch with
 *     the next seq if that has the same epoch and its from equals the to of the batch before it.
 *     Otherwise a batch is missing: the receiver waits for that batch or for the next full batch,
 *     which opens a higher epoch and replaces everything before it. The check of from is necessary:
 *     attempt 1 of batch n may arrive although it was abandoned, and attempt 2, which contains
 *     more, may be committed and then get lost. Only the from of batch n+1 shows that.
 *     pprofdelta_heap(3) contains a receiver as a program; pprofdelta_adder and `pprofdelta sum` do
 *     the same.
 *
 * Probes (experimental)
 *     The tracker has two static probes (USDT), otel_memory:alloc and otel_memory:free, for tracers
 *     outside of the process: see pprofdelta_heap(3).
 *
 * Threads, signals, fork
 *     A sampler belongs to one thread. Tracking functions (track, untrack, realloc_*, defer,
 *     complete) may be called by any number of threads at once and from inside an
 *     allocator. They take memory from mmap only, keep errno, and hold a lock for well under a
 *     microsecond. A thread that is in one of them must not call another one (from a signal handler
 *     that allocates or frees): set a flag in the thread, and skip the call if it is set. Export
 *     functions (begin, write, commit, abandon, resync, note_mappings) may be called by any thread,
 *     from a place where malloc may be called. They wait for each other. No tracking function waits
 *     for them longer than a few microseconds. write may call malloc (for the compressor, once): if
 *     malloc is what is tracked, pause the sampler of the thread around it. dump may be called
 *     from anywhere, including signal handlers. For fork, see the end of this header.
 */
#ifndef PPROFDELTA_HEAP_H
#define PPROFDELTA_HEAP_H

#include "pprofdelta_common.h"

PPROFDELTA_BEGIN

/* ---------------------------------------------------------------------------------------------
 * The sampler: one for each thread
 * ------------------------------------------------------------------------------------------ */

/* What a sampled allocation stands for: about 1/(1-exp(-size/interval)) allocations of its size,
 * rounded up or down at random, so that sums are correct on average. Never negative. */
typedef struct pprofdelta_weight {
    int64_t objects, bytes;
} pprofdelta_weight;

/* Owned by the caller, usually in thread-local storage (inside an allocator: initial-exec). All
 * members are private. A sampler of all zeros has not begun: its first tick of a size above 0
 * returns 1, and pprofdelta_sampler_take then returns 0 (see pprofdelta_sampler_has_begun). A
 * sampler holds no resource: nothing has to be done when its thread ends. */
typedef struct pprofdelta_sampler {
    int64_t left;      /* bytes to the next sample; below 0: this allocation */
    int64_t held;      /* left, while paused */
    uint64_t interval; /* mean distance; 0: off */
    uint64_t random[2];
    uint32_t pauses, has_begun;
} pprofdelta_sampler;

/* Begins, or begins again, with no pause. interval is the mean number of allocated bytes between two
 * samples. 0: no samples. 1: every allocation is a sample and stands for itself. seed: equal seeds
 * give equal samples; 0: a seed from the clock and the address. Call it again to change the interval
 * (samples that were taken keep their weight), and in the child of a fork, which would otherwise take
 * the same samples as its parent. */
PPROFDELTA_API void pprofdelta_sampler_init(
    pprofdelta_sampler *sampler, uint64_t interval, uint64_t seed);

static inline int pprofdelta_sampler_has_begun(const pprofdelta_sampler *sampler)
{
    return sampler->has_begun != 0;
}

/* Counts an allocation of size bytes. size is at most PTRDIFF_MAX. Returns 1 if the allocation may
 * be a sample: then call pprofdelta_sampler_take. Allocations of 0 bytes are never samples: pass 1
 * for them to sample them. The tick may come before or after the allocation. A tick for an
 * allocation that fails does no harm. */
static inline int pprofdelta_sampler_tick(pprofdelta_sampler *sampler, size_t size)
{
    sampler->left = (int64_t)((uint64_t)sampler->left - (uint64_t)size);
    return __builtin_expect(sampler->left < 0, 0) != 0;
}

/* Call it when a tick returned 1, with the same size. It draws the distance to the next sample.
 * Returns 1 if this allocation is a sample, and sets *weight. Returns 0 if it is not (off, paused,
 * not begun). */
PPROFDELTA_API int pprofdelta_sampler_take(
    pprofdelta_sampler *sampler, size_t size, pprofdelta_weight *weight);

/* Between pause and resume the allocations of this thread are neither sampled nor counted towards
 * the next sample. Pauses nest. resume without pause does nothing. */
static inline void pprofdelta_sampler_pause(pprofdelta_sampler *sampler)
{
    if (sampler->pauses++)
        return;
    sampler->held = sampler->left;
    sampler->left = INT64_MAX;
}

static inline void pprofdelta_sampler_resume(pprofdelta_sampler *sampler)
{
    if (sampler->pauses && !--sampler->pauses)
        sampler->left = sampler->held;
}

/* ---------------------------------------------------------------------------------------------
 * The filter: which pointers are certainly not tracked
 * ------------------------------------------------------------------------------------------ */

#define PPROFDELTA_HEAP_GRANULE_BITS 10
#define PPROFDELTA_HEAP_FILTER_LEN   ((size_t)1 << (32 - PPROFDELTA_HEAP_GRANULE_BITS))

/* One byte for each KiB of address space, repeating every 4 GiB: the number of tracked allocations
 * that begin there. Neighbours in memory are neighbours in the filter, so the bytes that are read
 * stay in the cache. It takes 4 MiB of address space; only what is written becomes memory. Put it
 * into static storage (zeroed), where the compiler knows its address, or let the tracker map it. */
typedef struct pprofdelta_heap_filter {
    uint8_t at[PPROFDELTA_HEAP_FILTER_LEN];
} pprofdelta_heap_filter;

/* A write to this byte at the same time concerns another allocation, so either value is correct. A
 * plain load suffices, and it is the only one that compilers fold into the comparison.
 * ThreadSanitizer needs an atomic one. */
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

/* Returns 0 if the tracker certainly does not have this pointer, and 1 if it may have it: then call
 * pprofdelta_heap_untrack. Returns 0 or 1 for NULL, which is never tracked. */
static inline int pprofdelta_heap_maybe(const pprofdelta_heap_filter *filter, const void *ptr)
{
    const uint8_t *byte = &filter->at[(uint32_t)(uintptr_t)ptr >> PPROFDELTA_HEAP_GRANULE_BITS];
    return __builtin_expect(PPROFDELTA_HEAP_LOAD_(*byte) != 0, 0) != 0;
}

/* ---------------------------------------------------------------------------------------------
 * The tracker
 * ------------------------------------------------------------------------------------------ */

typedef struct pprofdelta_heap pprofdelta_heap;

/* The memory of a tracker: zeroed pages. map returns NULL if there are none. size is a multiple of
 * 4096. Both are called while a lock is held: they must not call the tracker. */
typedef struct pprofdelta_heap_pages {
    void *(*map)(void *cookie, size_t size);
    void (*unmap)(void *cookie, void *ptr, size_t size);
    void *cookie;
} pprofdelta_heap_pages;

/* Flags of pprofdelta_heap_options, besides PPROFDELTA_NO_STAMP and PPROFDELTA_NO_MAPPINGS.
 * (Batches without a stamp cannot be added up safely.) */
enum {
    /* The process ran already when the tracker began. A comment in its profiles says so, and from when on they have
     * what was allocated: "pprofdelta: attached at=NANOS (...)". */
    PPROFDELTA_HEAP_ATTACHED = 1u << 13,
    /* Profiles have what ended by age, in two more types. `age` is no label of the caller then. */
    PPROFDELTA_HEAP_AGES = 1u << 12,
    /* The symbolizer knows the names of functions only. A mapping is marked as having functions if
     * the symbolizer knew one of its addresses, and as having nothing else, so readers of the profile
     * may look for lines and inlined calls. Without this flag the mappings of a profile with a
     * symbolizer are marked as having all symbols. */
    PPROFDELTA_HEAP_NAMES_ONLY = 1u << 11
};

/* Begin with PPROFDELTA_HEAP_OPTIONS_INIT. 0 and NULL are the defaults. */
typedef struct pprofdelta_heap_options {
    size_t size; /* sizeof(pprofdelta_heap_options) */
    unsigned flags;
    uint64_t period;                    /* the samplers' interval; written to the profile */
    uint64_t id;                        /* of the tracker, for the stamp; 0: a random one */
    int64_t started_nanos;              /* since 1970: the beginning of the first window */
    pprofdelta_heap_filter *filter;     /* zeroed, outlives the tracker; NULL: mapped by it */
    const pprofdelta_heap_pages *pages; /* copied; NULL: mmap */
    /* Limits. What does not fit is dropped and counted in the stats. 0: the default. */
    uint64_t max_memory;   /* bytes mapped for tracking, without the filter; 256 MiB */
    uint32_t max_live;     /* tracked allocations alive at once; 4,194,304 */
    uint32_t max_sites;    /* distinct stacks with labels; 1,048,576 */
    uint32_t max_depth;    /* frames of a stack that are kept, from the leaf on; 512 */
    uint32_t max_deferred; /* allocations that are deferred at once; 4,096 */
    uint32_t max_attempts; /* attempts that may be abandoned in a row; 16, else than pprof: all */
    uint64_t max_retry;    /* bytes of sites that may wait in an abandoned batch; 64 MiB */
    uint64_t max_export;   /* bytes that writing a profile may take; 1 GiB */
    pprofdelta_compression compression; /* of the profiles */
    int level; /* 1..9; 0: as 1, the fastest, which stores up to 4000 bytes */
    /* Called once for each address in a profile, while it is written. It must give the same answer
     * for a number in no mapping as long as allocations with that number are alive, since a batch
     * must subtract at the same location what an earlier batch added. NULL: addresses and mappings
     * only. */
    pprofdelta_symbolizer *symbolize;
    void *symbolize_cookie;
    pprofdelta_format format; /* of the profiles */
    /* PPROFDELTA_OTLP: the attributes of the resource; copied. A later one replaces an earlier one
     * with the same key. */
    const pprofdelta_attribute *resource;
    size_t resource_len;
    /* A type behind the others for the rows of pprofdelta_heap_set_gauge. Its name must not begin with
     * "alloc_", "inuse_", "peak_" or "freed_". Both are borrowed until pprofdelta_heap_free. NULL: none. */
    const char *gauge, *gauge_unit;
    /* For indexes and for the work on a profile: what pprofdelta_heap_recover does not read. Copied;
     * NULL: pages. */
    const pprofdelta_heap_pages *work;
    /* One more type for the same rows, behind options.gauge and with its unit and conditions; NULL: none. */
    const char *second_gauge;
} pprofdelta_heap_options;

#define PPROFDELTA_HEAP_OPTIONS_INIT PPROFDELTA_SIZED(pprofdelta_heap_options)

/* Makes an empty tracker. All its memory comes from options.pages. options may be NULL for the
 * defaults. E_MEMORY, E_USAGE. */
PPROFDELTA_API pprofdelta_status pprofdelta_heap_new(
    const pprofdelta_heap_options *options, pprofdelta_heap **out, pprofdelta_error *err);

/* Frees the tracker, and removes its allocations from the filter. No thread may be in a call with
 * it. heap may be NULL. */
PPROFDELTA_API void pprofdelta_heap_free(pprofdelta_heap *heap);

/* ---------------------------------------------------------------------------------------------
 * Tracking
 * ------------------------------------------------------------------------------------------ */

/* A sampled allocation. Everything is copied. */
typedef struct pprofdelta_heap_event {
    const void *ptr; /* the pointer, or any number but 0 that the end names, too */
    pprofdelta_weight weight;
    /* The leaf first. Addresses are written as they are: for a call, give an address within the
     * call instruction (the return address minus 1). With a symbolizer they may be any numbers. */
    const uint64_t *stack;
    size_t depth;
    const pprofdelta_label *labels; /* their order has no meaning */
    size_t labels_len;
    /* Two stacks are the same only if this number is the same. For programs that unload code: the
     * number of times that code was unloaded at these addresses, for example. */
    uint64_t code;
    /* The bytes that the program asked for; for the probes only. 0: about weight's bytes for each of
     * its objects. */
    size_t size;
    /* Not 0: this is what a realloc added to the block at ptr. It has a stack and a birth of its own, and
     * ends with the block. If the block is not tracked, it is tracked as an allocation. */
    int is_piece;
} pprofdelta_heap_event;

/* Tracks an allocation that is alive. Returns 1 if it is tracked. Returns 0 if there was no room, or if
 * the event is not valid: the allocation is counted as dropped or as refused in the stats, and appears
 * in no profile. If the pointer is
 * already tracked, its end was not seen: the older allocation ends first (stats.replaced). */
PPROFDELTA_API int pprofdelta_heap_track(pprofdelta_heap *heap, const pprofdelta_heap_event *event);

/* Ends an allocation. Call it before the allocator has the pointer back: after that another thread
 * may be given the pointer and track it. Returns 1 if the pointer was tracked or deferred. */
PPROFDELTA_API int pprofdelta_heap_untrack(pprofdelta_heap *heap, const void *ptr);

/* realloc, in three steps. The old block may be given to another thread before realloc has
 * returned, and it stays where it is if realloc fails:
 *
 *     pprofdelta_heap_realloc r;
 *     size_t before = size_of(old);
 *     int was = pprofdelta_heap_maybe(&filter, old) &&
 *               pprofdelta_heap_realloc_begin(heap, old, &r);
 *     ptr = real_realloc(old, size);
 *     const void *now = ptr ? ptr : size ? old : NULL;         // it failed, or freed the block
 *     size_t after = now ? size_of(now) : 0;
 *     if (was)
 *         pprofdelta_heap_realloc_end(heap, &r, now, before, after);
 *     if (after > before && pprofdelta_sampler_tick(&sampler, after - before))
 *         sampled(ptr, after - before);                        // as above, with event.is_piece = 1
 *
 * So the block keeps its birth, and what realloc adds is a piece, sampled by the bytes that were added.
 * Each piece counts as an object. If the block gets smaller, each of its pieces gets smaller by the same
 * share; the bytes have ended, and the objects of pieces without bytes, but for the first. Between begin and end, the old allocation counts as alive,
 * but is not found by its pointer. For each begin that returned 1, call end once. Where the size of a
 * block is not known, give NULL to end, and track ptr as a new allocation. */
typedef struct pprofdelta_heap_realloc {
    uint64_t held;
    int64_t bytes; /* those that the block counts for. With the interval 1 it is the block's size */
} pprofdelta_heap_realloc;

/* Returns 1 if ptr is tracked; *r then holds the allocation. Returns 0 if it is not: do not call
 * end. A deferred allocation is cancelled, even if the realloc fails: track the whole block then. */
PPROFDELTA_API int pprofdelta_heap_realloc_begin(
    pprofdelta_heap *heap, const void *ptr, pprofdelta_heap_realloc *r);
/* ptr: where the block is now: what realloc returned, or the old pointer if realloc failed; NULL: it was
 * freed. before and after are the bytes of the block; they have an effect if after is less. Cannot fail. */
PPROFDELTA_API void pprofdelta_heap_realloc_end(pprofdelta_heap *heap, pprofdelta_heap_realloc *r,
    const void *ptr, size_t before, size_t after);

/* ---------------------------------------------------------------------------------------------
 * Deferred tracking: for what cannot be found out inside the allocation. Experimental
 * ------------------------------------------------------------------------------------------ */

#if defined(PPROFDELTA_EXPERIMENTAL)

/* What pprofdelta_heap_defer returns. DROPPED: there was no room, or the event is not valid; the allocation
 * appears in no profile. COMPLETE_SOON: it is deferred, and more than half of max_deferred is in use. */
enum { PPROFDELTA_HEAP_DROPPED, PPROFDELTA_HEAP_DEFERRED, PPROFDELTA_HEAP_COMPLETE_SOON };

/* Stores what is known of an allocation while it is made: pointer and weight, perhaps stack and
 * labels. A deferred allocation appears in no profile until it is completed. If it ends before, by
 * pprofdelta_heap_untrack, it leaves no trace (stats.cancelled). */
PPROFDELTA_API int pprofdelta_heap_defer(pprofdelta_heap *heap, const pprofdelta_heap_event *event);

/* Completes one deferred allocation. *event has what pprofdelta_heap_defer was given; the function
 * may replace any of it, including the pointer (by an id).
 * What *event points to must stay valid until the function is called again or
 * pprofdelta_heap_complete returns. Return 1 to track the allocation, 0 to forget it
 * (stats.cancelled). No lock is held: the function may allocate, and may call track, untrack and
 * defer. */
typedef int pprofdelta_heap_completion(void *cookie, pprofdelta_heap_event *event);

/* Completes the allocations that were deferred before the call, oldest first. Call it from a
 * place where the completion function may do its work. completion may be NULL if nothing is
 * missing. Returns how many are now tracked. Does nothing if a thread, this one included, is
 * already in it. */
PPROFDELTA_API size_t pprofdelta_heap_complete(
    pprofdelta_heap *heap, pprofdelta_heap_completion *completion, void *cookie);

#endif

/* ---------------------------------------------------------------------------------------------
 * Windows
 * ------------------------------------------------------------------------------------------ */

typedef enum pprofdelta_heap_kind {
    PPROFDELTA_HEAP_DELTA = 0, /* continues an epoch */
    PPROFDELTA_HEAP_FULL       /* opens an epoch */
} pprofdelta_heap_kind;

/* How the in-use values and the peak of a DELTA batch are written. Has no effect on a FULL batch. A
 * receiver of OTLP or tables shows what a profile says and cannot add changes up. */
typedef enum pprofdelta_heap_inuse {
    PPROFDELTA_HEAP_BY_FORMAT = 0, /* CHANGES for PPROFDELTA_PPROF, else SNAPSHOT */
    PPROFDELTA_HEAP_CHANGES,       /* kind=delta: in use: what was added minus what was freed */
    PPROFDELTA_HEAP_SNAPSHOT       /* kind=window: in use: everything */
} pprofdelta_heap_inuse;

/* A window, and the batch that it is written as. */
typedef struct pprofdelta_heap_window {
    size_t size; /* the caller sets it to sizeof(pprofdelta_heap_window) */
    pprofdelta_heap_kind kind;
    uint64_t id, epoch, sequence, attempt; /* as in the stamp */
    int64_t from_nanos, to_nanos;
    uint64_t changed; /* sites (stacks with labels) that changed in the window */
} pprofdelta_heap_window;

/* Begins a window with all events up to now; later events go into the next one. Takes constant time.
 * now: nanoseconds since 1970. If it is not later than the end of the last batch, this batch ends one
 * nanosecond after that. window may be NULL. E_USAGE if a window is under way, or if now is in the last
 * 2^40 nanoseconds before INT64_MAX, which are kept for batches that end later than now.
 *
 * A batch is FULL
 *   - until a FULL batch has been committed,
 *   - after pprofdelta_heap_resync,
 *   - after a batch was lost (see pprofdelta_heap_abandon),
 *   - after the tracker had to forget sites to make room.
 * With PPROFDELTA_OTLP or _TABLES, only the first of these counts: a receiver adds up the counters of all profiles,
 * and a SNAPSHOT has what is in use. What was allocated in a lost batch is in no profile then. */
PPROFDELTA_API pprofdelta_status pprofdelta_heap_begin(
    pprofdelta_heap *heap, int64_t now, pprofdelta_heap_window *window, pprofdelta_error *err);

/* Writes the window to the sink. It may be called again, also with another value of inuse, until
 * the window is committed or abandoned. The sink is called once, when the profile is complete, with
 * no lock held. After a failure the window is still under way: write it again or abandon it. E_USAGE
 * without a window or a sink, or while a sink of this tracker is being called; E_MEMORY, E_LIMIT
 * (max_export), E_SINK. */
PPROFDELTA_API pprofdelta_status pprofdelta_heap_write(pprofdelta_heap *heap,
    pprofdelta_heap_inuse inuse, const pprofdelta_sink *sink, pprofdelta_error *err);

/* A sample of the caller's own: its values of the types options.gauge and options.second_gauge. The
 * others are 0. */
typedef struct pprofdelta_heap_row {
    const pprofdelta_frame *frames; /* the leaf first: frames with names and without addresses */
    size_t frames_len;
    const uint64_t *stack; /* the callers of these frames, as in pprofdelta_heap_event */
    size_t depth;
    int64_t value;
    int64_t second; /* ignored without options.second_gauge */
} pprofdelta_heap_row;

/* Sets the rows that pprofdelta_heap_write adds to the window under way, and a comment for the
 * profile (NULL: none). The mappings of the addresses are those at the time of the write. Rows with
 * the value 0 are not written. Everything is borrowed until the window is committed or abandoned,
 * and is forgotten then. E_USAGE without a window or without options.gauge, while a sink of this
 * tracker is being called, or if an array is NULL and its length is not 0. */
PPROFDELTA_API pprofdelta_status pprofdelta_heap_set_gauge(pprofdelta_heap *heap,
    const pprofdelta_heap_row *rows, size_t rows_len, const char *comment, pprofdelta_error *err);

/* The profile has arrived: the next window begins where this one ended. E_USAGE unless the last write
 * of the window succeeded, and while a sink of this tracker is being called; nothing has changed
 * then. */
PPROFDELTA_API pprofdelta_status pprofdelta_heap_commit(pprofdelta_heap *heap);

/* The profile was lost, or may have been lost. The next window also has its events, the same
 * sequence, and the next attempt if a sink was called. After max_attempts in a row, or if the sites
 * that wait would take more than max_retry bytes, the batch is lost: the next batch is FULL and opens
 * an epoch, so that nothing is missing in the end. It has the next sequence, if a sink was called
 * with the lost one. Cannot fail; without a window, does nothing. */
PPROFDELTA_API void pprofdelta_heap_abandon(pprofdelta_heap *heap);

/* The next batch to begin is FULL and opens an epoch. For receivers that ask for it, and after a
 * batch was committed that did not arrive. */
PPROFDELTA_API void pprofdelta_heap_resync(pprofdelta_heap *heap);

/* Reads which files are mapped where. The tracker does this itself when it writes a profile with
 * new addresses. Call this before dlclose: code that is unloaded before it was written has no name
 * otherwise. Calls mmap and read only. Fast if nothing changed. Waits for a write that is under
 * way. */
PPROFDELTA_API void pprofdelta_heap_note_mappings(pprofdelta_heap *heap);

/* ---------------------------------------------------------------------------------------------
 * The largest sites as text: without allocation, from any place
 * ------------------------------------------------------------------------------------------ */

#define PPROFDELTA_HEAP_DUMP_MAX 64

/* Names an address of a stack, if a language made it up. Sets name, filename and line, which must be valid until the
 * dump is written. Returns 0 if it has no name, or else 1. Must keep to what the dump promises: no lock, no allocation. */
typedef int pprofdelta_heap_namer(void *cookie, uint64_t address, pprofdelta_frame *out);

/* Writes the n largest sites (at most PPROFDELTA_HEAP_DUMP_MAX; 0: all, in no order) to fd, as text
 * in gperftools' heap profile format, which pprof reads. The mappings come from /proc/self/maps;
 * with PPROFDELTA_NO_MAPPINGS the dump has "# none" instead. Takes no lock: the numbers may be of
 * slightly different times, and a site that is being made may be missing. Uses write(2) and less than
 * 4 KiB of stack. name may be NULL; what it names is added in comments. Returns 0, or an errno value if writing
 * failed. */
PPROFDELTA_API int pprofdelta_heap_dump(
    const pprofdelta_heap *heap, int fd, size_t n, pprofdelta_heap_namer *name, void *cookie);

/* ---------------------------------------------------------------------------------------------
 * fork
 * ------------------------------------------------------------------------------------------ */

/* See pprofdelta_fork. PREPARE waits until no other thread computes a profile, and takes all locks;
 * PARENT and CHILD give them back. now: with CHILD, the beginning of the child's first window, in
 * nanoseconds since 1970.
 *
 * What the parent had in use is in use in the child, too; its peak begins with that. The child has a
 * random id, allocations counted from zero, epoch 1 and sequence 1. A window that was under way
 * belongs to the parent. The call is fast, since most children run another program at once: the first
 * call in the child that tracks or begins a window does the work.
 *
 * PREPARE would wait for ever in a signal handler that has interrupted a function of the tracker on the same thread. So a
 * handler of fork that finds the thread there (by its own flag) does not call PREPARE and PARENT, and calls LOST
 * in the child, alone. There the tracker is lost, since another thread of the parent may have been changing its
 * tables. The interrupted function returns, and so do all others: nothing is tracked, export functions and describe
 * return E_USAGE, and free frees nothing. LOST is for the children of such a child, too, and CHILD does the same there.
 *
 * ANEW, between PREPARE and PARENT, ends all allocations and begins as in a child, with nothing in use: for a caller
 * that has seen no free for some time. */
PPROFDELTA_API void pprofdelta_heap_fork(pprofdelta_heap *heap, pprofdelta_fork step, int64_t now);

/* ---------------------------------------------------------------------------------------------
 * The last window of a process that was killed
 * ------------------------------------------------------------------------------------------ */

/* An area of the memory that options.pages gave to a tracker, and that outlived the process (a mapping
 * that is shared with a file, for example). */
typedef struct pprofdelta_heap_area {
    /* Aligned to 8. They must not change during the call: not a shared mapping. */
    const void *bytes;
    size_t len;
    uint64_t base; /* the address that the first byte had, a multiple of 8 */
} pprofdelta_heap_area;

typedef struct pprofdelta_heap_remains {
    const pprofdelta_heap_area *areas;
    size_t areas_len;
    uint64_t root; /* the pprofdelta_heap, as an address of that process */
} pprofdelta_heap_remains;

/* Makes a tracker of what a killed process left, to write its last window: begin it with the time of the
 * death, write it, and commit. The window has the events since the last commit. It continues the id,
 * the epoch and the sequence; a window that was being sent is sent again with the next attempt. What is in
 * use is what was in use at the end. The profile has a comment "recovered: ...", and addresses with
 * the mappings that the tracker read last; options.symbolize is called with addresses of the dead
 * process.
 *
 * The bytes may be damaged or hostile. A stack, or what ended with an age, whose check is wrong is left out, and so
 * are all values of the peak if they do not add up: see left_out of the stats, and the comment. Whatever else is
 * damaged is refused. The period, the id, the start and the limits of sites come from the remains; other
 * options are the caller's: format, gauge and gauge_unit should be those of the dead tracker. The
 * new tracker must not track. E_STATE (damaged, cut, or of another version or build of the library),
 * E_MEMORY, E_USAGE. */
PPROFDELTA_API pprofdelta_status pprofdelta_heap_recover(const pprofdelta_heap_remains *remains,
    const pprofdelta_heap_options *options, pprofdelta_heap **out, pprofdelta_error *err);

/* ---------------------------------------------------------------------------------------------
 * What a tracker knows of itself
 * ------------------------------------------------------------------------------------------ */

/* Counted since the tracker (or the child of a fork) began. Members marked "now" are of the
 * moment. */
typedef struct pprofdelta_heap_stats {
    size_t size;                        /* the caller sets it to sizeof(pprofdelta_heap_stats) */
    uint64_t live, sites, deferred;     /* now: tracked allocations, distinct stacks, deferred */
    int64_t inuse_objects, inuse_bytes; /* now: the estimates */
    uint64_t memory;                    /* now: bytes mapped for tracking, without the filter */
    uint64_t tracked, untracked;
    uint64_t not_tracked; /* untrack calls for pointers that the filter let through */
    uint64_t replaced;    /* tracked again without an untrack before */
    uint64_t cut;         /* stacks deeper than max_depth */
    /* Not tracked: max_live, max_sites, and max_memory or no pages. */
    uint64_t dropped_live, dropped_sites, dropped_memory;
    uint64_t dropped_deferred;     /* not deferred: max_deferred */
    uint64_t completed, cancelled; /* deferred allocations */
    uint64_t forgotten;            /* sites with nothing in use that were removed to make room */
    uint64_t batches, committed, abandoned, lost;
    uint64_t resyncs;         /* epochs after the first */
    uint64_t epoch, sequence; /* of the last batch that was begun */
    uint64_t changed;         /* now: sites that changed since the last batch was begun */
    /* When most bytes were in use: what was, and the time, by CLOCK_REALTIME; 0: never. */
    int64_t peak_objects, peak_bytes, peak_nanos;
    uint64_t dropped_ages; /* ended without an age in the profiles: no room; PPROFDELTA_HEAP_AGES */
    /* Neither tracked nor deferred: an array of the event is NULL and its length is not 0, its weight is
     * below 0, or with it all that was ever tracked would not fit in 64 bits. */
    uint64_t refused;
    /* Of a recovered tracker: stacks, ages and peaks (0 or 1) that were damaged. */
    uint64_t left_out;
    const pprofdelta_heap_filter *filter; /* options.filter, or the one that the tracker mapped */
} pprofdelta_heap_stats;

/* E_USAGE if out->size is not set. */
PPROFDELTA_API pprofdelta_status pprofdelta_heap_describe(
    pprofdelta_heap *heap, pprofdelta_heap_stats *out);

PPROFDELTA_END
#endif
