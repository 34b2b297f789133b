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
#include "show/shown.h"

#include "keep.h"
#include "message.h"
#include "output_file.h"

#include <stdlib.h>
#include <string.h>

/* One stack to print. */
typedef struct entry {
    cli_rank rank; /* first: the weight */
    cli_group group;
} entry;

/* Returns the stacks to print, without those of weight 0, and sets their number. */
static entry *add_up(const cli_shown *shown, size_t *len)
{
    entry *entries = cli_keep(shown->len, sizeof *entries);
    *len = 0;
    for (cli_group g = {0}; cli_group_next(shown, &g);) {
        pprofdelta_sum weight = cli_group_sum(shown, g, 0, shown->chosen);
        if (shown->sides > 1)
            weight = cli_sum_minus(cli_group_sum(shown, g, 1, shown->chosen), weight);
        if (!cli_sum_is_zero(weight))
            entries[(*len)++] = (entry){{.first = weight, .at = g.at}, g};
    }
    qsort(entries, *len, sizeof *entries, cli_by_rank);
    return entries;
}

/* ---- printing ----------------------------------------------------------------------------- */

/* The sums of the types that the list is not sorted by. */
static void put_others(const cli_shown *shown, const entry *e)
{
    const char *comma = "  ";
    for (size_t i = 0; i < shown->types.len && !shown->only_chosen; i++) {
        char text[48];
        pprofdelta_sum sum = cli_group_sum(shown, e->group, 0, i);
        if (i == shown->chosen)
            continue;
        printf("%s%s %s", comma, cli_keep_shown(cli_types_name(shown, i)),
               cli_units_format(sum, cli_types_unit(shown, i), text));
        comma = ", ";
    }
}

static void put_values(const cli_shown *shown, const entry *e, const cli_ink *ink)
{
    cli_string unit = cli_types_unit(shown, shown->chosen);
    char text[CLI_CHANGE_ROOM];
    for (size_t side = 0; side < shown->sides && shown->sides > 1; side++) {
        pprofdelta_sum sum = cli_group_sum(shown, e->group, side, shown->chosen);
        printf("%s%s", cli_units_format(sum, unit, text), side ? "  " : " -> ");
    }
    if (shown->sides > 1) {
        printf("%s%s%s", cli_screen_change_ink(ink, e->rank.first),
               cli_units_format_change(e->rank.first, unit, text), ink->end);
        return;
    }
    pprofdelta_sum total = cli_types_total(shown, 0, shown->chosen);
    printf("%s%s%s", ink->bold, cli_units_format(e->rank.first, unit, text), ink->end);
    if (!cli_sum_is_zero(total))
        printf("  %s", cli_share_format(e->rank.first, total, text));
    put_others(shown, e);
}

static void put_stack(const cli_shown *shown, const entry *e)
{
    size_t len;
    cli_frame_text *frames = cli_group_frames(shown, e->group, &len);
    if (!len)
        puts("    (no stack)");
    cli_frames_put(frames, len, "    ");
}

void cli_show_stacks(cli_shown *shown)
{
    cli_ink ink = cli_screen_ink();
    size_t len;
    cli_stacks_collect(shown, shown->sides == 1);
    const entry *entries = add_up(shown, &len);
    size_t stacks = len < shown->most ? len : shown->most;
    cli_heading_put_caption(shown, stacks, len, "stack", " that changed");
    puts(cli_types_are_zero(shown, shown->chosen) ? "" : ", leaf first");
    for (size_t i = 0; i < stacks && !cli_output_is_over(); i++) {
        printf("%s%zu.  ", i ? "\n" : "", i + 1);
        put_values(shown, &entries[i], &ink);
        putchar('\n');
        put_stack(shown, &entries[i]);
    }
}

/* ---- --folded ----------------------------------------------------------------------------- */

/* Prints a name. ';' becomes ':', because ';' separates names; line ends are escaped. */
static void put_name(cli_string name)
{
    for (const char *end; (end = memchr(name.ptr, ';', name.len));) {
        size_t len = (size_t)(end - name.ptr);
        cli_string_put(stdout, (cli_string){name.ptr, len}, CLI_TEXT_SHOWN);
        putchar(':');
        name = (cli_string){end + 1, name.len - len - 1};
    }
    cli_string_put(stdout, name, CLI_TEXT_SHOWN);
}

static void put_folded(const cli_shown *shown, const cli_stack *stack)
{
    const cli_frame *frame;
    bool is_first = true;
    for (cli_walk w = cli_walk_from_root(shown, stack); (frame = cli_walk_next(&w));) {
        fputs(is_first ? "" : ";", stdout);
        put_name(shown->names[frame->name]);
        is_first = false;
    }
    if (is_first)
        fputs("(no stack)", stdout);
}

void cli_show_folded(cli_shown *shown)
{
    cli_stacks_collect(shown, false);
    cli_progress_end_for_text();
    for (cli_group g = {0}; cli_group_next(shown, &g) && !cli_output_is_over();) {
        pprofdelta_sum sums[CLI_SIDES] = {{0}};
        for (size_t side = 0; side < shown->sides; side++)
            sums[side] = cli_group_sum(shown, g, side, shown->chosen);
        if (cli_sum_is_zero(sums[0]) && cli_sum_is_zero(sums[1]))
            continue;
        put_folded(shown, &shown->stacks[g.at]);
        for (size_t side = 0; side < shown->sides; side++) {
            char text[48];
            printf(" %s", cli_sum_format(sums[side], text));
        }
        putchar('\n');
    }
    cli_notes_print(shown);
}
