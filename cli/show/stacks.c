/* The stacks of one profile or of two: see stacks.h. */
#include "show/stacks.h"

#include "cli.h"
#include "message.h"
#include "show/units.h"

#include <errno.h>
#include <stdlib.h>

static int by_frames(const void *a, const void *b)
{
    const cli_stack *x = a, *y = b;
    size_t len = x->len < y->len ? x->len : y->len;
    for (size_t i = 0; i < len; i++)
        if (x->frames[i] != y->frames[i])
            return x->frames[i] < y->frames[i] ? -1 : 1;
    return (x->len > y->len) - (x->len < y->len);
}

/* ---- names in common ---------------------------------------------------------------------- */

typedef struct joining {
    cli_stacks *stacks;
    size_t sides;
    uint32_t *common[CLI_SIDES]; /* common[side][n] is the common number of the side's name n;
                                    before that: whether a stack has the name */
} joining;

/* Merges the sorted names of both sides that a stack has. */
static void merge_names(joining *j)
{
    cli_stacks *stacks = j->stacks;
    size_t at[CLI_SIDES] = {0};
    for (;;) {
        const cli_string *least = NULL;
        for (size_t side = 0; side < j->sides; side++) {
            const cli_symbols *symbols = &stacks->selections[side].symbols;
            while (at[side] < symbols->len && !j->common[side][at[side]])
                at[side]++;
            if (at[side] < symbols->len &&
                (!least || cli_string_compare(symbols->names[at[side]], *least) < 0))
                least = &symbols->names[at[side]];
        }
        if (!least)
            break;
        for (size_t side = 0; side < j->sides; side++) {
            const cli_symbols *symbols = &stacks->selections[side].symbols;
            if (at[side] < symbols->len && !cli_string_compare(symbols->names[at[side]], *least))
                j->common[side][at[side]++] = (uint32_t)stacks->names_len;
        }
        stacks->names[stacks->names_len++] = *least;
    }
}

static void mark_used(const cli_selection *selection, uint32_t *is_used)
{
    for (size_t i = 0; i < selection->first[selection->len]; i++)
        is_used[selection->symbols.frames[selection->frames[i]]] = 1;
}

static bool share_names(joining *j)
{
    size_t most = 1;
    bool ready = true;
    for (size_t side = 0; side < j->sides; side++) {
        size_t len = j->stacks->selections[side].symbols.len;
        most += len;
        j->common[side] = calloc(len + 1, sizeof *j->common[side]);
        ready &= j->common[side] != NULL;
    }
    j->stacks->names = calloc(most, sizeof *j->stacks->names);
    ready &= j->stacks->names && most <= UINT32_MAX;
    if (!ready)
        return false;
    for (size_t side = 0; side < j->sides; side++)
        mark_used(&j->stacks->selections[side], j->common[side]);
    merge_names(j);
    return true;
}

/* ---- stacks ------------------------------------------------------------------------------- */

/* Writes a sample's frames, root first. In the selection they are leaf first. */
static uint32_t *add_stack(joining *j, uint32_t *to, size_t side, size_t at)
{
    const cli_selection *selection = &j->stacks->selections[side];
    const Pd__View__Sample *sample = selection->profile->view->sample[selection->samples[at]];
    const uint32_t *places = selection->frames + selection->first[at];
    size_t len = selection->first[at + 1] - selection->first[at];
    for (size_t i = 0; i < len; i++)
        to[i] = j->common[side][selection->symbols.frames[places[len - 1 - i]]];
    j->stacks->stacks[j->stacks->len++] = (cli_stack){to, len, places, sample, sample->value, side};
    return to + len;
}

static bool fill(joining *j)
{
    cli_stacks *stacks = j->stacks;
    size_t samples = 0, frames = 0;
    if (!share_names(j))
        return false;
    for (size_t side = 0; side < j->sides; side++) {
        const cli_selection *selection = &stacks->selections[side];
        samples += selection->len;
        frames += selection->first[selection->len];
    }
    stacks->stacks = calloc(samples + 1, sizeof *stacks->stacks);
    stacks->frames = calloc(frames + 1, sizeof *stacks->frames);
    if (!stacks->stacks || !stacks->frames)
        return false;
    uint32_t *to = stacks->frames;
    for (size_t side = 0; side < j->sides; side++)
        for (size_t i = 0; i < stacks->selections[side].len; i++)
            to = add_stack(j, to, side, i);
    qsort(stacks->stacks, stacks->len, sizeof *stacks->stacks, by_frames);
    return true;
}

int cli_stacks_make(cli_stacks *stacks, const cli_selection *selections, size_t sides)
{
    joining j = {.stacks = stacks, .sides = sides};
    *stacks = (cli_stacks){.selections = selections};
    bool is_ready = fill(&j);
    for (size_t side = 0; side < sides; side++)
        free(j.common[side]);
    const char *name = selections[sides - 1].profile->input.name;
    return is_ready ? CLI_DONE : cli_system_error(name, "show", ENOMEM);
}

void cli_stacks_free(cli_stacks *stacks)
{
    free(stacks->names);
    free(stacks->stacks);
    free(stacks->frames);
    *stacks = (cli_stacks){.len = 0};
}

size_t cli_stacks_group_end(const cli_stacks *stacks, size_t at)
{
    size_t end = at + 1;
    while (end < stacks->len && !by_frames(&stacks->stacks[at], &stacks->stacks[end]))
        end++;
    return end;
}

pprofdelta_sum cli_stacks_group_sum(const cli_stacks *stacks, size_t at, size_t end, size_t side,
                                    size_t column)
{
    pprofdelta_sum sum = {0};
    for (size_t i = at; i < end; i++)
        if (stacks->stacks[i].side == side)
            cli_sum_add(&sum, stacks->stacks[i].values[column]);
    return sum;
}

static cli_place place_of(const cli_stacks *stacks, const cli_stack *stack, size_t i)
{
    const cli_selection *s = &stacks->selections[stack->side];
    return cli_place_of(s->profile, &s->symbols, stack->places[i]);
}

cli_place cli_stacks_group_place(const cli_stacks *stacks, size_t at, size_t end, size_t i)
{
    const cli_stack *newest = &stacks->stacks[at];
    for (size_t k = at; k < end; k++)
        if (stacks->stacks[k].side > newest->side)
            newest = &stacks->stacks[k];
    cli_place place = place_of(stacks, newest, i);
    for (size_t k = at; k < end; k++) {
        const cli_stack *stack = &stacks->stacks[k];
        if (stack->side != newest->side || stack->places[i] == newest->places[i])
            continue;
        cli_place other = place_of(stacks, stack, i);
        if (cli_string_compare(other.file, place.file) != 0 ||
            cli_string_compare(other.module, place.module) != 0)
            return (cli_place){cli_string_of(""), 0, cli_string_of(""), false};
        if (other.line != place.line)
            place.line = 0;
    }
    return place;
}
