#include "heap/pools.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* ---- pages ----------------------------------------------------------------------------------- */

static void *map_anonymous(void *cookie, size_t size)
{
    (void)cookie;
    void *ptr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return ptr == MAP_FAILED ? NULL : ptr;
}

static void unmap_anonymous(void *cookie, void *ptr, size_t size)
{
    (void)cookie;
    munmap(ptr, size);
}

void pd_pages_init(pd_pages *pages, const pprofdelta_heap_pages *source, uint64_t limit)
{
    static const pprofdelta_heap_pages kernel = {map_anonymous, unmap_anonymous, NULL};
    *pages = (pd_pages){.source = source ? *source : kernel, .limit = limit};
    pages->work = pages->source;
}

static size_t rounded_size(size_t size)
{
    return (size + PD_PAGE - 1) & ~(PD_PAGE - 1);
}

static void *map_from(pd_pages *pages, const pprofdelta_heap_pages *source, size_t size)
{
    if (size > SIZE_MAX / 2 || rounded_size(size) > pages->limit - pages->used)
        return NULL;
    int kept = errno;
    void *ptr = source->map(source->cookie, rounded_size(size));
    errno = kept;
    if (ptr)
        pages->used += rounded_size(size);
    return ptr;
}

static void unmap_to(pd_pages *pages, const pprofdelta_heap_pages *source, void *ptr, size_t size)
{
    if (!ptr)
        return;
    int kept = errno;
    source->unmap(source->cookie, ptr, rounded_size(size));
    errno = kept;
    pages->used -= rounded_size(size);
}

void *pd_pages_map(pd_pages *pages, size_t size)
{
    return map_from(pages, &pages->source, size);
}

void pd_pages_unmap(pd_pages *pages, void *ptr, size_t size)
{
    unmap_to(pages, &pages->source, ptr, size);
}

/* Blocks of less than a page lie together in runs, since each page that is touched takes a microsecond. A run goes with
 * its last block. Any other block is a mapping of its own. */
enum { FRONT = 64, RUN = 32 << 10 }; /* FRONT: before each block and run; it keeps the alignment */

struct pd_run {
    size_t used, blocks;
};

typedef struct front {
    size_t whole;
    pd_run *run; /* NULL: the block has none */
} front;

static uint8_t *take_of_run(pd_pages *pages, size_t whole)
{
    if (!pages->run || pages->run->used + whole > RUN) {
        pd_run *fresh = pd_pages_map(pages, RUN);
        if (!fresh)
            return NULL;
        fresh->used = FRONT;
        pages->run = fresh;
    }
    uint8_t *block = (uint8_t *)pages->run + pages->run->used;
    pages->run->used += whole;
    pages->run->blocks++;
    return block;
}

static void release_pages(void *cookie, void *ptr)
{
    pd_pages *pages = cookie;
    const front *f = (void *)((uint8_t *)ptr - FRONT);
    pd_run *run = f->run;
    if (!run) {
        pd_pages_unmap(pages, (uint8_t *)ptr - FRONT, f->whole);
    } else if (!--run->blocks) {
        pages->run = run == pages->run ? NULL : pages->run;
        pd_pages_unmap(pages, run, RUN);
    }
}

static void *resize_pages(void *cookie, void *ptr, size_t size)
{
    pd_pages *pages = cookie;
    if (size > SIZE_MAX / 2)
        return NULL;
    const size_t small = (size + 2 * (size_t)FRONT - 1) / FRONT * FRONT;
    const bool is_small = small < PD_PAGE;
    const size_t whole = is_small ? small : rounded_size(size + FRONT);
    const front *old = ptr ? (void *)((uint8_t *)ptr - FRONT) : NULL;
    if (old && whole == old->whole)
        return ptr;
    uint8_t *to = is_small ? take_of_run(pages, whole) : pd_pages_map(pages, whole);
    if (!to)
        return NULL;
    *(front *)(void *)to = (front){whole, is_small ? pages->run : NULL};
    if (old) {
        memcpy(to + FRONT, ptr, (old->whole < whole ? old->whole : whole) - FRONT);
        release_pages(pages, ptr);
    }
    return to + FRONT;
}

pprofdelta_allocator pd_pages_allocator(pd_pages *pages)
{
    return (pprofdelta_allocator){resize_pages, release_pages, pages};
}

/* ---- the pool -------------------------------------------------------------------------------- */

static size_t chunks_size(const pd_pool *pool)
{
    return ((size_t)(pool->max >> PD_POOL_CHUNK_BITS) + 1) * sizeof *pool->chunks;
}

bool pd_pool_init(pd_pool *pool, pd_pages *pages, size_t element, uint32_t max)
{
    *pool = (pd_pool){.pages = pages, .element = element, .max = max};
    pool->chunks = pd_pages_map(pages, chunks_size(pool));
    return pool->chunks != NULL;
}

void pd_pool_fini(pd_pool *pool)
{
    if (!pool->chunks)
        return;
    for (uint32_t i = 0; i <= pool->max >> PD_POOL_CHUNK_BITS && pool->chunks[i]; i++)
        pd_pages_unmap(pool->pages, pool->chunks[i], PD_POOL_CHUNK * pool->element);
    pd_pages_unmap(pool->pages, pool->chunks, chunks_size(pool));
    pool->chunks = NULL;
}

uint32_t pd_pool_take(pd_pool *pool)
{
    uint32_t number = pool->unused;
    if (number) {
        pd_link *link = pd_pool_at(pool, number);
        pool->unused = link->next;
        return number;
    }
    if (pool->made >= pool->max)
        return 0;
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

/* ---- the chains ------------------------------------------------------------------------------ */

enum { FEWEST = 1024, FULL_CHAIN = 16 };

static size_t heads_size(const pd_chains *chains)
{
    return ((size_t)chains->mask + 1) * sizeof *chains->heads;
}

/* Takes little of what may be mapped, whatever the limits. */
bool pd_chains_init(pd_chains *chains, pd_pool *pool)
{
    uint32_t buckets = FEWEST;
    while (buckets < pool->max / FULL_CHAIN && buckets < pool->pages->limit / 1024)
        buckets *= 2;
    *chains = (pd_chains){.pool = pool, .mask = buckets - 1};
    chains->heads = map_from(pool->pages, &pool->pages->work, heads_size(chains));
    return chains->heads != NULL;
}

void pd_chains_fini(pd_chains *chains)
{
    if (chains->heads)
        unmap_to(chains->pool->pages, &chains->pool->pages->work, chains->heads,
                 heads_size(chains));
    chains->heads = NULL;
}

void pd_chains_add(pd_chains *chains, uint32_t number, uint32_t hash)
{
    uint32_t *head = pd_chains_head(chains, hash);
    *(pd_link *)pd_pool_at(chains->pool, number) = (pd_link){*head, hash};
    *head = number;
    chains->len++;
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
