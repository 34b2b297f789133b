/* The uploader: see uploader.h. */
#include "delta/uploader.h"

#include "cli.h"
#include "instant.h"
#include "message.h"

#include "agent/base/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)

enum { GRACE_SECONDS = 2 }; /* between SIGTERM and SIGKILL */

/* ---- the guard -----------------------------------------------------------------------------------
 *
 * The uploader has a process group of its own, so that it and all that it started can be ended. The
 * group has the foreground of the terminal if the group of this process had it, so the uploader may
 * read the terminal. A third process, the guard, leads the group. It lives as long as the uploader. It
 *   - kills the group if this process has ended without doing so
 *   - passes to the group of this process what the terminal sends to that of the uploader: Ctrl-C,
 *     Ctrl-Z, and SIGTTIN if the uploader reads the terminal in the background. So all of a job ends
 *     or stops. */
typedef struct job {
    pid_t ours;           /* the group of this process */
    pid_t group;          /* the process of the guard, and its group */
    pid_t child;          /* the uploader */
    int tty;              /* the terminal of this process; -1: none */
    struct termios modes; /* of the terminal before */
} job;

/* Moves the foreground of the terminal from one group to another, if the first has it. SIGTTOU is
 * blocked. */
static bool pass_terminal(const job *j, pid_t from, pid_t to)
{
    return tcgetpgrp(j->tty) == from && !tcsetpgrp(j->tty, to);
}

/* All signals are blocked. */
static _Noreturn void guard_group(const job *j, pid_t parent)
{
    siginfo_t from;
    sigset_t all;
    sigfillset(&all);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGUSR1);
    while (getppid() == parent) {
        int number = sigwaitinfo(&all, &from);
        if (number == SIGUSR1 && getppid() == parent)
            _exit(0); /* as it was told to */
        if (number > 0 && number != SIGUSR1 && from.si_code == SI_KERNEL)
            kill(-j->ours, number);
    }
    pass_terminal(j, getpid(), j->ours);
    kill(-getpid(), SIGKILL);
    _exit(1);
}

static void wait_for(pid_t child)
{
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
}

/* Returns 0, or an errno value. The uploader may have ended before the guard has run: no signal must end the guard
 * before it has passed on the others. */
static int start_guard(job *j)
{
    sigset_t all, mask;
    pid_t parent = getpid();
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask);
    j->group = fork();
    if (!j->group)
        guard_group(j, parent);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    if (j->group < 0)
        return errno;
    setpgid(j->group, j->group); /* the guard does it, too: one of both is first */
    pass_terminal(j, j->ours, j->group);
    return 0;
}

/* Ends the guard, when it has passed on what came before. */
static void end_guard(const job *j)
{
    pass_terminal(j, j->group, j->ours);
    kill(j->group, SIGUSR1);
    wait_for(j->group);
}

/* ---- the child ------------------------------------------------------------------------------- */

/* Removes the variables that would start the heap agent. */
static void leave_recording(void)
{
    char **kept = environ;
    for (char **variable = environ; variable && *variable; variable++)
        if (pd_launch_is_for_command(*variable))
            *kept++ = *variable;
    if (kept)
        *kept = NULL;
}

/* Becomes the command, with the file `input` on its stdin. Signals that this process ignored from
 * the start stay ignored; the others have their default, also SIGPIPE and SIGXFSZ, which main
 * ignores. Writes errno to told if it cannot; otherwise execvp closes it. */
static _Noreturn void become_command(const job *j, const cli_uploader *uploader,
                                     const pprofdelta_report *report, int input, pid_t parent,
                                     const sigset_t *mask, int told)
{
    char *const *argv = uploader->argv;
    if (setpgid(0, j->group) || getppid() != parent) /* the guard or the parent has ended */
        _exit(127);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    cli_set_variable("PPROFDELTA_ID", true, "%016" PRIx64, report->id);
    cli_set_variable("PPROFDELTA_SEQUENCE", true, "%" PRIu64, report->sequence);
    cli_set_variable("PPROFDELTA_ATTEMPT", true, "%" PRIu64, report->attempt);
    cli_set_variable("PPROFDELTA_FROM", true, "%" PRId64, report->from_nanos);
    cli_set_variable("PPROFDELTA_TO", true, "%" PRId64, report->to_nanos);
    if (uploader->is_not_recorded)
        leave_recording();
    sigprocmask(SIG_SETMASK, mask, NULL);
    dup2(input, STDIN_FILENO);
    int nowhere = uploader->is_silent ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
    if (nowhere >= 0) {
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
    }
    execvp(argv[0], argv);
    int error = errno;
    cli_write_all(told, &error, sizeof error);
    _exit(127);
}

