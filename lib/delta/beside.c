#include "delta/beside.h"

/* Without memory for the keys of all samples, the thread that makes the window finds them out. */
static pprofdelta_status read_keys(pd_beside *b)
{
    pd_look *look = &b->look;
    pd_sample_keys *keys = &b->keys;
    keys->len = 0;
    if (pd_mem_reserve(&b->mem, &keys->keys, &keys->cap, look->tables.samples, sizeof *keys->keys,
                       NULL))
        return PPROFDELTA_OK;
    look->columns = (pd_columns){.len = look->tables.types_len};
    return pd_look_samples(look, (pd_sample_taker){.keys = keys}, NULL);
}

static void read_profile(void *arg)
{
    pd_beside *b = arg;
    b->status = pd_look_parse(&b->look, &b->reading, NULL);
    if (!b->status)
        b->status = read_keys(b);
}

void pd_beside_begin(pd_beside *b, pd_mem *mem, const pd_stack_numbers *numbers,
                     const pd_reading *reading)
{
    uint64_t share = pd_mem_left(mem) / 2;
    *b = (pd_beside){.reading = *reading};
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
    return true;
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
