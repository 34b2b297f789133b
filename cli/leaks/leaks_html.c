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
 * the grain is written once, and a stack that never has so much is not written. */
#include "leaks/leaks.h"

#include "cli.h"
#include "json.h"
#include "keep.h"
#include "leaks_page.h"
#include "message.h"
#include "show/flame_tree.h"
#include "show/page_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define J            CLI_JSON
#define PUT(to, ...) cli_json_put(to, CLI_TEXT_SCRIPT, __VA_ARGS__)

/* MOST_BYTES: a multiple of 3; they are 850,000 in base64. FINER: the grain of what is found. */
enum { MOST_BYTES = 637500, MOST_RUNS = 16, GRAINS = 258, FINER = 1024 };

/* A row of the page. */
typedef struct series {
    const cli_leaks_row *row;
    double *levels; /* at each point */
    double most;    /* in use, or freed in the windows in which it was allocated */
} series;

/* The series of all rows, and behind them the others: all that the series that are shown do not
 * have. */
typedef struct series_list {
    series *list, *others;
    size_t len, points; /* len: without the others */
} series_list;

/* One run, made ready once for every try. */
typedef struct page_run {
    const cli_leaks_run *run;
    const cli_leaks_how *how;
    series_list stacks, areas;
    double grain;
    cli_stack others; /* the one frame that is hidden in no profile */
} page_run;

/* ---- the timeline ----------------------------------------------------------------------------- */

/* The point of a window. The windows but the last two share the points before those of the last two. */
static size_t point_of(size_t window, size_t windows)
{
    enum { SHARED = CLI_LEAKS_TIMELINE_MOST - 2 };
    if (windows <= CLI_LEAKS_TIMELINE_MOST)
        return window;
    size_t last = windows - 2;
    return window < last ? window * SHARED / last : SHARED + window - last;
}

/* Sets what the rows have at a point, of so many. */
static void take_levels(cli_leaks_levels *to, const cli_leaks_rows *rows, size_t at, size_t points)
{
    CLI_KEEP_MORE(to->of, rows->len - to->of_len);
    for (size_t i = 0; i < rows->len; i++) {
        if (i == to->of_len)
            to->of[to->of_len++] = cli_keep(points, sizeof **to->of);
        to->of[i][at] = rows->rows[i].now.total;
    }
}

void cli_leaks_timeline_add(cli_leaks_run *run, size_t window, double seconds)
{
    cli_leaks_timeline *timeline = &run->timeline;
    size_t windows = run->windows, at = point_of(window, windows);
    size_t points = windows < CLI_LEAKS_TIMELINE_MOST ? windows : CLI_LEAKS_TIMELINE_MOST;
    double total = 0;
    for (size_t i = 0; i < run->rows.len; i++)
        total += run->rows.rows[i].now.total;
    if (at < timeline->len && total <= timeline->points[at].total)
        return;
    if (!timeline->points)
        timeline->points = cli_keep(points, sizeof *timeline->points);
    timeline->points[at] = (cli_leaks_point){window, seconds, total};
    timeline->len = at + 1;
    take_levels(&timeline->stacks, &run->rows, at, points);
    take_levels(&timeline->areas, &run->areas, at, points);
}

/* ---- what is shown -------------------------------------------------------------------------- */

static series_list list_series(const cli_leaks_run *run, const cli_leaks_rows *rows,
                               const cli_leaks_levels *levels)
{
    size_t len = rows->len, points = run->timeline.len;
    series *list = cli_keep(len + 1, sizeof *list);
    for (size_t i = 0; i < len; i++) {
        const cli_leaks_row *row = &rows->rows[i];
        double brief = row->lives ? row->lives->brief / (double)run->windows : 0;
        list[i] = (series){row, levels->of[i], brief};
        for (size_t k = 0; k < points; k++)
            list[i].most = fmax(list[i].most, list[i].levels[k]);
    }
    list[len].levels = cli_keep(points, sizeof *list->levels);
    return (series_list){list, &list[len], len, points};
}

