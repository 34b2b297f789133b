/* Reading cur ahead: in another thread, while the first makes prev the base or loads the state.
 *
 *     another thread    open: inflate, tables -> READY -> samples (feed.h) -> warm, READ -> relay
 *     the first         base ...              -> READY -> samples, by turns -> window, READ -> pack
 *
 * Nearly all that cur costs does not depend on prev: inflating, the tables, hashing every stack. An
 * ahead does that with nothing of the context but what never changes, so that it may run beside any
 * call that is not a window. It finds out who the samples are; the window then takes the look over,
 * reads their values, and meets them with the ledger one after the other. Last the other thread
 * gets the deflater ready, which nobody uses before that is done, and compresses the delta while it
 * is being written (relay.h).
 *
 * An ahead that fails says only that: the caller goes the ordinary way, which finds out why. */
#include "base/monitor.h"
#include "parsed/context.h"
#include "parsed/feed.h"

/* What the other thread has come to. */
typedef enum pd_stage {
    AT_WORK,
    READY, /* there can be a window, or it is known that there is none; it goes on with samples */
    READ   /* of what the window reads, and of the deflater, it uses nothing any more */
} pd_stage;

struct pprofdelta_ahead {
    pprofdelta *pd;
    pd_mem mem; /* what is lent of the context's; nothing once the window has adopted it */
    pd_inflater inflater;
    pd_look look; /* inflated bytes and tables */
    pd_feed feed;
    bool is_open; /* the tables are there */
    bool is_fed;  /* ... and the feed has begun: set before READY */
    bool is_adopted;
    pd_monitor monitor;
    /* These belong to who is inside the monitor. */
    pd_stage progress;
    bool is_stopped;
};

/* Half of what the context has left is lent until the end. */
pprofdelta_status pprofdelta_ahead_new(pprofdelta *pd, pprofdelta_ahead **out,
                                       pprofdelta_error *err)
{
    pprofdelta_ahead *a = NULL;
    size_t none = 0;
    if (pd->ahead || pd->pack)
        return pd_refuse(err, "an ahead or a pack of this context is there: free it first");
    pprofdelta_status status = pd_mem_reserve(&pd->mem, &a, &none, 1, sizeof *a, err);
    if (status)
        return status;
    *a = (pprofdelta_ahead){.pd = pd};
    pd->ahead = a;
    status = pd_relay_begin(&pd->relay, &pd->deflater, &pd->mem, err);
    uint64_t share = pd_mem_left(&pd->mem) / 2;
    pd_mem_init(&a->mem, &pd->mem.allocator, share);
    pd->mem.limit -= share;
    if (!status)
        status = pd_monitor_init(&a->monitor, err);
    if (status)
        pprofdelta_ahead_free(a);
    else
        *out = a;
    return status;
}

int pprofdelta_ahead_open(pprofdelta_ahead *a, const void *bytes, size_t len)
{
    pd_look *look = &a->look;
    pd_bytes raw;
    if (!bytes || pd_inflate(&a->inflater, &a->mem, bytes, len, &look->inflated, &raw, NULL))
        return false;
    a->is_open = !pd_tables_parse(&look->tables, &a->mem, raw, NULL);
    return a->is_open && raw.ptr == bytes;
}

/* Is it wanted that the other thread goes on? */
static bool come_to(pprofdelta_ahead *a, pd_stage stage)
{
    pd_monitor_enter(&a->monitor);
    bool is_wanted = !a->is_stopped;
    a->progress = stage;
    pd_monitor_tell(&a->monitor);
    pd_monitor_leave(&a->monitor);
    return is_wanted;
}

void pprofdelta_ahead_read(pprofdelta_ahead *a)
{
    a->is_fed = a->is_open && !pd_feed_begin(&a->feed, &a->look.tables, &a->pd->numbers, &a->mem);
    if (a->is_fed && come_to(a, READY))
        pd_feed_read(&a->feed);
    pd_deflate_warm(&a->pd->deflater);
    come_to(a, READ);
    if (!a->is_fed)
        return;
    pd_relay_warm(&a->pd->relay);
    pd_relay_help(&a->pd->relay);
}

static void wait_for(pprofdelta_ahead *a, pd_stage stage)
{
    pd_monitor_enter(&a->monitor);
    while (a->progress < stage)
        pd_monitor_wait(&a->monitor);
    pd_monitor_leave(&a->monitor);
}

