/* pprofdelta leaks --html OUT.html: the answer as one page, which needs only a browser.
 *
 * The page is that of `show --flame` with a report above it (leaks/page/, see show/page_file.h). Its data:
 *
 *     runs        at most 16, those with suspects first
 *       report    the object of the run that --json prints
 *       names ... the tree of the stacks, as flame_tree.h says
 *       film      what each stack has at each point:
 *           points   [[0, 0], [1, 60]]    the window of each, and its seconds since the first
 *           stacks   [[node, row, up, kind, reason, group, allocated, objects, brief, objects, series]]
 *                                         node: as the distance from that of the stack before
 *                                         up: steps from there to the frame that is the cause, or -1
 *                                         brief: freed in the window in which it was allocated
 *                                         series: points until a change, the change, ...:
 *                                         [0, 4096, 2, -96] is 4096, 4096, 4000
 *           finding  [2]                  of each finding of the report: its row
 *           areas    [[name, function, file, line, series]]  of the resident memory
 *           source   [["a.c", 8, 7, ["int i;", ...]]]  a place, the number of the first line, lines
 *
 * The size is bounded: if the data is too large, fewer stacks are whole. All others are one stack. */
#include "leaks/leaks.h"

#include "cli.h"
#include "json.h"
#include "keep.h"
#include "leaks_page.h"
#include "message.h"
#include "show/flame_tree.h"
#include "show/page_file.h"
#include "show/short_names.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define J            CLI_JSON
#define PUT(to, ...) cli_json_put(to, CLI_TEXT_SCRIPT, __VA_ARGS__)

enum { MOST_BYTES = 850000, MOST_RUNS = 16 };

/* The rows of a picture: the `whole` most important ones, and all others as one. */
typedef struct reel {
    const cli_leaks_rows *rows;
    bool is_areas;
    size_t *order; /* the rows, the most important first */
    size_t whole;
} reel;

/* One run, made ready once for every try. */
typedef struct scene {
    const cli_leaks_run *run;
    const cli_leaks_how *how;
    reel stacks, areas;
    const cli_string *names;
    size_t names_len;
    const cli_frame *
        *paths; /* of all rows, as run->rows.path has them, and the frame of the others */
    Pd__View__Sample *samples; /* none has a label; their places are those in stacks.order */
} scene;

/* ---- what is important ---------------------------------------------------------------------- */

static double level_at(const cli_leaks_point *point, const reel *r, size_t row)
{
    const cli_leaks_levels *levels = r->is_areas ? &point->areas : &point->stacks;
    return row < levels->len ? levels->list[row] : 0;
}

typedef struct ranked {
    size_t row;
    int grade; /* of the verdict; a stack of a group comes before others */
    double most;
} ranked;

static int by_importance(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->grade != y->grade)
        return x->grade > y->grade ? -1 : 1;
    if (x->most != y->most)
        return x->most > y->most ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Rows count by the most that they had in use, or freed in the windows in which it was allocated. */
static reel rank_rows(const cli_leaks_run *run, const cli_leaks_rows *rows, bool is_areas)
{
    reel r = {rows, is_areas, cli_keep(rows->len, sizeof *r.order), rows->len};
    ranked *list = cli_keep(rows->len, sizeof *list);
    for (size_t i = 0; i < rows->len; i++) {
        const cli_leaks_row *row = &rows->rows[i];
        double brief = row->lives ? row->lives->brief / (double)run->windows : 0;
        list[i] = (ranked){i, 2 * (int)row->verdict.kind + (row->group > 0), brief};
        for (size_t k = 0; k < run->film.len; k++)
            list[i].most = fmax(list[i].most, level_at(&run->film.points[k], &r, i));
    }
    qsort(list, rows->len, sizeof *list, by_importance);
    for (size_t i = 0; i < rows->len; i++)
        r.order[i] = list[i].row;
    cli_drop(list);
    return r;
}

/* ---- stacks --------------------------------------------------------------------------------- */

/* Names are short, as `show` prints them. Behind the frames of the run is that of all other stacks. */
static void name_frames(scene *s)
{
    const cli_leaks_rows *rows = &s->run->rows;
    size_t texts = rows->texts_len, len = rows->frames_len;
    cli_string *names = cli_keep(texts + 1, sizeof *names);
    uint32_t *numbers = cli_keep(texts + 1, sizeof *numbers);
    cli_frame *frames = cli_keep(len + 1, sizeof *frames);
    char *room = cli_keep(CLI_SHORT_NAME_MAX, 1);
    for (size_t i = 0; i < texts; i++)
        names[i] = cli_keep_string(cli_short_name(rows->texts[i], room));
    names[texts] = cli_string_of("(other stacks)");
    s->names = cli_keep_numbered(names, texts + 1, numbers, &s->names_len);
    for (size_t i = 0; i < len; i++)
        frames[i] =
            (cli_frame){.text = rows->frames[i].text, .name = numbers[rows->frames[i].name]};
    frames[len].text.file = frames[len].text.module = cli_string_of("");
    frames[len].name = numbers[texts];
    s->paths = cli_keep(rows->path_len + 1, sizeof *s->paths);
    for (size_t i = 0; i < rows->path_len; i++)
        s->paths[i] = &frames[rows->path[i]];
    s->paths[rows->path_len] = &frames[len];
}

