/* 100 blocks of 1,000 bytes that nothing frees, by functions whose names are in the stacks. */
#ifndef LEAKING_H
#define LEAKING_H

#include <stdlib.h>

static void *volatile sink;

__attribute__((noinline, unused)) static void leak_early(void)
{
    for (int i = 0; i < 100; i++)
        sink = malloc(1000);
}

__attribute__((noinline, unused)) static void leak_at_last(void)
{
    for (int i = 0; i < 100; i++)
        sink = malloc(1000);
}

#endif
