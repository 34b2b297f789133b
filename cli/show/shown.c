/* The frames and the stacks of one profile, or of PREV and CUR: see shown.h.
 *
 * A pattern is matched once with each distinct name and each frame of a location, never with each frame of
 * each sample. Each frame of a location then has a few bits, and a sample is judged by those. */
#include "show/shown.h"

#include "cli.h"
#include "keep.h"
#include "message.h"
#include "output_file.h"
#include "show/wrappers.h"

#include <inttypes.h>
#include <string.h>

_Static_assert(CLI_FILTERS_MAX <= 64, "a filter is a bit");

/* ---- frames ------------------------------------------------------------------------------- */

static void add_frame(cli_shown *shown, const cli_profile *profile,
                      const Pd__View__Location *location, const Pd__View__Line *line)
{
    shown->frames[shown->frames_len++] = (cli_frame){
        .text = cli_frame_of(profile, location, line), .location = location, .line = line};
}

static void add_side(cli_shown *shown, cli_source *s)
{
    const Pd__View__Profile *view = s->profile->view;
    size_t from = shown->frames_len;
    s->frames = shown->frames + from;
    for (size_t i = 0; i < view->n_location; i++) {
        const Pd__View__Location *location = view->location[i];
        s->locations[i].first = (uint32_t)(shown->frames_len - from);
        for (size_t j = 0; j < location->n_line; j++)
            add_frame(shown, s->profile, location, location->line[j]);
        if (!location->n_line)
            add_frame(shown, s->profile, location, NULL);
    }
    s->locations[view->n_location].first = (uint32_t)(shown->frames_len - from);
}

static void make_frames(cli_shown *shown)
{
    size_t most = 1;
    for (size_t k = 0; k < shown->sides; k++) {
        const Pd__View__Profile *view = shown->profiles[k].view;
        shown->sources[k] = (cli_source){
            .profile = &shown->profiles[k],
            .locations = cli_keep(view->n_location + 1, sizeof *shown->sources->locations)};
        for (size_t i = 0; i < view->n_location; i++)
            most += view->location[i]->n_line ? view->location[i]->n_line : 1;
    }
    shown->frames = cli_keep(most, sizeof *shown->frames);
    for (size_t k = 0; k < shown->sides; k++)
        add_side(shown, &shown->sources[k]);
    shown->frames[shown->frames_len].text.name = cli_string_of(CLI_HIDDEN);
}

/* First come the numbers of the full names, so that each is shortened once. */
void cli_shown_number_names(cli_shown *shown, bool is_short)
{
    size_t frames = shown->frames_len + 1, full;
    cli_string *texts = cli_keep(frames, sizeof *texts);
    uint32_t *numbers = cli_keep(frames, sizeof *numbers);
    for (size_t i = 0; i < frames; i++)
        texts[i] = shown->frames[i].text.name;
    cli_string *names = cli_keep_numbered(texts, frames, numbers, &full);
    bool *is_foreign = cli_keep(full, sizeof *is_foreign);
    for (size_t i = 0; i < frames; i++)
        is_foreign[numbers[i]] |= shown->frames[i].text.is_foreign;
    for (size_t i = 0; i < full && is_short; i++) {
        char room[CLI_SHORT_NAME_MAX];
        cli_string name = is_foreign[i] ? names[i] : cli_short_name(names[i], room);
        names[i] = name.ptr == room ? cli_keep_string(name) : name;
    }
    uint32_t *of_full = cli_keep(full, sizeof *of_full);
    shown->names = cli_keep_numbered(names, full, of_full, &shown->names_len);
    shown->is_folded = cli_keep(shown->names_len, sizeof *shown->is_folded);
    for (size_t i = 0; i < frames; i++)
        shown->frames[i].name = of_full[numbers[i]];
    cli_drop(is_foreign);
    cli_drop(of_full);
    cli_drop(numbers);
    cli_drop(texts);
}

/* ---- matches ------------------------------------------------------------------------------ */

/* What a frame is; most that have its name are the same. last has that of the last frame with each name. */
static unsigned char kind_of(const cli_shown *shown, const cli_frame *frame, const cli_frame *last)
{
    const cli_frame_text *text = &frame->text, *other = last ? &last->text : text;
    bool is_same = other != text && other->module.ptr == text->module.ptr &&
                   other->file.ptr == text->file.ptr && other->is_nameless == text->is_nameless &&
                   last->matches == frame->matches;
    if (is_same)
        return last->kind;
    unsigned kind =
        cli_frame_kind(shown->names[frame->name], text->module, text->file, text->is_nameless);
    return (unsigned char)(frame->matches & shown->allocators ? cli_frame_as_allocator(kind)
                                                              : kind);
}

