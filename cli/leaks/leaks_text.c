/* What `pprofdelta leaks` prints for people:
 *
 *     run       /opt/app, 60 windows in 59.0min, from 2026-11-21T08:00:00Z
 *     in use    412MiB (inuse_space) in 812 stacks, +8.02MiB/h
 *     verdict   1 suspect, 1 unknown, 810 stacks without steady growth
 *     power     a leak of 36.1MiB in this run (+36.1MiB/h) would be a suspect 8 times of 10
 *
 *     suspect 1: new_session  server.c:120
 *               +12.0MiB/h, 48.2MiB in 812 objects now, >99.99% sure
 *               what is allocated stays, and more comes; age 2.10h
 *               of 412 samples older than 4 windows 2 were freed
 *                 new_session   server.c:120
 *                 handle        server.c:88
 *                 main          server.c:10
 */
#include "leaks/leaks.h"

#include "instant.h"
#include "keep.h"
#include "output_file.h"
#include "show/screen.h"
#include "units.h"

#include <math.h>
#include <string.h>

/* ---- numbers ------------------------------------------------------------------------------ */

char *cli_leaks_format_value(double value, cli_string unit, char buf[48])
{
    static const double most = 9e18;
    double size = fmin(fmax(value, -most), most);
    pprofdelta_sum sum = {0};
    cli_sum_add(&sum, (int64_t)round(size));
    return cli_units_format(sum, unit, buf);
}

static char *format_span(double seconds, char buf[48])
{
    return cli_leaks_format_value(seconds * 1e9, cli_string_of("nanoseconds"), buf);
}

char *cli_leaks_format_slope(const cli_leaks_run *run, cli_string unit, double slope,
                             char buf[CLI_LEAKS_SLOPE_ROOM])
{
    static const double hour = 3600, minute = 60, short_run = 600;
    char text[48];
    bool is_short = run->span < short_run;
    double value = slope * (is_short ? minute : hour);
    snprintf(buf, CLI_LEAKS_SLOPE_ROOM, "%s%s/%s", value > 0 ? "+" : "",
             cli_leaks_format_value(value, unit, text), is_short ? "min" : "h");
    return buf;
}

static void put_slope(const cli_leaks_run *run, cli_string unit, double slope)
{
    char text[CLI_LEAKS_SLOPE_ROOM];
    fputs(cli_leaks_format_slope(run, unit, slope, text), stdout);
}

static void put_count(size_t count, const char *noun)
{
    printf("%zu %s%s", count, noun, count == 1 ? "" : "s");
}

/* ---- a finding ---------------------------------------------------------------------------- */

static void put_age(const cli_leaks_finding *f)
{
    char text[48];
    if (f->age < 0 || f->now <= 0)
        return;
    if (isinf(f->age))
        fputs("; older than the run: nothing was allocated in it", stdout);
    else
        printf("; age %s", format_span(f->age, text));
}

static void put_numbers(const cli_leaks_run *run, const cli_leaks_finding *f)
{
    static const double least_doubt = 1e-4;
    char text[48];
    cli_string unit = cli_leaks_unit_of(run, f);
    fputs("          ", stdout);
    put_slope(run, unit, f->verdict.slope);
    printf(", %s", cli_leaks_format_value(f->now, unit, text));
    if (f->objects >= 1 && !cli_string_is(unit, "count"))
        printf(" in %.0f object%s", f->objects, f->objects >= 1.5 ? "s" : "");
    fputs(" now", stdout);
    if (f->verdict.reason == CLI_LEAKS_BUFFER)
        fputs(", a fact and no estimate", stdout);
    else if (f->verdict.kind == CLI_LEAKS_SUSPECT && f->verdict.doubt < least_doubt)
        fputs(", >99.99% sure", stdout);
    else if (f->verdict.kind == CLI_LEAKS_SUSPECT)
        printf(", %.2f%% sure", 100 * (1 - f->verdict.doubt));
    putchar('\n');
}

