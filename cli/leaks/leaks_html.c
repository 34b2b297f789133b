/* pprofdelta leaks --html OUT.html: the answer as one page, which needs only a browser.
 *
 * The page is that of `show --flame` with a report above it (leaks/page/, see show/flame_tree.h). Its data is
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
#include "input.h"
#include "json.h"
#include "keep.h"
#include "leaks_page.h"
#include "message.h"
#include "show/flame_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define J            CLI_JSON
#define PUT(to, ...) cli_json_put(to, CLI_TEXT_SCRIPT, __VA_ARGS__)

/* MOST_BYTES: a multiple of 3; they are 850,000 in base64. FINER: the grain of what is found. */
enum { MOST_BYTES = 637500, MOST_RUNS = 16, GRAINS = 258, FINER = 1024 };

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
static void take_levels(cli_leaks_rows *rows, size_t at, size_t points)
{
    for (size_t i = 0; i < rows->len; i++) {
        cli_leaks_row *row = &rows->rows[i];
        if (!row->timeline)
            row->timeline = cli_keep(points, sizeof *row->timeline);
        row->timeline[at] = row->now.total;
    }
}

void cli_leaks_timeline_add(cli_leaks_run *run, size_t window, double seconds)
{
    size_t windows = run->windows, at = point_of(window, windows);
    size_t points = windows < CLI_LEAKS_TIMELINE_MOST ? windows : CLI_LEAKS_TIMELINE_MOST;
    double total = 0;
    for (size_t i = 0; i < run->rows.len; i++)
        total += run->rows.rows[i].now.total;
    if (at < run->points_len && total <= run->points[at].total)
        return;
    if (!run->points)
        run->points = cli_keep(points, sizeof *run->points);
    run->points[at] = (cli_leaks_point){window, seconds, total};
    run->points_len = at + 1;
    take_levels(&run->rows, at, points);
    take_levels(&run->areas, at, points);
}

/* ---- what is shown -------------------------------------------------------------------------- */

/* The others, behind all rows: what the rows that are shown do not have. */
static cli_leaks_row *others_of(const cli_leaks_rows *rows)
{
    return &rows->rows[rows->len];
}

static double most_of(const cli_leaks_row *row, const cli_leaks_run *run)
{
    double most = row->lives ? row->lives->brief / (double)run->windows : 0;
    for (size_t i = 0; i < run->points_len; i++)
        most = fmax(most, row->timeline[i]);
    return most;
}

static void prepare_rows(cli_leaks_rows *rows, const cli_leaks_run *run)
{
    for (cli_leaks_row *row = rows->rows; row < others_of(rows); row++)
        row->most = most_of(row, run);
    others_of(rows)->timeline = cli_keep(run->points_len, sizeof(double));
    others_of(rows)->lives = cli_keep(1, sizeof(cli_leaks_lives));
    others_of(rows)->verdict.reason = CLI_LEAKS_FLAT;
}

/* The first grain is 0, the last is larger than any value, and four lie between two powers of two. */
static double grain_at(int at)
{
    return !at ? 0 : at == GRAINS - 1 ? INFINITY : exp2((at - 1) / 4.0);
}

static double grain_of(const cli_leaks_row *row, double grain)
{
    return row->verdict.kind != CLI_LEAKS_NONE || row->group ? grain / (double)FINER : grain;
}

/* The others are shown if something is left out. */
static bool is_shown(const cli_leaks_rows *rows, size_t at, double grain)
{
    const cli_leaks_row *row = &rows->rows[at];
    return at == rows->len ? rows->len && grain > 0 : row->most >= grain_of(row, grain);
}

/* The value that is shown at a point behind one where `last` is shown. */
static double shown_level(double level, double last, double grain)
{
    return level < last || level > last + grain ? level : last;
}

