/* Judges all stacks of a run, and sums of them: see leaks.h. */
#include "leaks/leaks.h"

#include "keep.h"
#include "show/wrappers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    if (row->objects.sum > 0 && row->bytes.sum > 0 && row->now.sum > 0) {
        double size = row->bytes.sum / row->objects.sum;
        double share = run->period > 1 ? -expm1(-size / run->period) : 1;
        return row->now.sum / row->objects.sum / share;
    }
    return cli_string_is(run->unit, "count") ? 1 : smallest_change(run, row);
}

static void set_reason(cli_leaks_verdict *v, cli_leaks_reason reason)
{
    v->reason = reason;
    v->kind = CLI_LEAKS_UNKNOWN;
}

void cli_leaks_judge_row(const cli_leaks_ranking *r, cli_leaks_row *row, double tests)
{
    double work[CLI_LEAKS_POINTS];
    bool is_known = r->rows->has_allocated;
    for (size_t i = 0; i < r->rows->points && is_known; i++)
        work[i] = (r->all.allocated[i] - row->allocated[i]) / r->all.weight;
    const cli_leaks_series series = {.len = r->rows->points,
                                     .seconds = r->rows->seconds,
                                     .levels = row->levels,
                                     .allocated = is_known ? row->allocated : NULL,
                                     .work = is_known ? work : NULL,
                                     .weight = row->weight > 0 ? row->weight : 1,
                                     .tests = tests};
    cli_leaks_verdict *v = &row->verdict, by_slope = cli_leaks_judge(&series);
    *v = r->rows->has_ages && row->lives
             ? cli_leaks_judge_lives(&series, &row->lives->cohorts, &by_slope)
             : by_slope;
    if (r->smallest > 0)
        cli_leaks_doubt_growth(&series, r->smallest, v);
    if (r->is_partial && v->kind == CLI_LEAKS_SUSPECT)
        set_reason(v, CLI_LEAKS_UNSURE);
}

/* ---- sums --------------------------------------------------------------------------------- */

static void add_lives(cli_leaks_total *to, const cli_leaks_row *row, size_t points)
{
    const cli_leaks_cohorts *cohorts = &row->lives->cohorts;
    cli_leaks_cohorts *sum = &to->lives.cohorts;
    for (size_t i = 0; i < points; i++) {
        double alive = cli_leaks_alive(cohorts, i, points - 1);
        sum->births[i] += cohorts->births[i];
        sum->in_use[i] += cohorts->in_use[i];
        to->alive += i ? alive : 0;
        to->alive_weights += i ? alive * row->weight : 0;
    }
    for (size_t i = 0; i < cli_leaks_cell(0, points); i++)
        sum->deaths[i] += cohorts->deaths[i];
    to->sum.lives = &to->lives;
}

void cli_leaks_add_up(cli_leaks_total *to, const cli_leaks_rows *rows, size_t number)
{
    const cli_leaks_row *row = &rows->rows[number];
    for (size_t i = 0; i < rows->points; i++) {
        to->sum.levels[i] += row->levels[i];
        to->sum.allocated[i] += row->allocated[i];
        to->weights += row->weight * row->levels[i];
        to->levelled += row->levels[i];
    }
    if (row->lives)
        add_lives(to, row, rows->points);
    to->sum.now.total += row->now.total;
    to->sum.objects.total += row->objects.total;
    to->largest = fmax(to->largest, row->verdict.growth);
    if (!to->stacks++ || row->now.total > rows->rows[to->most].now.total) {
        to->most = number;
        to->sum.cause = row->cause;
    }
}

/* Of what a sample stands for: of those that came since the first point and are alive, or of all. */
static double mean_weight(const cli_leaks_total *t)
{
    if (t->alive > 0)
        return t->alive_weights / t->alive;
    return t->levelled > 0 ? t->weights / t->levelled : 1;
}

void cli_leaks_judge_total(const cli_leaks_ranking *r, cli_leaks_total *t, double tests)
{
    t->sum.weight = mean_weight(t);
    cli_leaks_judge_row(r, &t->sum, tests);
}

