/* Preloaded into the command: ends it by SIGKILL at its n-th call (DIE_AT) of what changes another process. */
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

static void count(void)
{
    static int calls;
    const char *at = getenv("DIE_AT");
    if (!at || ++calls != atoi(at))
        return;
    if (getppid() ==
        atoi(getenv("DIE_PARENT"))) /* the process that a thread is stopped by is a child */
        kill(getpid(), SIGKILL);
    kill(getppid(), SIGKILL);
    kill(getpid(), SIGKILL);
}

#ifdef __GLIBC__
typedef enum __ptrace_request ptrace_request;
#else
typedef int ptrace_request;
#endif

long ptrace(ptrace_request request, ...)
{
    va_list arguments;
    va_start(arguments, request);
    pid_t pid = va_arg(arguments, pid_t);
    void *address = va_arg(arguments, void *), *data = va_arg(arguments, void *);
    va_end(arguments);
    count();
    return syscall(SYS_ptrace, request, pid, address, data);
}

static ssize_t write_at(const char *name, int fd, const void *from, size_t len, off_t at)
{
    ssize_t (*real)(int, const void *, size_t, off_t);
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(&real, &found, sizeof real);
    count();
    return real(fd, from, len, at);
}

/* The headers may define one as another name of the other. */
ssize_t plain_pwrite(int fd, const void *from, size_t len, off_t at) __asm__("pwrite");
ssize_t long_pwrite(int fd, const void *from, size_t len, off_t at) __asm__("pwrite64");

ssize_t plain_pwrite(int fd, const void *from, size_t len, off_t at)
{
    return write_at("pwrite", fd, from, len, at);
}

ssize_t long_pwrite(int fd, const void *from, size_t len, off_t at)
{
    return write_at("pwrite64", fd, from, len, at);
}
