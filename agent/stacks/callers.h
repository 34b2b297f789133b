/* The callers of an allocation: the return addresses on the stack of this thread.
 *
 * The walk goes from frame to frame by the rules that cfi.h reads. A rule finds the caller's
 * frame from the frame pointer or from the stack pointer. Rules are cached, so that a frame costs
 * a few nanoseconds. Code without tables (made at run time) is assumed to keep frame pointers.
 * Every address that is read lies between the caller's stack pointer and the end of the thread's
 * stack. Code that runs on another stack (a coroutine, an alternate signal stack) is followed by
 * rules alone. If a rule is too complex, the compiler's unwinder is used instead, which takes
 * microseconds. All of it takes up to 4 KiB of stack: see base/own_stack.h. */
#ifndef PD_AGENT_CALLERS_H
#define PD_AGENT_CALLERS_H

#include <stddef.h>
#include <stdint.h>

/* The registers of the function that called the one that uses PD_HERE. That may be one of the agent's, if a
 * compiler did not make a jump of the call at its end. */
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

/* Fills the stack with addresses within the call instructions, the caller first. Returns the number
 * of frames. Keeps errno. Frames of the agent are left out at any depth, since a function of the agent
 * may have called the program's operator new. */
size_t pd_unwind(const pd_caller *caller, uint64_t stack[PD_STACK_MAX]);

/* Empties the cache of rules. Call after code was unloaded. */
void pd_unwind_forget(void);

#endif