/* The first grain is 0, the last is larger than any value, and four lie between two powers of two. */
static double grain_at(int at)
{
    return !at ? 0 : at == GRAINS - 1 ? INFINITY : exp2((at - 1) / 4.0);
}

static double grain_of(const series *one, double grain)
{
    return one->row->verdict.kind != CLI_LEAKS_NONE || one->row->group ? grain / (double)FINER
                                                                       : grain;
}

/* The others are shown if something is left out. */
static bool is_shown(const series_list *r, size_t at, double grain)
{
    const series *one = &r->list[at];
    return one == r->others ? r->len && grain > 0 : one->most >= grain_of(one, grain);
}

/* The value that is shown at a point behind one where `last` is shown. */
static double shown_level(double level, double last, double grain)
{
    return level < last || level > last + grain ? level : last;
}

/* Takes what is shown of a row out of the others. */
static void find_others(const series_list *r, double grain)
{
    cli_leaks_row *sum = cli_keep(1, sizeof *sum);
    sum->lives = cli_keep(1, sizeof *sum->lives);
    sum->verdict.reason = CLI_LEAKS_FLAT;
    r->others->row = sum;
    memset(r->others->levels, 0, r->points * sizeof *r->others->levels);
    for (size_t i = 0; i < r->len; i++) {
        const series *one = &r->list[i];
        bool is_in = is_shown(r, i, grain);
        double shown = 0, fine = grain_of(one, grain);
        for (size_t k = 0; k < r->points; k++) {
            shown = is_in ? shown_level(one->levels[k], shown, fine) : 0;
            r->others->levels[k] += one->levels[k] - shown;
        }
        if (is_in)
            continue;
        sum->made.total += one->row->made.total;
        sum->objects_made.total += one->row->objects_made.total;
        sum->lives->brief += one->row->lives ? one->row->lives->brief : 0;
        sum->lives->brief_objects += one->row->lives ? one->row->lives->brief_objects : 0;
    }
}

/* ---- stacks --------------------------------------------------------------------------------- */

/* The value of its sample is the number of the row, as for all others. */
static cli_stack make_others(size_t number)
{
    Pd__View__Sample message = PD__VIEW__SAMPLE__INIT;
    cli_sample sample;
    size_t len = 0, cap = 0;
    message.n_value = 1;
    message.value = (int64_t[]){(int64_t)number};
    cli_sample_read(cli_samples_append(NULL, &len, &cap, &message) + 1, &sample);
    cli_stack stack = cli_stack_of(&sample, 0);
    stack.is_hidden = true;
    return stack;
}

static page_run page_run_of(const cli_leaks_run *run, const cli_leaks_how *how)
{
    return (page_run){.run = run,
                      .how = how,
                      .stacks = list_series(run, &run->rows, &run->timeline.stacks),
                      .areas = list_series(run, &run->areas, &run->timeline.areas),
                      .others = make_others(run->rows.len)};
}

static cli_shown shown_of(const page_run *s)
{
    const series_list *all = &s->stacks;
    cli_shown shown = s->run->rows.all->shown;
    shown.stacks = cli_keep(all->len + 1, sizeof *shown.stacks);
    for (size_t i = 0; i <= all->len; i++)
        if (is_shown(all, i, s->grain))
            shown.stacks[shown.len++] =
                i < all->len ? cli_leaks_shown_stack(s->run, all->list[i].row, s->how->all_frames)
                             : s->others;
    cli_stacks_sort(&shown, false);
    return shown;
}

/* ---- writing -------------------------------------------------------------------------------- */

/* The series of the values that are shown, and the end of the row. */
static void put_series(FILE *to, const series_list *r, size_t at, double grain)
{
    const series *one = &r->list[at];
    double last = 0, fine = one == r->others ? 0 : grain_of(one, grain);
    size_t from = 0;
    putc('[', to);
    for (size_t i = 0; i < r->points; i++) {
        double value = shown_level(one->levels[i], last, fine);
        if (value == last)
            continue;
        fprintf(to, "%s%zu,%.0f", last != 0 || from ? "," : "", i - from, value - last);
        last = value;
        from = i;
    }
    fputs("]]", to);
}

