/* pprofdelta show --stacks: the whole stacks that count most, leaf first.
 *
 *     1.  4.00MiB  12.3%  alloc_space 8.00MiB, inuse_objects 50
 *         parse  src/parse.c:120
 *         main   src/main.c:30
 *
 * Of one profile, stacks are one if their frames have the same names, files and lines. Of PREV and
 * CUR they are one if their frames have the same names, because lines move from build to build;
 * they are sorted by the size of the change:
 *
 *     1.  1.00KiB -> 1.56KiB  +600B
 *
 * And --folded: one line for each stack, as flame graph tools read it.
 *
 *     main;serve;parse 4096             one profile
 *     main;serve;parse 2048 4096        PREV and CUR, as difffolded.pl writes them
 */
#include "show/forms.h"

#include "base/sum.h"
#include "cli.h"
#include "message.h"
#include "output_file.h"
#include "show/frame_place.h"
#include "show/heading.h"
#include "show/screen.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* One stack to print. */
typedef struct entry {
    const struct listing *listing;
    size_t at, end;                 /* it is stacks[at] to stacks[end - 1] */
    pprofdelta_sum sums[CLI_SIDES]; /* of the chosen type */
    pprofdelta_sum weight;          /* by which it is sorted */
} entry;

typedef struct listing {
    const cli_shown *shown;
    cli_stacks stacks;
    entry *entries; /* sorted, without those of weight 0 */
    size_t len;
} listing;

/* ---- places ------------------------------------------------------------------------------- */

/* The place of frame i, counted from the leaf. */
static cli_place place_of(const listing *l, const cli_stack *stack, size_t i)
{
    const cli_selection *s = &l->shown->selections[stack->side];
    return cli_place_of(s->profile, &s->symbols, stack->places[i]);
}

/* An element of the list that sorts the stacks of a group by their places. */
typedef struct placed {
    const listing *listing;
    cli_stack stack;
} placed;

static int compare_places(const listing *l, const cli_stack *x, const cli_stack *y)
{
    for (size_t i = 0; i < x->len; i++) {
        cli_place a = place_of(l, x, i), b = place_of(l, y, i);
        int order = x->places[i] == y->places[i] ? 0 : cli_place_compare(&a, &b);
        if (order)
            return order;
    }
    return 0;
}

static int by_places(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    return compare_places(x->listing, &x->stack, &y->stack);
}

/* Sorts the stacks of a group, which all have the same names and are of one profile. */
static bool sort_group(listing *l, size_t at, size_t end)
{
    if (end - at < 2)
        return true;
    placed *list = calloc(end - at, sizeof *list);
    if (!list)
        return false;
    for (size_t i = at; i < end; i++)
        list[i - at] = (placed){l, l->stacks.stacks[i]};
    qsort(list, end - at, sizeof *list, by_places);
    for (size_t i = at; i < end; i++)
        l->stacks.stacks[i] = list[i - at].stack;
    free(list);
    return true;
}

/* ---- adding up ---------------------------------------------------------------------------- */

static pprofdelta_sum sum_of(const listing *l, const entry *e, size_t side, size_t type)
{
    return cli_stacks_group_sum(&l->stacks, e->at, e->end, side,
                                l->shown->types->column[side][type]);
}

static void add_entry(listing *l, size_t at, size_t end)
{
    entry e = {.listing = l, .at = at, .end = end};
    for (size_t side = 0; side < l->shown->sides; side++)
        e.sums[side] = sum_of(l, &e, side, l->shown->chosen);
    e.weight = e.sums[0];
    if (l->shown->sides > 1)
        e.weight = cli_sum_minus(e.sums[1], e.sums[0]);
    if (!cli_sum_is_zero(e.weight))
        l->entries[l->len++] = e;
}

/* Splits a group of one profile where the places differ. */
static bool add_group(listing *l, size_t at, size_t end)
{
    if (l->shown->sides > 1) {
        add_entry(l, at, end);
        return true;
    }
    if (!sort_group(l, at, end))
        return false;
    for (size_t from = at, to; from < end; from = to) {
        const cli_stack *stacks = l->stacks.stacks;
        to = from + 1;
        while (to < end && !compare_places(l, &stacks[from], &stacks[to]))
            to++;
        add_entry(l, from, to);
    }
    return true;
}

/* By size; equal ones in the order of their names. */
static int by_weight(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    int order = cli_sum_compare(cli_sum_size(y->weight), cli_sum_size(x->weight));
    return order ? order : (x->at > y->at) - (x->at < y->at);
}

static int add_up(listing *l)
{
    const cli_shown *shown = l->shown;
    int code = cli_stacks_make(&l->stacks, shown->selections, shown->sides);
    if (code)
        return code;
    l->entries = calloc(l->stacks.len + 1, sizeof *l->entries);
    bool is_ready = l->entries != NULL;
    for (size_t at = 0, end; is_ready && at < l->stacks.len; at = end) {
        end = cli_stacks_group_end(&l->stacks, at);
        is_ready = add_group(l, at, end);
    }
    if (!is_ready)
        return cli_system_error(shown->profiles[shown->sides - 1].input.name, "show", ENOMEM);
    qsort(l->entries, l->len, sizeof *l->entries, by_weight);
    return CLI_DONE;
}

/* ---- printing ----------------------------------------------------------------------------- */

