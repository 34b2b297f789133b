/* Messages at the start and at the end: see summary.h. */
#include "agent/delivery/summary.h"

#include "agent/base/agent.h"
#include "agent/base/inherit.h"
#include "agent/delivery/keep.h"
#include "agent/base/notice.h"
#include "agent/base/own_stack.h"
#include "agent/base/program.h"
#include "agent/base/runtime.h"
#include "agent/base/self.h"
#include "agent/delivery/spool.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static _Atomic uint64_t files, last_file; /* of this process: how many, and the last number */
static int64_t begun_nanos;

void pd_summary_wrote(uint64_t number)
{
    atomic_fetch_add(&files, 1);
    atomic_store(&last_file, number);
}

/* Only one process prints these messages, however many are recorded. */
static bool is_ours(void)
{
    const pd_settings *settings = &pd_the_agent.settings;
    return settings->command_pid == getpid() && !settings->is_quiet;
}

void pd_summary_begin(void)
{
    pd_fixed_text text = {.len = 0};
    begun_nanos = pd_now();
    if (!is_ours())
        return;
    pd_fixed_text_add(&text, pd_runtime_advice(pd_runtime_of("/proc/self/exe")));
    if (text.len)
        pd_notice_send(PD_NOTICE_RUNTIME, &text);
}

/* Returns whether a shell takes the directory as it is. */
static bool is_plain(const char *dir)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_-+.,:=@%";
    return dir[strspn(dir, plain)] == '\0';
}

/* Adds the directory so that a shell reads it as one word. */
static void add_dir(pd_fixed_text *text, const char *dir)
{
    if (is_plain(dir)) {
        pd_fixed_text_add(text, dir);
        return;
    }
    pd_fixed_text_add(text, "'");
    for (const char *at = dir; *at; at++) {
        const char one[] = {*at, '\0'};
        pd_fixed_text_add(text, *at == '\'' ? "'\\''" : one);
    }
    pd_fixed_text_add(text, "'");
}

/* /heap.PROGRAM.PID. and either all numbers or the last one. */
static void add_names(pd_fixed_text *text, bool is_all)
{
    enum { DIGITS = 6 };
    pd_fixed_text_add(text, "/heap.");
    pd_fixed_text_add(text, pd_program_name());
    pd_fixed_text_add(text, ".");
    pd_fixed_text_add_number(text, (uint64_t)getpid());
    pd_fixed_text_add(text, ".");
    if (is_all)
        pd_fixed_text_add(text, "*");
    else
        pd_fixed_text_add_padded(text, atomic_load(&last_file), DIGITS);
    pd_fixed_text_add(text, pd_settings_ending(&pd_the_agent.settings));
}

static void add_files(pd_fixed_text *text, bool is_all)
{
    add_dir(text, pd_the_agent.settings.dir);
    add_names(text, is_all);
}

static bool is_last_there(void)
{
    pd_fixed_text name = {.len = 0};
    add_names(&name, false);
    return pd_spool_has(pd_the_agent.settings.dir, &name);
}

static void send_none(void)
{
    pd_fixed_text text = {.len = 0};
    pd_fixed_text_add(&text, "no profile of ");
    pd_fixed_text_add(&text, pd_program_name());
    pd_fixed_text_add(&text, ": none of its allocations was sampled (one in ");
    pd_fixed_text_add_number(&text, pd_the_agent.settings.rate);
    pd_fixed_text_add(&text,
                      " bytes is); use a lower --rate, such as 1k; profiles of programs that "
                      "it started, if any, are in ");
    add_dir(&text, pd_the_agent.settings.dir);
    pd_notice_send(PD_NOTICE_END, &text);
}

/* Adds number / divisor with one digit behind the point. */
static void add_tenths(pd_fixed_text *text, uint64_t number, uint64_t divisor)
{
    uint64_t rest = number % divisor;
    pd_fixed_text_add_number(text, number / divisor);
    pd_fixed_text_add(text, ".");
    pd_fixed_text_add_number(text, rest / (divisor / 10 + 1));
}

static void add_bytes(pd_fixed_text *text, uint64_t bytes)
{
    static const char *const units[] = {" KiB", " MiB", " GiB", " TiB"};
    enum { UNITS = sizeof units / sizeof *units };
    size_t unit = 0;
    while (unit < UNITS - 1 && bytes >> (10 * (unit + 2)))
        unit++;
    add_tenths(text, bytes, UINT64_C(1) << (10 * (unit + 1)));
    pd_fixed_text_add(text, units[unit]);
}