cli_leaks_finding *cli_leaks_add_finding(const cli_leaks_ranking *r, cli_leaks_what what,
                                         cli_leaks_row *of, size_t row, size_t stacks)
{
    size_t last = r->rows->points - 1;
    double span = r->rows->seconds[last] - r->rows->seconds[0];
    bool is_known = r->rows->has_allocated && span > 0;
    double rate = is_known ? fmax(0, of->allocated[last] - of->allocated[0]) / span : -1;
    cli_leaks_findings *out = r->out;
    out->list = cli_keep_more(out->list, out->len, 1, &out->cap, sizeof *out->list);
    cli_leaks_finding *f = &out->list[out->len++];
    *f = (cli_leaks_finding){.of = of,
                             .what = what,
                             .row = row,
                             .stacks = stacks,
                             .group = of->group,
                             .rate = rate,
                             .age = rate > 0   ? of->now.total / rate
                                    : is_known ? INFINITY
                                               : -1};
    return f;
}

cli_leaks_finding *cli_leaks_add_sum(const cli_leaks_ranking *r, cli_leaks_what what,
                                     const cli_leaks_total *t)
{
    cli_leaks_total *copy = cli_keep(1, sizeof *copy);
    *copy = *t;
    copy->sum.lives = t->sum.lives ? &copy->lives : NULL;
    return cli_leaks_add_finding(r, what, &copy->sum, t->most, t->stacks);
}

/* ---- places ------------------------------------------------------------------------------- */

static bool is_same_frame(const cli_frame *a, const cli_frame *b)
{
    return a == b || (a && b && a->name == b->name && a->text.file.ptr == b->text.file.ptr &&
                      a->text.line == b->text.line);
}

/* One line of the program, called by one function: called by several, it may be a wrapper. */
static bool is_same_cause(const cli_leaks_cause *a, const cli_leaks_cause *b)
{
    bool has_caller = a->caller && b->caller;
    return a->frame && is_same_frame(a->frame, b->frame) &&
           (has_caller ? a->caller->name == b->caller->name : a->caller == b->caller);
}

/* Stacks whose growth is certain have a verdict of their own. */
static bool is_uncertain(const cli_leaks_row *row)
{
    const cli_leaks_verdict *v = &row->verdict;
    const cli_leaks_evidence *e = &v->evidence;
    bool is_certain = e->age ? v->kind == CLI_LEAKS_SUSPECT || e->old >= e->needed
                             : v->doubt <= cli_leaks_doubt_limit;
    return !row->group && !is_certain;
}

/* Does the stack belong to the cause of a suspect? Stacks that may grow do, too. */
static bool belongs_to_cause(const cli_leaks_row *row, const cli_leaks_cause *cause)
{
    bool may_grow =
        row->verdict.kind != CLI_LEAKS_NONE || (is_uncertain(row) && row->verdict.growth > 0);
    return !row->group && may_grow && is_same_cause(&row->cause, cause);
}

/* Joins the stacks of the cause of a suspect, if there are several. */
static void join_place(cli_leaks_ranking *r, const cli_leaks_row *suspect)
{
    cli_leaks_rows *rows = r->rows;
    cli_leaks_total sum = {.stacks = 0};
    for (size_t i = 0; i < rows->len; i++)
        if (belongs_to_cause(&rows->rows[i], &suspect->cause))
            cli_leaks_add_up(&sum, rows, i);
    if (sum.stacks < 2)
        return;
    cli_leaks_judge_total(r, &sum, r->tests);
    if (sum.sum.verdict.kind != CLI_LEAKS_SUSPECT) /* the others only add noise */
        sum.sum.verdict = suspect->verdict;
    sum.sum.group = ++r->groups;
    for (size_t i = 0; i < rows->len; i++)
        if (belongs_to_cause(&rows->rows[i], &suspect->cause))
            rows->rows[i].group = r->groups;
    cli_leaks_add_sum(r, CLI_LEAKS_PLACE, &sum);
}

/* What a constructor or a helper allocates for a line that is the cause of a suspect has that cause,
 * too. */
