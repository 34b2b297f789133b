/* C++: operator new and delete, where they do not lead to malloc by themselves.
 *
 * The operators of the C++ runtime call malloc and free, which are ours; here they skip that
 * runtime and do so at once. But an allocator may bring its own operators (jemalloc and tcmalloc
 * do), which never come by malloc: those are called as they are, with a tick in front. Where anybody
 * else has one of them (the program itself, a pool or a checker in a shared library), or where malloc
 * is not ours, all are left entirely alone: the runtime's own lead to those that were replaced.
 *
 * The names are those of the common C++ ABI, so that no C++ is needed here: "nw" and "na" are new
 * and new[], "dl" and "da" delete and delete[]; "m" is size_t, "St11align_val_t" an alignment, and
 * "RKSt9nothrow_t" asks for NULL instead of an exception. */
#include "agent/agent.h"
#include "agent/lifecycle.h"
#include "agent/real.h"
#include "agent/slow_path.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if __SIZEOF_POINTER__ == 8

#define PUBLIC __attribute__((visibility("default")))

/* ---- whose operators these are --------------------------------------------------------------- */

typedef enum owner {
    NOT_KNOWN = 0,
    RUNTIME,   /* the C++ runtime: they call malloc and free */
    ALLOCATOR, /* the malloc behind us, which has its own */
    STRANGER
} owner;

static _Atomic int owner_now;

/* The definition behind ours. The C++ runtime of a plugin may be out of sight of the ordinary
 * search.
 */
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

/* The program's own definitions come before ours. */
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

/* Mostly a new and a delete of one kind are replaced, the plain or the aligned ones, say, and the
 * runtime's others lead there: what such a new gave must come to such a delete. */
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
        if (other != of_plain && other != RUNTIME) /* an old allocator lacks the aligned ones */
            return true;
    }
    return false;
}

static owner find_owner(void)
{
    pd_real_find();
    owner of_new = owner_of("_Znwm"), of_delete = owner_of("_ZdlPv");
    bool is_one = pd_agent_is_first() && of_new == of_delete && !has_other_owner(of_new);
    owner all = is_one ? of_new : STRANGER;
    atomic_store(&owner_now, (int)all);
    return all;
}

static inline owner the_owner(void)
{
    owner known = (owner)atomic_load_explicit(&owner_now, memory_order_relaxed);
    return __builtin_expect(known != NOT_KNOWN, 1) ? known : find_owner();
}

/* An operator that is not there, though a program that was linked with it calls it. */
static _Noreturn void missing(const char *name)
{
    static const char begin[] = "pprofdelta: the C++ runtime of this program is out of sight: ";
    if (write(STDERR_FILENO, begin, sizeof begin - 1) < 0 ||
        write(STDERR_FILENO, name, strlen(name)) < 0 || write(STDERR_FILENO, "\n", 1) < 0)
        abort();
    abort();
}

/* Remembered per operator in *slot. */
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

/* An operator that is called as it is, with a tick in front where that is ours to do. */
#define NEW(name, type, parameters, arguments)                                                     \
    PUBLIC void *name parameters;                                                                  \
    PUBLIC void *name parameters                                                                   \
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
            pd_slow_keep(ptr, &weight, &caller);                                                   \
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

/* The two that matter for speed. The runtime's own is asked only when memory has run out, since it
 * knows the program's new-handler, and how to throw. */
__attribute__((noinline, cold)) static void *plain_seldom(void *_Atomic *slot, const char *name,
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
        pd_slow_keep(ptr, &weight, &caller);
    return ptr;
}

#define PLAIN_NEW(name)                                                                            \
    PUBLIC void *name(size_t size);                                                                \
    PUBLIC void *name(size_t size)                                                                 \
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
        return plain_seldom(&slot, #name, size, is_ticked);                                        \
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
    PUBLIC void name parameters;                                                                   \
    PUBLIC void name parameters                                                                    \
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
