/* Elements of one size that have numbers and never move.
 *
 *     chunks   [ * | * | * | . | . ]       a directory for as many as the limit allows
 *                |   |   +-> [ 2048.. ]    chunks of 1024 elements, mapped when they are needed
 *                |   +-----> [ 1024..2047 ]
 *                +---------> [ 0..1023 ]   number 0 means none
 *
 * The pool grows by one chunk and copies nothing, so no insertion waits for a table to be copied.
 * Unused elements are in a list and are used first. An element begins with a pd_link, for that list
 * and for the chains of a hash index. */
#ifndef PD_HEAP_POOL_H
#define PD_HEAP_POOL_H

#include "heap/pages.h"

#include <stdbool.h>

enum { PD_POOL_CHUNK_BITS = 10, PD_POOL_CHUNK = 1 << PD_POOL_CHUNK_BITS };

typedef struct pd_link {
    uint32_t next; /* in its chain, or in the list of unused elements; 0: the last */
    uint32_t hash;
} pd_link;

typedef struct pd_pool {
    pd_pages *pages;
    uint8_t **chunks;
    size_t element;  /* bytes of one */
    uint32_t max;    /* the highest number allowed */
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

/* Returns the number of an unused element, or 0. *full is true if the limit is reached, false if
 * there are no pages. The element has its old contents, or zeros if it is new. */
uint32_t pd_pool_take(pd_pool *pool, bool *full);
void pd_pool_give(pd_pool *pool, uint32_t number);

#endif
