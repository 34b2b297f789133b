/* Judges the account of the resident memory: see leaks_rank.h.
 *
 *     rows of the account --> memory of malloc    explained by the stacks, or judged
 *                         --> all other areas     judged
 *
 * Both sums are read from the kernel, so that a page is all the noise that they have. */
#include "leaks/leaks_rank.h"

#include "keep.h"

#include <stdlib.h>
#include <string.h>

/* A sum of areas. */
typedef struct area_sum {
    double levels[CLI_LEAKS_POINTS];
    double now;
    size_t areas, most; /* most: the one that grows most */
} area_sum;

static cli_leaks_verdict judge_area(const cli_leaks_rows *areas, const double *levels)
{
    static const double page = 4096;
    const cli_leaks_series series = {.len = areas->points,
                                     .seconds = areas->seconds,
                                     .levels = levels,
                                     .weight = page,
                                     .tests = 1};
    return cli_leaks_judge(&series);
}

static void add_area(area_sum *to, const cli_leaks_rows *areas, size_t area)
{
    const cli_leaks_row *row = &areas->rows[area];
    for (size_t i = 0; i < areas->points; i++)
        to->levels[i] += row->levels[i];
    to->now += row->now;
    if (!to->areas++ || row->verdict.growth > areas->rows[to->most].verdict.growth)
        to->most = area;
}

/* The name of the area. */
static cli_string leaf_of(const cli_leaks_rows *areas, size_t area)
{
    const cli_leaks_row *row = &areas->rows[area];
    if (!row->path_len)
        return cli_string_of("");
    return areas->frames[areas->places[areas->path[row->path]].first].text.name;
}

/* Whose memory an area is. The agent's own is none of the program's. */
typedef enum owner { AGENT, HEAP, OTHERS, OWNERS } owner;

static owner owner_of(const cli_leaks_rows *areas, size_t area)
{
    cli_string name = leaf_of(areas, area);
    bool is_heap = cli_string_is(name, "[live heap]") || cli_string_is(name, "[allocator slack]");
    return cli_string_is(name, "[heap agent]") ? AGENT : is_heap ? HEAP : OTHERS;
}

/* Growth of resident memory counts from a mebibyte, and from a hundredth of what is resident: less
 * is what every program does. */
static bool is_material(double growth, double resident)
{
    static const double least = 1 << 20, share = 0.01;
    return growth >= least && growth >= share * resident;
}

/* Python's allocator is a named function, or the caller of mmap in a Python without symbols. */
static bool is_python(const cli_leaks_frame *frame, size_t at)
{
    cli_string name = frame->text.name, module = frame->text.module;
    const char *slash = memrchr(module.ptr, '/', module.len);
    size_t folder = slash ? (size_t)(slash - module.ptr) + 1 : 0;
    cli_string base = {module.ptr + folder, module.len - folder};
    bool is_module = cli_string_begins(base, "python") || cli_string_begins(base, "libpython");
    return cli_string_is(name, "_PyMem_ArenaAlloc") || cli_string_is(name, "_PyObject_ArenaMmap") ||
           (at == 1 && frame->text.is_nameless && is_module);
}

static cli_leaks_area area_of(const cli_leaks_rows *areas, size_t area)
{
    const cli_leaks_frame **frames;
    cli_leaks_area found = {.cause = cli_leaks_find_cause(areas, area, 1),
                            .name = leaf_of(areas, area),
                            .row = area,
                            .growth = areas->rows[area].verdict.growth,
                            .now = areas->rows[area].now};
    size_t len = cli_leaks_frames(areas, area, &frames);
    for (size_t i = 0; i < len; i++)
        found.has_python |= is_python(frames[i], i);
    cli_drop(frames);
    return found;
}

static int by_growth(const void *a, const void *b)
{
    const cli_leaks_area *x = a, *y = b;
    if (x->growth != y->growth)
        return x->growth > y->growth ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static void find_areas(cli_leaks_finding *f, const cli_leaks_rows *areas)
{
    enum { MOST = 5 };
    static const double least_share = 0.05;
    f->areas = cli_keep(areas->len, sizeof *f->areas);
    for (size_t i = 0; i < areas->len; i++)
        if (owner_of(areas, i) == owner_of(areas, f->row) &&
            areas->rows[i].verdict.growth >= least_share * f->verdict.growth)
            f->areas[f->areas_len++] = area_of(areas, i);
    qsort(f->areas, f->areas_len, sizeof *f->areas, by_growth);
    f->areas_len = f->areas_len < MOST ? f->areas_len : MOST;
}

static void judge_sum(cli_leaks_findings *out, const cli_leaks_rows *areas, const area_sum *sum,
                      double resident)
{
    cli_leaks_verdict verdict = judge_area(areas, sum->levels);
    if (verdict.kind == CLI_LEAKS_NONE || verdict.reason == CLI_LEAKS_FEW_POINTS ||
        !is_material(verdict.growth, resident))
        return;
    verdict.kind = CLI_LEAKS_UNKNOWN;
    verdict.reason = CLI_LEAKS_RESIDENT;
    cli_leaks_finding *f = &out->list[out->len++];
    *f = (cli_leaks_finding){.verdict = verdict,
                             .what = CLI_LEAKS_AREAS,
                             .row = sum->most,
                             .stacks = sum->areas,
                             .now = sum->now,
                             .rate = -1,
                             .age = -1};
    find_areas(f, areas);
}

/* The memory of malloc is explained by the stacks if what they have in use grows at least half as
 * much. All other areas are none of theirs. */
void cli_leaks_judge_areas(cli_leaks_findings *out, cli_leaks_run *run)
{
    cli_leaks_rows *areas = &run->areas;
    area_sum sums[OWNERS] = {{.areas = 0}};
    double live = 0;
    cli_leaks_grade_frames(run, areas);
    for (size_t i = 0; i < areas->len; i++) {
        areas->rows[i].verdict = judge_area(areas, areas->rows[i].levels);
        add_area(&sums[owner_of(areas, i)], areas, i);
        if (cli_string_is(leaf_of(areas, i), "[live heap]"))
            live += areas->rows[i].verdict.growth;
    }
    double resident = sums[HEAP].now + sums[OTHERS].now;
    judge_sum(out, areas, &sums[OTHERS], resident);
    if (live < judge_area(areas, sums[HEAP].levels).growth / 2)
        judge_sum(out, areas, &sums[HEAP], resident);
}
