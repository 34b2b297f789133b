/* What the tables of a tracker are made of, from the bottom up:
 *
 *     pages      whole pages of zeros, counted and limited
 *     pool       elements with numbers, which never move
 *     chains     a hash index over the elements of a pool */
#ifndef PD_HEAP_POOLS_H
#define PD_HEAP_POOLS_H

#include "base/mem.h"
#include "pprofdelta_heap.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- words that are read without the lock ---------------------------------------------------- */

/* 64-bit words that one thread writes under a lock and others read, whole, without it.
 *
 * On a 32-bit machine a uint64_t may be aligned to 4 bytes; then no instruction reads all of it at
 * once. These are aligned to 8 bytes everywhere. */

typedef uint64_t pd_shared_word __attribute__((aligned(8)));
typedef int64_t pd_shared_sum __attribute__((aligned(8)));

/* ---- pages ----------------------------------------------------------------------------------- */

/* The memory of a tracker: whole pages of zeros, never from malloc.
 *
 * What is mapped is counted and limited. Pages that are used for tracking are unmapped when the
 * tracker is freed, and not before. So a reader without the lock (top_sites, in a signal handler)
 * may follow a pointer to memory that is not used any more: it reads old words. */

#define PD_PAGE ((size_t)4096)

typedef struct pd_run pd_run;

typedef struct pd_pages {
    pprofdelta_heap_pages source;
    pprofdelta_heap_pages work; /* for indexes: what a recovery does not read */
    uint64_t used, limit;
    pd_run *run; /* from which small blocks of the allocator are taken; NULL: none */
} pd_pages;

/* source may be NULL: mmap. It is the one of work, too. */
void pd_pages_init(pd_pages *pages, const pprofdelta_heap_pages *source, uint64_t limit);

/* At least size bytes of zeros, or NULL. Keeps errno. Unmap them with the same size. */
void *pd_pages_map(pd_pages *pages, size_t size);
void pd_pages_unmap(pd_pages *pages, void *ptr, size_t size);

/* An allocator that takes pages, for buffers that are used without the lock. */
pprofdelta_allocator pd_pages_allocator(pd_pages *pages);

/* ---- the pool -------------------------------------------------------------------------------- */

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

/* Returns the number of an unused element, or 0 if the pool is full or there are no pages. The element
 * has its old contents, or zeros if it is new. */
uint32_t pd_pool_take(pd_pool *pool);

static inline bool pd_pool_is_full(const pd_pool *pool)
{
    return !pool->unused && pool->made >= pool->max;
}

void pd_pool_give(pd_pool *pool, uint32_t number);

/* ---- the chains ------------------------------------------------------------------------------ */

/* A hash index over the elements of a pool.
 *
 *     heads   [ 7 | 0 | 3 | 12 | ... ]     the first element of each chain; 0: empty
 *
 * The number of chains follows from how many elements there may be, so that no insertion waits for a
 * table to grow: chains have 16 elements on average when the pool is full, and a pool that is nearly
 * empty has written few pages of the heads. */

typedef struct pd_chains {
    pd_pool *pool;
    uint32_t *heads;
    uint32_t mask; /* the number of chains, a power of two, minus 1 */
    uint32_t len;  /* elements */
} pd_chains;

/* False: no pages. */
bool pd_chains_init(pd_chains *chains, pd_pool *pool);
void pd_chains_fini(pd_chains *chains);

static inline uint32_t *pd_chains_head(const pd_chains *chains, uint32_t hash)
{
    return &chains->heads[hash & chains->mask];
}

/* Puts the element at the front of its chain. */
void pd_chains_add(pd_chains *chains, uint32_t number, uint32_t hash);

/* Removes an element. It must be there. */
void pd_chains_remove(pd_chains *chains, uint32_t number);

#endif
