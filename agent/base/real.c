/* The functions of the program without the agent: see real.h. */
#include "agent/base/real.h"

#include "agent/base/agent.h"
#include "agent/base/object.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static pd_allocator found;
static pd_other_functions others;
static bool is_found; /* both are */

/* NOLINTBEGIN(bugprone-macro-parentheses): names */
#define NAMED(result, name, parameters)       {#name, &found.name},
#define NAMED_OTHER(result, name, parameters) {#name, &others.name},
#define NAMED_EARLY(result, name, parameters) .name = early_##name,
/* NOLINTEND(bugprone-macro-parentheses) */

static const pd_named_function functions[] = {PD_ALLOCATOR(NAMED) PD_OTHERS(NAMED_OTHER)};

const pd_other_functions *pd_next(void)
{
    if (__builtin_expect(!is_found, 0))
        pd_real_find();
    return &others;
}

void pd_signal_reset(int number)
{
    const struct sigaction plainly = {.sa_handler = SIG_DFL};
    pd_next()->sigaction(number, &plainly, NULL);
}

void pd_signal_die(int number)
{
    sigset_t only;
    pd_signal_reset(number);
    sigemptyset(&only);
    sigaddset(&only, number);
    syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), number);
    pthread_sigmask(SIG_UNBLOCK, &only, NULL);
}

/* ---- the allocator --------------------------------------------------------------------------- */

/* NOLINTBEGIN(bugprone-macro-parentheses): types, names and lists */
#define EARLY(result, name, parameters, arguments)                                                 \
    static result early_##name parameters                                                          \
    {                                                                                              \
        pd_real_find();                                                                            \
        return pd_real.name arguments;                                                             \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

EARLY(void *, malloc, (size_t size), (size))
EARLY(void *, calloc, (size_t count, size_t size), (count, size))
EARLY(void *, realloc, (void *ptr, size_t size), (ptr, size))
EARLY(int, posix_memalign, (void **out, size_t alignment, size_t size), (out, alignment, size))
EARLY(void *, aligned_alloc, (size_t alignment, size_t size), (alignment, size))
EARLY(void *, memalign, (size_t alignment, size_t size), (alignment, size))
EARLY(void *, valloc, (size_t size), (size))
EARLY(void *, pvalloc, (size_t size), (size))
EARLY(size_t, malloc_usable_size, (void *ptr), (ptr))

static void early_free(void *ptr)
{
    pd_real_find();
    pd_real.free(ptr);
}

pd_allocator pd_real = {PD_ALLOCATOR(NAMED_EARLY)};

/* Not every C library has pvalloc. */
static void *no_pvalloc(size_t size)
{
    (void)size;
    return NULL;
}

bool pd_real_is_beside_realloc(const void *function)
{
    const pd_object_range of_realloc = pd_object_range_at((uintptr_t)found.realloc, NULL);
    return pd_object_range_at((uintptr_t)function, NULL).begin == of_realloc.begin;
}

void pd_real_find(void)
{
    if (is_found)
        return;
    pd_find_functions(functions, sizeof functions / sizeof *functions);
    if (!found.pvalloc)
        found.pvalloc = no_pvalloc;
    if (pd_real_is_beside_realloc(*(void **)(void *)&found.malloc_usable_size))
        found.block_size = found.malloc_usable_size;
    pd_real = found;
    is_found = true;
}

/* ---- whose malloc the program calls ---------------------------------------------------------- */

/* Calls malloc, since the agent's ticks. The address of malloc is no proof: an executable may
 * have an address of its own for a function of a library. */
static bool malloc_ticks(void)
{
    void *(*volatile allocate)(size_t) = malloc;
    int64_t before = pd_this_thread.sampler.left;
    free(allocate(1));
    return pd_this_thread.sampler.left != before;
}

/* The first call comes before any sampler has begun, which would move the distance back. */
bool pd_malloc_is_ours(void)
{
    enum { NOT_KNOWN, YES, NO };
    static atomic_int answer = NOT_KNOWN;
    if (atomic_load(&answer) == NOT_KNOWN)
        atomic_store(&answer, pd_is_late() || malloc_ticks() ? YES : NO);
    return atomic_load(&answer) == YES;
}
