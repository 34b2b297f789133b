/* A program whose allocations are known to the object, for tests/cli/dumps.py. It runs under
 * an allocator that was preloaded, which dumps its heap profile after each of two rounds.
 *
 *     allocating PATTERN     a name with %d for the number of the dump (jemalloc only; gperftools
 *                            goes by HEAPPROFILE)
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 64, LARGE = 1 << 20 };

static void *volatile kept[4096];
static size_t kept_len;

__attribute__((noinline)) static void *allocate_small(void)
{
    void *ptr = malloc(SMALL);
    __asm__ volatile("" : : : "memory"); /* no tail call: this frame stays in the stack */
    return ptr;
}

__attribute__((noinline)) static void *allocate_large(void)
{
    void *ptr = malloc(LARGE);
    __asm__ volatile("" : : : "memory"); /* no tail call: this frame stays in the stack */
    return ptr;
}

/* Every hundredth stays. */
static void allocate(void *(*how)(void), int times)
{
    for (int i = 0; i < times; i++) {
        void *ptr = how();
        if (!ptr)
            abort();
        memset(ptr, 1, SMALL);
        if (i % 100 == 0)
            kept[kept_len++] = ptr;
        else
            free(ptr);
    }
}

/* Each is asked for by name: the program is built without either. */
static int dump(const char *pattern, int number)
{
    int (*mallctl)(const char *, void *, size_t *, void *, size_t);
    void (*heap_profiler_dump)(const char *);
    *(void **)&mallctl = dlsym(RTLD_DEFAULT, "mallctl");
    *(void **)&heap_profiler_dump = dlsym(RTLD_DEFAULT, "HeapProfilerDump");
    if (mallctl) {
        char name[4096], *path = name;
        snprintf(name, sizeof name, "%s.%d", pattern, number);
        return mallctl("prof.dump", NULL, NULL, &path, sizeof path);
    }
    if (!heap_profiler_dump)
        return -1;
    heap_profiler_dump("asked for");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    allocate(allocate_small, 20000);
    allocate(allocate_large, 100);
    if (dump(argv[1], 1))
        return 1;
    allocate(allocate_small, 50000);
    allocate(allocate_large, 300);
    return dump(argv[1], 2) ? 1 : 0;
}
