/* The life of a heap as the bytes of an input tell it, beside a naive list of what is true: which
 * allocation is at which pointer, and what a full profile would say. Batches, forks and what the
 * tracker says of itself are fuzz_heap.c's. */
#ifndef PD_TESTS_FUZZ_LIFE_H
#define PD_TESTS_FUZZ_LIFE_H

#include "fuzz.h"

#include "live.h"
#include "program.h"
#include "run.h"

enum { SLOTS = 24, MOST_DEPTH = 8, HANDS = 3, MOST_STEPS = 300, MOST_WRITES = 12, NESTED = 3 };

typedef enum state { NONE, LIVE, DEFERRED } state;

typedef struct piece {
    const char *key;
    pprofdelta_weight weight;
    size_t born; /* the stretch */
} piece;

/* What is at a pointer. */
typedef struct truth {
    state state;
    piece *pieces; /* the block, and what reallocs added */
    size_t len, cap;
    unsigned life; /* which of the pointer's lives this is */
} truth;

/* What ended. Between two begins of batches is a stretch. */
typedef struct death {
    piece piece;
    size_t died;
} death;

/* A realloc under way. */
typedef struct hand {
    pprofdelta_heap_realloc held, freed; /* freed: a copy of the last one that was */
    truth was;
    bool is_full;
} hand;

typedef struct trial {
    program in;
    arena arena;
    pprofdelta_heap_options options;
    pprofdelta_heap_pages pages;
    tracker memory; /* the pages */
    pprofdelta_heap *heap;
    truth slots[SLOTS];
    hand hands[HANDS];
    live_sums sums; /* what a full profile says, but for the ages */
    death *deaths;
    size_t deaths_len, deaths_cap;
    unsigned *windows; /* the window of each stretch, where it is known */
    size_t windows_len, windows_cap;
    size_t stretch; /* the one that goes on; its window is not known while a batch is under way */
    int64_t most;   /* bytes that were in use */
    uint64_t drops; /* that are accounted for */
    unsigned steps, writes, nested;
    /* The batch under way. */
    bool has_batch, has_arrived;
    bool is_written; /* the last write of the batch succeeded */
    uint64_t id;
    pprofdelta_heap_window batch;
    live_sums then; /* the sums when it began */
    live_receiver receiver;
    bool is_deaf; /* the receiver was told less than the tracker believes: until a full one comes */
    int64_t now;
    void (*step)(struct trial *t); /* whatever comes next in the program */
    /* The allocation whose completion is not seen through yet. */
    truth *completed;
} trial;

/* Zeroed between inputs: a tracker leaves it as it was. */
static pprofdelta_heap_filter filter;

/* ---- what is true ---------------------------------------------------------------------------- */

static inline const void *pointer(size_t slot)
{
    return (const void *)(uintptr_t)(0x10001000 + slot * (slot % 2 ? 48 : 5000));
}

static inline size_t slot_of(const void *ptr)
{
    size_t slot = 0;
    while (slot < SLOTS && pointer(slot) != ptr)
        slot++;
    require(slot < SLOTS);
    return slot;
}

static inline void account(trial *t, const piece *of, int allocs, int inuse)
{
    int64_t values[LIVE_TYPES] = {of->weight.objects * allocs, of->weight.bytes * allocs,
                                  of->weight.objects * inuse, of->weight.bytes * inuse};
    live_add(&t->sums, of->key, values);
}

/* The next stretch begins, in the window of the one before it or in another. */
static inline void begin_stretch(trial *t, bool is_next)
{
    unsigned before = t->windows_len ? t->windows[t->windows_len - 1] : 0;
    ARENA_PUSH(&t->arena, t->windows, t->windows_len, t->windows_cap, before + is_next);
}

/* Adds what ended, by age, to the sums. */
static inline void add_ages(trial *t, live_sums *to)
{
    for (size_t i = 0; i < t->deaths_len; i++) {
        const death *d = &t->deaths[i];
        unsigned age = t->windows[d->died] - t->windows[d->piece.born];
        const pprofdelta_weight weight = d->piece.weight;
        const int64_t values[LIVE_TYPES] = {0, 0, 0, 0, 0, 0, weight.objects, weight.bytes};
        live_add(to, live_age_key(&t->arena, d->piece.key, age), values);
    }
}

static inline void end_piece(trial *t, piece ended)
{
    account(t, &ended, 0, -1);
    ARENA_PUSH(&t->arena, t->deaths, t->deaths_len, t->deaths_cap, (death){ended, t->stretch});
}

