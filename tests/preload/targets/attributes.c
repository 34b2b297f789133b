/* Starts threads that ask for the attributes of their own stack, one after the other and at once. The
 * C library allocates for the answer, and holds a lock of the thread meanwhile. Rust's library asks
 * the same at the start of each thread. */
#include "program.h"

enum { ROUNDS = 20, THREADS = 8 };

static void *volatile kept[ROUNDS * THREADS];

static void ask(pthread_t thread)
{
    pthread_attr_t attributes;
    if (pthread_getattr_np(thread, &attributes))
        abort();
    pthread_attr_destroy(&attributes);
}

APART void *leak_in_thread(void *slot)
{
    ask(pthread_self());
    void *volatile *to = slot;
    *to = malloc(1000);
    ask(pthread_self());
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    ask(pthread_self());
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < THREADS; i++)
            threads[i] = start_thread(leak_in_thread, (void *)&kept[round * THREADS + i]);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
    printf("%d threads\n", ROUNDS * THREADS);
    return 0;
}
