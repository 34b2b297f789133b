/* fuzz_delta's mutator: the two profiles of a pair are changed each for itself, with pieces of the
 * other, or made alike; what is done with them is changed now and then (see pair.h). */
#include "mutate_message.h"
#include "pair.h"

#include <string.h>

typedef struct draft {
    rng rng;
    arena arena;
    uint8_t header[PAIR_HEADER];
    buf prev, cur;
} draft;

static buf copy(draft *d, pd_bytes bytes)
{
    buf b = buf_begin(&d->arena);
    buf_add(&b, bytes.ptr, bytes.len);
    return b;
}

static void draft_begin(draft *d, const pair *in, unsigned seed)
{
    *d = (draft){.rng = {seed}};
    memcpy(d->header, in->header, sizeof d->header);
    d->prev = copy(d, in->prev);
    d->cur = copy(d, in->cur);
}

/* Several times over, for a difference that takes more than one step. */
static void change(draft *d, buf *which, buf donor)
{
    for (size_t times = 1 + rng_below(&d->rng, 3); times; times--)
        *which = mutate_message(&d->rng, &d->arena, *which, donor);
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
    arena_free(&d->arena);
    return size;
}

/* Both in the same way: what stays alike is subtracted, not refused. */
static void change_both(draft *d)
{
    rng again = d->rng;
    change(d, &d->prev, (buf){0});
    d->rng = again;
    change(d, &d->cur, (buf){0});
}

static void swap(draft *d)
{
    buf kept = d->prev;
    d->prev = d->cur;
    d->cur = kept;
}

static void mutate(draft *d)
{
    size_t of_16 = rng_below(&d->rng, 16);
    if (of_16 == 3 || of_16 == 4)
        d->cur = d->prev;
    if (of_16 < 2)
        LLVMFuzzerMutate(d->header, PAIR_LEN, PAIR_LEN);
    else if (of_16 < 3)
        swap(d);
    else if (of_16 == 5 || of_16 == 6)
        change_both(d);
    else if (of_16 >= 7 && of_16 < 10)
        change(d, &d->prev, d->cur);
    else
        change(d, &d->cur, d->prev);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    pair in;
    if (!pair_split(data, size, &in))
        return LLVMFuzzerMutate(data, size, max_size);
    draft d;
    draft_begin(&d, &in, seed);
    if (rng_below(&d.rng, 24)) {
        mutate(&d);
        return finish(&d, data, size, max_size);
    }
    finish(&d, data, size, 0);
    return LLVMFuzzerMutate(data, size, max_size);
}