static void put_caption(const listing *l, size_t stacks)
{
    const cli_shown *shown = l->shown;
    size_t last = shown->sides - 1;
    const char *changed = last ? " that changed" : "";
    if (stacks < l->len)
        printf("\nthe first %zu of %zu stacks%s, by ", stacks, l->len, changed);
    else
        printf("\n%zu stack%s%s, by ", l->len, l->len == 1 ? "" : "s", changed);
    cli_string_put(
        stdout, cli_profile_type(&shown->profiles[last], shown->types->column[last][shown->chosen]),
        CLI_TEXT_SHOWN);
    const char *zero = cli_shown_zero(shown);
    puts(*zero ? zero : ", leaf first");
}

/* The sums of the types that the list is not sorted by. */
static void put_others(const listing *l, const entry *e)
{
    const cli_shown *shown = l->shown;
    const char *comma = "  ";
    for (size_t i = 0; i < shown->types->len && !shown->only_chosen; i++) {
        char text[48];
        size_t column = shown->types->column[0][i];
        if (i == shown->chosen)
            continue;
        fputs(comma, stdout);
        cli_string_put(stdout, cli_profile_type(shown->profiles, column), CLI_TEXT_SHOWN);
        printf(" %s", cli_units_format(sum_of(l, e, 0, i),
                                       cli_profile_unit(shown->profiles, column), text));
        comma = ", ";
    }
}

static void put_values(const listing *l, const entry *e, const cli_ink *ink)
{
    const cli_shown *shown = l->shown;
    size_t last = shown->sides - 1, column = shown->types->column[last][shown->chosen];
    cli_string unit = cli_profile_unit(&shown->profiles[last], column);
    char text[CLI_CHANGE_ROOM];
    if (last) {
        printf("%s -> ", cli_units_format(e->sums[0], unit, text));
        printf("%s  %s", cli_units_format(e->sums[1], unit, text),
               cli_screen_change_ink(ink, e->weight));
        printf("%s%s", cli_units_format_change(e->weight, unit, text), ink->end);
        return;
    }
    pprofdelta_sum total = cli_profile_total(shown->profiles, column);
    printf("%s%s%s", ink->bold, cli_units_format(e->weight, unit, text), ink->end);
    if (!cli_sum_is_zero(total))
        printf("  %.1f%%", 100 * cli_sum_double(e->weight) / cli_sum_double(total));
    put_others(l, e);
}

static bool put_stack(const listing *l, const entry *e)
{
    const cli_stack *stack = &l->stacks.stacks[e->at];
    cli_frame_text *frames = calloc(stack->len + 1, sizeof *frames);
    if (!frames)
        return false;
    for (size_t i = 0; i < stack->len; i++) {
        frames[i].name = l->stacks.names[stack->frames[stack->len - 1 - i]];
        frames[i].place = cli_stacks_group_place(&l->stacks, e->at, e->end, i);
    }
    if (!stack->len)
        puts("    (no stack)");
    cli_frames_put(frames, stack->len, "    ");
    free(frames);
    return true;
}

static int put_listing(const listing *l)
{
    size_t stacks = l->len < l->shown->most ? l->len : l->shown->most;
    cli_ink ink = cli_screen_ink();
    put_caption(l, stacks);
    for (size_t i = 0; i < stacks && !cli_output_is_over(); i++) {
        printf("%s%zu.  ", i ? "\n" : "", i + 1);
        put_values(l, &l->entries[i], &ink);
        putchar('\n');
        if (!put_stack(l, &l->entries[i]))
            return cli_system_error(l->shown->profiles->input.name, "show", ENOMEM);
    }
    return CLI_DONE;
}

int cli_show_stacks(const cli_shown *shown)
{
    listing l = {.shown = shown};
    int code = add_up(&l);
    if (!code)
        code = cli_heading_put(shown);
    if (!code)
        code = put_listing(&l);
    cli_stacks_free(&l.stacks);
    free(l.entries);
    return code;
}

/* ---- --folded ----------------------------------------------------------------------------- */

/* Prints a name. ';' becomes ':', because ';' separates names; line ends are escaped. */
static void put_name(cli_string name)
{
    for (size_t at = 0; at < name.len;) {
        cli_glyph glyph = cli_text_next(name.ptr + at, name.len - at, CLI_TEXT_SHOWN);
        if (name.ptr[at] == ';')
            putchar(':');
        else
            fwrite(glyph.bytes, 1, glyph.len, stdout);
        at += glyph.taken;
    }
}

static void put_folded(const cli_stacks *stacks, const cli_stack *stack)
{
    for (size_t i = 0; i < stack->len; i++) {
        if (i)
            putchar(';');
        put_name(stacks->names[stack->frames[i]]);
    }
    if (!stack->len)
        fputs("(no stack)", stdout);
}

int cli_show_folded(const cli_shown *shown)
{
    cli_stacks stacks;
    int code = cli_stacks_make(&stacks, shown->selections, shown->sides);
    for (size_t at = 0, end; !code && at < stacks.len && !cli_output_is_over(); at = end) {
        pprofdelta_sum sums[CLI_SIDES] = {{0}};
        bool is_zero = true;
        end = cli_stacks_group_end(&stacks, at);
        for (size_t side = 0; side < shown->sides; side++) {
            size_t column = shown->types->column[side][shown->chosen];
            sums[side] = cli_stacks_group_sum(&stacks, at, end, side, column);
            is_zero &= cli_sum_is_zero(sums[side]);
        }
        if (is_zero)
            continue;
        put_folded(&stacks, &stacks.stacks[at]);
        for (size_t side = 0; side < shown->sides; side++) {
            char text[48];
            printf(" %s", pd_sum_format(sums[side], text));
        }
        putchar('\n');
    }
    cli_stacks_free(&stacks);
    if (!code)
        cli_selection_note(shown);
    return code;
}