/* Steps from the last frame that is shown to the cause; -1: there is none. */
static long steps_to_cause(const cli_shown *shown, const cli_stack *stack,
                           const cli_leaks_cause *cause)
{
    const cli_frame *frame;
    cli_walk w = cli_walk_from_leaf(shown, stack);
    for (long steps = 0; (frame = cli_walk_next(&w)); steps++)
        if (frame == cause->frame)
            return steps;
    return -1;
}

/* The stacks in the order of their nodes, and the row of each finding. */
static void put_stacks(FILE *to, const page_run *s, const cli_shown *shown,
                       const cli_flame_tree *tree, size_t findings)
{
    uint32_t last = 0;
    fputs(",\n\"stacks\":[", to);
    for (size_t i = 0; i < shown->len; i++) {
        const cli_flame_end *end = &tree->ends[i];
        const cli_stack *stack = &shown->stacks[end->stack];
        size_t at = (size_t)cli_stack_value(shown, stack, 0);
        const cli_leaks_row *row = s->stacks.list[at].row;
        PUT(to, i ? ",\n[$,$,$,$,$,$" : "[$,$,$,$,$,$", J(end->node - last), J(at),
            J(steps_to_cause(shown, stack, &row->cause)), J((int)row->verdict.kind),
            J((int)row->verdict.reason), J(row->group));
        fprintf(to, ",%.0f,%.0f,%.0f,%.0f,", row->made.total, row->objects_made.total,
                row->lives ? row->lives->brief : 0, row->lives ? row->lives->brief_objects : 0);
        put_series(to, &s->stacks, at, s->grain);
        last = end->node;
    }
    fprintf(to, "],\n\"others\":%zu,\n\"finding\":[",
            s->stacks.len + is_shown(&s->stacks, s->stacks.len, s->grain) - shown->len);
    for (size_t i = 0; i < findings; i++)
        fprintf(to, "%s%zu", i ? "," : "", s->run->findings.shown[i]->row);
    putc(']', to);
}

/* [name, function that mapped it or file, source, line, series] of each area. */
static void put_areas(FILE *to, const page_run *s)
{
    const series_list *r = &s->areas;
    static const cli_frame_text none = {.name = {"", 0}, .file = {"", 0}};
    const char *comma = "";
    fputs(",\n\"areas\":[", to);
    for (size_t i = 0; i <= r->len; i++) {
        if (!is_shown(r, i, s->grain))
            continue;
        const cli_frame *cause = r->list[i].row->cause.frame;
        const cli_frame_text *text = cause ? &cause->text : &none;
        fputs(comma, to);
        PUT(to, "[$,$,$,$,",
            J(i < r->len ? cli_leaks_area_name(&s->run->areas, i) : cli_string_of("(other areas)")),
            J(text->name), J(text->file), J(text->line));
        put_series(to, r, i, s->grain);
        comma = ",\n";
    }
    putc(']', to);
}

static void put_page_run(FILE *to, page_run s, double grain)
{
    const cli_leaks_run *run = s.run;
    const cli_leaks_findings *found = &run->findings;
    size_t findings = 0;
    s.grain = grain;
    find_others(&s.stacks, grain);
    find_others(&s.areas, grain);
    while (findings < found->shown_len &&
           is_shown(found->shown[findings]->what == CLI_LEAKS_AREAS ? &s.areas : &s.stacks,
                    found->shown[findings]->row, grain))
        findings++;
    cli_shown shown = shown_of(&s);
    cli_flame_tree tree = cli_flame_tree_make(&shown);
    fputs("{\"report\":", to);
    cli_leaks_section section = {.run = run, .list = found->shown, .len = findings};
    const cli_leaks_report report = {.to = to, .form = CLI_TEXT_SCRIPT, .sections = &section};
    cli_leaks_write_section(&report, &section, &cli_leaks_json);
    cli_flame_tree_put(to, &tree);
    PUT(to, ",\n\"film\":{\"grain\":$,\n\"points\":[", J(grain));
    for (size_t i = 0; i < run->timeline.len; i++)
        PUT(to, i ? ",[$,$]" : "[$,$]", J(run->timeline.points[i].window),
            J(run->timeline.points[i].seconds));
    putc(']', to);
    put_stacks(to, &s, &shown, &tree, findings);
    put_areas(to, &s);
    cli_leaks_put_source(to, run, s.how->has_source ? findings : 0);
    fputs("}}", to);
}

