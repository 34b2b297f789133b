/* What is shown of one profile: see selection.h.
 *
 * A pattern is matched once with each distinct name and each file, never with each frame of each
 * sample. Each frame of a location then has a few bits, and a sample is judged by those. */
#include "show/selection.h"

#include "cli.h"
#include "message.h"
#include "show/frame_place.h"
#include "show/short_names.h"
#include "show/wrappers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char hidden_name[] = "(hidden)";

typedef struct work {
    cli_selection *selection;
    const cli_filters *filters;
    uint64_t *matches;    /* for each frame: the bits of the filters that match it */
    unsigned char *kinds; /* for each frame: see wrappers.h */
    unsigned char *cut;   /* the kinds of one stack */
    uint32_t *stack;      /* the frames of one stack, leaf first */
    uint64_t hides;       /* the bits of the filters that hide */
    size_t deepest;       /* frames of one stack */
    size_t frames_cap;
    bool is_heap;
    bool folds;
} work;

_Static_assert(CLI_FILTERS_MAX <= 64, "a filter is a bit");

/* ---- frames ------------------------------------------------------------------------------- */

/* Matches for strings of the string table, each made when it is needed first. */
typedef struct file_matches {
    uint64_t *bits;
    unsigned char *is_known;
} file_matches;

static uint64_t match(const cli_filters *filters, cli_string text)
{
    uint64_t bits = 0;
    for (size_t i = 0; filters && i < filters->len; i++)
        if (filters->list[i].kind != CLI_FILTER_TAG &&
            cli_pattern_matches(&filters->list[i].pattern, text))
            bits |= UINT64_C(1) << i;
    return bits;
}

static uint64_t match_file(file_matches *files, const work *w, int64_t index)
{
    const cli_profile *profile = w->selection->profile;
    if (index <= 0 || (uint64_t)index >= profile->view->n_string_table)
        return 0;
    if (!files->is_known[index]) {
        files->bits[index] = match(w->filters, cli_profile_string(profile, index));
        files->is_known[index] = 1;
    }
    return files->bits[index];
}

static void judge_location(work *w, file_matches *files, const uint64_t *names, size_t at)
{
    const cli_selection *s = w->selection;
    const Pd__View__Location *location = s->profile->view->location[at];
    const Pd__View__Mapping *mapping = cli_profile_mapping(s->profile, location->mapping_id);
    cli_string module = cli_string_of("");
    uint64_t of_module = 0;
    if (mapping) {
        module = cli_profile_string(s->profile, mapping->filename);
        of_module = names ? match_file(files, w, mapping->filename) : 0;
    }
    for (size_t frame = s->symbols.first[at]; frame < s->symbols.first[at + 1]; frame++) {
        size_t line = frame - s->symbols.first[at];
        const Pd__View__Function *function =
            line < location->n_line
                ? cli_profile_function(s->profile, location->line[line]->function_id)
                : NULL;
        uint32_t name = s->symbols.frames[frame];
        if (names && function)
            w->matches[frame] =
                match_file(files, w, function->filename) | match_file(files, w, function->name);
        if (names)
            w->matches[frame] |= names[name] | of_module;
        cli_string source = cli_profile_string(s->profile, function ? function->filename : 0);
        w->kinds[frame] =
            (unsigned char)cli_frame_kind(s->symbols.names[name], module, source, !function);
    }
}

/* The full name matches, and the short one. */
static bool judge_frames(work *w)
{
    char shortened[CLI_SHORT_NAME_MAX];
    const cli_symbols *symbols = &w->selection->symbols;
    size_t strings = w->selection->profile->view->n_string_table;
    bool has_patterns = w->filters && w->filters->len;
    file_matches files = {NULL, NULL};
    uint64_t *names = NULL;
    bool is_ready = true;
    if (has_patterns) {
        files.bits = calloc(strings + 1, sizeof *files.bits);
        files.is_known = calloc(strings + 1, 1);
        names = calloc(symbols->len + 1, sizeof *names);
        is_ready = files.bits && files.is_known && names;
    }
    for (size_t i = 0; is_ready && names && i < symbols->len; i++)
        names[i] = match(w->filters, cli_short_name(symbols->names[i], shortened));
    for (size_t i = 0; is_ready && i < w->selection->profile->view->n_location; i++)
        judge_location(w, &files, names, i);
    free(files.bits);
    free(files.is_known);
    free(names);
    return is_ready;
}

