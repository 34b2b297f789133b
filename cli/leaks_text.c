/* What `pprofdelta leaks` prints for people:
 *
 *     run       /opt/app, 60 windows in 59.0min, from 2026-11-21T08:00:00Z
 *     in use    412MiB (inuse_space) in 812 stacks, +8.02MiB/h
 *     verdict   1 suspect, 1 unknown, 810 stacks without steady growth
 *     hidden    2 wrapper and start-up functions; --all-frames shows them
 *
 *     suspect 1: +12.0MiB/h, 48.2MiB in 812 objects now, >99.99% sure
 *               grows steadily, and what grew stays; age 2.10h
 *                 new_session   server.c:120
 *                 handle        server.c:88
 *                 main          server.c:10
 */
#include "leaks_print.h"

#include "output_file.h"
#include "show/screen.h"
#include "show/units.h"
#include "show/wrappers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

bool cli_leaks_is_shown(const cli_leaks_report *report, const cli_leaks_finding *finding)
{
    bool is_member = finding->group && !finding->is_group;
    return report->all || (finding->verdict.kind != CLI_LEAKS_NONE && !is_member);
}

/* ---- numbers ------------------------------------------------------------------------------ */

static char *format_value(double value, cli_string unit, char buf[48])
{
    static const double most = 9e18;
    double size = fmin(fmax(value, -most), most);
    pprofdelta_sum sum = {0};
    cli_sum_add(&sum, (int64_t)round(size));
    return cli_units_format(sum, unit, buf);
}

static char *format_span(double seconds, char buf[48])
{
    return format_value(seconds * 1e9, cli_string_of("nanoseconds"), buf);
}

/* "+12.0MiB/h", or "/min" in a run of minutes. */
static void put_slope(const cli_leaks_run *run, double slope)
{
    static const double hour = 3600, minute = 60, short_run = 600;
    char text[48];
    bool is_short = run->span < short_run;
    double value = slope * (is_short ? minute : hour);
    printf("%s%s/%s", value > 0 ? "+" : "", format_value(value, cli_string_of(run->unit), text),
           is_short ? "min" : "h");
}

static void put_count(size_t count, const char *noun)
{
    printf("%zu %s%s", count, noun, count == 1 ? "" : "s");
}

static void put_sureness(double doubt)
{
    static const double least = 1e-4;
    if (doubt < least)
        fputs(">99.99% sure", stdout);
    else
        printf("%.2f%% sure", 100 * (1 - doubt));
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
    char text[48];
    put_slope(run, f->verdict.slope);
    printf(", %s", format_value(f->now, cli_string_of(run->unit), text));
    if (f->objects >= 1 && !cli_string_is(cli_string_of(run->unit), "count"))
        printf(" in %.0f object%s", f->objects, f->objects >= 1.5 ? "s" : "");
    fputs(" now", stdout);
    if (f->verdict.kind == CLI_LEAKS_SUSPECT) {
        fputs(", ", stdout);
        put_sureness(f->verdict.doubt);
    }
    putchar('\n');
}

static void put_reason(const cli_leaks_run *run, const cli_leaks_finding *f)
{
    char growth[48], noise[48];
    cli_string unit = cli_string_of(run->unit);
    printf("          %s", cli_leaks_reason_text(f->verdict.reason));
    if (f->verdict.reason == CLI_LEAKS_UNSURE)
        printf(" (%s, and chance makes %s)", format_value(f->verdict.growth, unit, growth),
               format_value(f->verdict.noise, unit, noise));
    put_age(f);
    putchar('\n');
    if (f->is_group) {
        printf("          %zu stacks with ", f->stacks);
        cli_string_put(stdout, cli_leaks_text(&run->rows, f->shared), CLI_TEXT_SHOWN);
        fputs(" in common; the largest:\n", stdout);
    } else if (f->group) {
        printf("          is in group %zu\n", f->group);
    }
}

static bool put_finding(const cli_leaks_report *report, const cli_leaks_run *run,
                        const cli_leaks_finding *f, size_t number)
{
    cli_ink ink = cli_screen_ink();
    bool is_suspect = f->verdict.kind == CLI_LEAKS_SUSPECT;
    printf("\n%s%s", is_suspect ? ink.bold : "",
           is_suspect                             ? "suspect"
           : f->verdict.kind == CLI_LEAKS_UNKNOWN ? "unknown"
                                                  : "no leak");
    printf(" %zu: ", number);
    put_numbers(run, f);
    fputs(is_suspect ? ink.end : "", stdout);
    put_reason(run, f);
    return cli_leaks_put_stack(run, f->row, report->all_frames, "            ");
}

/* ---- a run -------------------------------------------------------------------------------- */

