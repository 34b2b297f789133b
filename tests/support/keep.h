/* States in memory: saved from a context, loaded into one, and changed with correct checksums. */
#ifndef PD_TESTS_KEEP_H
#define PD_TESTS_KEEP_H

#include "arena.h"
#include "pprofdelta.h"

/* A source of bytes, at most `step` in a call (0: as many as asked for). */
typedef struct keep_source {
    const uint8_t *ptr;
    size_t len, at, step;
    size_t calls;
    size_t fail_at; /* number of the call that fails, from 1; 0: none */
} keep_source;

pprofdelta_source keep_source_of(keep_source *s);

/* Saves the context. Ends the test program on failure. */
buf keep_save(arena *a, pprofdelta *pd);

pprofdelta_status keep_load(pprofdelta *pd, buf state, pprofdelta_error *err);

/* Corrects the checksum of a state, if it is long enough to have one. */
void keep_forge(uint8_t *state, size_t len);

#endif
