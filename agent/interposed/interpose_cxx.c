/* C++: operator new and delete.
 *
 * The operators of the C++ runtime call malloc and free, which are the agent's. Here they call
 * the real allocator directly, which saves a call. But an allocator may have its own operators
 * that do not call malloc (jemalloc and tcmalloc have). Those are called with a tick in front. If
 * anything else defines one of them (the program itself, a pool or a checker in a shared
 * library), or if malloc is not the agent's, all of them are passed on unchanged: those of the
 * runtime call the ones that were replaced.
 *
 * The names are those of the common C++ ABI, so no C++ is needed here: "nw" and "na" are new and
 * new[], "dl" and "da" are delete and delete[], "m" is size_t, "St11align_val_t" an alignment,
 * and "RKSt9nothrow_t" requests NULL instead of an exception. */
#include "agent/base/agent.h"
#include "agent/base/real.h"
#include "agent/interposed/slow_path.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if __SIZEOF_POINTER__ == 8

/* ---- where the operators are defined --------------------------------------------------------- */

typedef enum owner {
    NOT_KNOWN = 0,
    RUNTIME,   /* in the C++ runtime: they call malloc and free */
    ALLOCATOR, /* in the library of the real malloc */
    STRANGER   /* elsewhere */
} owner;

static _Atomic int owner_now;

/* Returns the next definition behind the agent's, or NULL. The ordinary search does not find the
 * C++ runtime of a plugin. */
static void *behind(const char *name)
{
    static const char *const runtimes[] = {"libstdc++.so.6", "libc++.so.1", "libc++abi.so.1"};
    void *found = dlsym(RTLD_NEXT, name);
    for (size_t i = 0; !found && i < sizeof runtimes / sizeof *runtimes; i++) {
        void *runtime = dlopen(runtimes[i], RTLD_NOLOAD | RTLD_LAZY);
        if (runtime)
            found = dlsym(runtime, name);
    }
    return found;
}

static bool is_runtime(const char *object)
{
    const char *slash = strrchr(object, '/');
    const char *name = slash ? slash + 1 : object;
    return strncmp(name, "libstdc++", 9) == 0 || strncmp(name, "libc++", 6) == 0;
}

/* Does the program define this operator? Its definitions come before the agent's. */
static bool is_replaced(const char *name)
{
    Dl_info first_info, own_info;
    void *first = dlsym(RTLD_DEFAULT, name);
    return first && dladdr(first, &first_info) && dladdr(&owner_now, &own_info) &&
           first_info.dli_fbase != own_info.dli_fbase;
}

static owner owner_of(const char *name)
{
    Dl_info operator_info, malloc_info;
    if (is_replaced(name))
        return STRANGER;
    void *found = behind(name), *allocator = NULL;
    memcpy(&allocator, &pd_real.malloc, sizeof allocator);
    if (!found || !dladdr(found, &operator_info) || is_runtime(operator_info.dli_fname))
        return RUNTIME;
    if (dladdr(allocator, &malloc_info) && malloc_info.dli_fbase == operator_info.dli_fbase)
        return ALLOCATOR;
    return STRANGER;
}

/* Does an operator have another owner than the plain ones? Programs often replace only one kind
 * of new and delete, and the runtime's others call it. Memory from such a new must be given to
 * the matching delete. */
static bool has_other_owner(owner of_plain)
{
    static const char *const others[] = {"_Znam",
                                         "_ZnwmRKSt9nothrow_t",
                                         "_ZnamRKSt9nothrow_t",
                                         "_ZnwmSt11align_val_t",
                                         "_ZnamSt11align_val_t",
                                         "_ZnwmSt11align_val_tRKSt9nothrow_t",
                                         "_ZnamSt11align_val_tRKSt9nothrow_t",
                                         "_ZdaPv",
                                         "_ZdlPvm",
                                         "_ZdaPvm",
                                         "_ZdlPvRKSt9nothrow_t",
                                         "_ZdaPvRKSt9nothrow_t",
                                         "_ZdlPvSt11align_val_t",
                                         "_ZdaPvSt11align_val_t",
                                         "_ZdlPvmSt11align_val_t",
                                         "_ZdaPvmSt11align_val_t",
                                         "_ZdlPvSt11align_val_tRKSt9nothrow_t",
                                         "_ZdaPvSt11align_val_tRKSt9nothrow_t"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        owner other = owner_of(others[i]);
        if (other != of_plain &&
            other != RUNTIME) /* RUNTIME: an old allocator lacks the aligned ones */
            return true;
    }
    return false;
}

