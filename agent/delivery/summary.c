/* Messages at the start and at the end: see delivery.h. */
#include "agent/delivery/delivery.h"

#include "agent/base/agent.h"
#include "agent/base/remains.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Word of a process that may not write its profiles: it was started by root and has given up the rights for it, and
 * its stderr often leads elsewhere. All processes have the page that fork makes of one program. One of them may be
 * able to write. Nothing in it is trusted. */
static _Atomic int *lost; /* the number of that process; NULL: no memory */

void pd_summary_lost(int error)
{
    if (lost && (error == EACCES || error == EPERM))
        atomic_store(lost, (int)getpid());
}

static int write_text(int fd, void *cookie)
{
    const pd_fixed_text *text = cookie;
    return pd_write_all(fd, text->bytes, text->len);
}

void pd_summary_tell(void)
{
    static bool is_told;
    uint64_t number;
    pd_fixed_text text = {.len = 0}, path = {.len = 0};
    int process = lost && !is_told ? atomic_load(lost) : 0;
    if (!process || process == (int)getpid())
        return;
    pd_text_add(&text,
                "profiles are missing: process %d, and others perhaps, cannot write to %s as the "
                "user that it has become; give the directory to that user, or the mode 1777",
                process, pd_given.dir);
    is_told = !pd_spool_write(PD_REMAINS_LOST, write_text, &text, &number, &path);
    if (is_told)
        pd_notice_print(PD_NOTICE_MISSING, "%s", text.bytes);
}

/* Only one process prints these messages, however many are recorded. */
static bool is_ours(void)
{
    return pd_agent_is_command() && !pd_given.is_quiet;
}

void pd_summary_begin(void)
{
    void *page =
        mmap(NULL, sizeof *lost, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    lost = page == MAP_FAILED ? NULL : page;
    if (!is_ours())
        return;
    pd_notice_keep_path();
    const char *advice = pd_launch_advice("/proc/self/exe");
    if (*advice)
        pd_notice_print(PD_NOTICE_RUNTIME, "%s", advice);
    if (pd_given.pressure && !*pd_given.pressure_file)
        pd_notice_print(PD_NOTICE_LIMIT, "--pressure has no effect: this kernel does not say for "
                                         "how long programs wait for memory (CONFIG_PSI, psi=1)");
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
        pd_text_add(text, "%s", dir);
        return;
    }
    pd_text_add(text, "'");
    for (size_t len; dir[len = strcspn(dir, "'")]; dir += len + 1)
        pd_text_add(text, "%.*s'\\''", (int)len, dir);
    pd_text_add(text, "%s'", dir);
}

/* /heap.PROGRAM.PID. and either all numbers or the last one. */
static void add_names(pd_fixed_text *text, bool is_all)
{
    pd_text_add(text, "/heap.%s.%d.", pd_program_name(), (int)getpid());
    if (is_all)
        pd_text_add(text, "*");
    else
        pd_text_add(text, "%06ju", (uintmax_t)atomic_load(&pd_the_agent.next_number) - 1);
    pd_text_add(text, "%s", pd_settings_ending(&pd_given));
}

static void add_files(pd_fixed_text *text, bool is_all)
{
    add_dir(text, pd_given.dir);
    add_names(text, is_all);
}

static bool is_last_there(void)
{
    pd_fixed_text name = {.len = 0};
    add_names(&name, false);
    struct stat status;
    return pd_spool_stat(name.bytes, &status) == 0;
}

static void send_none(void)
{
    pd_fixed_text dir = {.len = 0};
    add_dir(&dir, pd_given.dir);
    pd_notice_print(PD_NOTICE_END,
                    "no profile of %s: none of its allocations was sampled (one in %ju bytes is); "
                    "use a lower --rate, such as 1k; profiles of programs that it started, if any, "
                    "are in %s",
                    pd_program_name(), (uintmax_t)pd_given.rate, dir.bytes);
}

