/* The one stop of one thread: see stop.h.
 *
 * A system call that the stop has interrupted is begun again, as the kernel would do it after a stop without a handler:
 * the thread goes back to the instruction, with the number of the call. If a handler runs before, it runs before the call, too. */
#include "attach/stop.h"

#include "attach/attach.h"
#include "attach/stub.h"

#include "agent/base/filter.h"
#include "agent/base/remains.h"
#include "input.h"
#include "instant.h"
#include "keep.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <linux/filter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Requests that older headers lack. glibc has a type for them. */
#ifdef __GLIBC__
#define REQUEST(number) ((enum __ptrace_request)(number))
#else
#define REQUEST(number) (number)
#endif
#define GET_FILTER REQUEST(0x420c) /* PTRACE_SECCOMP_GET_FILTER */
#define GET_RSEQ   REQUEST(0x420f) /* PTRACE_GET_RSEQ_CONFIGURATION */

enum {
    EVENT_STOP = 128,     /* PTRACE_EVENT_STOP */
    PATIENCE = 250000000, /* nanoseconds, for one thread */
    RESTART_FIRST = 512,  /* ERESTARTSYS, NOINTR and NOHAND */
    RESTART_LAST = 514,
    RESTART_BLOCK = 516,
};

/* These give EINTR to a stop, and begin again without harm. */
static bool begins_again(uint64_t call)
{
    static const uint64_t calls[] = {
#ifdef SYS_epoll_wait
        SYS_epoll_wait,
#endif
        SYS_epoll_pwait,  441 /* epoll_pwait2 */,
        SYS_semop,        SYS_semtimedop,
        SYS_io_getevents, SYS_rt_sigtimedwait,
        SYS_read,         SYS_recvfrom,
        SYS_recvmsg,      SYS_accept,
        SYS_accept4,      426 /* io_uring_enter */};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i] == call)
            return true;
    return false;
}

/* What a thread waits in. */
typedef struct waiting {
    uint64_t call, first; /* its number, UINT64_MAX: none; and its first argument */
} waiting;

static waiting wait_of(const cli_target *t, pid_t tid)
{
    char text[256], *end;
    waiting in = {UINT64_MAX, 0};
    const char *name = cli_keep_print("task/%d/syscall", (int)tid);
    if (cli_text_read(t->folder, name, text, sizeof text) && *text >= '0' && *text <= '9') {
        in.call = strtoull(text, &end, 10);
        in.first = strtoull(end, NULL, 16);
    }
    return in;
}

/* Does a signal wait that the thread does not block? */
static bool has_signal(const cli_target *t, pid_t tid)
{
    char status[4096];
    if (!cli_text_read(t->folder, cli_keep_print("task/%d/status", (int)tid), status,
                       sizeof status))
        return true;
    const char *at[] = {strstr(status, "SigPnd:"), strstr(status, "ShdPnd:"),
                        strstr(status, "SigBlk:")};
    uint64_t sets[3];
    for (int i = 0; i < 3; i++)
        sets[i] = at[i] ? strtoull(at[i] + 7, NULL, 16) : 0;
    return (sets[0] | sets[1]) & ~sets[2];
}

/* ---- the registers --------------------------------------------------------------------------- */

#ifdef __x86_64__
typedef struct user_regs_struct registers;

static bool get_registers(pid_t tid, registers *r, uint64_t *pointer)
{
    struct iovec all = {r, sizeof *r};
    bool is_done = !ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &all) && all.iov_len == sizeof *r;
    *pointer = r->fs_base;
    return is_done;
}

/* Goes back to a system call that was interrupted. before: what the thread waited in before it was stopped. */
static void go_back(const cli_target *t, pid_t tid, registers *r, const waiting *before)
{
    (void)before; /* the registers say it */
    const int64_t result = (int64_t)r->rax;
    const uint64_t call = r->orig_rax;
    if ((int64_t)call < 0)
        return;
    r->orig_rax = UINT64_MAX;
    if (result == -RESTART_BLOCK)
        r->rax = SYS_restart_syscall;
    else if ((result >= -RESTART_LAST && result <= -RESTART_FIRST) ||
             (result == -EINTR && begins_again(call) && !has_signal(t, tid)))
        r->rax = call;
    else
        return;
    r->rip -= 2;
}

