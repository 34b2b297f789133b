#include "heap/pool.h"

static size_t directory_size(const pd_pool *pool)
{
    return ((size_t)(pool->max >> PD_POOL_CHUNK_BITS) + 1) * sizeof *pool->chunks;
}

bool pd_pool_init(pd_pool *pool, pd_pages *pages, size_t element, uint32_t max)
{
    *pool = (pd_pool){.pages = pages, .element = element, .max = max};
    pool->chunks = pd_pages_map(pages, directory_size(pool));
    return pool->chunks != NULL;
}

void pd_pool_fini(pd_pool *pool)
{
    if (!pool->chunks)
        return;
    for (uint32_t i = 0; i <= pool->max >> PD_POOL_CHUNK_BITS && pool->chunks[i]; i++)
        pd_pages_unmap(pool->pages, pool->chunks[i], PD_POOL_CHUNK * pool->element);
    pd_pages_unmap(pool->pages, pool->chunks, directory_size(pool));
    pool->chunks = NULL;
}

uint32_t pd_pool_take(pd_pool *pool, bool *full)
{
    *full = false;
    uint32_t number = pool->unused;
    if (number) {
        pd_link *link = pd_pool_at(pool, number);
        pool->unused = link->next;
        return number;
    }
    if (pool->made >= pool->max) {
        *full = true;
        return 0;
    }
    number = pool->made + 1;
    uint8_t **chunk = &pool->chunks[number >> PD_POOL_CHUNK_BITS];
    if (!*chunk) {
        uint8_t *fresh = pd_pages_map(pool->pages, PD_POOL_CHUNK * pool->element);
        if (!fresh)
            return 0;
        __atomic_store_n(chunk, fresh, __ATOMIC_RELEASE);
    }
    /* A reader of `made` without the lock finds the chunk. */
    __atomic_store_n(&pool->made, number, __ATOMIC_RELEASE);
    return number;
}

void pd_pool_give(pd_pool *pool, uint32_t number)
{
    pd_link *link = pd_pool_at(pool, number);
    link->next = pool->unused;
    pool->unused = number;
}
