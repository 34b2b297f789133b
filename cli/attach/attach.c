/* Attaching: see attach.h. */
#include "attach/attach.h"

#include "cli.h"
#include "input.h"
#include "instant.h"
#include "keep.h"
#include "message.h"

#include "agent/base/attach.h"
#include "agent/base/remains.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void cli_attach_rest(unsigned milliseconds)
{
    const struct timespec pause = {.tv_nsec = (long)milliseconds * 1000000};
    nanosleep(&pause, NULL);
}

/* ---- the target ------------------------------------------------------------------------------ */

static void open_target(cli_target *t, pid_t pid)
{
    *t = (cli_target){.pid = pid, .memory = -1};
    t->folder = open(cli_keep_print("/proc/%d", (int)pid), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (t->folder >= 0)
        t->memory = openat(t->folder, "mem", O_RDWR | O_CLOEXEC);
    t->memory_error = errno;
}

static bool is_same_place(pid_t pid, const char *name)
{
    struct stat a, b;
    return !stat(cli_keep_print("/proc/%d/%s", (int)pid, name), &a) &&
           !stat(cli_keep_print("/proc/self/%s", name), &b) && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

bool cli_attach_is_apart(pid_t pid)
{
    return !is_same_place(pid, "ns/mnt") || !is_same_place(pid, "root");
}

/* ---- the agent's page ------------------------------------------------------------------------ */

typedef struct recording {
    cli_target t;
    uint64_t control; /* where the agent listens; 0: there is none */
    uint32_t beat, printed;
} recording;

#define READ_MEMBER(r, member, out)                                                                \
    cli_target_read(&(r)->t, (r)->control + offsetof(pd_attach, member), out,                      \
                    sizeof(((pd_attach *)0)->member))

static bool set_member(const recording *r, size_t off, uint32_t value)
{
    return cli_target_write(&r->t, r->control + off, &value, sizeof value);
}

#define SET_MEMBER(r, member, value) set_member(r, offsetof(pd_attach, member), value)

static bool is_recording(const recording *r)
{
    uint32_t state = PD_ATTACH_NONE;
    return READ_MEMBER(r, state, &state) && state == PD_ATTACH_RECORDING;
}

/* Finds where the agent in the target listens. */
static int find_control(recording *r)
{
    uint64_t layout = 0, libc;
    const cli_object *agent = cli_target_definer(&r->t, 0, "pd_agent_attach", &r->control);
    if (!agent)
        return CLI_DONE;
    const cli_object *first = cli_target_definer(&r->t, 1, "gnu_get_libc_version", &libc);
    READ_MEMBER(r, layout, &layout);
    if (agent < first)
        return cli_error("process %d was started with the heap agent, and is recorded already",
                         (int)r->t.pid);
    if (layout != PD_ATTACH_LAYOUT)
        return cli_error(
            "process %d has the heap agent of another version: use that version's pprofdelta",
            (int)r->t.pid);
    return CLI_DONE;
}

static bool is_listening(const recording *r)
{
    uint32_t pid = 0;
    return r->control && READ_MEMBER(r, pid, &pid) && pid == cli_target_number(&r->t, r->t.pid);
}

/* ---- a recording ------------------------------------------------------------------------------- */

static volatile sig_atomic_t is_ended;

static void end(int number)
{
    (void)number;
    is_ended = 1;
}

/* The agent's variables of the environment. Not its own: which process that is, and what it has said. */
static size_t gather_settings(char settings[PD_ATTACH_SETTINGS])
{
    size_t len = 0;
    for (char **at = environ; *at; at++) {
        size_t size = strlen(*at) + 1;
        if (strncmp(*at, PD_VARIABLE_PREFIX, sizeof PD_VARIABLE_PREFIX - 1) != 0 ||
            !strncmp(*at, PD_VARIABLE_PID "=", sizeof PD_VARIABLE_PID) ||
            len + size >= PD_ATTACH_SETTINGS)
            continue;
        memcpy(settings + len, *at, size);
        len += size;
    }
    settings[len] = '\0';
    return len + 1;
}

/* Prints what the agent has said since. */
static void print_messages(recording *r)
{
    char text[PD_ATTACH_TEXT + 1];
    uint32_t len = 0;
    if (!READ_MEMBER(r, text_len, &len) || len > PD_ATTACH_TEXT || len <= r->printed ||
        !cli_target_read(&r->t, r->control + offsetof(pd_attach, text), text, len))
        return;
    text[len] = '\0';
    for (char *line = text + r->printed, *next; *line; line = next) {
        next = line + strcspn(line, "\n");
        next += *next ? (*next = '\0', 1) : 0;
        cli_message(CLI_ERROR, "%s", line);
    }
    r->printed = len;
}

/* Returns whether the process still has the agent. */
static bool keep_alive(recording *r)
{
    bool is_there = SET_MEMBER(r, beat, ++r->beat);
    if (is_there)
        print_messages(r);
    return is_there;
}

static bool is_running(const cli_target *t)
{
    char stat[1024];
    cli_text_read(t->folder, "stat", stat, sizeof stat);
    const pd_stat read = pd_stat_read(stat);
    return !pd_stat_has_ended(&read);
}

/* A process that ends has no memory for a moment before it has ended. */
static bool is_another_program(const cli_target *t)
{
    enum { STEP = 10, TRIES = 500 };
    char maps[64];
    for (int i = 0; i < TRIES && is_running(t); i++, cli_attach_rest(STEP)) {
        if (cli_text_read(t->folder, "maps", maps, sizeof maps) && *maps)
            return true;
    }
    return false;
}

static int refuse_second(const cli_target *t)
{
    return cli_error(
        "process %d is recorded already: end that with pprofdelta record --pid %d --stop",
        (int)t->pid, (int)t->pid);
}

static int begin_recording(recording *r)
{
    enum { STEP = 20, TRIES = 1500 };
    static char settings[PD_ATTACH_SETTINGS];
    uint32_t before = 0, runs = 0;
    if (is_recording(r))
        return refuse_second(&r->t);
    bool is_done = READ_MEMBER(r, runs, &before) &&
                   cli_target_write(&r->t, r->control + offsetof(pd_attach, settings), settings,
                                    gather_settings(settings)) &&
                   SET_MEMBER(r, has_lease, 1) && keep_alive(r) && SET_MEMBER(r, text_len, 0) &&
                   SET_MEMBER(r, wanted, 1);
    r->printed = 0;
    for (int i = 0; is_done && i < TRIES && runs <= before; i++, cli_attach_rest(STEP))
        is_done = READ_MEMBER(r, runs, &runs) && keep_alive(r);
    keep_alive(r);
    if (!is_done || runs == before) {
        SET_MEMBER(r, wanted, 0);
        return cli_error("process %d: %s", (int)r->t.pid,
                         is_done ? "the agent there does not answer" : "has ended");
    }
    for (int i = 0; i < 5 && !is_recording(r); i++)
        cli_attach_rest(STEP);
    return is_recording(r) ? CLI_DONE : CLI_NOT_RUN; /* it has said why */
}

/* Until the time is over, a signal, the end of the process, or --stop of another run. */
static bool await_end(recording *r, int64_t duration)
{
    enum { STEP = 100 };
    const int64_t until = duration ? cli_monotonic_now() + duration : INT64_MAX;
    bool is_there = true;
    while (!is_ended && cli_monotonic_now() < until &&
           (is_there = keep_alive(r) && is_running(&r->t)) && is_recording(r))
        cli_attach_rest(STEP);
    if (is_there)
        SET_MEMBER(r, wanted, 0);
    while (is_there && is_recording(r)) {
        cli_attach_rest(STEP / 5);
        is_there = keep_alive(r) && is_running(&r->t);
    }
    uint32_t state; /* of a process that has ended, none can be read */
    return is_there && READ_MEMBER(r, state, &state) && is_running(&r->t);
}

static int tell_end(const recording *r, const cli_attach *how, bool is_there)
{
    uint64_t files = 0;
    const int pid = (int)r->t.pid;
    if (!is_there) {
        const bool is_another = is_another_program(&r->t);
        cli_note("process %d has %s", pid, is_another ? "become another program" : "ended");
        if (*how->dir && !is_another)
            cli_hint("if its last window is missing: pprofdelta recover %s", how->dir);
        return CLI_DONE;
    }
    READ_MEMBER(r, files, &files);
    cli_note("process %d goes on without being recorded", pid);
    if (*how->dir)
        cli_note("profiles: %" PRIu64
                 ", without what was allocated before; next: pprofdelta leaks %s",
                 files, how->dir);
    return CLI_DONE;
}

static int take_lock(const cli_target *t)
{
    if (t->folder < 0 || !flock(t->folder, LOCK_EX | LOCK_NB))
        return CLI_DONE;
    return refuse_second(t);
}

static recording r;
static cli_tls tls;

int cli_attach_open(pid_t pid, bool is_stop)
{
    open_target(&r.t, pid);
    int code = cli_attach_check(&r.t, &tls);
    if (!is_stop)
        code = code ? code : take_lock(&r.t);
    return code ? code : find_control(&r);
}

int cli_attach_record(const cli_attach *how)
{
    const struct sigaction ending = {.sa_handler = end};
    int code = CLI_DONE;
    if (!is_listening(&r)) {
        code = cli_attach_load(&r.t, how, &tls);
        code = code ? code : cli_target_objects(&r.t) ? find_control(&r) : CLI_FAILED;
    }
    if (code)
        return code;
    sigaction(SIGINT, &ending, NULL);
    sigaction(SIGTERM, &ending, NULL);
    sigaction(SIGHUP, &ending, NULL);
    code = begin_recording(&r);
    if (code)
        return code;
    cli_note("process %d is recorded; what it allocated before is not known", (int)r.t.pid);
    return tell_end(&r, how, await_end(&r, how->duration_nanos));
}

int cli_attach_stop(void)
{
    enum { STEP = 20, TRIES = 3000 };
    const int pid = (int)r.t.pid;
    if (!is_listening(&r) || !is_recording(&r))
        return cli_error("process %d is not recorded", pid);
    SET_MEMBER(&r, wanted, 0);
    for (int i = 0; i < TRIES && is_recording(&r); i++)
        cli_attach_rest(STEP);
    return is_recording(&r)
               ? cli_error("process %d has not stopped to record: the last profile takes long", pid)
               : CLI_DONE;
}
