/* Judges all stacks of a run, and sums of them: see leaks_rank.h. */
#include "leaks/leaks_rank.h"

#include "keep.h"

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
    size_t most;     /* the row that has most in use */
    cli_leaks_verdict verdict;
} total;

/* What is judged, and what all its stacks allocated, in samples. */
typedef struct ranking {
    cli_leaks_run *run;
    cli_leaks_cause *causes; /* of each row */
    double allocated[CLI_LEAKS_POINTS], weight;
    size_t groups; /* so far */
} ranking;

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
    return cli_string_is(run->unit, "count") ? 1 : smallest_change(run, row);
}

static cli_leaks_verdict judge(const ranking *r, const double *levels, const double *allocated,
                               double weight, double tests)
{
    const cli_leaks_rows *rows = &r->run->rows;
    double work[CLI_LEAKS_POINTS];
    for (size_t i = 0; i < rows->points; i++)
        work[i] = (r->allocated[i] - allocated[i]) / r->weight;
    bool is_known = r->run->has_allocated;
    const cli_leaks_series series = {.len = rows->points,
                                     .seconds = rows->seconds,
                                     .levels = levels,
                                     .allocated = is_known ? allocated : NULL,
                                     .work = is_known ? work : NULL,
                                     .weight = weight > 0 ? weight : 1,
                                     .tests = tests};
    return cli_leaks_judge(&series);
}

/* ---- sums --------------------------------------------------------------------------------- */

/* Stacks whose growth is certain have a verdict of their own. */
static bool is_uncertain(const cli_leaks_row *row)
{
    return !row->group && row->verdict.doubt > cli_leaks_doubt_limit;
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
    if (!to->stacks++ || row->now > run->rows.rows[to->most].now)
        to->most = (size_t)(row - run->rows.rows);
}

static double mean_weight(const total *t)
{
    return t->levelled > 0 ? t->weights / t->levelled : 1;
}

static cli_leaks_verdict judge_total(const ranking *r, const total *t, double tests)
{
    return judge(r, t->levels, t->allocated, mean_weight(t), tests);
}

/* The finding of one stack or several. */
static cli_leaks_finding *add_sum(cli_leaks_findings *out, const ranking *r, cli_leaks_what what,
                                  const total *t, const cli_leaks_verdict *verdict)
{
    cli_leaks_finding *f = &out->list[out->len++];
    *f = (cli_leaks_finding){.verdict = *verdict,
                             .what = what,
                             .row = t->most,
                             .stacks = t->stacks,
                             .cause = r->causes[t->most],
                             .now = t->now,
                             .objects = t->objects,
                             .rate = -1,
                             .age = -1};
    const cli_leaks_rows *rows = &r->run->rows;
    size_t last = rows->points - 1;
    double span = rows->seconds[last] - rows->seconds[0];
    if (!r->run->has_allocated || span <= 0)
        return f;
    f->rate = fmax(0, t->allocated[last] - t->allocated[0]) / span;
    f->age = f->rate > 0 ? f->now / f->rate : INFINITY;
    return f;
}

/* ---- places ------------------------------------------------------------------------------- */

static bool is_same_frame(const cli_leaks_frame *a, const cli_leaks_frame *b)
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

/* Does the stack belong to the cause of a suspect? Stacks that may grow do, too. */
static bool belongs(const ranking *r, size_t row, size_t suspect)
{
    const cli_leaks_row *candidate = &r->run->rows.rows[row];
    bool may_grow = candidate->verdict.kind != CLI_LEAKS_NONE ||
                    (is_uncertain(candidate) && candidate->verdict.growth > 0);
    return !candidate->group && may_grow && is_same_cause(&r->causes[row], &r->causes[suspect]);
}

/* Joins the stacks of the cause of a suspect, if there are several. */
static void join_place(cli_leaks_findings *out, ranking *r, size_t suspect)
{
    cli_leaks_rows *rows = &r->run->rows;
    total sum = {.stacks = 0};
    for (size_t i = 0; i < rows->len; i++)
        if (belongs(r, i, suspect))
            add_to_total(&sum, r->run, &rows->rows[i]);
    if (sum.stacks < 2)
        return;
    cli_leaks_verdict verdict = judge_total(r, &sum, (double)rows->len);
    if (verdict.kind != CLI_LEAKS_SUSPECT) /* the others only add noise */
        verdict = rows->rows[suspect].verdict;
    r->groups++;
    for (size_t i = 0; i < rows->len; i++)
        if (belongs(r, i, suspect))
            rows->rows[i].group = r->groups;
    add_sum(out, r, CLI_LEAKS_PLACE, &sum, &verdict)->group = r->groups;
}

/* What a constructor or a helper allocates for a line that is the cause of a suspect has that cause,
 * too. */
