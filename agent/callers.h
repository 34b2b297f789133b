/* Who called malloc: the return addresses on the stack of this thread.
 *
 * The walk goes from frame to frame by the rules of cfi.h, each remembered once it was read, so
 * that a frame costs a few nanoseconds: by the frame pointer where a function keeps one, by the
 * distance from the stack pointer where not. Code without tables (made at run time) is taken to
 * keep frame pointers. Every address that is read lies between the caller's stack pointer and the
 * end of the thread's stack. Where a rule is too complex (a signal frame), or the stack is not the
 * thread's own (a coroutine, a signal stack), the compiler's unwinder is asked instead, which takes
 * microseconds.
 */
#ifndef PD_AGENT_CALLERS_H
#define PD_AGENT_CALLERS_H

#include <stddef.h>
#include <stdint.h>

/* The state of the function that called the one in which PD_HERE stands. */
typedef struct pd_caller {
    uintptr_t pc, sp, fp;
} pd_caller;

/* To stand in a function that is not inlined. */
#define PD_HERE()                                                                                  \
    {                                                                                              \
        (uintptr_t) __builtin_return_address(0), (uintptr_t)__builtin_dwarf_cfa(),                 \
            *(const uintptr_t *)__builtin_frame_address(0)                                         \
    }

enum { PD_STACK_MAX = 256 };

/* Fills stack[0..PD_STACK_MAX), the caller first, with addresses within the call instructions;
 * returns how many there are. Keeps errno. Frames of the agent are left out wherever they stand: an
 * operator new of the program may have been called by one of the agent's. */
size_t pd_unwind(const pd_caller *caller, uint64_t *stack);

/* Finds out where the agent itself lies. */
void pd_unwind_begin(void);

/* Code was unloaded: what was remembered of it does not hold for what is loaded in its place. */
void pd_unwind_forget(void);

#endif
