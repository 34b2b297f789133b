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

/* A row of a picture. */
typedef struct strip {
    const cli_leaks_row *row;
    double *levels; /* at each point */
    double most;    /* in use, or freed in the windows in which it was allocated */
} strip;

/* The rows of a picture, and behind them the others: all that the series of the rows do not have. */
typedef struct reel {
    strip *list, *others;
    size_t len, points; /* len: without the others */
} reel;

/* One run, made ready once for every try. */
typedef struct scene {
    const cli_leaks_run *run;
    const cli_leaks_how *how;
    reel stacks, areas;
    double grain;
    const cli_string *names;
    size_t names_len;
    /* A profile of which each location is a frame, and each sample a row; then those of the others. The value is
     * the number of the row. */
    cli_profile profile;
    cli_source source;
} scene;

/* ---- what is shown -------------------------------------------------------------------------- */

static reel reel_of(const cli_leaks_run *run, const cli_leaks_rows *rows,
                    const cli_leaks_levels *levels)
{
    size_t len = rows->len, points = run->film.len;
    strip *list = cli_keep(len + 1, sizeof *list);
    for (size_t i = 0; i < len; i++) {
        const cli_leaks_row *row = &rows->rows[i];
        double brief = row->lives ? row->lives->brief / (double)run->windows : 0;
        list[i] = (strip){row, levels->of[i], brief};
        for (size_t k = 0; k < points; k++)
            list[i].most = fmax(list[i].most, list[i].levels[k]);
    }
    list[len].levels = cli_keep(points, sizeof *list->levels);
    return (reel){list, &list[len], len, points};
}

/* The first grain is 0, the last is larger than any value, and four lie between two powers of two. */
static double grain_at(int at)
{
    return !at ? 0 : at == GRAINS - 1 ? INFINITY : exp2((at - 1) / 4.0);
}

static double grain_of(const strip *one, double grain)
{
    return one->row->verdict.kind != CLI_LEAKS_NONE || one->row->group ? grain / (double)FINER
                                                                       : grain;
}

/* The others are shown if something is left out. */
static bool is_shown(const reel *r, size_t at, double grain)
{
    const strip *one = &r->list[at];
    return one == r->others ? r->len && grain > 0 : one->most >= grain_of(one, grain);
}

/* The value that is shown at a point behind one where `last` is shown. */
static double shown_level(double level, double last, double grain)
{
    return level < last || level > last + grain ? level : last;
}