static void move_cause(ranking *r, size_t row)
{
    const cli_leaks_rows *rows = &r->run->rows;
    for (size_t i = 0; r->causes[row].caller && i < rows->len; i++)
        if (i != row && rows->rows[i].verdict.kind == CLI_LEAKS_SUSPECT && r->causes[i].frame &&
            is_same_frame(r->causes[row].caller, r->causes[i].frame)) {
            r->causes[row] = r->causes[i];
            return;
        }
}

/* The time for this is limited; more suspects than these are not joined. */
enum { MOST_JOINED = 1000 };

static void find_places(cli_leaks_findings *out, ranking *r)
{
    const cli_leaks_rows *rows = &r->run->rows;
    size_t suspects[MOST_JOINED], len = 0;
    for (size_t i = 0; i < rows->len && len < MOST_JOINED; i++)
        if (rows->rows[i].verdict.kind == CLI_LEAKS_SUSPECT)
            suspects[len++] = i;
    for (size_t i = 0; i < len; i++)
        move_cause(r, suspects[i]);
    for (size_t i = 0; i < len; i++)
        if (!rows->rows[suspects[i]].group)
            join_place(out, r, suspects[i]);
}

/* ---- functions that stacks share ------------------------------------------------------------ */

/* Stacks that rise and fall hide what grows with them, so they come second. But where much comes
 * and goes, stacks of a few samples all do. */
static bool may_share(const cli_leaks_row *row, bool with_sawtooth)
{
    return is_uncertain(row) && (with_sawtooth || row->verdict.reason != CLI_LEAKS_SAWTOOTH);
}

/* A function that calls itself counts once. */
static void add_to_functions(total *totals, const cli_leaks_run *run, size_t row)
{
    const cli_leaks_frame **frames;
    size_t len = cli_leaks_frames(&run->rows, row, &frames);
    for (size_t i = 0; i < len; i++) {
        total *to = &totals[frames[i]->name];
        if (to->last_row == row + 1)
            continue;
        to->last_row = row + 1;
        to->distance += (double)i;
        add_to_total(to, run, &run->rows.rows[row]);
    }
    cli_drop(frames);
}

static void add_up(total *totals, const cli_leaks_run *run, bool with_sawtooth)
{
    for (size_t i = 0; i < run->rows.texts_len; i++)
        totals[i] = (total){.stacks = 0};
    for (size_t i = 0; i < run->rows.len; i++)
        if (may_share(&run->rows.rows[i], with_sawtooth))
            add_to_functions(totals, run, i);
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

/* The function whose stacks leak together; SIZE_MAX: none. A group is more than its largest stack. */
static size_t find_group(const ranking *r, total *totals)
{
    static const double nearly = 0.8, most_of_one = 0.8;
    const cli_leaks_run *run = r->run;
    double most = 0, tests = (double)(run->rows.len + run->rows.texts_len);
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < run->rows.texts_len; i++) {
        total *t = &totals[i];
        if (t->stacks > 1)
            t->verdict = judge_total(r, t, tests);
        if (t->largest > most_of_one * t->verdict.growth)
            t->verdict.kind = CLI_LEAKS_NONE;
        if (t->verdict.kind == CLI_LEAKS_SUSPECT)
            most = fmax(most, t->verdict.growth);
    }
    for (size_t i = 0; i < run->rows.texts_len; i++)
        if (totals[i].verdict.kind == CLI_LEAKS_SUSPECT &&
            totals[i].verdict.growth >= nearly * most &&
            (found == SIZE_MAX || is_closer(run, totals, i, found)))
            found = i;
    return found;
}

static bool has_function(const cli_leaks_rows *rows, size_t row, uint32_t text)
{
    const cli_leaks_frame **frames;
    bool has = false;
    size_t len = cli_leaks_frames(rows, row, &frames);
    for (size_t i = 0; i < len; i++)
        has |= frames[i]->name == text;
    cli_drop(frames);
    return has;
}

/* Marks the stacks of a group. */
static void mark_group(ranking *r, uint32_t text, bool with_sawtooth)
{
    for (size_t i = 0; i < r->run->rows.len; i++) {
        cli_leaks_row *row = &r->run->rows.rows[i];
        if (may_share(row, with_sawtooth) && has_function(&r->run->rows, i, text))
            row->group = r->groups;
    }
}

enum { MOST_GROUPS = 100, SUMS = 3 /* the rest, and two of areas */ };

static void find_groups(cli_leaks_findings *out, ranking *r)
{
    total *totals = cli_keep(r->run->rows.texts_len, sizeof *totals);
    size_t found = 0;
    for (int with_sawtooth = 0; with_sawtooth < 2; with_sawtooth++)
        for (; found < MOST_GROUPS; found++) {
            add_up(totals, r->run, with_sawtooth);
            size_t text = find_group(r, totals);
            if (text == SIZE_MAX)
                break;
            cli_leaks_finding *f =
                add_sum(out, r, CLI_LEAKS_SHARED, &totals[text], &totals[text].verdict);
            f->group = ++r->groups;
            f->shared = (uint32_t)text;
            mark_group(r, f->shared, with_sawtooth);
        }
    cli_drop(totals);
}

