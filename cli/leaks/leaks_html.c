/* pprofdelta leaks --html OUT.html: the answer as one page, which needs only a browser.
 *
 * The page is that of `show --flame` with a report above it (leaks/page/, see show/page_file.h). Its data:
 *
 *     runs        at most 16, those with suspects first
 *       report    the object of the run that --json prints
 *       names ... the tree of the stacks, as flame_tree.h says
 *       film      what each stack has at each point, as the changes between the points:
 *           window   [0, 1, 2]            the window of each point
 *           seconds  [0, 60, 120]         since the first window
 *           node     [3, 0, 2]            of each stack: its node, as the distance from the last one
 *           up       [0, 1, 0]            ... steps from there to the frame that is the cause; -1: none
 *           verdict  [[0, 6, 0]]          ... kind and reason, and the number of its group or 0
 *           series   [[0, 4096, 2, -96]]  ... points until a change, the change, ...: 4096, 4096, 4000
 *           finding  [2]                  of each finding of the report: its stack, or -1
 *           areas                         the same for the areas of the resident memory
 *           sizes    [[6, ...]]           allocations by the binary logarithm of their mean size
 *           source   [["a.c", 8, 7, ["int i;", ...]]]  a place, the number of the first line, lines
 *
 * The size is bounded: if the data is too large, fewer stacks are whole. All others are one stack. */
#include "leaks/leaks.h"

#include "cli.h"
#include "keep.h"
#include "leaks_page.h"
#include "message.h"
#include "show/flame_tree.h"
#include "show/page_file.h"
#include "show/short_names.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { MOST_BYTES = 850000, MOST_RUNS = 16 };

/* One run, made ready once for every try. */
typedef struct scene {
    const cli_leaks_run *run;
    const cli_leaks_how *how;
    size_t *order; /* the rows, the most important first */
    size_t *areas; /* the same of the areas */
    cli_frame *frames;
    const cli_string *names;
    size_t names_len;
    const cli_frame *
        *paths; /* of all rows, as run->rows.path has them, and the frame of the others */
    Pd__View__Sample *samples; /* none has a label; their places are the numbers of the rows */
} scene;

/* ---- what is important ---------------------------------------------------------------------- */

typedef struct ranked {
    size_t row;
    bool is_finding;
    cli_leaks_kind kind;
    double most;
} ranked;

