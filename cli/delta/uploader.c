/* The uploader: see uploader.h. */
#include "delta/uploader.h"

#include "cli.h"
#include "instant.h"
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)

enum { GRACE_SECONDS = 2 }; /* between SIGTERM and SIGKILL */

/* ---- the child ------------------------------------------------------------------------------- */

/* Becomes the command, with the file `input` on its stdin. Signals that this process ignored from the start
 * stay ignored; the others have their default, also SIGPIPE and SIGXFSZ, which main ignores. Writes errno to
 * told if it cannot; otherwise execvp closes it. */
static _Noreturn void become(char *const *argv, const pprofdelta_report *report, int input,
                             pid_t parent, const sigset_t *mask, int told)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* the parent has already ended */
        _exit(127);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    cli_set_variable("PPROFDELTA_ID", true, "%016" PRIx64, report->id);
    cli_set_variable("PPROFDELTA_SEQUENCE", true, "%" PRIu64, report->sequence);
    cli_set_variable("PPROFDELTA_ATTEMPT", true, "%" PRIu64, report->attempt);
    cli_set_variable("PPROFDELTA_FROM", true, "%" PRId64, report->from_nanos);
    cli_set_variable("PPROFDELTA_TO", true, "%" PRId64, report->to_nanos);
    sigprocmask(SIG_SETMASK, mask, NULL);
    dup2(input, STDIN_FILENO);
    execvp(argv[0], argv);
    int error = errno;
    cli_write_all(told, &error, sizeof error);
    _exit(127);
}

static void wait_for(pid_t child)
{
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
}

/* Starts the command. Returns its process when it has become the command; -1 with errno set if it could
 * not. */
static pid_t start(char *const *argv, const pprofdelta_report *report, int input,
                   const sigset_t *mask)
{
    int ends[2], error = 0;
    pid_t parent = getpid();
    if (pipe2(ends, O_CLOEXEC))
        return -1;
    pid_t child = fork();
    if (!child)
        become(argv, report, input, parent, mask, ends[1]);
    error = child < 0 ? errno : 0;
    close(ends[1]);
    while (child > 0 && read(ends[0], &error, sizeof error) < 0 && errno == EINTR) {
    }
    close(ends[0]);
    if (child > 0 && error)
        wait_for(child);
    errno = error;
    return error ? -1 : child;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * SECOND + t.tv_nsec;
}

typedef enum outcome { ENDED, TIMED_OUT, INTERRUPTED } outcome;

/* Waits for the child until the deadline (0: none). The watched signals are blocked. *signal_number
 * is the signal that arrived if INTERRUPTED is returned. */
static outcome await(pid_t child, const sigset_t *watched, int64_t deadline, int *status,
                     int *signal_number)
{
    for (;;) {
        pid_t got = waitpid(child, status, WNOHANG);
        if (got == child)
            return ENDED;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) { /* its status is lost */
            kill(-child, SIGKILL);
            *status = -1;
            return ENDED;
        }
        int64_t left = deadline ? deadline - now() : 60 * SECOND;
        if (left <= 0)
            return TIMED_OUT;
        struct timespec wait = {(time_t)(left / SECOND), (long)(left % SECOND)};
        int came = sigtimedwait(watched, NULL, &wait);
        if (came > 0 && came != SIGCHLD) {
            *signal_number = came;
            return INTERRUPTED;
        }
    }
}

/* Ends the child and everything it started: SIGTERM first, then SIGKILL. */
static void end(pid_t child)
{
    int status, ignored;
    int64_t deadline = now() + GRACE_SECONDS * SECOND;
    sigset_t only_child;
    sigemptyset(&only_child);
    sigaddset(&only_child, SIGCHLD);
    kill(-child, SIGTERM);
    kill(-child, SIGCONT); /* it may be stopped */
    outcome how = await(child, &only_child, deadline, &status, &ignored);
    kill(-child, SIGKILL);
    if (how != ENDED)
        wait_for(child);
}

