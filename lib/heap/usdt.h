/* The probes of the heap door: static tracepoints (USDT), as OpenTelemetry's memory profiling reads
 * them from outside of the process.
 *
 *     otel_memory:alloc(pointer, size, weight)   an allocation is tracked
 *     otel_memory:free(pointer)                  it ends
 *
 * weight is an unbiased estimate, in bytes, of all the allocations that the sampled one stands for.
 * For each alloc there is at most one free, and between the two the allocator has not given the
 * pointer to another allocation. Only sampled allocations come here, so the functions that every
 * allocation takes are as they are without probes.
 *
 * A probe is one nop. A note in the file ("stapsdt", type 3) has its address and where its arguments are:
 *
 *     address of the nop | address of .stapsdt.base | address of the semaphore
 *     "otel_memory\0" "alloc\0" "8@%rdi 8@%rsi 8@%rdx\0"
 *
 * The notes are not loaded. A tool reads them from the file, and corrects the addresses by how far
 * the section .stapsdt.base was moved since. All objects of a file share that section. Each probe has a
 * counter (semaphore), to which a tool adds 1 while it listens. Nothing is done at 0.
 *
 * The notes are written here and not by <sys/sdt.h>: with them in three fixed registers, which are
 * those of a function's parameters, the arguments are also found by tools that do not read the
 * note's description of them, and the build needs no further package. */
#ifndef PD_HEAP_USDT_H
#define PD_HEAP_USDT_H

#include "pprofdelta_heap.h"

#include <stdbool.h>

#if defined(__linux__) && defined(__ELF__) && defined(__LP64__) &&                                 \
    (defined(__x86_64__) || defined(__aarch64__))
#define PD_HAVE_USDT 1
extern volatile unsigned short pd_usdt_alloc_semaphore, pd_usdt_free_semaphore;
#else
#define PD_HAVE_USDT 0
enum { pd_usdt_alloc_semaphore = 0, pd_usdt_free_semaphore = 0 }; /* nobody listens */
#endif

/* The probes. They are called with the lock held: reports come in the order of events, and of free
 * before the allocator has the pointer back. */
void pd_usdt_alloc(const void *ptr, uint64_t size, uint64_t weight);
void pd_usdt_free(const void *ptr);

/* size 0: not known; then it is computed from the weight. */
static inline void pd_usdt_began(const void *ptr, size_t size, const pprofdelta_weight *weight)
{
    if (__builtin_expect(pd_usdt_alloc_semaphore, 0)) {
        uint64_t objects = (uint64_t)weight->objects, bytes = (uint64_t)weight->bytes;
        pd_usdt_alloc(ptr, size ? size : objects ? bytes / objects : bytes, bytes);
    }
}

/* Does somebody listen? */
static inline bool pd_usdt_is_on(void)
{
    return pd_usdt_alloc_semaphore;
}

static inline void pd_usdt_ended(const void *ptr)
{
    if (__builtin_expect(pd_usdt_free_semaphore, 0))
        pd_usdt_free(ptr);
}

/* ---- for the source of a probe ------------------------------------------------------------------ */

#if defined(__x86_64__)
#define PD_USDT_ARGUMENT_1        "8@%%rdi"
#define PD_USDT_ARGUMENT_2        "8@%%rsi"
#define PD_USDT_ARGUMENT_3        "8@%%rdx"
#define PD_USDT_IN_1(name, value) register uint64_t name __asm__("rdi") = (value)
#define PD_USDT_IN_2(name, value) register uint64_t name __asm__("rsi") = (value)
#define PD_USDT_IN_3(name, value) register uint64_t name __asm__("rdx") = (value)
#else
#define PD_USDT_ARGUMENT_1        "8@x0"
#define PD_USDT_ARGUMENT_2        "8@x1"
#define PD_USDT_ARGUMENT_3        "8@x2"
#define PD_USDT_IN_1(name, value) register uint64_t name __asm__("x0") = (value)
#define PD_USDT_IN_2(name, value) register uint64_t name __asm__("x1") = (value)
#define PD_USDT_IN_3(name, value) register uint64_t name __asm__("x2") = (value)
#endif

/* clang-format off */
#define PD_USDT_PROBE(name, arguments) \
    "990:   nop\n"             \
    "       .pushsection .note.stapsdt, \"\", \"note\"\n"                                          \
    "       .balign 4\n"       \
    "       .4byte  992f - 991f, 994f - 993f, 3\n"                                                 \
    "991:   .asciz  \"stapsdt\"\n"                                                                 \
    "992:   .balign 4\n"       \
    "993:   .8byte  990b, _.stapsdt.base, pd_usdt_" name "_semaphore\n"                            \
    "       .asciz  \"otel_memory\"\n"                                                             \
    "       .asciz  \"" name "\"\n"                                                                \
    "       .asciz  \"" arguments "\"\n"                                                           \
    "994:   .balign 4\n"       \
    "       .popsection\n"     \
    "       .ifndef _.stapsdt.base\n"                                                              \
    "       .pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"             \
    "       .weak   _.stapsdt.base\n"                                                              \
    "       .hidden _.stapsdt.base\n"                                                              \
    "_.stapsdt.base:\n"        \
    "       .space  1\n"       \
    "       .size   _.stapsdt.base, 1\n"                                                           \
    "       .popsection\n"     \
    "       .endif\n"
/* clang-format on */

/* In a section that is in the file, since the kernel finds a semaphore by its file offset. */
#define PD_USDT_SEMAPHORE __attribute__((section(".probes"), used))

#endif
