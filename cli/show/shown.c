/* What is shown of one profile, or of PREV and CUR: see shown.h.
 *
 * A pattern is matched once with each distinct name and each frame of a location, never with each frame of
 * each sample. Each frame of a location then has a few bits, and a sample is judged by those. */
#include "show/shown.h"

#include "keep.h"
#include "show/wrappers.h"

#include <stdlib.h>

/* The frames of all locations of one profile. */
typedef struct source {
    const cli_profile *profile;
    cli_frame *frames; /* those of location i are frames[first[i]] to frames[first[i + 1] - 1] */
    size_t *first;
    size_t len; /* of all frames */
    bool is_heap;
} source;

typedef struct work {
    cli_shown *shown;
    source sources[CLI_SIDES];
    cli_frame *frames; /* those of all sides; the last stands for hidden ones */
    size_t len;
    bool is_short;  /* names are */
    bool folds;     /* wrappers are hidden */
    uint64_t hides; /* the bits of the filters that hide */
} work;

_Static_assert(CLI_FILTERS_MAX <= 64, "a filter is a bit");

/* ---- frames ------------------------------------------------------------------------------- */

static void add_frame(work *w, const cli_profile *profile, const Pd__View__Location *location,
                      const Pd__View__Line *line)
{
    char made[CLI_FRAME_MADE];
    cli_frame frame = {.location = location, .line = line};
    frame.text = cli_frame_of(profile, location, line, made);
    if (frame.text.name.ptr == made)
        frame.text.name = cli_keep_string(frame.text.name);
    w->frames[w->len++] = frame;
}

static void add_side(work *w, source *s)
{
    const Pd__View__Profile *view = s->profile->view;
    size_t from = w->len;
    s->frames = w->frames + from;
    for (size_t i = 0; i < view->n_location; i++) {
        const Pd__View__Location *location = view->location[i];
        s->first[i] = w->len - from;
        for (size_t j = 0; j < location->n_line; j++)
            add_frame(w, s->profile, location, location->line[j]);
        if (!location->n_line)
            add_frame(w, s->profile, location, NULL);
    }
    s->first[view->n_location] = s->len = w->len - from;
}

static void make_frames(work *w)
{
    size_t most = 1;
    for (size_t k = 0; k < w->shown->sides; k++) {
        const Pd__View__Profile *view = w->shown->profiles[k].view;
        w->sources[k] = (source){.profile = &w->shown->profiles[k],
                                 .is_heap = cli_profile_has_bytes(&w->shown->profiles[k]),
                                 .first = cli_keep(view->n_location + 1, sizeof(size_t))};
        for (size_t i = 0; i < view->n_location; i++)
            most += view->location[i]->n_line ? view->location[i]->n_line : 1;
    }
    w->frames = cli_keep(most, sizeof *w->frames);
    for (size_t k = 0; k < w->shown->sides; k++)
        add_side(w, &w->sources[k]);
    w->frames[w->len].text.name = cli_string_of(CLI_HIDDEN);
}

/* Gives the frames the numbers of their names, first of the full ones, so that each is shortened
 * once. */
static void number_names(work *w)
{
    cli_shown *shown = w->shown;
    size_t frames = w->len + (w->hides != 0), full;
    cli_string *texts = cli_keep(frames, sizeof *texts);
    uint32_t *numbers = cli_keep(frames, sizeof *numbers);
    for (size_t i = 0; i < frames; i++)
        texts[i] = w->frames[i].text.name;
    cli_string *names = cli_keep_numbered(texts, frames, numbers, &full);
    bool *is_foreign = cli_keep(full, sizeof *is_foreign);
    for (size_t i = 0; i < frames; i++)
        is_foreign[numbers[i]] |= w->frames[i].text.is_foreign;
    for (size_t i = 0; i < full && w->is_short; i++) {
        char room[CLI_SHORT_NAME_MAX];
        cli_string name = is_foreign[i] ? names[i] : cli_short_name(names[i], room);
        names[i] = name.ptr == room ? cli_keep_string(name) : name;
    }
    uint32_t *of_full = cli_keep(full, sizeof *of_full);
    shown->names = cli_keep_numbered(names, full, of_full, &shown->names_len);
    shown->is_folded = cli_keep(shown->names_len, sizeof *shown->is_folded);
    for (size_t i = 0; i < frames; i++)
        w->frames[i].name = of_full[numbers[i]];
}