/* What the ages show; and what would tell if they show too little. */
static void put_evidence(const cli_leaks_run *run, const cli_leaks_finding *f)
{
    const cli_leaks_evidence *e = &f->verdict.evidence;
    char rate[48];
    size_t age = e->age * cli_leaks_block(run);
    if (!e->age || (e->settled < 0.5 && f->verdict.reason != CLI_LEAKS_FEW_SAMPLES))
        return;
    printf("          of %.0f samples older than %zu windows %.0f %s freed\n", e->settled, age,
           e->freed, e->freed < 1.5 && e->freed >= 0.5 ? "was" : "were");
    if (f->verdict.reason != CLI_LEAKS_FEW_SAMPLES || e->longer <= 0 || e->old >= e->needed)
        return;
    printf("          %.0f that are not freed are enough: a run of %.0f windows has them",
           e->needed, ceil(e->longer * (double)run->windows));
    if (run->period > 1)
        printf(", or a sample in %s",
               cli_leaks_format_value(run->period / e->longer, cli_string_of("bytes"), rate));
    putchar('\n');
}

static void put_reason(const cli_leaks_run *run, const cli_leaks_finding *f)
{
    char growth[48], noise[48];
    cli_string unit = run->unit;
    printf("          %s", cli_leaks_why(&f->verdict));
    if (f->verdict.reason == CLI_LEAKS_UNSURE)
        printf(" (%s, and chance makes %s)",
               cli_leaks_format_value(f->verdict.growth, unit, growth),
               cli_leaks_format_value(f->verdict.noise, unit, noise));
    if (f->verdict.reason == CLI_LEAKS_TOUCHED)
        printf(" (%s)", cli_leaks_format_value(run->areas.rows[f->row].made, cli_string_of("bytes"),
                                               growth));
    put_age(f);
    putchar('\n');
    put_evidence(run, f);
    if (f->what == CLI_LEAKS_SHARED) {
        printf("          %zu stacks with ", f->stacks);
        cli_string_put(stdout, f->shared, CLI_TEXT_SHOWN);
        fputs(" in common; the largest:\n", stdout);
    } else if (f->what == CLI_LEAKS_REST) {
        printf("          %zu stacks grow together, none of them enough; the largest:\n",
               f->stacks);
    } else if (cli_leaks_is_member(f)) {
        printf("          is in group %zu\n", f->group);
    }
}

/* The stacks of a place, the one with most in use first. */
static void put_members(const cli_leaks_run *run, const cli_leaks_finding *f, bool all_frames)
{
    enum { MOST = 3 };
    size_t put = 0;
    char text[48];
    for (size_t i = 0; i < run->findings.len && put < MOST; i++) {
        const cli_leaks_finding *member = &run->findings.list[i];
        if (!cli_leaks_is_member(member) || member->group != f->group)
            continue;
        printf("          stack %zu of %zu: %s, ", ++put, f->stacks,
               cli_leaks_format_value(member->now, run->unit, text));
        put_slope(run, run->unit, member->verdict.slope);
        putchar('\n');
        cli_leaks_put_stack(run, member->row, all_frames, "            ");
    }
    if (put < f->stacks)
        printf("          and %zu more: --all\n", f->stacks - put);
}

static void put_area(const cli_leaks_rows *areas, size_t area)
{
    char text[48];
    const cli_leaks_row *row = &areas->rows[area];
    printf("            +%s  ",
           cli_leaks_format_value(row->verdict.growth, cli_string_of("bytes"), text));
    cli_string_put(stdout, cli_leaks_area_name(areas, area), CLI_TEXT_SHOWN);
    if (row->cause.frame)
        cli_frames_put(&row->cause.frame->text, 1, "  ");
    else
        putchar('\n');
}

/* What the same stack has in all processes. */
static void put_runs(const cli_leaks_run *run, const cli_leaks_finding *f)
{
    char text[48];
    cli_string unit = cli_leaks_unit_of(run, f);
    if (f->runs < 2)
        return;
    printf("          in %zu processes, together ", f->runs);
    put_slope(run, unit, f->slope_in_all);
    printf(", %s now; here:\n", cli_leaks_format_value(f->now_in_all, unit, text));
}

