/* What the filters kept, and what is hidden: see shown.h. */
#include "show/shown.h"

#include "message.h"
#include "suggest.h"
#include "show/wrappers.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { ROOM = 1024 };

typedef struct line {
    char text[ROOM];
    size_t len;
} line;

__attribute__((format(printf, 2, 3))) static void add(line *l, const char *format, ...)
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

/* ---- a filter that matches nothing -------------------------------------------------------- */

/* "; nothing matches, and the nearest functions are parse, serve" */
typedef struct listing {
    line text;
    const char *comma;
} listing;

/* A name that is too long loses its middle. */
static void add_listed(listing *l, cli_string text)
{
    enum { MOST = 96, END = 46 };
    add(&l->text, "%s", l->comma);
    if (text.len <= MOST) {
        add_string(&l->text, text);
    } else {
        add_string(&l->text, (cli_string){text.ptr, END});
        add(&l->text, "...");
        add_string(&l->text, (cli_string){text.ptr + text.len - END, END});
    }
    l->comma = ", ";
}

/* What may have been meant is listed: the functions nearest to an expression; the labels, or the values
 * of a label, of a --tag.
 *
 * A function is as near as the nearest of its words is to the longest word of the expression,
 * whatever the case of the letters. */
enum { NEAREST = 3, LABELS = 8, WORD = CLI_SUGGEST_LONGEST, LABEL_ROOM = 256 };

typedef struct word {
    char text[WORD];
    size_t len;
} word;

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Takes the next word of the text, in small letters, and what follows. A word is cut if it is too
 * long. Returns false if there is none. */
