/* What `pprofdelta leaks --json` prints. pprofdelta-formats(5) has the schema. A finding is one line,
 * so that line tools work on it. */
#include "leaks/leaks_print.h"

#include "base/time.h"
#include "output_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static void put_name(const char *name)
{
    printf("\"%s\": ", name);
}

/* JSON has no infinity and no NaN. */
static void put_number(const char *name, double value)
{
    put_name(name);
    if (isfinite(value))
        printf("%.9g", value);
    else
        fputs("null", stdout);
    fputs(", ", stdout);
}

static void put_text(const char *name, const char *text)
{
    put_name(name);
    cli_text_put(stdout, text, CLI_TEXT_JSON);
    fputs(", ", stdout);
}

/* -1 is "not known", and becomes null. */
static void put_known(const char *name, double value)
{
    put_number(name, value < 0 ? INFINITY : value);
}

static void put_frame(const cli_leaks_rows *rows, const cli_leaks_frame *frame)
{
    fputs("{", stdout);
    put_name("function");
    cli_string_put(stdout, cli_leaks_text(rows, frame->name), CLI_TEXT_JSON);
    fputs(", ", stdout);
    put_name("file");
    cli_string_put(stdout, cli_leaks_text(rows, frame->file), CLI_TEXT_JSON);
    printf(", \"line\": %" PRId64 "}", frame->line);
}

static void put_stack(const char *name, const cli_leaks_rows *rows, size_t row)
{
    printf(", \"%s\": [", name);
    cli_leaks_walk walk = cli_leaks_walk_begin(rows, row);
    while (cli_leaks_walk_next(&walk)) {
        fputs(walk.at ? ", " : "", stdout);
        put_frame(rows, walk.frame);
    }
    fputs("]", stdout);
}

static void put_area(const cli_leaks_run *run, const cli_leaks_area *area)
{
    fputs("{", stdout);
    put_name("area");
    cli_string_put(stdout, area->name, CLI_TEXT_JSON);
    fputs(", ", stdout);
    put_number("growth", area->growth);
    printf("\"now\": %.9g", area->now);
    put_stack("stack", &run->areas, area->row);
    fputs("}", stdout);
}

/* What grew: a stack, or areas of the resident memory. */
static void put_what(const cli_leaks_run *run, const cli_leaks_finding *f)
{
    cli_leaks_area areas[CLI_LEAKS_AREAS_MOST];
    size_t len = cli_leaks_find_areas(run, f, areas);
    put_name("place");
    if (f->cause.frame)
        put_frame(&run->rows, f->cause.frame);
    else
        fputs("null", stdout);
    fputs(", ", stdout);
    put_name("areas");
    fputs("[", stdout);
    for (size_t i = 0; i < len; i++) {
        fputs(i ? ", " : "", stdout);
        put_area(run, &areas[i]);
    }
    fputs("]", stdout);
    put_stack("stack", f->what == CLI_LEAKS_AREAS ? &run->areas : &run->rows, f->row);
}

static void put_finding(const cli_leaks_run *run, const cli_leaks_finding *f)
{
    static const char *const words[] = {"stack", "place", "shared", "rest", "resident"};
    const cli_leaks_verdict *v = &f->verdict;
    putchar('{');
    put_text("kind", cli_leaks_kind_word(v->kind));
    put_text("reason", cli_leaks_reason_word(v->reason));
    put_text("what", words[f->what]);
    put_number("now", f->now);
    put_number("objects", f->objects);
    put_number("per_hour", v->slope * 3600);
    put_number("growth", v->growth);
    put_number("noise", v->noise);
    put_number("doubt", v->doubt);
    put_known("allocated_per_hour", f->rate < 0 ? -1 : f->rate * 3600);
    put_known("age_seconds", f->age);
    printf("\"stacks\": %zu, \"group\": %zu, ", f->stacks, f->group);
    put_name("shared");
    if (f->what == CLI_LEAKS_SHARED)
        cli_string_put(stdout, cli_leaks_text(&run->rows, f->shared), CLI_TEXT_JSON);
    else
        fputs("null", stdout);
    fputs(", ", stdout);
    put_what(run, f);
    fputs("}", stdout);
}

static void put_head(const cli_leaks_run *run, const cli_leaks_findings *findings)
{
    char time[48];
    put_text("binary", run->binary);
    put_text("type", run->type);
    put_text("unit", run->unit);
    put_text("from", pd_time_format(run->from_nanos, time));
    put_text("to", pd_time_format(run->to_nanos, time));
    printf("\"from_nanos\": %" PRId64 ", \"to_nanos\": %" PRId64 ",\n", run->from_nanos,
           run->to_nanos);
    printf("\"windows\": %zu, \"is_enough\": %s, \"after_restart\": %s, \"stacks\": %zu,\n",
           run->windows, run->windows >= CLI_LEAKS_LEAST_POINTS ? "true" : "false",
           run->has_restarted ? "true" : "false", run->rows.len);
    put_number("span_seconds", run->span);
    put_number("now", findings->now);
    put_number("per_hour", findings->slope * 3600);
    put_number("smallest_leak", findings->smallest);
    put_number("smallest_leak_in_noise", findings->smallest_in_noise);
    printf("\"suspects\": %zu, \"unknown\": %zu,\n", findings->suspects, findings->unknown);
}

static void put_run(const cli_leaks_report *report, size_t at)
{
    const cli_leaks_run *run = &report->runs->runs[at];
    const cli_leaks_findings *findings = &report->findings[at];
    size_t shown = 0;
    fputs(at ? ",\n{" : "\n{", stdout);
    put_head(run, findings);
    fputs("\"findings\": [", stdout);
    for (size_t i = 0; i < findings->len && shown < report->top && !cli_output_is_over(); i++) {
        if (!cli_leaks_is_shown(report, &findings->list[i]))
            continue;
        fputs(shown++ ? ",\n" : "\n", stdout);
        put_finding(run, &findings->list[i]);
    }
    fputs("\n]}", stdout);
}

void cli_leaks_print_json(const cli_leaks_report *report)
{
    printf("{\"schema\": 1, \"out_of_order\": %zu, \"duplicates\": %zu, \"gaps\": %zu,\n",
           report->order.moved, report->order.again, report->order.gaps);
    fputs("\"runs\": [", stdout);
    for (size_t i = 0; i < report->runs->len; i++)
        put_run(report, i);
    fputs("\n]}\n", stdout);
}
