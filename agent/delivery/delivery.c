/* Delivers a profile of one window: see delivery.h. */
#include "agent/delivery/delivery.h"

#include "agent/account/account.h"
#include "agent/base/agent.h"
#include "agent/base/await.h"
#include "agent/stacks/function_names.h"
#include "agent/delivery/handover.h"
#include "agent/delivery/keep.h"
#include "agent/delivery/largest_sites.h"
#include "agent/account/mappings.h"
#include "agent/base/notice.h"
#include "agent/base/text.h"
#include "agent/base/reserve.h"
#include "agent/delivery/spool.h"
#include "agent/delivery/summary.h"

static _Atomic int is_busy;        /* a thread delivers */
static atomic_bool has_failed;     /* what the last delivery had is not delivered yet */
static uint64_t delivered_changes; /* of the mappings; of the thread that delivers */

static void add_failure(pd_fixed_text *text, pd_handed handed, int detail)
{
    if (handed == PD_HANDED_NOT_STARTED)
        pd_text_add(text, "the command could not be started: %s", pd_words_of_error(detail));
    else if (handed == PD_HANDED_FAILED)
        pd_text_add(text, "the command exited with status %d", detail);
    else
        pd_text_add(text, "the command took longer than %d s", detail);
}

unsigned pd_delivery_max_millis(void)
{
    enum { FILE_MILLIS = 10000, SLACK_MILLIS = 1000 };
    const pd_settings *settings = &pd_the_agent.settings;
    return settings->command ? (unsigned)settings->timeout * 1000 + SLACK_MILLIS : FILE_MILLIS;
}

/* One delivery, and the message about its failure. */
typedef struct delivery {
    bool is_last;
    pd_fixed_text why;
} delivery;

typedef struct profile {
    const void *data;
    size_t len;
} profile;

static int write_profile(int fd, void *cookie)
{
    const profile *p = cookie;
    return pd_write_all(fd, p->data, p->len);
}

/* Returns 0 or an errno value. Adds the path to where. */
static int write_file(profile *p, pd_fixed_text *where)
{
    uint64_t number;
    int error = pd_spool_write(pd_settings_ending(&pd_the_agent.settings), write_profile, p,
                               &number, where);
    if (!error) {
        atomic_store(&pd_the_agent.next_number, number + 1);
        pd_summary_wrote(number);
        pd_keep_add(where);
    }
    return error;
}

static int to_file(profile *p, delivery *d)
{
    pd_fixed_text where = {.len = 0};
    int error = write_file(p, &where);
    if (error)
        pd_text_add(&d->why, "%s: %s: %s", pd_the_agent.settings.dir,
                    d->is_last ? "the last profile cannot be written and is lost"
                               : "a profile cannot be written; the next one will have its events",
                    pd_words_of_error(error));
    return error ? -1 : 0;
}

/* Writes the last profile after the command failed for it. */
static int to_directory(profile *p, delivery *d)
{
    pd_fixed_text where = {.len = 0};
    const char *dir = pd_the_agent.settings.dir;
    int error = *dir ? write_file(p, &where) : 0;
    if (!*dir)
        pd_text_add(&d->why, "; the profile is lost");
    else if (error)
        pd_text_add(&d->why, "; the profile is lost, since it cannot be written to %s: %s", dir,
                    pd_words_of_error(error));
    else
        pd_text_add(&d->why, "; the profile is in %s", where.bytes);
    return error || !*dir ? -1 : 0;
}

static int to_command(profile *p, delivery *d)
{
    int detail = 0;
    const pd_settings *settings = &pd_the_agent.settings;
    pd_handed handed =
        pd_hand_over(settings->command, p->data, p->len, (unsigned)settings->timeout, &detail);
    if (handed == PD_HANDED)
        return 0;
    pd_text_add(&d->why, d->is_last
                             ? "the last profile was not delivered: "
                             : "a profile was not delivered; the next one will have its events: ");
    add_failure(&d->why, handed, detail);
    return d->is_last ? to_directory(p, d) : -1;
}

