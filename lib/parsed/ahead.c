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

pprofdelta_status pd_ahead_read(pd_ahead *a)
{
    pd_look *look = &a->look;
    a->keys.len = 0;
    pprofdelta_status status = pd_mem_reserve(&a->mem, &a->keys.keys, &a->keys.cap,
                                              look->tables.samples, sizeof *a->keys.keys, NULL);
    if (status)
        return status;
    pd_columns as_they_come = {.len = look->tables.types_len};
    for (size_t i = 0; i < as_they_come.len; i++)
        as_they_come.slot[i] = (uint8_t)i;
    return pd_samples_read(&look->tables, a->numbers, &as_they_come,
                           (pd_sample_taker){.keys = &a->keys}, &a->mem, NULL);
}

/* What the ahead holds counts as the context's from here on, and it has its limit back. */
void pd_ahead_adopt(pprofdelta *pd, pd_ahead *a)
{
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

pprofdelta_status pd_ahead_add_samples(pprofdelta *pd, const pd_ahead *a, pprofdelta_error *err)
{
    pd_look *cur = &pd->cur;
    return pd_samples_meet(&cur->tables, &pd->numbers, &cur->columns, &a->keys,
                           (pd_sample_taker){.window = &cur->window}, &pd->mem, err);
}

pprofdelta_status pd_ahead_window(pprofdelta *pd, pd_ahead *a, const pprofdelta_sink *sink,
                                  pprofdelta_report *report, pprofdelta_error *err)
{
    pd_source source = {.ahead = a};
    return pd_window_of(pd, &source, sink, report, err);
}

void pd_ahead_end(pd_ahead *a, pprofdelta *pd)
{
    bool is_adopted = a->mem.limit == 0;
    pd_mem *mem = is_adopted ? &pd->mem : &a->mem;
    pd_mem_release(mem, &a->keys.keys, &a->keys.cap, sizeof *a->keys.keys);
    a->keys.len = 0;
    pd_look_release(&a->look, mem);
    pd_inflater_fini(&a->inflater);
    pd->mem.limit += a->mem.limit;
    a->mem.limit = 0;
}
