/* A malloc/free pair through a wrapper, as an allocator has it: with the live heap's inline part
 * ("on") or without ("off"). callgrind counts the instructions of both; the difference, over the
 * number of pairs, is what the unsampled path costs. */
#include "pprofdelta_heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local pprofdelta_sampler sampler;
static pprofdelta_heap_filter filter;
static pprofdelta_heap *heap;

static __attribute__((noinline)) void *took(size_t size)
{
    void *ptr = malloc(size);
    pprofdelta_heap_event event = {.ptr = ptr};
    if (pprofdelta_sampler_take(&sampler, size, &event.weight) && ptr)
        pprofdelta_heap_track(heap, &event);
    return ptr;
}

static __attribute__((noinline)) void gone(void *ptr)
{
    pprofdelta_heap_untrack(heap, ptr);
    free(ptr);
}

static __attribute__((noinline)) void *malloc_on(size_t size)
{
    return pprofdelta_sampler_tick(&sampler, size) ? took(size) : malloc(size);
}

static __attribute__((noinline)) void free_on(void *ptr)
{
    if (pprofdelta_heap_maybe(&filter, ptr))
        gone(ptr);
    else
        free(ptr);
}

static __attribute__((noinline)) void *malloc_off(size_t size)
{
    return malloc(size);
}

static __attribute__((noinline)) void free_off(void *ptr)
{
    free(ptr);
}

static void pairs_on(long n)
{
    for (long i = 0; i < n; i++)
        free_on(malloc_on(64));
}

static void pairs_off(long n)
{
    for (long i = 0; i < n; i++)
        free_off(malloc_off(64));
}

int main(int argc, char **argv)
{
    pprofdelta_heap_options options = PPROFDELTA_HEAP_OPTIONS_INIT;
    options.filter = &filter;
    if (argc != 3 || pprofdelta_heap_new(&options, &heap, NULL) != PPROFDELTA_OK) {
        fprintf(stderr, "usage: pair on|off PAIRS\n");
        return 2;
    }
    long n = strtol(argv[2], NULL, 10);
    pprofdelta_sampler_init(&sampler, UINT64_C(1) << 60, 1); /* so seldom that nothing is sampled */
    if (strcmp(argv[1], "on") == 0)
        pairs_on(n);
    else
        pairs_off(n);
    pprofdelta_heap_free(heap);
    return 0;
}
