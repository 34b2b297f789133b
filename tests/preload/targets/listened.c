/* A program with threads whose allocations are counted apart: each thread makes 1,000 blocks of 7,777
 * bytes in several ways, resizes some and frees some, among blocks of other sizes. Prints how many
 * blocks of 7,777 bytes were made and how many ended, and ends by _exit. */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 4, BLOCKS = 1000, SIZE = 7777 };

static void *blocks[THREADS][BLOCKS];
static void *volatile sink;

static void *make(int i)
{
    void *ptr = NULL;
    switch (i % 4) {
    case 0:
        return malloc(SIZE);
    case 1:
        return calloc(1, SIZE);
    case 2:
        return posix_memalign(&ptr, 64, SIZE) ? NULL : ptr;
    default:
        return realloc(NULL, SIZE);
    }
}

/* Half of the blocks end, one in ten of them by a realloc. */
static void *work(void *cookie)
{
    void **own = cookie;
    for (int i = 0; i < BLOCKS; i++) {
        own[i] = make(i);
        sink = malloc((size_t)i % 100 + 1);
        free(sink);
        sink = realloc(malloc(10), (size_t)i * 3 + 1);
    }
    for (int i = 0; i < BLOCKS; i += 2) {
        if (i % 20 == 0)
            sink = realloc(own[i], 100000);
        else
            free(own[i]);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, blocks[i]))
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%d %d\n", THREADS * BLOCKS, THREADS * BLOCKS / 2);
    fflush(stdout);
    _exit(0);
}
