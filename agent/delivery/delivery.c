/* Delivers a profile of one window: see delivery.h. */
#include "agent/delivery/delivery.h"

#include "agent/account/account.h"
#include "agent/base/agent.h"
#include "agent/stacks/stacks.h"
#include "agent/base/reserve.h"

static PD_OF_PROCESS _Atomic int is_busy;    /* a thread delivers */
static PD_OF_PROCESS atomic_bool has_failed; /* what the last delivery had is not delivered yet */
static uint64_t delivered_changes;           /* of the mappings; of the thread that delivers */

unsigned pd_delivery_max_millis(void)
{
    enum { FILE_MILLIS = 10000, SLACK_MILLIS = 1000 };
    return pd_given.command ? (unsigned)pd_given.timeout * 1000 + SLACK_MILLIS : FILE_MILLIS;
}

/* One delivery, and the message about its failure. */
typedef struct delivery {
    bool is_last;
    const void *data; /* the profile */
    size_t len;
    pd_fixed_text why;
} delivery;

static int write_profile(int fd, void *cookie)
{
    const delivery *d = cookie;
    return pd_write_all(fd, d->data, d->len);
}

/* Begins the message about a failure: the reason follows. */
static void explain(delivery *d, const char *what, const char *fate_of_last)
{
    if (d->is_last)
        pd_text_add(&d->why, "the last profile %s%s: ", what, fate_of_last);
    else
        pd_text_add(&d->why, "a profile %s; the next one will have its events: ", what);
}

static bool to_file(delivery *d)
{
    uint64_t number;
    pd_fixed_text where = {.len = 0};
    int error = pd_spool_write(pd_settings_ending(&pd_given), write_profile, d, &number, &where);
    if (error) {
        pd_summary_lost(error);
        pd_live_fit(); /* it may make room for the next profile */
        pd_text_add(&d->why, "%s: ", pd_given.dir);
        explain(d, "cannot be written", pd_live_fate());
        pd_text_add(&d->why, "%s", pd_words_of_error(error));
        return false;
    }
    atomic_store(&pd_the_agent.next_number, number + 1);
    atomic_fetch_add(&pd_the_agent.files, 1);
    pd_keep_add(&where);
    return true;
}

static bool to_command(delivery *d)
{
    explain(d, "was not delivered", "");
    if (pd_hand_over(d->data, d->len, &d->why)) {
        d->why.len = 0;
        return true;
    }
    if (d->is_last)
        pd_text_add(&d->why, "; %s",
                    pd_live_is_there() ? "pprofdelta recover can make it" : "the profile is lost");
    return false;
}

static int deliver_profile(void *cookie, const void *data, size_t len)
{
    delivery *d = cookie;
    d->data = data;
    d->len = len;
    return (pd_given.command ? to_command(d) : to_file(d)) ? 0 : -1;
}

/* What a command gets may go where the binaries are not. */
static bool has_names(const delivery *d)
{
    return atomic_load(&pd_the_agent.samples) >= PD_SAMPLES_FEW &&
           (!d->is_last || pd_given.command || !pd_agent_is_young());
}

static pprofdelta_status write_batch(pprofdelta_heap *heap, delivery *d, pprofdelta_error *err)
{
    const pprofdelta_sink sink = {.write = deliver_profile, .cookie = d};
    const pprofdelta_heap_inuse inuse =
        pd_given.snapshot ? PPROFDELTA_HEAP_SNAPSHOT : PPROFDELTA_HEAP_CHANGES;
    pd_reserve_allow(true);
    if (has_names(d))
        pd_function_names_open();
    pprofdelta_status status = pprofdelta_heap_write(heap, inuse, &sink, err);
    pd_function_names_close();
    pd_reserve_allow(false);
    return status;
}

/* Did neither the heap nor the mappings change? Nothing is lost if the window is not written: the
 * next one begins where the last one that was written ends. At the end of a program only its heap
 * counts, so that programs without a sample leave nothing. */
static bool is_empty(const pprofdelta_heap_stats *stats, pd_occasion why)
{
    return !stats->changed && !(pd_given.snapshot && stats->live) &&
           (why == PD_DELIVER_LAST || pd_mappings_changes() == delivered_changes) &&
           !atomic_load(&has_failed);
}

static void send_window(pprofdelta_heap *heap, pd_occasion why)
{
    const bool is_last = why == PD_DELIVER_LAST;
    pprofdelta_heap_stats stats = {.size = sizeof stats};
    pprofdelta_heap_describe(heap, &stats);
    if (stats.dropped_memory)
        pd_notice_print(PD_NOTICE_MISSING,
                        "samples are missing in the profiles of this process, %ju up to now: the "
                        "kernel has no memory for them, or no more mappings (vm.max_map_count)",
                        (uintmax_t)stats.dropped_memory);
    if (why != PD_DELIVER_ASKED && is_empty(&stats, why))
        return;
    pprofdelta_error err;
    uint64_t changes = pd_mappings_changes();
    delivery d = {.is_last = is_last};
    if (pprofdelta_heap_begin(heap, pd_now(), NULL, &err) != PPROFDELTA_OK)
        return;
    pd_account_add(heap, is_last);
    pprofdelta_status status = write_batch(heap, &d, &err);
    atomic_store(&has_failed, status != PPROFDELTA_OK);
    if (status == PPROFDELTA_OK) {
        pprofdelta_heap_commit(heap);
        delivered_changes = changes;
        pd_largest_sites_allow();
    } else {
        pprofdelta_heap_abandon(heap);
        if (!d.why.len) {
            explain(&d, "could not be made", pd_live_fate());
            pd_text_add(&d.why, "%s", err.text);
        }
    }
    pd_account_done();
    if (d.why.len)
        pd_notice_print(is_last ? PD_NOTICE_LAST : PD_NOTICE_OUTPUT, "%s", d.why.bytes);
}

bool pd_delivery_hold(unsigned milliseconds)
{
    if (!pd_agent_heap())
        return false;
    while (atomic_exchange(&is_busy, 1))
        if (!pd_await_change(&is_busy, 1, milliseconds))
            return false;
    return true;
}

bool pd_delivery_send(pd_occasion why)
{
    pprofdelta_heap *heap = pd_agent_heap();
    if (!pd_delivery_hold(why == PD_DELIVER_LAST ? pd_delivery_max_millis() : 0))
        return false;
    send_window(heap, why);
    return true;
}

bool pd_delivery_has_all(void)
{
    return !atomic_load(&has_failed);
}

void pd_delivery_release(void)
{
    pd_await_set(&is_busy, 0);
}