/* ---- what was read -----------------------------------------------------------------------------
 *
 * A command that reads its input in order moves the file position, which it shares with this
 * process. A command that uses pread, mmap or /dev/stdin does not move it. All of them set the
 * access time of the file. So the access time is set to 1970 before the command starts, and the
 * position and the access time are checked after it has ended. */

/* Sets the access time. Returns false if the kernel does not update it when a byte is read. */
static bool mark_unread(int fd)
{
    static const struct timespec times[2] = {{0, 0}, {.tv_nsec = UTIME_OMIT}};
    struct stat status;
    char byte;
    return !futimens(fd, times) && pread(fd, &byte, 1, 0) == 1 && !fstat(fd, &status) &&
           status.st_atim.tv_sec && !futimens(fd, times);
}

/* The number of bytes that were not read; 0 if it is not known. */
static uint64_t count_unread(int fd, uint64_t len)
{
    struct stat status;
    off_t at = lseek(fd, 0, SEEK_CUR);
    if (at < 0 || (uint64_t)at >= len || fstat(fd, &status))
        return 0;
    if (at == 0 && status.st_atim.tv_sec)
        return 0; /* it was read, but not in order */
    return len - (uint64_t)at;
}

/* ---- the run --------------------------------------------------------------------------------- */

/* Writes the delta to a file in memory. Returns its descriptor, or -1 with errno set. */
static int make_input(const cli_buffer *delta)
{
    int fd = memfd_create("pprofdelta", MFD_CLOEXEC);
    if (fd < 0)
        return -1;
    int error = cli_write_all(fd, delta->bytes, delta->len);
    if (!error && lseek(fd, 0, SEEK_SET))
        error = errno;
    if (!error)
        return fd;
    close(fd);
    errno = error;
    return -1;
}

/* Waits for the child, whose watched signals are blocked. Returns whether it failed, and prints why. */
static bool has_failed(const cli_uploader *uploader, pid_t child, const sigset_t *watched,
                       int *interrupted)
{
    char span[48];
    int status = -1;
    const char *name = uploader->argv[0];
    int64_t deadline = uploader->timeout_nanos ? now() + uploader->timeout_nanos : 0;
    outcome how = await(child, watched, deadline, &status, interrupted);
    if (how != ENDED)
        end(child);
    if (how == TIMED_OUT)
        cli_error("%s: was ended because it took longer than %s", name,
                  cli_span_format(uploader->timeout_nanos, span));
    else if (how == ENDED && WIFSIGNALED(status))
        cli_error("%s: was ended by signal %d (%s)", name, WTERMSIG(status),
                  strsignal(WTERMSIG(status)));
    else if (how == ENDED && !WIFEXITED(status))
        cli_error("%s: ended with an unknown status", name);
    else if (how == ENDED && status)
        cli_error("%s: failed with exit status %d", name, WEXITSTATUS(status));
    return how != ENDED || status;
}

static int fail(void)
{
    cli_hint("the next run covers this window too");
    return CLI_UPLOAD;
}

int cli_upload_run(const cli_uploader *uploader, const cli_buffer *delta,
                   const pprofdelta_report *report, uint64_t *unread)
{
    const char *name = uploader->argv[0];
    int input = make_input(delta), interrupted = 0;
    if (input < 0) {
        cli_system_error(name, "get the delta", errno);
        return fail();
    }
    bool is_marked = mark_unread(input);
    sigset_t watched, mask;
    struct sigaction standard = {.sa_handler = SIG_DFL}, before;
    cli_ending_signals(&watched);
    sigaddset(&watched, SIGCHLD);
    sigprocmask(SIG_BLOCK, &watched, &mask);
    sigaction(SIGCHLD, &standard, &before); /* if it is ignored, there is no exit status */
    pid_t child = start(uploader->argv, report, input, &mask);
    bool is_lost = child < 0 ? cli_system_error(name, "be run", errno) != CLI_DONE
                             : has_failed(uploader, child, &watched, &interrupted);
    sigaction(SIGCHLD, &before, NULL);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    *unread = is_marked ? count_unread(input, delta->len) : 0;
    close(input);
    if (interrupted)
        raise(interrupted); /* ends this process */
    return is_lost ? fail() : CLI_DONE;
}
