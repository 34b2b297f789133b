/* A late start: the agent was loaded into a program that ran already, by `pprofdelta record --pid` or by the program
 * itself. See base/attach.h.
 *
 * A thread of its own begins and ends recordings; in between it sleeps. All signals are blocked in it but those of the
 * C library. It has the program's table of descriptors, and opens none: if only it is left of the process, it ends
 * that as the last thread of the program would, with exit handlers. */
#include "agent/base/agent.h"
#include "agent/base/real.h"
#include "agent/delivery/delivery.h"
#include "agent/interposed/rebind.h"
#include "agent/life/life.h"
#include "process/maps.h"

#include <sys/prctl.h>
#include <unistd.h>

PD_PUBLIC pd_attach pd_agent_attach = {.layout = PD_ATTACH_LAYOUT};
#define control pd_agent_attach

enum { IDLE_MILLIS = 500, RECORDING_MILLIS = 100 };

static void rest_for(unsigned milliseconds)
{
    const struct timespec pause = {.tv_nsec = (long)milliseconds * 1000000};
    nanosleep(&pause, NULL);
}

/* ---- the beginning --------------------------------------------------------------------------- */

static pprofdelta_heap *tracker; /* NULL: not made yet */

/* The tracker is made once: what it was made for does not change. */
static bool is_as_before(const pd_settings *before)
{
    return before->rate == pd_given.rate && before->format == pd_given.format &&
           before->account == pd_given.account && before->live == pd_given.live &&
           before->probes == pd_given.probes;
}

static bool begin_again(const pd_settings *before)
{
    if (is_as_before(before)) {
        if (pd_given.command)
            pd_handover_begin();
        return pd_agent_again(tracker);
    }
    pd_given = *before;
    pd_notice_refuse(
        "it was recorded before, with another --rate, --format, --no-account, --no-live-file or "
        "--probes-only; give the same",
        "");
    return false;
}

/* What begins first is what an agent that was preloaded has before its constructor runs. */
static bool begin_recording(void)
{
    pd_settings before = pd_given;
    const char *wrong = pd_settings_read(&pd_given, control.settings);
    pd_notice_begin_attached(control.has_lease ? &control : NULL);
    if (wrong)
        pd_notice_refuse("the value of this variable is invalid: ", wrong);
    else if (pd_program_has_malloc())
        pd_notice_refuse("the program has its own malloc, which the agent cannot replace", "");
    else if (!pd_given.probes && *pd_given.dir && access(pd_given.dir, W_OK | X_OK))
        pd_notice_refuse("it cannot write to the directory: ", pd_words_of_error(errno));
    else {
        pd_real_find();
        if (!pd_slots_replace(false))
            pd_notice_refuse("the system does not let the agent replace malloc", "");
        else if (tracker ? begin_again(&before) : pd_the_agent.begin()) {
            tracker = pd_agent_heap();
            return true;
        }
        pd_slots_replace(true);
    }
    return false;
}

/* ---- a recording ----------------------------------------------------------------------------- */

/* When the beat changed last. */
typedef struct lease {
    uint32_t beat;
    uint64_t since; /* 0: not known yet */
} lease;

/* The command writes a beat several times a second. */
static bool has_command(lease *l)
{
    uint64_t now = pd_nanos_of(CLOCK_MONOTONIC);
    uint32_t beat = atomic_load(&control.beat);
    if (beat != l->beat || !l->since)
        *l = (lease){beat, now};
    return !atomic_load(&control.has_lease) ||
           now - l->since < PD_ATTACH_LEASE_SECONDS * PD_NANOS_PER_SECOND;
}

/* An object that is being loaded has no slots yet when it is counted: so there is one more look after each change. */
static void follow_objects(void)
{
    static uint64_t seen;
    static bool is_again;
    uint64_t loads = pd_maps_loads();
    if (loads != seen || is_again)
        pd_slots_replace(false);
    is_again = loads != seen;
    seen = loads;
}