static void put_finding(const cli_leaks_run *run, const cli_leaks_finding *f, size_t number,
                        bool all_frames)
{
    char head[64];
    cli_ink ink = cli_screen_ink();
    bool is_suspect = f->verdict.kind == CLI_LEAKS_SUSPECT;
    snprintf(head, sizeof head, "%s %zu: ", cli_leaks_kinds[f->verdict.kind].text, number);
    printf("\n%s", is_suspect ? ink.bold : "");
    if (f->cause.frame)
        cli_frames_put(&f->cause.frame->text, 1, head);
    else
        printf("%s%s\n", head, f->what == CLI_LEAKS_AREAS ? "resident memory" : "(no stack)");
    fputs(is_suspect ? ink.end : "", stdout);
    put_runs(run, f);
    put_numbers(run, f);
    put_reason(run, f);
    for (size_t i = 0; i < f->areas_len; i++)
        put_area(&run->areas, f->areas[i]);
    if (f->what == CLI_LEAKS_PLACE)
        put_members(run, f, all_frames);
    else if (f->what != CLI_LEAKS_AREAS)
        cli_leaks_put_stack(run, f->row, all_frames, "            ");
}

/* ---- a run -------------------------------------------------------------------------------- */

static void put_heading(const cli_leaks_run *run)
{
    char text[48], time[48];
    fputs("run       ", stdout);
    if (run->binary.len) {
        cli_string_put(stdout, run->binary, CLI_TEXT_SHOWN);
        fputs(", ", stdout);
    }
    put_count(run->windows, "window");
    printf(" in %s, from %s%s", format_span(run->span, text),
           cli_instant_format(run->from_nanos, time),
           run->has_restarted ? ", after a restart" : "");
    if (run->left_out) {
        fputs(", without the end of the program (", stdout);
        put_count(run->left_out, "window");
        putchar(')');
    }
    putchar('\n');
    printf("in use    %s (", cli_leaks_format_value(run->findings.now, run->unit, text));
    cli_string_put(stdout, run->type, CLI_TEXT_SHOWN);
    fputs(") in ", stdout);
    put_count(run->rows.len, "stack");
    fputs(", ", stdout);
    put_slope(run, run->unit, run->findings.slope);
    putchar('\n');
}

static void put_verdict(const cli_leaks_run *run)
{
    fputs("verdict   ", stdout);
    if (cli_leaks_is_short(run)) {
        printf("unknown: %zu %s too few, at least %d are needed, and 10 are better\n", run->windows,
               run->windows == 1 ? "window is" : "windows are", (int)CLI_LEAKS_LEAST_POINTS);
        return;
    }
    if (run->doubt && !run->findings.suspects) {
        printf("unknown: %s\n", run->doubt);
        return;
    }
    put_count(run->findings.suspects, "suspect");
    printf(", %zu unknown, ", run->findings.unknown);
    put_count(run->findings.others, "stack");
    fputs(" without steady growth\n", stdout);
}

/* Also one that is not printed because there are many. */
static bool has_reason(const cli_leaks_findings *findings, cli_leaks_reason reason)
{
    for (size_t i = 0; i < findings->shown_len + findings->left; i++)
        if (findings->shown[i]->verdict.reason == reason)
            return true;
    return false;
}

/* The smallest leak that the run can show. */
static void put_power(const cli_leaks_run *run)
{
    char text[48];
    double smallest = run->findings.smallest;
    if (cli_leaks_is_short(run) || !isfinite(smallest) || run->span <= 0)
        return;
    printf("power     a leak of %s in this run (",
           cli_leaks_format_value(smallest, run->unit, text));
    put_slope(run, run->unit, smallest / run->span);
    puts(") would be a suspect 8 times of 10");
}

/* Is an area of Python's own allocator among those that grew? It is not used where PYTHONMALLOC is
 * set to malloc. */
static bool has_python(const cli_leaks_run *run)
{
    for (size_t i = 0; i < run->findings.len; i++)
        for (size_t j = 0; j < run->findings.list[i].areas_len; j++)
            if (cli_leaks_is_of_python(&run->areas, run->findings.list[i].areas[j]))
                return true;
    return false;
}

/* What to do about verdicts that are unknown. NULL: nothing. */
static const char *advice_of(const cli_leaks_run *run)
{
    static const double rate = 64 << 10;
    const cli_leaks_findings *findings = &run->findings;
    if (cli_leaks_is_short(run))
        return "record longer, or end windows sooner (record --interval=10s)";
    if (has_python(run))
        return "record with PYTHONMALLOC=malloc in the environment: the stacks then have what "
               "Python's own allocator keeps";
    if (has_reason(findings, CLI_LEAKS_UNSURE))
        return run->period <= rate ? "record longer"
                                   : "record longer, or take more samples (record --rate=64k, in "
                                     "Go runtime.MemProfileRate = 64 << 10)";
    if (has_reason(findings, CLI_LEAKS_SLOWING) || has_reason(findings, CLI_LEAKS_LATE))
        return "record longer: a leak goes on, a cache is full one day";
    return NULL;
}

