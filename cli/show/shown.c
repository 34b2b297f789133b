/* What the filters kept, and what is hidden: see shown.h. */
#include "show/shown.h"

#include "message.h"
#include "show/unmatched.h"
#include "show/wrappers.h"

#include <stdarg.h>
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

/* "; nothing matches, and the nearest functions are parse, serve" */
typedef struct listing {
    line text;
    const char *comma;
} listing;

/* A name that is too long loses its middle. */
static void add_listed(void *cookie, cli_string text)
{
    enum { MOST = 96, END = 46 };
    listing *l = cookie;
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

static void add_unmatched(line *l, const cli_shown *shown, const cli_filter *filter)
{
    listing there = {.comma = " "};
    const char *what =
        cli_unmatched_list(filter, shown->selections, shown->sides, add_listed, &there);
    add(l, "; nothing matches, and %s%s", what, there.text.text);
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