/* ---- the rest ----------------------------------------------------------------------------- */

/* Growth of the rest is no suspect, since no function is known for it. It is one test of its own;
 * that it counts as several leaves one innocent run in a hundred with a rest that is unknown. */
static void judge_rest(cli_leaks_findings *out, const ranking *r)
{
    static const double tests = 10;
    total sum = {.stacks = 0};
    for (size_t i = 0; i < r->run->rows.len; i++) {
        const cli_leaks_row *row = &r->run->rows.rows[i];
        if (!row->group && row->verdict.kind == CLI_LEAKS_NONE)
            add_to_total(&sum, r->run, row);
    }
    if (sum.stacks < 2)
        return;
    cli_leaks_verdict verdict = judge_total(r, &sum, tests);
    if (verdict.kind == CLI_LEAKS_NONE || verdict.reason == CLI_LEAKS_FEW_POINTS)
        return;
    if (verdict.kind == CLI_LEAKS_SUSPECT)
        verdict.reason = CLI_LEAKS_UNSURE;
    verdict.kind = CLI_LEAKS_UNKNOWN;
    add_sum(out, r, CLI_LEAKS_REST, &sum, &verdict);
}

/* ---- stacks ------------------------------------------------------------------------------- */

/* Sets the verdict of each row, and what all rows have. */
static void judge_rows(cli_leaks_findings *out, ranking *r)
{
    cli_leaks_rows *rows = &r->run->rows;
    total all = {.stacks = 0};
    double noise = 0, tests = (double)rows->len;
    cli_leaks_grade_frames(r->run, rows);
    for (size_t i = 0; i < rows->len; i++)
        add_to_total(&all, r->run, &rows->rows[i]);
    memcpy(r->allocated, all.allocated, sizeof r->allocated);
    r->weight = mean_weight(&all);
    for (size_t i = 0; i < rows->len; i++) {
        cli_leaks_row *row = &rows->rows[i];
        row->verdict = judge(r, row->levels, row->allocated, weight_of(r->run, row), tests);
        noise = fmax(noise, row->verdict.noise);
        r->causes[i] = cli_leaks_find_cause(rows, i, 0);
    }
    cli_leaks_verdict verdict = judge_total(r, &all, 1);
    out->now = all.now;
    out->slope = verdict.slope;
    bool is_sampled = r->run->period > 1 && cli_string_is(r->run->unit, "bytes");
    const cli_leaks_series times = {.len = rows->points,
                                    .seconds = rows->seconds,
                                    .weight = is_sampled ? r->run->period : r->weight,
                                    .tests = fmax(tests, 1)};
    out->smallest = cli_leaks_smallest(&times, 0);
    out->smallest_in_noise = cli_leaks_smallest(&times, noise);
}

static void add_rows(cli_leaks_findings *out, const ranking *r)
{
    const cli_leaks_rows *rows = &r->run->rows;
    for (size_t i = 0; i < rows->len; i++) {
        total one = {.stacks = 0};
        add_to_total(&one, r->run, &rows->rows[i]);
        add_sum(out, r, CLI_LEAKS_STACK, &one, &rows->rows[i].verdict)->group = rows->rows[i].group;
    }
}

bool cli_leaks_is_member(const cli_leaks_finding *f)
{
    return f->what == CLI_LEAKS_STACK && f->group;
}

static void count(cli_leaks_findings *out)
{
    for (size_t i = 0; i < out->len; i++) {
        const cli_leaks_finding *f = &out->list[i];
        bool is_own = !cli_leaks_is_member(f);
        out->suspects += is_own && f->verdict.kind == CLI_LEAKS_SUSPECT;
        out->unknown += is_own && f->verdict.kind == CLI_LEAKS_UNKNOWN;
    }
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
    return (int)y->what - (int)x->what;
}

void cli_leaks_rank(cli_leaks_findings *out, cli_leaks_run *run)
{
    ranking r = {.run = run, .causes = cli_keep(run->rows.len, sizeof *r.causes)};
    /* Each place has two stacks at least. */
    size_t most = run->rows.len + run->rows.len / 2 + MOST_GROUPS + SUMS;
    *out = (cli_leaks_findings){.list = cli_keep(most, sizeof *out->list)};
    judge_rows(out, &r);
    find_places(out, &r);
    find_groups(out, &r);
    judge_rest(out, &r);
    cli_leaks_judge_areas(out, run);
    add_rows(out, &r);
    count(out);
    qsort(out->list, out->len, sizeof *out->list, by_rank);
}