/* ---- samples ------------------------------------------------------------------------------ */

/* Writes the frames of the sample to w->stack, leaf first. Returns their number. */
static size_t unfold(work *w, const Pd__View__Sample *sample)
{
    const cli_selection *s = w->selection;
    size_t len = 0;
    for (size_t i = 0; i < sample->n_location_id; i++) {
        size_t at = cli_profile_location_index(s->profile, sample->location_id[i]);
        for (size_t k = s->symbols.first[at]; k < s->symbols.first[at + 1]; k++)
            w->stack[len++] = (uint32_t)k;
    }
    return len;
}

/* Whether all filters keep the sample. Adds its values to those that each filter keeps. */
static bool keep(work *w, const Pd__View__Sample *sample, size_t len)
{
    cli_selection *s = w->selection;
    uint64_t matched = 0;
    bool is_kept = true;
    for (size_t i = 0; i < len; i++)
        matched |= w->matches[w->stack[i]];
    for (size_t i = 0; w->filters && i < w->filters->len; i++) {
        const cli_filter *filter = &w->filters->list[i];
        bool has_match = matched >> i & 1, keeps = true;
        if (filter->kind == CLI_FILTER_TAG)
            keeps = cli_filter_keeps_labels(filter, s->profile, sample);
        else if (filter->kind != CLI_FILTER_HIDE)
            keeps = has_match == (filter->kind == CLI_FILTER_FOCUS);
        s->matched[i] += filter->kind == CLI_FILTER_TAG ? keeps : has_match;
        is_kept &= keeps;
        for (size_t c = 0; keeps && c < sample->n_value; c++)
            cli_sum_add(&s->kept[i * s->profile->view->n_sample_type + c], sample->value[c]);
    }
    for (size_t c = 0; is_kept && c < sample->n_value; c++)
        cli_sum_add(&s->kept_by_all[c], sample->value[c]);
    return is_kept;
}

static void fold(work *w, size_t from, size_t to)
{
    cli_selection *s = w->selection;
    for (size_t i = from; i < to; i++)
        s->is_folded[s->symbols.frames[w->stack[i]]] = 1;
}

/* Appends the frames that are shown of w->stack. */
static void show(work *w, size_t len)
{
    cli_selection *s = w->selection;
    size_t from = 0, to = len, at = s->first[s->len], shown = at;
    for (size_t i = 0; i < len; i++)
        w->cut[i] = w->kinds[w->stack[i]];
    if (w->folds)
        cli_wrappers_cut(w->cut, len, w->is_heap, &from, &to);
    fold(w, 0, from);
    fold(w, to, len);
    for (size_t i = from; i < to; i++)
        if (!(w->matches[w->stack[i]] & w->hides))
            s->frames[shown++] = w->stack[i];
    if (shown == at && len)
        s->frames[shown++] = (uint32_t)s->symbols.frames_len; /* see name_hidden */
    s->first[s->len + 1] = shown;
}

static void select_samples(work *w)
{
    cli_selection *s = w->selection;
    const Pd__View__Profile *view = s->profile->view;
    for (size_t i = 0; i < view->n_sample; i++) {
        size_t len = unfold(w, view->sample[i]);
        if (!keep(w, view->sample[i], len))
            continue;
        show(w, len);
        s->samples[s->len++] = i;
    }
}

/* The name of the one frame that stacks have of which every frame is hidden. The names stay
 * sorted. All lists have room for one more. */
static void name_hidden(cli_selection *s)
{
    cli_symbols *symbols = &s->symbols;
    cli_string name = cli_string_of(hidden_name);
    size_t at = 0;
    while (at < symbols->len && cli_string_compare(symbols->names[at], name) < 0)
        at++;
    symbols->frames[symbols->frames_len] = (uint32_t)at;
    if (at < symbols->len && !cli_string_compare(symbols->names[at], name))
        return;
    memmove(symbols->names + at + 1, symbols->names + at,
            (symbols->len - at) * sizeof *symbols->names);
    memmove(s->is_folded + at + 1, s->is_folded + at, symbols->len - at);
    symbols->names[at] = name;
    s->is_folded[at] = 0;
    symbols->len++;
    for (size_t i = 0; i < symbols->frames_len; i++)
        symbols->frames[i] += symbols->frames[i] >= at;
}

