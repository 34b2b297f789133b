/* One window as a stranger makes it, in the ordinary way and by two threads; and what differs. */
#ifndef PD_TESTS_TWO_THREADS_H
#define PD_TESTS_TWO_THREADS_H

#include "run.h"

#include <pthread.h>

typedef struct outcome {
    pprofdelta_status status;
    pprofdelta_error err;
    pprofdelta_report report;
    collector out;
    pprofdelta_status next; /* of one more window of the same, where that was OK */
} outcome;

/* What goes in. */
typedef struct pair {
    arena *arena;
    const pprofdelta_options *options;
    int64_t started;
    buf prev, cur;
} pair;

/* A tracker for two threads. */
typedef struct shared_tracker {
    pthread_mutex_t lock;
    tracker t;
} shared_tracker;

shared_tracker shared_tracker_begin(void);
pprofdelta_allocator shared_allocator(shared_tracker *s);

/* The other thread's reading; what it reads is gone as soon as it may. */
typedef struct reader {
    pprofdelta_ahead *ahead; /* NULL: there was no memory for one */
    uint8_t *bytes;
    size_t len;
    pthread_t thread;
} reader;

void reader_begin(reader *r, pprofdelta *pd, buf cur);
void reader_end(reader *r); /* twice is fine */

/* Has another thread help, commits meanwhile, hands the pack to the outcome, and frees it. */
pprofdelta_status send_pack(pprofdelta *pd, pprofdelta_pack *pack, outcome *o);

outcome by_one(const pair *p);

/* The same by two threads, and the ordinary way where the first cannot be. */
outcome by_two(const pair *p, shared_tracker *s);

/* NULL, or what. */
const char *differs(arena *a, const outcome *one, const outcome *two);

/* A heap of so many samples, more than a batch and enough for two to compress, when it has counted
 * so much. The sample `bad`, if there is one, has a place that is not there. */
enum { LARGE_SAMPLES = 9000, NONE = LARGE_SAMPLES };
buf large_profile(arena *a, uint64_t counted, size_t bad);

#endif
