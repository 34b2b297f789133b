/* The stacks of `show`, sorted: see shown.h.
 *
 * The stacks stay in the bytes of the profiles, so they are sorted as strings are, frame by frame: stacks that
 * begin with the same frames are split by the next frame (multikey quicksort). Each frame is read once. */
#include "show/shown.h"

#include "keep.h"

#include <stdlib.h>

typedef struct sorting {
    cli_shown *shown;
    bool by_places; /* groups are sorted by the files and lines of their frames, too */
    bool in_group;  /* that is what is done now */
    uint32_t random;
} sorting;

/* ---- keys --------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const cli_frame *const *x = a, *const *y = b;
    return cli_frame_compare_places(&(*x)->text, &(*y)->text);
}

/* Numbers the files and lines of all frames in their order, from 1. */
static void number_places(cli_shown *shown)
{
    size_t len = shown->frames_len;
    cli_frame **frames = cli_keep(len, sizeof *frames);
    for (size_t i = 0; i < len; i++)
        frames[i] = &shown->frames[i];
    qsort(frames, len, sizeof *frames, by_place);
    for (size_t i = 0; i < len; i++)
        frames[i]->place =
            !i ? 1 : frames[i - 1]->place + (by_place(&frames[i - 1], &frames[i]) != 0);
    cli_drop(frames);
}

/* Reads the next frame of each stack. Its number is the key, which is 0 at the end of the stack. */
static void read_keys(const sorting *s, cli_stack *stacks, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        cli_stack *stack = &stacks[i];
        cli_walk walk = {s->shown, stack, stack->next, !s->in_group};
        const cli_frame *frame = cli_walk_next(&walk);
        stack->next = walk.next;
        stack->key = !frame ? 0 : s->in_group ? frame->place : frame->name + 1;
    }
}

/* ---- sorting ------------------------------------------------------------------------------ */

static void sort_stacks(sorting *s, cli_stack *stacks, size_t len);

/* The stacks are equal. */
static void end_group(sorting *s, cli_stack *stacks, size_t len)
{
    stacks->is_first = !s->by_places || s->in_group || len == 1;
    if (stacks->is_first)
        return;
    for (size_t i = 0; i < len; i++)
        stacks[i].next = stacks[i].leaf;
    s->in_group = true;
    read_keys(s, stacks, len);
    sort_stacks(s, stacks, len);
    s->in_group = false;
}

static void swap_stacks(cli_stack *a, cli_stack *b)
{
    cli_stack c = *a;
    *a = *b;
    *b = c;
}

/* Stacks that are sorted already, or by an enemy, are no worse than others. */
static uint32_t choose_key(sorting *s, const cli_stack *stacks, size_t len)
{
    uint32_t keys[3];
    for (size_t i = 0; i < 3; i++) {
        s->random = s->random * 1664525 + 1013904223;
        keys[i] = stacks[(uint64_t)s->random * len >> 32].key;
    }
    uint32_t low = keys[0] < keys[1] ? keys[0] : keys[1], high = keys[0] ^ keys[1] ^ low;
    return keys[2] < low ? low : keys[2] > high ? high : keys[2];
}

/* Sorts stacks that are equal but for their key and what follows. Of the parts, the largest is sorted last, so
 * that calls are never deep. */
static void sort_stacks(sorting *s, cli_stack *stacks, size_t len)
{
    while (len > 1) {
        uint32_t key = choose_key(s, stacks, len);
        size_t less = 0, more = len;
        for (size_t i = 0; i < more;) {
            if (stacks[i].key < key)
                swap_stacks(&stacks[i++], &stacks[less++]);
            else if (stacks[i].key > key)
                swap_stacks(&stacks[i], &stacks[--more]);
            else
                i++;
        }
        size_t ends[] = {0, less, more, len}, largest = 0;
        if (key)
            read_keys(s, stacks + less, more - less);
        else
            end_group(s, stacks, more); /* nothing is less */
        for (size_t i = 1; i < 3; i++)
            if (i != 1 || key)
                largest = ends[i + 1] - ends[i] > ends[largest + 1] - ends[largest] ? i : largest;
        for (size_t i = 0; i < 3; i++)
            if (i != largest && (i != 1 || key))
                sort_stacks(s, stacks + ends[i], ends[i + 1] - ends[i]);
        stacks += ends[largest];
        len = ends[largest + 1] - ends[largest];
    }
    if (len)
        end_group(s, stacks, len);
}

