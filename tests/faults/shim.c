/* Faults on order: a library to be preloaded that counts the system calls a state depends on, and
 * makes one of them go wrong.
 *
 *     PD_FAULT_HOW   errno's number: the call fails with it and does nothing
 *                    before, after: the process is killed before the call or right after it
 *                    short: a write or a read moves one byte
 *     PD_FAULT_NTH   which call, from 1; 0: none
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
static int log_fd = -1;
static pid_t self;

__attribute__((constructor)) static void read_orders(void)
{
    const char *how = getenv("PD_FAULT_HOW"), *which = getenv("PD_FAULT_NTH");
    const char *log = getenv("PD_FAULT_LOG");
    self = getpid();
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
    if (getpid() != self)
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

#define MKOSTEMP(function)                                                                         \
    int function(char *pattern, int flags)                                                         \
    {                                                                                              \
        int result = -1;                                                                           \
        FAULT("mkostemp", -1, result = REAL(function)(pattern, flags));                            \
        return result;                                                                             \
    }

MKOSTEMP(mkostemp)
#ifdef __GLIBC__
MKOSTEMP(mkostemp64)
#endif

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
    FAULT("write", -1, result = REAL(write)(fd, data, turn_ && is_short && len ? 1 : len));
    return result;
}

ssize_t read(int fd, void *data, size_t len)
{
    ssize_t result = -1;
    FAULT("read", -1, result = REAL(read)(fd, data, turn_ && is_short && len ? 1 : len));
    return result;
}

#define PWRITE(function, offset)                                                                   \
    ssize_t function(int fd, const void *data, size_t len, offset at)                              \
    {                                                                                              \
        ssize_t result = -1;                                                                       \
        FAULT("pwrite", -1,                                                                        \
              result = REAL(function)(fd, data, turn_ && is_short && len ? 1 : len, at));          \
        return result;                                                                             \
    }

PWRITE(pwrite, off_t)
#ifdef __GLIBC__
PWRITE(pwrite64, off64_t)
#endif

#define LSEEK(function, offset)                                                                    \
    offset function(int fd, offset at, int whence)                                                 \
    {                                                                                              \
        offset result = -1;                                                                        \
        FAULT("lseek", -1, result = REAL(function)(fd, at, whence));                               \
        return result;                                                                             \
    }

LSEEK(lseek, off_t)
#ifdef __GLIBC__
LSEEK(lseek64, off64_t)
#endif

int fdatasync(int fd)
{
    int result = -1;
    FAULT("fdatasync", -1, result = REAL(fdatasync)(fd));
    return result;
}

int fsync(int fd)
{
    int result = -1;
    FAULT("fsync", -1, result = REAL(fsync)(fd));
    return result;
}

int rename(const char *from, const char *to)
{
    int result = -1;
    FAULT("rename", -1, result = REAL(rename)(from, to));
    return result;
}

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

int flock(int fd, int operation)
{
    int result = -1;
    FAULT("flock", -1, result = REAL(flock)(fd, operation));
    return result;
}

int fchmod(int fd, mode_t mode)
{
    int result = -1;
    FAULT("fchmod", -1, result = REAL(fchmod)(fd, mode));
    return result;
}

int unlink(const char *path)
{
    int result = -1;
    FAULT("unlink", -1, result = REAL(unlink)(path));
    return result;
}

int memfd_create(const char *name, unsigned flags)
{
    int result = -1;
    FAULT("memfd_create", -1, result = REAL(memfd_create)(name, flags));
    return result;
}

int pipe2(int fds[2], int flags)
{
    int result = -1;
    FAULT("pipe2", -1, result = REAL(pipe2)(fds, flags));
    return result;
}

pid_t fork(void)
{
    pid_t result = -1;
    FAULT("fork", -1, result = REAL(fork)());
    return result;
}

pid_t waitpid(pid_t child, int *status, int options)
{
    pid_t result = -1;
    FAULT("waitpid", -1, result = REAL(waitpid)(child, status, options));
    return result;
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
