/* The note of a probe, and the nop that it describes. For the source of a probe; see usdt.h.
 *
 * A note describes a probe ("stapsdt", type 3):
 *
 *     address of the nop | address of .stapsdt.base | address of the semaphore
 *     "otel_memory\0" "alloc\0" "8@%rdi 8@%rsi 8@%rdx\0"
 *
 * The notes are not loaded. A tool reads them from the file, and corrects the addresses by how far
 * the section .stapsdt.base was moved since. All objects of a file share that section. */
#ifndef PD_HEAP_USDT_NOTE_H
#define PD_HEAP_USDT_NOTE_H

#include "heap/usdt.h"

#if PD_HAVE_USDT

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

#endif
