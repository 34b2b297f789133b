/* Functions that end the process, replace the program, start another program, unload code or install a filter. Each
 * does what the agent needs before that, and then calls the real function. If the agent cannot be
 * loaded into a program that is started, it is left out of that program's environment. */
#include "agent/base/agent.h"
#include "agent/base/filter.h"
#include "agent/base/inherit.h"
#include "agent/base/real.h"
#include "agent/delivery/delivery.h"
#include "agent/life/life.h"
#include "agent/stacks/stacks.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- the end --------------------------------------------------------------------------------- */

PD_PUBLIC void _exit(int status)
{
    pd_agent_end();
    for (;;)
        syscall(SYS_exit_group, status);
}

PD_PUBLIC void _Exit(int) __attribute__((alias("_exit")));

/* ---- another program ------------------------------------------------------------------------- */

/* Before the program is run, in place of this one or in another process. Returns the size of the environment that it
 * may inherit if that is less than all (see inherit.h). */
static size_t before_program(const char *program, char *const envp[], bool is_exec)
{
    if (is_exec)
        pd_agent_before_exec();
    bool is_lost = is_exec && pd_inherit_is_lost(envp);
    size_t size = is_lost ? 0 : pd_inherit_size(program, envp);
    if (is_lost)
        pd_summary_leave(program, "has no LD_PRELOAD with the agent in its environment");
    else if (is_exec && size)
        pd_summary_leave(program, "cannot reach the agent's file");
    return size;
}

/* Sets envp to what the program may inherit, on the stack of the function that uses this macro. */
/* NOLINTBEGIN(bugprone-macro-parentheses): envp is assigned to */
#define INHERIT(program, envp, is_exec)                                                            \
    do {                                                                                           \
        size_t inherit_size = before_program(program, envp, is_exec);                              \
        if (inherit_size)                                                                          \
            envp = pd_inherit_copy(envp, __builtin_alloca(inherit_size));                          \
    } while (0)
/* NOLINTEND(bugprone-macro-parentheses) */

PD_PUBLIC int execve(const char *path, char *const argv[], char *const envp[])
{
    INHERIT(path, envp, true);
    return (int)syscall(SYS_execve, path, argv, envp);
}

PD_PUBLIC int execv(const char *path, char *const argv[])
{
    return execve(path, argv, environ);
}

/* Returns the program that execvp would run, or the name itself if there is none or a filter may kill. */
static const char *in_path(const char *file, char path[PATH_MAX])
{
    return atomic_load(&pd_is_confined) || pd_launch_find(file, getenv("PATH"), path) ? file : path;
}

PD_PUBLIC int execvpe(const char *file, char *const argv[], char *const envp[])
{
    char path[PATH_MAX];
    INHERIT(in_path(file, path), envp, true);
    return pd_next()->execvpe(file, argv, envp);
}

PD_PUBLIC int execvp(const char *file, char *const argv[])
{
    return execvpe(file, argv, environ);
}

/* Returns the path of a descriptor, or of a name in the directory that it refers to. */
static const char *under_descriptor(int fd, const char *name, char path[PATH_MAX])
{
    if (*name == '/' || (fd == AT_FDCWD && *name))
        return name;
    int len = snprintf(path, PATH_MAX, "/proc/self/fd/%d%s%s", fd, *name ? "/" : "", name);
    return len < PATH_MAX ? path : name;
}

PD_PUBLIC int fexecve(int fd, char *const argv[], char *const envp[])
{
    char path[PATH_MAX];
    INHERIT(under_descriptor(fd, "", path), envp, true);
    return pd_next()->fexecve(fd, argv, envp);
}

/* Older C libraries do not declare it. The kernel has the system call since Linux 3.19. */
PD_PUBLIC int execveat(int fd, const char *path, char *const argv[], // NOLINT
                       char *const envp[], int flags);

PD_PUBLIC int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
    char found[PATH_MAX];
    INHERIT(under_descriptor(fd, path, found), envp, true);
    return (int)syscall(SYS_execveat, fd, path, argv, envp, flags);
}

/* ---- another process with another program ---------------------------------------------------- */

/* The C library's posix_spawn, system and popen do not call the functions above. system and popen
 * need no replacement: they run the shell, into which the agent can be loaded. */

PD_PUBLIC int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                          const posix_spawnattr_t *attrp, char *const argv[], char *const envp[])
{
    INHERIT(path, envp, false);
    return pd_next()->posix_spawn(pid, path, actions, attrp, argv, envp);
}

PD_PUBLIC int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                           const posix_spawnattr_t *attrp, char *const argv[], char *const envp[])
{
    char path[PATH_MAX];
    INHERIT(in_path(file, path), envp, false);
    return pd_next()->posix_spawnp(pid, file, actions, attrp, argv, envp);
}

/* ---- the arguments of execl ------------------------------------------------------------------ */

/* The arguments of execl and related functions become a vector on the caller's stack, since
 * nothing may be allocated here. */
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

PD_PUBLIC int execl(const char *path, const char *arg, ...)
{
    VECTOR(vector, arg);
    va_end(arguments);
    return execve(path, vector, environ);
}

PD_PUBLIC int execlp(const char *file, const char *arg, ...)
{
    VECTOR(vector, arg);
    va_end(arguments);
    return execvpe(file, vector, environ);
}

PD_PUBLIC int execle(const char *path, const char *arg, ...)
{
    VECTOR(vector, arg);
    char *const *environment = va_arg(arguments, char *const *);
    va_end(arguments);
    return execve(path, vector, environment);
}

/* ---- another process ------------------------------------------------------------------------- */

/* The C library does not end the calling process by _exit above. */
PD_PUBLIC int daemon(int nochdir, int noclose)
{
    pd_agent_before_exec();
    return pd_next()->daemon(nochdir, noclose);
}