static int by_importance(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind > y->kind ? -1 : 1;
    if (x->is_finding != y->is_finding)
        return x->is_finding ? -1 : 1;
    if (x->most != y->most)
        return x->most > y->most ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

typedef double level_at(const cli_leaks_point *point, size_t row);

static size_t *rank_rows(const cli_leaks_film *film, const cli_leaks_rows *rows, level_at *level)
{
    ranked *list = cli_keep(rows->len, sizeof *list);
    size_t *order = cli_keep(rows->len, sizeof *order);
    for (size_t i = 0; i < rows->len; i++) {
        const cli_leaks_row *row = &rows->rows[i];
        list[i] = (ranked){i, row->group > 0, row->verdict.kind, 0};
        for (size_t k = 0; k < film->len; k++)
            list[i].most = fmax(list[i].most, level(&film->points[k], i));
    }
    qsort(list, rows->len, sizeof *list, by_importance);
    for (size_t i = 0; i < rows->len; i++)
        order[i] = list[i].row;
    cli_drop(list);
    return order;
}

/* ---- stacks --------------------------------------------------------------------------------- */

/* Names are short, as `show` prints them. Behind the frames of the run is that of all other stacks. */
static void name_frames(scene *s)
{
    const cli_leaks_rows *rows = &s->run->rows;
    size_t texts = rows->texts_len, frames = rows->frames_len;
    cli_string *names = cli_keep(texts + 1, sizeof *names);
    uint32_t *numbers = cli_keep(texts + 1, sizeof *numbers);
    char *room = cli_keep(CLI_SHORT_NAME_MAX, 1);
    for (size_t i = 0; i < texts; i++)
        names[i] = cli_keep_string(cli_short_name(rows->texts[i], room));
    names[texts] = cli_string_of("(other stacks)");
    s->names = cli_keep_numbered(names, texts + 1, numbers, &s->names_len);
    s->frames = cli_keep(frames + 1, sizeof *s->frames);
    for (size_t i = 0; i < frames; i++)
        s->frames[i] =
            (cli_frame){.text = rows->frames[i].text, .name = numbers[rows->frames[i].name]};
    s->frames[frames].text.file = s->frames[frames].text.module = cli_string_of("");
    s->frames[frames].name = numbers[texts];
    s->paths = cli_keep(rows->path_len + 1, sizeof *s->paths);
    for (size_t i = 0; i < rows->path_len; i++)
        s->paths[i] = &s->frames[rows->path[i]];
    s->paths[rows->path_len] = &s->frames[frames];
}

static scene scene_of(const cli_leaks_run *run, const cli_leaks_how *how)
{
    scene s = {.run = run, .how = how};
    s.order = rank_rows(&run->film, &run->rows, cli_leaks_film_level);
    s.areas = rank_rows(&run->film, &run->areas, cli_leaks_film_area);
    s.samples = cli_keep(run->rows.len + 1, sizeof *s.samples);
    name_frames(&s);
    return s;
}

/* The `whole` most important stacks, and one for all others, if there are any. */
static cli_shown shown_of(const scene *s, size_t whole)
{
    const cli_leaks_rows *rows = &s->run->rows;
    cli_shown shown = {.names = s->names, .names_len = s->names_len, .len = whole};
    shown.stacks = cli_keep(whole + 1, sizeof *shown.stacks);
    for (size_t i = 0; i < whole; i++) {
        const cli_leaks_row *row = &rows->rows[s->order[i]];
        size_t from, to;
        cli_leaks_cut(s->run, row, s->how->all_frames, &from, &to);
        shown.stacks[i] = (cli_stack){.frames = &s->paths[row->path + from],
                                      .len = to - from,
                                      .sample = &s->samples[s->order[i]]};
    }
    if (whole < rows->len)
        shown.stacks[shown.len++] = (cli_stack){
            .frames = &s->paths[rows->path_len], .len = 1, .sample = &s->samples[rows->len]};
    return shown;
}

/* ---- writing -------------------------------------------------------------------------------- */

static void put_series(FILE *to, const double *values, size_t len)
{
    double last = 0;
    size_t from = 0;
    putc('[', to);
    for (size_t i = 0; i < len; i++) {
        if (values[i] == last)
            continue;
        fprintf(to, "%s%zu,%.0f", last != 0 || from ? "," : "", i - from, values[i] - last);
        last = values[i];
        from = i;
    }
    putc(']', to);
}

/* The series of a row; of all rows from order[whole] on if it is behind the last. */
static void put_row(FILE *to, const scene *s, level_at *level, const size_t *order, size_t len,
                    size_t row, size_t whole)
{
    double values[CLI_LEAKS_FILM_MOST] = {0};
    const cli_leaks_film *film = &s->run->film;
    for (size_t i = 0; i < film->len; i++)
        for (size_t k = row < len ? len : whole; k < len; k++)
            values[i] += level(&film->points[i], order[k]);
    for (size_t i = 0; i < film->len && row < len; i++)
        values[i] = level(&film->points[i], row);
    put_series(to, values, film->len);
}

/* Steps from the last frame that is shown to the cause. */
static long steps_to_cause(const scene *s, size_t number)
{
    const cli_leaks_row *row = &s->run->rows.rows[number];
    size_t from, to;
    cli_leaks_cut(s->run, row, s->how->all_frames, &from, &to);
    for (size_t i = from; i < to; i++)
        if (cli_leaks_frame_at(&s->run->rows, row, i) == row->cause.frame)
            return (long)(i - from);
    return -1;
}

typedef struct stacks {
    const scene *scene;
    cli_shown shown;
    cli_flame_tree tree;
    size_t whole;
} stacks;

static size_t row_of(const stacks *all, size_t at)
{
    return (size_t)(all->shown.stacks[all->tree.ends[at].stack].sample - all->scene->samples);
}

/* What a list has of a stack. */
typedef void put_item(FILE *to, const stacks *all, size_t at, size_t row);

static void put_node(FILE *to, const stacks *all, size_t at, size_t row)
{
    const cli_flame_end *ends = all->tree.ends;
    (void)row;
    fprintf(to, "%u", (unsigned)(ends[at].node - (at ? ends[at - 1].node : 0)));
}

static void put_up(FILE *to, const stacks *all, size_t at, size_t row)
{
    (void)at;
    fprintf(to, "%ld", row < all->scene->run->rows.len ? steps_to_cause(all->scene, row) : -1);
}

/* The stack of all others has no verdict. */
static const cli_leaks_row *judged(const stacks *all, size_t row)
{
    static const cli_leaks_row others = {.verdict.reason = CLI_LEAKS_FLAT};
    const cli_leaks_rows *rows = &all->scene->run->rows;
    return row < rows->len ? &rows->rows[row] : &others;
}

static void put_verdict(FILE *to, const stacks *all, size_t at, size_t row)
{
    const cli_leaks_row *one = judged(all, row);
    (void)at;
    fprintf(to, "[%d,%d,%zu]", (int)one->verdict.kind, (int)one->verdict.reason, one->group);
}

static void put_levels(FILE *to, const stacks *all, size_t at, size_t row)
{
    const scene *s = all->scene;
    (void)at;
    put_row(to, s, cli_leaks_film_level, s->order, s->run->rows.len, row, all->whole);
}

static void put_list(FILE *to, const stacks *all, const char *name, put_item *put)
{
    fprintf(to, ",\n\"%s\":[", name);
    for (size_t i = 0; i < all->shown.len; i++) {
        fputs(i ? "," : "", to);
        put(to, all, i, row_of(all, i));
    }
    putc(']', to);
}

/* Which stack is that of each finding? */
static void put_findings(FILE *to, const stacks *all, size_t findings)
{
    fputs(",\n\"finding\":[", to);
    for (size_t i = 0; i < findings; i++) {
        const cli_leaks_finding *f = all->scene->run->findings.shown[i];
        size_t at = 0;
        while (at < all->shown.len && (f->what == CLI_LEAKS_AREAS || row_of(all, at) != f->row))
            at++;
        fprintf(to, "%s%ld", i ? "," : "", at < all->shown.len ? (long)at : -1);
    }
    putc(']', to);
}

static void put_points(FILE *to, const cli_leaks_film *film)
{
    fputs("\"window\":[", to);
    for (size_t i = 0; i < film->len; i++)
        fprintf(to, "%s%zu", i ? "," : "", film->points[i].window);
    fputs("],\n\"seconds\":[", to);
    for (size_t i = 0; i < film->len; i++)
        fprintf(to, "%s%.9g", i ? "," : "", film->points[i].seconds);
    putc(']', to);
}

/* [name, cause, file, line, series] of each area. */
static void put_areas(FILE *to, const scene *s, size_t most)
{
    const cli_leaks_rows *areas = &s->run->areas;
    size_t whole = areas->len < most ? areas->len : most;
    fputs(",\n\"areas\":[", to);
    for (size_t i = 0; i < whole + (whole < areas->len); i++) {
        const cli_leaks_row *row = i < whole ? &areas->rows[s->areas[i]] : NULL;
        cli_leaks_cause cause =
            row ? cli_leaks_find_cause(areas, s->areas[i], 1) : (cli_leaks_cause){.frame = NULL};
        cli_string none = cli_string_of(""), name = none;
        if (!row)
            name = cli_string_of("(other areas)");
        else if (row->path_len)
            name = cli_leaks_frame_at(areas, row, 0)->text.name;
        fputs(i ? ",\n[" : "[", to);
        cli_string_put(to, name, CLI_TEXT_SCRIPT);
        putc(',', to);
        cli_string_put(to, cause.frame ? cause.frame->text.name : none, CLI_TEXT_SCRIPT);
        putc(',', to);
        cli_string_put(to, cause.frame ? cause.frame->text.file : none, CLI_TEXT_SCRIPT);
        fprintf(to, ",%lld,", cause.frame ? (long long)cause.frame->text.line : 0);
        put_row(to, s, cli_leaks_film_area, s->areas, areas->len, row ? s->areas[i] : areas->len,
                whole);
        putc(']', to);
    }
    putc(']', to);
}

/* [logarithm, bytes allocated, objects, bytes in use, objects] of the stacks whose mean allocation is
 * from 2^logarithm to less than twice as many bytes. */
static void put_sizes(FILE *to, const cli_leaks_run *run)
{
    enum { SIZES = 64 };
    struct {
        double made, objects_made, now, objects;
    } sums[SIZES] = {{0}};
    const char *comma = "";
    for (size_t i = 0; i < run->rows.len; i++) {
        const cli_leaks_row *row = &run->rows.rows[i];
        bool is_made = row->made > 0 && row->objects_made > 0;
        double bytes = is_made ? row->made : row->sum_bytes;
        double objects = is_made ? row->objects_made : row->sum_objects;
        if (!cli_string_is(run->unit, "bytes") || !(bytes > 0 && objects > 0))
            continue;
        size_t at = (size_t)fmin(fmax(floor(log2(bytes / objects)), 0), SIZES - 1);
        sums[at].made += row->made;
        sums[at].objects_made += row->objects_made;
        sums[at].now += row->now;
        sums[at].objects += row->objects_now;
    }
    fputs(",\n\"sizes\":[", to);
    for (size_t i = 0; i < SIZES; i++) {
        if (sums[i].made == 0 && sums[i].now == 0)
            continue;
        fprintf(to, "%s[%zu,%.0f,%.0f,%.0f,%.0f]", comma, i, sums[i].made, sums[i].objects_made,
                sums[i].now, sums[i].objects);
        comma = ",";
    }
    putc(']', to);
}

static void put_scene(FILE *to, const scene *s, size_t most)
{
    const cli_leaks_run *run = s->run;
    size_t findings = run->findings.shown_len < most ? run->findings.shown_len : most;
    stacks all = {.scene = s, .whole = run->rows.len < most ? run->rows.len : most};
    all.shown = shown_of(s, all.whole);
    all.tree = cli_flame_tree_make(&all.shown);
    fputs("{\"report\":", to);
    cli_leaks_put_run(to, run, findings, CLI_TEXT_SCRIPT);
    cli_flame_tree_put(to, &all.tree);
    fputs(",\n\"film\":{", to);
    put_points(to, &run->film);
    put_list(to, &all, "node", put_node);
    put_list(to, &all, "up", put_up);
    put_list(to, &all, "verdict", put_verdict);
    put_list(to, &all, "series", put_levels);
    fprintf(to, ",\n\"others\":%zu", run->rows.len - all.whole);
    put_findings(to, &all, findings);
    put_areas(to, s, most);
    put_sizes(to, run);
    cli_leaks_put_source(to, run, s->how->has_source ? findings : 0);
    fputs("}}", to);
}

/* ---- the page ------------------------------------------------------------------------------- */

/* The runs that the page has, in their order: those with suspects before those without. */
static size_t choose_runs(const cli_leaks_work *w, scene scenes[MOST_RUNS])
{
    bool *is_chosen = cli_keep(w->runs_len, 1);
    size_t len = 0;
    for (int level = 2; level >= 0; level--)
        for (size_t i = 0; i < w->runs_len && len < MOST_RUNS; i++) {
            const cli_leaks_findings *f = &w->runs[i].findings;
            bool counts = level == 2 ? f->suspects > 0 : level == 1 ? f->unknown > 0 : true;
            len += counts && !is_chosen[i];
            is_chosen[i] |= counts;
        }
    len = 0;
    for (size_t i = 0; i < w->runs_len; i++)
        if (is_chosen[i])
            scenes[len++] = scene_of(&w->runs[i], &w->how);
    return len;
}

/* Writes the data with at most so many whole stacks of each run. */
static void put_data(FILE *to, const cli_leaks_work *w, const scene *scenes, size_t len,
                     size_t most)
{
    fputs("{\"version\":", to);
    cli_string_put(to, cli_string_of(pprofdelta_version()), CLI_TEXT_SCRIPT);
    fprintf(to, ",\n\"leftOut\":%zu,\n\"kinds\":[", w->runs_len - len);
    for (size_t i = 0; i <= CLI_LEAKS_SUSPECT; i++) {
        fputs(i ? "," : "", to);
        cli_string_put(to, cli_string_of(cli_leaks_kinds[i].text), CLI_TEXT_SCRIPT);
    }
    fputs("],\n\"reasons\":[", to);
    for (size_t i = 0; i <= CLI_LEAKS_SHRINKING; i++) {
        fprintf(to, "%s[", i ? ",\n" : "");
        cli_string_put(to, cli_string_of(cli_leaks_reasons[i].word), CLI_TEXT_SCRIPT);
        putc(',', to);
        cli_string_put(to, cli_string_of(cli_leaks_reasons[i].text), CLI_TEXT_SCRIPT);
        putc(']', to);
    }
    fputs("],\n\"runs\":[", to);
    for (size_t i = 0; i < len; i++) {
        fputs(i ? ",\n" : "\n", to);
        put_scene(to, &scenes[i], most);
    }
    fputs("]}", to);
}

/* Makes the data that is as large as it may be. The caller frees *data. */
static int make_data(const cli_leaks_work *w, char **data, size_t *len)
{
    enum { LEAST_OF_A_STACK = 20, LEAST_OF_A_POINT = 2 };
    scene scenes[MOST_RUNS];
    size_t runs = choose_runs(w, scenes), points = 0;
    for (size_t i = 0; i < runs; i++)
        points += scenes[i].run->film.len;
    for (size_t most = MOST_BYTES / (LEAST_OF_A_STACK * runs + LEAST_OF_A_POINT * points);;) {
        *data = NULL;
        FILE *to = open_memstream(data, len);
        if (to)
            put_data(to, w, scenes, runs, most);
        if (!to || fclose(to))
            return cli_system_error(w->html, "write", ENOMEM);
        if (*len <= MOST_BYTES)
            return CLI_DONE;
        if (!most)
            return cli_error("%s: is not written: the names of the runs alone take more than a "
                             "page may have",
                             w->html);
        free(*data);
        size_t next = (size_t)((double)most * 0.97 * MOST_BYTES / (double)*len);
        most = next < most ? next : most - 1;
    }
}

int cli_leaks_put_html(const cli_leaks_work *w)
{
    cli_page page = {.to = NULL};
    char *data = NULL;
    size_t len = 0;
    int code = cli_page_open(&page, w->html, "--html");
    code = code ? code : make_data(w, &data, &len);
    if (!code) {
        fwrite(leaks_page_head, 1, sizeof leaks_page_head, page.to);
        fwrite(data, 1, len, page.to);
        fwrite(leaks_page_tail, 1, sizeof leaks_page_tail, page.to);
    }
    free(data);
    return cli_page_close(&page, code);
}