static inline void die(trial *t, truth *of)
{
    for (size_t i = 0; i < of->len && of->state == LIVE; i++)
        end_piece(t, of->pieces[i]);
    of->state = NONE;
}

static inline void grow(trial *t, truth *of, const pprofdelta_heap_event *event)
{
    const char *key = live_key(&t->arena, event, t->options.max_depth);
    ARENA_PUSH(&t->arena, of->pieces, of->len, of->cap, (piece){key, event->weight, t->stretch});
    if (of->state == LIVE)
        account(t, &of->pieces[of->len - 1], 1, 1);
}

static inline void be_born(trial *t, truth *of, const pprofdelta_heap_event *event, state as)
{
    *of = (truth){.state = as, .life = of->life + 1};
    grow(t, of, event);
}

/* ---- drops ----------------------------------------------------------------------------------- */

static inline uint64_t drops_of(trial *t, pprofdelta_heap_stats *stats)
{
    pprofdelta_heap_describe(t->heap, stats);
    require(!stats->dropped_memory || t->memory.refused ||
            t->options.max_memory < UINT64_C(1) << 20);
    require(!stats->dropped_live || t->options.max_live <= SLOTS);
    require(!stats->dropped_sites || t->options.max_sites < 1000);
    require(!stats->dropped_deferred || t->options.max_deferred < SLOTS);
    require(!stats->dropped_ages || t->memory.refused || t->options.max_memory < UINT64_C(1) << 20);
    return stats->dropped_live + stats->dropped_sites + stats->dropped_memory +
           stats->dropped_deferred;
}

/* Something was to be kept: was it? */
static inline bool is_kept(trial *t)
{
    pprofdelta_heap_stats stats = {.size = sizeof stats};
    uint64_t drops = drops_of(t, &stats);
    bool is_kept = drops == t->drops;
    require(is_kept || drops == t->drops + 1);
    t->drops = drops;
    return is_kept;
}

/* What the last completion came to is known by its drop only. */
static inline void see_through(trial *t)
{
    truth *of = t->completed;
    t->completed = NULL;
    if (of && !is_kept(t)) {
        account(t, of->pieces, -1, -1);
        of->state = NONE;
    } else if (of) {
        live_note_peak(&t->sums, &t->most);
    }
}

/* ---- allocations ----------------------------------------------------------------------------- */

/* An allocation as bytes tell it. What it points to lives in the arena. */
static inline pprofdelta_heap_event read_event(trial *t, size_t slot)
{
    static const pprofdelta_label some[] = {{"thread", "main", 0, NULL},
                                            {"thread", "worker", 0, NULL},
                                            {"bytes", NULL, 48, "bytes"},
                                            {"bytes", NULL, 0, "bytes"},
                                            {"x", "", 7, NULL}};
    unsigned shape = program_byte(&t->in);
    size_t depth = shape % (MOST_DEPTH + 1), labels_len = shape / 16 % 4;
    uint64_t *stack = ARENA_ARRAY(&t->arena, uint64_t, depth);
    pprofdelta_label *labels = ARENA_ARRAY(&t->arena, pprofdelta_label, labels_len);
    uint64_t from = 0x400000 + program_byte(&t->in);
    for (size_t i = 0; i < depth; i++)
        stack[i] = from + i * i;
    for (size_t i = 0; i < labels_len; i++)
        labels[i] = some[(from + i) % (sizeof some / sizeof *some)];
    return (pprofdelta_heap_event){.ptr = pointer(slot),
                                   .weight = {1, 1 + (int64_t)(shape >> 6)},
                                   .stack = stack,
                                   .depth = depth,
                                   .labels = labels,
                                   .labels_len = labels_len};
}

static inline void track(trial *t, size_t slot, bool is_piece)
{
    pprofdelta_heap_event event = read_event(t, slot);
    truth *of = &t->slots[slot];
    event.is_piece = is_piece;
    is_piece = is_piece && of->state == LIVE;
    if (!is_piece)
        die(t, of); /* tracked again without being untracked: freed unseen */
    int answer = pprofdelta_heap_track(t->heap, &event);
    require(answer == is_kept(t));
    if (answer && is_piece)
        grow(t, of, &event);
    else if (answer)
        be_born(t, of, &event, LIVE);
    if (answer)
        live_note_peak(&t->sums, &t->most);
}