/* ---- matches ------------------------------------------------------------------------------ */

static uint64_t match(const cli_filters *filters, cli_string text)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < filters->len && text.len; i++)
        if (filters->list[i].kind != CLI_FILTER_TAG &&
            cli_pattern_matches(&filters->list[i].pattern, text))
            bits |= UINT64_C(1) << i;
    return bits;
}

/* The name as it is shown matches, the full one, the source file, and the file of the mapping. */
static void judge_frames(work *w)
{
    const cli_shown *shown = w->shown;
    uint64_t *names = cli_keep(shown->names_len, sizeof *names);
    for (size_t i = 0; i < shown->names_len; i++) {
        char room[CLI_SHORT_NAME_MAX];
        names[i] = match(shown->filters, cli_short_name(shown->names[i], room));
    }
    for (size_t i = 0; i < w->len; i++) {
        cli_frame *frame = &w->frames[i];
        const cli_frame_text *text = &frame->text;
        frame->kind = (unsigned char)cli_frame_kind(shown->names[frame->name], text->module,
                                                    text->file, text->is_nameless);
        frame->matches = names[frame->name] | match(shown->filters, text->name) |
                         match(shown->filters, text->file) | match(shown->filters, text->module);
    }
}

/* ---- samples ------------------------------------------------------------------------------ */

/* Writes the frames of the sample, leaf first, unless `to` is NULL. Returns their number. */
static size_t unfold(const source *s, const Pd__View__Sample *sample, const cli_frame **to)
{
    size_t len = 0;
    for (size_t i = 0; i < sample->n_location_id; i++) {
        size_t at = cli_profile_location_index(s->profile, sample->location_id[i]);
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): every side was made */
        for (size_t k = s->first[at]; k < s->first[at + 1]; k++, len++)
            if (to)
                to[len] = &s->frames[k];
    }
    return len;
}

static void add_values(pprofdelta_sum *sums, const Pd__View__Sample *sample)
{
    for (size_t i = 0; i < sample->n_value; i++)
        cli_sum_add(&sums[i], sample->value[i]);
}

/* Whether all filters keep the sample. Adds its values to those that each filter keeps. */
static bool keep(const work *w, cli_kept *kept, const cli_profile *profile, const cli_stack *stack)
{
    const cli_filters *filters = w->shown->filters;
    const Pd__View__Sample *sample = stack->sample;
    uint64_t matched = 0;
    bool is_kept = true;
    for (size_t i = 0; i < stack->len; i++)
        matched |= stack->frames[i]->matches;
    for (size_t i = 0; i < filters->len; i++) {
        const cli_filter *filter = &filters->list[i];
        bool has_match = filter->kind == CLI_FILTER_TAG
                             ? cli_filter_keeps_labels(filter, profile, sample)
                             : matched >> i & 1;
        bool keeps =
            filter->kind == CLI_FILTER_HIDE || has_match == (filter->kind != CLI_FILTER_IGNORE);
        kept->matched[i] += has_match;
        is_kept &= keeps;
        if (keeps)
            add_values(kept->sums + i * sample->n_value, sample);
    }
    if (is_kept)
        add_values(kept->sums + filters->len * sample->n_value, sample);
    kept->samples += is_kept;
    return is_kept;
}

/* Takes out the frames that are not shown. */
static void cut(const work *w, cli_stack *stack, const cli_frame **frames)
{
    unsigned char *kinds = cli_keep(stack->len, 1);
    size_t from = 0, to = stack->len, len = 0;
    for (size_t i = 0; i < stack->len; i++)
        kinds[i] = frames[i]->kind;
    if (w->folds)
        cli_wrappers_cut(kinds, stack->len, w->sources[stack->side].is_heap, &from, &to);
    for (size_t i = 0; i < stack->len; i++)
        if (i < from || i >= to)
            w->shown->is_folded[frames[i]->name] = true;
    for (size_t i = from; i < to; i++)
        if (!(frames[i]->matches & w->hides))
            frames[len++] = frames[i];
    if (!len && stack->len)
        frames[len++] = &w->frames[w->len];
    stack->len = len;
    cli_drop(kinds);
}

