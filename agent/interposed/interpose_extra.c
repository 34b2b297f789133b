/* The functions of jemalloc and tcmalloc beyond the malloc family: mallocx, dallocx and others;
 * tc_malloc, tc_free and others. free can free their blocks, and they can free the blocks of
 * malloc.
 *
 * The agent exports none of these names (see rebind.h). Each function calls the allocator's own
 * after a tick, as in interpose.c. A function that the allocator does not have is never called. */
#include "agent/interposed/rebind.h"

#include "agent/base/real.h"
#include "agent/interposed/wrap.h"

/* NOLINTBEGIN(bugprone-macro-parentheses): the macros are given names, lists and conditions */

#define ALLOCATE(name, is_full)                                                                    \
    static PD_NEW(real_##name);                                                                    \
    PD_ALLOCATE(static, our_##name, pd_tick(size), real_##name, size, is_full,                     \
                (size_t size, uintptr_t a, uintptr_t b), (size, a, b))

#define RELEASE(name)                                                                              \
    static PD_DELETE(real_##name);                                                                 \
    PD_RELEASE(static, our_##name, true, real_##name, (void *ptr, uintptr_t a, uintptr_t b),       \
               (ptr, a, b))

/* Of functions whose size is not their first parameter. */
#define ALLOCATE_AS(name, bytes, parameters, arguments)                                            \
    static void *(*real_##name)parameters;                                                         \
    PD_ALLOCATE(static, our_##name, pd_tick(bytes), real_##name, bytes, PD_NO_MEMORY, parameters,  \
                arguments)

/* Whether the functions below are beside realloc: then the sizes of their blocks are known. Without a size, a
 * block that is resized is taken as a new one, unless each allocation is a sample. */
static bool is_beside_realloc = true;

/* is_done: a condition that holds after the call if the block was freed, moved or resized; now: where it is
 * after the call. */
#define RESIZE(name, result_type, is_done, now, parameters, arguments)                             \
    static result_type(*real_##name) parameters;                                                   \
    PD_SLOW static result_type our_##name parameters                                               \
    {                                                                                              \
        const pd_caller caller = PD_HERE();                                                        \
        pd_resizing resizing;                                                                      \
        pd_slow_resize(&resizing, ptr, is_beside_realloc ? pd_real_size(ptr) : 0);                 \
        result_type result = real_##name arguments;                                                \
        size_t after = resizing.before && !resizing.is_exact ? pd_real_size(now) : size;           \
        pd_slow_resized(&resizing, now, (is_done) ? after : resizing.before, &caller);             \
        return result;                                                                             \
    }

/* Each function once. A library that has any of a list has the first one. xallocx resizes in place: the block
 * is as before if it has not the requested size. */
#define OF_JEMALLOC(ALLOCATE, ALLOCATE_AS, RESIZE, RELEASE)                                        \
    ALLOCATE(mallocx, true)                                                                        \
    RESIZE(rallocx, void *, result, result ? result : ptr, (void *ptr, size_t size, int flags),    \
           (ptr, size, flags))                                                                     \
    RESIZE(xallocx, size_t, result >= size, ptr,                                                   \
           (void *ptr, size_t size, size_t extra, int flags), (ptr, size, extra, flags))           \
    RELEASE(dallocx)                                                                               \
    RELEASE(sdallocx)

/* The operators that do not return NULL throw through the agent's frame. */
#define OF_TCMALLOC(ALLOCATE, ALLOCATE_AS, RESIZE, RELEASE)                                        \
    ALLOCATE(tc_malloc, PD_NO_MEMORY)                                                              \
    ALLOCATE(tc_malloc_skip_new_handler, PD_NO_MEMORY)                                             \
    ALLOCATE_AS(tc_calloc, pd_product(count, size), (size_t count, size_t size), (count, size))    \
    ALLOCATE_AS(tc_memalign, size, (size_t alignment, size_t size), (alignment, size))             \
    ALLOCATE(tc_valloc, PD_NO_MEMORY)                                                              \
    ALLOCATE(tc_pvalloc, PD_NO_MEMORY)                                                             \
    RESIZE(tc_realloc, void *, result || !size, result || !size ? result : ptr,                    \
           (void *ptr, size_t size), (ptr, size))                                                  \
    RELEASE(tc_free)                                                                               \
    RELEASE(tc_cfree)                                                                              \
    RELEASE(cfree)                                                                                 \
    RELEASE(tc_free_sized)                                                                         \
    ALLOCATE(tc_new, false)                                                                        \
    ALLOCATE(tc_newarray, false)                                                                   \
    ALLOCATE(tc_new_nothrow, true)                                                                 \
    ALLOCATE(tc_newarray_nothrow, true)                                                            \
    ALLOCATE(tc_new_aligned, false)                                                                \
    ALLOCATE(tc_newarray_aligned, false)                                                           \
    ALLOCATE(tc_new_aligned_nothrow, true)                                                         \
    ALLOCATE(tc_newarray_aligned_nothrow, true)                                                    \
    RELEASE(tc_delete)                                                                             \
    RELEASE(tc_deletearray)                                                                        \
    RELEASE(tc_delete_sized)                                                                       \
    RELEASE(tc_deletearray_sized)                                                                  \
    RELEASE(tc_delete_nothrow)                                                                     \
    RELEASE(tc_deletearray_nothrow)                                                                \
    RELEASE(tc_delete_aligned)                                                                     \
    RELEASE(tc_deletearray_aligned)                                                                \
    RELEASE(tc_delete_sized_aligned)                                                               \
    RELEASE(tc_deletearray_sized_aligned)                                                          \
    RELEASE(tc_delete_aligned_nothrow)                                                             \
    RELEASE(tc_deletearray_aligned_nothrow)

OF_JEMALLOC(ALLOCATE, ALLOCATE_AS, RESIZE, RELEASE)
OF_TCMALLOC(ALLOCATE, ALLOCATE_AS, RESIZE, RELEASE)

static int (*real_tc_posix_memalign)(void **out, size_t alignment, size_t size);
PD_ALLOCATE_INTO(static, our_tc_posix_memalign, real_tc_posix_memalign)

/* ---- replacing them -------------------------------------------------------------------------- */

#define OURS(name, ...) {#name, (void *)our_##name, (void *)&real_##name},
/* NOLINTEND(bugprone-macro-parentheses) */

static const pd_rebound of_jemalloc[] = {OF_JEMALLOC(OURS, OURS, OURS, OURS)};
static const pd_rebound of_tcmalloc[] = {OF_TCMALLOC(OURS, OURS, OURS, OURS)
                                             OURS(tc_posix_memalign)};

static void rebind_functions(const pd_rebound *functions, size_t len)
{
    pd_rebind_outcome outcome = pd_rebind(functions, len);
    if (outcome != PD_REBIND_NONE)
        is_beside_realloc &= pd_real_is_beside_realloc(*(void **)functions[0].real);
    if (outcome == PD_REBIND_REFUSED)
        pd_notice_print(PD_NOTICE_EXTRA,
                        "the system does not let the agent replace %s and related functions: "
                        "memory that they free is shown as in use",
                        functions[0].name);
}

void pd_extra_begin(void)
{
    rebind_functions(of_jemalloc, sizeof of_jemalloc / sizeof *of_jemalloc);
    rebind_functions(of_tcmalloc, sizeof of_tcmalloc / sizeof *of_tcmalloc);
}