static void add_peak(pd_fixed_text *text)
{
    pprofdelta_heap_stats stats;
    pprofdelta_heap *heap = atomic_load(&pd_the_agent.heap);
    if (!heap)
        return;
    pprofdelta_heap_get_stats(heap, &stats);
    if (stats.peak_bytes <= 0)
        return;
    int64_t after = stats.peak_nanos > begun_nanos ? stats.peak_nanos - begun_nanos : 0;
    pd_fixed_text_add(text, "; peak of the live heap: ");
    add_bytes(text, (uint64_t)stats.peak_bytes);
    pd_fixed_text_add(text, ", after ");
    add_tenths(text, (uint64_t)after, 1000000000);
    pd_fixed_text_add(text, " s");
}

/* Only `show` and `check` read OTLP. */
static void send_next(bool is_one)
{
    is_one |= pd_the_agent.settings.format == PPROFDELTA_OTLP;
    pd_fixed_text text = {.len = 0};
    pd_fixed_text_add(&text, "next: pprofdelta ");
    pd_fixed_text_add(&text, is_one ? "show " : "leaks ");
    add_files(&text, !is_one);
    if (!is_one) {
        pd_fixed_text_add(&text, ", or: pprofdelta sum ");
        add_files(&text, true);
        pd_fixed_text_add(&text, " | pprofdelta show -");
    }
    if (text.len < sizeof text.bytes - 1) /* a command that was cut off is none */
        pd_notice_send(PD_NOTICE_NEXT, &text);
}

/* With a command that takes the profiles, the files are only those that it did not take, which
 * another message names. */
void pd_summary_end(void)
{
    const pd_settings *settings = &pd_the_agent.settings;
    uint64_t count = atomic_load(&files);
    if (!is_ours() || settings->command || settings->is_tree)
        return;
    if (!count) {
        if (!atomic_load(&pd_the_agent.samples)) /* or else a message says why it was not written */
            send_none();
        return;
    }
    pd_fixed_text text = {.len = 0};
    bool is_there = is_last_there();
    pd_fixed_text_add_number(&text, count);
    pd_fixed_text_add(&text, count == 1 ? " profile" : " profiles");
    pd_fixed_text_add(&text,
                      is_there ? (pd_keep_has_deleted() ? ", the oldest deleted (--keep): " : ": ")
                               : ", removed since: ");
    add_files(&text, count > 1);
    add_peak(&text);
    pd_notice_send(PD_NOTICE_END, &text);
    if (is_there)
        send_next(count == 1);
}

static const char *const reasons[] = {
    [PD_LAUNCH_OK] = "cannot reach the agent's file",
    [PD_LAUNCH_NOT_OPENED] = "cannot be opened",
    [PD_LAUNCH_CUT_OFF] = "is cut off",
    [PD_LAUNCH_SETUID] = "is setuid",
    [PD_LAUNCH_SETGID] = "is setgid",
    [PD_LAUNCH_CAPABILITIES] = "has file capabilities",
    [PD_LAUNCH_OTHER_MACHINE] = "is for another machine than the agent",
    [PD_LAUNCH_STATIC] = "is linked statically",
    [PD_LAUNCH_OTHER_LIBC] = "is for another C library than the agent",
    [PD_LAUNCH_SANITIZED] = "is built with a sanitizer",
};

static void send_left(void *program)
{
    pd_launch_result found;
    pd_fixed_text text = {.len = 0};
    pd_inherit_check(program, &found);
    pd_fixed_text_add(&text, "nothing is recorded from here on: ");
    pd_fixed_text_add(&text, pd_program_name());
    pd_fixed_text_add(&text, " becomes ");
    pd_fixed_text_add(&text, found.path);
    pd_fixed_text_add(&text, ", which ");
    pd_fixed_text_add(&text, reasons[found.obstacle]);
    pd_notice_send(PD_NOTICE_ASIDE, &text);
    if (atomic_load(&files))
        pd_summary_end();
}

void pd_summary_leave(const char *program)
{
    int kept = errno;
    if (!is_ours() || !atomic_load(&pd_the_agent.heap) || !pd_self_enter())
        return;
    pd_own_stack_call(send_left, (void *)program);
    pd_self_leave();
    errno = kept;
}