static bool next_word(cli_string *text, word *to)
{
    size_t from = 0, end;
    while (from < text->len && !is_letter(text->ptr[from]))
        from++;
    to->len = 0;
    for (end = from; end < text->len && is_letter(text->ptr[end]); end++) {
        char c = text->ptr[end];
        if (to->len < WORD)
            to->text[to->len++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    *text = (cli_string){text->ptr + end, text->len - end};
    return to->len > 0;
}

static word longest_word(const char *text)
{
    cli_string rest = cli_string_of(text);
    word longest = {.len = 0}, next;
    while (next_word(&rest, &next))
        if (next.len >= longest.len)
            longest = next;
    return longest;
}

/* The distance of a name, but at most `most`. */
static size_t distance_of(const word *wanted, cli_string name, size_t most)
{
    word next;
    while (next_word(&name, &next)) {
        size_t more = wanted->len > next.len ? wanted->len - next.len : next.len - wanted->len;
        if (more >= most)
            continue;
        size_t distance = cli_suggest_distance(wanted->text, wanted->len, next.text, next.len);
        most = distance < most ? distance : most;
    }
    return most;
}

typedef struct near {
    cli_string name;
    size_t distance;
} near;

static bool is_nearer(const near *a, const near *b)
{
    return a->distance != b->distance ? a->distance < b->distance : a->name.len < b->name.len;
}

/* Keeps the list sorted, without equal names: the nearest first, and of those the shortest. */
static void consider(near list[NEAREST], cli_string name, const word *wanted)
{
    size_t at = NEAREST - 1;
    near next = {name, distance_of(wanted, name, list[at].distance)};
    if (list[at].name.len && !is_nearer(&next, &list[at]))
        return;
    for (size_t i = 0; i < NEAREST; i++)
        if (list[i].name.len && !cli_string_compare(list[i].name, name))
            return;
    for (; at && (!list[at - 1].name.len || is_nearer(&next, &list[at - 1])); at--)
        list[at] = list[at - 1];
    list[at] = next;
}

static const char *list_functions(const cli_filter *filter, const cli_selection *selections,
                                  size_t sides, listing *to)
{
    near list[NEAREST];
    word wanted = longest_word(filter->text);
    for (size_t i = 0; i < NEAREST; i++)
        list[i] = (near){cli_string_of(""), SIZE_MAX};
    for (size_t side = 0; side < sides; side++)
        for (size_t i = 0; i < selections[side].symbols.len; i++)
            consider(list, selections[side].symbols.names[i], &wanted);
    for (size_t i = 0; i < NEAREST && list[i].name.len; i++)
        add_listed(to, list[i].name);
    return list[0].name.len ? "the nearest functions are" : "there are no functions";
}

typedef struct labels {
    char texts[LABELS][LABEL_ROOM];
    size_t len;
    bool has_more;
} labels;

static void add_label(labels *l, const char *text)
{
    for (size_t i = 0; i < l->len; i++)
        if (!strcmp(l->texts[i], text))
            return;
    l->has_more |= l->len == LABELS;
    if (l->len < LABELS)
        memcpy(l->texts[l->len++], text, strlen(text) + 1);
}

/* Adds the labels of one profile: their values if they have the key, or their keys if key is NULL. */
static void add_labels(labels *l, const cli_profile *profile, const cli_string *key)
{
    const Pd__View__Profile *view = profile->view;
    for (size_t i = 0; i < view->n_sample; i++) {
        for (size_t k = 0; k < view->sample[i]->n_label; k++) {
            const Pd__View__Label *label = view->sample[i]->label[k];
            cli_string name = cli_profile_string(profile, label->key);
            char text[LABEL_ROOM];
            size_t len = 0;
            if (key && cli_string_compare(name, *key) != 0)
                continue;
            if (key && !label->str)
                len = (size_t)snprintf(text, sizeof text, "%" PRId64, label->num);
            cli_string_write(text + len, sizeof text - len,
                             !key         ? name
                             : label->str ? cli_profile_string(profile, label->str)
                                          : cli_profile_string(profile, label->num_unit));
            add_label(l, text);
        }
    }
}

static const char *list_labels(const cli_filter *filter, const cli_selection *selections,
                               size_t sides, listing *to)
{
    labels l = {.len = 0};
    for (size_t side = 0; side < sides; side++)
        add_labels(&l, selections[side].profile, &filter->key);
    bool has_key = l.len;
    for (size_t side = 0; side < sides && !has_key; side++)
        add_labels(&l, selections[side].profile, NULL);
    for (size_t i = 0; i < l.len; i++)
        add_listed(to, cli_string_of(l.texts[i]));
    if (l.has_more)
        add_listed(to, cli_string_of("and more"));
    return has_key ? "its values are" : l.len ? "the labels are" : "no sample has a label";
}

/* Says what the list has, or that there is nothing to list. */
static void add_unmatched(line *l, const cli_shown *shown, const cli_filter *filter)
{
    listing there = {.comma = " "};
    const char *what = filter->kind == CLI_FILTER_TAG
                           ? list_labels(filter, shown->selections, shown->sides, &there)
                           : list_functions(filter, shown->selections, shown->sides, &there);
    add(l, "; nothing matches, and %s%s", what, there.text.text);
}

/* ---- the lines ---------------------------------------------------------------------------- */

static void add_share(line *l, pprofdelta_sum part, pprofdelta_sum whole)
{
    if (cli_sum_is_zero(whole))
        add(l, "-");
    else
        add(l, "%.1f%%", 100 * cli_sum_double(part) / cli_sum_double(whole));
}

static cli_string type_at(const cli_shown *shown, size_t at)
{
    size_t last = shown->sides - 1;
    return cli_profile_type(&shown->profiles[last], shown->types->column[last][at]);
}

/* "12.3% of alloc_space", or "12.3% -> 14.0% of alloc_space". kept[side] is indexed by column. */
static void add_shares(line *l, const cli_shown *shown, const pprofdelta_sum *kept[CLI_SIDES])
{
    const cli_types *types = shown->types;
    for (size_t side = 0; side < shown->sides; side++) {
        size_t column = types->column[side][shown->chosen];
        add(l, "%s", side ? " -> " : "");
        add_share(l, kept[side][column], cli_profile_total(&shown->profiles[side], column));
    }
    add(l, " of ");
    add_string(l, type_at(shown, shown->chosen));
}

static void describe_type(const cli_shown *shown, cli_selection_put put, void *cookie)
{
    line l = {.len = 0};
    add_string(&l, type_at(shown, shown->chosen));
    add(&l, ", because ");
    add_string(&l, type_at(shown, shown->preferred));
    bool is_zero =
        cli_types_are_zero(shown->types, shown->profiles, shown->sides, shown->preferred);
    add(&l, is_zero ? " is 0 in every sample" : " is nearly 0");
    put(cookie, "type", l.text);
}

static void describe_filter(const cli_shown *shown, size_t at, cli_selection_put put, void *cookie)
{
    const cli_filter *filter = &shown->filters->list[at];
    const pprofdelta_sum *kept[CLI_SIDES] = {NULL};
    size_t samples = 0, matched = 0;
    line l = {.len = 0};
    for (size_t side = 0; side < shown->sides; side++) {
        samples += shown->profiles[side].view->n_sample;
        matched += shown->selections[side].matched[at];
        kept[side] = shown->selections[side].kept + at * shown->profiles[side].view->n_sample_type;
    }
    if (filter->kind != CLI_FILTER_HIDE && shown->types->len) {
        add_shares(&l, shown, kept);
        add(&l, ": ");
    }
    add_string(&l, cli_string_of(filter->text));
    if (samples && !matched)
        add_unmatched(&l, shown, filter);
    put(cookie, cli_filter_name(filter->kind), l.text);
}

static void describe_kept(const cli_shown *shown, cli_selection_put put, void *cookie)
{
    const pprofdelta_sum *kept[CLI_SIDES] = {NULL};
    size_t samples = 0, all = 0;
    line l = {.len = 0};
    for (size_t side = 0; side < shown->sides; side++) {
        kept[side] = shown->selections[side].kept_by_all;
        samples += shown->selections[side].len;
        all += shown->profiles[side].view->n_sample;
    }
    add(&l, "%zu of %zu samples", samples, all);
    if (shown->types->len) {
        add(&l, ", ");
        add_shares(&l, shown, kept);
    }
    if (!samples)
        add(&l, "; no sample is left to show");
    put(cookie, "kept", l.text);
}

/* The next name that is folded away on a side; NULL behind the last one. */
static const cli_string *folded_at(const cli_selection *s, size_t *at)
{
    while (*at < s->symbols.len && !s->is_folded[*at])
        (*at)++;
    return *at < s->symbols.len ? &s->symbols.names[*at] : NULL;
}

/* The number of distinct names that are folded away on any side. Both lists of names are sorted. */
static size_t count_folded(const cli_shown *shown)
{
    size_t at[CLI_SIDES] = {0}, count = 0;
    for (;; count++) {
        const cli_string *names[CLI_SIDES] = {NULL}, *least = NULL;
        for (size_t side = 0; side < shown->sides; side++) {
            names[side] = folded_at(&shown->selections[side], &at[side]);
            if (names[side] && (!least || cli_string_compare(*names[side], *least) < 0))
                least = names[side];
        }
        if (!least)
            return count;
        for (size_t side = 0; side < shown->sides; side++)
            at[side] += names[side] && !cli_string_compare(*names[side], *least);
    }
}

void cli_selection_describe(const cli_shown *shown, cli_selection_put put, void *cookie)
{
    char text[CLI_WRAPPERS_ROOM];
    if (shown->chosen != shown->preferred)
        describe_type(shown, put, cookie);
    for (size_t i = 0; i < shown->filters->len; i++)
        describe_filter(shown, i, put, cookie);
    if (shown->selections[0].has_filters)
        describe_kept(shown, put, cookie);
    size_t folded = count_folded(shown);
    if (folded)
        put(cookie, "hidden", cli_wrappers_describe(folded, text));
}

static void note(void *cookie, const char *title, const char *text)
{
    (void)cookie;
    cli_note("%s: %s", title, text);
}

void cli_selection_note(const cli_shown *shown)
{
    cli_selection_describe(shown, note, NULL);
}

const char *cli_shown_zero(const cli_shown *shown)
{
    if (!cli_types_are_zero(shown->types, shown->profiles, shown->sides, shown->chosen))
        return "";
    return shown->only_chosen ? ": all is 0; --type=TYPE shows another type" : ": all is 0";
}
