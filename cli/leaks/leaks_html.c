/* pprofdelta leaks --html OUT.html: the answer as one page, which needs only a browser.
 *
 * The page is that of `show --flame` with a report above it (leaks/page/, see show/page_file.h). Its data is
 * a string: JSON in the format of zlib, in base64. The JSON:
 *
 *     runs        at most 16, those with suspects first
 *       report    the object of the run that --json prints
 *       names ... the tree of the stacks, as flame_tree.h says
 *       film      what each stack has at each point:
 *           grain    0                    values are at most so much too low; (other stacks) has the rest
 *           points   [[0, 0], [1, 60]]    the window of each, and its seconds since the first
 *           stacks   [[node, row, up, kind, reason, group, allocated, objects, brief, objects, series]]
 *                                         node: as the distance from that of the stack before
 *                                         up: steps from there to the frame that is the cause, or -1
 *                                         brief: freed in the window in which it was allocated
 *                                         series: points until a change, the change, ...:
 *                                         [0, 4096, 2, -96] is 4096, 4096, 4000
 *           others   0                    the stacks that are only in (other stacks)
 *           finding  [2]                  of each finding of the report: its row
 *           areas    [[name, function, file, line, series]]  of the resident memory
 *           source   [["a.c", 8, 7, ["int i;", ...]]]  a place, the number of the first line, lines
 *
 * The size is bounded: the grain is the smallest with which the data fits. A value that varies by less than
 * the grain is written once, and a stack that never has so much is not written. What is found has a finer
 * grain. */
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
#include <string.h>
#include <zlib.h>

#define J            CLI_JSON
#define PUT(to, ...) cli_json_put(to, CLI_TEXT_SCRIPT, __VA_ARGS__)

/* GRAINS: 0, then four for each power of two, then one that is larger than any value. */
enum { MOST_BYTES = 637500 /* 850,000 in base64 */, MOST_RUNS = 16, GRAINS = 258 };

/* The rows of a picture. */
typedef struct reel {
    const cli_leaks_rows *rows;
    const cli_leaks_levels *levels;
    size_t points;
    double *most; /* of each row: in use, or freed in the windows in which it was allocated */
    double *rest; /* at each point: what the series of the rows do not have */
} reel;

/* One run, made ready once for every try. */
typedef struct scene {
    const cli_leaks_run *run;
    const cli_leaks_how *how;
    reel stacks, areas;
    double grain;
    const cli_string *names;
    size_t names_len;
    const cli_frame *
        *paths; /* of all rows, as run->rows.path has them, and the frame of the others */
    Pd__View__Sample *samples; /* of the rows and of the others; none has a label */
} scene;

/* ---- what is shown -------------------------------------------------------------------------- */

static reel reel_of(const cli_leaks_run *run, const cli_leaks_rows *rows,
                    const cli_leaks_levels *levels)
{
    reel r = {rows, levels, run->film.len, cli_keep(rows->len, sizeof *r.most),
              cli_keep(run->film.len, sizeof *r.rest)};
    for (size_t i = 0; i < rows->len; i++) {
        const cli_leaks_row *row = &rows->rows[i];
        r.most[i] = row->lives ? row->lives->brief / (double)run->windows : 0;
        for (size_t k = 0; k < r.points; k++)
            r.most[i] = fmax(r.most[i], levels->of[i][k]);
    }
    return r;
}

static double grain_of(const reel *r, size_t row, double grain)
{
    static const double finer = 1024;
    const cli_leaks_row *one = &r->rows->rows[row];
    return one->verdict.kind != CLI_LEAKS_NONE || one->group ? grain / finer : grain;
}

static bool is_shown(const reel *r, size_t row, double grain)
{
    return r->most[row] >= grain_of(r, row, grain);
}

/* The value that is shown at a point behind one where `last` is shown. */
static double shown_level(double level, double last, double grain)
{
    return level < last || level > last + grain ? level : last;
}

static void find_rest(const reel *r, double grain)
{
    memset(r->rest, 0, r->points * sizeof *r->rest);
    for (size_t i = 0; i < r->rows->len; i++) {
        bool is_in = is_shown(r, i, grain);
        double shown = 0, fine = grain_of(r, i, grain);
        for (size_t k = 0; k < r->points; k++) {
            double level = r->levels->of[i][k];
            shown = is_in ? shown_level(level, shown, fine) : 0;
            r->rest[k] += level - shown;
        }
    }
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
    s.stacks = reel_of(run, &run->rows, &run->film.stacks);
    s.areas = reel_of(run, &run->areas, &run->film.areas);
    s.samples = cli_keep(run->rows.len + 1, sizeof *s.samples);
    name_frames(&s);
    return s;
}

