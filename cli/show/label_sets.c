/* The distinct labels of the stacks, and the distinct sets of them: see label_sets.h. */
#include "show/label_sets.h"

#include <stdlib.h>

/* ---- order -------------------------------------------------------------------------------- */

static int compare_strings(const cli_label_ref *a, int64_t x, const cli_label_ref *b, int64_t y)
{
    return cli_string_compare(cli_profile_string(a->profile, x), cli_profile_string(b->profile, y));
}

static int compare_labels(const cli_label_ref *a, const cli_label_ref *b)
{
    const Pd__View__Label *x = a->label, *y = b->label;
    int order = compare_strings(a, x->key, b, y->key);
    if (order)
        return order;
    if (!x->str != !y->str)
        return x->str ? -1 : 1;
    if (x->str)
        return compare_strings(a, x->str, b, y->str);
    if (x->num != y->num)
        return x->num < y->num ? -1 : 1;
    return compare_strings(a, x->num_unit, b, y->num_unit);
}

static int by_label(const void *a, const void *b)
{
    return compare_labels(a, b);
}

static int by_stack(const void *a, const void *b)
{
    const cli_label_ref *x = a, *y = b;
    int order = (x->stack > y->stack) - (x->stack < y->stack);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

static int compare_sets(const cli_label_set *x, const cli_label_set *y)
{
    size_t len = x->len < y->len ? x->len : y->len;
    for (size_t i = 0; i < len; i++)
        if (x->refs[i].number != y->refs[i].number)
            return x->refs[i].number < y->refs[i].number ? -1 : 1;
    return (x->len > y->len) - (x->len < y->len);
}

static int by_set(const void *a, const void *b)
{
    return compare_sets(a, b);
}

/* ---- numbers ------------------------------------------------------------------------------ */

static void collect(cli_label_sets *sets, const cli_stacks *stacks)
{
    for (size_t i = 0; i < stacks->len; i++) {
        const cli_stack *stack = &stacks->stacks[i];
        const cli_profile *profile = stacks->selections[stack->side].profile;
        for (size_t k = 0; k < stack->sample->n_label; k++)
            sets->refs[sets->refs_len++] = (cli_label_ref){profile, stack->sample->label[k], i, 0};
    }
}

static void number_labels(cli_label_sets *sets)
{
    qsort(sets->refs, sets->refs_len, sizeof *sets->refs, by_label);
    uint32_t number = 0;
    for (size_t i = 0; i < sets->refs_len; i++) {
        number += i && compare_labels(&sets->refs[i - 1], &sets->refs[i]) != 0;
        sets->refs[i].number = number;
    }
    qsort(sets->refs, sets->refs_len, sizeof *sets->refs, by_stack);
    for (size_t i = 0; i < sets->refs_len; i++)
        sets->labels[sets->refs[i].number] = &sets->refs[i];
    sets->labels_len = sets->refs_len ? number + 1 : 0;
}

static void number_sets(cli_label_sets *sets, size_t stacks)
{
    for (size_t i = 0, at = 0; i < stacks; i++) {
        size_t from = at;
        while (at < sets->refs_len && sets->refs[at].stack == i)
            at++;
        sets->sets[i] = (cli_label_set){sets->refs + from, at - from, i};
    }
    qsort(sets->sets, stacks, sizeof *sets->sets, by_set);
    for (size_t i = 0; i < stacks; i++) {
        cli_label_set set = sets->sets[i];
        if (!i || compare_sets(&sets->sets[sets->sets_len - 1], &set) != 0)
            sets->sets[sets->sets_len++] = set;
        sets->of[set.stack] = (uint32_t)(sets->sets_len - 1);
    }
}

bool cli_label_sets_make(cli_label_sets *sets, const cli_stacks *stacks)
{
    size_t labels = 0;
    *sets = (cli_label_sets){0};
    for (size_t i = 0; i < stacks->len; i++)
        labels += stacks->stacks[i].sample->n_label;
    sets->refs = calloc(labels + 1, sizeof *sets->refs);
    sets->labels = calloc(labels + 1, sizeof *sets->labels);
    sets->sets = calloc(stacks->len + 1, sizeof *sets->sets);
    sets->of = calloc(stacks->len + 1, sizeof *sets->of);
    if (!sets->refs || !sets->labels || !sets->sets || !sets->of)
        return false;
    collect(sets, stacks);
    number_labels(sets);
    number_sets(sets, stacks->len);
    return true;
}

void cli_label_sets_free(cli_label_sets *sets)
{
    free(sets->refs);
    free((void *)sets->labels);
    free(sets->sets);
    free(sets->of);
    *sets = (cli_label_sets){0};
}
