/* A receiver of a live heap's profiles, written from the contract: reads each through the message
 * view and the text of its stamp, and adds up what pprofdelta_heap.h says is added up.
 *
 * A sample is identified by a text: its addresses, then its labels in order. The same texts are
 * made from events, so that a list of the live allocations can be compared with the receiver's
 * sums. */
#ifndef PD_TESTS_LIVE_H
#define PD_TESTS_LIVE_H

#include "arena.h"
#include "pprofdelta_heap.h"

/* The types with ages; without them there are LIVE_PLAIN. The first LIVE_SUMS are not the peak. */
enum { LIVE_TYPES = 8, LIVE_PLAIN = 6, LIVE_SUMS = 4 };

typedef struct live_row {
    const char *key;
    int64_t values[LIVE_TYPES];
} live_row;

/* Sums by key. */
typedef struct live_sums {
    arena *arena;
    live_row *rows;
    size_t len, cap;
} live_sums;

/* NULL: there is none. */
live_row *live_find(const live_sums *sums, const char *key);

void live_add(live_sums *sums, const char *key, const int64_t *values);

/* What is in use now becomes the peak, if it is more than ever (*most bytes). */
void live_note_peak(live_sums *sums, int64_t *most);

/* What a child that keeps its parent's allocations begins with: they are the peak. */
live_sums live_inherited(const live_sums *of, int64_t *most);

/* Returns NULL if both are equal (rows of zeros do not count), else the difference. */
const char *live_differ(const live_sums *got, const live_sums *want);

/* The text of an event's stack (up to max_depth) and labels. */
const char *live_key(arena *a, const pprofdelta_heap_event *event, size_t max_depth);

/* The key of what ended with this age (in windows, not rounded): that of the event; from age 1 with the label. */
const char *live_age_key(arena *a, const char *key, unsigned windows);

/* The stamp of a profile, and its samples. */
typedef struct live_profile {
    uint64_t id, epoch, sequence, attempt;
    char kind[8];
    int64_t from_nanos, to_nanos;
    size_t types; /* LIVE_PLAIN or LIVE_TYPES */
    live_sums sums;
} live_profile;

/* Returns false if it is not a valid profile, or OTLP request, with these types and one valid stamp. */
bool live_read(arena *a, const void *bytes, size_t len, live_profile *out);

/* The receiver: the sum of the batches of one epoch. */
typedef struct live_receiver {
    arena *arena;
    live_profile last; /* of the last batch */
    live_sums before;  /* the sum of all earlier batches of the epoch */
    live_sums now;     /* the last batch */
    bool has_any;
    unsigned gaps; /* batches that could not be added: one before them is missing */
} live_receiver;

void live_receive(live_receiver *receiver, const live_profile *profile);

/* A sink that keeps the last output. */
typedef struct live_mail {
    arena *arena;
    const void *bytes;
    size_t len;
    unsigned calls;
    bool refuses;
} live_mail;

pprofdelta_sink live_sink(live_mail *mail);

/* A pointer for an event, with this number. */
static inline const void *live_pointer(size_t at)
{
    return (const void *)(uintptr_t)(0x10000 + at * 4096); // NOLINT(performance-no-int-to-ptr)
}

/* For ENDS. */
static inline void heap_end(pprofdelta_heap **heap)
{
    pprofdelta_heap_free(*heap);
}

#endif
