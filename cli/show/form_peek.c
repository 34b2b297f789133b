/* pprofdelta show --peek REGEX: each function that matches, between its callers and its callees, as `pprof -peek`
 * prints them.
 *
 *         flat   flat%    sum%         cum    cum%       calls  calls%
 *     -------------------------------------------------------------------------
 *                                                       6.00MiB   75.0% |   serve
 *                                                       2.00MiB   25.0% |   retry
 *      1.00MiB   10.0%   10.0%     8.00MiB   80.0%                      | parse
 *                                                       7.00MiB   87.5% |   grow
 *
 * A call counts once in each stack, and so does a function. One that calls itself is no caller of its own. Of
 * PREV and CUR the values are the changes, and the shares are of the total of PREV. What is 0 is left out. */
#include "show/shown.h"

#include "keep.h"
#include "numbers.h"
#include "output_file.h"

#include <stdlib.h>

enum { VALUE = 12, SHARE = 8, OWN = 2 * VALUE + 3 * SHARE, CALLS = VALUE + SHARE };

/* The calls of a function: of its callers, and to its callees. */
enum { CALLERS, CALLEES, WAYS };

typedef struct function {
    cli_rank rank; /* the flat value, the cumulative one, the number of the name */
    bool is_wanted;
    size_t seen;          /* the number of the last stack that has it */
    size_t calls_1[WAYS]; /* the first one, plus 1; 0: none */
} function;

typedef struct call {
    uint32_t of, other, way;
    pprofdelta_sum value;
    size_t seen;
} call;

typedef struct peek {
    cli_shown *shown;
    size_t stacks; /* so far */
    pprofdelta_sum total;
    function *functions; /* by their names, until they are sorted */
    call *calls;         /* of the functions that are wanted */
    size_t calls_len, calls_cap;
    cli_numbers by_key;
} peek;

/* ---- adding up ---------------------------------------------------------------------------- */

static void add_sum(pprofdelta_sum *sum, pprofdelta_sum value)
{
    *sum = cli_sum_minus(*sum, cli_sum_minus((pprofdelta_sum){0}, value));
}

/* That of the type that is shown. What PREV has is taken away. */
static pprofdelta_sum value_of(const cli_shown *shown, const cli_stack *stack,
                               const cli_sample *sample)
{
    pprofdelta_sum value = {0};
    cli_sum_add(&value, sample->values[shown->types.column[stack->side][shown->chosen]]);
    bool is_taken = stack->side + (size_t)1 < shown->sides;
    return is_taken ? cli_sum_minus((pprofdelta_sum){0}, value) : value;
}

static void add_call(peek *p, const uint32_t key[3], pprofdelta_sum value, size_t number)
{
    if (key[0] == key[1] || !p->functions[key[0]].is_wanted)
        return;
    size_t at = cli_numbers_of(&p->by_key, cli_key_of(key, 3 * sizeof *key), p->calls_len);
    if (at == p->calls_len) {
        CLI_KEEP_MORE(p->calls, 1);
        p->calls[p->calls_len++] = (call){.of = key[0], .other = key[1], .way = key[2]};
    }
    if (p->calls[at].seen != number)
        add_sum(&p->calls[at].value, value);
    p->calls[at].seen = number;
}

static uint64_t add_stack(void *cookie, const cli_stack *stack, const cli_sample *sample)
{
    peek *p = cookie;
    pprofdelta_sum value = value_of(p->shown, stack, sample);
    size_t number = ++p->stacks;
    function *f = NULL;
    const cli_frame *frame;
    uint64_t frames = 0;
    for (cli_walk w = cli_walk_from_leaf(p->shown, stack); (frame = cli_walk_next(&w)); frames++) {
        uint32_t callee = f ? (uint32_t)f->rank.at : frame->name;
        if (!f)
            add_sum(&p->functions[callee].rank.first, value);
        f = &p->functions[frame->name];
        if (f->seen != number)
            add_sum(&f->rank.second, value);
        f->seen = number;
        add_call(p, (uint32_t[]){callee, frame->name, CALLERS}, value, number);
        add_call(p, (uint32_t[]){frame->name, callee, CALLEES}, value, number);
    }
    return frames;
}

