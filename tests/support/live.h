/* The receiver of a live heap's profiles, by the book: reads each through the message view and the
 * stamp's text alone, and adds up what pprofdelta_heap.h says is to be added up.
 *
 * A sample is known by a text: its addresses, then its labels in order. The same texts are made
 * from events, so that a naive list of what is alive can be held against what a receiver
 * believes. */
#ifndef PD_TESTS_LIVE_H
#define PD_TESTS_LIVE_H

#include "arena.h"
#include "pprofdelta_heap.h"

enum { LIVE_TYPES = 4 };

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

void live_add(live_sums *sums, const char *key, const int64_t *values);

/* NULL where both say the same (rows of zeros count for nothing), else what differs. */
const char *live_differ(const live_sums *got, const live_sums *want);

/* The text of an event's stack (not more than max_depth of it) and labels. */
const char *live_key(arena *a, const pprofdelta_heap_event *event, size_t max_depth);

/* The stamp of a profile, and its samples. */
typedef struct live_profile {
    uint64_t id, epoch, sequence, attempt;
    char kind[8];
    int64_t from_nanos, to_nanos;
    live_sums sums;
    const void *bytes; /* what it was read from */
    size_t len;
} live_profile;

/* False: not a valid profile with these four types and one good stamp. */
bool live_read(arena *a, const void *bytes, size_t len, live_profile *out);

/* What a receiver has: the batches of one epoch added up. */
typedef struct live_receiver {
    arena *arena;
    live_profile last; /* of the batch that came last */
    live_sums before;  /* all earlier ones of the epoch */
    live_sums now;     /* ... and the last */
    bool has_any;
    unsigned gaps; /* batches that could not be added: one before them is missing */
} live_receiver;

void live_receive(live_receiver *receiver, const live_profile *profile);

/* `pprofdelta sum` of profiles, in their order. False where it fails, and *err tells why. */
bool live_sum(arena *a, const live_profile *profiles, size_t len, live_profile *out,
              pprofdelta_error *err);

/* A sink that keeps the last output. */
typedef struct live_mail {
    arena *arena;
    const void *bytes;
    size_t len;
    unsigned calls;
    bool refuses;
} live_mail;

pprofdelta_sink live_sink(live_mail *mail);

#endif