/* ---- another namespace, another root directory ----------------------------------------------- */

/* Only a process with one thread can create or enter a user namespace. So the agent's thread ends
 * meanwhile. */

/* NOLINTBEGIN(bugprone-macro-parentheses): lists */
#define ALONE(name, parameters, pause, call)                                                       \
    PD_PUBLIC int name parameters                                                                  \
    {                                                                                              \
        bool is_paused = pause;                                                                    \
        int result = (int)call;                                                                    \
        if (is_paused)                                                                             \
            pd_agent_resume();                                                                     \
        return result;                                                                             \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

enum { FOR_ONE_THREAD = CLONE_NEWUSER | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM };

ALONE(unshare, (int flags), (flags & FOR_ONE_THREAD) && pd_agent_pause(),
      syscall(SYS_unshare, flags))
ALONE(setns, (int fd, int type), pd_agent_before_move(0), syscall(SYS_setns, fd, type))
ALONE(chroot, (const char *path), pd_agent_before_move(0), syscall(SYS_chroot, path))

/* ---- another user ---------------------------------------------------------------------------- */

/* Is it for good: is none of the three root, or -1, which leaves one as it is? */
static bool leave_root(uid_t real, uid_t user, uid_t saved)
{
    return real + 1 > 1 && user + 1 > 1 && saved + 1 > 1 && !pd_the_agent.has_filter &&
           !geteuid() && pd_agent_before_move(user);
}

ALONE(setuid, (uid_t uid), leave_root(uid, uid, uid), pd_next()->setuid(uid))
ALONE(setreuid, (uid_t ruid, uid_t euid), leave_root(ruid, euid, euid),
      pd_next()->setreuid(ruid, euid))
ALONE(setresuid, (uid_t ruid, uid_t euid, uid_t suid), leave_root(ruid, euid, suid),
      pd_next()->setresuid(ruid, euid, suid))

/* ---- unloading ------------------------------------------------------------------------------- */

static void before_unloading(void *heap)
{
    pprofdelta_heap_note_mappings(heap);
    pd_unloaded_update();
}

static void after_unloading(void *unused)
{
    (void)unused;
    pd_unloaded_update();
    pd_unwind_forget();
    pd_function_names_forget();
}

PD_PUBLIC int dlclose(void *handle)
{
    pprofdelta_heap *heap = pd_agent_heap();
    bool is_noted = heap && !atomic_load(&pd_is_confined) && pd_work(before_unloading, heap);
    int result = pd_next()->dlclose(handle);
    if (is_noted)
        pd_work(after_unloading, NULL);
    return result;
}

/* ---- a filter --------------------------------------------------------------------------------- */

typedef struct question {
    const struct sock_fprog *filter;
    const char *answer;
} question;

static void ask_worker(void *cookie)
{
    question *q = cookie;
    bool has_command = pd_given.command != NULL;
    q->answer = pd_filter_forbids(q->filter->filter, q->filter->len, has_command);
}

/* Returns what prctl or seccomp, called so, forbids the agent on pain of death, or NULL. */
static const char *forbidden_by(long number, long a, long b, long c)
{
    question q = {.filter = (const struct sock_fprog *)c}; // NOLINT(performance-no-int-to-ptr)
    long mode = number == SYS_seccomp ? (int)a + (SECCOMP_MODE_STRICT - SECCOMP_SET_MODE_STRICT)
                : (int)a == PR_SET_SECCOMP ? b
                                           : SECCOMP_MODE_DISABLED;
    if (mode == SECCOMP_MODE_STRICT)
        return "almost all calls";
    if (mode == SECCOMP_MODE_FILTER && q.filter && q.filter->filter)
        pd_own_stack_call(ask_worker, &q);
    return q.answer;
}

/* With this flag, the thread that has another filter is the result. f goes on as it came: its place on the stack
 * is the caller's, which may have passed less. */
static long call_confining(long number, long a, long b, long c, long d, long e, long f)
{
    const char *forbidden = forbidden_by(number, a, b, c);
    bool is_confined = forbidden && pd_agent_before_confine(forbidden);
    pd_the_agent.has_filter |= number == SYS_seccomp || a == PR_SET_SECCOMP;
    long result = pd_next()->syscall(number, a, b, c, d, e, f);
    if (is_confined && (result < 0 || (result && (b & (long)SECCOMP_FILTER_FLAG_TSYNC))))
        pd_agent_confine_failed();
    return result;
}

long pd_raw_prctl(int option, long a, long b, long c, long d) __asm__("prctl")
    __attribute__((visibility("default")));

long pd_raw_prctl(int option, long a, long b, long c, long d)
{
    return call_confining(SYS_prctl, option, a, b, c, d, 0);
}

/* ---- syscall(2) ------------------------------------------------------------------------------
 * A program may end the process by it behind the C library's back (exit_group), give it another root
 * directory, or lock its memory. Every other call goes on to the C library's function with the arguments
 * as they are. It is the last thing that this function does, so that a compiler that optimizes jumps
 * there: a child that shares its parent's stack, or has a new one, then finds the stack as the caller left
 * it. */

pd_raw_call pd_raw_syscall __asm__("syscall") __attribute__((visibility("default")));

long pd_raw_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    pd_raw_call *call = pd_next()->syscall;
    if (number == SYS_exit_group)
        pd_agent_end();
    if (number == SYS_chroot || number == SYS_pivot_root || number == SYS_setns)
        pd_agent_before_move(0); /* the next sample starts the agent's thread again */
    if (number == SYS_prctl || number == SYS_seccomp)
        return call_confining(number, a, b, c, d, e, f);
    if (number == SYS_mlockall)
        return mlockall((int)a);
    return call(number, a, b, c, d, e, f);
}