/* The stacks that are shown, and the others as one if they have any. */
static cli_shown shown_of(const scene *s)
{
    const cli_leaks_rows *rows = s->stacks.rows;
    cli_shown shown = {.names = s->names, .names_len = s->names_len};
    shown.stacks = cli_keep(rows->len + 1, sizeof *shown.stacks);
    for (size_t i = 0; i < rows->len; i++) {
        const cli_leaks_row *row = &rows->rows[i];
        size_t from, to;
        if (!is_shown(&s->stacks, i, s->grain))
            continue;
        cli_leaks_cut(s->run, row, s->how->all_frames, &from, &to);
        shown.stacks[shown.len++] =
            (cli_stack){&s->paths[row->path + from], to - from, &s->samples[i], 0};
    }
    if (s->grain > 0)
        shown.stacks[shown.len++] =
            (cli_stack){&s->paths[rows->path_len], 1, &s->samples[rows->len], 0};
    return shown;
}

/* ---- writing -------------------------------------------------------------------------------- */

/* The series of values of which a change by less than the grain does not count. */
static void put_series(FILE *to, const double *values, size_t len, double grain)
{
    double last = 0;
    size_t from = 0;
    putc('[', to);
    for (size_t i = 0; i < len; i++) {
        double value = shown_level(values[i], last, grain);
        if (value == last)
            continue;
        fprintf(to, "%s%zu,%.0f", last != 0 || from ? "," : "", i - from, value - last);
        last = value;
        from = i;
    }
    putc(']', to);
}

/* Of the row, or of those that are not shown if there is no such row. */
static void put_levels(FILE *to, const reel *r, size_t row, double grain)
{
    if (row < r->rows->len)
        put_series(to, r->levels->of[row], r->points, grain_of(r, row, grain));
    else
        put_series(to, r->rest, r->points, 0);
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
    const cli_leaks_row *rows = r->rows->rows;
    bool is_one = at < r->rows->len;
    double made = 0, objects = 0, brief = 0, brief_objects = 0;
    for (size_t i = is_one ? at : 0; i < (is_one ? at + 1 : at); i++) {
        if (!is_one && is_shown(r, i, s->grain))
            continue;
        made += rows[i].made;
        objects += rows[i].objects_made;
        brief += rows[i].lives ? rows[i].lives->brief : 0;
        brief_objects += rows[i].lives ? rows[i].lives->brief_objects : 0;
    }
    if (is_one)
        fprintf(to, "[%u,%zu,%ld,%d,%d,%zu", (unsigned)step, at, steps_to_cause(s, &rows[at]),
                (int)rows[at].verdict.kind, (int)rows[at].verdict.reason, rows[at].group);
    else
        fprintf(to, "[%u,-1,-1,%d,%d,0", (unsigned)step, CLI_LEAKS_NONE, CLI_LEAKS_FLAT);
    fprintf(to, ",%.0f,%.0f,%.0f,%.0f,", made, objects, brief, brief_objects);
    put_levels(to, r, at, s->grain);
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
    fprintf(to, "],\n\"others\":%zu,\n\"finding\":[",
            s->stacks.rows->len + (s->grain > 0) - shown->len);
    for (size_t i = 0; i < findings; i++)
        fprintf(to, "%s%zu", i ? "," : "", s->run->findings.shown[i]->row);
    putc(']', to);
}

static void put_points(FILE *to, const cli_leaks_film *film, double grain)
{
    PUT(to, "\"grain\":$,\n\"points\":[", J(grain));
    for (size_t i = 0; i < film->len; i++)
        fprintf(to, "%s[%zu,%.9g]", i ? "," : "", film->points[i].window, film->points[i].seconds);
    putc(']', to);
}

/* [name, function that mapped it or file, source, line, series] of each area. */
static void put_areas(FILE *to, const scene *s)
{
    const reel *r = &s->areas;
    static const cli_frame_text none = {.name = {"", 0}, .file = {"", 0}};
    const char *comma = "";
    fputs(",\n\"areas\":[", to);
    for (size_t i = 0; i < r->rows->len; i++) {
        const cli_leaks_frame *cause = r->rows->rows[i].cause.frame;
        const cli_frame_text *text = cause ? &cause->text : &none;
        if (!is_shown(r, i, s->grain))
            continue;
        fputs(comma, to);
        PUT(to, "[$,$,$,$,", J(cli_leaks_area_name(r->rows, i)), J(text->name), J(text->file),
            J(text->line));
        put_levels(to, r, i, s->grain);
        putc(']', to);
        comma = ",\n";
    }
    if (r->rows->len && s->grain > 0) {
        fprintf(to, "%s[\"(other areas)\",\"\",\"\",0,", comma);
        put_levels(to, r, r->rows->len, 0);
        putc(']', to);
    }
    putc(']', to);
}

