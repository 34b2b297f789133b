#include "parsed/ahead.h"

void pd_ahead_begin(pd_ahead *ahead, pprofdelta *pd)
{
    uint64_t share = (pd->mem.limit - pd->mem.used) / 2;
    *ahead = (pd_ahead){.numbers = &pd->numbers};
    pd_mem_init(&ahead->mem, &pd->mem.allocator, share);
    pd->mem.limit -= share;
}

pprofdelta_status pd_ahead_open(pd_ahead *a, const void *bytes, size_t len)
{
    pd_look *look = &a->look;
    pd_bytes raw;
    pprofdelta_status status =
        pd_inflate(&a->inflater, &a->mem, bytes, len, &look->inflated, &raw, NULL);
    if (!status)
        status = pd_tables_parse(&look->tables, &a->mem, raw, NULL);
    return status;
}

bool pd_ahead_borrows(const pd_ahead *a)
{
    return a->look.tables.bytes.ptr != a->look.inflated.ptr;
}

pprofdelta_status pd_ahead_feed(pd_ahead *a)
{
    return pd_feed_begin(&a->feed, &a->look.tables, a->numbers, &a->mem);
}

void pd_ahead_read(pd_ahead *a)
{
    pd_feed_read(&a->feed);
}

void pd_ahead_stop(pd_ahead *a)
{
    pd_feed_end(&a->feed);
}

/* What the ahead holds counts as the context's from here on, and it has its limit back. */
void pd_ahead_adopt(pprofdelta *pd, pd_ahead *a)
{
    pd_feed_settle(&a->feed);
    pd_look_release(&pd->cur, &pd->mem);
    pd->cur = a->look;
    memset(&a->look, 0, sizeof a->look);
    pd->mem.limit += a->mem.limit;
    pd->mem.used += a->mem.used;
    if (pd->mem.used > pd->mem.peak)
        pd->mem.peak = pd->mem.used;
    a->mem.used = a->mem.limit = 0; /* nothing is lent any more */
    pd_look_name_columns(&pd->cur);
}

bool pd_ahead_add_samples(pprofdelta *pd, pd_ahead *a, pprofdelta_status *status,
                          pprofdelta_error *err)
{
    pd_look *cur = &pd->cur;
    const pd_tables *t = &cur->tables;
    pd_sample_reader reader = {.parse = {.mem = &pd->mem, .err = err, .zero = t->bytes.ptr},
                               .tables = t,
                               .numbers = a->numbers,
                               .columns = &cur->columns};
    pd_reader top =
        pd_reader_of(t->bytes.ptr + t->samples_off, t->bytes.len - (size_t)t->samples_off);
    pd_feed_taker taker;
    const pd_sample_keys *keys;
    pd_feed_taker_begin(&taker, &a->feed);
    while (!*status && (keys = pd_feed_take(&taker)))
        *status = pd_samples_meet(&reader, &top, keys, (pd_sample_taker){.window = &cur->window});
    pd_feed_end(&a->feed);
    cur->tables.sample_unknown_fields = a->feed.unknown_fields;
    return !a->feed.failed;
}

pprofdelta_status pd_ahead_window(pprofdelta *pd, pd_ahead *a, const pprofdelta_sink *sink,
                                  pprofdelta_report *report, pprofdelta_error *err)
{
    pd_source source = {.ahead = a};
    pprofdelta_status status = pd_window_of(pd, &source, sink, report, err);
    pd_feed_end(&a->feed);
    return status;
}

void pd_ahead_end(pd_ahead *a, pprofdelta *pd)
{
    bool is_adopted = a->mem.limit == 0;
    pd_mem *mem = is_adopted ? &pd->mem : &a->mem;
    pd_feed_release(&a->feed, mem);
    pd_look_release(&a->look, mem);
    pd_inflater_fini(&a->inflater);
    pd->mem.limit += a->mem.limit;
    a->mem.limit = 0;
}
