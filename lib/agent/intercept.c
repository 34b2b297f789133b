/* Calls after which something would be lost: the end that runs no destructor, the program that
 * takes this one's place, and code that is unloaded while stacks still speak of it. Each does what
 * is to be done and then what was called. */
#include "agent/agent.h"
#include "agent/life.h"
#include "agent/quiet.h"
#include "agent/self.h"
#include "agent/callers.h"
#include "agent/symbols.h"
#include "agent/unloaded.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

/* ---- the end --------------------------------------------------------------------------------- */

PUBLIC void _exit(int status)
{
    pd_agent_end();
    for (;;)
        syscall(SYS_exit_group, status);
}

PUBLIC void _Exit(int status)
{
    _exit(status);
}

/* ---- the next definition of a name, looked up once ------------------------------------------- */

/* A function's address out of an object's, which ISO C cannot say. */
static void find_next(void *function, const char *name)
{
    void *address = dlsym(RTLD_NEXT, name);
    if (address)
        memcpy(function, &address, sizeof address);
}

/* ---- another program ------------------------------------------------------------------------- */

PUBLIC int execve(const char *path, char *const argv[], char *const envp[])
{
    bool is_kept = pd_agent_before_exec();
    int result = (int)syscall(SYS_execve, path, argv, envp);
    pd_agent_exec_failed(is_kept);
    return result;
}

PUBLIC int execv(const char *path, char *const argv[])
{
    return execve(path, argv, environ);
}

/* In the child of a fork or vfork nothing may be looked up that was not before: these are found
 * when the agent is loaded. */
static struct {
    int (*execvpe)(const char *, char *const[], char *const[]);
    int (*fexecve)(int, char *const[], char *const[]);
    int (*dlclose)(void *);
} next;

__attribute__((constructor)) static void find_all(void)
{
    int kept = errno;
    find_next(&next.execvpe, "execvpe");
    find_next(&next.fexecve, "fexecve");
    find_next(&next.dlclose, "dlclose");
    errno = kept;
}

PUBLIC int execvpe(const char *file, char *const argv[], char *const envp[])
{
    bool is_kept = pd_agent_before_exec();
    int result = next.execvpe(file, argv, envp);
    pd_agent_exec_failed(is_kept);
    return result;
}

PUBLIC int execvp(const char *file, char *const argv[])
{
    return execvpe(file, argv, environ);
}

PUBLIC int fexecve(int fd, char *const argv[], char *const envp[])
{
    bool is_kept = pd_agent_before_exec();
    int result = next.fexecve(fd, argv, envp);
    pd_agent_exec_failed(is_kept);
    return result;
}

/* The arguments of execl and its kin, up to the NULL, as a vector; it lives on the caller's stack,
 * since nothing may be allocated here. */
static size_t count_arguments(va_list arguments)
{
    size_t count = 1;
    while (va_arg(arguments, const char *))
        count++;
    return count;
}

static void take_arguments(char **vector, const char *first, size_t count, va_list arguments)
{
    vector[0] = (char *)first;
    for (size_t i = 1; i <= count; i++)
        vector[i] = va_arg(arguments, char *);
}

/* NOLINTBEGIN(bugprone-macro-parentheses): names */
#define VECTOR(vector, first)                                                                      \
    va_list arguments;                                                                             \
    va_start(arguments, first);                                                                    \
    size_t count = count_arguments(arguments);                                                     \
    va_end(arguments);                                                                             \
    char **vector = __builtin_alloca((count + 1) * sizeof *vector);                                \
    va_start(arguments, first);                                                                    \
    take_arguments(vector, first, count, arguments)
/* NOLINTEND(bugprone-macro-parentheses) */

PUBLIC int execl(const char *path, const char *arg, ...)
{
    VECTOR(vector, arg);
    va_end(arguments);
    return execve(path, vector, environ);
}

PUBLIC int execlp(const char *file, const char *arg, ...)
{
    VECTOR(vector, arg);
    va_end(arguments);
    return execvpe(file, vector, environ);
}

PUBLIC int execle(const char *path, const char *arg, ...)
{
    VECTOR(vector, arg);
    char *const *environment = va_arg(arguments, char *const *);
    va_end(arguments);
    return execve(path, vector, environment);
}

/* ---- unloading ------------------------------------------------------------------------------- */

PUBLIC int dlclose(void *handle)
{
    pprofdelta_heap *heap = atomic_load(&pd_the_agent.heap);
    if (!heap || !pd_self_enter())
        return next.dlclose(handle);
    pd_quiet quiet;
    pd_quiet_begin(&quiet);
    pprofdelta_heap_note_mappings(heap);
    pd_unloaded_look();
    pd_quiet_end(&quiet);
    pd_self_leave();
    int result = next.dlclose(handle);
    int kept = errno;
    if (pd_self_enter()) {
        pd_unloaded_look();
        pd_unwind_forget();
        pd_symbols_forget();
        pd_self_leave();
    }
    errno = kept;
    return result;
}