/* Starts the command. Returns 0 when a process has become the command; an errno value if none
 * could. */
static int start_child(job *j, const cli_uploader *uploader, const pprofdelta_report *report,
                       int input, const sigset_t *mask)
{
    int ends[2], error = 0;
    pid_t parent = getpid();
    if (pipe2(ends, O_CLOEXEC))
        return errno;
    j->child = fork();
    if (!j->child)
        become_command(j, uploader, report, input, parent, mask, ends[1]);
    error = j->child < 0 ? errno : 0;
    close(ends[1]);
    while (j->child > 0 && read(ends[0], &error, sizeof error) < 0 && errno == EINTR) {
    }
    close(ends[0]);
    if (j->child > 0 && error)
        wait_for(j->child);
    return error;
}

/* ---- waiting --------------------------------------------------------------------------------- */

typedef enum outcome { ENDED, TIMED_OUT, INTERRUPTED, STUCK } outcome;

static bool is_stopping(int number)
{
    return number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

/* Stops the uploader and this process until SIGCONT. Returns false if this process does not stop,
 * because there is no shell that could continue it. */
static bool suspend_both(const job *j, int number)
{
    static const struct timespec at_once;
    sigset_t stop, go_on;
    sigemptyset(&stop);
    sigaddset(&stop, number);
    sigemptyset(&go_on);
    sigaddset(&go_on, SIGCONT);
    sigprocmask(SIG_BLOCK, &go_on, NULL);
    kill(-j->group, number);
    pass_terminal(j, j->group, j->ours);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &stop, NULL); /* stops here */
    sigprocmask(SIG_BLOCK, &stop, NULL);
    bool was_stopped = sigtimedwait(&go_on, NULL, &at_once) == SIGCONT;
    sigprocmask(SIG_UNBLOCK, &go_on, NULL);
    pass_terminal(j, j->ours, j->group);
    kill(-j->group, SIGCONT);
    return was_stopped;
}

/* Waits for the uploader until the deadline (0: none). The watched signals are blocked.
 * *signal_number is the signal that arrived if INTERRUPTED is returned. */
static outcome await_child(const job *j, const sigset_t *watched, int64_t deadline, int *status,
                           int *signal_number)
{
    for (;;) {
        pid_t got = waitpid(j->child, status, WNOHANG);
        if (got == j->child)
            return ENDED;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) { /* its status is lost */
            kill(-j->group, SIGKILL);
            *status = -1;
            return ENDED;
        }
        int64_t left = deadline ? deadline - cli_monotonic_now() : 60 * SECOND;
        if (left <= 0)
            return TIMED_OUT;
        struct timespec wait = {(time_t)(left / SECOND), (long)(left % SECOND)};
        int came = sigtimedwait(watched, NULL, &wait);
        if (came > 0 && is_stopping(came)) {
            if (!suspend_both(j, came) && came != SIGTSTP)
                return STUCK;
        } else if (came > 0 && came != SIGCHLD) {
            *signal_number = came;
            return INTERRUPTED;
        }
    }
}

