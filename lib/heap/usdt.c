/* The probes of the heap door: see usdt.h. */
#include "heap/usdt.h"

#if PD_HAVE_USDT

volatile unsigned short pd_usdt_alloc_semaphore PD_USDT_SEMAPHORE = 0;
volatile unsigned short pd_usdt_free_semaphore PD_USDT_SEMAPHORE = 0;

__attribute__((noinline)) void pd_usdt_alloc(const void *ptr, uint64_t size, uint64_t weight)
{
    PD_USDT_IN_1(first, (uint64_t)(uintptr_t)ptr);
    PD_USDT_IN_2(second, size);
    PD_USDT_IN_3(third, weight);
    __asm__ volatile(PD_USDT_PROBE("alloc", PD_USDT_ARGUMENT_1 " " PD_USDT_ARGUMENT_2
                                                               " " PD_USDT_ARGUMENT_3)::"r"(first),
                     "r"(second), "r"(third));
}

__attribute__((noinline)) void pd_usdt_free(const void *ptr)
{
    PD_USDT_IN_1(first, (uint64_t)(uintptr_t)ptr);
    __asm__ volatile(PD_USDT_PROBE("free", PD_USDT_ARGUMENT_1)::"r"(first));
}

#else
typedef int pd_usdt_is_not_here; /* a source has at least one declaration */
#endif
