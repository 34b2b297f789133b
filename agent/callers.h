/* The callers of an allocation: the return addresses on the stack of this thread.
 *
 * The walk goes from frame to frame by the rules that cfi.h reads. A rule finds the caller's
 * frame from the frame pointer or from the stack pointer. Rules are cached, so that a frame costs
 * a few nanoseconds. Code without tables (made at run time) is assumed to keep frame pointers.
 * Every address that is read lies between the caller's stack pointer and the end of the thread's
 * stack. If a rule is too complex (a signal frame), or if the code does not run on the thread's
 * own stack (a coroutine, a signal stack), the compiler's unwinder is used instead, which takes
 * microseconds. */
#ifndef PD_AGENT_CALLERS_H
#define PD_AGENT_CALLERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The registers of the function that called the one that uses PD_HERE. */
typedef struct pd_caller {
    uintptr_t pc, sp, fp;
} pd_caller;

/* For use in a function that is not inlined. */
#define PD_HERE()                                                                                  \
    {                                                                                              \
        (uintptr_t) __builtin_return_address(0), (uintptr_t)__builtin_dwarf_cfa(),                 \
            *(const uintptr_t *)__builtin_frame_address(0)                                         \
    }

enum { PD_STACK_MAX = 256 };

/* Fills stack[0..PD_STACK_MAX) with addresses within the call instructions, the caller first.
 * Returns the number of frames. Keeps errno. Frames of the agent are left out at any depth, since
 * a function of the agent may have called the program's operator new. */
size_t pd_unwind(const pd_caller *caller, uint64_t *stack);

/* Finds the address range of the agent. Call once, before pd_unwind. */
void pd_unwind_begin(void);

/* Is this code of the agent? Always false before pd_unwind_begin. */
bool pd_unwind_is_own(uintptr_t pc);

/* Empties the cache of rules. Call after code was unloaded. */
void pd_unwind_forget(void);

#endif