/* Ends the uploader and everything it started: SIGTERM first, then SIGKILL. */
static void end_group(const job *j)
{
    int status, ignored;
    int64_t deadline = cli_monotonic_now() + GRACE_SECONDS * SECOND;
    sigset_t only_child;
    sigemptyset(&only_child);
    sigaddset(&only_child, SIGCHLD);
    kill(-j->group, SIGTERM);
    kill(-j->group, SIGCONT); /* it may be stopped */
    outcome how = await_child(j, &only_child, deadline, &status, &ignored);
    kill(-j->group, SIGKILL);
    if (how != ENDED)
        wait_for(j->child);
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

/* Waits for the uploader, and ends it if it takes too long. *interrupted is the signal that ends
 * this process, too. */
static outcome oversee_child(const job *j, const cli_uploader *uploader, const sigset_t *watched,
                             int *status, int *interrupted)
{
    int64_t deadline = uploader->timeout_nanos ? cli_monotonic_now() + uploader->timeout_nanos : 0;
    outcome how = await_child(j, watched, deadline, status, interrupted);
    if (how == ENDED)
        return how;
    end_group(j);
    if (tcgetpgrp(j->tty) == j->group) /* it may have turned the echo off */
        tcsetattr(j->tty, TCSADRAIN, &j->modes);
    return how;
}

/* Prints why the uploader failed. Returns whether it did. */
static bool has_failed(const cli_uploader *uploader, outcome how, int status)
{
    char span[48];
    const char *name = uploader->argv[0];
    if (how == TIMED_OUT)
        cli_error("%s: was ended because it took longer than %s", name,
                  cli_span_format(uploader->timeout_nanos, span));
    else if (how == STUCK)
        cli_error("%s: was ended because it uses the terminal, and pprofdelta is in the background",
                  name);
    else if (how == ENDED && WIFSIGNALED(status))
        cli_error("%s: was ended by signal %d (%s)", name, WTERMSIG(status),
                  strsignal(WTERMSIG(status)));
    else if (how == ENDED && !WIFEXITED(status))
        cli_error("%s: ended with an unknown status", name);
    else if (how == ENDED && status)
        cli_error("%s: failed with exit status %d", name, WEXITSTATUS(status));
    return how != ENDED || status;
}

static int fail_upload(void)
{
    cli_hint("the next run covers this window too");
    return CLI_UPLOAD;
}

/* Runs the uploader with this input. The signals of `watched` are blocked; *mask has those that
 * were before. Returns whether it failed; *interrupted is the signal that ends this process then. */
static bool run_guarded(const cli_uploader *uploader, const pprofdelta_report *report, int input,
                        const sigset_t *watched, const sigset_t *mask, int *interrupted)
{
    job j = {.ours = getpgrp(), .tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)};
    int status = -1, error = start_guard(&j);
    outcome how = ENDED;
    tcgetattr(j.tty, &j.modes);
    if (!error) {
        error = start_child(&j, uploader, report, input, mask);
        how = error ? ENDED : oversee_child(&j, uploader, watched, &status, interrupted);
        end_guard(&j);
    }
    if (j.tty >= 0)
        close(j.tty);
    if (cli_is_ending(mask)) /* Ctrl-C ends this process even if the uploader does not end by it */
        return true;
    return error ? cli_system_error(uploader->argv[0], "be run", error) != CLI_DONE
                 : has_failed(uploader, how, status);
}

int cli_upload_run(const cli_uploader *uploader, const cli_buffer *delta,
                   const pprofdelta_report *report, uint64_t *unread)
{
    static const int others[] = {SIGCHLD, SIGTSTP, SIGTTIN, SIGTTOU};
    int input = make_input(delta), interrupted = 0;
    if (input < 0) {
        cli_system_error(uploader->argv[0], "get the delta", errno);
        return fail_upload();
    }
    bool is_marked = mark_unread(input);
    sigset_t watched, mask;
    struct sigaction standard = {.sa_handler = SIG_DFL}, before;
    cli_ending_signals(&watched);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        sigaddset(&watched, others[i]);
    sigprocmask(SIG_BLOCK, &watched, &mask);
    sigaction(SIGCHLD, &standard, &before); /* if it is ignored, there is no exit status */
    bool is_lost = run_guarded(uploader, report, input, &watched, &mask, &interrupted);
    sigaction(SIGCHLD, &before, NULL);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    *unread = is_marked ? count_unread(input, delta->len) : 0;
    close(input);
    if (interrupted)
        raise(interrupted); /* ends this process */
    return is_lost ? fail_upload() : CLI_DONE;
}