/* Takes what is shown of a row out of the others. */
static void find_others(const cli_leaks_rows *rows, size_t points, double grain)
{
    cli_leaks_row *sum = others_of(rows);
    sum->made.total = sum->objects_made.total = sum->lives->brief = sum->lives->brief_objects = 0;
    memset(sum->timeline, 0, points * sizeof *sum->timeline);
    for (size_t i = 0; i < rows->len; i++) {
        const cli_leaks_row *row = &rows->rows[i];
        bool is_in = is_shown(rows, i, grain);
        double shown = 0, fine = grain_of(row, grain);
        for (size_t k = 0; k < points; k++) {
            shown = is_in ? shown_level(row->timeline[k], shown, fine) : 0;
            sum->timeline[k] += row->timeline[k] - shown;
        }
        if (is_in)
            continue;
        sum->made.total += row->made.total;
        sum->objects_made.total += row->objects_made.total;
        sum->lives->brief += row->lives ? row->lives->brief : 0;
        sum->lives->brief_objects += row->lives ? row->lives->brief_objects : 0;
    }
}

/* ---- stacks --------------------------------------------------------------------------------- */

static cli_shown shown_of(const cli_leaks_run *run, const cli_leaks_how *how, double grain)
{
    const cli_leaks_rows *rows = &run->rows;
    cli_shown shown = rows->all->shown;
    shown.stacks = cli_keep(rows->len + 1, sizeof *shown.stacks);
    for (size_t i = 0; i <= rows->len; i++)
        if (is_shown(rows, i, grain))
            shown.stacks[shown.len++] = cli_leaks_shown_stack(run, &rows->rows[i], how->all_frames);
    cli_stacks_sort(&shown, false);
    return shown;
}

/* ---- writing -------------------------------------------------------------------------------- */