/* ---- all runs ----------------------------------------------------------------------------- */

/* What was printed so far. */
typedef struct page {
    const cli_leaks_work *work;
    const cli_leaks_run *last; /* NULL: none */
    bool *has_head;            /* of each run */
    size_t findings;
} page;

static void put_head(page *p, size_t at)
{
    const cli_leaks_run *run = &p->work->runs[at];
    if (p->last == run)
        return;
    if (p->last)
        putchar('\n');
    put_heading(run);
    if (!p->has_head[at]) {
        put_verdict(run);
        put_power(run);
    }
    p->has_head[at] = true;
    p->last = run;
}

/* Is it printed in the part for suspects, or in that for all others? What other runs have, too, is printed
 * once. */
static bool is_in_part(const page *p, const cli_leaks_finding *f, bool is_of_suspects)
{
    return (f->verdict.kind == CLI_LEAKS_SUSPECT) == is_of_suspects &&
           (p->work->how.all || !f->is_repeated);
}

static void put_part(page *p, size_t at, bool is_of_suspects)
{
    const cli_leaks_findings *found = &p->work->runs[at].findings;
    for (size_t i = 0; i < found->shown_len && !cli_output_is_over(); i++) {
        const cli_leaks_finding *f = found->shown[i];
        if (!is_in_part(p, f, is_of_suspects))
            continue;
        put_head(p, at);
        put_finding(p->last, f, ++p->findings, p->work->how.all_frames);
        if (i + 1 == found->shown_len && found->left)
            printf("\nand %zu more: --top=N\n", found->left);
    }
}

/* Has it findings, and all of them were printed with other runs? */
static bool is_printed(const page *p, const cli_leaks_run *run)
{
    bool is_printed = run->findings.shown_len && !p->work->how.all;
    for (size_t i = 0; i < run->findings.shown_len; i++)
        is_printed &= run->findings.shown[i]->is_repeated;
    return is_printed;
}

/* The other runs. Of those that are too short, or have nothing new, there may be hundreds: one line for all. */
static void put_others(page *p)
{
    const cli_leaks_work *w = p->work;
    size_t few = 0, same = 0;
    for (size_t i = 0; i < w->runs_len && !cli_output_is_over(); i++) {
        bool is_few = cli_leaks_is_short(&w->runs[i]) && w->runs_len > 1;
        bool is_same = !is_few && !w->runs[i].has_restarted && is_printed(p, &w->runs[i]);
        few += is_few;
        same += is_same;
        if (!p->has_head[i] && !is_few && !is_same)
            put_head(p, i);
    }
    if (few || same)
        fputs(p->last ? "\n" : "", stdout);
    if (same)
        printf("same      %zu of %zu runs have what is printed above\n", same, w->runs_len);
    if (few)
        printf("short     %zu of %zu runs have less than %d windows: too few for a verdict\n", few,
               w->runs_len, (int)CLI_LEAKS_LEAST_POINTS);
}

static void put_advice(const cli_leaks_work *w, bool is_all_short)
{
    const char *advice = NULL;
    for (size_t i = 0; i < w->runs_len && !advice; i++)
        if (is_all_short || !cli_leaks_is_short(&w->runs[i]))
            advice = advice_of(&w->runs[i]);
    if (advice)
        printf("\nnext      %s\n", advice);
}

void cli_leaks_put_text(const cli_leaks_work *w)
{
    page p = {.work = w, .has_head = cli_keep(w->runs_len, 1)};
    size_t few = 0;
    for (size_t i = 0; i < w->runs_len; i++)
        few += cli_leaks_is_short(&w->runs[i]);
    for (int part = 0; part < 2; part++)
        for (size_t i = 0; i < w->runs_len; i++)
            if (!cli_leaks_is_short(&w->runs[i]))
                put_part(&p, i, part == 0);
    put_others(&p);
    put_advice(w, few == w->runs_len);
}
