/* The functions of the program without the agent: see real.h. */
#include "agent/base/real.h"

#include "agent/base/agent.h"
#include "agent/base/object.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- functions that do not allocate ---------------------------------------------------------- */

void pd_find_next(void *function, const char *name)
{
    const void *address = pd_is_late()
                              ? (const void *)pd_first_definition(name) // NOLINT(*-int-to-ptr)
                              : dlsym(RTLD_NEXT, name);
    if (address)
        memcpy(function, &address, sizeof address);
}

static pd_other_functions others;

typedef struct named_function {
    const char *name;
    void *function; /* the pointer to set */
} named_function;

/* NOLINTBEGIN(bugprone-macro-parentheses): names */
#define NAMED_OTHER(result, name, parameters) {#name, &others.name},
#define NAMED(result, name, parameters)       {#name, &found.name},
#define NAMED_EARLY(result, name, parameters) .name = early_##name,
/* NOLINTEND(bugprone-macro-parentheses) */

static const named_function names_of_others[] = {PD_OTHERS(NAMED_OTHER)};

const pd_other_functions *pd_next(void)
{
    if (__builtin_expect(others.munmap != NULL, 1))
        return &others;
    PD_KEEP_ERRNO;
    for (size_t i = 0; i < sizeof names_of_others / sizeof *names_of_others; i++)
        pd_find_next(names_of_others[i].function, names_of_others[i].name);
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

/* ---- the allocator that was found ------------------------------------------------------------ */

static pd_allocator found;

static const named_function names_of_allocator[] = {PD_ALLOCATOR(NAMED)};

enum { UNKNOWN, LOOKING, FOUND };
static atomic_int state;

/* Looks up the allocator. Returns false while the lookup runs, in this thread or another one. */
static bool find_allocator(void)
{
    if (atomic_load(&state) != FOUND)
        pd_real_find();
    return atomic_load(&state) == FOUND;
}

/* ---- the arena for the thread that does the lookup ------------------------------------------- */

/* Before each block. realloc needs the size to copy the block. */
typedef struct block_header {
    size_t size;
    size_t unused; /* keeps the block aligned */
} block_header;

static _Alignas(16) char arena[32 << 10];
static atomic_size_t arena_used;

static bool is_in_arena(const void *ptr)
{
    uintptr_t at = (uintptr_t)ptr, begin = (uintptr_t)arena;
    return at - begin < sizeof arena;
}

static size_t arena_size(const void *ptr)
{
    return ((const block_header *)ptr)[-1].size;
}

/* Returns zeros, since nothing is freed and used again. */
static void *arena_alloc(size_t size)
{
    size_t need = sizeof(block_header) + ((size + 15) & ~(size_t)15);
    size_t begin = size <= sizeof arena ? atomic_fetch_add(&arena_used, need) : sizeof arena;
    if (begin + need > sizeof arena) {
        errno = ENOMEM;
        return NULL;
    }
    block_header *header = (void *)(arena + begin);
    header->size = size;
    return header + 1;
}

/* ---- before the lookup; afterwards as well for what may be in the arena ----------------------- */

static void *early_malloc(size_t size)
{
    return find_allocator() ? found.malloc(size) : arena_alloc(size);
}

static void early_free(void *ptr)
{
    if (!is_in_arena(ptr) && find_allocator())
        found.free(ptr);
}

static void *early_calloc(size_t count, size_t size)
{
    size_t all;
    if (find_allocator())
        return found.calloc(count, size);
    return __builtin_mul_overflow(count, size, &all) ? NULL : arena_alloc(all);
}

static void *early_realloc(void *ptr, size_t size)
{
    if (ptr && !is_in_arena(ptr))
        return find_allocator() ? found.realloc(ptr, size) : NULL;
    void *moved = early_malloc(size);
    if (moved && ptr)
        memcpy(moved, ptr, size < arena_size(ptr) ? size : arena_size(ptr));
    return moved;
}

static size_t early_malloc_usable_size(void *ptr)
{
    if (is_in_arena(ptr))
        return arena_size(ptr);
    return find_allocator() ? found.malloc_usable_size(ptr) : 0;
}

/* The lookup itself calls none of these. Not every C library has pvalloc. */
/* NOLINTBEGIN(bugprone-macro-parentheses): types, names and lists */
#define EARLY(result, name, parameters, arguments, failed)                                         \
    static result early_##name parameters                                                          \
    {                                                                                              \
        return find_allocator() && found.name ? found.name arguments : failed;                     \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

EARLY(int, posix_memalign, (void **out, size_t alignment, size_t size), (out, alignment, size),
      ENOMEM)
EARLY(void *, aligned_alloc, (size_t alignment, size_t size), (alignment, size), NULL)
EARLY(void *, memalign, (size_t alignment, size_t size), (alignment, size), NULL)
EARLY(void *, valloc, (size_t size), (size), NULL)
EARLY(void *, pvalloc, (size_t size), (size), NULL)

pd_allocator pd_real = {PD_ALLOCATOR(NAMED_EARLY)};

/* ---- the lookup ------------------------------------------------------------------------------ */

/* cookie: two addresses. dladdr would look through all symbols of the C library. */
static int holds_both(struct dl_phdr_info *info, size_t size, void *cookie)
{
    const uintptr_t *of = cookie;
    (void)size;
    return pd_object_holds(info, of[0]) && pd_object_holds(info, of[1]);
}

bool pd_real_is_beside_realloc(const void *function)
{
    uintptr_t both[] = {(uintptr_t)found.realloc, (uintptr_t)function};
    return dl_iterate_phdr(holds_both, both) != 0;
}

void pd_real_find(void)
{
    int expected = UNKNOWN;
    if (!atomic_compare_exchange_strong(&state, &expected, LOOKING))
        return;
    PD_KEEP_ERRNO;
    pd_next();
    for (size_t i = 0; i < sizeof names_of_allocator / sizeof *names_of_allocator; i++)
        pd_find_next(names_of_allocator[i].function, names_of_allocator[i].name);
    pd_allocator now = found;
    if (!now.pvalloc)
        now.pvalloc = early_pvalloc;
    if (atomic_load(&arena_used)) {
        now.free = early_free;
        now.realloc = early_realloc;
        now.malloc_usable_size = early_malloc_usable_size;
    }
    if (pd_real_is_beside_realloc(*(void **)(void *)&found.malloc_usable_size))
        now.block_size = now.malloc_usable_size;
    pd_real = now;
    atomic_store(&state, FOUND);
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