/* The series of the values that are shown, and the end of the row. */
static void put_series(FILE *to, const cli_leaks_rows *rows, size_t at, size_t points, double grain)
{
    const cli_leaks_row *row = &rows->rows[at];
    double last = 0, fine = at == rows->len ? 0 : grain_of(row, grain);
    size_t from = 0;
    putc('[', to);
    for (size_t i = 0; i < points; i++) {
        double value = shown_level(row->timeline[i], last, fine);
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
static void put_stacks(FILE *to, const cli_leaks_run *run, const cli_shown *shown,
                       const cli_flame_tree *tree, size_t findings, double grain)
{
    const cli_leaks_rows *rows = &run->rows;
    uint32_t last = 0;
    fputs(",\n\"stacks\":[", to);
    for (size_t i = 0; i < shown->len; i++) {
        const cli_flame_end *end = &tree->ends[i];
        const cli_stack *stack = &shown->stacks[end->stack];
        size_t at = (size_t)cli_stack_value(shown, stack, 0);
        const cli_leaks_row *row = &rows->rows[at];
        PUT(to, i ? ",\n[$,$,$,$,$,$" : "[$,$,$,$,$,$", J(end->node - last), J(at),
            J(steps_to_cause(shown, stack, &row->cause)), J((int)row->verdict.kind),
            J((int)row->verdict.reason), J(row->group));
        fprintf(to, ",%.0f,%.0f,%.0f,%.0f,", row->made.total, row->objects_made.total,
                row->lives ? row->lives->brief : 0, row->lives ? row->lives->brief_objects : 0);
        put_series(to, rows, at, run->points_len, grain);
        last = end->node;
    }
    fprintf(to, "],\n\"others\":%zu,\n\"finding\":[",
            rows->len + is_shown(rows, rows->len, grain) - shown->len);
    for (size_t i = 0; i < findings; i++)
        fprintf(to, "%s%zu", i ? "," : "", run->findings.shown[i]->row);
    putc(']', to);
}

/* [name, function that mapped it or file, source, line, series] of each area. */
static void put_areas(FILE *to, const cli_leaks_run *run, double grain)
{
    const cli_leaks_rows *areas = &run->areas;
    static const cli_frame_text none = {.name = {"", 0}, .file = {"", 0}};
    const char *comma = "";
    fputs(",\n\"areas\":[", to);
    for (size_t i = 0; i <= areas->len; i++) {
        if (!is_shown(areas, i, grain))
            continue;
        const cli_frame *cause = areas->rows[i].cause.frame;
        const cli_frame_text *text = cause ? &cause->text : &none;
        fputs(comma, to);
        PUT(to, "[$,$,$,$,",
            J(i < areas->len ? cli_leaks_area_name(areas, i) : cli_string_of("(other areas)")),
            J(text->name), J(text->file), J(text->line));
        put_series(to, areas, i, run->points_len, grain);
        comma = ",\n";
    }
    putc(']', to);
}

/* ---- source lines --------------------------------------------------------------------------- */

/* A profile may come from anyone and may name any file, and the page may be shared. So lines are read only
 * with --source, and only of regular files. */
enum { MOST_PLACES = 200, MOST_LINES = 1000000, AROUND = 2, COLUMNS = 160 };

/* Opens a file of source. Returns NULL if it is not at hand. */
static FILE *open_source(cli_string name)
{
    char *path = (char *)cli_keep_string(name).ptr;
    bool is_name = name.len && strlen(path) == name.len;
    int fd = is_name ? cli_regular_open(AT_FDCWD, path, O_RDONLY, NULL) : -1;
    cli_drop(path);
    return fd < 0 ? NULL : fdopen(fd, "r");
}

/* Writes the beginning of a line. A tab is four spaces, and the end of a line of Windows is none of it. */
static void put_line(FILE *to, const char *text, size_t len)
{
    char plain[4 * COLUMNS];
    size_t plain_len = 0;
    for (size_t i = 0; i < len; i++)
        if (text[i] == '\t')
            for (int k = 0; k < 4; k++)
                plain[plain_len++] = ' ';
        else if (text[i] != '\r' || i + 1 < len)
            plain[plain_len++] = text[i];
    cli_string_put(to, (cli_string){plain, plain_len}, CLI_TEXT_SCRIPT);
}

/* Writes a place and the beginnings of the lines around it, if its file is at hand. */
static bool put_place(FILE *to, bool is_first, const cli_frame_text *place)
{
    char text[COLUMNS + 1];
    int64_t first = place->line > AROUND ? place->line - AROUND : 1;
    bool is_begin = true;
    FILE *from = open_source(place->file);
    if (!from)
        return false;
    PUT(to, is_first ? "[$,$,$,[" : ",\n[$,$,$,[", J(place->file), J(place->line), J(first));
    for (int64_t n = 1; n <= place->line + AROUND && fgets(text, sizeof text, from);
         n += is_begin) {
        size_t len = strcspn(text, "\n");
        if (is_begin && n > first)
            putc(',', to);
        if (is_begin && n >= first)
            put_line(to, text, len);
        is_begin = text[len] == '\n';
    }
    fputs("]]", to);
    fclose(from);
    return true;
}

/* The member of the page that has the source lines around the frames of so many findings, where their files are at
 * hand. Each place once. */
static void put_source(FILE *to, const cli_leaks_run *run, size_t findings)
{
    const cli_frame_text *seen[MOST_PLACES];
    const cli_frame *frame;
    size_t len = 0, put = 0;
    fputs(",\n\"source\":[", to);
    for (size_t i = 0; i < findings; i++) {
        const cli_leaks_finding *f = run->findings.shown[i];
        const cli_leaks_rows *rows = cli_leaks_rows_of(run, f);
        for (cli_walk w = cli_leaks_walk(rows, &rows->rows[f->row]); (frame = cli_walk_next(&w));) {
            const cli_frame_text *place = &frame->text;
            size_t at = 0;
            while (at < len && cli_frame_compare_places(seen[at], place))
                at++;
            if (at < len || len == MOST_PLACES || place->line <= 0 || place->line > MOST_LINES)
                continue;
            seen[len++] = place;
            put += put_place(to, !put, place);
        }
    }
    putc(']', to);
}

/* ---- runs ----------------------------------------------------------------------------------- */

static void put_run(FILE *to, const cli_leaks_run *run, const cli_leaks_how *how, double grain)
{
    const cli_leaks_findings *found = &run->findings;
    cli_leaks_section section = {.run = run, .list = found->shown};
    const cli_leaks_report report = {.to = to, .form = CLI_TEXT_SCRIPT, .sections = &section};
    find_others(&run->rows, run->points_len, grain);
    find_others(&run->areas, run->points_len, grain);
    while (section.len < found->shown_len &&
           is_shown(cli_leaks_rows_of(run, found->shown[section.len]),
                    found->shown[section.len]->row, grain))
        section.len++;
    cli_shown shown = shown_of(run, how, grain);
    cli_flame_tree tree = cli_flame_tree_make(&shown);
    fputs("{\"report\":", to);
    cli_leaks_write_section(&report, &section, &cli_leaks_json);
    cli_flame_tree_put(to, &tree);
    PUT(to, ",\n\"film\":{\"grain\":$,\n\"points\":[", J(grain));
    for (size_t i = 0; i < run->points_len; i++)
        PUT(to, i ? ",[$,$]" : "[$,$]", J(run->points[i].window), J(run->points[i].seconds));
    putc(']', to);
    put_stacks(to, run, &shown, &tree, section.len, grain);
    put_areas(to, run, grain);
    put_source(to, run, how->has_source ? section.len : 0);
    fputs("}}", to);
}

/* ---- the page ------------------------------------------------------------------------------- */

/* What the page has: the runs with suspects, then the first others. */
typedef struct content {
    const cli_leaks_work *work;
    const cli_leaks_run *runs[MOST_RUNS];
    size_t len;
} content;

static content choose_runs(cli_leaks_work *w)
{
    content all = {.work = w};
    for (int others = 0; others < 2; others++)
        for (cli_leaks_run *run = w->runs; run < w->runs + w->runs_len; run++)
            if ((run->findings.suspects == 0) == (others == 1) && all.len < MOST_RUNS) {
                prepare_rows(&run->rows, run);
                prepare_rows(&run->areas, run);
                all.runs[all.len++] = run;
            }
    return all;
}

static void put_data(FILE *to, const content *all, double grain)
{
    PUT(to, "{\"version\":$,\n\"leftOut\":$,\n\"reasons\":[", J(pprofdelta_version()),
        J(all->work->runs_len - all->len));
    for (size_t i = 0; i <= CLI_LEAKS_SHRINKING; i++)
        PUT(to, i ? ",\n[$,$]" : "[$,$]", J(cli_leaks_reasons[i].word),
            J(cli_leaks_reasons[i].text));
    fputs("],\n\"runs\":[", to);
    for (size_t i = 0; i < all->len; i++) {
        fputs(i ? ",\n" : "\n", to);
        put_run(to, all->runs[i], &all->work->how, grain);
    }
    fputs("]}", to);
}

/* Data in the format of zlib. */
typedef struct packed {
    Bytef *bytes;
    uLongf len;
} packed;

/* Packs the data with that grain. Returns whether it fits. */
static bool pack_data(packed *to, const content *all, double grain)
{
    char *text = NULL;
    size_t len = 0;
    int status = Z_MEM_ERROR;
    FILE *data = open_memstream(&text, &len);
    if (data)
        put_data(data, all, grain);
    *to = (packed){cli_keep(MOST_BYTES, 1), MOST_BYTES};
    if (data && !fclose(data))
        status = compress(to->bytes, &to->len, (Bytef *)text, len);
    free(text);
    if (status == Z_MEM_ERROR)
        cli_must(cli_system_error(all->work->how.html, "write", ENOMEM));
    return status == Z_OK;
}

/* Makes the data with the smallest grain with which it fits. */
static packed make_data(cli_leaks_work *w)
{
    const content all = choose_runs(w);
    packed data = {.bytes = NULL};
    for (int low = 0, high = GRAINS; low < high;) {
        packed next;
        int at = (low + high) / 2;
        bool fits = pack_data(&next, &all, grain_at(at));
        data = fits ? next : data;
        *(fits ? &high : &low) = fits ? at : at + 1;
    }
    if (!data.bytes)
        cli_must(cli_error("%s: is not written: the names alone are too long", w->how.html));
    return data;
}

static void put_base64(FILE *to, void *cookie)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const packed *data = cookie;
    putc('"', to);
    for (size_t i = 0; i < data->len; i += 3) {
        const Bytef *three = data->bytes + i;
        unsigned bits = (unsigned)three[0] << 16 | (unsigned)three[1] << 8 | three[2];
        for (size_t k = 0; k < 4; k++)
            putc(i + k <= data->len ? digits[bits >> (18 - 6 * k) & 63] : '=', to);
    }
    putc('"', to);
}

void cli_leaks_put_html(cli_leaks_work *w)
{
    cli_shown *shown = &w->all.shown;
    shown->frames[shown->frames_len].text.name = cli_string_of("(other stacks)");
    cli_shown_number_names(shown, true);
    packed data = make_data(w);
    cli_page_write(w->how.html, "--html", leaks_page_head, leaks_page_tail, put_base64, &data);
}
