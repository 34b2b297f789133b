/* A program that uses up its memory, to the last page, and then
 *
 *     starve exit      ends with status 3 if errno is ENOMEM
 *     starve abort     aborts
 *     starve go-on     frees some of it, allocates 100 blocks more, and ends with status 0
 *     starve not       uses up nothing
 *     starve mappings  uses up what the kernel allows of mappings instead, allocates, and ends with status 0
 *
 * starve HOW BITS has called malloc from 2^BITS distinct stacks before. */
#include "program.h"

LEAK(leak_at_last)

static void *spare; /* for go-on */

APART void leak_by_turns(unsigned bits, unsigned turns);

APART void turn_left(unsigned bits, unsigned turns)
{
    leak_by_turns(bits, turns / 2);
    sink = NULL;
}

APART void turn_right(unsigned bits, unsigned turns)
{
    leak_by_turns(bits, turns / 2);
    sink = NULL;
}

static void leak_by_turns(unsigned bits, unsigned turns)
{
    if (!bits)
        sink = malloc(16);
    else if (turns % 2)
        turn_right(bits - 1, turns);
    else
        turn_left(bits - 1, turns);
    sink = NULL;
}

APART void *hoard(size_t size)
{
    void *volatile got = malloc(size);
    return got;
}

static void use_up(void *before)
{
    for (size_t size = 1 << 20; size >= sizeof before; size /= 2) {
        for (void *got; (got = hoard(size)); before = got)
            memcpy(got, &before, sizeof before);
    }
    for (size_t size = 1 << 20; size >= 4096; size /= 2)
        while (mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
            continue;
    sink = before;
}

static int use_up_mappings(void)
{
    enum { PAGE = 4096, MOST = 100000, BLOCKS = 20000 };
    char *pages = mmap(NULL, 2UL * PAGE * MOST, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    leak_at_last();
    for (size_t i = 0; !mprotect(pages + 2UL * PAGE * i, PAGE, PROT_READ); i++)
        if (i == MOST - 1)
            return 77; /* the kernel allows more */
    for (int i = 0; i < BLOCKS; i++)
        sink = malloc(16);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "mappings") == 0)
        return use_up_mappings();
    const struct rlimit limit = {192 << 20, 192 << 20};
    unsigned bits = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    if (argc < 2 || setrlimit(RLIMIT_AS, &limit))
        return 2;
    for (unsigned turns = 0; bits && turns < 1u << bits; turns++) {
        leak_by_turns(bits, turns);
        if (!strcmp(argv[1], "not") && turns % 512 == 0)
            usleep(5000); /* the agent's thread takes part */
    }
    if (!strcmp(argv[1], "not"))
        return 0;
    spare = malloc(100 << 10);
    errno = 0;
    use_up(NULL);
    int error = errno;
    if (!strcmp(argv[1], "abort"))
        abort();
    if (!strcmp(argv[1], "exit"))
        return error == ENOMEM ? 3 : 1;
    free(spare);
    leak_at_last();
    return 0;
}
