/* Faults on order: a library to be preloaded that counts the system calls a state depends on, and
 * makes one of them go wrong.
 *
 *     PD_FAULT_HOW   errno's number: the call fails with it and does nothing
 *                    before, after: the process is killed before the call or right after it
 *                    run: the shell command PD_FAULT_RUN runs before the call
 *                    short: a write or a read moves one byte
 *     PD_FAULT_NTH   which call, from 1; 0: none
 *     PD_FAULT_OF    the name of the calls that count; not set: all
 *     PD_FAULT_LOG   a file where the names of the calls go, one a line
 *
 * Messages (descriptor 2) do not count, nor does what a child of the process does: the uploader
 * finds neither the library nor these words in its environment. */
#undef _FILE_OFFSET_BITS /* which renames the functions that are defined here, by hand */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* The parameters have no reserved names here, as they have in the headers. */
/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */
static long nth, count;
static int error_number; /* 0: another way to go wrong */
static bool is_before, is_after, is_short;
static char *run;  /* a command, or NULL */
static char *only; /* the name of the calls that count, or NULL */
static int log_fd = -1;
static pid_t self;

__attribute__((constructor)) static void read_orders(void)
{
    const char *how = getenv("PD_FAULT_HOW"), *which = getenv("PD_FAULT_NTH");
    const char *log = getenv("PD_FAULT_LOG");
    self = getpid();
    only = getenv("PD_FAULT_OF");
    nth = which ? strtol(which, NULL, 10) : 0;
    if (log) {
        int fd = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
        log_fd = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 100);
        syscall(SYS_close, fd);
    }
    if (how) {
        is_before = !strcmp(how, "before");
        is_after = !strcmp(how, "after");
        is_short = !strcmp(how, "short");
        run = strcmp(how, "run") ? NULL : getenv("PD_FAULT_RUN");
        error_number = (int)strtol(how, NULL, 10);
    }
    unsetenv("LD_PRELOAD");
    unsetenv("PD_FAULT_HOW");
    unsetenv("PD_FAULT_NTH");
    unsetenv("PD_FAULT_LOG");
}

static void die(void)
{
    syscall(SYS_kill, getpid(), SIGKILL);
}

/* Counts the call. True where it is the one. */
static bool is_turn(const char *name)
{
    if (getpid() != self || (only && strcmp(only, name) != 0))
        return false;
    count++;
    if (log_fd >= 0) {
        char line[64];
        int len = snprintf(line, sizeof line, "%s\n", name);
        syscall(SYS_write, log_fd, line, (size_t)len);
    }
    if (count != nth)
        return false;
    if (is_before)
        die();
    if (run && system(run)) // NOLINT(cert-env33-c): a command of the test
        _exit(99);
    return true;
}

/* The call itself, wrapped: "fail" is what it returns when it fails. */
#define FAULT(name, fail, ...)                                                                     \
    do {                                                                                           \
        bool turn_ = is_turn(name);                                                                \
        if (turn_ && error_number) {                                                               \
            errno = error_number;                                                                  \
            return fail;                                                                           \
        }                                                                                          \
        __VA_ARGS__;                                                                               \
        if (turn_ && is_after)                                                                     \
            die();                                                                                 \
    } while (0)

/* The next definition of a function, with the type of this one. */
#define REAL(function) ((__typeof__(&(function)))dlsym(RTLD_NEXT, #function))

#define OPEN(function)                                                                             \
    int function(const char *path, int flags, ...)                                                 \
    {                                                                                              \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;                                  \
        va_end(args);                                                                              \
        int result = -1;                                                                           \
        FAULT("open", -1, result = REAL(function)(path, flags, mode));                             \
        return result;                                                                             \
    }

OPEN(open)
#ifdef __GLIBC__
OPEN(open64)
#endif

/* What is left of a length if the call moves one byte. */
#define SHORT(len) (turn_ && is_short && (len) ? 1 : (len))

/* A function that is called as `name` in the log. */
#define CALL(type, function, name, parameters, ...)                                                \
    type function parameters                                                                       \
    {                                                                                              \
        type result = -1;                                                                          \
        FAULT(name, -1, result = REAL(function)(__VA_ARGS__));                                     \
        return result;                                                                             \
    }

/* Not counted: every new state has this id, so that the files of two runs are the same. */
ssize_t getrandom(void *data, size_t len, unsigned flags)
{
    (void)flags;
    memset(data, 1, len);
    return (ssize_t)len;
}

ssize_t write(int fd, const void *data, size_t len)
{
    if (fd == STDERR_FILENO)
        return REAL(write)(fd, data, len);
    ssize_t result = -1;
    FAULT("write", -1, result = REAL(write)(fd, data, SHORT(len)));
    return result;
}

CALL(int, mkostemp, "mkostemp", (char *pattern, int flags), pattern, flags)
CALL(ssize_t, read, "read", (int fd, void *data, size_t len), fd, data, SHORT(len))
CALL(ssize_t, pwrite, "pwrite", (int fd, const void *data, size_t len, off_t at), fd, data,
     SHORT(len), at)
CALL(off_t, lseek, "lseek", (int fd, off_t at, int whence), fd, at, whence)
#ifdef __GLIBC__
CALL(int, mkostemp64, "mkostemp", (char *pattern, int flags), pattern, flags)
CALL(ssize_t, pwrite64, "pwrite", (int fd, const void *data, size_t len, off64_t at), fd, data,
     SHORT(len), at)
CALL(off64_t, lseek64, "lseek", (int fd, off64_t at, int whence), fd, at, whence)
#endif
CALL(int, fdatasync, "fdatasync", (int fd), fd)
CALL(int, fsync, "fsync", (int fd), fd)
CALL(int, rename, "rename", (const char *from, const char *to), from, to)
CALL(int, link, "link", (const char *from, const char *to), from, to)
CALL(int, flock, "flock", (int fd, int operation), fd, operation)
CALL(int, fchmod, "fchmod", (int fd, mode_t mode), fd, mode)
CALL(int, unlink, "unlink", (const char *path), path)
CALL(int, memfd_create, "memfd_create", (const char *name, unsigned flags), name, flags)
CALL(int, pipe2, "pipe2", (int fds[2], int flags), fds, flags)
CALL(pid_t, fork, "fork", (void))
CALL(pid_t, waitpid, "waitpid", (pid_t child, int *status, int options), child, status, options)

/* One that fails has closed the descriptor all the same, as on Linux. */
int close(int fd)
{
    int result = -1;
    bool turn = is_turn("close");
    result = REAL(close)(fd);
    if (turn && is_after)
        die();
    if (turn && error_number) {
        errno = error_number;
        return -1;
    }
    return result;
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