static bool has_hidden(const cli_selection *s)
{
    for (size_t i = 0; i < s->first[s->len]; i++)
        if (s->frames[i] == s->symbols.frames_len)
            return true;
    return false;
}

/* ---- memory ------------------------------------------------------------------------------- */

/* Counts the frames of all samples, and those of the deepest stack. */
static void count_frames(work *w)
{
    const cli_selection *s = w->selection;
    for (size_t i = 0; i < s->profile->view->n_sample; i++) {
        const Pd__View__Sample *sample = s->profile->view->sample[i];
        size_t len = 0;
        for (size_t j = 0; j < sample->n_location_id; j++) {
            size_t at = cli_profile_location_index(s->profile, sample->location_id[j]);
            len += s->symbols.first[at + 1] - s->symbols.first[at];
        }
        w->frames_cap += len;
        w->deepest = len > w->deepest ? len : w->deepest;
    }
}

static bool reserve(work *w)
{
    cli_selection *s = w->selection;
    size_t types = s->profile->view->n_sample_type, samples = s->profile->view->n_sample;
    count_frames(w);
    s->samples = calloc(samples + 1, sizeof *s->samples);
    s->first = calloc(samples + 2, sizeof *s->first);
    s->frames = calloc(w->frames_cap + 1, sizeof *s->frames);
    s->is_folded = calloc(s->symbols.len + 1, 1);
    s->kept = calloc((w->filters ? w->filters->len : 0) * types + 1, sizeof *s->kept);
    s->kept_by_all = calloc(types + 1, sizeof *s->kept_by_all);
    s->matched = calloc((w->filters ? w->filters->len : 0) + 1, sizeof *s->matched);
    w->matches = calloc(s->symbols.frames_len + 1, sizeof *w->matches);
    w->kinds = calloc(s->symbols.frames_len + 1, 1);
    w->cut = calloc(w->deepest + 1, 1);
    w->stack = calloc(w->deepest + 1, sizeof *w->stack);
    return s->samples && s->first && s->frames && s->is_folded && s->kept && s->kept_by_all &&
           s->matched && w->matches && w->kinds && w->cut && w->stack;
}

static void release(work *w)
{
    free(w->matches);
    free(w->kinds);
    free(w->cut);
    free(w->stack);
}

int cli_selection_make(cli_selection *selection, const cli_profile *profile,
                       const cli_filters *filters, cli_folding folding)
{
    work w = {
        .selection = selection, .filters = filters, .is_heap = cli_profile_has_bytes(profile)};
    *selection = (cli_selection){.profile = profile};
    w.folds = folding == CLI_FOLD_WRAPPERS && !(filters && filters->shows_wrappers);
    for (size_t i = 0; filters && i < filters->len; i++) {
        if (filters->list[i].kind == CLI_FILTER_HIDE)
            w.hides |= UINT64_C(1) << i;
        else
            selection->has_filters = true;
    }
    int code = cli_symbols_make(&selection->symbols, profile, folding == CLI_FOLD_WRAPPERS);
    if (code)
        return code;
    bool is_ready = reserve(&w) && judge_frames(&w);
    if (is_ready) {
        select_samples(&w);
        if (has_hidden(selection))
            name_hidden(selection);
    }
    release(&w);
    return is_ready ? CLI_DONE : cli_system_error(profile->input.name, "show", ENOMEM);
}

void cli_selection_free(cli_selection *selection)
{
    cli_symbols_free(&selection->symbols);
    free(selection->samples);
    free(selection->first);
    free(selection->frames);
    free(selection->is_folded);
    free(selection->kept);
    free(selection->kept_by_all);
    free(selection->matched);
    *selection = (cli_selection){0};
}

cli_string cli_selection_name(const cli_selection *selection, size_t frame)
{
    return selection->symbols.names[selection->symbols.frames[frame]];
}
