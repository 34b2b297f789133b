/* Stacks: the callers of an allocation, code that was unloaded, and names of functions.
 *
 * The callers are the return addresses on the stack of this thread.
 *
 * The walk goes from frame to frame by the rules that cfi.h reads. A rule finds the caller's
 * frame from the frame pointer or from the stack pointer. Rules are cached, so that a frame costs
 * a few nanoseconds. Code without tables (made at run time) is assumed to keep frame pointers.
 * Every address that is read lies between the caller's stack pointer and the end of the thread's
 * stack. Code that runs on another stack (a coroutine, an alternate signal stack) is followed by
 * rules alone. If a rule is too complex, the compiler's unwinder is used instead, which takes
 * microseconds. All of it takes up to 4 KiB of stack: see base/own_stack.c. */
#ifndef PD_AGENT_STACKS_H
#define PD_AGENT_STACKS_H

#include "pprofdelta_heap.h"

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

/* Fills the stack with addresses within the call instructions, the caller first, and tops with the stack pointer in
 * each frame (NULL: it is not wanted). Returns the number of frames. Keeps errno. Frames of the agent are left out at any depth, since a function
 * of the agent may have called the program's operator new. */
size_t pd_unwind(const pd_caller *caller, uint64_t stack[PD_STACK_MAX],
                 uintptr_t tops[PD_STACK_MAX]);

/* Empties the cache of rules. Call after code was unloaded. */
void pd_unwind_forget(void);

/* ---- unloaded -------------------------------------------------------------------------------
 * Address ranges from which code was unloaded.
 *
 * A stack is identified by its addresses. If a plugin is unloaded and another one is loaded at
 * the same addresses, two equal stacks are of different functions. So the ranges from which code
 * was unloaded are kept, with the number of times. A stack that passes through such a range is
 * distinguished by a number that is made of these counts. Most programs have no such range. */

/* Call before and after dlclose. Notes which objects have gone since the last call. */
void pd_unloaded_update(void);

/* Returns a number that distinguishes this stack from stacks of other code at the same addresses.
 * It is 0 for most stacks. */
uint64_t pd_unloaded_number(const uint64_t *stack, size_t depth);

/* ---- function names -------------------------------------------------------------------------
 * The names of functions, from the symbol tables of the files that are mapped.
 *
 * `pprofdelta symbolize` and `show` find better names, lines and inlined calls by build ids and
 * addresses, where the files are. The names in the profile are for all other readers. They are
 * mangled, as in the symbol table; pprof demangles them.
 *
 * A mapping with names claims to have functions, and nothing more. `go tool pprof` would otherwise
 * search for lines itself. It knows the functions of Go programs only, so it replaces each name of a
 * C or C++ program by an empty one, which it shows as the file in brackets.
 *
 * Each address is looked up once. The table of its file is read, sorted and kept until the
 * profile is done. The name is cached. Only the thread that delivers a profile may call these
 * functions, except where noted. */

/* Reserves address space for the cache. None of it is resident before a profile has names. If
 * that fails, profiles have no names. */
void pd_function_names_begin(void);

/* Call before a profile, and before its mappings are read. One without this has no names. */
void pd_function_names_open(void);

/* A pprofdelta_symbolizer. Finds nothing more in a profile during which code was unloaded: other code may be
 * where that was. */
void pd_function_names_find(void *cookie, uint64_t address, pprofdelta_symbol *out);

/* Releases the tables of the files. Call when a profile is done. */
void pd_function_names_close(void);

/* Ends the names of this profile, and empties the cache before the next one. Call after code was unloaded, from any
 * thread, and in the child of a fork: another thread of the parent may have been changing the cache. */
void pd_function_names_forget(void);

#endif
