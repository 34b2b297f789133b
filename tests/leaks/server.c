/* A server with planted leaks, and with all that grows and is no leak: see README.md.
 *
 *     server DIR WINDOWS REQUESTS   ends a window in DIR after every REQUESTS requests */
#include "window.h"

#include <pthread.h>
#include <stdint.h>

#define NOINLINE __attribute__((noinline))

/* What a compiler cannot leave out. */
static void *volatile kept;

static void *take(size_t size)
{
    void *block = malloc(size);
    if (!block)
        abort();
    memset(block, 1, size);
    return block;
}

/* ---- leaks ---------------------------------------------------------------------------------- */

NOINLINE static void leak_fast(void)
{
    kept = take(512);
}

NOINLINE static void leak_slow(void)
{
    kept = take(256);
}

NOINLINE static void leak_rare(void)
{
    kept = take(64 << 10);
}

NOINLINE static void *leak_thread(void *unused)
{
    for (int i = 0; i < 4; i++)
        kept = take(4096);
    return unused;
}

/* ---- no leaks ------------------------------------------------------------------------------- */

enum { CACHE = 3000, RING = 2000, POOL = 500, SESSIONS = 4000, BATCH = 4096 };

static void *cache[CACHE], *ring[RING], *pool[POOL], *sessions[SESSIONS], *batch[BATCH];
static size_t ring_at, pool_len, batch_len;
static uint64_t state = 1;

static uint64_t draw(uint64_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % below;
}

/* Fills in the first windows; then entries are replaced. */
NOINLINE static void fill_cache(void)
{
    size_t at = draw(CACHE);
    if (!cache[at])
        cache[at] = take(700);
}

NOINLINE static void write_ring(void)
{
    free(ring[ring_at]);
    ring[ring_at] = take(300);
    ring_at = (ring_at + 1) % RING;
}

NOINLINE static void grow_pool(void)
{
    if (pool_len < POOL)
        pool[pool_len++] = take(2048);
}

/* A session lives for a random number of requests. */
NOINLINE static void open_session(void)
{
    size_t at = draw(SESSIONS);
    free(sessions[at]);
    sessions[at] = draw(2) ? take(400) : NULL;
}

/* A batch is written when it is full. */
NOINLINE static void collect_batch(void)
{
    if (batch_len == BATCH)
        while (batch_len)
            free(batch[--batch_len]);
    batch[batch_len++] = take(200);
}

NOINLINE static void start_up(void)
{
    for (int i = 0; i < 100; i++)
        kept = take(10000);
}

NOINLINE static void load_again(void)
{
    kept = take(1 << 20);
}

NOINLINE static void answer(void)
{
    void *reply = take(1000);
    free(reply);
}

/* ---- requests ------------------------------------------------------------------------------- */

NOINLINE static void handle(unsigned long i)
{
    static void (*const parts[])(void) = {leak_fast, fill_cache,   write_ring,    grow_pool,
                                          answer,    open_session, collect_batch, open_session};
    parts[i % 8]();
    if (i % 64 == 0)
        leak_slow();
    if (i % 10000 == 0)
        leak_rare();
}

static void run_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, leak_thread, NULL))
        abort();
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    int windows = atoi(argv[2]), requests = atoi(argv[3]);
    unsigned long i = 0;
    start_up();
    for (int window = 0; window < windows; window++) {
        for (int n = 0; n < requests; n++)
            handle(i++);
        run_thread();
        if (window == windows / 2)
            load_again();
        end_window(argv[1]);
    }
    return 0;
}
