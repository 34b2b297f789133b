/* What `pprofdelta leaks --json` prints. pprofdelta-formats(5) has the schema. A finding is one line,
 * so that line tools work on it. */
#include "leaks/leaks.h"

#include "instant.h"
#include "output_file.h"

#include <inttypes.h>
#include <math.h>

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

/* What is below 0 is not known, and becomes null. */
static void put_known(const char *name, double value)
{
    put_number(name, value < 0 ? INFINITY : value);
}

static void put_string(const char *name, cli_string text)
{
    put_name(name);
    cli_string_put(stdout, text, CLI_TEXT_JSON);
    fputs(", ", stdout);
}

static void put_frame(const cli_leaks_frame *frame)
{
    fputs("{", stdout);
    put_string("function", frame->text.name);
    put_string("file", frame->text.file);
    printf("\"line\": %" PRId64 "}", frame->text.line);
}

static void put_stack(const cli_leaks_rows *rows, size_t row)
{
    fputs(", \"stack\": [", stdout);
    for (size_t i = 0; i < rows->rows[row].path_len; i++) {
        fputs(i ? ", " : "", stdout);
        put_frame(cli_leaks_frame_at(rows, &rows->rows[row], i));
    }
    fputs("]", stdout);
}

/* What grew: a stack, or areas of the resident memory. */
static void put_what(const cli_leaks_run *run, const cli_leaks_finding *f)
{
    put_name("place");
    if (f->cause.frame)
        put_frame(f->cause.frame);
    else
        fputs("null", stdout);
    fputs(", \"areas\": [", stdout);
    for (size_t i = 0; i < f->areas_len; i++) {
        fputs(i ? ", {" : "{", stdout);
        put_string("area", f->areas[i].name);
        put_number("growth", f->areas[i].growth);
        printf("\"now\": %.9g", f->areas[i].now);
        put_stack(&run->areas, f->areas[i].row);
        fputs("}", stdout);
    }
    fputs("]", stdout);
    put_stack(f->what == CLI_LEAKS_AREAS ? &run->areas : &run->rows, f->row);
}

static void put_evidence(const cli_leaks_run *run, const cli_leaks_finding *f)
{
    const cli_leaks_evidence *e = &f->verdict.evidence;
    put_name("evidence");
    if (!e->age) {
        fputs("null, ", stdout);
        return;
    }
    putchar('{');
    put_number("older_than_windows", (double)(e->age * cli_leaks_block(run)));
    put_number("settled", e->settled);
    put_number("freed", e->freed);
    put_number("alive", e->old);
    put_number("needed", e->needed);
    printf("\"windows_that_tell\": %.0f}, ", ceil(e->longer * (double)run->windows));
}

/* The table: for each point of birth, what was freed, by age. */
static void put_survival(const cli_leaks_run *run, const cli_leaks_finding *f)
{
    size_t points = run->rows.points;
    put_name("survival");
    if (!f->cohorts) {
        fputs("null, ", stdout);
        return;
    }
    printf("{\"windows\": %zu, ", cli_leaks_block(run));
    put_name("cohorts");
    for (size_t born = 0; born < points; born++) {
        printf("%s{\"born\": %.9g, \"freed\": [", born ? ", " : "[", f->cohorts->births[born]);
        for (size_t died = born; died < points; died++)
            printf("%s%.9g", died > born ? ", " : "",
                   f->cohorts->deaths[cli_leaks_cell(born, died)]);
        fputs("]}", stdout);
    }
    fputs("]}, ", stdout);
}

static void put_finding(const cli_leaks_run *run, const cli_leaks_finding *f)
{
    static const char *const words[] = {"stack", "place", "shared", "rest", "resident"};
    const cli_leaks_verdict *v = &f->verdict;
    putchar('{');
    put_string("kind", cli_string_of(cli_leaks_kinds[v->kind].word));
    put_string("reason", cli_string_of(cli_leaks_reasons[v->reason].word));
    put_string("what", cli_string_of(words[f->what]));
    put_number("now", f->now);
    put_number("objects", f->objects);
    put_number("per_hour", v->slope * 3600);
    put_number("growth", v->growth);
    put_number("noise", v->noise);
    put_number("doubt", v->doubt);
    put_known("allocated_per_hour", f->rate * 3600);
    put_known("age_seconds", f->age);
    put_evidence(run, f);
    put_survival(run, f);
    printf("\"stacks\": %zu, \"group\": %zu, ", f->stacks, f->group);
    if (f->what == CLI_LEAKS_SHARED)
        put_string("shared", run->rows.texts[f->shared]);
    else
        fputs("\"shared\": null, ", stdout);
    put_what(run, f);
    fputs("}", stdout);
}

static void put_head(const cli_leaks_run *run)
{
    const cli_leaks_findings *findings = &run->findings;
    char time[48];
    put_string("binary", run->binary);
    put_string("type", run->type);
    put_string("unit", run->unit);
    put_string("from", cli_string_of(cli_instant_format(run->from_nanos, time)));
    put_string("to", cli_string_of(cli_instant_format(run->to_nanos, time)));
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

void cli_leaks_put_json(const cli_leaks_work *w, size_t at)
{
    const cli_leaks_run *run = &w->runs[at];
    if (!at)
        printf("{\"schema\": 1, \"out_of_order\": %zu, \"duplicates\": %zu, \"gaps\": %zu,\n"
               "\"runs\": [",
               w->order.moved, w->order.again, w->order.gaps);
    fputs(at ? ",\n{" : "\n{", stdout);
    put_head(run);
    fputs("\"findings\": [", stdout);
    for (size_t i = 0; i < run->findings.shown_len && !cli_output_is_over(); i++) {
        fputs(i ? ",\n" : "\n", stdout);
        put_finding(run, run->findings.shown[i]);
    }
    fputs("\n]}", stdout);
    fputs(at + 1 == w->runs_len ? "\n]}\n" : "", stdout);
}
