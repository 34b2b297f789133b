/* Call frame information: the rule by which the frame of a function's caller is found.
 *
 * A function that was compiled with unwind tables (which is the default on all supported systems)
 * has a rule for each of its instructions. The rule says how the caller's stack pointer, frame
 * pointer and return address are found. Nearly always that is a distance from the stack pointer
 * or from the frame pointer, which is what pd_frame_rule holds. The tables are in the .eh_frame
 * section of the mapped object. Nothing is allocated. No lock is taken where the C library finds
 * an object by an address without one (glibc 2.35). */
#ifndef PD_AGENT_CFI_H
#define PD_AGENT_CFI_H

#include <stdbool.h>
#include <stdint.h>

typedef enum pd_frame_kind {
    PD_FRAME_UNKNOWN = 0, /* no table covers this address: code made at run time */
    PD_FRAME_RULE,
    PD_FRAME_END,     /* the outermost function, which has no caller */
    PD_FRAME_SIGNAL,  /* what a signal handler returns to: the kernel saved the registers */
    PD_FRAME_COMPLEX, /* a computed rule: the unwinder must be used */
} pd_frame_kind;

/* CFA is the caller's stack pointer. Saved registers are below it. Distances are in words of 8 bytes; a rule
 * with a longer one is COMPLEX. A rule has 64 bits, so that a cache can read and write it at once. */
typedef struct pd_frame_rule {
    uint64_t kind : 3,
        from_fp : 1; /* CFA = frame pointer + cfa_off; else stack pointer + cfa_off */
    uint64_t cfa_off : 24;
    uint64_t ra_below : 18; /* the return address is at CFA - ra_below */
    uint64_t fp_below : 18; /* the frame pointer is at CFA - fp_below; 0: it is unchanged */
} pd_frame_rule;

enum { PD_FRAME_CFA_MAX = 1 << 24, PD_FRAME_BELOW_MAX = 1 << 18 };

/* Returns the rule at pc. For a return address give an address within the call instruction, not the
 * one behind it. */
pd_frame_rule pd_cfi_find(uintptr_t pc);

#endif
