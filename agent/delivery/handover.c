/* Hands a profile to a command: see delivery.h. */
#include "agent/delivery/delivery.h"

#include "agent/base/agent.h"
#include "agent/base/real.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK_LEN = 64 << 10 };

/* Parameters and results of the helper and of the command's process, in memory that all three
 * share. */
typedef struct errand {
    int input, nowhere;
    int error;    /* errno if the command could not be started */
    int status;   /* as waitpid returns it */
    bool is_late; /* the command was killed */
    sigset_t none;
    char *command_stack, *helper_stack; /* the ends of the stacks */
} errand;

static char *no_variables[] = {NULL}, **environment = no_variables;

void pd_handover_begin(void)
{
    size_t count = 1, size = 0;
    for (char **variable = environ; variable && *variable; variable++, count++)
        size += strlen(*variable) + 1;
    size += count * sizeof *environment;
    bool is_done = environment != no_variables;
    void *pages =
        is_done ? MAP_FAILED
                : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return;
    environment = pages;
    char **next = environment, *text = (char *)(environment + count);
    for (char **variable = environ; variable && *variable; variable++) {
        if (!pd_launch_is_for_command(*variable))
            continue;
        size_t len = strlen(*variable) + 1;
        *next++ = memcpy(text, *variable, len);
        text += len;
    }
}

/* The C library's _exit is not used, since the agent replaces it. */
static _Noreturn void end_process(int status)
{
    for (;;)
        syscall(SYS_exit_group, status);
}

/* Runs in the process that becomes the command. It shares the program's memory, so it only makes
 * system calls. */
static int become_command(void *cookie)
{
    errand *e = cookie;
    const int above = STDERR_FILENO + 1;
    setpgid(0, 0);
    for (int number = 1; number < NSIG; number++) {
        /* Drops a pending signal that was meant for the program, as Ctrl-C for its group. */
        signal(number, SIG_IGN);
        pd_signal_reset(number);
    }
    sigprocmask(SIG_SETMASK, &e->none, NULL);
    if (dup2(e->input, STDIN_FILENO) >= 0 && dup2(e->nowhere, STDOUT_FILENO) >= 0 &&
        dup2(e->nowhere, STDERR_FILENO) >= 0) {
        if (syscall(SYS_close_range, above, ~0U, 0) != 0)
            for (int fd = above; fd < (int)sysconf(_SC_OPEN_MAX); fd++)
                close(fd);
        char *const arguments[] = {(char *)"sh", (char *)"-c", (char *)pd_given.command, NULL};
        execve("/bin/sh", arguments, environment);
    }
    e->error = errno ? errno : EIO;
    end_process(127);
}

/* Waits for the command. Kills its process group at the time limit. */
static void await_command(errand *e, pid_t pid)
{
    enum { STEP_NANOS = 5000000, STEPS_PER_SECOND = 200 };
    const struct timespec pause = {.tv_nsec = STEP_NANOS};
    pid_t got;
    for (uint64_t steps = 0; (got = waitpid(pid, &e->status, WNOHANG)) == 0; steps++) {
        if (steps >= pd_given.timeout * STEPS_PER_SECOND) {
            e->is_late = true;
            kill(-pid, SIGKILL);
            kill(pid, SIGKILL);
            got = waitpid(pid, &e->status, 0);
            break;
        }
        nanosleep(&pause, NULL);
    }
    if (got < 0 || e->error == ECHILD) /* as it began: sh was started */
        e->error = got < 0 ? errno : 0;
}

/* Runs in the helper, which shares the memory of the program but is a process with its own signal
 * handlers, descriptors and children. */
static int run_helper(void *cookie)
{
    errand *e = cookie;
    /* If the program ignores SIGCHLD, its children cannot be waited for. */
    pd_signal_reset(SIGCHLD);
    pid_t pid = clone(become_command, e->command_stack, CLONE_VM | CLONE_VFORK | SIGCHLD, e);
    if (pid < 0)
        e->error = errno;
    else
        await_command(e, pid);
    end_process(0);
}

/* All signals are blocked in the helper. */
static pid_t start_helper(errand *e)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t helper =
        clone(run_helper, e->helper_stack, CLONE_VM, e); /* pthread_sigmask keeps errno */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return helper;
}

/* Adds the reason if the command did not take the profile. */
static bool run_errand(errand *e, pd_fixed_text *why)
{
    pid_t helper = start_helper(e);
    if (helper < 0)
        e->error = errno;
    while (helper >= 0 && waitpid(helper, NULL, (int)__WCLONE) < 0 && errno == EINTR)
        continue;
    int status = WIFEXITED(e->status) ? WEXITSTATUS(e->status) : 128 + WTERMSIG(e->status);
    if (e->error)
        pd_text_add(why, "the command could not be started: %s", pd_words_of_error(e->error));
    else if (e->is_late)
        pd_text_add(why, "the command took longer than %ju s", (uintmax_t)pd_given.timeout);
    else if (status)
        pd_text_add(why, "the command exited with status %d", status);
    return !e->error && !e->is_late && !status;
}

/* Returns a descriptor of a file without a name that holds the profile, or -1 and errno. */
static int as_input(const void *data, size_t len)
{
    int fd = pd_open_high((int)syscall(SYS_memfd_create, "pprofdelta", 1U /* MFD_CLOEXEC */));
    int error = fd >= 0 ? pd_write_all(fd, data, len) : errno;
    if (!error && lseek(fd, 0, SEEK_SET) == 0)
        return fd;
    pd_close(fd);
    errno = error ? error : EIO;
    return -1;
}

bool pd_hand_over(const void *data, size_t len, pd_fixed_text *why)
{
    /* Static, since the kernel may have no more memory for this process. */
    static _Alignas(16) char stacks[2][STACK_LEN];
    static errand memory;
    errand *e = &memory;
    *e = (errand){.error = ECHILD, /* unless the helper says more: it was killed */
                  .command_stack = stacks[0] + STACK_LEN,
                  .helper_stack = stacks[1] + STACK_LEN};
    sigemptyset(&e->none);
    e->nowhere = pd_open("/dev/null", O_WRONLY);
    e->input = e->nowhere < 0 ? -1 : as_input(data, len);
    if (e->input < 0)
        pd_text_add(why, "the command could not be started: %s", pd_words_of_error(errno));
    bool is_taken = e->input >= 0 && run_errand(e, why);
    pd_close(e->input);
    pd_close(e->nowhere);
    return is_taken;
}
