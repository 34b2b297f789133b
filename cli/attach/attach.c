/* Attaching: see attach.h. */
#include "attach/attach.h"

#include "attach/stop.h"
#include "attach/stub.h"
#include "cli.h"
#include "message.h"

#include "agent/base/attach.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PAGE UINT64_C(4096)

static int64_t now_nanos(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void rest_for(unsigned milliseconds)
{
    const struct timespec pause = {.tv_nsec = (long)milliseconds * 1000000};
    nanosleep(&pause, NULL);
}

/* ---- the target ------------------------------------------------------------------------------ */

static void open_target(cli_target *t, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    *t = (cli_target){.pid = pid, .memory = -1};
    t->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (t->folder >= 0)
        t->memory = openat(t->folder, "mem", O_RDWR | O_CLOEXEC);
    t->memory_error = errno;
}

static bool is_same_place(pid_t pid, const char *name)
{
    char of_other[64], own[64];
    struct stat a, b;
    snprintf(of_other, sizeof of_other, "/proc/%d/%s", (int)pid, name);
    snprintf(own, sizeof own, "/proc/self/%s", name);
    return !stat(of_other, &a) && !stat(own, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool cli_attach_is_apart(pid_t pid, char through[64])
{
    snprintf(through, 64, "/proc/%d/root", (int)pid);
    return !is_same_place(pid, "ns/mnt") || !is_same_place(pid, "root");
}

/* Its number as it sees it itself. */
static uint32_t inner_number(const cli_target *t)
{
    char status[4096];
    const char *at =
        cli_target_text(t, "status", status, sizeof status) ? strstr(status, "\nNSpid:") : NULL;
    uint32_t number = (uint32_t)t->pid;
    for (char *end; at && *(at += strspn(at, "\nNSpid:\t")) >= '0' && *at <= '9'; at = end)
        number = (uint32_t)strtoul(at, &end, 10);
    return number;
}

/* ---- the agent's page ------------------------------------------------------------------------ */

#define READ_MEMBER(t, at, member, out)                                                            \
    cli_target_read(t, (at) + offsetof(pd_attach, member), out, sizeof(((pd_attach *)0)->member))

static bool set_member(const cli_target *t, uint64_t at, size_t off, uint32_t value)
{
    return cli_target_write(t, at + off, &value, sizeof value);
}

#define SET_MEMBER(t, at, member, value) set_member(t, at, offsetof(pd_attach, member), value)

static pd_attach_state state_of(const cli_target *t, uint64_t at)
{
    uint32_t state = PD_ATTACH_NONE;
    READ_MEMBER(t, at, state, &state);
    return (pd_attach_state)state;
}

/* Finds where the agent in the target listens: 0 if it has none. */
static int find_control(const cli_target *t, uint64_t *at)
{
    uint64_t layout = 0, libc;
    const cli_object *agent = cli_target_definer(t, 0, "pd_agent_attach", at);
    if (!agent)
        return CLI_DONE;
    const cli_object *first = cli_target_definer(t, 1, "_thread_db_sizeof_pthread", &libc);
    READ_MEMBER(t, *at, layout, &layout);
    if (agent < first)
        return cli_error("process %d was started with the heap agent, and is recorded already",
                         (int)t->pid);
    if (layout != PD_ATTACH_LAYOUT)
        return cli_error(
            "process %d has the heap agent of another version: use that version's pprofdelta",
            (int)t->pid);
    return CLI_DONE;
}

static bool is_listening(const cli_target *t, uint64_t at)
{
    uint32_t pid = 0;
    return at && READ_MEMBER(t, at, pid, &pid) && pid == inner_number(t);
}

/* ---- where the code goes ----------------------------------------------------------------------- */

static size_t code_len(void)
{
    return (size_t)(cli_stub_end - cli_stub_begin);
}

typedef enum finding { IN_USE, LEFT_BEHIND, FREE } finding;

typedef struct places {
    const cli_target *t;
    uint64_t code;              /* 0: not found */
    finding found;              /* there */
    uint64_t first;             /* where the file of the area is mapped from its first byte on */
    uint64_t gap, gap_len, end; /* the largest one; the end of the area before */
} places;

/* Are there zeros, or what a run has left that was killed? */
static finding look_at(const cli_target *t, uint64_t at)
{
    const size_t slots = STUB_SLOTS * 8;
    uint8_t bytes[2048] = {0};
    if (code_len() > sizeof bytes || !cli_target_read(t, at, bytes, code_len()))
        return IN_USE;
    if (!memcmp(bytes + slots, cli_stub_begin + slots, code_len() - slots))
        return LEFT_BEHIND;
    for (size_t i = 0; i < code_len(); i++)
        if (bytes[i])
            return IN_USE;
    return FREE;
}

/* Returns where the segment ends that is mapped there, of the file whose first byte is mapped at `first`; 0: not known. */
static uint64_t end_of_segment(const cli_target *t, uint64_t first, uint64_t begin)
{
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    uint64_t bias = 0;
    if (!cli_target_read(t, first, &header, sizeof header) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return 0;
    for (unsigned i = 0; i < header.e_phnum; i++) {
        if (!cli_target_read(t, first + header.e_phoff + i * sizeof segment, &segment,
                             sizeof segment))
            return 0;
        if (segment.p_type != PT_LOAD)
            continue;
        if (!segment.p_offset)
            bias = first - (segment.p_vaddr & ~(PAGE - 1));
        if (bias + (segment.p_vaddr & ~(PAGE - 1)) == begin)
            return bias + segment.p_vaddr + segment.p_memsz;
    }
    return 0;
}

/* The zeros are those behind the last byte of the code, up to the end of its last page. Best are those of the C library,
 * where most threads wait: a branch of arm64 reaches them. */
static bool note_area(void *cookie, const cli_area *area)
{
    places *p = cookie;
    if (p->end && area->begin - p->end > p->gap_len && area->begin < UINT64_C(1) << 63) {
        p->gap = p->end;
        p->gap_len = area->begin - p->end;
    }
    p->end = area->end;
    if (!area->off)
        p->first = area->begin;
    if (*area->name != '/' || strcmp(area->access, "r-xp") != 0)
        return false;
    const uint64_t end = end_of_segment(p->t, p->first, area->begin);
    const uint64_t at = (area->end - code_len()) & ~UINT64_C(63);
    const bool is_libc = strstr(area->name, "/libc.so") || strstr(area->name, "/libc-");
    const finding found = end && at >= end ? look_at(p->t, at) : IN_USE;
    if (found > p->found || (found && found == p->found && is_libc)) {
        p->found = found;
        p->code = at;
    }
    return false;
}

/* ---- loading the agent ------------------------------------------------------------------------- */

typedef struct loading {
    const cli_target *t;
    const cli_attach *how;
    cli_tls tls;
    cli_stop stop;
} loading;

static uint64_t aligned(uint64_t size)
{
    return (size + PAGE - 1) & ~(PAGE - 1);
}

static bool read_store(const loading *l, unsigned off, uint32_t *word)
{
    return cli_target_read(l->t, l->stop.storage + off, word, sizeof *word);
}

/* Waits until a word of the storage is set. */
static uint32_t await_store(const loading *l, unsigned off, unsigned milliseconds)
{
    uint32_t word = 0;
    for (unsigned i = 0; i < milliseconds && !(read_store(l, off, &word) && word); i++)
        rest_for(1);
    return word;
}

/* The functions that the stub calls: those of the C library. */
static bool write_functions(const loading *l)
{
    static const struct {
        const char *name;
        unsigned off;
    } functions[] = {{"pthread_create", STORE_CREATE},
                     {"pthread_detach", STORE_DETACH},
                     {"dlopen", STORE_DLOPEN},
                     {"dlsym", STORE_DLSYM},
                     {"dlerror", STORE_DLERROR}};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        uint64_t at;
        if (!cli_target_definer(l->t, 1, functions[i].name, &at))
            return false;
        if (!cli_target_write(l->t, l->stop.storage + functions[i].off, &at, sizeof at))
            return false;
    }
    return true;
}

static bool write_text(const loading *l, unsigned off, const char *text)
{
    return cli_target_write(l->t, l->stop.storage + off, text, strlen(text) + 1);
}

/* The agent's file is not seen there: the new thread makes one without a name. */
static bool fill_file(const loading *l)
{
    char path[64], bytes[1 << 16];
    uint32_t fd = await_store(l, STORE_FILE, STORE_PATIENCE);
    if (!fd || (int32_t)fd < 0)
        return false;
    snprintf(path, sizeof path, "/proc/%d/fd/%u", (int)l->t->pid, fd);
    int from = open(l->how->agent, O_RDONLY | O_CLOEXEC), to = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t got = 1;
    while (from >= 0 && to >= 0 && (got = read(from, bytes, sizeof bytes)) > 0 &&
           write(to, bytes, (size_t)got) == got)
        continue;
    bool is_done = from >= 0 && to >= 0 && !got;
    if (from >= 0)
        close(from);
    if (to >= 0)
        close(to);
    snprintf(path, sizeof path, "/proc/self/fd/%u", fd);
    const uint32_t yes = 1;
    return is_done && write_text(l, STORE_PATH, path) &&
           cli_target_write(l->t, l->stop.storage + STORE_FILLED, &yes, sizeof yes);
}

/* The raw thread waits. */
static bool complete_raw_thread(const loading *l, int tid, bool has_file)
{
    const uint32_t yes = 1, is_wanted = has_file;
    return write_functions(l) && write_text(l, STORE_SYMBOL, "pd_agent_start_late") &&
           write_text(l, STORE_NAME, "pprofdelta-agent") &&
           write_text(l, STORE_PATH, l->how->agent) &&
           cli_target_write(l->t, l->stop.storage + STORE_WANTS_FILE, &is_wanted,
                            sizeof is_wanted) &&
           cli_tls_write(l->t, &l->tls, l->stop.other, tid) &&
           cli_target_write(l->t, l->stop.storage + STORE_GO, &yes, sizeof yes);
}

static int not_loaded(const loading *l, const char *why)
{
    cli_error("process %d: the heap agent could not be loaded: %s", (int)l->t->pid, why);
    cli_hint("the process goes on as it was");
    return CLI_NOT_RUN;
}

static int explain_failure(const loading *l)
{
    uint32_t done = 0;
    uint64_t result = 0;
    char text[256] = "";
    read_store(l, STORE_DONE, &done);
    cli_target_read(l->t, l->stop.storage + STORE_RESULT, &result, sizeof result);
    for (size_t i = 0; done == 2 && i + 1 < sizeof text &&
                       cli_target_read(l->t, result + i, text + i, 1) && text[i];
         i++)
        text[i + 1] = '\0';
    return not_loaded(
        l, done == 2   ? text
           : done == 3 ? "the limit of threads or of memory is reached"
           : done == 1 ? strerror((int)result)
                       : "its new thread has not answered; the loader may be busy: try again");
}

static int load_agent(loading *l)
{
    char through[64];
    const bool is_apart = cli_attach_is_apart(l->t->pid, through);
    uint64_t cloned = 0;
    for (int i = 0; i < 200 && !cloned; i++, rest_for(1))
        cli_target_read(l->t, l->stop.storage + STORE_CLONED, &cloned, sizeof cloned);
    if ((int64_t)cloned <= 0)
        return not_loaded(l, cloned ? strerror(-(int)cloned)
                                    : "its thread has not come to it: try again");
    uint32_t result = 0;
    if (!complete_raw_thread(l, (int)cloned, is_apart) || (is_apart && !fill_file(l)))
        return explain_failure(l);
    uint32_t done = await_store(l, STORE_DONE, STORE_PATIENCE);
    read_store(l, STORE_RESULT, &result);
    return done == 1 && !result ? CLI_DONE : explain_failure(l);
}

static int refuse_filter(const loading *l)
{
    const bool is_read = *l->stop.forbidden;
    cli_error("process %d has a seccomp filter that %s%s", (int)l->t->pid,
              is_read ? "may end it for a call of the heap agent: " : "this process may not read",
              l->stop.forbidden);
    cli_hint("%s", is_read ? "start it under pprofdelta record, which does what the filter allows"
                           : "run this command as root, and outside of a container");
    return CLI_NOT_RUN;
}

/* Finds places, and stops a thread there. */
static int start_raw_thread(loading *l)
{
    const size_t slots = STUB_SLOTS * 8;
    places p = {.t = l->t};
    cli_target_areas(l->t, note_area, &p);
    if (!p.code)
        return not_loaded(l, "there is no room behind the code of any of its objects");
    l->stop.code = p.code;
    l->stop.storage = (p.gap + p.gap_len / 2) & ~(PAGE - 1);
    l->stop.pointer = l->tls.pointer = l->stop.storage + aligned(STORE_STACK_END + l->tls.below);
    l->stop.storage_len = l->stop.pointer - l->stop.storage + aligned(l->tls.above);
    if (p.found == LEFT_BEHIND) /* in all of them: no thread is in one for so long */
        sleep(2);
    if (!cli_target_write(l->t, l->stop.code + slots, cli_stub_begin + slots, code_len() - slots))
        return not_loaded(l, strerror(errno));
    cli_stopped stopped = cli_stop_once(l->t, &l->stop);
    if (stopped == CLI_STOP_TRACED)
        return not_loaded(l, "another process traces it (a debugger, strace)");
    if (stopped == CLI_STOP_REFUSED)
        return not_loaded(l, strerror(l->stop.error));
    if (stopped == CLI_STOP_FILTERED)
        return refuse_filter(l);
    return stopped == CLI_STOP_DONE
               ? load_agent(l)
               : not_loaded(l, "none of its threads could be stopped at a good place: try again");
}

static int bring_agent(const cli_target *t, const cli_attach *how, const cli_tls *tls,
                       uint64_t *control)
{
    loading l = {.t = t, .how = how, .tls = *tls};
    int code = start_raw_thread(&l);
    if (!code && how->has_report)
        cli_note("one thread of process %d was stopped for %.2f ms", (int)t->pid, l.stop.millis);
    cli_target again = *t;
    if (!code && (!cli_target_objects(&again) || find_control(&again, control) || !*control))
        code = not_loaded(&l, "it is not found there");
    return code;
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
static void print_messages(const cli_target *t, uint64_t control, uint32_t *printed)
{
    char text[PD_ATTACH_TEXT + 1];
    uint32_t len = 0;
    if (!READ_MEMBER(t, control, text_len, &len) || len > PD_ATTACH_TEXT || len <= *printed ||
        !cli_target_read(t, control + offsetof(pd_attach, text), text, len))
        return;
    text[len] = '\0';
    for (char *line = text + *printed, *next; *line; line = next) {
        next = line + strcspn(line, "\n");
        next += *next ? (*next = '\0', 1) : 0;
        cli_message(CLI_ERROR, "%s", line);
    }
    *printed = len;
}

typedef struct recording {
    cli_target t;
    uint64_t control;
    uint32_t beat, printed;
} recording;

/* Returns whether the process still has the agent. */
static bool keep_alive(recording *r)
{
    bool is_there = SET_MEMBER(&r->t, r->control, beat, ++r->beat);
    if (is_there)
        print_messages(&r->t, r->control, &r->printed);
    return is_there;
}

static bool is_running(const cli_target *t)
{
    char stat[1024];
    const char *behind = cli_target_text(t, "stat", stat, sizeof stat) ? strrchr(stat, ')') : NULL;
    return behind && behind[1] && !strchr("ZXx", behind[2]);
}

static int begin_recording(recording *r)
{
    enum { STEP = 20, TRIES = 1500 };
    static char settings[PD_ATTACH_SETTINGS];
    uint32_t before = 0, runs = 0;
    const uint64_t at = r->control;
    if (state_of(&r->t, at) == PD_ATTACH_RECORDING)
        return cli_error(
            "process %d is recorded already: end that with pprofdelta record --pid %d --stop",
            (int)r->t.pid, (int)r->t.pid);
    bool is_done = READ_MEMBER(&r->t, at, runs, &before) &&
                   cli_target_write(&r->t, at + offsetof(pd_attach, settings), settings,
                                    gather_settings(settings)) &&
                   SET_MEMBER(&r->t, at, has_lease, 1) && keep_alive(r) &&
                   SET_MEMBER(&r->t, at, text_len, 0) && SET_MEMBER(&r->t, at, wanted, 1);
    r->printed = 0;
    for (int i = 0; is_done && i < TRIES && runs <= before; i++, rest_for(STEP))
        is_done = READ_MEMBER(&r->t, at, runs, &runs) && keep_alive(r);
    keep_alive(r);
    if (!is_done || runs == before) {
        SET_MEMBER(&r->t, at, wanted, 0);
        return cli_error("process %d: %s", (int)r->t.pid,
                         is_done ? "the agent there does not answer" : "has ended");
    }
    for (int i = 0; i < 5 && state_of(&r->t, at) != PD_ATTACH_RECORDING; i++)
        rest_for(STEP);
    return state_of(&r->t, at) == PD_ATTACH_RECORDING ? CLI_DONE
                                                      : CLI_NOT_RUN; /* it has said why */
}

/* Until the time is over, a signal, the end of the process, or --stop of another run. */
static bool await_end(recording *r, int64_t duration)
{
    enum { STEP = 100 };
    const int64_t until = duration ? now_nanos() + duration : INT64_MAX;
    bool is_there = true;
    while (!is_ended && now_nanos() < until && (is_there = keep_alive(r) && is_running(&r->t)) &&
           state_of(&r->t, r->control) == PD_ATTACH_RECORDING)
        rest_for(STEP);
    if (is_there)
        SET_MEMBER(&r->t, r->control, wanted, 0);
    while (is_there && state_of(&r->t, r->control) == PD_ATTACH_RECORDING) {
        rest_for(STEP / 5);
        is_there = keep_alive(r) && is_running(&r->t);
    }
    return is_there;
}

static int tell_end(const recording *r, const cli_attach *how, bool is_there)
{
    uint64_t files = 0;
    const int pid = (int)r->t.pid;
    if (!is_there) {
        cli_note("process %d has %s", pid, is_running(&r->t) ? "become another program" : "ended");
        if (*how->dir && !is_running(&r->t))
            cli_hint("if its last window is missing: pprofdelta recover %s", how->dir);
        return CLI_DONE;
    }
    READ_MEMBER(&r->t, r->control, files, &files);
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
    return cli_error(
        "process %d is recorded already: end that with pprofdelta record --pid %d --stop",
        (int)t->pid, (int)t->pid);
}

static recording r;
static cli_tls tls;

int cli_attach_open(pid_t pid, bool is_stop)
{
    open_target(&r.t, pid);
    int code = cli_attach_check(&r.t, &tls);
    if (!is_stop)
        code = code ? code : take_lock(&r.t);
    return code ? code : find_control(&r.t, &r.control);
}

int cli_attach_record(const cli_attach *how)
{
    const struct sigaction ending = {.sa_handler = end};
    int code = is_listening(&r.t, r.control) ? CLI_DONE : bring_agent(&r.t, how, &tls, &r.control);
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
    if (!is_listening(&r.t, r.control) || state_of(&r.t, r.control) != PD_ATTACH_RECORDING)
        return cli_error("process %d is not recorded", pid);
    SET_MEMBER(&r.t, r.control, wanted, 0);
    for (int i = 0; i < TRIES && state_of(&r.t, r.control) == PD_ATTACH_RECORDING; i++)
        rest_for(STEP);
    return state_of(&r.t, r.control) == PD_ATTACH_RECORDING
               ? cli_error("process %d has not stopped to record: the last profile takes long", pid)
               : CLI_DONE;
}
