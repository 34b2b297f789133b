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
#include "show/screen.h"

#include <stdlib.h>

enum { VALUE = 12, SHARE = 8, OWN = 2 * VALUE + 3 * SHARE, CALLS = VALUE + SHARE };

typedef struct function {
    pprofdelta_sum flat, cum;
    uint32_t name;
    bool is_wanted;
    size_t seen; /* the number of the last stack that has it */
} function;

/* What a function has by another one, its caller or its callee. */
typedef struct call {
    uint32_t of, other;
    pprofdelta_sum value;
    size_t seen;
} call;

typedef struct peek {
    const cli_shown *shown;
    pprofdelta_sum total;
    function *functions; /* by their names */
    call *callers;       /* of: the callee */
    size_t callers_len, callers_cap;
    call *callees; /* the same, of: the caller */
    cli_numbers by_pair;
} peek;

/* ---- adding up ---------------------------------------------------------------------------- */

static void add(pprofdelta_sum *sum, pprofdelta_sum value)
{
    *sum = cli_sum_minus(*sum, cli_sum_minus((pprofdelta_sum){0}, value));
}

/* That of the type that is shown. What PREV has is taken away. */
static pprofdelta_sum value_of(const cli_shown *shown, const cli_stack *stack)
{
    pprofdelta_sum value = {0};
    cli_sum_add(&value, stack->sample->value[shown->types.column[stack->side][shown->chosen]]);
    bool is_taken = stack->side + 1 < shown->sides;
    return is_taken ? cli_sum_minus((pprofdelta_sum){0}, value) : value;
}

static call *find_call(peek *p, uint32_t callee, uint32_t caller)
{
    uint32_t pair[] = {callee, caller};
    size_t number = cli_numbers_of(&p->by_pair, cli_key_of(pair, sizeof pair), p->callers_len);
    if (number == p->callers_len) {
        CLI_KEEP_MORE(p->callers, 1);
        p->callers[p->callers_len++] = (call){.of = callee, .other = caller};
    }
    return &p->callers[number];
}

static void add_call(peek *p, uint32_t callee, uint32_t caller, pprofdelta_sum value, size_t number)
{
    if (callee == caller || !(p->functions[callee].is_wanted || p->functions[caller].is_wanted))
        return;
    call *c = find_call(p, callee, caller);
    if (c->seen != number)
        add(&c->value, value);
    c->seen = number;
}

static void add_stack(peek *p, const cli_stack *stack, size_t number)
{
    pprofdelta_sum value = value_of(p->shown, stack);
    if (cli_sum_is_zero(value))
        return;
    for (size_t i = 0; i < stack->len; i++) {
        function *f = &p->functions[stack->frames[i]->name];
        if (!i)
            add(&f->flat, value);
        else
            add_call(p, stack->frames[i - 1]->name, f->name, value, number);
        if (f->seen != number)
            add(&f->cum, value);
        f->seen = number;
    }
}

static void add_up(peek *p)
{
    const cli_shown *shown = p->shown;
    p->functions = cli_keep(shown->names_len, sizeof *p->functions);
    for (size_t i = 0; i < shown->names_len; i++) {
        p->functions[i].name = (uint32_t)i;
        for (size_t k = 0; k < shown->peeked->len; k++)
            p->functions[i].is_wanted |=
                cli_pattern_matches(&shown->peeked->list[k].pattern, shown->names[i]);
    }
    for (size_t i = 0; i < shown->len; i++)
        add_stack(p, &shown->stacks[i], i + 1);
}

/* ---- the order ---------------------------------------------------------------------------- */

static int by_function(const void *a, const void *b)
{
    const call *x = a, *y = b;
    int order = (x->of > y->of) - (x->of < y->of);
    order = order ? order : cli_sum_by_size(x->value, y->value);
    return order ? order : (x->other > y->other) - (x->other < y->other);
}

static int by_flat(const void *a, const void *b)
{
    const function *x = a, *y = b;
    int order = cli_sum_by_size(x->flat, y->flat);
    order = order ? order : cli_sum_by_size(x->cum, y->cum);
    return order ? order : (x->name > y->name) - (x->name < y->name);
}

static void sort_calls(peek *p)
{
    p->callees = cli_keep(p->callers_len, sizeof *p->callees);
    for (size_t i = 0; i < p->callers_len; i++) {
        const call *c = &p->callers[i];
        p->callees[i] = (call){.of = c->other, .other = c->of, .value = c->value};
    }
    if (!p->callers_len)
        return;
    qsort(p->callers, p->callers_len, sizeof *p->callers, by_function);
    qsort(p->callees, p->callers_len, sizeof *p->callees, by_function);
}

static bool is_printed(const function *f)
{
    return f->is_wanted && !(cli_sum_is_zero(f->flat) && cli_sum_is_zero(f->cum));
}

/* Moves the functions to print to the front. Returns their number. */
static size_t sort_functions(peek *p)
{
    size_t len = 0;
    for (size_t i = 0; i < p->shown->names_len; i++)
        if (is_printed(&p->functions[i]))
            p->functions[len++] = p->functions[i];
    qsort(p->functions, len, sizeof *p->functions, by_flat);
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

static void put_name(const peek *p, uint32_t name)
{
    cli_string_put(stdout, p->shown->names[name], CLI_TEXT_SHOWN);
    putchar('\n');
}

/* Prints the calls of one function. */
static void put_calls(const peek *p, const call *calls, const function *f)
{
    size_t from = 0, end = p->callers_len;
    while (from < end) { /* the first one is between them */
        size_t middle = (from + end) / 2;
        if (calls[middle].of < f->name)
            from = middle + 1;
        else
            end = middle;
    }
    for (; from < p->callers_len && calls[from].of == f->name; from++) {
        if (cli_sum_is_zero(calls[from].value))
            continue;
        printf("%*s", OWN, "");
        put_value(p, calls[from].value);
        put_share(calls[from].value, f->cum);
        fputs(" |   ", stdout);
        put_name(p, calls[from].other);
    }
}

static void put_function(const peek *p, const function *f, pprofdelta_sum sum)
{
    cli_ink ink = cli_screen_ink();
    put_value(p, f->flat);
    put_share(f->flat, p->total);
    put_share(sum, p->total);
    put_value(p, f->cum);
    put_share(f->cum, p->total);
    printf("%*s | %s", CALLS, "", ink.bold);
    cli_string_put(stdout, p->shown->names[f->name], CLI_TEXT_SHOWN);
    puts(ink.end);
}

int cli_show_peek(cli_shown *shown)
{
    static const char line[] =
        "-----------------------------------------------------------------------+-------------";
    peek p = {.shown = shown, .total = cli_types_total(shown, 0, shown->chosen)};
    pprofdelta_sum sum = {0};
    add_up(&p);
    sort_calls(&p);
    size_t len = sort_functions(&p);
    cli_heading_put(shown);
    cli_heading_put_caption(shown, len, len, "function", "");
    puts("");
    if (len)
        printf("%*s%*s%*s%*s%*s%*s%*s\n", VALUE, "flat", SHARE, "flat%", SHARE, "sum%", VALUE,
               "cum", SHARE, "cum%", VALUE, "calls", SHARE, "calls%");
    for (size_t i = 0; i < len && !cli_output_is_over(); i++) {
        const function *f = &p.functions[i];
        add(&sum, f->flat);
        puts(line);
        put_calls(&p, p.callers, f);
        put_function(&p, f, sum);
        put_calls(&p, p.callees, f);
    }
    return cli_output_end_text();
}