static owner find_owner(void)
{
    pd_real_find();
    owner of_new = owner_of("_Znwm"), of_delete = owner_of("_ZdlPv");
    bool is_one = pd_malloc_is_ours() && of_new == of_delete && !has_other_owner(of_new);
    owner all = is_one ? of_new : STRANGER;
    atomic_store(&owner_now, (int)all);
    return all;
}

static inline owner the_owner(void)
{
    owner known = (owner)atomic_load_explicit(&owner_now, memory_order_relaxed);
    return __builtin_expect(known != NOT_KNOWN, 1) ? known : find_owner();
}

/* Ends a program that calls an operator that no library defines. */
static _Noreturn void missing(const char *name)
{
    static const char begin[] = "pprofdelta: this function of the C++ runtime was not found: ";
    if (write(STDERR_FILENO, begin, sizeof begin - 1) < 0 ||
        write(STDERR_FILENO, name, strlen(name)) < 0 || write(STDERR_FILENO, "\n", 1) < 0)
        abort();
    abort();
}

/* Returns the next definition, which is cached in *slot. */
static void *next(void *_Atomic *slot, const char *name)
{
    void *found = atomic_load_explicit(slot, memory_order_relaxed);
    if (__builtin_expect(found != NULL, 1))
        return found;
    found = behind(name);
    if (!found)
        missing(name);
    atomic_store_explicit(slot, found, memory_order_relaxed);
    return found;
}

/* ---- new ------------------------------------------------------------------------------------- */

typedef void *plain_new(size_t size);
typedef void *nothrow_new(size_t size, const void *nothrow);
typedef void *aligned_new(size_t size, size_t alignment);
typedef void *aligned_nothrow_new(size_t size, size_t alignment, const void *nothrow);

static bool draw(size_t size, pprofdelta_weight *weight)
{
    return the_owner() == ALLOCATOR && pprofdelta_sampler_tick(&pd_this_thread.sampler, size) &&
           pd_slow_draw(size, weight);
}

/* NOLINTBEGIN(bugprone-macro-parentheses): the macros are given names, types and lists */

/* An operator that calls the next definition, with a tick in front if that is the allocator's. */
#define NEW(name, type, parameters, arguments)                                                     \
    PD_PUBLIC void *name parameters;                                                               \
    PD_PUBLIC void *name parameters                                                                \
    {                                                                                              \
        static void *_Atomic slot;                                                                 \
        const pd_caller caller = PD_HERE();                                                        \
        pprofdelta_weight weight = {0, 0};                                                         \
        bool is_sample = draw(size, &weight);                                                      \
        void *found = next(&slot, #name);                                                          \
        type *function;                                                                            \
        memcpy(&function, &found, sizeof function);                                                \
        void *ptr = function arguments;                                                            \
        if (is_sample)                                                                             \
            pd_slow_keep(ptr, size, &weight, &caller);                                             \
        return ptr;                                                                                \
    }

NEW(_ZnwmRKSt9nothrow_t, nothrow_new, (size_t size, const void *nothrow), (size, nothrow))
NEW(_ZnamRKSt9nothrow_t, nothrow_new, (size_t size, const void *nothrow), (size, nothrow))
NEW(_ZnwmSt11align_val_t, aligned_new, (size_t size, size_t alignment), (size, alignment))
NEW(_ZnamSt11align_val_t, aligned_new, (size_t size, size_t alignment), (size, alignment))
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, aligned_nothrow_new,
    (size_t size, size_t alignment, const void *nothrow), (size, alignment, nothrow))
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, aligned_nothrow_new,
    (size_t size, size_t alignment, const void *nothrow), (size, alignment, nothrow))

/* The two operators that matter for speed. The runtime's own is called only when memory has run
 * out, since it calls the program's new-handler and throws. */
