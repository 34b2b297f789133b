/* pprofdelta show --folded: one line a stack, as flame graph tools read it.
 *
 *     main;serve;parse 4096
 *
 * Stacks that read the same are one line: each sample becomes a run of symbol numbers, root first,
 * and sorting the runs brings equal ones together. The numbers follow the names, so the lines come
 * sorted by name whatever the order of the samples. */
#include "show.h"

#include "cli.h"
#include "message.h"
#include "text.h"
#include "units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct stack {
    const uint32_t *frames; /* root first */
    size_t len;
    int64_t value;
} stack;

static int by_frames(const void *a, const void *b)
{
    const stack *x = a, *y = b;
    size_t len = x->len < y->len ? x->len : y->len;
    for (size_t i = 0; i < len; i++)
        if (x->frames[i] != y->frames[i])
            return x->frames[i] < y->frames[i] ? -1 : 1;
    return (x->len > y->len) - (x->len < y->len);
}

/* The frames of all samples, in all. */
static size_t count_frames(const cli_profile *profile, const cli_symbols *symbols)
{
    size_t len = 0;
    for (size_t i = 0; i < profile->view->n_sample; i++) {
        const Pd__View__Sample *sample = profile->view->sample[i];
        for (size_t j = 0; j < sample->n_location_id; j++) {
            size_t at = cli_profile_location_index(profile, sample->location_id[j]);
            len += symbols->first[at + 1] - symbols->first[at];
        }
    }
    return len;
}

/* Writes a sample's frames, root first: the profile has both locations and their lines leaf first.
 */
static uint32_t *unfold(uint32_t *to, const cli_profile *profile, const cli_symbols *symbols,
                        const Pd__View__Sample *sample)
{
    for (size_t j = sample->n_location_id; j-- > 0;) {
        size_t at = cli_profile_location_index(profile, sample->location_id[j]);
        for (size_t k = symbols->first[at + 1]; k-- > symbols->first[at];)
            *to++ = symbols->frames[k];
    }
    return to;
}

/* A name, where ';' and a line's end mean something else. */
static void put_name(const char *name)
{
    for (size_t at = 0, len = strlen(name); at < len;) {
        cli_glyph glyph = cli_text_next(name + at, len - at, CLI_TEXT_SHOWN);
        if (name[at] == ';')
            putchar(':');
        else
            fwrite(glyph.bytes, 1, glyph.len, stdout);
        at += glyph.taken;
    }
}

static void put_stack(const cli_symbols *symbols, const stack *s, pprofdelta_sum sum)
{
    char text[48];
    for (size_t i = 0; i < s->len; i++) {
        if (i)
            putchar(';');
        put_name(symbols->names[s->frames[i]]);
    }
    if (!s->len)
        fputs("(no stack)", stdout);
    printf(" %s\n", pprofdelta_sum_format(sum, text));
}

static void put_stacks(const cli_symbols *symbols, const stack *stacks, size_t len)
{
    for (size_t i = 0, next; i < len; i = next) {
        pprofdelta_sum sum = {0};
        for (next = i; next < len && !by_frames(&stacks[i], &stacks[next]); next++)
            cli_sum_add(&sum, stacks[next].value);
        if (!cli_sum_is_zero(sum))
            put_stack(symbols, &stacks[i], sum);
    }
}

int cli_show_folded(const cli_profile *profile, size_t column)
{
    size_t len = profile->view->n_sample;
    cli_symbols symbols;
    int code = cli_symbols_make(&symbols, profile);
    if (code) {
        cli_symbols_free(&symbols);
        return code;
    }
    stack *stacks = calloc(len + 1, sizeof *stacks);
    uint32_t *frames = calloc(count_frames(profile, &symbols) + 1, sizeof *frames);
    if (stacks && frames) {
        uint32_t *to = frames;
        for (size_t i = 0; i < len; i++) {
            const Pd__View__Sample *sample = profile->view->sample[i];
            uint32_t *end = unfold(to, profile, &symbols, sample);
            stacks[i] = (stack){to, (size_t)(end - to), sample->value[column]};
            to = end;
        }
        qsort(stacks, len, sizeof *stacks, by_frames);
        put_stacks(&symbols, stacks, len);
    } else {
        code = cli_system_error(profile->input.name, "show", ENOMEM);
    }
    free(stacks);
    free(frames);
    cli_symbols_free(&symbols);
    return code;
}
