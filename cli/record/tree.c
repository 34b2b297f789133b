/* A process tree: see tree.h. */
#include "record/tree.h"

#include "child.h"
#include "cli.h"
#include "message.h"
#include "record/recover.h"
#include "record/target.h"
#include "text.h"

#include "agent/base/launch.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What COMMAND gets if this process gets it. */
static const int passed_on[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,
                                SIGUSR1, SIGUSR2, SIGALRM, SIGPWR};
enum { PASSED_ON = sizeof passed_on / sizeof *passed_on };

int cli_tree_make_folder(const char *dir, const char *command, char path[PATH_MAX])
{
    char program[PD_PROGRAM_MAX + 1];
    pd_program_copy(program, cli_string_base(cli_string_of(command)).ptr);
    for (unsigned again = 0; again < UINT16_MAX; again++) {
        char suffix[16] = "";
        if (again)
            snprintf(suffix, sizeof suffix, ".%u", again);
        int len =
            snprintf(path, PATH_MAX, "%s/tree.%s.%ld%s", dir, program, (long)getpid(), suffix);
        if (len >= PATH_MAX)
            return cli_system_error(dir, "make a directory in", ENAMETOOLONG);
        if (!mkdir(path, 0777))
            return CLI_DONE;
        if (errno != EEXIST)
            break;
    }
    return cli_system_error(path, "make the directory", errno);
}

/* ---- waiting --------------------------------------------------------------------------------- */

typedef struct waiting {
    pid_t child;
    int status;    /* of COMMAND, as waitpid returns it */
    bool is_ended; /* COMMAND has ended */
    bool is_quiet;
} waiting;

/* Takes what has ended. Returns false if no child is left. Since this process is the parent of
 * orphans, that is the whole tree. */
static bool reap(waiting *w)
{
    pid_t got;
    int status;
    while ((got = waitpid(-1, &status, WNOHANG)) > 0) {
        if (got == w->child) {
            w->status = status;
            w->is_ended = true;
        }
    }
    return got == 0;
}

/* A signal from the terminal has reached COMMAND already. */
static void pass_on(const waiting *w, const siginfo_t *info)
{
    if (info->si_code <= 0)
        kill(w->child, info->si_signo);
}

static void await_tree(waiting *w, const sigset_t *watched)
{
    const struct timespec second = {.tv_sec = 1};
    bool is_told = w->is_quiet;
    while (reap(w)) {
        siginfo_t info;
        bool is_alone = w->is_ended; /* what COMMAND started runs on */
        int number = is_alone && !is_told ? sigtimedwait(watched, &info, &second)
                                          : sigwaitinfo(watched, &info);
        if (number < 0 && errno == EAGAIN) {
            is_told = true;
            cli_note(
                "the command has ended; waiting for the processes that it started (Ctrl-C ends "
                "the wait)");
        } else if (number > 0 && number != SIGCHLD && is_alone) {
            return;
        } else if (number > 0 && number != SIGCHLD) {
            pass_on(w, &info);
        }
    }
}

/* ---- the end --------------------------------------------------------------------------------- */

static void print_end(const char *folder, const char *sum, const cli_tree_total *total)
{
    if (!total->profiles) {
        cli_note("no profile: no allocation of the command, or of a process that it started, was "
                 "sampled; use a lower --rate, such as 1k");
        return;
    }
    cli_note("%zu profile%s of %zu program%s, added up: %s (one by one, with the peak and the "
             "resident memory of each: %s)",
             total->profiles, total->profiles == 1 ? "" : "s", total->processes,
             total->processes == 1 ? "" : "s", sum, folder);
    const char *quote = strpbrk(sum, " \t'\"$&;()<>|*?[]{}`\\!#~") ? "'" : "";
    cli_note("next: pprofdelta show %s%s%s", quote, sum, quote);
}

static int sum_up(const char *folder, bool is_quiet)
{
    char sum[PATH_MAX + 8];
    cli_tree_total total;
    cli_recovering killed = {.is_silent = true, .is_quiet = is_quiet};
    cli_recover_folder(folder, &killed);
    snprintf(sum, sizeof sum, "%s.pb.gz", folder);
    int code = cli_tree_sum(folder, sum, &total);
    if (code)
        cli_hint("the profiles of the single processes are in %s", folder);
    else if (!is_quiet)
        print_end(folder, sum, &total);
    if (!code && !total.profiles)
        rmdir(folder);
    return code;
}

/* Ends as COMMAND ended. A core file would be one of this process. */
static _Noreturn void end_as(int status, bool has_failed)
{
    const struct rlimit none = {0, 0};
    if (WIFSIGNALED(status)) {
        int number = WTERMSIG(status);
        sigset_t only;
        sigemptyset(&only);
        sigaddset(&only, number);
        setrlimit(RLIMIT_CORE, &none);
        signal(number, SIG_DFL);
        raise(number);
        sigprocmask(SIG_UNBLOCK, &only, NULL);
        exit(128 + number);
    }
    int code = WEXITSTATUS(status);
    exit(!code && has_failed ? CLI_RECORD_FAILED : code);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void watched_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    for (int i = 0; i < PASSED_ON; i++)
        sigaddset(set, passed_on[i]);
}

/* What the child gets back as this process got it. */
typedef struct inherited {
    sigset_t mask;
    struct sigaction on_child;
} inherited;

static void prepare(const void *cookie)
{
    const inherited *i = cookie;
    cli_set_variable(PD_VARIABLE_PID, true, "%ld", (long)getpid());
    cli_inherited_restore();
    sigaction(SIGCHLD, &i->on_child, NULL);
    sigprocmask(SIG_SETMASK, &i->mask, NULL);
}

static int start(char **command, const sigset_t *watched, pid_t *child)
{
    const struct sigaction plainly = {.sa_handler = SIG_DFL};
    inherited i;
    sigprocmask(SIG_BLOCK, watched, &i.mask);
    sigaction(SIGCHLD, &plainly, &i.on_child); /* if it is ignored, there is nothing to wait for */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    *child = cli_child_start(command, prepare, &i);
    return *child < 0 ? cli_not_run(command[0], errno) : CLI_DONE;
}

int cli_tree_run(char **command, const char *folder, bool is_quiet)
{
    sigset_t watched;
    waiting w = {.is_quiet = is_quiet};
    watched_signals(&watched);
    int code = start(command, &watched, &w.child);
    if (code) {
        rmdir(folder);
        return code;
    }
    await_tree(&w, &watched);
    end_as(w.status, sum_up(folder, is_quiet) != CLI_DONE);
}
