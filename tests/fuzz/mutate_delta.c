/* fuzz_delta's mutator: the two profiles of a pair are changed each for itself, with pieces of the
 * other, or made alike; what is done with them is changed now and then (see pair.h). */
#include "mutate_profile.h"
#include "pair.h"

#include <string.h>

typedef struct draft {
    dice dice;
    pd_mem mem;
    uint8_t header[PAIR_HEADER];
    pd_buffer prev, cur;
} draft;

static void fill(draft *d, pd_buffer *buffer, pd_bytes bytes)
{
    buffer->len = 0;
    if (pd_buffer_room(&d->mem, buffer, bytes.len + 1, NULL))
        return;
    if (bytes.len)
        memcpy(buffer->ptr, bytes.ptr, bytes.len);
    buffer->len = bytes.len;
}

static pd_bytes bytes_of(const pd_buffer *buffer)
{
    return (pd_bytes){buffer->ptr, buffer->len};
}

static draft draft_of(const pair *in, unsigned seed)
{
    draft d = {.dice = {seed}};
    pd_mem_init(&d.mem, NULL, UINT64_MAX);
    memcpy(d.header, in->header, sizeof d.header);
    fill(&d, &d.prev, in->prev);
    fill(&d, &d.cur, in->cur);
    return d;
}

/* Several times over, for a difference that takes more than one step. */
static void change(draft *d, pd_buffer *which, pd_bytes donor)
{
    for (size_t times = 1 + dice_below(&d->dice, 3); times; times--) {
        pd_buffer out = {0};
        mutate_profile(&d->dice, &d->mem, bytes_of(which), donor, &out);
        fill(d, which, bytes_of(&out));
        pd_buffer_release(&d->mem, &out);
    }
}

/* The pair, written to data; `size` bytes that stand there already stay where it does not fit. */
static size_t finish(draft *d, uint8_t *data, size_t size, size_t max_size)
{
    size_t len = PAIR_HEADER + d->prev.len + d->cur.len;
    if (len <= max_size) {
        pair_set_len(d->header, d->prev.len);
        memcpy(data, d->header, PAIR_HEADER);
        memcpy(data + PAIR_HEADER, d->prev.ptr, d->prev.len);
        memcpy(data + PAIR_HEADER + d->prev.len, d->cur.ptr, d->cur.len);
        size = len;
    }
    pd_buffer_release(&d->mem, &d->prev);
    pd_buffer_release(&d->mem, &d->cur);
    return size;
}

/* Both in the same way: what stays alike is subtracted, not refused. */
static void change_both(draft *d)
{
    dice again = d->dice;
    change(d, &d->prev, (pd_bytes){0});
    d->dice = again;
    change(d, &d->cur, (pd_bytes){0});
}

static void swap(draft *d)
{
    pd_buffer kept = d->prev;
    d->prev = d->cur;
    d->cur = kept;
}

static void mutate(draft *d)
{
    switch (dice_below(&d->dice, 16)) {
    case 0:
    case 1:
        LLVMFuzzerMutate(d->header, PAIR_LEN, PAIR_LEN);
        break;
    case 2:
        swap(d);
        break;
    case 3:
    case 4:
        fill(d, &d->cur, bytes_of(&d->prev));
        change(d, &d->cur, bytes_of(&d->prev));
        break;
    case 5:
    case 6:
        change_both(d);
        break;
    case 7:
    case 8:
    case 9:
        change(d, &d->prev, bytes_of(&d->cur));
        break;
    default:
        change(d, &d->cur, bytes_of(&d->prev));
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    pair in;
    if (!pair_split(data, size, &in))
        return LLVMFuzzerMutate(data, size, max_size);
    draft d = draft_of(&in, seed);
    if (dice_below(&d.dice, 24)) {
        mutate(&d);
        return finish(&d, data, size, max_size);
    }
    finish(&d, data, size, 0);
    return LLVMFuzzerMutate(data, size, max_size);
}

/* One profile of each pair. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len,
                                 uint8_t *out, size_t max_size, unsigned seed)
{
    pair one, other;
    if (!pair_split(a, a_len, &one) || !pair_split(b, b_len, &other))
        return 0;
    draft d = draft_of(&one, seed);
    pd_bytes taken = dice_below(&d.dice, 2) ? other.cur : other.prev;
    if (dice_below(&d.dice, 2))
        change(&d, &d.cur, taken);
    else
        fill(&d, &d.cur, taken);
    return finish(&d, out, 0, max_size);
}
