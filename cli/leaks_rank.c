/* Judges all stacks of a run and the groups of stacks that share a frame: see leaks_rank.h. */
#include "leaks_rank.h"

#include "cli.h"
#include "message.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A series that is added up from stacks. */
typedef struct total {
    double levels[CLI_LEAKS_POINTS], allocated[CLI_LEAKS_POINTS];
    double now, objects;
    double weights; /* the sum of weight * level, and of level */
    double levelled;
    double distance; /* from the leaf, added up over the stacks */
    size_t stacks;
    double largest;  /* growth of one stack */
    size_t last_row; /* plus 1 */
} total;

/* ---- series ------------------------------------------------------------------------------- */

/* The smallest change between two points; 1 if there is none. */
static double smallest_change(const cli_leaks_run *run, const cli_leaks_row *row)
{
    double smallest = 0;
    for (size_t i = 0; i + 1 < run->rows.points; i++) {
        double change = fabs(row->levels[i + 1] - row->levels[i]);
        if (change > 0 && (smallest == 0 || change < smallest))
            smallest = change;
    }
    return smallest > 0 ? smallest : 1;
}

/* What one sample of the stack stands for: the mean size of its objects, over the chance that such
 * an object is sampled. Values without a number of objects are not sampled: what they count is one,
 * or the smallest change. */
static double weight_of(const cli_leaks_run *run, const cli_leaks_row *row)
{
    if (row->sum_objects > 0 && row->sum_bytes > 0 && row->sum_level > 0) {
        double size = row->sum_bytes / row->sum_objects;
        double share = run->period > 1 ? -expm1(-size / run->period) : 1;
        return row->sum_level / row->sum_objects / share;
    }
    return strcmp(run->unit, "count") ? smallest_change(run, row) : 1;
}

static cli_leaks_series series_of(const cli_leaks_run *run, const double *levels,
                                  const double *allocated, double weight, double tests)
{
    return (cli_leaks_series){.len = run->rows.points,
                              .seconds = run->rows.seconds,
                              .levels = levels,
                              .allocated = run->has_allocated ? allocated : NULL,
                              .weight = weight > 0 ? weight : 1,
                              .tests = tests};
}

static void set_age(cli_leaks_finding *f, const cli_leaks_run *run, const double *allocated)
{
    size_t last = run->rows.points - 1;
    double span = run->rows.seconds[last] - run->rows.seconds[0];
    f->rate = f->age = -1;
    if (!run->has_allocated || span <= 0)
        return;
    f->rate = fmax(0, allocated[last] - allocated[0]) / span;
    f->age = f->rate > 0 ? f->now / f->rate : INFINITY;
}

/* ---- groups ------------------------------------------------------------------------------- */

/* Stacks whose growth is certain have a verdict of their own. */
static bool may_be_grouped(const cli_leaks_row *row)
{
    return !row->group && row->verdict.doubt > cli_leaks_doubt_limit &&
           row->verdict.reason != CLI_LEAKS_SAWTOOTH;
}

static void add_to_total(total *to, const cli_leaks_run *run, const cli_leaks_row *row)
{
    double weight = weight_of(run, row);
    for (size_t i = 0; i < run->rows.points; i++) {
        to->levels[i] += row->levels[i];
        to->allocated[i] += row->allocated[i];
        to->weights += weight * row->levels[i];
        to->levelled += row->levels[i];
    }
    to->now += row->now;
    to->objects += row->objects_now;
    to->largest = fmax(to->largest, row->verdict.growth);
    to->stacks++;
}

/* Calls visit(cookie, text, distance) for each frame of a row, leaf first. */
typedef void visitor(void *cookie, uint32_t text, size_t distance);

static void each_frame(const cli_leaks_rows *rows, const cli_leaks_row *row, visitor *visit,
                       void *cookie)
{
    size_t distance = 0;
    for (size_t i = 0; i < row->path_len; i++) {
        const cli_leaks_place *place = &rows->places[rows->path[row->path + i]];
        for (size_t j = 0; j < place->len; j++)
            visit(cookie, rows->frames[place->first + j].name, distance++);
    }
}

typedef struct adding {
    total *totals;
    const cli_leaks_run *run;
    const cli_leaks_row *row;
    size_t number; /* of the row, plus 1 */
} adding;

