/* What a pair of malloc and free costs: run plainly, and with one thing or another preloaded.
 *
 *     pairs ROUNDS PAIRS [SIZE [KEPT]]
 *
 * Prints, for each round, the nanoseconds of this thread's time that one pair took, with a
 * fraction. Blocks of SIZE bytes (0: mixed, 16 to 1024) go round in a ring of KEPT, so that each
 * lives for so many allocations, as a program's do. The first round, which grows the heap, is not
 * printed. */
#include "clock.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The same sizes in every run. */
static size_t next_size(size_t size, uint64_t *random)
{
    if (size)
        return size;
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return 16 + (size_t)(*random >> 54) % 1009;
}

__attribute__((noinline)) static void round_of_pairs(uint64_t pairs, size_t size, char **ring,
                                                     size_t kept, uint64_t *random)
{
    size_t at = 0;
    for (uint64_t i = 0; i < pairs; i++) {
        free(ring[at]);
        char *block = malloc(next_size(size, random));
        if (!block)
            abort();
        *(volatile char *)block = 1;
        ring[at] = block;
        if (++at == kept)
            at = 0;
    }
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    uint64_t rounds = strtoull(argv[1], NULL, 10), pairs = strtoull(argv[2], NULL, 10);
    size_t size = argc > 3 ? strtoul(argv[3], NULL, 10) : 64;
    size_t kept = argc > 4 ? strtoul(argv[4], NULL, 10) : 1;
    uint64_t random = 1;
    char **ring = calloc(kept, sizeof *ring);
    if (!ring)
        return 1;
    for (uint64_t i = 0; i <= rounds; i++) {
        int64_t before = now(CLOCK_THREAD_CPUTIME_ID);
        round_of_pairs(pairs, size, ring, kept, &random);
        if (i)
            printf("%.3f\n", (double)(now(CLOCK_THREAD_CPUTIME_ID) - before) / (double)pairs);
    }
    for (size_t i = 0; i < kept; i++)
        free(ring[i]);
    free(ring);
    return 0;
}