static void move_cause(const cli_leaks_rows *rows, cli_leaks_row *row)
{
    for (size_t i = 0; row->cause.caller && i < rows->len; i++) {
        const cli_leaks_row *other = &rows->rows[i];
        if (other != row && other->verdict.kind == CLI_LEAKS_SUSPECT && other->cause.frame &&
            is_same_frame(row->cause.caller, other->cause.frame)) {
            row->cause = other->cause;
            return;
        }
    }
}

/* The time for this is limited; more suspects than these are not joined. */
enum { MOST_JOINED = 1000 };

static void find_places(cli_leaks_ranking *r)
{
    cli_leaks_row *suspects[MOST_JOINED];
    size_t len = 0;
    for (size_t i = 0; i < r->rows->len && len < MOST_JOINED; i++)
        if (r->rows->rows[i].verdict.kind == CLI_LEAKS_SUSPECT)
            suspects[len++] = &r->rows->rows[i];
    for (size_t i = 0; i < len; i++)
        move_cause(r->rows, suspects[i]);
    for (size_t i = 0; i < len; i++)
        if (!suspects[i]->group)
            join_place(r, suspects[i]);
}

/* ---- functions that stacks share ------------------------------------------------------------ */

/* Stacks that rise and fall hide what grows with them, so they come second. But where much comes
 * and goes, stacks of a few samples all do. */
static bool may_share(const cli_leaks_row *row, bool with_sawtooth)
{
    return is_uncertain(row) && (with_sawtooth || row->verdict.reason != CLI_LEAKS_SAWTOOTH);
}

/* The functions that the stacks of a run have. */
typedef struct functions {
    cli_leaks_total *list;
    size_t len;
    uint32_t *number_1; /* in the list, plus 1, by the number of the name; 0: none */
} functions;

static functions find_functions(const cli_leaks_rows *rows)
{
    const cli_shown *shown = &rows->all->shown;
    const cli_frame *frame;
    functions all = {.number_1 = cli_keep(shown->names_len, sizeof *all.number_1)};
    for (size_t i = 0; i < rows->len; i++)
        for (cli_walk w = cli_leaks_walk(rows, &rows->rows[i]); (frame = cli_walk_next(&w));)
            if (!all.number_1[frame->name])
                all.number_1[frame->name] = (uint32_t)++all.len;
    all.list = cli_keep(all.len, sizeof *all.list);
    for (size_t i = 0; i < shown->names_len; i++)
        if (all.number_1[i])
            all.list[all.number_1[i] - 1].name = (uint32_t)i;
    return all;
}

/* A function that calls itself counts once. One of an allocator or an interpreter says nothing about the place. */
static void add_to_functions(const functions *all, const cli_leaks_rows *rows, size_t number)
{
    const cli_frame *frame;
    cli_walk w = cli_leaks_walk(rows, &rows->rows[number]);
    for (size_t i = 0; (frame = cli_walk_next(&w)); i++) {
        cli_leaks_total *to = &all->list[all->number_1[frame->name] - 1];
        if (to->last_row == number + 1 ||
            frame->kind & (CLI_FRAME_ALLOCATES | CLI_FRAME_INTERPRETS))
            continue;
        to->last_row = number + 1;
        to->distance += (double)i;
        cli_leaks_add_up(to, rows, number);
    }
}

static void add_up_functions(const functions *all, const cli_leaks_rows *rows, bool with_sawtooth)
{
    for (size_t i = 0; i < all->len; i++)
        all->list[i] = (cli_leaks_total){.name = all->list[i].name};
    for (size_t i = 0; i < rows->len; i++)
        if (may_share(&rows->rows[i], with_sawtooth))
            add_to_functions(all, rows, i);
}

/* Is a function a more exact place than another one? */
static bool is_closer(const cli_leaks_total *a, const cli_leaks_total *b)
{
    if (a->stacks != b->stacks)
        return a->stacks < b->stacks;
    return a->distance != b->distance ? a->distance < b->distance : a->name < b->name;
}

