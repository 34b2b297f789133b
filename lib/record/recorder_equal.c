/* Adds up samples whose stacks and labels look the same in the profile.
 *
 * Records are identified by their program counters, and two program counters may be one place: an
 * interpreter has several numbers for a line, a compiler several instructions. With addresses these
 * are two locations, and the samples differ. Places that are identified by their lines are one
 * location; samples that differ in nothing else are added up, in the place of the first one. */
#include "profile/identity.h"
#include "record/recorder.h"

/* The key of a sample as it is written. */
static pd_key key_of(const pprofdelta_recorder *r, const pd_stack_numbers *numbers,
                     const pd_emitted *e)
{
    pd_arena_row kept;
    pd_identity identity = {0};
    for (size_t i = 0; i < e->depth; i++)
        pd_identity_place(&identity, numbers,
                          r->symbols.places[r->frames[e->frames_first + i]].ident);
    const uint8_t *at = pd_recorder_labels(r, e->row, &kept);
    const pd_bytes bytes = pd_bytes_of("bytes");
    const pd_label_parts block_size = {.key = bytes, .num = kept.block_size, .num_unit = bytes};
    for (size_t i = 0; i < kept.labels_len; i++) {
        pd_label_parts l = pd_recorder_take_label(&at);
        pd_identity_label(&identity, pd_label_parts_key(&l));
    }
    if (kept.block_size)
        pd_identity_label(&identity, pd_label_parts_key(&block_size));
    return pd_identity_key(&identity);
}

static int64_t *values_of(const pprofdelta_recorder *r, size_t nth)
{
    return r->values + nth * r->columns.len;
}

static void add_to(const pprofdelta_recorder *r, size_t to, size_t from)
{
    int64_t *sums = values_of(r, to);
    const int64_t *values = values_of(r, from);
    for (size_t i = 0; i < r->columns.len; i++)
        sums[i] = (int64_t)((uint64_t)sums[i] + (uint64_t)values[i]);
}

static void move(pprofdelta_recorder *r, size_t to, size_t from)
{
    if (to == from)
        return;
    r->emitted[to] = r->emitted[from];
    memcpy(values_of(r, to), values_of(r, from), r->columns.len * sizeof *r->values);
}

/* Values below zero may have made a sum zero. */
static void drop_zeros(pprofdelta_recorder *r)
{
    size_t kept = 0;
    for (size_t nth = 0; nth < r->emitted_len; nth++)
        if (pd_compact_has_value(values_of(r, nth), r->columns.len))
            move(r, kept++, nth);
    r->emitted_len = kept;
}

pprofdelta_status pd_recorder_add_up_equal(pprofdelta_recorder *r, pprofdelta_error *err)
{
    size_t kept = 0; /* also the number of keys in r->shown */
    pd_stack_numbers numbers;
    pd_stack_numbers_init(&numbers);
    pd_keymap_clear(&r->shown);
    for (size_t nth = 0; nth < r->emitted_len; nth++) {
        pd_key key = key_of(r, &numbers, &r->emitted[nth]);
        uint32_t first = pd_keymap_find(&r->shown, key);
        if (first != PD_KEYMAP_NONE) {
            add_to(r, first, nth);
            continue;
        }
        pprofdelta_status status = pd_keymap_room(&r->shown, &r->mem, key, err);
        if (status)
            return status;
        pd_keymap_add(&r->shown, key);
        move(r, kept++, nth);
    }
    r->emitted_len = kept;
    drop_zeros(r);
    return PPROFDELTA_OK;
}