/* A function that calls itself counts once. */
static void add_frame(void *cookie, uint32_t text, size_t distance)
{
    adding *a = cookie;
    total *to = &a->totals[text];
    if (to->last_row == a->number)
        return;
    to->last_row = a->number;
    to->distance += (double)distance;
    add_to_total(to, a->run, a->row);
}

static void add_up(total *totals, const cli_leaks_run *run)
{
    for (size_t i = 0; i < run->rows.texts_len; i++)
        totals[i] = (total){.stacks = 0};
    for (size_t i = 0; i < run->rows.len; i++) {
        adding a = {totals, run, &run->rows.rows[i], i + 1};
        if (may_be_grouped(a.row))
            each_frame(&run->rows, a.row, add_frame, &a);
    }
}

static cli_leaks_verdict judge_total(const cli_leaks_run *run, const total *t)
{
    double tests = (double)(run->rows.len + run->rows.texts_len);
    double weight = t->levelled > 0 ? t->weights / t->levelled : 1;
    cli_leaks_series series = series_of(run, t->levels, t->allocated, weight, tests);
    return cli_leaks_judge(&series);
}

/* A group is more than its largest stack. */
static bool is_spread(const total *t, const cli_leaks_verdict *v)
{
    static const double most_of_one = 0.8;
    return t->stacks > 1 && t->largest <= most_of_one * v->growth;
}

/* Is the group of text a more exact place than that of text b? */
static bool is_closer(const cli_leaks_run *run, const total *totals, size_t a, size_t b)
{
    if (totals[a].stacks != totals[b].stacks)
        return totals[a].stacks < totals[b].stacks;
    if (totals[a].distance != totals[b].distance)
        return totals[a].distance < totals[b].distance;
    return cli_string_compare(run->rows.texts[a], run->rows.texts[b]) < 0;
}

/* The function whose stacks leak together; SIZE_MAX: none. */
static size_t find_group(const cli_leaks_run *run, const total *totals, cli_leaks_verdict *verdicts)
{
    static const double nearly = 0.8;
    double most = 0;
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < run->rows.texts_len; i++) {
        verdicts[i] = (cli_leaks_verdict){.kind = CLI_LEAKS_NONE};
        if (totals[i].stacks > 1)
            verdicts[i] = judge_total(run, &totals[i]);
        if (verdicts[i].kind == CLI_LEAKS_SUSPECT && is_spread(&totals[i], &verdicts[i]))
            most = fmax(most, verdicts[i].growth);
    }
    for (size_t i = 0; i < run->rows.texts_len; i++)
        if (most > 0 && verdicts[i].kind == CLI_LEAKS_SUSPECT &&
            is_spread(&totals[i], &verdicts[i]) && verdicts[i].growth >= nearly * most &&
            (found == SIZE_MAX || is_closer(run, totals, i, found)))
            found = i;
    return found;
}

typedef struct search {
    uint32_t text;
    bool found;
} search;

static void match_frame(void *cookie, uint32_t text, size_t distance)
{
    search *s = cookie;
    (void)distance;
    s->found |= text == s->text;
}

/* Marks the stacks of a group. Returns the one with most in use. */
static size_t mark_group(cli_leaks_run *run, uint32_t text, size_t number)
{
    size_t largest = SIZE_MAX;
    for (size_t i = 0; i < run->rows.len; i++) {
        cli_leaks_row *row = &run->rows.rows[i];
        search s = {text, false};
        if (may_be_grouped(row))
            each_frame(&run->rows, row, match_frame, &s);
        if (!s.found)
            continue;
        row->group = number;
        if (largest == SIZE_MAX || row->now > run->rows.rows[largest].now)
            largest = i;
    }
    return largest;
}

static void add_group(cli_leaks_findings *out, cli_leaks_run *run, const total *t, uint32_t text,
                      const cli_leaks_verdict *verdict, size_t number)
{
    cli_leaks_finding *f = &out->list[out->len++];
    *f = (cli_leaks_finding){.verdict = *verdict,
                             .row = mark_group(run, text, number),
                             .stacks = t->stacks,
                             .group = number,
                             .is_group = true,
                             .shared = text,
                             .now = t->now,
                             .objects = t->objects,
                             .weight = t->weights / t->levelled};
    set_age(f, run, t->allocated);
}

