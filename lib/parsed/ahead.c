#include "parsed/ahead.h"

void pd_ahead_begin(pd_ahead *ahead, pprofdelta *pd)
{
    uint64_t share = (pd->mem.limit - pd->mem.used) / 2;
    *ahead = (pd_ahead){.numbers = &pd->numbers};
    pd_mem_init(&ahead->mem, &pd->mem.allocator, share);
    pd->mem.limit -= share;
}

static pprofdelta_status reserve_rows(pd_ahead *a)
{
    pd_sample_rows *rows = &a->rows;
    size_t need = a->look.tables.samples, values;
    rows->len = 0;
    rows->stride = a->look.tables.types_len;
    if (__builtin_mul_overflow(need, rows->stride, &values))
        values = SIZE_MAX;
    pprofdelta_status status =
        pd_mem_reserve(&a->mem, &rows->keys, &rows->keys_cap, need, sizeof *rows->keys, NULL);
    if (!status)
        status = pd_mem_reserve(&a->mem, &rows->origins, &rows->origins_cap, need,
                                sizeof *rows->origins, NULL);
    if (!status)
        status = pd_mem_reserve(&a->mem, &rows->values, &rows->values_cap, values,
                                sizeof *rows->values, NULL);
    return status;
}

static void release_rows(pd_sample_rows *rows, pd_mem *mem)
{
    pd_mem_release(mem, &rows->keys, &rows->keys_cap, sizeof *rows->keys);
    pd_mem_release(mem, &rows->origins, &rows->origins_cap, sizeof *rows->origins);
    pd_mem_release(mem, &rows->values, &rows->values_cap, sizeof *rows->values);
    *rows = (pd_sample_rows){0};
}

pprofdelta_status pd_ahead_read(pd_ahead *a, const void *bytes, size_t len)
{
    pd_look *look = &a->look;
    pd_bytes raw;
    pprofdelta_status status =
        pd_inflate(&a->inflater, &a->mem, bytes, len, &look->inflated, &raw, NULL);
    if (!status)
        status = pd_tables_parse(&look->tables, &a->mem, raw, NULL);
    if (!status)
        status = reserve_rows(a);
    if (status)
        return status;
    pd_columns as_they_come = {.len = look->tables.types_len};
    for (size_t i = 0; i < as_they_come.len; i++)
        as_they_come.slot[i] = (uint8_t)i;
    return pd_samples_read(&look->tables, a->numbers, &as_they_come,
                           (pd_sample_taker){.rows = &a->rows}, &a->mem, NULL);
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

pprofdelta_status pd_ahead_add_rows(pprofdelta *pd, const pd_ahead *a, pprofdelta_error *err)
{
    pd_window *window = &pd->cur.window;
    const pd_columns *columns = &pd->cur.columns;
    const pd_sample_rows *rows = &a->rows;
    int64_t values[PPROFDELTA_MAX_TYPES] = {0};
    pprofdelta_status status = PPROFDELTA_OK;
    for (size_t row = 0; row < rows->len && !status; row++) {
        for (size_t i = 0; i < rows->stride; i++)
            values[columns->slot[i]] = rows->values[row * rows->stride + i];
        status = pd_window_add(window, &pd->mem, rows->keys[row], rows->origins[row], values, err);
    }
    return status;
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
    release_rows(&a->rows, mem);
    pd_look_release(&a->look, mem);
    pd_inflater_fini(&a->inflater);
    pd->mem.limit += a->mem.limit;
    a->mem.limit = 0;
}