/* The name as it is shown matches, the full one, the source file, and the file of the mapping. */
static void judge_frames(cli_shown *shown)
{
    uint64_t *names = cli_keep(shown->names_len, sizeof *names);
    const cli_frame **last = cli_keep(shown->names_len, sizeof *last);
    for (size_t i = 0; i < shown->names_len; i++) {
        char room[CLI_SHORT_NAME_MAX];
        names[i] = cli_filters_match(shown->filters, cli_short_name(shown->names[i], room));
    }
    for (size_t i = 0; i < shown->frames_len; i++) {
        cli_frame *frame = &shown->frames[i];
        frame->matches = names[frame->name] | cli_filters_match(shown->filters, frame->text.name) |
                         cli_filters_match(shown->filters, frame->text.file) |
                         cli_filters_match(shown->filters, frame->text.module);
        frame->kind = kind_of(shown, frame, last[frame->name]);
        last[frame->name] = frame;
        shown->has_interpreter |= (frame->kind & CLI_FRAME_INTERPRETS) != 0;
    }
    cli_drop(last);
    cli_drop(names);
}

static void judge_locations(const cli_source *s, uint64_t hides)
{
    for (size_t i = 0; i < s->profile->view->n_location; i++) {
        struct cli_source_location *location = &s->locations[i];
        location->is_hidden = true;
        for (size_t k = location->first; k < location[1].first; k++) {
            location->matches |= s->frames[k].matches;
            location->is_hidden &= (s->frames[k].matches & hides) != 0;
        }
    }
}

void cli_shown_make(cli_shown *shown, bool is_whole)
{
    shown->folds = !is_whole && !shown->filters->shows_wrappers;
    shown->hides = cli_filters_of(shown->filters, CLI_FILTER_HIDE);
    shown->allocators = cli_filters_of(shown->filters, CLI_FILTER_ALLOCATOR);
    make_frames(shown);
    cli_shown_number_names(shown, !is_whole);
    judge_frames(shown);
    for (size_t k = 0; k < shown->sides; k++)
        judge_locations(&shown->sources[k], shown->hides);
}

/* ---- the frames of a stack ---------------------------------------------------------------- */

static const uint32_t OVER = UINT32_MAX;

cli_walk cli_walk_from_leaf(const cli_shown *shown, const cli_stack *stack)
{
    return (cli_walk){shown, stack, stack->leaf, false};
}

cli_walk cli_walk_from_root(const cli_shown *shown, const cli_stack *stack)
{
    return (cli_walk){shown, stack, stack->root, true};
}

static const cli_frame *walk_out(cli_walk *w)
{
    for (;;) {
        const cli_frame *from, *to;
        bool is_part;
        cli_place here = w->next;
        if (cli_walk_location(w, &from, &to, &is_part) == SIZE_MAX)
            return NULL;
        if (from < to) {
            w->next = (cli_place){here.at, here.frames + 1};
            return from;
        }
    }
}

static const cli_frame *walk_in(cli_walk *w)
{
    const cli_stack *stack = w->stack;
    const cli_source *source = &w->shown->sources[stack->side];
    const uint8_t *path = stack->sample + stack->leaf.at;
    while (w->next.at > stack->leaf.at) {
        const uint8_t *at = stack->sample + w->next.at;
        size_t index =
            cli_profile_location_index(source->profile, cli_path_last(&at, path, stack->is_tagged));
        uint32_t first = at == path ? stack->leaf.frames : 0;
        const struct cli_source_location *location = &source->locations[index];
        uint32_t left = location[1].first - location->first - w->next.frames;
        if (left > first) {
            w->next.frames++;
            return source->frames + location->first + left - 1;
        }
        w->next = (cli_place){(uint32_t)(at - stack->sample), 0};
    }
    return NULL;
}

const cli_frame *cli_walk_next(cli_walk *w)
{
    const cli_frame *frame;
    if (w->stack->is_hidden) {
        bool is_over = w->next.at == OVER;
        w->next.at = OVER;
        return is_over ? NULL : &w->shown->frames[w->shown->frames_len];
    }
    do
        frame = w->is_inwards ? walk_in(w) : walk_out(w);
    while (frame && cli_stack_hides(w->shown, w->stack, frame));
    return frame;
}