static void record_until_end(void)
{
    lease l = {0, 0};
    atomic_store(&control.state, PD_ATTACH_RECORDING);
    if (!pd_given.probes)
        pd_worker_start();
    while (atomic_load(&control.wanted) && has_command(&l)) {
        rest_for(RECORDING_MILLIS);
        follow_objects();
        atomic_store(&control.samples, atomic_load(&pd_the_agent.samples));
        atomic_store(&control.files, atomic_load(&pd_the_agent.files));
    }
    pd_python_leave();
    pd_slots_replace(true);
    pd_agent_leave();
    atomic_store(&control.samples, atomic_load(&pd_the_agent.samples));
    atomic_store(&control.files, atomic_load(&pd_the_agent.files));
}

static void *run_late(void *unused)
{
    pd_this_thread.is_inside = true;
    pprofdelta_sampler_init(&pd_this_thread.sampler, 0, 0);
    prctl(PR_SET_NAME, "pprofdelta", 0, 0, 0);
    for (;;) {
        atomic_store(&control.state, PD_ATTACH_PARKED);
        while (!atomic_load(&control.wanted)) {
            rest_for(IDLE_MILLIS);
            pd_worker_check_company();
        }
        atomic_store(&control.text_len, 0);
        bool is_begun = begin_recording();
        atomic_fetch_add(&control.runs, 1);
        if (is_begun)
            record_until_end();
        atomic_store(&control.wanted, 0);
    }
    return unused;
}

/* ---- the entry ------------------------------------------------------------------------------- */

/* What is exported for those who load the agent by dlopen: agent/README.md. */
PD_PUBLIC int pd_agent_start_late(const char *settings);
PD_PUBLIC void pd_agent_stop_late(void);
PD_PUBLIC void pd_agent_window_late(void);
PD_PUBLIC int pd_agent_look_late(uint64_t *runs, uint64_t *files);

static size_t settings_size(const char *settings)
{
    const char *at = settings;
    while (*at)
        at += strlen(at) + 1;
    return (size_t)(at - settings) + 1;
}

static int create_late(void)
{
    enum { STACK_LEN = 256 << 10 };
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    int error = pthread_attr_init(&attributes);
    if (error)
        return error;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_LEN);
    error = pthread_create(&thread, &attributes, run_late, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

int pd_agent_start_late(const char *settings)
{
    const uint32_t pid = (uint32_t)getpid(), former = atomic_exchange(&control.pid, pid);
    if (!pd_the_agent.is_late)
        return ENOTSUP; /* it was preloaded, and records already */
    if (former == pid &&
        (atomic_load(&control.wanted) || atomic_load(&control.state) == PD_ATTACH_RECORDING))
        return EBUSY;
    const size_t size = settings ? settings_size(settings) : 0;
    if (size > sizeof control.settings)
        return E2BIG;
    if (size)
        memcpy(control.settings, settings, size);
    if (size)
        atomic_store(&control.has_lease, 0);
    if (former == pid) {
        atomic_store(&control.wanted, size != 0);
        return 0;
    }
    atomic_store(&control.state, PD_ATTACH_NONE); /* not so in the child of a fork */
    atomic_store(&control.wanted, size != 0);
    int error = create_late();
    if (error)
        atomic_store(&control.pid, 0);
    return error;
}

void pd_agent_stop_late(void)
{
    enum { STEP = 10 };
    atomic_store(&control.wanted, 0);
    while (atomic_load(&control.pid) == (uint32_t)getpid() &&
           atomic_load(&control.state) == PD_ATTACH_RECORDING)
        rest_for(STEP);
}

void pd_agent_window_late(void)
{
    if (atomic_load(&control.state) == PD_ATTACH_RECORDING)
        pd_worker_ask(PD_REQUEST_WINDOW);
}

int pd_agent_look_late(uint64_t *runs, uint64_t *files)
{
    *runs = atomic_load(&control.runs);
    *files = atomic_load(&control.files);
    return atomic_load(&control.pid) == (uint32_t)getpid() ? (int)atomic_load(&control.state)
                                                           : PD_ATTACH_NONE;
}