static void select_samples(work *w, size_t k)
{
    cli_shown *shown = w->shown;
    const Pd__View__Profile *view = shown->profiles[k].view;
    size_t sums = (shown->filters->len + 1) * view->n_sample_type;
    shown->kept[k] = (cli_kept){.sums = cli_keep(sums, sizeof(pprofdelta_sum)),
                                .matched = cli_keep(shown->filters->len, sizeof(size_t))};
    for (size_t i = 0; i < view->n_sample; i++) {
        cli_stack *stack = &shown->stacks[shown->len];
        size_t len = unfold(&w->sources[k], view->sample[i], NULL);
        const cli_frame **frames = cli_keep(len, sizeof *frames);
        *stack = (cli_stack){frames, len, view->sample[i], k};
        unfold(&w->sources[k], view->sample[i], frames);
        if (!keep(w, &shown->kept[k], &shown->profiles[k], stack))
            continue;
        cut(w, stack, frames);
        shown->len++;
    }
}

void cli_shown_make(cli_shown *shown, bool is_whole)
{
    size_t samples = 0;
    work w = {.shown = shown,
              .is_short = !is_whole,
              .folds = !is_whole && !shown->filters->shows_wrappers,
              .hides = cli_filters_of(shown->filters, CLI_FILTER_HIDE)};
    make_frames(&w);
    number_names(&w);
    judge_frames(&w);
    for (size_t k = 0; k < shown->sides; k++)
        samples += shown->profiles[k].view->n_sample;
    shown->stacks = cli_keep(samples + 1, sizeof *shown->stacks);
    for (size_t k = 0; k < shown->sides; k++)
        select_samples(&w, k);
}

/* ---- groups ------------------------------------------------------------------------------- */

int cli_stacks_by_names(const void *a, const void *b)
{
    const cli_stack *x = a, *y = b;
    for (size_t i = 1; i <= x->len && i <= y->len; i++) {
        uint32_t name = x->frames[x->len - i]->name, other = y->frames[y->len - i]->name;
        if (name != other)
            return name < other ? -1 : 1;
    }
    return (x->len > y->len) - (x->len < y->len);
}

int cli_stacks_by_places(const void *a, const void *b)
{
    const cli_stack *x = a, *y = b;
    int order = cli_stacks_by_names(a, b);
    for (size_t i = 0; i < x->len && !order; i++)
        if (x->frames[i] != y->frames[i])
            order = cli_frame_compare_places(&x->frames[i]->text, &y->frames[i]->text);
    return order;
}

void cli_shown_sort(cli_shown *shown, cli_stack_order *order)
{
    qsort(shown->stacks, shown->len, sizeof *shown->stacks, order);
}

size_t cli_shown_group_end(const cli_shown *shown, size_t at, cli_stack_order *order)
{
    size_t end = at + 1;
    while (end < shown->len && !order(&shown->stacks[at], &shown->stacks[end]))
        end++;
    return end;
}

pprofdelta_sum cli_shown_group_sum(const cli_shown *shown, size_t at, size_t end, size_t side,
                                   size_t type)
{
    pprofdelta_sum sum = {0};
    for (size_t i = at; i < end; i++)
        if (shown->stacks[i].side == side)
            cli_sum_add(&sum, shown->stacks[i].sample->value[shown->types.column[side][type]]);
    return sum;
}

cli_frame_text cli_shown_group_frame(const cli_shown *shown, size_t at, size_t end, size_t i)
{
    const cli_stack *newest = &shown->stacks[at];
    for (size_t k = at; k < end; k++)
        if (shown->stacks[k].side > newest->side)
            newest = &shown->stacks[k];
    cli_frame_text frame = newest->frames[i]->text;
    frame.name = shown->names[newest->frames[i]->name];
    for (size_t k = at; k < end; k++) {
        const cli_stack *stack = &shown->stacks[k];
        if (stack->side == newest->side && stack->frames[i] != newest->frames[i])
            cli_frame_join_places(&frame, &stack->frames[i]->text);
    }
    return frame;
}