/* Adds number / divisor with one digit behind the point. */
static void add_tenths(pd_fixed_text *text, uint64_t number, uint64_t divisor)
{
    pd_text_add(text, "%ju.%ju", (uintmax_t)(number / divisor),
                (uintmax_t)(number % divisor / (divisor / 10 + 1)));
}

static void add_bytes(pd_fixed_text *text, uint64_t bytes)
{
    static const char units[] = "KMGT";
    size_t unit = 0;
    while (units[unit + 1] && bytes >> (10 * (unit + 2)))
        unit++;
    add_tenths(text, bytes, UINT64_C(1) << (10 * (unit + 1)));
    pd_text_add(text, " %ciB", units[unit]);
}

static void add_peak(pd_fixed_text *text)
{
    pprofdelta_heap_stats stats = {.size = sizeof stats};
    pprofdelta_heap *heap = pd_agent_heap();
    if (!heap)
        return;
    pprofdelta_heap_describe(heap, &stats);
    if (stats.peak_bytes <= 0)
        return;
    int64_t after = stats.peak_nanos > pd_the_agent.begun_nanos
                        ? stats.peak_nanos - pd_the_agent.begun_nanos
                        : 0;
    pd_text_add(text, "; peak of the live heap: ");
    add_bytes(text, (uint64_t)stats.peak_bytes);
    pd_text_add(text, ", after ");
    add_tenths(text, (uint64_t)after, PD_NANOS_PER_SECOND);
    pd_text_add(text, " s");
}

/* Each profile in OTLP has all that is in use, so that there is nothing to add up. */
static void send_next(bool is_one)
{
    bool is_otlp = pd_given.format != PPROFDELTA_PPROF;
    pd_fixed_text text = {.len = 0};
    pd_text_add(&text, "next: pprofdelta %s ", is_one ? "show" : "leaks");
    add_files(&text, !is_one);
    if (!is_one) {
        pd_text_add(&text, ", or: pprofdelta %s ", is_otlp ? "show" : "sum");
        add_files(&text, !is_otlp);
        pd_text_add(&text, "%s", is_otlp ? "" : " | pprofdelta show -");
    }
    if (text.len < sizeof text.bytes - 1) /* a command that was cut off is none */
        pd_notice_print(PD_NOTICE_NEXT, "%s", text.bytes);
}

/* With a command that takes the profiles, the files are only those that it did not take, which
 * another message names. */
void pd_summary_end(void)
{
    uint64_t count = atomic_load(&pd_the_agent.files);
    if (!is_ours() || pd_given.command)
        return;
    if (!count) {
        if (!atomic_load(&pd_the_agent.samples)) /* or else a message says why it was not written */
            send_none();
        return;
    }
    pd_fixed_text text = {.len = 0};
    bool is_there = is_last_there();
    pd_text_add(&text, "%ju profile%s%s: ", (uintmax_t)count, count == 1 ? "" : "s",
                !is_there                                ? ", removed since"
                : atomic_load(&pd_the_agent.has_deleted) ? ", the oldest deleted (--keep)"
                                                         : "");
    add_files(&text, count > 1);
    add_peak(&text);
    pd_notice_print(PD_NOTICE_END, "%s", text.bytes);
    if (is_there)
        send_next(count == 1);
}

typedef struct departure {
    const char *program, *why;
} departure;

static void send_left(void *cookie)
{
    const departure *d = cookie;
    pd_launch_result found;
    pd_launch_check(d->program, &found);
    if (found.error)
        return;
    pd_notice_print(PD_NOTICE_ASIDE, "nothing is recorded from here on: %s becomes %s, which %s",
                    pd_program_name(), found.path, found.obstacle ? found.obstacle : d->why);
    if (atomic_load(&pd_the_agent.files))
        pd_summary_end();
}

void pd_summary_leave(const char *program, const char *why)
{
    if (!atomic_load(&pd_is_confined) && is_ours() && pd_agent_heap())
        pd_work(send_left, &(departure){program, why});
}