static void put_scene(FILE *to, scene s, double grain)
{
    const cli_leaks_run *run = s.run;
    const cli_leaks_findings *found = &run->findings;
    size_t findings = 0;
    s.grain = grain;
    find_rest(&s.stacks, grain);
    find_rest(&s.areas, grain);
    while (findings < found->shown_len &&
           is_shown(found->shown[findings]->what == CLI_LEAKS_AREAS ? &s.areas : &s.stacks,
                    found->shown[findings]->row, grain))
        findings++;
    cli_shown shown = shown_of(&s);
    cli_flame_tree tree = cli_flame_tree_make(&shown);
    fputs("{\"report\":", to);
    cli_leaks_put_run(to, run, findings);
    cli_flame_tree_put(to, &tree);
    fputs(",\n\"film\":{", to);
    put_points(to, &run->film, grain);
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

static void put_data(FILE *to, const cli_leaks_work *w, const scene *scenes, size_t len,
                     double grain)
{
    PUT(to, "{\"version\":$,\n\"leftOut\":$,\n\"reasons\":[",
        J(cli_string_of(pprofdelta_version())), J(w->runs_len - len));
    for (size_t i = 0; i <= CLI_LEAKS_SHRINKING; i++)
        PUT(to, i ? ",\n[$,$]" : "[$,$]", J(cli_string_of(cli_leaks_reasons[i].word)),
            J(cli_string_of(cli_leaks_reasons[i].text)));
    fputs("],\n\"runs\":[", to);
    for (size_t i = 0; i < len; i++) {
        fputs(i ? ",\n" : "\n", to);
        put_scene(to, scenes[i], grain);
    }
    fputs("]}", to);
}

/* Data in the format of zlib. */
typedef struct packed {
    Bytef *bytes;
    uLongf len;
} packed;

/* Returns whether there was memory. */
static bool pack(packed *to, const cli_leaks_work *w, const scene *scenes, size_t runs,
                 double grain)
{
    char *text = NULL;
    size_t len = 0;
    FILE *data = open_memstream(&text, &len);
    if (data)
        put_data(data, w, scenes, runs, grain);
    bool is_done = data && !fclose(data);
    to->len = compressBound(len);
    to->bytes = cli_keep(to->len, 1);
    is_done = is_done && compress(to->bytes, &to->len, (Bytef *)text, len) == Z_OK;
    free(text);
    return is_done;
}

/* Makes the data with the smallest grain with which it fits. */
static int make_data(const cli_leaks_work *w, packed *data)
{
    scene scenes[MOST_RUNS];
    size_t runs = choose_runs(w, scenes);
    for (unsigned low = 0, high = GRAINS; low < high;) {
        unsigned at = (low + high) / 2;
        double grain = !at ? 0 : at == GRAINS - 1 ? INFINITY : exp2((at - 1) / 4.0);
        packed next;
        if (!pack(&next, w, scenes, runs, grain))
            return cli_system_error(w->html, "write", ENOMEM);
        bool fits = next.len <= MOST_BYTES;
        cli_drop(fits ? data->bytes : next.bytes);
        *data = fits ? next : *data;
        low = fits ? low : at + 1;
        high = fits ? at : high;
    }
    return data->bytes ? CLI_DONE
                       : cli_error("%s: is not written: the names of the runs alone take more than "
                                   "a page may have",
                                   w->html);
}

static void put_base64(FILE *to, const packed *data)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < data->len; i += 3) {
        unsigned three = 0;
        for (size_t k = i; k < i + 3; k++)
            three = three << 8 | (k < data->len ? data->bytes[k] : 0);
        for (size_t k = 0; k < 4; k++)
            putc(i + k <= data->len ? digits[three >> (18 - 6 * k) & 63] : '=', to);
    }
}

int cli_leaks_put_html(const cli_leaks_work *w)
{
    cli_page page = {.to = NULL};
    packed data = {.bytes = NULL};
    int code = cli_page_open(&page, w->html, "--html");
    code = code ? code : make_data(w, &data);
    if (!code) {
        fwrite(leaks_page_head, 1, sizeof leaks_page_head, page.to);
        putc('"', page.to);
        put_base64(page.to, &data);
        putc('"', page.to);
        fwrite(leaks_page_tail, 1, sizeof leaks_page_tail, page.to);
    }
    return cli_page_close(&page, code);
}