static scene scene_of(const cli_leaks_run *run, const cli_leaks_how *how)
{
    scene s = {.run = run, .how = how};
    s.stacks = rank_rows(run, &run->rows, false);
    s.areas = rank_rows(run, &run->areas, true);
    s.samples = cli_keep(run->rows.len + 1, sizeof *s.samples);
    name_frames(&s);
    return s;
}

static cli_shown shown_of(const scene *s)
{
    const cli_leaks_rows *rows = s->stacks.rows;
    size_t whole = s->stacks.whole;
    cli_shown shown = {.names = s->names, .names_len = s->names_len, .len = whole};
    shown.stacks = cli_keep(whole + 1, sizeof *shown.stacks);
    for (size_t i = 0; i < whole; i++) {
        const cli_leaks_row *row = &rows->rows[s->stacks.order[i]];
        size_t from, to;
        cli_leaks_cut(s->run, row, s->how->all_frames, &from, &to);
        shown.stacks[i] = (cli_stack){&s->paths[row->path + from], to - from, &s->samples[i], 0};
    }
    if (whole < rows->len)
        shown.stacks[shown.len++] =
            (cli_stack){&s->paths[rows->path_len], 1, &s->samples[whole], 0};
    return shown;
}

/* ---- writing -------------------------------------------------------------------------------- */

/* The series of the row that is `at` in the order; of all that follow if it is not whole. */
static void put_series(FILE *to, const cli_leaks_film *film, const reel *r, size_t at)
{
    double last = 0;
    size_t from = 0, end = at < r->whole ? at + 1 : r->rows->len;
    putc('[', to);
    for (size_t i = 0; i < film->len; i++) {
        double value = 0;
        for (size_t k = at; k < end; k++)
            value += level_at(&film->points[i], r, r->order[k]);
        if (value == last)
            continue;
        fprintf(to, "%s%zu,%.0f", last != 0 || from ? "," : "", i - from, value - last);
        last = value;
        from = i;
    }
    putc(']', to);
}

/* Steps from the last frame that is shown to the cause; -1: there is none. */
static long steps_to_cause(const scene *s, const cli_leaks_row *row)
{
    size_t from, to;
    cli_leaks_cut(s->run, row, s->how->all_frames, &from, &to);
    for (size_t i = from; i < to; i++)
        if (cli_leaks_frame_at(&s->run->rows, row, i) == row->cause.frame)
            return (long)(i - from);
    return -1;
}

/* Node to group, what was allocated and what of it was freed at once, and the series of a stack. The
 * others have no cause, no verdict and no group. */
static void put_stack(FILE *to, const scene *s, uint32_t step, size_t at)
{
    const reel *r = &s->stacks;
    const cli_leaks_row *first = &r->rows->rows[r->order[at]];
    double made = 0, objects = 0, brief = 0, brief_objects = 0;
    for (size_t k = at; k < (at < r->whole ? at + 1 : r->rows->len); k++) {
        const cli_leaks_row *row = &r->rows->rows[r->order[k]];
        made += row->made;
        objects += row->objects_made;
        brief += row->lives ? row->lives->brief : 0;
        brief_objects += row->lives ? row->lives->brief_objects : 0;
    }
    if (at < r->whole)
        fprintf(to, "[%u,%zu,%ld,%d,%d,%zu", (unsigned)step, r->order[at], steps_to_cause(s, first),
                (int)first->verdict.kind, (int)first->verdict.reason, first->group);
    else
        fprintf(to, "[%u,-1,-1,%d,%d,0", (unsigned)step, CLI_LEAKS_NONE, CLI_LEAKS_FLAT);
    fprintf(to, ",%.0f,%.0f,%.0f,%.0f,", made, objects, brief, brief_objects);
    put_series(to, &s->run->film, r, at);
    putc(']', to);
}

