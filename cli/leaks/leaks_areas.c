/* Judges the account of the resident memory: see leaks.h.
 *
 *     rows of the account --> memory of malloc    explained by the stacks, or judged
 *                         --> all other areas     judged
 *
 * Both sums are read from the kernel, so that a page is all the noise that they have. */
#include "leaks/leaks.h"

#include <math.h>

cli_string cli_leaks_area_name(const cli_leaks_rows *areas, size_t area)
{
    const cli_frame *leaf = cli_stack_leaf(&areas->all->shown, &areas->rows[area].stack);
    return leaf ? leaf->text.name : cli_string_of("");
}

/* Whose memory an area is. The agent's own is none of the program's. */
typedef enum owner { AGENT, HEAP, OTHERS, OWNERS } owner;

static owner owner_of(const cli_leaks_rows *areas, size_t area)
{
    cli_string name = cli_leaks_area_name(areas, area);
    bool is_heap = cli_string_is(name, "[live heap]") || cli_string_is(name, "[allocator slack]") ||
                   cli_string_is(name, "[Python arena slack]");
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
static bool is_python(const cli_frame *frame, size_t at)
{
    cli_string name = frame->text.name, base = cli_string_base(frame->text.module);
    bool is_module = cli_string_begins(base, "python") || cli_string_begins(base, "libpython");
    return cli_string_is(name, "_PyMem_ArenaAlloc") || cli_string_is(name, "_PyObject_ArenaMmap") ||
           (at == 1 && frame->text.is_nameless && is_module);
}

bool cli_leaks_is_of_python(const cli_leaks_rows *areas, size_t area)
{
    const cli_frame *frame;
    cli_walk w = cli_leaks_walk(areas, &areas->rows[area]);
    for (size_t i = 0; (frame = cli_walk_next(&w)); i++)
        if (is_python(frame, i))
            return true;
    return false;
}

/* Adds an area in its place. */
static void add_area(cli_leaks_finding *f, const cli_leaks_rows *areas, size_t area)
{
    double growth = areas->rows[area].verdict.growth;
    size_t at = f->areas_len;
    for (; at && areas->rows[f->areas[at - 1]].verdict.growth < growth; at--)
        if (at < CLI_LEAKS_MOST_AREAS)
            f->areas[at] = f->areas[at - 1];
    if (at < CLI_LEAKS_MOST_AREAS)
        f->areas[at] = area;
    f->areas_len += f->areas_len < CLI_LEAKS_MOST_AREAS;
}

/* Sets the areas that grew, and the row of the one that grew most. */
static void find_areas(cli_leaks_finding *f, const cli_leaks_rows *areas)
{
    static const double least_share = 0.05;
    owner whose = owner_of(areas, f->row);
    double most = -INFINITY;
    f->of->cause = (cli_leaks_cause){.frame = NULL};
    for (size_t i = 0; i < areas->len; i++) {
        double growth = areas->rows[i].verdict.growth;
        if (owner_of(areas, i) != whose || areas->rows[i].group)
            continue;
        if (growth > most)
            f->row = i;
        most = fmax(most, growth);
        if (growth >= least_share * f->of->verdict.growth)
            add_area(f, areas, i);
    }
}

static void judge_sum(const cli_leaks_ranking *r, cli_leaks_total *sum, double resident)
{
    cli_leaks_verdict *v = &sum->sum.verdict;
    if (v->kind == CLI_LEAKS_NONE || v->reason == CLI_LEAKS_FEW_POINTS ||
        !is_material(v->growth, resident))
        return;
    v->kind = CLI_LEAKS_UNKNOWN;
    v->reason = CLI_LEAKS_RESIDENT;
    find_areas(cli_leaks_add_sum(r, CLI_LEAKS_AREAS, sum), r->rows);
}

/* Is the stack in a function that creates threads? Then glibc allocated a part of the thread there. */
static bool creates_threads(const cli_leaks_rows *rows, const cli_leaks_row *row)
{
    const cli_frame *frame;
    for (cli_walk w = cli_leaks_walk(rows, row); (frame = cli_walk_next(&w));)
        if (cli_string_begins(frame->text.name, "pthread_create") ||
            cli_string_begins(frame->text.name, "__pthread_create"))
            return true;
    return false;
}

/* What created most of the threads that there are, as far as their small allocations are samples. */
static cli_leaks_cause cause_of_threads(const cli_leaks_rows *rows)
{
    const cli_leaks_row *most = NULL;
    for (size_t i = 0; i < rows->len; i++)
        if (rows->rows[i].now.total > (most ? most->now.total : 0) &&
            creates_threads(rows, &rows->rows[i]))
            most = &rows->rows[i];
    return most ? most->cause : (cli_leaks_cause){.frame = NULL};
}

/* An area that grows steadily is a finding of its own: a suspect if it is mapped again and again by code
 * that is known, and filling if it is not mapped again. Returns whether it is one. */
static bool judge_area(const cli_leaks_ranking *r, const cli_leaks_run *run, size_t area,
                       double resident)
{
    cli_leaks_row *row = &r->rows->rows[area];
    cli_string name = cli_leaks_area_name(r->rows, area);
    bool is_of_threads = cli_string_is(name, "[thread stacks]");
    cli_leaks_cause cause = is_of_threads ? cause_of_threads(&run->rows) : row->cause;
    bool is_filling =
        r->rows->has_mapped &&
        !cli_leaks_is_mapped_again(row->allocated, r->rows->points, row->verdict.growth);
    bool can_be = is_of_threads || (cli_string_is(name, "[anonymous mappings]") &&
                                    !cli_leaks_is_of_python(r->rows, area));
    if (!(is_filling || (can_be && cause.frame)) || row->verdict.kind != CLI_LEAKS_SUSPECT ||
        !is_material(row->verdict.growth, resident))
        return false;
    if (is_filling) {
        row->verdict.reason = CLI_LEAKS_TOUCHED;
        row->verdict.kind = cli_leaks_kind_of(CLI_LEAKS_TOUCHED);
    }
    row->cause = cause;
    row->group = 1;
    cli_leaks_finding *f = cli_leaks_add_finding(r, CLI_LEAKS_AREAS, row, area, 1);
    f->group = 0;
    add_area(f, r->rows, area);
    return true;
}

/* The memory of malloc is explained by the stacks if what they have in use grows at least half as
 * much. All other areas are none of theirs. */
void cli_leaks_judge_areas(cli_leaks_run *run)
{
    static const double page = 4096;
    cli_leaks_rows *areas = &run->areas;
    const cli_leaks_ranking r = {.out = &run->findings, .rows = areas};
    cli_leaks_total sums[OWNERS] = {{.stacks = 0}};
    double live = 0;
    double resident = 0;
    cli_leaks_grade_frames(run, areas);
    for (size_t i = 0; i < areas->len; i++) {
        areas->rows[i].weight = page;
        areas->rows[i].cause = cli_leaks_find_cause(areas, i, 1);
        cli_leaks_judge_row(&r, &areas->rows[i], 1);
        resident += owner_of(areas, i) == AGENT ? 0 : areas->rows[i].now.total;
        if (cli_string_is(cli_leaks_area_name(areas, i), "[live heap]"))
            live += areas->rows[i].verdict.growth;
    }
    for (size_t i = 0; i < areas->len; i++)
        if (owner_of(areas, i) != OTHERS || !judge_area(&r, run, i, resident))
            cli_leaks_add_up(&sums[owner_of(areas, i)], areas, i);
    for (owner i = HEAP; i < OWNERS; i++)
        cli_leaks_judge_total(&r, &sums[i], 1);
    judge_sum(&r, &sums[OTHERS], resident);
    if (live < sums[HEAP].sum.verdict.growth / 2)
        judge_sum(&r, &sums[HEAP], resident);
}
