/* Judges the account of the resident memory: see leaks_rank.h.
 *
 *     rows of the account --> memory of malloc    explained by the stacks, or judged
 *                         --> all other areas     judged
 *
 * Both sums are read from the kernel, so that a page is all the noise that they have. */
#include "leaks/leaks_rank.h"

#include <math.h>
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
    const cli_leaks_place *leaf = &areas->places[areas->path[row->path]];
    return cli_leaks_text(areas, areas->frames[leaf->first].name);
}

static bool is_live_heap(const cli_leaks_rows *areas, size_t area)
{
    return cli_string_is(leaf_of(areas, area), "[live heap]");
}

static bool is_of_heap(const cli_leaks_rows *areas, size_t area)
{
    return is_live_heap(areas, area) || cli_string_is(leaf_of(areas, area), "[allocator slack]");
}

/* The agent's own memory is none of the program's. */
static bool is_of_agent(const cli_leaks_rows *areas, size_t area)
{
    return cli_string_is(leaf_of(areas, area), "[heap agent]");
}

/* Growth of resident memory counts from a mebibyte, and from a hundredth of what is resident: less
 * is what every program does. */
static bool is_material(double growth, double resident)
{
    static const double least = 1 << 20, share = 0.01;
    return growth >= least && growth >= share * resident;
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
    out->list[out->len++] = (cli_leaks_finding){.verdict = verdict,
                                                .what = CLI_LEAKS_AREAS,
                                                .row = sum->most,
                                                .stacks = sum->areas,
                                                .now = sum->now,
                                                .rate = -1,
                                                .age = -1};
}

/* The memory of malloc is explained by the stacks if what they have in use grows at least half as
 * much. All other areas are none of theirs. */
void cli_leaks_judge_areas(cli_leaks_findings *out, cli_leaks_run *run)
{
    cli_leaks_rows *areas = &run->areas;
    area_sum heap = {.areas = 0}, others = {.areas = 0};
    double live = 0;
    cli_leaks_grade_frames(run, areas);
    for (size_t i = 0; i < areas->len; i++) {
        areas->rows[i].verdict = judge_area(areas, areas->rows[i].levels);
        if (is_of_agent(areas, i))
            continue;
        add_area(is_of_heap(areas, i) ? &heap : &others, areas, i);
        live += is_live_heap(areas, i) ? areas->rows[i].verdict.growth : 0;
    }
    judge_sum(out, areas, &others, heap.now + others.now);
    if (live < judge_area(areas, heap.levels).growth / 2)
        judge_sum(out, areas, &heap, heap.now + others.now);
}

/* Python's allocator is a named function, or the caller of mmap in a Python without symbols. */
static bool is_python(const cli_leaks_walk *walk)
{
    cli_string name = cli_leaks_text(walk->rows, walk->frame->name);
    cli_string module = cli_leaks_text(walk->rows, walk->frame->module);
    const char *slash = memrchr(module.ptr, '/', module.len);
    size_t folder = slash ? (size_t)(slash - module.ptr) + 1 : 0;
    cli_string base = {module.ptr + folder, module.len - folder};
    bool is_module = cli_string_begins(base, "python") || cli_string_begins(base, "libpython");
    return cli_string_is(name, "_PyMem_ArenaAlloc") || cli_string_is(name, "_PyObject_ArenaMmap") ||
           (walk->at == 1 && walk->frame->is_nameless && is_module);
}

static cli_leaks_area area_of(const cli_leaks_rows *areas, size_t area)
{
    cli_leaks_area found = {.cause = cli_leaks_find_cause(areas, area, 1),
                            .name = leaf_of(areas, area),
                            .row = area,
                            .growth = areas->rows[area].verdict.growth,
                            .now = areas->rows[area].now};
    cli_leaks_walk walk = cli_leaks_walk_begin(areas, area);
    while (cli_leaks_walk_next(&walk))
        found.has_python |= is_python(&walk);
    return found;
}

size_t cli_leaks_find_areas(const cli_leaks_run *run, const cli_leaks_finding *finding,
                            cli_leaks_area found[CLI_LEAKS_AREAS_MOST])
{
    static const double least_share = 0.05;
    const cli_leaks_rows *areas = &run->areas;
    double before = INFINITY, least = least_share * finding->verdict.growth;
    size_t len = 0;
    if (finding->what != CLI_LEAKS_AREAS)
        return 0;
    bool is_heap = is_of_heap(areas, finding->row);
    for (; len < CLI_LEAKS_AREAS_MOST; len++) {
        size_t next = SIZE_MAX;
        for (size_t i = 0; i < areas->len; i++) {
            double growth = areas->rows[i].verdict.growth;
            if (is_of_heap(areas, i) == is_heap && !is_of_agent(areas, i) && growth >= least &&
                growth < before && (next == SIZE_MAX || growth > areas->rows[next].verdict.growth))
                next = i;
        }
        if (next == SIZE_MAX)
            break;
        found[len] = area_of(areas, next);
        before = found[len].growth;
    }
    return len;
}