enum { MOST_GROUPS = 100 };

static bool find_groups(cli_leaks_findings *out, cli_leaks_run *run)
{
    total *totals = calloc(run->rows.texts_len + 1, sizeof *totals);
    cli_leaks_verdict *verdicts = calloc(run->rows.texts_len + 1, sizeof *verdicts);
    bool is_ready = totals && verdicts;
    for (size_t number = 1; is_ready && number <= MOST_GROUPS; number++) {
        add_up(totals, run);
        size_t text = find_group(run, totals, verdicts);
        if (text == SIZE_MAX)
            break;
        add_group(out, run, &totals[text], (uint32_t)text, &verdicts[text], number);
    }
    free(totals);
    free(verdicts);
    return is_ready;
}

/* ---- stacks ------------------------------------------------------------------------------- */

static void judge_rows(cli_leaks_run *run)
{
    for (size_t i = 0; i < run->rows.len; i++) {
        cli_leaks_row *row = &run->rows.rows[i];
        cli_leaks_series series =
            series_of(run, row->levels, row->allocated, weight_of(run, row), (double)run->rows.len);
        row->verdict = cli_leaks_judge(&series);
    }
}

static void add_rows(cli_leaks_findings *out, const cli_leaks_run *run)
{
    for (size_t i = 0; i < run->rows.len; i++) {
        const cli_leaks_row *row = &run->rows.rows[i];
        cli_leaks_finding *f = &out->list[out->len++];
        *f = (cli_leaks_finding){.verdict = row->verdict,
                                 .row = i,
                                 .stacks = 1,
                                 .group = row->group,
                                 .now = row->now,
                                 .objects = row->objects_now,
                                 .weight = weight_of(run, row)};
        set_age(f, run, row->allocated);
    }
}

static void count(cli_leaks_findings *out)
{
    for (size_t i = 0; i < out->len; i++) {
        const cli_leaks_finding *f = &out->list[i];
        bool is_own = f->is_group || !f->group;
        out->suspects += is_own && f->verdict.kind == CLI_LEAKS_SUSPECT;
        out->unknown += is_own && f->verdict.kind == CLI_LEAKS_UNKNOWN;
    }
}

static void judge_all(cli_leaks_findings *out, const cli_leaks_run *run)
{
    total all = {.stacks = 0};
    for (size_t i = 0; i < run->rows.len; i++)
        add_to_total(&all, run, &run->rows.rows[i]);
    double weight = all.levelled > 0 ? all.weights / all.levelled : 1;
    cli_leaks_series series = series_of(run, all.levels, all.allocated, weight, 1);
    cli_leaks_verdict verdict = cli_leaks_judge(&series);
    out->now = all.now;
    out->growth = verdict.growth;
    out->slope = verdict.slope;
}

/* Suspects by their slope, unknown ones by their growth, the others by what is in use. */
static double size_of(const cli_leaks_finding *f)
{
    return f->verdict.kind == CLI_LEAKS_SUSPECT   ? f->verdict.slope
           : f->verdict.kind == CLI_LEAKS_UNKNOWN ? f->verdict.growth
                                                  : f->now;
}

static int by_rank(const void *a, const void *b)
{
    const cli_leaks_finding *x = a, *y = b;
    if (x->verdict.kind != y->verdict.kind)
        return x->verdict.kind > y->verdict.kind ? -1 : 1;
    if (size_of(x) != size_of(y))
        return size_of(x) > size_of(y) ? -1 : 1;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return (int)y->is_group - (int)x->is_group;
}

int cli_leaks_rank(cli_leaks_findings *out, cli_leaks_run *run)
{
    *out = (cli_leaks_findings){.len = 0};
    out->list = calloc(run->rows.len + MOST_GROUPS, sizeof *out->list);
    judge_rows(run);
    if (!out->list || !find_groups(out, run))
        return cli_system_error("the stacks", "judge", ENOMEM);
    add_rows(out, run);
    judge_all(out, run);
    count(out);
    qsort(out->list, out->len, sizeof *out->list, by_rank);
    return CLI_DONE;
}

void cli_leaks_findings_free(cli_leaks_findings *findings)
{
    free(findings->list);
    *findings = (cli_leaks_findings){.len = 0};
}
