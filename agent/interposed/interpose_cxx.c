/* C++: operator new and delete.
 *
 * The operators of the C++ runtime call malloc and free, which are the agent's. Here they call
 * the real allocator directly for a plain new, so that the stack begins with its caller. But an
 * allocator may have its own operators that do not call malloc (jemalloc and tcmalloc have). Those are
 * called with a tick in front. If anything else defines one of them (the program itself, a pool or a
 * checker in a shared library), or if malloc is not the agent's, all of them are passed on unchanged:
 * those of the runtime call the ones that were replaced.
 *
 * The names are those of the common C++ ABI, so no C++ is needed here: "nw" and "na" are new and
 * new[], "dl" and "da" are delete and delete[], "m" is size_t, "St11align_val_t" an alignment,
 * and "RKSt9nothrow_t" requests NULL instead of an exception. */
#include "agent/base/object.h"
#include "agent/base/real.h"
#include "agent/interposed/wrap.h"

#if __SIZEOF_POINTER__ == 8

/* ---- where the operators are defined --------------------------------------------------------- */

typedef enum owner {
    NOT_KNOWN = 0,
    RUNTIME,   /* in the C++ runtime: they call malloc and free */
    ALLOCATOR, /* in the library of the real malloc */
    STRANGER   /* elsewhere */
} owner;

static _Atomic int owner_now; /* once it is known, so are the next definitions */

/* Returns the next definition behind the agent's, or NULL. The ordinary search does not find the
 * C++ runtime of a plugin. */
static void *next_definition(const char *name)
{
    static const char *const runtimes[] = {"libstdc++.so.6", "libc++.so.1", "libc++abi.so.1"};
    void *found = pd_is_late() ? (void *)pd_next_definition(name) // NOLINT(*-int-to-ptr)
                               : dlsym(RTLD_NEXT, name);
    for (size_t i = 0; !found && i < sizeof runtimes / sizeof *runtimes; i++) {
        void *runtime = dlopen(runtimes[i], RTLD_NOLOAD | RTLD_LAZY);
        if (runtime)
            found = dlsym(runtime, name);
    }
    return found;
}

static bool is_runtime(const char *object)
{
    const char *name = pd_name_in(object);
    return strncmp(name, "libstdc++", 9) == 0 || strncmp(name, "libc++", 6) == 0;
}

/* Does the program define this operator? Its definitions come before the agent's. */
static bool is_replaced(const char *name)
{
    const uintptr_t first = (uintptr_t)dlsym(RTLD_DEFAULT, name);
    return !pd_is_late() && first &&
           !pd_object_range_has(pd_object_range_at((uintptr_t)&owner_now, NULL), first);
}

/* found: the next definition. */
static owner owner_of(const char *name, void *found)
{
    const char *path = "";
    pd_object_range_at((uintptr_t)found, &path);
    if (is_replaced(name))
        return STRANGER;
    if (!found || is_runtime(path))
        return RUNTIME;
    return pd_real_is_beside_realloc(found) ? ALLOCATOR : STRANGER;
}

static owner find_owner(void);

static inline owner the_owner(void)
{
    owner known = (owner)atomic_load_explicit(&owner_now, memory_order_acquire);
    return PD_LIKELY(known != NOT_KNOWN) ? known : find_owner();
}

/* ---- the operators --------------------------------------------------------------------------- */

/* NOLINTBEGIN(bugprone-macro-parentheses): the macros are given names, types and lists */

/* The operators, each once. The plain ones come first. */
#define OPERATORS(PLAIN_NEW, NEW, DELETE)                                                          \
    PLAIN_NEW(_Znwm)                                                                               \
    DELETE(_ZdlPv)                                                                                 \
    PLAIN_NEW(_Znam)                                                                               \
    NEW(_ZnwmRKSt9nothrow_t)                                                                       \
    NEW(_ZnamRKSt9nothrow_t)                                                                       \
    NEW(_ZnwmSt11align_val_t)                                                                      \
    NEW(_ZnamSt11align_val_t)                                                                      \
    NEW(_ZnwmSt11align_val_tRKSt9nothrow_t)                                                        \
    NEW(_ZnamSt11align_val_tRKSt9nothrow_t)                                                        \
    DELETE(_ZdaPv)                                                                                 \
    DELETE(_ZdlPvm)                                                                                \
    DELETE(_ZdaPvm)                                                                                \
    DELETE(_ZdlPvRKSt9nothrow_t)                                                                   \
    DELETE(_ZdaPvRKSt9nothrow_t)                                                                   \
    DELETE(_ZdlPvSt11align_val_t)                                                                  \
    DELETE(_ZdaPvSt11align_val_t)                                                                  \
    DELETE(_ZdlPvmSt11align_val_t)                                                                 \
    DELETE(_ZdaPvmSt11align_val_t)                                                                 \
    DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t)                                                    \
    DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t)

#define NEW(name)                                                                                  \
    static PD_NEW(real_##name);                                                                    \
    void *name(size_t size, uintptr_t a, uintptr_t b);                                             \
    PD_ALLOCATE(PD_PUBLIC, name, the_owner() == ALLOCATOR && pd_tick(size), real_##name, size,     \
                PD_NO_MEMORY, (size_t size, uintptr_t a, uintptr_t b), (size, a, b))

/* The two operators that matter for speed. The runtime's own is called only when memory has run
 * out, since it calls the program's new-handler and throws. */
#define PLAIN_NEW(name)                                                                            \
    static void *(*real_##name)(size_t size);                                                      \
    static inline void *plain_##name(size_t size)                                                  \
    {                                                                                              \
        void *ptr = the_owner() == RUNTIME ? pd_real.malloc(size ? size : 1) : NULL;               \
        return PD_LIKELY(ptr) ? ptr : real_##name(size);                                           \
    }                                                                                              \
    void *name(size_t size);                                                                       \
    PD_ALLOCATE(PD_PUBLIC, name, the_owner() != STRANGER && pd_tick(size), plain_##name, size,     \
                false, (size_t size), (size))

/* The runtime's own call free. */
#define DELETE(name)                                                                               \
    static PD_DELETE(real_##name);                                                                 \
    void name(void *ptr, uintptr_t a, uintptr_t b);                                                \
    PD_RELEASE(PD_PUBLIC, name, the_owner() == ALLOCATOR, real_##name,                             \
               (void *ptr, uintptr_t a, uintptr_t b), (ptr, a, b))

OPERATORS(PLAIN_NEW, NEW, DELETE)

/* ---- who owns them --------------------------------------------------------------------------- */

#define ROW(name, ...) {#name, (void *)&real_##name},
/* NOLINTEND(bugprone-macro-parentheses) */

enum { PLAIN_ROWS = 2 };

static const struct {
    const char *name;
    void *real;
} operators[] = {OPERATORS(ROW, ROW, ROW)};

/* Programs often replace only one kind of new and delete, and the runtime's others call it. Memory from such
 * a new must be given to the matching delete. So all have one owner; but an old allocator lacks the aligned
 * ones, which are then the runtime's. */
static owner find_owner(void)
{
    pd_real_find();
    owner all = NOT_KNOWN;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        void *found = next_definition(operators[i].name);
        owner one = owner_of(operators[i].name, found);
        memcpy(operators[i].real, &found, sizeof found);
        if (!i)
            all = one;
        else if (one != all && (one != RUNTIME || i < PLAIN_ROWS))
            all = STRANGER;
    }
    if (!pd_malloc_is_ours())
        all = STRANGER;
    atomic_store_explicit(&owner_now, (int)all, memory_order_release);
    return all;
}

#endif