static void add_up(peek *p)
{
    cli_shown *shown = p->shown;
    p->functions = cli_keep(shown->names_len, sizeof *p->functions);
    for (size_t i = 0; i < shown->names_len; i++) {
        p->functions[i].rank.at = i;
        for (size_t k = 0; k < shown->peeked->len; k++)
            p->functions[i].is_wanted |=
                cli_pattern_matches(&shown->peeked->list[k].pattern, shown->names[i]);
    }
    cli_shown_each(shown, 0, add_stack, p);
}

/* ---- the order ---------------------------------------------------------------------------- */

static int by_function(const void *a, const void *b)
{
    const call *x = a, *y = b;
    int order = (x->of > y->of) - (x->of < y->of);
    order = order ? order : (x->way > y->way) - (x->way < y->way);
    order = order ? order : cli_sum_by_size(x->value, y->value);
    return order ? order : (x->other > y->other) - (x->other < y->other);
}

/* Moves the functions to print to the front. Returns their number. */
static size_t sort_functions(peek *p)
{
    size_t len = 0;
    if (p->calls_len)
        qsort(p->calls, p->calls_len, sizeof *p->calls, by_function);
    for (size_t i = p->calls_len; i; i--)
        p->functions[p->calls[i - 1].of].calls_1[p->calls[i - 1].way] = i;
    for (size_t i = 0; i < p->shown->names_len; i++) {
        function f = p->functions[i];
        if (f.is_wanted && !(cli_sum_is_zero(f.rank.first) && cli_sum_is_zero(f.rank.second)))
            p->functions[len++] = f;
    }
    if (len)
        qsort(p->functions, len, sizeof *p->functions, cli_by_rank);
    return len;
}

/* ---- printing ----------------------------------------------------------------------------- */

static void put_value(const peek *p, pprofdelta_sum value)
{
    char text[CLI_CHANGE_ROOM];
    cli_string unit = cli_types_unit(p->shown, p->shown->chosen);
    printf(" %*s", VALUE - 1,
           p->shown->sides > 1 ? cli_units_format_change(value, unit, text)
                               : cli_units_format(value, unit, text));
}

static void put_share(pprofdelta_sum part, pprofdelta_sum whole)
{
    char text[CLI_SHARE_ROOM];
    printf(" %*s", SHARE - 1, cli_share_format(part, whole, text));
}

/* Puts out the calls of one function. */
static void put_calls(const peek *p, const function *f, uint32_t way)
{
    for (size_t i = f->calls_1[way]; i && i <= p->calls_len; i++) {
        const call *c = &p->calls[i - 1];
        if (c->of != f->rank.at || c->way != way)
            return;
        if (cli_sum_is_zero(c->value))
            continue;
        printf("%*s", OWN, "");
        put_value(p, c->value);
        put_share(c->value, f->rank.second);
        fputs(" |   ", stdout);
        cli_string_put(stdout, p->shown->names[c->other], CLI_TEXT_SHOWN);
        putchar('\n');
    }
}

static void put_function(const peek *p, const function *f, pprofdelta_sum sum)
{
    cli_ink ink = cli_screen_ink();
    put_value(p, f->rank.first);
    put_share(f->rank.first, p->total);
    put_share(sum, p->total);
    put_value(p, f->rank.second);
    put_share(f->rank.second, p->total);
    printf("%*s | %s", CALLS, "", ink.bold);
    cli_string_put(stdout, p->shown->names[f->rank.at], CLI_TEXT_SHOWN);
    puts(ink.end);
}

void cli_show_peek(cli_shown *shown)
{
    static const char line[] =
        "-----------------------------------------------------------------------+-------------";
    peek p = {.shown = shown, .total = cli_types_total(shown, 0, shown->chosen)};
    pprofdelta_sum sum = {0};
    add_up(&p);
    size_t len = sort_functions(&p);
    cli_heading_put_caption(shown, len, len, "function", "");
    puts("");
    if (len)
        printf("%*s%*s%*s%*s%*s%*s%*s\n", VALUE, "flat", SHARE, "flat%", SHARE, "sum%", VALUE,
               "cum", SHARE, "cum%", VALUE, "calls", SHARE, "calls%");
    for (size_t i = 0; i < len && !cli_output_is_over(); i++) {
        const function *f = &p.functions[i];
        add_sum(&sum, f->rank.first);
        puts(line);
        put_calls(&p, f, CALLERS);
        put_function(&p, f, sum);
        put_calls(&p, f, CALLEES);
    }
}
