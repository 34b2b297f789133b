/* What the filters kept, and what is hidden: see shown.h. */
#include "show/shown.h"

#include "keep.h"
#include "message.h"

#include <inttypes.h>
#include <string.h>

/* ---- a --tag that matches nothing --------------------------------------------------------- */

/* The labels that there are, or the values of the label, are listed. */
enum { LONGEST = 96, LABELS = 8 };

typedef struct labels {
    char texts[LABELS + 1][LONGEST + 1];
    size_t len;
} labels;

static void add_label(labels *l, const char *text)
{
    for (size_t i = 0; i < l->len; i++)
        if (!strcmp(l->texts[i], text))
            return;
    if (l->len <= LABELS)
        strcpy(l->texts[l->len++], text);
}

/* Adds the labels of all samples: their values if they have the key, or their keys if key is NULL. */
static void find_labels(labels *l, const cli_profile *profile, const cli_string *key)
{
    cli_sample sample;
    for (cli_samples rest = profile->samples; cli_samples_next(&rest, &sample);) {
        Pd__View__Sample *message = sample.has_labels ? cli_sample_unpack(&sample) : NULL;
        for (size_t k = 0; message && k < message->n_label; k++) {
            const Pd__View__Label *label = message->label[k];
            cli_string name = cli_profile_string(profile, label->key);
            char text[LONGEST + 1];
            size_t len = 0;
            if (key && cli_string_compare(name, *key) != 0)
                continue;
            if (key && !label->str)
                len = (size_t)snprintf(text, sizeof text, "%" PRId64, label->num);
            if (key)
                name = cli_profile_string(profile, label->str ? label->str : label->num_unit);
            cli_string_write(text + len, sizeof text - len, name);
            add_label(l, text);
        }
        cli_sample_drop(message);
    }
}

/* ", and its values are x, y", or the labels that there are. */
static const char *list_labels(const cli_shown *shown, const cli_filter *filter)
{
    labels found = {.len = 0};
    for (size_t side = 0; side < shown->sides; side++)
        find_labels(&found, &shown->profiles[side], &filter->key);
    bool has_key = found.len;
    for (size_t side = 0; side < shown->sides && !has_key; side++)
        find_labels(&found, &shown->profiles[side], NULL);
    const char *list = has_key     ? ", and its values are "
                       : found.len ? ", and the labels are "
                                   : ", and no sample has a label";
    for (size_t i = 0; i < found.len && i < LABELS; i++)
        list = cli_keep_print("%s%s%s", list, i ? ", " : "", found.texts[i]);
    return cli_keep_print("%s%s", list, found.len > LABELS ? ", and more" : "");
}

/* ---- the lines ---------------------------------------------------------------------------- */

static void add_note(cli_notes *notes, const char *title, const char *text)
{
    notes->list[notes->len].title = title;
    notes->list[notes->len++].text = text;
}

static const char *name_of(const cli_shown *shown, size_t type)
{
    return cli_keep_shown(cli_types_name(shown, type));
}

/* "12.3% of alloc_space", or "12.3% -> 14.0% of alloc_space": what a filter keeps, or all filters if
 * it is the number behind the last. */
static const char *shares_of(const cli_shown *shown, size_t filter)
{
    char text[CLI_SHARE_ROOM];
    const char *shares = "";
    for (size_t side = 0; side < shown->sides; side++) {
        size_t types = shown->profiles[side].view->n_sample_type;
        size_t column = shown->types.column[side][shown->chosen];
        cli_share_format(shown->kept[side].sums[filter * types + column],
                         cli_types_total(shown, side, shown->chosen), text);
        shares = cli_keep_print("%s%s%s", shares, side ? " -> " : "", text);
    }
    return cli_keep_print("%s of %s", shares, name_of(shown, shown->chosen));
}

/* The in-use values of a window of record are no levels that can be compared. */
static void describe_in_use(const cli_shown *shown, cli_notes *notes)
{
    bool is_change = false;
    for (size_t side = 0; side < shown->sides; side++)
        is_change |= shown->profiles[side].census.stamp.live == PPROFDELTA_LIVE_DELTA;
    if (shown->sides > 1 && is_change)
        add_note(
            notes, "in use",
            "a window of record has the change in that window; pprofdelta sum of all windows up to "
            "one has what was in use then");
}

static void describe_filter(const cli_shown *shown, size_t at, cli_notes *notes)
{
    const cli_filter *filter = &shown->filters->list[at];
    size_t samples = 0, matched = 0;
    for (size_t side = 0; side < shown->sides; side++) {
        samples += shown->profiles[side].samples.len;
        matched += shown->kept[side].matched[at];
    }
    bool has_shares = filter->kind < CLI_FILTER_HIDE && shown->types.len;
    bool is_missed = samples && !matched;
    add_note(notes, cli_filter_name(filter->kind),
             cli_keep_print(
                 "%s%s%s%s%s", has_shares ? shares_of(shown, at) : "", has_shares ? ": " : "",
                 cli_keep_shown(cli_string_of(filter->text)), is_missed ? "; nothing matches" : "",
                 is_missed && filter->kind == CLI_FILTER_TAG ? list_labels(shown, filter) : ""));
}

static void describe_kept(const cli_shown *shown, cli_notes *notes)
{
    size_t samples = 0, all = 0;
    for (size_t side = 0; side < shown->sides; side++) {
        samples += shown->kept[side].samples;
        all += shown->profiles[side].samples.len;
    }
    add_note(notes, "kept",
             cli_keep_print("%zu of %zu samples%s%s%s", samples, all, shown->types.len ? ", " : "",
                            shown->types.len ? shares_of(shown, shown->filters->len) : "",
                            samples ? "" : "; no sample is left to show"));
}

cli_notes cli_notes_of(const cli_shown *shown)
{
    cli_notes notes = {.len = 0};
    bool has_filters = false;
    size_t folded = 0;
    if (shown->chosen != shown->preferred)
        add_note(&notes, "type",
                 cli_keep_print("%s, because %s is %s", name_of(shown, shown->chosen),
                                name_of(shown, shown->preferred),
                                cli_types_are_zero(shown, shown->preferred) ? "0 in every sample"
                                                                            : "nearly 0"));
    describe_in_use(shown, &notes);
    for (size_t i = 0; i < shown->filters->len; i++) {
        describe_filter(shown, i, &notes);
        has_filters |= shown->filters->list[i].kind < CLI_FILTER_HIDE;
    }
    if (has_filters)
        describe_kept(shown, &notes);
    for (size_t i = 0; i < shown->names_len; i++)
        folded += shown->is_folded[i];
    if (folded)
        add_note(&notes, "hidden",
                 cli_keep_print("%zu wrapper and start-up function%s; --all-frames shows %s",
                                folded, folded == 1 ? "" : "s", folded == 1 ? "it" : "them"));
    return notes;
}

void cli_notes_print(const cli_shown *shown)
{
    const cli_notes notes = cli_notes_of(shown);
    for (size_t i = 0; i < notes.len; i++)
        cli_note("%s: %s", notes.list[i].title, notes.list[i].text);
}