/* Takes what is shown of a row out of the others. */
static void find_others(const reel *r, double grain)
{
    cli_leaks_row *sum = cli_keep(1, sizeof *sum);
    sum->lives = cli_keep(1, sizeof *sum->lives);
    sum->verdict.reason = CLI_LEAKS_FLAT;
    r->others->row = sum;
    memset(r->others->levels, 0, r->points * sizeof *r->others->levels);
    for (size_t i = 0; i < r->len; i++) {
        const strip *one = &r->list[i];
        bool is_in = is_shown(r, i, grain);
        double shown = 0, fine = grain_of(one, grain);
        for (size_t k = 0; k < r->points; k++) {
            shown = is_in ? shown_level(one->levels[k], shown, fine) : 0;
            r->others->levels[k] += one->levels[k] - shown;
        }
        if (is_in)
            continue;
        sum->made += one->row->made;
        sum->objects_made += one->row->objects_made;
        sum->lives->brief += one->row->lives ? one->row->lives->brief : 0;
        sum->lives->brief_objects += one->row->lives ? one->row->lives->brief_objects : 0;
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
        names[i] = rows->texts[i];
    for (size_t i = 0; i < len; i++) {
        cli_string name = cli_frame_short_name(&rows->frames[i].text, room);
        if (name.ptr == room)
            names[rows->frames[i].name] = cli_keep_string(name);
    }
    names[texts] = cli_string_of("(other stacks)");
    s->names = cli_keep_numbered(names, texts + 1, numbers, &s->names_len);
    for (size_t i = 0; i < len; i++)
        frames[i] =
            (cli_frame){.text = rows->frames[i].text, .name = numbers[rows->frames[i].name]};
    frames[len].text.file = frames[len].text.module = cli_string_of("");
    frames[len].name = numbers[texts];
    s->source.frames = frames;
    s->source.first = cli_keep(len + 2, sizeof *s->source.first);
    for (size_t i = 0; i <= len + 1; i++)
        s->source.first[i] = (uint32_t)i;
    s->profile.locations.len = len + 1;
}

static void make_samples(scene *s)
{
    const cli_leaks_rows *rows = &s->run->rows;
    size_t len = rows->len + 1;
    uint64_t *ids = cli_keep(rows->path_len + 1, sizeof *ids);
    int64_t *values = cli_keep(len, sizeof *values);
    Pd__View__Sample *list = cli_keep(len, sizeof *list),
                     **samples = cli_keep(len, sizeof *samples);
    for (size_t i = 0; i < rows->path_len; i++)
        ids[i] = rows->path[i] + 1;
    ids[rows->path_len] = rows->frames_len + 1;
    for (size_t i = 0; i < len; i++) {
        bool is_row = i < rows->len;
        list[i] = (Pd__View__Sample)PD__VIEW__SAMPLE__INIT;
        list[i].n_location_id = is_row ? rows->rows[i].path_len : 1;
        list[i].location_id = ids + (is_row ? rows->rows[i].path : rows->path_len);
        list[i].n_value = 1;
        list[i].value = values + i;
        values[i] = (int64_t)i;
        samples[i] = &list[i];
    }
    Pd__View__Profile view = PD__VIEW__PROFILE__INIT;
    view.n_sample = len;
    view.sample = samples;
    uint8_t *bytes = cli_keep(pd__view__profile__get_packed_size(&view), 1);
    cli_samples_find(bytes, pd__view__profile__pack(&view, bytes), &s->profile.samples);
    cli_drop(ids);
    cli_drop(values);
    cli_drop(list);
    cli_drop(samples);
}

static scene scene_of(const cli_leaks_run *run, const cli_leaks_how *how)
{
    scene s = {.run = run, .how = how};
    s.stacks = reel_of(run, &run->rows, &run->film.stacks);
    s.areas = reel_of(run, &run->areas, &run->film.areas);
    name_frames(&s);
    make_samples(&s);
    return s;
}

static cli_shown shown_of(const scene *s)
{
    const reel *r = &s->stacks;
    cli_samples rest = s->profile.samples;
    cli_shown shown = {.sides = 1,
                       .sources = {s->source},
                       .frames = s->source.frames,
                       .frames_len = s->run->rows.frames_len,
                       .names = s->names,
                       .names_len = s->names_len};
    shown.sources[0].profile = shown.profiles = &s->profile;
    shown.stacks = cli_keep(r->len + 1, sizeof *shown.stacks);
    for (size_t i = 0; i <= r->len; i++) {
        cli_sample sample;
        size_t from = 0, to = 1, len = i < r->len ? r->list[i].row->path_len : 1;
        cli_samples_next(&rest, &sample);
        if (!is_shown(r, i, s->grain))
            continue;
        if (i < r->len)
            cli_leaks_cut(s->run, r->list[i].row, s->how->all_frames, &from, &to);
        shown.stacks[shown.len] = cli_stack_of(&sample, 0);
        cli_stack_cut(&shown, &shown.stacks[shown.len++], from, len - to);
    }
    cli_stacks_sort(&shown, false);
    return shown;
}

/* ---- writing -------------------------------------------------------------------------------- */

/* The series of the values that are shown, and the end of the row. */
static void put_series(FILE *to, const reel *r, size_t at, double grain)
{
    const strip *one = &r->list[at];
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
static long steps_to_cause(const scene *s, const cli_leaks_row *row)
{
    size_t from, to;
    cli_leaks_cut(s->run, row, s->how->all_frames, &from, &to);
    for (size_t i = from; i < to; i++)
        if (cli_leaks_frame_at(&s->run->rows, row, i) == row->cause.frame)
            return (long)(i - from);
    return -1;
}

/* The stacks in the order of their nodes, and the row of each finding. */
static void put_stacks(FILE *to, const scene *s, const cli_shown *shown, const cli_flame_tree *tree,
                       size_t findings)
{
    uint32_t last = 0;
    fputs(",\n\"stacks\":[", to);
    for (size_t i = 0; i < shown->len; i++) {
        const cli_flame_end *end = &tree->ends[i];
        size_t at = (size_t)cli_stack_value(shown, &shown->stacks[end->stack], 0);
        const cli_leaks_row *row = s->stacks.list[at].row;
        PUT(to, i ? ",\n[$,$,$,$,$,$" : "[$,$,$,$,$,$", J(end->node - last), J(at),
            J(steps_to_cause(s, row)), J((int)row->verdict.kind), J((int)row->verdict.reason),
            J(row->group));
        fprintf(to, ",%.0f,%.0f,%.0f,%.0f,", row->made, row->objects_made,
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
static void put_areas(FILE *to, const scene *s)
{
    const reel *r = &s->areas;
    static const cli_frame_text none = {.name = {"", 0}, .file = {"", 0}};
    const char *comma = "";
    fputs(",\n\"areas\":[", to);
    for (size_t i = 0; i <= r->len; i++) {
        if (!is_shown(r, i, s->grain))
            continue;
        const cli_leaks_frame *cause = r->list[i].row->cause.frame;
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

static void put_scene(FILE *to, scene s, double grain)
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
    cli_leaks_put_run(to, CLI_TEXT_SCRIPT, run, findings);
    cli_flame_tree_put(to, &tree);
    PUT(to, ",\n\"film\":{\"grain\":$,\n\"points\":[", J(grain));
    for (size_t i = 0; i < run->film.len; i++)
        PUT(to, i ? ",[$,$]" : "[$,$]", J(run->film.points[i].window),
            J(run->film.points[i].seconds));
    putc(']', to);
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

/* Packs the data with that grain, if it fits. Returns the status of zlib. */
static int pack(packed *to, const cli_leaks_work *w, const scene *scenes, size_t runs, double grain)
{
    char *text = NULL;
    size_t len = 0;
    int status = Z_MEM_ERROR;
    FILE *data = open_memstream(&text, &len);
    if (data)
        put_data(data, w, scenes, runs, grain);
    *to = (packed){cli_keep(MOST_BYTES, 1), MOST_BYTES};
    if (data && !fclose(data))
        status = compress(to->bytes, &to->len, (Bytef *)text, len);
    free(text);
    return status;
}

/* Makes the data with the smallest grain with which it fits. */
static int make_data(const cli_leaks_work *w, packed *data)
{
    scene scenes[MOST_RUNS];
    size_t runs = choose_runs(w, scenes);
    for (int low = 0, high = GRAINS; low < high;) {
        packed next;
        int at = (low + high) / 2;
        int status = pack(&next, w, scenes, runs, grain_at(at));
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

int cli_leaks_put_html(const cli_leaks_work *w)
{
    cli_page page = {.to = NULL};
    packed data = {.bytes = NULL};
    int code = cli_page_open(&page, w->how.html, "--html");
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
