/* The functions that the program would use without the agent: the malloc family, and the others that
 * the agent replaces.
 *
 * Each is the next definition in the program's search order, usually the C library's. malloc may be
 * that of another allocator that was linked or preloaded. They are looked up at the first call of one of
 * them, which may come long before any constructor has run. So until then each entry of pd_real leads to a function
 * that does that first. Afterwards a call costs one indirect jump. */
#ifndef PD_AGENT_REAL_H
#define PD_AGENT_REAL_H

#include <dlfcn.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

/* The lists have a row for each function: its result, its name and its parameters. */

#define PD_ALLOCATOR(ROW)                                                                          \
    ROW(void *, malloc, (size_t size))                                                             \
    ROW(void, free, (void *ptr))                                                                   \
    ROW(void *, calloc, (size_t count, size_t size))                                               \
    ROW(void *, realloc, (void *ptr, size_t size))                                                 \
    ROW(int, posix_memalign, (void **out, size_t alignment, size_t size))                          \
    ROW(void *, aligned_alloc, (size_t alignment, size_t size))                                    \
    ROW(void *, memalign, (size_t alignment, size_t size))                                         \
    ROW(void *, valloc, (size_t size))                                                             \
    ROW(void *, pvalloc, (size_t size))                                                            \
    ROW(size_t, malloc_usable_size, (void *ptr))

/* NOLINTNEXTLINE(bugprone-macro-parentheses): types and names */
#define PD_FUNCTION(result, name, parameters) result(*name) parameters;

typedef struct pd_allocator {
    PD_ALLOCATOR(PD_FUNCTION)
    size_t (*block_size)(
        void *ptr); /* malloc_usable_size, if it is that of the same allocator; else NULL */
} pd_allocator;

extern pd_allocator pd_real;

/* Looks up all functions if that was not done yet. */
void pd_real_find(void);

/* Returns whether the function is of the same file as the realloc that the agent's calls. An allocator that was
 * preloaded need not have all functions: one of the C library would read its blocks as if they were those of
 * the C library. */
bool pd_real_is_beside_realloc(const void *function);

/* The bytes that the program can use of a block of realloc; 0: not known, or ptr is NULL. */
static inline size_t pd_real_size(void *ptr)
{
    return ptr && pd_real.block_size ? pd_real.block_size(ptr) : 0;
}

/* Returns whether the malloc that the program calls is the agent's. After a late start it is. */
bool pd_malloc_is_ours(void);

/* The offset of mmap, whatever off_t is here. */
#ifdef __GLIBC__
typedef long pd_plain_offset;
#else
typedef off_t pd_plain_offset;
#endif

struct dl_find_object;

typedef void pd_signal_handler(int);
#define PD_SPAWN_PARAMETERS                                                                        \
    (pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,         \
     char *const[], char *const[])

/* syscall(2) as it is called: all arguments are words, and unused ones are passed on unseen. */
#define PD_SYSCALL_PARAMETERS (long, long, long, long, long, long, long)
typedef long pd_raw_call PD_SYSCALL_PARAMETERS;

/* The last one marks that all are found. */
#define PD_OTHERS(ROW)                                                                             \
    ROW(void *, mmap, (void *, size_t, int, int, int, pd_plain_offset))                            \
    ROW(void *, mmap64, (void *, size_t, int, int, int, int64_t))                                  \
    ROW(void *, mremap, (void *, size_t, size_t, int, ...))                                        \
    ROW(int, brk, (void *))                                                                        \
    ROW(void *, sbrk, (intptr_t))                                                                  \
    ROW(int, sigaction, (int, const struct sigaction *, struct sigaction *))                       \
    ROW(pd_signal_handler *, signal, (int, pd_signal_handler *))                                   \
    ROW(pd_signal_handler *, __sysv_signal, (int, pd_signal_handler *))                            \
    ROW(int, execvpe, (const char *, char *const[], char *const[]))                                \
    ROW(int, fexecve, (int, char *const[], char *const[]))                                         \
    ROW(int, posix_spawn, PD_SPAWN_PARAMETERS)                                                     \
    ROW(int, posix_spawnp, PD_SPAWN_PARAMETERS)                                                    \
    ROW(int, dlclose, (void *))                                                                    \
    ROW(int, setuid, (uid_t))                                                                      \
    ROW(int, setreuid, (uid_t, uid_t))                                                             \
    ROW(int, setresuid, (uid_t, uid_t, uid_t))                                                     \
    ROW(int, daemon, (int, int))                                                                   \
    ROW(int, _dl_find_object, (void *, struct dl_find_object *))                                   \
    ROW(long, syscall, PD_SYSCALL_PARAMETERS)                                                      \
    ROW(int, mlockall, (int))                                                                      \
    ROW(int, munmap, (void *, size_t))

/* NULL: the C library does not have it. */
typedef struct pd_other_functions {
    PD_OTHERS(PD_FUNCTION)
} pd_other_functions;

/* Returns the functions. Looks them up for a call from the constructor of another library, which may
 * run before the agent's. Later calls come from signal handlers and from between vfork and exec, where
 * nothing can be looked up. */
const pd_other_functions *pd_next(void);

/* Sets the default action in this process, also for a signal that the agent handles. Safe in
 * signal handlers and between vfork and exec. */
void pd_signal_reset(int number);

/* Ends the process by this signal, even if the calling thread has blocked it. Returns if that
 * fails. */
void pd_signal_die(int number);

#endif
