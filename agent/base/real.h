/* The functions that the program would use without the agent: the malloc family, and the others that
 * the agent replaces.
 *
 * Each is the next definition in the program's search order, usually the C library's. malloc may be
 * that of another allocator that was linked or preloaded. They are looked up at the first call of one of
 * them, which may come long before any constructor has run. The lookup itself may allocate. So until
 * malloc is found each entry of pd_real leads to a function that does the lookup first. For the thread
 * that is doing the lookup these functions allocate from a small arena that is never freed. Afterwards a
 * call costs one indirect jump. */
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

typedef struct pd_allocator {
    void *(*malloc)(size_t size);
    void (*free)(void *ptr);
    void *(*calloc)(size_t count, size_t size);
    void *(*realloc)(void *ptr, size_t size);
    int (*posix_memalign)(void **out, size_t alignment, size_t size);
    void *(*aligned_alloc)(size_t alignment, size_t size);
    void *(*memalign)(size_t alignment, size_t size);
    void *(*valloc)(size_t size);
    void *(*pvalloc)(size_t size);
    size_t (*usable_size)(void *ptr);
    size_t (*block_size)(
        void *ptr); /* usable_size, if it is that of the same allocator; else NULL */
} pd_allocator;

extern pd_allocator pd_real;

/* Looks up all functions if that was not done yet. */
void pd_real_find(void);

/* Returns whether the malloc that the program calls is the agent's. */
bool pd_malloc_is_ours(void);

/* The offset of mmap, whatever off_t is here. */
#ifdef __GLIBC__
typedef long pd_plain_offset;
#else
typedef off_t pd_plain_offset;
#endif

struct dl_find_object;

typedef void pd_signal_handler(int);
typedef int pd_spawn(pid_t *pid, const char *program, const posix_spawn_file_actions_t *actions,
                     const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]);

/* syscall(2) as it is called: all arguments are words, and unused ones are passed on unseen. */
typedef long pd_raw_call(long number, long a, long b, long c, long d, long e, long f);

/* NULL: the C library does not have it. */
typedef struct pd_other_functions {
    void *(*mmap)(void *, size_t, int, int, int, pd_plain_offset);
    void *(*mmap64)(void *, size_t, int, int, int, int64_t);
    int (*munmap)(void *, size_t);
    void *(*mremap)(void *, size_t, size_t, int, ...);
    int (*brk)(void *);
    void *(*sbrk)(intptr_t);
    int (*sigaction)(int, const struct sigaction *, struct sigaction *);
    pd_signal_handler *(*signal)(int, pd_signal_handler *);
    pd_signal_handler *(*sysv_signal)(int, pd_signal_handler *);
    int (*execvpe)(const char *, char *const[], char *const[]);
    int (*fexecve)(int, char *const[], char *const[]);
    pd_spawn *posix_spawn, *posix_spawnp;
    int (*dlclose)(void *);
    int (*daemon)(int, int);
    int (*find_object)(void *, struct dl_find_object *);
    pd_raw_call *raw_call;
} pd_other_functions;

/* Returns the functions. Looks them up for a call from the constructor of another library, which may
 * run before the agent's. Later calls come from signal handlers and from between vfork and exec, where
 * nothing can be looked up. */
const pd_other_functions *pd_next(void);

/* Sets *function, a pointer to a function, to the definition behind the agent's own. Leaves it if there
 * is none. The address is copied as bytes, since ISO C does not convert a pointer to an object to one to
 * a function. */
static inline void pd_find_next(void *function, const char *name)
{
    void *address = dlsym(RTLD_NEXT, name);
    if (address)
        memcpy(function, &address, sizeof address);
}

/* Sets the default action in this process, also for a signal that the agent handles. Safe in
 * signal handlers and between vfork and exec. */
void pd_signal_reset(int number);

/* Ends the process by this signal, even if the calling thread has blocked it. Returns if that
 * fails. */
void pd_signal_die(int number);

#endif
