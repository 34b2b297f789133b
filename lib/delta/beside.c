#include "delta/beside.h"

/* Without memory for keys, the thread that makes the window finds them out. */
static bool reserve_keys(pd_sample_keys *keys, pd_mem *mem, size_t samples)
{
    keys->len = 0;
    return !pd_mem_reserve(mem, &keys->keys, &keys->cap, samples, sizeof *keys->keys, NULL);
}

/* ---- the tasks --------------------------------------------------------------------------------- */

static pprofdelta_status read_all_keys(pd_beside *b)
{
    pd_look *look = &b->look;
    if (!reserve_keys(&b->keys, &b->mem, look->tables.samples))
        return PPROFDELTA_OK;
    b->keys.first = 0;
    b->keys.off = look->tables.samples_off;
    look->columns = (pd_columns){.len = look->tables.types_len};
    return pd_look_samples(look, (pd_sample_taker){.keys = &b->keys}, NULL);
}

static void read_profile(void *arg)
{
    pd_beside *b = arg;
    b->status = pd_look_parse(&b->look, &b->reading, NULL);
    if (!b->status && b->is_pair)
        b->status = read_all_keys(b);
}

static void read_keys(void *arg)
{
    pd_beside *b = arg;
    const pd_look *look = b->taken;
    pd_columns columns = {.len = look->tables.types_len};
    pd_sample_range range = {b->keys.first, b->keys.off, look->stream.whole.len};
    b->status = pd_pass_range(&look->tables, look->stream.whole, &range, look->numbers, &columns,
                              (pd_sample_taker){.keys = &b->keys}, NULL, &b->unknown_fields, NULL);
}

/* ---- this thread ------------------------------------------------------------------------------- */

void pd_beside_begin(pd_beside *b, pd_mem *mem, const pd_stack_numbers *numbers,
                     const pd_reading *reading, bool is_pair)
{
    uint64_t share = pd_mem_left(mem) / 2;
    *b = (pd_beside){.reading = *reading, .is_pair = is_pair};
    pd_mem_init(&b->mem, &mem->allocator, share);
    mem->limit -= share;
    b->look = (pd_look){.mem = &b->mem, .numbers = numbers};
    pd_task_start(&b->task, reading->runner, read_profile, b);
}

bool pd_beside_take(pd_beside *b, pd_mem *mem, pd_look *look)
{
    pd_task_wait(&b->task);
    if (b->status) {
        pd_beside_end(b, mem);
        return false;
    }
    pd_look_release(look);
    *look = b->look;
    pd_look_move(look, mem);
    b->look = (pd_look){.mem = mem};
    b->taken = look;
    return true;
}

/* The second half of the samples, for a task. */
static void start_keys(pd_beside *b)
{
    const pd_tables *t = &b->taken->tables;
    size_t half = t->marks.len / 2;
    b->keys.first = half * t->marks.stride;
    b->keys.off = t->marks.at[half];
    if (reserve_keys(&b->keys, b->taken->mem, t->samples - b->keys.first))
        pd_task_start(&b->task, b->reading.runner, read_keys, b);
}

const pd_sample_keys *pd_beside_keys(pd_beside *b)
{
    if (!b->taken || !b->taken->tables.samples)
        return NULL;
    if (!b->is_pair)
        start_keys(b);
    return b->keys.keys ? &b->keys : NULL;
}

bool pd_beside_has_keys(pd_beside *b)
{
    pd_task_wait(&b->task);
    return !b->status;
}

void pd_beside_end(pd_beside *b, pd_mem *mem)
{
    if (!b->look.mem)
        return;
    pd_task_wait(&b->task);
    pd_mem *account = b->look.mem; /* mem, if the look was taken */
    pd_look_release(&b->look);
    pd_mem_release(account, &b->keys.keys, &b->keys.cap, sizeof *b->keys.keys);
    mem->limit += account == mem ? 0 : account->limit;
    *b = (pd_beside){0};
}