void cli_stacks_sort(cli_shown *shown, bool by_places)
{
    sorting s = {.shown = shown, .by_places = by_places, .random = 1};
    if (by_places)
        number_places(shown);
    for (size_t i = 0; i < shown->len; i++)
        shown->stacks[i].next = shown->stacks[i].root;
    read_keys(&s, shown->stacks, shown->len);
    sort_stacks(&s, shown->stacks, shown->len);
}

static uint64_t collect_stack(void *cookie, const cli_stack *stack, const cli_sample *sample)
{
    cli_shown *shown = cookie;
    shown->stacks[shown->len++] = *stack;
    return cli_shown_count(shown, stack, sample);
}

void cli_stacks_collect(cli_shown *shown, bool by_places)
{
    size_t most = 0;
    for (size_t k = 0; k < shown->sides; k++)
        most += shown->profiles[k].samples.len;
    shown->stacks = cli_keep(most, sizeof *shown->stacks);
    cli_shown_each(shown, 0, collect_stack, shown);
    cli_stacks_sort(shown, by_places);
}

/* ---- groups ------------------------------------------------------------------------------- */

bool cli_group_next(const cli_shown *shown, cli_group *group)
{
    group->at = group->end++;
    while (group->end < shown->len && !shown->stacks[group->end].is_first)
        group->end++;
    return group->at < shown->len;
}

int64_t cli_stack_value(const cli_shown *shown, const cli_stack *stack, size_t type)
{
    cli_sample sample;
    cli_sample_read(stack->sample, &sample);
    return sample.values[shown->types.column[stack->side][type]];
}

pprofdelta_sum cli_group_sum(const cli_shown *shown, cli_group group, size_t side, size_t type)
{
    pprofdelta_sum sum = {0};
    for (size_t i = group.at; i < group.end; i++)
        if (shown->stacks[i].side == side)
            cli_sum_add(&sum, cli_stack_value(shown, &shown->stacks[i], type));
    return sum;
}

cli_frame_text *cli_stack_frames(const cli_shown *shown, const cli_stack *stack, size_t *len)
{
    static cli_frame_text *frames;
    static size_t frames_cap;
    const cli_frame *frame;
    size_t frames_len = 0;
    for (cli_walk w = cli_walk_from_leaf(shown, stack); (frame = cli_walk_next(&w));) {
        CLI_KEEP_MORE(frames, 1);
        frames[frames_len] = frame->text;
        frames[frames_len++].name = shown->names[frame->name];
    }
    *len = frames_len;
    return frames;
}

cli_frame_text *cli_group_frames(const cli_shown *shown, cli_group group, size_t *len)
{
    const cli_frame *frame;
    const cli_stack *newest = &shown->stacks[group.at];
    for (size_t k = group.at; k < group.end; k++)
        if (shown->stacks[k].side > newest->side)
            newest = &shown->stacks[k];
    cli_frame_text *frames = cli_stack_frames(shown, newest, len);
    for (size_t k = group.at; k < group.end; k++) {
        cli_walk w = cli_walk_from_leaf(shown, &shown->stacks[k]);
        bool counts = shown->stacks[k].side == newest->side && !newest->is_hidden;
        for (size_t i = 0; counts && (frame = cli_walk_next(&w)); i++)
            cli_frame_join_places(&frames[i], &frame->text);
    }
    return frames;
}
