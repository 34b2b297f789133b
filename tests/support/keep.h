/* States in memory: saved from a context, loaded into one, and forged with the right sums. */
#ifndef PD_TESTS_KEEP_H
#define PD_TESTS_KEEP_H

#include "arena.h"
#include "pprofdelta.h"

/* A source that hands out bytes, at most `step` at a time (0: as many as are wanted). */
typedef struct keep_source {
    const uint8_t *ptr;
    size_t len, at, step;
    size_t calls;
    size_t fail_at; /* the call that fails, from 1; 0: none */
} keep_source;

pprofdelta_source keep_source_of(keep_source *s);

/* What the context remembers. Ends the test program where it cannot be saved. */
buf keep_save(arena *a, pprofdelta *pd);

pprofdelta_status keep_load(pprofdelta *pd, buf state, pprofdelta_error *err);

/* Makes both sums of a state right again, as far as it is long enough to have any. */
void keep_forge(uint8_t *state, size_t len);

#endif