/* ---- the page ------------------------------------------------------------------------------- */

/* The runs that the page has: those with suspects, then the first others. */
static size_t choose_runs(const cli_leaks_work *w, page_run list[MOST_RUNS])
{
    size_t len = 0;
    for (int others = 0; others < 2; others++)
        for (size_t i = 0; i < w->runs_len && len < MOST_RUNS; i++)
            if ((w->runs[i].findings.suspects == 0) == (others == 1))
                list[len++] = page_run_of(&w->runs[i], &w->how);
    return len;
}

static void put_data(FILE *to, const cli_leaks_work *w, const page_run *list, size_t len,
                     double grain)
{
    PUT(to, "{\"version\":$,\n\"leftOut\":$,\n\"reasons\":[", J(pprofdelta_version()),
        J(w->runs_len - len));
    for (size_t i = 0; i <= CLI_LEAKS_SHRINKING; i++)
        PUT(to, i ? ",\n[$,$]" : "[$,$]", J(cli_leaks_reasons[i].word),
            J(cli_leaks_reasons[i].text));
    fputs("],\n\"runs\":[", to);
    for (size_t i = 0; i < len; i++) {
        fputs(i ? ",\n" : "\n", to);
        put_page_run(to, list[i], grain);
    }
    fputs("]}", to);
}

/* Data in the format of zlib. */
typedef struct packed {
    Bytef *bytes;
    uLongf len;
} packed;

/* Packs the data with that grain, if it fits. Returns the status of zlib. */
static int pack_data(packed *to, const cli_leaks_work *w, const page_run *list, size_t runs,
                     double grain)
{
    char *text = NULL;
    size_t len = 0;
    int status = Z_MEM_ERROR;
    FILE *data = open_memstream(&text, &len);
    if (data)
        put_data(data, w, list, runs, grain);
    *to = (packed){cli_keep(MOST_BYTES, 1), MOST_BYTES};
    if (data && !fclose(data))
        status = compress(to->bytes, &to->len, (Bytef *)text, len);
    free(text);
    return status;
}

/* Makes the data with the smallest grain with which it fits. */
static int make_data(const cli_leaks_work *w, packed *data)
{
    page_run list[MOST_RUNS];
    size_t runs = choose_runs(w, list);
    for (int low = 0, high = GRAINS; low < high;) {
        packed next;
        int at = (low + high) / 2;
        int status = pack_data(&next, w, list, runs, grain_at(at));
        if (status == Z_MEM_ERROR)
            return cli_system_error(w->how.html, "write", ENOMEM);
        *data = status == Z_OK ? next : *data;
        high = status == Z_OK ? at : high;
        low = status == Z_OK ? low : at + 1;
    }
    return data->bytes ? CLI_DONE
                       : cli_error("%s: is not written: the names alone are too long", w->how.html);
}

static void put_base64(FILE *to, const packed *data)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < data->len; i += 3) {
        const Bytef *three = data->bytes + i;
        unsigned bits = (unsigned)three[0] << 16 | (unsigned)three[1] << 8 | three[2];
        for (size_t k = 0; k < 4; k++)
            putc(i + k <= data->len ? digits[bits >> (18 - 6 * k) & 63] : '=', to);
    }
}

int cli_leaks_put_html(cli_leaks_work *w)
{
    cli_shown *shown = &w->all.shown;
    cli_page page = {.to = NULL};
    packed data = {.bytes = NULL};
    int code = cli_page_open(&page, w->how.html, "--html");
    shown->frames[shown->frames_len].text.name = cli_string_of("(other stacks)");
    cli_shown_number_names(shown, true);
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