static uint64_t place_of(const registers *r)
{
    return r->rip;
}

static bool save_registers(const registers *r, const cli_stop *s, uint64_t slots[STUB_SLOTS])
{
    (void)s;
    const uint64_t saved[] = {r->rax, r->rdi, r->rsi, r->rdx, r->rcx, r->r8, r->r9, r->r10, r->r11};
    memcpy(&slots[STUB_SAVED], saved, sizeof saved);
    slots[STUB_RESUME] = r->rip;
    return true;
}

static void enter_stub(registers *r, const cli_stop *s)
{
    r->rax = SYS_mmap;
    r->rdi = s->storage;
    r->rsi = s->storage_len;
    r->rdx = PROT_READ | PROT_WRITE;
    r->r10 = MAP_PRIVATE | MAP_ANONYMOUS | 0x100000 /* MAP_FIXED_NOREPLACE */;
    r->r8 = UINT64_MAX;
    r->r9 = 0;
    r->orig_rax = UINT64_MAX;
    r->rip = s->code + STUB_PLACE(cli_stub_entry);
}
#else
#include "attach/stop_aarch64.h"
#endif

/* ---- is it a good place? --------------------------------------------------------------------- */

/* Is the thread in a restartable sequence? It would not be one any more. */
static bool is_in_sequence(const cli_target *t, pid_t tid, uint64_t place)
{
    struct {
        uint64_t area;
        uint32_t size, signature, flags, pad;
    } config = {0};
    uint64_t at, part[4]; /* version and flags, start, length, abort */
    if (ptrace(GET_RSEQ, tid, sizeof config, &config) <= 0 || !config.area ||
        !cli_target_read(t, config.area + 8, &at, sizeof at) || !at ||
        !cli_target_read(t, at, part, sizeof part))
        return false;
    return place - part[1] < part[2];
}

/* Returns whether a filter may kill for a call of the agent or of the stub, which are of those that a new thread of the C
 * library makes. */
static bool is_filtered(const cli_target *t, pid_t tid, cli_stop *s)
{
    static struct sock_filter rules[BPF_MAXINSNS];
    char status[4096];
    if (!cli_text_read(t->folder, "status", status, sizeof status) ||
        cli_number_behind(status, "Seccomp:") <= 0)
        return false;
    long len = 0;
    for (long i = 0; (len = ptrace(GET_FILTER, tid, i, NULL)) > 0 && len <= BPF_MAXINSNS; i++) {
        ptrace(GET_FILTER, tid, i, rules);
        const char *forbidden = pd_filter_forbids(rules, (unsigned)len, true);
        if (forbidden) {
            snprintf(s->forbidden, sizeof s->forbidden, "%s", forbidden);
            return true;
        }
    }
    if (errno == ENOENT) /* behind the last one */
        return false;
    s->forbidden[0] = '\0';
    return true;
}

/* ---- the stop -------------------------------------------------------------------------------- */

/* Waits until the thread has stopped for us. A signal that comes first is passed on. */
static bool await_stop(pid_t tid)
{
    const int64_t end = cli_monotonic_now() + PATIENCE;
    const struct timespec pause = {.tv_nsec = 20000};
    while (cli_monotonic_now() < end) {
        int status;
        pid_t got = waitpid(tid, &status, __WALL | WNOHANG);
        if (got < 0 || (got && !WIFSTOPPED(status)))
            return false;
        if (!got) {
            nanosleep(&pause, NULL);
        } else if (status >> 16 == EVENT_STOP) {
            return WSTOPSIG(status) == SIGTRAP; /* else the whole process is stopped */
        } else {
            ptrace(PTRACE_CONT, tid, NULL, status >> 16 ? 0 : WSTOPSIG(status));
        }
    }
    return false;
}

