/* Elements of one size, known by number, that never move.
 *
 *     chunks   [ * | * | * | . | . ]       a directory for all that the cap allows, and
 *                |   |   +-> [ 2048.. ]    chunks of 1024 elements, mapped when first needed
 *                |   +-----> [ 1024..2047 ]
 *                +---------> [ 0..1023 ]   number 0 stands for none
 *
 * Growing maps one more chunk and touches nothing that is there, so no insertion ever waits for a
 * table to be copied. Elements that were let go are linked through their first word and taken
 * first. An element begins with a pd_link, which is also what the chains of a hash index run
 * through. */
#ifndef PD_HEAP_POOL_H
#define PD_HEAP_POOL_H

#include "heap/pages.h"

#include <stdbool.h>

enum { PD_POOL_CHUNK_BITS = 10, PD_POOL_CHUNK = 1 << PD_POOL_CHUNK_BITS };

typedef struct pd_link {
    uint32_t next; /* in its chain, or in the list of those let go; 0: the last */
    uint32_t hash;
} pd_link;

typedef struct pd_pool {
    pd_pages *pages;
    uint8_t **chunks;
    size_t element;  /* bytes of one */
    uint32_t max;    /* the highest number that may be used */
    uint32_t made;   /* the highest that ever was */
    uint32_t unused; /* the first of those let go */
} pd_pool;

/* False: no pages. */
bool pd_pool_init(pd_pool *pool, pd_pages *pages, size_t element, uint32_t max);
void pd_pool_fini(pd_pool *pool);

static inline void *pd_pool_at(const pd_pool *pool, uint32_t number)
{
    return pool->chunks[number >> PD_POOL_CHUNK_BITS] +
           (number & (PD_POOL_CHUNK - 1)) * pool->element;
}

/* The number of an unused element, or 0: *full tells whether for the cap or for want of pages. Its
 * contents are what it was left with; zeros, if never used. */
uint32_t pd_pool_take(pd_pool *pool, bool *full);
void pd_pool_give(pd_pool *pool, uint32_t number);

#endif
