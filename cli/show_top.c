/* pprofdelta show: the functions that count most.
 *
 * Without --type every sample type has a column of flat values (what happened in the function
 * itself), and the one that the rows are sorted by has its cumulative values too (with everything
 * that the function called). With --type that type alone is shown, with shares of the total. */
#include "show_top.h"

#include "cli.h"
#include "instant.h"
#include "message.h"
#include "text.h"
#include "units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- adding up ----------------------------------------------------------------------------------
 */

/* The symbol where a sample's time or memory was spent: the innermost call of its leaf. */
static void add_flat(cli_top *t, const Pd__View__Sample *sample)
{
    if (!sample->n_location_id)
        return;
    size_t leaf = cli_profile_location_index(t->profile, sample->location_id[0]);
    size_t symbol = t->symbols.frames[t->symbols.first[leaf]];
    pprofdelta_sum *flat = t->flat + symbol * sample->n_value;
    for (size_t c = 0; c < sample->n_value; c++)
        cli_sum_add(&flat[c], sample->value[c]);
}

/* Each symbol of the stack once, however often it recurs: last_seen[symbol] is a sample's number.
 */
static void add_cum(cli_top *t, const Pd__View__Sample *sample, size_t *last_seen, size_t number)
{
    for (size_t j = 0; j < sample->n_location_id; j++) {
        size_t at = cli_profile_location_index(t->profile, sample->location_id[j]);
        for (size_t k = t->symbols.first[at]; k < t->symbols.first[at + 1]; k++) {
            size_t symbol = t->symbols.frames[k];
            if (last_seen[symbol] != number)
                cli_sum_add(&t->rows[symbol].cum, sample->value[t->sort]);
            last_seen[symbol] = number;
        }
    }
}

/* By the size of the flat value, then of the cumulative one, then by name. */
static int by_size(const void *a, const void *b)
{
    const cli_row *x = a, *y = b;
    int order = cli_sum_compare(cli_sum_size(y->flat), cli_sum_size(x->flat));
    if (!order)
        order = cli_sum_compare(cli_sum_size(y->cum), cli_sum_size(x->cum));
    return order ? order : (x->symbol > y->symbol) - (x->symbol < y->symbol);
}

static bool is_zero(const cli_top *t, const cli_row *r)
{
    const pprofdelta_sum *flat = t->flat + r->symbol * t->profile->view->n_sample_type;
    bool zero = cli_sum_is_zero(r->cum);
    for (size_t i = 0; i < t->columns_len; i++)
        zero &= cli_sum_is_zero(flat[t->columns[i]]);
    return zero;
}

static int add_up(cli_top *t)
{
    const Pd__View__Profile *view = t->profile->view;
    int code = cli_symbols_make(&t->symbols, t->profile);
    if (code)
        return code;
    size_t *last_seen = calloc(t->symbols.len + 1, sizeof *last_seen);
    t->flat = calloc(t->symbols.len * view->n_sample_type + 1, sizeof *t->flat);
    t->rows = calloc(t->symbols.len + 1, sizeof *t->rows);
    if (!last_seen || !t->flat || !t->rows) {
        free(last_seen);
        return cli_system_error(t->profile->input.name, "show", ENOMEM);
    }
    for (size_t i = 0; i < view->n_sample; i++) {
        add_flat(t, view->sample[i]);
        add_cum(t, view->sample[i], last_seen, i + 1);
    }
    free(last_seen);
    for (size_t i = 0; i < t->symbols.len; i++) {
        cli_row r = {i, t->flat[i * view->n_sample_type + t->sort], t->rows[i].cum};
        if (!is_zero(t, &r))
            t->rows[t->rows_len++] = r;
    }
    qsort(t->rows, t->rows_len, sizeof *t->rows, by_size);
    return CLI_DONE;
}

/* ---- the head -----------------------------------------------------------------------------------
 */

static void put_totals(const cli_profile *profile)
{
    const Pd__View__Profile *view = profile->view;
    size_t widest = 0;
    for (size_t i = 0; i < view->n_sample_type; i++) {
        size_t columns = cli_string_columns(cli_profile_type(profile, i)) +
                         cli_string_columns(cli_profile_unit(profile, i));
        if (columns > widest)
            widest = columns;
    }
    for (size_t i = 0; i < view->n_sample_type; i++) {
        cli_string type = cli_profile_type(profile, i), unit = cli_profile_unit(profile, i);
        char text[48];
        fputs(i ? "          " : "total     ", stdout);
        cli_string_put(stdout, type, CLI_TEXT_SHOWN);
        putchar('/');
        cli_string_put(stdout, unit, CLI_TEXT_SHOWN);
        printf("%*s  %s\n", (int)(widest - cli_string_columns(type) - cli_string_columns(unit)), "",
               cli_units_format(cli_profile_total(profile, i), unit, text));
    }
}

static int put_head(const cli_profile *profile)
{
    const Pd__View__Profile *view = profile->view;
    char text[48], comment[CLI_COMMENT_MAX];
    fputs("file      ", stdout);
    cli_text_put(stdout, profile->input.name, CLI_TEXT_SHOWN);
    printf(" (%s, %zu samples%s)\n", profile->census.format, view->n_sample,
           profile->census.is_stamped ? ", a delta" : "");
    cli_show_put_binary(profile, "binary");
    int code = cli_show_put_libraries(profile);
    if (code)
        return code;
    printf("time      %s\n",
           view->time_nanos ? pprofdelta_time_format(view->time_nanos, text) : "unknown");
    printf("duration  %s\n",
           view->duration_nanos ? cli_span_format(view->duration_nanos, text) : "unknown");
    for (size_t i = 0; i < view->n_comment; i++) {
        fputs("comment   ", stdout);
        cli_string_put(stdout,
                       cli_show_comment(cli_profile_string(profile, view->comment[i]), comment),
                       CLI_TEXT_SHOWN);
        putchar('\n');
    }
    put_totals(profile);
    return CLI_DONE;
}

int cli_show_top(const cli_profile *profile, size_t sort_column, bool only_sort_column,
                 size_t most_rows)
{
    cli_top t = {.profile = profile, .sort = sort_column};
    size_t types = profile->view->n_sample_type;
    if (only_sort_column)
        t.columns[t.columns_len++] = sort_column;
    for (size_t i = 0; !only_sort_column && i < types && i < PPROFDELTA_MAX_TYPES; i++)
        t.columns[t.columns_len++] = i;
    t.total = cli_profile_total(profile, sort_column);
    int code = add_up(&t);
    if (!code)
        code = put_head(profile);
    if (!code) {
        cli_table_print(&t, only_sort_column || types == 1,
                        t.rows_len < most_rows ? t.rows_len : most_rows);
    }
    cli_symbols_free(&t.symbols);
    free(t.flat);
    free(t.rows);
    return code;
}
