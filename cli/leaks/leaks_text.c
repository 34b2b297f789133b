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

#include <math.h>
#include <string.h>

#define INDENT "          "

static const char *count(size_t count, const char *noun)
{
    return cli_keep_print("%zu %s%s", count, noun, count == 1 ? "" : "s");
}

/* ---- a run -------------------------------------------------------------------------------- */

static void put_verdict(const cli_leaks_run *run)
{
    const cli_leaks_findings *found = &run->findings;
    fputs("verdict   ", stdout);
    if (cli_leaks_is_short(run))
        printf("unknown: %zu %s too few, at least %d are needed, and 10 are better\n", run->windows,
               run->windows == 1 ? "window is" : "windows are", (int)CLI_LEAKS_LEAST_POINTS);
    else if (run->doubt && !found->suspects)
        printf("unknown: %s\n", run->doubt);
    else
        printf("%s, %zu unknown, %s without steady growth\n", count(found->suspects, "suspect"),
               found->unknown, count(found->others, "stack"));
}

/* The smallest leak that the run can show. */
static void put_power(const cli_leaks_run *run)
{
    double smallest = run->findings.smallest;
    if (!cli_leaks_is_short(run) && isfinite(smallest) && run->span > 0)
        printf("power     a leak of %s in this run (%s) would be a suspect 8 times of 10\n",
               cli_leaks_amount(smallest, run->unit),
               cli_leaks_slope(run, run->unit, smallest / run->span));
}

static void begin_section(const cli_leaks_report *r, const cli_leaks_section *s)
{
    const cli_leaks_run *run = s->run;
    char time[48];
    printf("%srun       %s%s%s in %s, from %s%s", s == r->sections ? "" : "\n",
           cli_keep_shown(run->binary), run->binary.len ? ", " : "", count(run->windows, "window"),
           cli_leaks_span(run->span), cli_instant_format(run->from_nanos, time),
           run->has_restarted ? ", after a restart" : "");
    if (run->left_out)
        printf(", without the end of the program (%s)", count(run->left_out, "window"));
    printf("\nin use    %s (%s) in %s, %s\n", cli_leaks_amount(run->findings.now, run->unit),
           cli_keep_shown(run->type), count(run->rows.len, "stack"),
           cli_leaks_slope(run, run->unit, run->findings.slope));
    if (s->is_again)
        return;
    if (run->is_attached)
        puts("attached  the process ran already: what it allocated before is not known");
    put_verdict(run);
    put_power(run);
}

static void end_section(const cli_leaks_report *r, const cli_leaks_section *s)
{
    (void)r;
    if (s->len && s->left)
        printf("\nand %zu more: --top=N\n", s->left);
}

/* ---- a finding ---------------------------------------------------------------------------- */

static void put_place(const cli_leaks_finding *f, size_t number)
{
    cli_ink ink = cli_screen_ink();
    bool is_suspect = f->of->verdict.kind == CLI_LEAKS_SUSPECT;
    const char *head =
        cli_keep_print("%s %zu: ", cli_leaks_kinds[f->of->verdict.kind].text, number);
    printf("\n%s", is_suspect ? ink.bold : "");
    if (f->of->cause.frame)
        cli_frames_put(&f->of->cause.frame->text, 1, head);
    else
        printf("%s%s\n", head, f->what == CLI_LEAKS_AREAS ? "resident memory" : "(no stack)");
    fputs(is_suspect ? ink.end : "", stdout);
}

static const char *sureness(const cli_leaks_verdict *v)
{
    static const double least_doubt = 1e-4;
    if (v->reason == CLI_LEAKS_BUFFER)
        return ", a fact and no estimate";
    if (v->kind != CLI_LEAKS_SUSPECT)
        return "";
    return v->doubt < least_doubt ? ", >99.99% sure"
                                  : cli_keep_print(", %.2f%% sure", 100 * (1 - v->doubt));
}

/* What the same stack has in all processes, and what it has here. */
static void put_numbers(const cli_leaks_run *run, const cli_leaks_finding *f)
{
    cli_string unit = cli_leaks_unit_of(run, f);
    bool has_objects = f->of->objects.total >= 1 && !cli_string_is(unit, "count");
    if (f->runs > 1)
        printf(INDENT "in %zu processes, together %s, %s now; here:\n", f->runs,
               cli_leaks_slope(run, unit, f->slope_in_all), cli_leaks_amount(f->now_in_all, unit));
    printf(INDENT "%s, %s", cli_leaks_slope(run, unit, f->of->verdict.slope),
           cli_leaks_amount(f->of->now.total, unit));
    if (has_objects)
        printf(" in %.0f object%s", f->of->objects.total, f->of->objects.total >= 1.5 ? "s" : "");
    printf(" now%s\n", sureness(&f->of->verdict));
}

static const char *age_of(const cli_leaks_finding *f)
{
    if (f->age < 0 || f->of->now.total <= 0)
        return "";
    return isinf(f->age) ? "; older than the run: nothing was allocated in it"
                         : cli_keep_print("; age %s", cli_leaks_span(f->age));
}