/* The function whose stacks leak together; NULL: none. A group is more than its largest stack. */
static const cli_leaks_total *find_group(const cli_leaks_ranking *r, const functions *all)
{
    static const double nearly = 0.8, most_of_one = 0.8;
    double most = 0, tests = r->tests + (double)all->len;
    const cli_leaks_total *found = NULL;
    for (size_t i = 0; i < all->len; i++) {
        cli_leaks_total *t = &all->list[i];
        cli_leaks_verdict *v = &t->sum.verdict;
        if (t->stacks > 1)
            cli_leaks_judge_total(r, t, tests);
        if (t->largest > most_of_one * v->growth)
            v->kind = CLI_LEAKS_NONE;
        if (v->kind == CLI_LEAKS_SUSPECT)
            most = fmax(most, v->growth);
    }
    for (const cli_leaks_total *t = all->list; t < all->list + all->len; t++)
        if (t->sum.verdict.kind == CLI_LEAKS_SUSPECT && t->sum.verdict.growth >= nearly * most &&
            (!found || is_closer(t, found)))
            found = t;
    return found;
}

/* Marks the stacks of a group. */
static void mark_group(const cli_leaks_ranking *r, uint32_t name, bool with_sawtooth)
{
    const cli_frame *frame;
    for (size_t i = 0; i < r->rows->len; i++) {
        cli_leaks_row *row = &r->rows->rows[i];
        cli_walk w = cli_leaks_walk(r->rows, row);
        bool may = may_share(row, with_sawtooth);
        while (may && (frame = cli_walk_next(&w)))
            if (frame->name == name)
                row->group = r->groups;
    }
}

enum { MOST_GROUPS = 100 };

static void find_groups(cli_leaks_ranking *r)
{
    functions all = find_functions(r->rows);
    size_t found = 0;
    for (int with_sawtooth = 0; with_sawtooth < 2; with_sawtooth++)
        for (; found < MOST_GROUPS; found++) {
            add_up_functions(&all, r->rows, with_sawtooth);
            const cli_leaks_total *group = find_group(r, &all);
            if (!group)
                break;
            cli_leaks_finding *f = cli_leaks_add_sum(r, CLI_LEAKS_SHARED, group);
            f->group = ++r->groups;
            f->shared = r->rows->all->shown.names[group->name];
            mark_group(r, group->name, with_sawtooth);
        }
    cli_drop(all.list);
    cli_drop(all.number_1);
}

/* ---- the rest ----------------------------------------------------------------------------- */

/* Growth of the rest is no suspect, since no function is known for it. It is one test of its own;
 * that it counts as several leaves one innocent run in a hundred with a rest that is unknown. */
static void judge_rest(const cli_leaks_ranking *r)
{
    static const double tests = 10;
    cli_leaks_total sum = {.stacks = 0};
    for (size_t i = 0; i < r->rows->len; i++)
        if (!r->rows->rows[i].group && r->rows->rows[i].verdict.kind == CLI_LEAKS_NONE &&
            (!r->rows->has_ages || is_uncertain(&r->rows->rows[i])))
            cli_leaks_add_up(&sum, r->rows, i);
    if (sum.stacks < 2)
        return;
    cli_leaks_judge_total(r, &sum, tests);
    cli_leaks_verdict *v = &sum.sum.verdict;
    if (v->kind == CLI_LEAKS_NONE || v->reason == CLI_LEAKS_FEW_POINTS ||
        v->reason == CLI_LEAKS_FEW_SAMPLES)
        return;
    set_reason(v, v->kind == CLI_LEAKS_SUSPECT ? CLI_LEAKS_UNSURE : v->reason);
    cli_leaks_add_sum(r, CLI_LEAKS_REST, &sum);
}

/* ---- stacks ------------------------------------------------------------------------------- */

/* A stack with less than three samples makes no rule hold, and is no test. */
static double count_tests(const cli_leaks_rows *rows)
{
    static const double least = 3;
    size_t tests = 0;
    for (size_t i = 0; i < rows->len; i++) {
        const cli_leaks_lives *lives = rows->rows[i].lives;
        double made = 0;
        for (size_t p = 0; lives && p < rows->points; p++)
            made += lives->cohorts.births[p];
        tests += !rows->has_ages || made >= least;
    }
    return (double)tests;
}

