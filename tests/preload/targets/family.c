/* Every way to get memory and to give it back: says what a caller can see of each (alignment,
 * errno, contents), which must be the same with the agent in between. With a number: so many
 * rounds, each of which leaves nothing behind. */
#include "program.h"

#include <malloc.h>

static void say(const char *what, void *ptr, size_t alignment)
{
    printf("%s: %s, %s, errno %d\n", what, ptr ? "memory" : "NULL",
           (uintptr_t)ptr % alignment ? "not aligned" : "aligned", errno);
}

/* Sizes that no allocator has; not constants, or the compiler has an opinion on them. */
static volatile size_t huge = SIZE_MAX / 2 + 4096, half = SIZE_MAX / 2, zero;

static void show(void)
{
    void *ptr = NULL, *volatile nothing = NULL;
    errno = 7;
    say("malloc", ptr = malloc(1000), 16);
    errno = 7;
    free(ptr);
    free(nothing);
    printf("free: errno %d\n", errno);
    say("calloc", ptr = calloc(100, 10), 16);
    printf("calloc: %s\n", memcmp(ptr, (char[1000]){0}, 1000) ? "not clear" : "clear");
    memset(ptr, 'x', 1000);
    say("realloc", ptr = realloc(ptr, 100000), 16);
    printf("realloc: %s\n", ((char *)ptr)[999] == 'x' ? "kept" : "lost");
    say("reallocarray", ptr = reallocarray(ptr, 10, 20), 16);
    printf("usable: %d\n", malloc_usable_size(ptr) >= 200);
    say("realloc to nothing", realloc(ptr, zero), 1);
    errno = 7;
    printf("posix_memalign: %d\n", posix_memalign(&ptr, 4096, 10));
    say("posix_memalign", ptr, 4096);
    free(ptr);
    ptr = NULL;
    printf("posix_memalign of 3: %d\n", posix_memalign(&ptr, 3, 10) == EINVAL);
    printf("posix_memalign of too much: %d\n", posix_memalign(&ptr, 64, huge) == ENOMEM);
    say("posix_memalign of too much", ptr, 1);
    say("aligned_alloc", ptr = aligned_alloc(256, 1024), 256);
    free(ptr);
    say("memalign", ptr = memalign(1024, 100), 1024);
    free(ptr);
    say("valloc", ptr = valloc(100), 4096);
    free(ptr);
    say("pvalloc", ptr = pvalloc(100), 4096);
    free(ptr);
    errno = 0;
    say("malloc of too much", malloc(huge), 1);
    errno = 0;
    say("malloc of half of it", malloc(half), 1);
    errno = 0;
    say("calloc of too much", calloc(huge, 16), 1);
    errno = 0;
    say("reallocarray of too much", reallocarray(NULL, huge, 16), 1);
    ptr = malloc(10);
    memset(ptr, 'y', 10);
    errno = 0;
    say("realloc to too much", realloc(ptr, huge), 1);
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it was not freed */
    printf("realloc to too much: %s\n", ((char *)ptr)[9] == 'y' ? "kept" : "lost");
    free(ptr);
    say("malloc of nothing", ptr = malloc(zero), 1);
    free(ptr);
}

APART void go_round(size_t size)
{
    void *ptr[8] = {malloc(size),
                    calloc(size, 3),
                    realloc(NULL, size),
                    reallocarray(NULL, 2, size),
                    aligned_alloc(64, size * 64),
                    memalign(128, size),
                    valloc(size),
                    NULL};
    if (posix_memalign(&ptr[7], 32, size))
        abort();
    for (int i = 0; i < 4; i++)
        ptr[i] = realloc(ptr[i], size * 7);
    for (int i = 0; i < 8; i++)
        free(ptr[i]);
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    for (long i = 0; i < rounds; i++)
        go_round((size_t)(i % 3000) + 1);
    show();
    return 0;
}