/* What the ages show; and what would tell if they show too little. */
static void put_evidence(const cli_leaks_run *run, const cli_leaks_finding *f)
{
    const cli_leaks_evidence *e = &f->of->verdict.evidence;
    bool is_few = f->of->verdict.reason == CLI_LEAKS_FEW_SAMPLES;
    if (!e->age || (e->settled < 0.5 && !is_few))
        return;
    printf(INDENT "of %.0f samples older than %zu windows %.0f %s freed\n", e->settled,
           e->age * cli_leaks_block(run), e->freed,
           e->freed < 1.5 && e->freed >= 0.5 ? "was" : "were");
    if (!is_few || e->longer <= 0 || e->old >= e->needed)
        return;
    printf(INDENT "%.0f that are not freed are enough: a run of %.0f windows has them", e->needed,
           ceil(e->longer * (double)run->windows));
    if (run->period > 1)
        printf(", or a sample in %s",
               cli_leaks_amount(run->period / e->longer, cli_string_of("bytes")));
    putchar('\n');
}

static void put_reason(const cli_leaks_run *run, const cli_leaks_finding *f)
{
    const cli_leaks_verdict *v = &f->of->verdict;
    printf(INDENT "%s", cli_leaks_why(v));
    if (v->reason == CLI_LEAKS_UNSURE)
        printf(" (%s, and chance makes %s)", cli_leaks_amount(v->growth, run->unit),
               cli_leaks_amount(v->noise, run->unit));
    if (v->reason == CLI_LEAKS_TOUCHED)
        printf(" (%s)",
               cli_leaks_amount(run->areas.rows[f->row].made.total, cli_string_of("bytes")));
    printf("%s\n", age_of(f));
    put_evidence(run, f);
}

static void put_stack(const cli_leaks_report *r, const cli_leaks_run *run, size_t row)
{
    bool all_frames = r->work->how.all_frames;
    cli_stack stack = cli_leaks_shown_stack(run, &run->rows.rows[row], all_frames);
    size_t len;
    cli_frame_text *frames = cli_stack_frames(&run->rows.all->shown, &stack, &len);
    if (!len)
        fputs(INDENT "  (no stack)\n", stdout);
    cli_frames_put(frames, len, INDENT "  ");
}

/* The stacks of a place, the one with most in use first. */
static void put_members(const cli_leaks_report *r, const cli_leaks_run *run,
                        const cli_leaks_finding *f)
{
    enum { MOST = 3 };
    size_t put = 0;
    for (size_t i = 0; i < run->findings.len && put < MOST; i++) {
        const cli_leaks_finding *member = &run->findings.list[i];
        if (!cli_leaks_is_member(member) || member->group != f->group)
            continue;
        printf(INDENT "stack %zu of %zu: %s, %s\n", ++put, f->stacks,
               cli_leaks_amount(member->of->now.total, run->unit),
               cli_leaks_slope(run, run->unit, member->of->verdict.slope));
        put_stack(r, run, member->row);
    }
    if (put < f->stacks)
        printf(INDENT "and %zu more: --all\n", f->stacks - put);
}

static void put_areas(const cli_leaks_rows *areas, const cli_leaks_finding *f)
{
    for (size_t i = 0; i < f->areas_len; i++) {
        const cli_leaks_row *row = &areas->rows[f->areas[i]];
        printf(INDENT "  +%s  %s", cli_leaks_amount(row->verdict.growth, cli_string_of("bytes")),
               cli_keep_shown(cli_leaks_area_name(areas, f->areas[i])));
        if (row->cause.frame)
            cli_frames_put(&row->cause.frame->text, 1, "  ");
        else
            putchar('\n');
    }
}

/* What it is that grows: areas, or stacks. */
static void put_what(const cli_leaks_report *r, const cli_leaks_run *run,
                     const cli_leaks_finding *f)
{
    if (f->what == CLI_LEAKS_AREAS) {
        put_areas(&run->areas, f);
        return;
    }
    if (f->what == CLI_LEAKS_PLACE) {
        put_members(r, run, f);
        return;
    }
    if (f->what == CLI_LEAKS_SHARED) {
        printf(INDENT "%zu stacks with %s in common; the largest:\n", f->stacks,
               cli_keep_shown(f->shared));
    } else if (f->what == CLI_LEAKS_REST) {
        printf(INDENT "%zu stacks grow together, none of them enough; the largest:\n", f->stacks);
    } else if (f->group) {
        printf(INDENT "is in group %zu\n", f->group);
    }
    put_stack(r, run, f->row);
}

static void put_finding(const cli_leaks_report *r, const cli_leaks_section *s, size_t at)
{
    const cli_leaks_finding *f = s->list[at];
    put_place(f, s->first + at + 1);
    put_numbers(s->run, f);
    put_reason(s->run, f);
    put_what(r, s->run, f);
}

/* ---- all runs ----------------------------------------------------------------------------- */

/* One line for all runs that have no section. */
static void put_others(const cli_leaks_report *r)
{
    const size_t runs = r->work->runs_len;
    const char *advice = cli_leaks_advice(r->work);
    if ((r->few || r->same) && r->sections_len)
        putchar('\n');
    if (r->same)
        printf("same      %zu of %zu runs have what is printed above\n", r->same, runs);
    if (r->few)
        printf("short     %zu of %zu runs have less than %d windows: too few for a verdict\n",
               r->few, runs, (int)CLI_LEAKS_LEAST_POINTS);
    if (advice)
        printf("\nnext      %s\n", advice);
}

void cli_leaks_put_text(const cli_leaks_work *w)
{
    static const cli_leaks_form form = {begin_section, put_finding, end_section};
    cli_leaks_report r = {
        .work = w, .to = stdout, .by_kind = true, .has_others = true, .repeats = w->how.all};
    cli_leaks_write(&r, &form);
    put_others(&r);
}