const cli_frame *cli_stack_leaf(const cli_shown *shown, const cli_stack *stack)
{
    const cli_source *source = &shown->sources[stack->side];
    const cli_frame *from, *to;
    bool is_part;
    if (stack->is_hidden)
        return &shown->frames[shown->frames_len];
    cli_walk w = cli_walk_from_leaf(shown, stack);
    for (size_t at; (at = cli_walk_location(&w, &from, &to, &is_part)) != SIZE_MAX;)
        for (; from < to && !source->locations[at].is_hidden; from++)
            if (!cli_stack_hides(shown, stack, from))
                return from;
    return NULL;
}

/* ---- what is cut off ---------------------------------------------------------------------- */

cli_stack cli_stack_of(const cli_sample *sample, size_t side)
{
    return (cli_stack){.sample = sample->from,
                       .leaf = {(uint32_t)(sample->path - sample->from), 0},
                       .root = {(uint32_t)(sample->path_end - sample->from), 0},
                       .side = (unsigned char)side,
                       .is_tagged = sample->is_tagged};
}

/* Cuts so many frames off the ends. */
static void cut_ends(cli_shown *shown, cli_stack *stack, size_t leaf, size_t root)
{
    cli_walk out = cli_walk_from_leaf(shown, stack), in = cli_walk_from_root(shown, stack);
    while (leaf--)
        shown->is_folded[walk_out(&out)->name] = true;
    while (root--)
        shown->is_folded[walk_in(&in)->name] = true;
    stack->leaf = out.next;
    stack->root = in.next;
}

/* As far as something may be cut off an end. */
enum { LONGEST_END = 4096 };

/* The number of frames at the leaf end that are of the allocator, up to the call that the program made. Takes them
 * off *rest, and sets what the last frame of that calls. */
static size_t count_inner(const cli_shown *shown, cli_stack *rest, unsigned *callee)
{
    const unsigned inner = CLI_FRAME_ALLOCATES | CLI_FRAME_IN_LIBRARY;
    size_t len = 0;
    const cli_frame *frame;
    cli_walk next = cli_walk_from_leaf(shown, rest), out = next, last = next;
    for (; len < LONGEST_END && (frame = walk_out(&next)) && frame->kind & inner; len++) {
        *callee = frame->kind;
        last = out;
        out = next;
    }
    bool is_call = *callee & CLI_FRAME_IN_LIBRARY;
    rest->leaf = is_call ? last.next : out.next;
    return len - is_call;
}

/* The number of frames at the root end that start the program. Sets whether they are all. */
static size_t count_starts(const cli_shown *shown, const cli_stack *rest, unsigned callee,
                           bool *is_all)
{
    size_t len = 0;
    cli_walk in = cli_walk_from_root(shown, rest);
    const cli_frame *frame = walk_in(&in), *next;
    for (; frame && len < LONGEST_END; len++, frame = next) {
        next = walk_in(&in);
        if (!cli_frame_starts(frame->kind, next ? next->kind : callee, !len))
            break;
    }
    *is_all = !frame;
    return len;
}

static bool is_of_python(const cli_frame *frame)
{
    return cli_string_ends(frame->text.file, ".py") ||
           (frame->text.is_foreign && cli_string_begins(frame->text.file, "<"));
}

/* Hides the interpreter's frames of a stack that has both. */
static void hide_interpreter(cli_shown *shown, cli_stack *stack)
{
    const cli_frame *frame;
    if (!shown->has_interpreter)
        return;
    for (cli_walk w = cli_walk_from_leaf(shown, stack);
         !stack->is_python && (frame = walk_out(&w));)
        stack->is_python = is_of_python(frame);
    for (cli_walk w = cli_walk_from_leaf(shown, stack); stack->is_python && (frame = walk_out(&w));)
        if (frame->kind & CLI_FRAME_INTERPRETS)
            shown->is_folded[frame->name] = true;
}

/* Of the allocator and of start-up together, the allocator's outermost function stands for all; of one of them, its
 * last frame. */
size_t cli_stack_fold(cli_shown *shown, cli_stack *stack, bool is_heap)
{
    cli_stack rest = *stack;
    unsigned callee = 0;
    bool is_all;
    size_t leaf = is_heap ? count_inner(shown, &rest, &callee) : 0;
    size_t root = count_starts(shown, &rest, callee, &is_all);
    if (is_all && leaf)
        leaf--;
    else if (is_all && root)
        root--;
    cut_ends(shown, stack, leaf, root);
    hide_interpreter(shown, stack);
    return leaf + root + 2;
}

/* ---- samples ------------------------------------------------------------------------------ */

