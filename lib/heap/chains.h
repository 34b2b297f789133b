/* A hash index over the elements of a pool. It grows by one bucket at a time (linear hashing).
 *
 *     heads   [ 7 | 0 | 3 | 12 | ... ]     the first element of each chain; 0: empty
 *
 * With n buckets, 2^k <= n < 2^(k+1), a hash belongs to bucket (hash mod 2^(k+1)) if there is
 * one, else to bucket (hash mod 2^k). So a new bucket takes elements from one other bucket only.
 * Each insertion beyond a load of one splits one chain: no insertion takes much longer than
 * another. The heads are in chunks that are mapped when they are needed. Without pages the
 * chains become longer. */
#ifndef PD_HEAP_CHAINS_H
#define PD_HEAP_CHAINS_H

#include "heap/pool.h"

enum { PD_CHAINS_CHUNK_BITS = 14, PD_CHAINS_CHUNK = 1 << PD_CHAINS_CHUNK_BITS };

typedef struct pd_chains {
    pd_pool *pool;
    uint32_t **heads;
    uint32_t buckets, most; /* in use; the most that there may be */
    uint32_t mask;          /* 2^(k+1) - 1 */
    uint32_t len;           /* elements */
} pd_chains;

/* False: no pages. */
bool pd_chains_init(pd_chains *chains, pd_pool *pool);
void pd_chains_fini(pd_chains *chains);

static inline uint32_t *pd_chains_head(const pd_chains *chains, uint32_t hash)
{
    uint32_t bucket = hash & chains->mask;
    if (bucket >= chains->buckets)
        bucket &= chains->mask >> 1;
    return &chains->heads[bucket >> PD_CHAINS_CHUNK_BITS][bucket & (PD_CHAINS_CHUNK - 1)];
}

/* Puts the element at the front of its chain. */
void pd_chains_add(pd_chains *chains, uint32_t number, uint32_t hash);

/* Removes an element. It must be there. */
void pd_chains_remove(pd_chains *chains, uint32_t number);

#endif