/* The rest of the code is there already. */
static bool write_slots(const cli_target *t, const cli_stop *s, const registers *r)
{
    uint64_t slots[STUB_SLOTS] = {0};
    slots[STUB_STORAGE] = s->storage;
    slots[STUB_NEGATED] = 0 - s->storage;
    slots[STUB_POINTER] = s->pointer;
    return save_registers(r, s, slots) &&
           cli_target_write(t, s->code + STUB_PLACE(cli_stub_slots), slots, sizeof slots);
}

/* A system call that was interrupted begins again, whether the thread is used or not. */
static cli_stopped use_thread(const cli_target *t, cli_stop *s, pid_t tid, const waiting *before)
{
    registers r;
    cli_stopped result = CLI_STOP_LATER;
    if (!get_registers(tid, &r, &s->other))
        return result;
    const bool is_good =
        cli_tls_find_number(t, s->other, cli_target_number(t, tid), &s->number_off) &&
        !is_in_sequence(t, tid, place_of(&r));
    if (is_good && is_filtered(t, tid, s))
        result = CLI_STOP_FILTERED;
    go_back(t, tid, &r, before);
    if (is_good && result != CLI_STOP_FILTERED && write_slots(t, s, &r)) {
        enter_stub(&r, s);
        result = CLI_STOP_DONE;
    }
    struct iovec all = {&r, sizeof r};
    return ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &all) ? CLI_STOP_LATER : result;
}

static cli_stopped stop_thread(const cli_target *t, cli_stop *s, pid_t tid)
{
    const waiting before = wait_of(t, tid);
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
        s->error = errno;
        char status[4096];
        bool is_traced = cli_text_read(t->folder, "status", status, sizeof status) &&
                         cli_number_behind(status, "TracerPid:") > 0;
        return errno == ESRCH ? CLI_STOP_LATER : is_traced ? CLI_STOP_TRACED : CLI_STOP_REFUSED;
    }
    const int64_t begin = cli_monotonic_now();
    s->tid = tid;
    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
    if (!await_stop(tid))
        _exit(CLI_STOP_LATER); /* and the kernel lets go of it */
    cli_stopped result = use_thread(t, s, tid, &before);
    ptrace(PTRACE_DETACH, tid, NULL, NULL);
    s->millis = (double)(cli_monotonic_now() - begin) / 1e6;
    return result;
}

/* Is it one that stops at once: not in the middle of a vfork or of input and output? */
static bool is_ready(const cli_target *t, const char *tid)
{
    char stat[1024];
    cli_text_read(t->folder, cli_keep_print("task/%s/stat", tid), stat, sizeof stat);
    const char state = pd_stat_read(stat).state;
    return state == 'R' || state == 'S';
}

/* Returns the n-th thread that is ready, or 0. */
static pid_t pick_thread(const cli_target *t, unsigned number)
{
    pid_t found = 0;
    DIR *threads = opendir(cli_keep_print("/proc/%d/task", (int)t->pid));
    for (const struct dirent *entry; threads && !found && (entry = readdir(threads));)
        if (*entry->d_name != '.' && is_ready(t, entry->d_name) && !number--)
            found = (pid_t)strtol(entry->d_name, NULL, 10);
    if (threads)
        closedir(threads);
    return found;
}

cli_stopped cli_stop_once(const cli_target *t, cli_stop *stop)
{
    enum { TRIES = 12 };
    cli_stop *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cli_stopped result = CLI_STOP_LATER;
    if (shared == MAP_FAILED)
        return result;
    *shared = *stop;
    for (unsigned i = 0; i < TRIES && result == CLI_STOP_LATER; i++) {
        int status = 0;
        pid_t tid = pick_thread(t, i);
        tid = tid ? tid : pick_thread(t, 0);
        pid_t child = tid ? fork() : -1;
        if (!child)
            _exit((int)stop_thread(t, shared, tid));
        if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status))
            result = (cli_stopped)WEXITSTATUS(status);
        if (result == CLI_STOP_LATER)
            cli_attach_rest(10);
    }
    *stop = *shared;
    munmap(shared, sizeof *shared);
    return result;
}
