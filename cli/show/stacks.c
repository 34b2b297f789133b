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

/* Merges the sorted names of both sides. common[side][n] becomes the common number of the side's
 * name n. */
static void merge_names(cli_stacks *stacks, uint32_t *common[CLI_SIDES])
{
    size_t at[CLI_SIDES] = {0};
    for (;;) {
        const cli_string *least = NULL;
        for (size_t side = 0; side < CLI_SIDES; side++) {
            const cli_symbols *symbols = &stacks->symbols[side];
            if (at[side] < symbols->len &&
                (!least || cli_string_compare(symbols->names[at[side]], *least) < 0))
                least = &symbols->names[at[side]];
        }
        if (!least)
            break;
        for (size_t side = 0; side < CLI_SIDES; side++) {
            const cli_symbols *symbols = &stacks->symbols[side];
            if (at[side] < symbols->len && !cli_string_compare(symbols->names[at[side]], *least))
                common[side][at[side]++] = (uint32_t)stacks->names_len;
        }
        stacks->names[stacks->names_len++] = *least;
    }
}

static bool share_names(cli_stacks *stacks)
{
    uint32_t *common[CLI_SIDES] = {NULL};
    size_t most = 1;
    bool ready = true;
    for (size_t side = 0; side < CLI_SIDES; side++) {
        most += stacks->symbols[side].len;
        common[side] = calloc(stacks->symbols[side].len + 1, sizeof *common[side]);
        ready &= common[side] != NULL;
    }
    stacks->names = calloc(most, sizeof *stacks->names);
    ready &= stacks->names && most <= UINT32_MAX;
    if (ready) {
        merge_names(stacks, common);
        for (size_t side = 0; side < CLI_SIDES; side++) {
            cli_symbols *symbols = &stacks->symbols[side];
            for (size_t i = 0; i < symbols->frames_len; i++)
                symbols->frames[i] = common[side][symbols->frames[i]];
        }
    }
    for (size_t side = 0; side < CLI_SIDES; side++)
        free(common[side]);
    return ready;
}

/* ---- stacks ------------------------------------------------------------------------------- */

/* The number of frames of all samples. */
static size_t count_frames(const cli_profile *profile, const cli_symbols *symbols)
{
    size_t len = 0;
    for (size_t i = 0; i < profile->view->n_sample; i++) {
        const Pd__View__Sample *sample = profile->view->sample[i];
        for (size_t j = 0; j < sample->n_location_id; j++) {
            size_t at = cli_profile_location_index(profile, sample->location_id[j]);
            len += symbols->first[at + 1] - symbols->first[at];
        }
    }
    return len;
}

/* Writes a sample's frames, root first. In the profile, locations and lines are leaf first. */
static uint32_t *unfold(uint32_t *to, const cli_profile *profile, const cli_symbols *symbols,
                        const Pd__View__Sample *sample)
{
    for (size_t j = sample->n_location_id; j-- > 0;) {
        size_t at = cli_profile_location_index(profile, sample->location_id[j]);
        for (size_t k = symbols->first[at + 1]; k-- > symbols->first[at];)
            *to++ = symbols->frames[k];
    }
    return to;
}

static uint32_t *add_stacks(cli_stacks *stacks, uint32_t *to, const cli_profile *profile,
                            size_t side)
{
    for (size_t i = 0; i < profile->view->n_sample; i++) {
        const Pd__View__Sample *sample = profile->view->sample[i];
        uint32_t *end = unfold(to, profile, &stacks->symbols[side], sample);
        stacks->stacks[stacks->len++] = (cli_stack){to, (size_t)(end - to), sample->value, side};
        to = end;
    }
    return to;
}

static bool fill(cli_stacks *stacks, const cli_profile *profiles, size_t sides)
{
    size_t samples = 0, frames = 0;
    if (!share_names(stacks))
        return false;
    for (size_t side = 0; side < sides; side++) {
        samples += profiles[side].view->n_sample;
        frames += count_frames(&profiles[side], &stacks->symbols[side]);
    }
    stacks->stacks = calloc(samples + 1, sizeof *stacks->stacks);
    stacks->frames = calloc(frames + 1, sizeof *stacks->frames);
    if (!stacks->stacks || !stacks->frames)
        return false;
    uint32_t *to = stacks->frames;
    for (size_t side = 0; side < sides; side++)
        to = add_stacks(stacks, to, &profiles[side], side);
    qsort(stacks->stacks, stacks->len, sizeof *stacks->stacks, by_frames);
    return true;
}

int cli_stacks_make(cli_stacks *stacks, const cli_profile *profiles, size_t sides)
{
    *stacks = (cli_stacks){.len = 0};
    for (size_t side = 0; side < sides; side++) {
        int code = cli_symbols_make(&stacks->symbols[side], &profiles[side]);
        if (code)
            return code;
    }
    return fill(stacks, profiles, sides)
               ? CLI_DONE
               : cli_system_error(profiles[sides - 1].input.name, "show", ENOMEM);
}

void cli_stacks_free(cli_stacks *stacks)
{
    for (size_t side = 0; side < CLI_SIDES; side++)
        cli_symbols_free(&stacks->symbols[side]);
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
