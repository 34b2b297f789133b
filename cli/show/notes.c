/* What the filters kept, and what is hidden: see shown.h. */
#include "show/shown.h"

#include "message.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

enum { ROOM = 1024 };

typedef struct line {
    char text[ROOM];
    size_t len;
} line;

__attribute__((format(printf, 2, 3))) static void add_text(line *l, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int len = vsnprintf(l->text + l->len, sizeof l->text - l->len, format, values);
    va_end(values);
    if (len > 0)
        l->len += (size_t)len < sizeof l->text - l->len ? (size_t)len : sizeof l->text - l->len - 1;
}

static void add_string(line *l, cli_string string)
{
    l->len += cli_string_write(l->text + l->len, sizeof l->text - l->len, string);
}

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

/* "; nothing matches, and its values are x, y", or the labels that there are. */
static void add_labels(line *l, const cli_shown *shown, const cli_filter *filter)
{
    labels found = {.len = 0};
    for (size_t side = 0; side < shown->sides; side++)
        find_labels(&found, &shown->profiles[side], &filter->key);
    bool has_key = found.len;
    for (size_t side = 0; side < shown->sides && !has_key; side++)
        find_labels(&found, &shown->profiles[side], NULL);
    add_text(l, has_key     ? ", and its values are "
                : found.len ? ", and the labels are "
                            : ", and no sample has a label");
    for (size_t i = 0; i < found.len && i < LABELS; i++)
        add_text(l, "%s%s", i ? ", " : "", found.texts[i]);
    add_text(l, "%s", found.len > LABELS ? ", and more" : "");
}

/* ---- the lines ---------------------------------------------------------------------------- */

/* "12.3% of alloc_space", or "12.3% -> 14.0% of alloc_space": what a filter keeps, or all filters if
 * it is the number behind the last. */
static void add_shares(line *l, const cli_shown *shown, size_t filter)
{
    char text[CLI_SHARE_ROOM];
    for (size_t side = 0; side < shown->sides; side++) {
        size_t types = shown->profiles[side].view->n_sample_type;
        size_t column = shown->types.column[side][shown->chosen];
        add_text(l, "%s%s", side ? " -> " : "",
                 cli_share_format(shown->kept[side].sums[filter * types + column],
                                  cli_types_total(shown, side, shown->chosen), text));
    }
    add_text(l, " of ");
    add_string(l, cli_types_name(shown, shown->chosen));
}

static void describe_type(const cli_shown *shown, cli_notes_put put, void *cookie)
{
    line l = {.len = 0};
    add_string(&l, cli_types_name(shown, shown->chosen));
    add_text(&l, ", because ");
    add_string(&l, cli_types_name(shown, shown->preferred));
    add_text(&l, cli_types_are_zero(shown, shown->preferred) ? " is 0 in every sample"
                                                             : " is nearly 0");
    put(cookie, "type", l.text);
}

/* The in-use values of a window of record are no levels that can be compared. */
static void describe_in_use(const cli_shown *shown, cli_notes_put put, void *cookie)
{
    bool is_change = false;
    for (size_t side = 0; side < shown->sides; side++)
        is_change |= shown->profiles[side].census.stamp.live == PPROFDELTA_LIVE_DELTA;
    if (shown->sides > 1 && is_change)
        put(cookie, "in use",
            "a window of record has the change in that window; pprofdelta sum of all windows up to "
            "one has what was in use then");
}

static void describe_filter(const cli_shown *shown, size_t at, cli_notes_put put, void *cookie)
{
    const cli_filter *filter = &shown->filters->list[at];
    size_t samples = 0, matched = 0;
    line l = {.len = 0};
    for (size_t side = 0; side < shown->sides; side++) {
        samples += shown->profiles[side].samples.len;
        matched += shown->kept[side].matched[at];
    }
    if (filter->kind < CLI_FILTER_HIDE && shown->types.len) {
        add_shares(&l, shown, at);
        add_text(&l, ": ");
    }
    add_string(&l, cli_string_of(filter->text));
    if (samples && !matched) {
        add_text(&l, "; nothing matches");
        if (filter->kind == CLI_FILTER_TAG)
            add_labels(&l, shown, filter);
    }
    put(cookie, cli_filter_name(filter->kind), l.text);
}

static void describe_kept(const cli_shown *shown, cli_notes_put put, void *cookie)
{
    size_t samples = 0, all = 0;
    line l = {.len = 0};
    for (size_t side = 0; side < shown->sides; side++) {
        samples += shown->kept[side].samples;
        all += shown->profiles[side].samples.len;
    }
    add_text(&l, "%zu of %zu samples", samples, all);
    if (shown->types.len) {
        add_text(&l, ", ");
        add_shares(&l, shown, shown->filters->len);
    }
    if (!samples)
        add_text(&l, "; no sample is left to show");
    put(cookie, "kept", l.text);
}

void cli_notes_describe(const cli_shown *shown, cli_notes_put put, void *cookie)
{
    line hidden = {.len = 0};
    bool has_filters = false;
    size_t folded = 0;
    if (shown->chosen != shown->preferred)
        describe_type(shown, put, cookie);
    describe_in_use(shown, put, cookie);
    for (size_t i = 0; i < shown->filters->len; i++) {
        describe_filter(shown, i, put, cookie);
        has_filters |= shown->filters->list[i].kind < CLI_FILTER_HIDE;
    }
    if (has_filters)
        describe_kept(shown, put, cookie);
    for (size_t i = 0; i < shown->names_len; i++)
        folded += shown->is_folded[i];
    add_text(&hidden, "%zu wrapper and start-up function%s; --all-frames shows %s", folded,
             folded == 1 ? "" : "s", folded == 1 ? "it" : "them");
    if (folded)
        put(cookie, "hidden", hidden.text);
}

static void print_note(void *cookie, const char *title, const char *text)
{
    (void)cookie;
    cli_note("%s: %s", title, text);
}

void cli_notes_print(const cli_shown *shown)
{
    cli_notes_describe(shown, print_note, NULL);
}