/* Nobody reads any more. */
static void end_reading(pprofdelta_ahead *a)
{
    pd_monitor_enter(&a->monitor);
    a->is_stopped = true;
    bool is_feeding = a->progress >= READY;
    pd_monitor_leave(&a->monitor);
    if (is_feeding)
        pd_feed_end(&a->feed);
}

void pprofdelta_ahead_stop(pprofdelta_ahead *a)
{
    end_reading(a);
    pd_relay_stop(&a->pd->relay);
}

/* What the ahead holds counts as the context's from here on, and it has its limit back. */
void pd_ahead_adopt(pprofdelta *pd, pprofdelta_ahead *a)
{
    pd_feed_settle(&a->feed);
    pd_look_release(&pd->cur, &pd->mem);
    pd->cur = a->look;
    memset(&a->look, 0, sizeof a->look);
    a->is_adopted = true;
    pd->mem.limit += a->mem.limit;
    pd->mem.used += a->mem.used;
    if (pd->mem.used > pd->mem.peak)
        pd->mem.peak = pd->mem.used;
    a->mem.used = a->mem.limit = 0; /* nothing is lent any more */
    pd_look_name_columns(&pd->cur);
}

void pd_ahead_forgo_samples(pprofdelta_ahead *a)
{
    pd_feed_end(&a->feed);
}

bool pd_ahead_add_samples(pprofdelta *pd, pprofdelta_ahead *a, pprofdelta_status *status,
                          pprofdelta_error *err)
{
    pd_look *cur = &pd->cur;
    const pd_tables *t = &cur->tables;
    pd_sample_reader reader = {.parse = {.mem = &pd->mem, .err = err, .zero = t->bytes.ptr},
                               .tables = t,
                               .numbers = &pd->numbers,
                               .columns = &cur->columns};
    pd_reader top =
        pd_reader_of(t->bytes.ptr + t->samples_off, t->bytes.len - (size_t)t->samples_off);
    pd_feed_taker taker;
    const pd_sample_keys *keys;
    size_t taken = 0;
    pd_feed_taker_begin(&taker, &a->feed);
    while (!*status && (keys = pd_feed_take(&taker))) {
        taken += keys->len;
        *status = pd_samples_meet(&reader, &top, keys, (pd_sample_taker){.window = &cur->window});
    }
    pd_feed_end(&a->feed);
    cur->tables.sample_unknown_fields = a->feed.unknown_fields;
    return *status || taken == t->samples;
}

/* The window of what was read ahead, without an error where it was not. */
static pprofdelta_status make_window(pprofdelta_ahead *a, pprofdelta_report *report,
                                     pprofdelta_error *err)
{
    pd_source source = {.ahead = a};
    wait_for(a, READY);
    return a->is_fed && !a->pd->naming.is_set ? pd_window_of(a->pd, &source, NULL, report, err)
                                              : PPROFDELTA_E_AHEAD;
}

pprofdelta_status pprofdelta_ahead_window(pprofdelta_ahead *a, pprofdelta_pack **out,
                                          pprofdelta_report *report, pprofdelta_error *err)
{
    pprofdelta_report told;
    if (a->is_adopted)
        return pd_refuse(err,
                         "what was read ahead has been used: pprofdelta_ahead_free comes next");
    pprofdelta_status status = make_window(a, report ? &told : NULL, err);
    end_reading(a);
    wait_for(a, READ);
    if (!status)
        status = pd_pack_begin(a->pd, out, err);
    if (status)
        pd_relay_stop(&a->pd->relay);
    if (!status && report)
        *report = told;
    if (status == PPROFDELTA_E_LIMIT || status == PPROFDELTA_E_AHEAD)
        return pd_fail(err, PPROFDELTA_E_AHEAD, "ahead", NULL, PPROFDELTA_NOWHERE,
                       PPROFDELTA_NOWHERE, "the profile could not be read ahead");
    return status;
}

void pprofdelta_ahead_free(pprofdelta_ahead *a)
{
    if (!a)
        return;
    pprofdelta *pd = a->pd;
    pd_mem *mem = a->is_adopted ? &pd->mem : &a->mem;
    size_t one = 1;
    pd_feed_release(&a->feed, mem);
    pd_look_release(&a->look, mem);
    pd_inflater_fini(&a->inflater);
    pd_monitor_fini(&a->monitor);
    pd->mem.limit += a->mem.limit;
    pd->ahead = NULL;
    pd_pack_leave(pd);
    pd_mem_release(&pd->mem, &a, &one, sizeof *a);
}