static inline void defer(trial *t, size_t slot)
{
    pprofdelta_heap_event event = read_event(t, slot);
    pprofdelta_heap_stats before = {.size = sizeof before}, after = {.size = sizeof after};
    truth *of = &t->slots[slot];
    pprofdelta_heap_describe(t->heap, &before);
    int answer = pprofdelta_heap_defer(t->heap, &event);
    require((answer != PPROFDELTA_HEAP_DROPPED) == is_kept(t));
    pprofdelta_heap_describe(t->heap, &after);
    if (after.dropped_deferred == before.dropped_deferred) /* else it was not even looked at */
        die(t, of);
    if (answer != PPROFDELTA_HEAP_DROPPED)
        be_born(t, of, &event, DEFERRED);
}

static inline void untrack(trial *t, size_t slot)
{
    truth *of = &t->slots[slot];
    bool was = of->state != NONE;
    require(!was || pprofdelta_heap_maybe(&filter, pointer(slot)));
    require(pprofdelta_heap_untrack(t->heap, pointer(slot)) == was);
    die(t, of);
}

static inline void begin_realloc(trial *t, size_t slot, hand *h)
{
    truth *of = &t->slots[slot];
    if (h->is_full)
        return;
    *h = (hand){.was = *of, .is_full = of->state == LIVE, .freed = h->freed};
    require(pprofdelta_heap_realloc_begin(t->heap, pointer(slot), &h->held) == h->is_full);
    int64_t bytes = 0;
    for (size_t i = 0; i < of->len && h->is_full; i++)
        bytes += of->pieces[i].weight.bytes;
    require(!h->is_full || h->held.bytes == bytes);
    of->state = NONE;
    pprofdelta_heap_realloc freed = h->freed; /* this one may have its element now */
    pprofdelta_heap_realloc_end(t->heap, &freed, NULL, 0, 0);
}

/* How the shares of several pieces are rounded depends on which of them were joined. */
static inline void shrink(trial *t, truth *of, size_t before, size_t after)
{
    piece *only = &of->pieces[0];
    int64_t kept = (int64_t)((double)only->weight.bytes / (double)before * (double)after);
    piece gone = {only->key, {0, only->weight.bytes - kept}, only->born};
    only->weight.bytes = kept;
    end_piece(t, gone);
}

/* The block is at a slot, where another one may be whose end was not seen; or it was freed. */
static inline void end_realloc(trial *t, hand *h, size_t slot, bool stands)
{
    if (!h->is_full)
        return;
    truth *of = &t->slots[slot];
    size_t before = 4, after = h->was.len == 1 ? slot % 5 : 4;
    h->is_full = false;
    h->freed = stands ? (pprofdelta_heap_realloc){.held = 0} : h->held;
    pprofdelta_heap_realloc_end(t->heap, &h->held, stands ? pointer(slot) : NULL, before, after);
    pprofdelta_heap_realloc_end(t->heap, &h->held, NULL, 0, 0); /* once more is once too often */
    if (!stands) {
        die(t, &h->was);
        return;
    }
    die(t, of);
    h->was.life = of->life + 1;
    *of = h->was;
    if (after < before)
        shrink(t, of, before, after);
}

/* ---- callbacks ------------------------------------------------------------------------------- */

/* It may be forgotten, become another, or be freed meanwhile; and whoever is called allocates. */
static inline int complete(void *cookie, pprofdelta_heap_event *event)
{
    trial *t = cookie;
    size_t slot = slot_of(event->ptr);
    truth *of = &t->slots[slot];
    unsigned life = of->life, how = program_byte(&t->in);
    see_through(t);
    require(of->state == DEFERRED);
    for (unsigned i = how & 3; i && t->nested < NESTED; i--) {
        t->nested++;
        t->step(t);
        t->nested--;
    }
    if (of->state != DEFERRED || of->life != life) /* whatever is said now is said too late */
        return how >> 2 & 1;
    of->state = NONE;
    if (how & 4)
        return 0;
    if (how & 8) { /* and by another pointer */
        slot = program_below(&t->in, SLOTS);
        of = &t->slots[slot];
        die(t, of);
        *event = read_event(t, slot);
    }
    be_born(t, of, event, LIVE);
    t->completed = of;
    return 1;
}

static inline void commit(trial *t)
{
    if (t->nested) {
        require(pprofdelta_heap_complete(t->heap, complete, t) == 0);
        return;
    }
    pprofdelta_heap_complete(t->heap, complete, t);
    see_through(t);
}

#endif
