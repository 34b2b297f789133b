/* A thread with the smallest stack that musl allows, half of which it uses itself, allocates and maps memory.
 * A function that aligns its frame has a rule that only the compiler's unwinder can follow. */
#include "program.h"

enum { STACK = 2048, PAGE = 4096, ROUNDS = 100 };

static char *map(void)
{
    void *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

APART void *leak_small(void *unused)
{
    volatile _Alignas(64) char room[STACK / 2];
    void *volatile grown = NULL;
    room[0] = 1;
    for (int i = 1; i <= ROUNDS; i++) {
        grown = realloc(grown, (size_t)i * 1000);
        free(malloc((size_t)room[0] * 100));
    }
    char *pages = map();
    return !pages || munmap(pages, PAGE) ? (void *)1 : unused;
}

int main(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    void *result = NULL;
    char *pages = map();
    if (!pages || mprotect(pages, PAGE, PROT_NONE) || pthread_attr_init(&attributes) ||
        pthread_attr_setstack(&attributes, pages + PAGE, STACK) ||
        pthread_create(&thread, &attributes, leak_small, NULL) || pthread_join(thread, &result))
        return 2;
    return result != NULL;
}