static int deliver(void *cookie, const void *data, size_t len)
{
    profile p = {data, len};
    return pd_the_agent.settings.command ? to_command(&p, cookie) : to_file(&p, cookie);
}

static pprofdelta_status write_batch(pprofdelta_heap *heap, delivery *d, pprofdelta_error *err)
{
    const pprofdelta_sink sink = {deliver, d};
    const pprofdelta_heap_inuse inuse =
        pd_the_agent.settings.snapshot ? PPROFDELTA_HEAP_SNAPSHOT : PPROFDELTA_HEAP_CHANGES;
    pprofdelta_status status = pprofdelta_heap_write(heap, inuse, &sink, err);
    pd_function_names_close();
    return status;
}

/* Leaves out the names of functions if memory is short. */
static pprofdelta_status write_with_fallback(pprofdelta_heap *heap, delivery *d,
                                             pprofdelta_error *err)
{
    pd_reserve_allow(true);
    pprofdelta_status status = write_batch(heap, d, err);
    if (status == PPROFDELTA_E_MEMORY) {
        pd_function_names_omit(true);
        status = write_batch(heap, d, err);
        pd_function_names_omit(false);
    }
    pd_reserve_allow(false);
    return status;
}

typedef enum occasion { TIMED, ASKED, LAST } occasion;

/* Did neither the heap nor the mappings change? Nothing is lost if the window is not written: the
 * next one begins where the last one that was written ends. At the end of a program only its heap
 * counts, so that programs without a sample leave nothing. */
static bool is_empty(pprofdelta_heap *heap, occasion why)
{
    pprofdelta_heap_stats stats = {.size = sizeof stats};
    pprofdelta_heap_describe(heap, &stats);
    return !stats.changed && !(pd_the_agent.settings.snapshot && stats.live) &&
           (why == LAST || pd_mappings_changes() == delivered_changes) && !atomic_load(&has_failed);
}

static void send_window(pprofdelta_heap *heap, occasion why)
{
    const bool is_last = why == LAST;
    if (why != ASKED && is_empty(heap, why))
        return;
    pprofdelta_error err;
    uint64_t changes = pd_mappings_changes();
    delivery d = {.is_last = is_last};
    if (pprofdelta_heap_begin(heap, pd_now(), NULL, &err) != PPROFDELTA_OK)
        return;
    pd_account_add(heap, is_last);
    pprofdelta_status status = write_with_fallback(heap, &d, &err);
    atomic_store(&has_failed, status != PPROFDELTA_OK);
    if (status == PPROFDELTA_OK) {
        pprofdelta_heap_commit(heap);
        delivered_changes = changes;
        pd_largest_sites_allow();
    } else {
        pprofdelta_heap_abandon(heap);
        if (!d.why.len)
            pd_text_add(&d.why, "%s: %s",
                        is_last ? "the last profile could not be made and is lost"
                                : "a profile could not be made; the next one will have its events",
                        err.text);
    }
    pd_account_done();
    if (d.why.len)
        pd_notice_send(is_last ? PD_NOTICE_LAST : PD_NOTICE_OUTPUT, &d.why);
}

static bool deliver_window(unsigned milliseconds, occasion why)
{
    pprofdelta_heap *heap = atomic_load(&pd_the_agent.heap);
    if (!heap)
        return false;
    while (atomic_exchange(&is_busy, 1))
        if (!pd_await_change(&is_busy, 1, milliseconds))
            return false;
    send_window(heap, why);
    return true;
}

bool pd_delivery_send(bool is_asked)
{
    return deliver_window(0, is_asked ? ASKED : TIMED);
}

bool pd_delivery_send_last(void)
{
    return deliver_window(pd_delivery_max_millis(), LAST);
}

void pd_delivery_release(void)
{
    atomic_store(&is_busy, 0);
}

void pd_delivery_forget(void)
{
    pd_delivery_release();
    atomic_store(&has_failed, false);
    pd_largest_sites_allow();
}
