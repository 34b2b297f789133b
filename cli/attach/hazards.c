/* What forbids to attach to a process, and what to do about it: see attach.h. */
#include "attach/attach.h"

#include "cli.h"
#include "input.h"
#include "keep.h"
#include "message.h"

#include "agent/base/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int refuse(const cli_target *t, const char *why, const char *advice)
{
    cli_error("process %d %s", (int)t->pid, why);
    cli_hint("%s", advice);
    return CLI_NOT_RUN;
}

/* ---- is it there, and does it run? ------------------------------------------------------------- */

static int check_state(const cli_target *t, const char *status)
{
    const long group = cli_number_behind(status, "Tgid:"),
               tracer = cli_number_behind(status, "TracerPid:");
    const char *state = strstr(status, "\nState:\t");
    const char letter = state ? state[sizeof "\nState:\t" - 1] : '?';
    if (group > 0 && group != t->pid)
        return refuse(t, cli_keep_print("is a thread of process %ld", group),
                      "give the number of the process");
    if (strchr("ZXx", letter))
        return refuse(t, "has ended", "its parent has not taken its exit status yet");
    if (cli_number_behind(status, "VmSize:") < 0)
        return refuse(t, "is a thread of the kernel", "it has no heap");
    if (tracer > 0)
        return refuse(t, cli_keep_print("is traced by process %ld (a debugger, strace)", tracer),
                      "end that first");
    if (letter == 'T' || letter == 't')
        return refuse(t, "is stopped", "let it go on first: kill -CONT PID");
    return CLI_DONE;
}

/* ---- may this process look into it? ------------------------------------------------------------ */

static long yama_scope(void)
{
    char text[32];
    cli_text_read(AT_FDCWD, "/proc/sys/kernel/yama/ptrace_scope", text, sizeof text);
    return strtol(text, NULL, 10);
}

static int refuse_access(const cli_target *t, const char *status, int error)
{
    struct stat file;
    const long scope = yama_scope(), user = cli_number_behind(status, "Uid:");
    if (error != EACCES && error != EPERM)
        return cli_system_error("/proc/PID/mem", "open", error);
    if (scope == 3)
        return refuse(t,
                      "cannot be attached to: kernel.yama.ptrace_scope is 3, for all processes "
                      "until the next boot",
                      "start it under pprofdelta record");
    if (!geteuid())
        return refuse(t, "does not let this process look into it",
                      "this root lacks CAP_SYS_PTRACE, or another capability that the process has: "
                      "run it on the host");
    if (user != (long)geteuid())
        return refuse(t, "is another user's", "run this command as root");
    if (scope > 0)
        return refuse(
            t, "cannot be attached to: kernel.yama.ptrace_scope forbids it to all but root",
            "run this command as root, or set it for now: sysctl kernel.yama.ptrace_scope=0");
    if (!fstatat(t->folder, "mem", &file, 0) && file.st_uid != geteuid())
        return refuse(t,
                      "lets no other process look into it (PR_SET_DUMPABLE, capabilities, or a "
                      "file that cannot be read)",
                      "run this command as root");
    return refuse(t, "does not let this process look into it", "run this command as root");
}

/* ---- can the agent be loaded? ------------------------------------------------------------------ */

static int check_file(const cli_target *t)
{
    char program[PATH_MAX] = "?";
    pd_launch_result found;
    const char *exe = cli_keep_print("/proc/%d/exe", (int)t->pid);
    pd_launch_check(exe, &found);
    const bool is_of_rights =
        found.obstacle && (strstr(found.obstacle, "setuid") || strstr(found.obstacle, "setgid") ||
                           strstr(found.obstacle, "capabilities"));
    if (found.error)
        return cli_system_error(exe, "read", found.error);
    if (!found.obstacle || is_of_rights) /* whose process it is has decided about rights */
        return CLI_DONE;
    if (readlink(exe, program, sizeof program - 1) < 0)
        program[0] = '\0';
    const char *advice = pd_launch_advice(exe);
    return refuse(t, cli_keep_print("cannot be recorded: %s %s", program, found.obstacle),
                  *advice ? advice
                          : "its allocations do not go through a library that could be replaced");
}

int cli_attach_check(cli_target *t, cli_tls *tls)
{
    char status[4096];
    uint64_t at;

    if (!cli_text_read(t->folder, "status", status, sizeof status))
        return refuse(t, "is not there", "pgrep shows the numbers of processes by name");
    int code = check_state(t, status);
    if (code)
        return code;
    if (t->memory < 0)
        return refuse_access(t, status, t->memory_error);
    code = check_file(t);
    if (code)
        return code;
    if (!cli_target_objects(t) || !cli_tls_measure(t, tls))
        return refuse(t, "cannot be attached to: its C library is not glibc (musl, for example)",
                      "start it under pprofdelta record, which preloads the agent there");
    if (!cli_target_definer(t, 1, "pthread_create", &at) ||
        !cli_target_definer(t, 1, "dlopen", &at))
        return refuse(t,
                      "cannot be attached to: it is linked without libpthread or libdl, in which "
                      "glibc before 2.34 has threads and the loading of libraries",
                      "start it under pprofdelta record, which preloads the agent there");
    if (cli_object_symbol(t, &t->objects[0], "malloc"))
        return refuse(
            t, "has its own malloc in the program, which cannot be replaced",
            "if it is jemalloc or tcmalloc, use that one's heap profiles: pprofdelta PREV CUR");
    return CLI_DONE;
}