__attribute__((noinline, cold)) static void *plain_slow(void *_Atomic *slot, const char *name,
                                                        size_t size, bool is_ticked)
{
    const pd_caller caller = PD_HERE();
    pprofdelta_weight weight = {0, 0};
    void *ptr = NULL;
    bool is_sample = is_ticked && pd_slow_draw(size, &weight);
    if (the_owner() == RUNTIME)
        ptr = pd_real.malloc(size ? size : 1);
    if (!ptr) {
        void *found = next(slot, name);
        plain_new *function;
        memcpy(&function, &found, sizeof function);
        ptr = function(size);
    }
    if (is_sample)
        pd_slow_keep(ptr, size, &weight, &caller);
    return ptr;
}

#define PLAIN_NEW(name)                                                                            \
    PD_PUBLIC void *name(size_t size);                                                             \
    PD_PUBLIC void *name(size_t size)                                                              \
    {                                                                                              \
        static void *_Atomic slot;                                                                 \
        owner known = the_owner();                                                                 \
        bool is_ticked =                                                                           \
            known != STRANGER && pprofdelta_sampler_tick(&pd_this_thread.sampler, size);           \
        if (known == RUNTIME && !is_ticked) {                                                      \
            void *ptr = pd_real.malloc(size ? size : 1);                                           \
            if (__builtin_expect(ptr != NULL, 1))                                                  \
                return ptr;                                                                        \
            pd_slow_failed(size);                                                                  \
        }                                                                                          \
        return plain_slow(&slot, #name, size, is_ticked);                                          \
    }

PLAIN_NEW(_Znwm)
PLAIN_NEW(_Znam)

/* ---- delete ---------------------------------------------------------------------------------- */

typedef void plain_delete(void *ptr);
typedef void sized_delete(void *ptr, size_t size);
typedef void nothrow_delete(void *ptr, const void *nothrow);
typedef void sized_aligned_delete(void *ptr, size_t size, size_t alignment);
typedef void aligned_nothrow_delete(void *ptr, size_t alignment, const void *nothrow);

#define DELETE(name, type, parameters, arguments)                                                  \
    PD_PUBLIC void name parameters;                                                                \
    PD_PUBLIC void name parameters                                                                 \
    {                                                                                              \
        static void *_Atomic slot;                                                                 \
        owner known = the_owner();                                                                 \
        if (known != STRANGER && pprofdelta_heap_maybe(&pd_filter, ptr))                           \
            pd_slow_free(ptr);                                                                     \
        if (known == RUNTIME) {                                                                    \
            pd_real.free(ptr);                                                                     \
            return;                                                                                \
        }                                                                                          \
        void *found = next(&slot, #name);                                                          \
        type *function;                                                                            \
        memcpy(&function, &found, sizeof function);                                                \
        function arguments;                                                                        \
    }

DELETE(_ZdlPv, plain_delete, (void *ptr), (ptr))
DELETE(_ZdaPv, plain_delete, (void *ptr), (ptr))
DELETE(_ZdlPvm, sized_delete, (void *ptr, size_t size), (ptr, size))
DELETE(_ZdaPvm, sized_delete, (void *ptr, size_t size), (ptr, size))
DELETE(_ZdlPvRKSt9nothrow_t, nothrow_delete, (void *ptr, const void *nothrow), (ptr, nothrow))
DELETE(_ZdaPvRKSt9nothrow_t, nothrow_delete, (void *ptr, const void *nothrow), (ptr, nothrow))
DELETE(_ZdlPvSt11align_val_t, sized_delete, (void *ptr, size_t alignment), (ptr, alignment))
DELETE(_ZdaPvSt11align_val_t, sized_delete, (void *ptr, size_t alignment), (ptr, alignment))
DELETE(_ZdlPvmSt11align_val_t, sized_aligned_delete, (void *ptr, size_t size, size_t alignment),
       (ptr, size, alignment))
DELETE(_ZdaPvmSt11align_val_t, sized_aligned_delete, (void *ptr, size_t size, size_t alignment),
       (ptr, size, alignment))
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, aligned_nothrow_delete,
       (void *ptr, size_t alignment, const void *nothrow), (ptr, alignment, nothrow))
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, aligned_nothrow_delete,
       (void *ptr, size_t alignment, const void *nothrow), (ptr, alignment, nothrow))

/* NOLINTEND(bugprone-macro-parentheses) */
#endif
