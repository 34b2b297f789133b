/* pprofdelta show --folded: one line for each stack, as flame graph tools read it.
 *
 *     main;serve;parse 4096             one profile
 *     main;serve;parse 2048 4096        PREV and CUR, as difffolded.pl writes them
 */
#include "show/forms.h"

#include "cli.h"
#include "output_file.h"
#include "show/units.h"
#include "text.h"

#include <stdio.h>

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

static void put_stack(const cli_stacks *stacks, const cli_stack *stack)
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
        put_stack(&stacks, &stacks.stacks[at]);
        for (size_t side = 0; side < shown->sides; side++) {
            char text[48];
            printf(" %s", pprofdelta_sum_format(sums[side], text));
        }
        putchar('\n');
    }
    cli_stacks_free(&stacks);
    if (!code)
        cli_selection_note(shown);
    return code;
}
