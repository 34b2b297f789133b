/* Call frame information: where a function keeps its caller's frame.
 *
 * Every function that was compiled with unwind tables (all of them, on the systems that we know)
 * tells for each of its instructions how to find the stack pointer, the frame pointer and the
 * return address of its caller. Nearly always that is "so many bytes from the stack pointer, or
 * from the frame pointer", which is what a rule holds. The tables lie in the .eh_frame of the
 * mapped object; nothing is allocated and no lock is taken where the C library can tell an object
 * by an address without one (glibc 2.35). */
#ifndef PD_AGENT_CFI_H
#define PD_AGENT_CFI_H

#include <stdbool.h>
#include <stdint.h>

typedef enum pd_frame_kind {
    PD_FRAME_UNKNOWN = 0, /* no table speaks of this address: code made at run time */
    PD_FRAME_RULE,
    PD_FRAME_END,    /* the outermost function: it has no caller */
    PD_FRAME_COMPLEX /* a signal frame, or computed: leave it to the unwinder */
} pd_frame_kind;

/* CFA is the caller's stack pointer. What is saved is saved below it. */
typedef struct pd_frame_rule {
    pd_frame_kind kind;
    bool from_fp;      /* CFA = frame pointer + cfa_off; else stack pointer + cfa_off */
    uint32_t cfa_off;  /* a multiple of 8, as are the others */
    uint32_t ra_below; /* the return address is at CFA - ra_below */
    uint32_t fp_below; /* the frame pointer is at CFA - fp_below; 0: it was not changed */
} pd_frame_rule;

/* The rule at this address, which is that of a call, not the one behind it. */
pd_frame_rule pd_cfi_find(uintptr_t pc);

#endif