/* Sets the verdict of each row, and what all rows have. */
static void judge_rows(cli_leaks_ranking *r, const cli_leaks_run *run)
{
    cli_leaks_rows *rows = r->rows;
    cli_leaks_total all = {.stacks = 0};
    r->tests = fmax(1, count_tests(rows));
    for (size_t i = 0; i < rows->len; i++) {
        rows->rows[i].weight = weight_of(run, &rows->rows[i]);
        cli_leaks_add_up(&all, rows, i);
    }
    all.sum.lives = NULL;
    all.sum.weight = mean_weight(&all);
    r->all = all.sum;
    bool is_sampled = run->period > 1 && cli_string_is(run->unit, "bytes");
    const cli_leaks_series times = {.len = rows->points,
                                    .seconds = rows->seconds,
                                    .weight = is_sampled ? run->period : r->all.weight,
                                    .tests = r->tests};
    r->smallest =
        rows->has_ages ? cli_leaks_smallest_that_lives(&times) : cli_leaks_smallest(&times);
    for (size_t i = 0; i < rows->len; i++) {
        cli_leaks_judge_row(r, &rows->rows[i], r->tests);
        rows->rows[i].cause = cli_leaks_find_cause(rows, i, 0);
    }
    cli_leaks_judge_row(r, &all.sum, 1);
    r->out->now = all.sum.now.total;
    r->out->slope = all.sum.verdict.slope;
    r->out->smallest = r->smallest;
}

/* ---- the list ----------------------------------------------------------------------------- */

bool cli_leaks_is_member(const cli_leaks_finding *f)
{
    return f->what == CLI_LEAKS_STACK && f->group;
}

/* Suspects by their slope, unknown ones by their growth, the others by what is in use. */
static double size_of(const cli_leaks_finding *f)
{
    return f->of->verdict.kind == CLI_LEAKS_SUSPECT   ? f->of->verdict.slope
           : f->of->verdict.kind == CLI_LEAKS_UNKNOWN ? f->of->verdict.growth
                                                      : f->of->now.total;
}

static int by_rank(const void *a, const void *b)
{
    const cli_leaks_finding *x = a, *y = b;
    if (x->of->verdict.kind != y->of->verdict.kind)
        return x->of->verdict.kind > y->of->verdict.kind ? -1 : 1;
    if (size_of(x) != size_of(y))
        return size_of(x) > size_of(y) ? -1 : 1;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return (int)y->what - (int)x->what;
}

/* Sorts and counts the findings, and chooses those that are printed. */
static void choose_shown(cli_leaks_findings *out, const cli_leaks_how *how)
{
    if (out->len)
        qsort(out->list, out->len, sizeof *out->list, by_rank);
    out->shown = cli_keep(out->len, sizeof *out->shown);
    for (size_t i = 0; i < out->len; i++) {
        const cli_leaks_finding *f = &out->list[i];
        bool is_own = !cli_leaks_is_member(f);
        out->suspects += is_own && f->of->verdict.kind == CLI_LEAKS_SUSPECT;
        out->unknown += is_own && f->of->verdict.kind == CLI_LEAKS_UNKNOWN;
        out->others +=
            is_own && f->what == CLI_LEAKS_STACK && f->of->verdict.kind == CLI_LEAKS_NONE;
        if (how->all || (is_own && f->of->verdict.kind != CLI_LEAKS_NONE))
            out->shown[out->shown_len++] = f;
    }
    out->left = out->shown_len > how->top ? out->shown_len - how->top : 0;
    out->shown_len -= out->left;
}

void cli_leaks_rank(cli_leaks_run *run, const cli_leaks_how *how)
{
    cli_leaks_ranking r = {
        .out = &run->findings, .rows = &run->rows, .is_partial = run->is_partial};
    run->findings = (cli_leaks_findings){.list = NULL};
    for (size_t i = 0; i < run->rows.len; i++)
        run->rows.rows[i].group = 0;
    for (size_t i = 0; i < run->areas.len; i++)
        run->areas.rows[i].group = 0;
    cli_leaks_grade_frames(run, r.rows);
    judge_rows(&r, run);
    find_places(&r);
    find_groups(&r);
    judge_rest(&r);
    cli_leaks_judge_areas(run);
    for (size_t i = 0; i < r.rows->len; i++)
        cli_leaks_add_finding(&r, CLI_LEAKS_STACK, &r.rows->rows[i], i, 1);
    choose_shown(&run->findings, how);
}