static uint64_t match_path(const cli_source *source, const cli_sample *sample)
{
    uint64_t matched = 0;
    for (const uint8_t *at = sample->path; at < sample->path_end;) {
        uint64_t id = cli_path_next(&at, sample->is_tagged);
        matched |= source->locations[cli_profile_location_index(source->profile, id)].matches;
    }
    return matched;
}

static void add_values(pprofdelta_sum *sums, const cli_sample *sample)
{
    for (size_t i = 0; i < sample->values_len; i++)
        cli_sum_add(&sums[i], sample->values[i]);
}

/* Whether all filters keep the sample. Adds its values to those that each filter keeps. */
static bool keep_sample(const cli_shown *shown, const cli_source *source, cli_kept *kept,
                        const cli_sample *sample)
{
    const cli_filters *filters = shown->filters;
    uint64_t matched = filters->len ? match_path(source, sample) : 0;
    bool is_kept = true;
    for (size_t i = 0; i < filters->len; i++) {
        const cli_filter *filter = &filters->list[i];
        bool has_match = filter->kind == CLI_FILTER_TAG
                             ? cli_filter_keeps_labels(filter, source->profile, sample)
                             : matched >> i & 1;
        bool keeps =
            filter->kind >= CLI_FILTER_HIDE || has_match == (filter->kind != CLI_FILTER_IGNORE);
        kept->matched[i] += has_match;
        is_kept &= keeps;
        if (keeps)
            add_values(kept->sums + i * sample->values_len, sample);
    }
    if (is_kept)
        add_values(kept->sums + filters->len * sample->values_len, sample);
    kept->samples += is_kept;
    return is_kept;
}

/* The memory of one pass is that of the next. */
static void begin_kept(const cli_shown *shown, cli_kept *kept, const cli_profile *profile)
{
    size_t filters = shown->filters->len;
    size_t sums = (filters + 1) * profile->view->n_sample_type;
    if (!kept->sums)
        *kept = (cli_kept){.sums = cli_keep(sums, sizeof *kept->sums),
                           .matched = cli_keep(filters, sizeof *kept->matched)};
    memset(kept->sums, 0, sums * sizeof *kept->sums);
    memset(kept->matched, 0, filters * sizeof *kept->matched);
    kept->samples = 0;
}

/* As many frames as real profiles have, for their size: more than 8 inlined calls for each byte of an id
 * are in none. */
static uint64_t usual_frames(const cli_shown *shown)
{
    enum { OF_SMALL = 1 << 20, FOR_A_BYTE = 8 };
    uint64_t frames = OF_SMALL;
    for (size_t k = 0; k < shown->sides; k++) {
        const cli_samples *all = &shown->profiles[k].samples;
        frames += FOR_A_BYTE * (uint64_t)(all->end - all->at);
    }
    return frames;
}

static void refuse_frames(const cli_profile *profile, uint64_t most)
{
    cli_error("%s: its stacks have more than %" PRIu64 " frames, most of them inlined calls: the "
              "limit for a profile of this size",
              profile->input.name, most);
    cli_must(cli_hint("--raw shows the records as they are"));
}

void cli_shown_each(cli_shown *shown, uint64_t more, cli_shown_take *take, void *cookie)
{
    uint64_t frames = 0, most = more + usual_frames(shown);
    for (size_t k = 0; k < shown->sides; k++) {
        const cli_source *source = &shown->sources[k];
        const cli_profile *profile = source->profile;
        bool is_heap = cli_profile_has_bytes(profile);
        cli_sample sample;
        begin_kept(shown, &shown->kept[k], profile);
        for (cli_samples rest = profile->samples; cli_samples_next(&rest, &sample);) {
            if (!keep_sample(shown, source, &shown->kept[k], &sample))
                continue;
            cli_stack stack = cli_stack_of(&sample, k);
            if (shown->folds)
                frames += cli_stack_fold(shown, &stack, is_heap);
            stack.is_hidden = sample.path < sample.path_end && !cli_stack_leaf(shown, &stack);
            frames += take(cookie, &stack, &sample);
            if (frames > most)
                refuse_frames(profile, most);
            if (cli_output_is_over())
                return;
        }
    }
}

uint64_t cli_shown_count(void *cookie, const cli_stack *stack, const cli_sample *sample)
{
    const cli_frame *from, *to;
    bool is_part;
    uint64_t frames = 0;
    (void)sample;
    for (cli_walk w = cli_walk_from_leaf(cookie, stack);
         cli_walk_location(&w, &from, &to, &is_part) != SIZE_MAX;)
        frames += (uint64_t)(to - from);
    return frames;
}
