#include "heap/chains.h"

enum { FIRST = 1024 };

static size_t directory_size(const pd_chains *chains)
{
    return ((size_t)(chains->most >> PD_CHAINS_CHUNK_BITS) + 1) * sizeof *chains->heads;
}

static bool has_chunk(pd_chains *chains, uint32_t bucket)
{
    uint32_t **chunk = &chains->heads[bucket >> PD_CHAINS_CHUNK_BITS];
    if (!*chunk)
        *chunk = pd_pages_map(chains->pool->pages, PD_CHAINS_CHUNK * sizeof **chunk);
    return *chunk;
}

bool pd_chains_init(pd_chains *chains, pd_pool *pool)
{
    uint32_t most = pool->max < FIRST ? FIRST : pool->max;
    *chains = (pd_chains){.pool = pool, .buckets = FIRST, .most = most, .mask = FIRST * 2 - 1};
    chains->heads = pd_pages_map(pool->pages, directory_size(chains));
    return chains->heads && has_chunk(chains, 0);
}

void pd_chains_fini(pd_chains *chains)
{
    if (!chains->heads)
        return;
    for (uint32_t i = 0; i <= chains->most >> PD_CHAINS_CHUNK_BITS && chains->heads[i]; i++)
        pd_pages_unmap(chains->pool->pages, chains->heads[i],
                       PD_CHAINS_CHUNK * sizeof **chains->heads);
    pd_pages_unmap(chains->pool->pages, chains->heads, directory_size(chains));
    chains->heads = NULL;
}

/* Adds a bucket. The elements that belong there come from one other bucket. */
static void split(pd_chains *chains)
{
    uint32_t fresh = chains->buckets;
    if (fresh >= chains->most || !has_chunk(chains, fresh))
        return;
    uint32_t *from = pd_chains_head(chains, fresh), *to, stay = 0, go = 0;
    uint32_t number = *from;
    chains->buckets++;
    uint32_t mask = chains->mask;
    if (chains->buckets > mask)
        chains->mask = mask * 2 + 1;
    to = &chains->heads[fresh >> PD_CHAINS_CHUNK_BITS][fresh & (PD_CHAINS_CHUNK - 1)];
    while (number) {
        pd_link *link = pd_pool_at(chains->pool, number);
        uint32_t next = link->next, *list = (link->hash & mask) == fresh ? &go : &stay;
        link->next = *list;
        *list = number;
        number = next;
    }
    *from = stay;
    *to = go;
}

void pd_chains_add(pd_chains *chains, uint32_t number, uint32_t hash)
{
    pd_link *link = pd_pool_at(chains->pool, number);
    uint32_t *head = pd_chains_head(chains, hash);
    *link = (pd_link){*head, hash};
    *head = number;
    if (++chains->len > chains->buckets)
        split(chains);
}

void pd_chains_remove(pd_chains *chains, uint32_t number)
{
    pd_link *gone = pd_pool_at(chains->pool, number);
    uint32_t *at = pd_chains_head(chains, gone->hash);
    while (*at != number)
        at = &((pd_link *)pd_pool_at(chains->pool, *at))->next;
    *at = gone->next;
    chains->len--;
}