static void put_heading(const cli_leaks_run *run, const cli_leaks_findings *findings)
{
    char text[48], time[48];
    fputs("run       ", stdout);
    if (*run->binary) {
        cli_text_put(stdout, run->binary, CLI_TEXT_SHOWN);
        fputs(", ", stdout);
    }
    put_count(run->windows, "window");
    printf(" in %s, from %s%s\n", format_span(run->span, text),
           pprofdelta_time_format(run->from_nanos, time),
           run->has_restarted ? ", after a restart" : "");
    printf("in use    %s (", format_value(findings->now, cli_string_of(run->unit), text));
    cli_text_put(stdout, run->type, CLI_TEXT_SHOWN);
    fputs(") in ", stdout);
    put_count(run->rows.len, "stack");
    fputs(", ", stdout);
    put_slope(run, findings->slope);
    putchar('\n');
}

static bool has_few_windows(const cli_leaks_run *run)
{
    return run->windows < CLI_LEAKS_LEAST_POINTS;
}

static void put_verdict(const cli_leaks_run *run, const cli_leaks_findings *findings)
{
    fputs("verdict   ", stdout);
    if (has_few_windows(run)) {
        printf("unknown: %zu windows are too few, at least %d are needed, and 10 are better\n",
               run->windows, (int)CLI_LEAKS_LEAST_POINTS);
        return;
    }
    put_count(findings->suspects, "suspect");
    printf(", %zu unknown, ", findings->unknown);
    size_t others = 0;
    for (size_t i = 0; i < findings->len; i++)
        others += !findings->list[i].is_group && !findings->list[i].group &&
                  findings->list[i].verdict.kind == CLI_LEAKS_NONE;
    put_count(others, "stack");
    fputs(" without steady growth\n", stdout);
}

static bool has_reason(const cli_leaks_report *report, const cli_leaks_findings *findings,
                       cli_leaks_reason reason)
{
    for (size_t i = 0; i < findings->len; i++)
        if (cli_leaks_is_shown(report, &findings->list[i]) &&
            findings->list[i].verdict.reason == reason)
            return true;
    return false;
}

/* What to do about verdicts that are unknown. */
static void put_advice(const cli_leaks_report *report, const cli_leaks_run *run,
                       const cli_leaks_findings *findings)
{
    if (has_few_windows(run))
        puts("\nnext      record longer, or end windows sooner (record --interval=10s)");
    else if (has_reason(report, findings, CLI_LEAKS_UNSURE))
        puts("\nnext      record longer, or take more samples (record --rate=64k; in Go "
             "runtime.MemProfileRate)");
    else if (has_reason(report, findings, CLI_LEAKS_SLOWING) ||
             has_reason(report, findings, CLI_LEAKS_LATE))
        puts("\nnext      record longer: a leak goes on, a cache is full one day");
}

/* Prints how many functions the stacks are printed without. */
static bool put_hidden(const cli_leaks_report *report, const cli_leaks_run *run,
                       const cli_leaks_findings *findings)
{
    unsigned char *is_folded = calloc(run->rows.texts_len + 1, 1);
    bool is_ready = is_folded != NULL;
    char text[CLI_WRAPPERS_ROOM];
    size_t folded = 0;
    for (size_t i = 0, shown = 0; is_ready && i < findings->len && shown < report->top; i++) {
        if (!cli_leaks_is_shown(report, &findings->list[i]))
            continue;
        is_ready = cli_leaks_note_folded(run, findings->list[i].row, is_folded);
        shown++;
    }
    for (size_t i = 0; is_ready && i < run->rows.texts_len; i++)
        folded += is_folded[i];
    free(is_folded);
    if (folded)
        printf("hidden    %s\n", cli_wrappers_describe(folded, text));
    return is_ready;
}

static bool put_run(const cli_leaks_report *report, size_t at)
{
    const cli_leaks_run *run = &report->runs->runs[at];
    const cli_leaks_findings *findings = &report->findings[at];
    size_t shown = 0, left = 0;
    if (at)
        putchar('\n');
    put_heading(run, findings);
    put_verdict(run, findings);
    bool is_ready = report->all_frames || put_hidden(report, run, findings);
    for (size_t i = 0; i < findings->len && is_ready && !cli_output_is_over(); i++) {
        if (!cli_leaks_is_shown(report, &findings->list[i]))
            continue;
        if (shown < report->top)
            is_ready = put_finding(report, run, &findings->list[i], ++shown);
        else
            left++;
    }
    if (left)
        printf("\nand %zu more: --top=N\n", left);
    put_advice(report, run, findings);
    return is_ready;
}

bool cli_leaks_print_text(const cli_leaks_report *report)
{
    bool is_ready = true;
    for (size_t i = 0; i < report->runs->len && is_ready; i++)
        is_ready = put_run(report, i);
    return is_ready;
}
