/* The functions of the program without the agent: see real.h. */
#include "agent/base/real.h"

#include "agent/base/self.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- functions that do not allocate ---------------------------------------------------------- */

static pd_other_functions others;

static const struct {
    const char *name;
    void *function;
} names_of_others[] = {
    {"mmap", &others.mmap},
    {"mmap64", &others.mmap64},
    {"mremap", &others.mremap},
    {"brk", &others.brk},
    {"sbrk", &others.sbrk},
    {"sigaction", &others.sigaction},
    {"signal", &others.signal},
    {"__sysv_signal", &others.sysv_signal},
    {"sigset", &others.sigset},
    {"execvpe", &others.execvpe},
    {"fexecve", &others.fexecve},
    {"posix_spawn", &others.posix_spawn},
    {"posix_spawnp", &others.posix_spawnp},
    {"dlclose", &others.dlclose},
    {"daemon", &others.daemon},
    {"syscall", &others.raw_call},
    {"munmap", &others.munmap}, /* last: it marks that all are found */
};

const pd_other_functions *pd_next(void)
{
    if (__builtin_expect(others.munmap != NULL, 1))
        return &others;
    int kept = errno;
    for (size_t i = 0; i < sizeof names_of_others / sizeof *names_of_others; i++)
        pd_find_next(names_of_others[i].function, names_of_others[i].name);
    errno = kept;
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

static void *arena_alloc(size_t alignment, size_t size)
{
    enum { LEAST = 16 };
    if (alignment < LEAST)
        alignment = LEAST;
    if (size > sizeof arena || alignment > sizeof arena) {
        errno = ENOMEM;
        return NULL;
    }
    size_t need = sizeof(block_header) + size + alignment;
    size_t begin = atomic_fetch_add(&arena_used, need);
    if (begin + need > sizeof arena) {
        errno = ENOMEM;
        return NULL;
    }
    uintptr_t at = (uintptr_t)arena + begin + sizeof(block_header);
    size_t skip = (size_t)(-at & (alignment - 1));
    char *ptr = arena + begin + sizeof(block_header) + skip;
    ((block_header *)(void *)ptr)[-1].size = size;
    return ptr; /* zeros, since nothing is freed and used again */
}

/* ---- the allocator that was found; used directly if the arena is empty ----------------------- */

static pd_allocator found;

static void guarded_free(void *ptr)
{
    if (!is_in_arena(ptr))
        found.free(ptr);
}

static void *guarded_realloc(void *ptr, size_t size)
{
    if (!is_in_arena(ptr))
        return found.realloc(ptr, size);
    void *moved = found.malloc(size);
    if (moved)
        memcpy(moved, ptr, size < arena_size(ptr) ? size : arena_size(ptr));
    return moved;
}

static size_t guarded_usable_size(void *ptr)
{
    return is_in_arena(ptr) ? arena_size(ptr) : found.usable_size(ptr);
}

/* Not every C library has pvalloc. */
static void *whole_pages(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (size > SIZE_MAX - page) {
        errno = ENOMEM;
        return NULL;
    }
    return found.memalign(page, (size + page - 1) & ~(page - 1));
}

/* ---- the lookup ------------------------------------------------------------------------------ */

enum { UNKNOWN, LOOKING, FOUND };
static atomic_int state;

static void publish_arena_guards(void)
{
    if (!atomic_load(&arena_used))
        return;
    pd_real.free = guarded_free;
    pd_real.realloc = guarded_realloc;
    pd_real.usable_size = guarded_usable_size;
}

void pd_real_find(void)
{
    int expected = UNKNOWN;
    if (!atomic_compare_exchange_strong(&state, &expected, LOOKING))
        return;
    int kept = errno;
    pd_next();
    pd_find_next(&found.malloc, "malloc");
    pd_find_next(&found.calloc, "calloc");
    pd_find_next(&found.realloc, "realloc");
    pd_find_next(&found.free, "free");
    if (!found.malloc || !found.calloc || !found.realloc || !found.free) {
        static const char message[] = "pprofdelta: this program has no malloc that the agent could "
                                      "replace; run it without LD_PRELOAD\n";
        if (write(STDERR_FILENO, message, sizeof message - 1) < 0)
            abort();
        abort();
    }
    /* From here on dlsym can allocate its error messages. */
    pd_real.malloc = found.malloc;
    pd_real.calloc = found.calloc;
    pd_real.realloc = guarded_realloc;
    pd_real.free = guarded_free;
    found.pvalloc = whole_pages;
    pd_find_next(&found.posix_memalign, "posix_memalign");
    pd_find_next(&found.aligned_alloc, "aligned_alloc");
    pd_find_next(&found.memalign, "memalign");
    pd_find_next(&found.valloc, "valloc");
    pd_find_next(&found.pvalloc, "pvalloc");
    pd_find_next(&found.usable_size, "malloc_usable_size");
    pd_real = found;
    publish_arena_guards();
    atomic_store(&state, FOUND);
    errno = kept;
}

/* ---- before the lookup ----------------------------------------------------------------------- */

/* Looks up the allocator. Returns false while the lookup runs, in this thread or another one. */
static bool find(void)
{
    pd_real_find();
    return atomic_load(&state) == FOUND;
}

static void *first_malloc(size_t size)
{
    return find() ? pd_real.malloc(size) : arena_alloc(1, size);
}

static void first_free(void *ptr)
{
    if (!is_in_arena(ptr) && find())
        pd_real.free(ptr);
}

static void *first_calloc(size_t count, size_t size)
{
    if (find())
        return pd_real.calloc(count, size);
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    return arena_alloc(1, total);
}

static void *first_realloc(void *ptr, size_t size)
{
    if (find())
        return pd_real.realloc(ptr, size);
    void *moved = arena_alloc(1, size);
    if (moved && ptr && is_in_arena(ptr))
        memcpy(moved, ptr, size < arena_size(ptr) ? size : arena_size(ptr));
    return moved;
}

static void *first_memalign(size_t alignment, size_t size)
{
    return find() ? pd_real.memalign(alignment, size) : arena_alloc(alignment, size);
}

static int first_posix_memalign(void **out, size_t alignment, size_t size)
{
    if (find())
        return pd_real.posix_memalign(out, alignment, size);
    void *ptr = arena_alloc(alignment, size);
    if (!ptr)
        return ENOMEM;
    *out = ptr;
    return 0;
}

static void *first_valloc(size_t size)
{
    return find() ? pd_real.valloc(size) : NULL;
}

static void *first_pvalloc(size_t size)
{
    return find() ? pd_real.pvalloc(size) : NULL;
}

static size_t first_usable_size(void *ptr)
{
    if (is_in_arena(ptr))
        return arena_size(ptr);
    return find() ? pd_real.usable_size(ptr) : 0;
}

pd_allocator pd_real = {
    .malloc = first_malloc,
    .free = first_free,
    .calloc = first_calloc,
    .realloc = first_realloc,
    .posix_memalign = first_posix_memalign,
    .aligned_alloc = first_memalign,
    .memalign = first_memalign,
    .valloc = first_valloc,
    .pvalloc = first_pvalloc,
    .usable_size = first_usable_size,
};

/* ---- whose malloc the program calls ---------------------------------------------------------- */

/* Calls malloc, since the agent's ticks. The address of malloc is no proof: an executable may
 * have an address of its own for a function of a library. */
static bool ticks(void)
{
    void *(*volatile allocate)(size_t) = NULL;
    void (*volatile release)(void *) = NULL;
    void *malloc_symbol = dlsym(RTLD_DEFAULT, "malloc"), *free_symbol = dlsym(RTLD_DEFAULT, "free");
    if (!malloc_symbol || !free_symbol)
        return false;
    memcpy((void *)&allocate, &malloc_symbol, sizeof malloc_symbol);
    memcpy((void *)&release, &free_symbol, sizeof free_symbol);
    int64_t before = pd_this_thread.sampler.left;
    release(allocate(1));
    return pd_this_thread.sampler.left != before;
}

/* The first call comes before any sampler has begun, which would move the distance back. */
bool pd_malloc_is_ours(void)
{
    enum { NOT_KNOWN, YES, NO };
    static atomic_int answer = NOT_KNOWN;
    if (atomic_load(&answer) == NOT_KNOWN)
        atomic_store(&answer, ticks() ? YES : NO);
    return atomic_load(&answer) == YES;
}
