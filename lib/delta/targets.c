#include "delta/targets.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define PREFIX "pprofdelta: targets"

enum { WORD = 17 }; /* a space and 16 digits */

static pd_key key_of(const pd_target *target)
{
    return pd_key_of_words((uint64_t[]){target->number, target->is_merge}, 2, 0);
}

/* ---- the profile in hand --------------------------------------------------------------------- */

static pprofdelta_status take_target(pd_targets *t, pd_mem *mem, pd_target target,
                                     pprofdelta_error *err)
{
    PD_TRY(PD_GROW(mem, t->now, t->now_len + 1, err));
    t->now[t->now_len++] = target;
    return PPROFDELTA_OK;
}

/* Takes the list of a merge. */
static pprofdelta_status take_list(pd_targets *t, pd_mem *mem, const pd_tables *tables,
                                   uint64_t profile, pprofdelta_error *err)
{
    pd_bytes rest = {0};
    for (size_t i = 0; i < tables->comments_len && !rest.len; i++) {
        pd_bytes comment = tables->strings[tables->comments[i].index];
        if (pd_bytes_begin(comment, PREFIX " "))
            rest = pd_bytes_behind(comment, sizeof PREFIX);
    }
    bool is_valid = rest.len != 0;
    while (rest.len && is_valid) {
        pd_bytes word = pd_bytes_take_word(&rest, " ");
        pd_target listed = {.profile = profile};
        is_valid = pd_bytes_take_number(&word, 16, UINT64_MAX, &listed.number) && !word.len;
        PD_TRY(take_target(t, mem, listed, err));
    }
    return is_valid ? PPROFDELTA_OK
                    : PD_FAIL(err, PPROFDELTA_E_MISMATCH, PPROFDELTA_STAGE_SUM, "comment",
                              "it is a merge without a valid list of its targets");
}

pprofdelta_status pd_targets_take(pd_targets *t, pd_mem *mem, const pd_tables *tables,
                                  pd_target own, pprofdelta_error *err)
{
    t->now_len = 0;
    PD_TRY(take_target(t, mem, own, err));
    if (own.is_merge)
        PD_TRY(take_list(t, mem, tables, own.profile, err));
    size_t need = t->seen.len + t->now_len;
    PD_TRY(PD_GROW(mem, t->list, need, err));
    return need <= t->seen.cap ? PPROFDELTA_OK
                               : pd_keymap_reserve(&t->seen, mem, pd_mem_roomy(mem, need), err);
}

const pd_target *pd_targets_common(const pd_targets *t)
{
    for (size_t i = 0; i < t->now_len; i++) {
        uint32_t found = pd_keymap_find(&t->seen, key_of(&t->now[i]));
        if (found != PD_KEYMAP_NONE)
            return &t->list[found];
    }
    return NULL;
}

void pd_targets_add(pd_targets *t)
{
    for (size_t i = 0; i < t->now_len; i++) {
        size_t len = t->seen.len;
        if (pd_keymap_add(&t->seen, key_of(&t->now[i])) == len)
            t->list[len] = t->now[i];
    }
}

/* ---- the output ------------------------------------------------------------------------------ */

/* The highest number first, and merges, which are not listed, last. */
static int by_number(const void *left, const void *right)
{
    const pd_target *a = left, *b = right;
    if (a->is_merge != b->is_merge)
        return a->is_merge ? 1 : -1;
    return (a->number < b->number) - (a->number > b->number);
}

uint64_t pd_targets_write(pd_targets *t, pd_model *model)
{
    char text[sizeof PREFIX + (size_t)PD_TARGETS_LISTED * WORD] = PREFIX;
    size_t len = sizeof PREFIX - 1;
    qsort(t->list, t->seen.len, sizeof *t->list, by_number);
    for (size_t i = 0; i < t->seen.len && i < PD_TARGETS_LISTED && !t->list[i].is_merge; i++)
        len += (size_t)snprintf(text + len, WORD + 1, " %016" PRIx64, t->list[i].number);
    pd_model_add_comment(model, pd_model_string(model, pd_bytes_of(text)));
    return t->list->number;
}