/* The stacks in the order of their nodes, and the row of each finding. */
static void put_stacks(FILE *to, const scene *s, const cli_shown *shown, const cli_flame_tree *tree,
                       size_t findings)
{
    uint32_t last = 0;
    fputs(",\n\"stacks\":[", to);
    for (size_t i = 0; i < shown->len; i++) {
        const cli_flame_end *end = &tree->ends[i];
        fputs(i ? ",\n" : "", to);
        put_stack(to, s, end->node - last, (size_t)(shown->stacks[end->stack].sample - s->samples));
        last = end->node;
    }
    fprintf(to, "],\n\"others\":%zu,\n\"finding\":[", s->stacks.rows->len - s->stacks.whole);
    for (size_t i = 0; i < findings; i++)
        fprintf(to, "%s%zu", i ? "," : "", s->run->findings.shown[i]->row);
    putc(']', to);
}

static void put_points(FILE *to, const cli_leaks_film *film)
{
    fputs("\"points\":[", to);
    for (size_t i = 0; i < film->len; i++)
        fprintf(to, "%s[%zu,%.9g]", i ? "," : "", film->points[i].window, film->points[i].seconds);
    putc(']', to);
}

/* [name, function that mapped it or file, source, line, series] of each area. */
static void put_areas(FILE *to, const scene *s)
{
    const reel *r = &s->areas;
    static const cli_frame_text others = {.name = {"(other areas)", 13}, .file = {"", 0}},
                                none = {.name = {"", 0}, .file = {"", 0}};
    fputs(",\n\"areas\":[", to);
    for (size_t i = 0; i < r->rows->len && i <= r->whole; i++) {
        const cli_leaks_row *row = &r->rows->rows[r->order[i]];
        const cli_leaks_frame *cause = row->cause.frame;
        const cli_frame_text *text = i < r->whole && cause ? &cause->text : &none;
        const cli_frame_text *name = i == r->whole   ? &others
                                     : row->path_len ? &cli_leaks_frame_at(r->rows, row, 0)->text
                                                     : &none;
        PUT(to, i ? ",\n[$,$,$,$," : "[$,$,$,$,", J(name->name), J(text->name), J(text->file),
            J(text->line));
        put_series(to, &s->run->film, r, i);
        putc(']', to);
    }
    putc(']', to);
}

static void put_scene(FILE *to, scene s, size_t most)
{
    const cli_leaks_run *run = s.run;
    size_t findings = run->findings.shown_len < most ? run->findings.shown_len : most;
    s.stacks.whole = s.stacks.whole < most ? s.stacks.whole : most;
    s.areas.whole = s.areas.whole < most ? s.areas.whole : most;
    cli_shown shown = shown_of(&s);
    cli_flame_tree tree = cli_flame_tree_make(&shown);
    fputs("{\"report\":", to);
    cli_leaks_put_run(to, run, findings, CLI_TEXT_SCRIPT);
    cli_flame_tree_put(to, &tree);
    fputs(",\n\"film\":{", to);
    put_points(to, &run->film);
    put_stacks(to, &s, &shown, &tree, findings);
    put_areas(to, &s);
    cli_leaks_put_source(to, run, s.how->has_source ? findings : 0);
    fputs("}}", to);
}

/* ---- the page ------------------------------------------------------------------------------- */

/* The runs that the page has: those with suspects, then the first others. */
static size_t choose_runs(const cli_leaks_work *w, scene scenes[MOST_RUNS])
{
    size_t len = 0;
    for (int others = 0; others < 2; others++)
        for (size_t i = 0; i < w->runs_len && len < MOST_RUNS; i++)
            if ((w->runs[i].findings.suspects == 0) == (others == 1))
                scenes[len++] = scene_of(&w->runs[i], &w->how);
    return len;
}

/* Writes the data with at most so many whole stacks of each run. */
static void put_data(FILE *to, const cli_leaks_work *w, const scene *scenes, size_t len,
                     size_t most)
{
    PUT(to, "{\"version\":$,\n\"leftOut\":$,\n\"reasons\":[",
        J(cli_string_of(pprofdelta_version())), J(w->runs_len - len));
    for (size_t i = 0; i <= CLI_LEAKS_SHRINKING; i++)
        PUT(to, i ? ",\n[$,$]" : "[$,$]", J(cli_string_of(cli_leaks_reasons[i].word)),
            J(cli_string_of(cli_leaks_reasons[i].text)));
    fputs("],\n\"runs\":[", to);
    for (size_t i = 0; i < len; i++) {
        fputs(i ? ",\n" : "\n", to);
        put_scene(to, scenes[i], most);
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
    for (size_t most = MOST_BYTES / (LEAST_OF_A_STACK * runs + LEAST_OF_A_POINT * points + 1);;) {
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
        size_t next = (size_t)((double)most * 0.97 * (double)MOST_BYTES / (double)*len);
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
