/* What `pprofdelta leaks --json` prints. pprofdelta-formats(5) has the schema. A finding is one line,
 * so that line tools work on it. */
#include "leaks/leaks.h"

#include "instant.h"

#include <inttypes.h>
#include <math.h>

typedef struct json {
    FILE *to;
    cli_text_form form;
} json;

static void put_name(const json *out, const char *name)
{
    fprintf(out->to, "\"%s\": ", name);
}

/* JSON has no infinity and no NaN. */
static void put_number(const json *out, const char *name, double value)
{
    put_name(out, name);
    if (isfinite(value))
        fprintf(out->to, "%.9g", value);
    else
        fputs("null", out->to);
    fputs(", ", out->to);
}

/* What is below 0 is not known, and becomes null. */
static void put_known(const json *out, const char *name, double value)
{
    put_number(out, name, value < 0 ? INFINITY : value);
}

static void put_string(const json *out, const char *name, cli_string text)
{
    put_name(out, name);
    cli_string_put(out->to, text, out->form);
    fputs(", ", out->to);
}

static void put_frame(const json *out, const cli_leaks_frame *frame)
{
    fputs("{", out->to);
    put_string(out, "function", frame->text.name);
    put_string(out, "file", frame->text.file);
    fprintf(out->to, "\"line\": %" PRId64 "}", frame->text.line);
}

static void put_stack(const json *out, const cli_leaks_rows *rows, size_t row)
{
    fputs(", \"stack\": [", out->to);
    for (size_t i = 0; i < rows->rows[row].path_len; i++) {
        fputs(i ? ", " : "", out->to);
        put_frame(out, cli_leaks_frame_at(rows, &rows->rows[row], i));
    }
    fputs("]", out->to);
}

/* What grew: a stack, or areas of the resident memory. */
static void put_what(const json *out, const cli_leaks_run *run, const cli_leaks_finding *f)
{
    put_name(out, "place");
    if (f->cause.frame)
        put_frame(out, f->cause.frame);
    else
        fputs("null", out->to);
    fputs(", \"areas\": [", out->to);
    for (size_t i = 0; i < f->areas_len; i++) {
        fputs(i ? ", {" : "{", out->to);
        put_string(out, "area", f->areas[i].name);
        put_number(out, "growth", f->areas[i].growth);
        fprintf(out->to, "\"now\": %.9g", f->areas[i].now);
        put_stack(out, &run->areas, f->areas[i].row);
        fputs("}", out->to);
    }
    fputs("]", out->to);
    put_stack(out, f->what == CLI_LEAKS_AREAS ? &run->areas : &run->rows, f->row);
}

static void put_evidence(const json *out, const cli_leaks_run *run, const cli_leaks_finding *f)
{
    const cli_leaks_evidence *e = &f->verdict.evidence;
    put_name(out, "evidence");
    if (!e->age) {
        fputs("null, ", out->to);
        return;
    }
    putc('{', out->to);
    put_number(out, "older_than_windows", (double)(e->age * cli_leaks_block(run)));
    put_number(out, "settled", e->settled);
    put_number(out, "freed", e->freed);
    put_number(out, "alive", e->old);
    put_number(out, "needed", e->needed);
    fprintf(out->to, "\"windows_that_tell\": %.0f}, ", ceil(e->longer * (double)run->windows));
}

/* The table: for each point of birth, what was freed, by age. */
static void put_survival(const json *out, const cli_leaks_run *run, const cli_leaks_finding *f)
{
    size_t points = run->rows.points;
    put_name(out, "survival");
    if (!f->cohorts) {
        fputs("null, ", out->to);
        return;
    }
    fprintf(out->to, "{\"windows\": %zu, ", cli_leaks_block(run));
    put_name(out, "cohorts");
    for (size_t born = 0; born < points; born++) {
        fprintf(out->to, "%s{\"born\": %.9g, \"freed\": [", born ? ", " : "[",
                f->cohorts->births[born]);
        for (size_t died = born; died < points; died++)
            fprintf(out->to, "%s%.9g", died > born ? ", " : "",
                    f->cohorts->deaths[cli_leaks_cell(born, died)]);
        fputs("]}", out->to);
    }
    fputs("]}, ", out->to);
}

static void put_finding(const json *out, const cli_leaks_run *run, const cli_leaks_finding *f)
{
    static const char *const words[] = {"stack", "place", "shared", "rest", "resident"};
    const cli_leaks_verdict *v = &f->verdict;
    putc('{', out->to);
    put_string(out, "kind", cli_string_of(cli_leaks_kinds[v->kind].word));
    put_string(out, "reason", cli_string_of(cli_leaks_reasons[v->reason].word));
    put_string(out, "what", cli_string_of(words[f->what]));
    put_number(out, "now", f->now);
    put_number(out, "objects", f->objects);
    put_number(out, "per_hour", v->slope * 3600);
    put_number(out, "growth", v->growth);
    put_number(out, "noise", v->noise);
    put_number(out, "doubt", v->doubt);
    put_known(out, "allocated_per_hour", f->rate * 3600);
    put_known(out, "age_seconds", f->age);
    put_evidence(out, run, f);
    put_survival(out, run, f);
    fprintf(out->to, "\"stacks\": %zu, \"group\": %zu, ", f->stacks, f->group);
    if (f->what == CLI_LEAKS_SHARED)
        put_string(out, "shared", run->rows.texts[f->shared]);
    else
        fputs("\"shared\": null, ", out->to);
    put_what(out, run, f);
    fputs("}", out->to);
}

static void put_head(const json *out, const cli_leaks_run *run)
{
    const cli_leaks_findings *findings = &run->findings;
    char time[48];
    put_string(out, "binary", run->binary);
    put_string(out, "type", run->type);
    put_string(out, "unit", run->unit);
    put_string(out, "from", cli_string_of(cli_instant_format(run->from_nanos, time)));
    put_string(out, "to", cli_string_of(cli_instant_format(run->to_nanos, time)));
    fprintf(out->to, "\"from_nanos\": %" PRId64 ", \"to_nanos\": %" PRId64 ",\n", run->from_nanos,
            run->to_nanos);
    fprintf(out->to,
            "\"windows\": %zu, \"is_enough\": %s, \"after_restart\": %s, \"stacks\": %zu,\n",
            run->windows, run->windows >= CLI_LEAKS_LEAST_POINTS ? "true" : "false",
            run->has_restarted ? "true" : "false", run->rows.len);
    put_number(out, "span_seconds", run->span);
    put_number(out, "now", findings->now);
    put_number(out, "per_hour", findings->slope * 3600);
    put_number(out, "smallest_leak", findings->smallest);
    put_number(out, "smallest_leak_in_noise", findings->smallest_in_noise);
    fprintf(out->to, "\"suspects\": %zu, \"unknown\": %zu,\n", findings->suspects,
            findings->unknown);
}

void cli_leaks_put_run(FILE *to, const cli_leaks_run *run, size_t findings, cli_text_form form)
{
    const json *out = &(json){to, form};
    fputs("{", to);
    put_head(out, run);
    fputs("\"findings\": [", to);
    for (size_t i = 0; i < findings && !ferror(to); i++) {
        fputs(i ? ",\n" : "\n", to);
        put_finding(out, run, run->findings.shown[i]);
    }
    fputs("\n]}", to);
}

void cli_leaks_put_json(const cli_leaks_work *w, size_t at)
{
    const cli_leaks_run *run = &w->runs[at];
    if (!at)
        printf("{\"schema\": 1, \"out_of_order\": %zu, \"duplicates\": %zu, \"gaps\": %zu,\n"
               "\"runs\": [",
               w->order.moved, w->order.again, w->order.gaps);
    fputs(at ? ",\n" : "\n", stdout);
    cli_leaks_put_run(stdout, run, run->findings.shown_len, CLI_TEXT_JSON);
    fputs(at + 1 == w->runs_len ? "\n]}\n" : "", stdout);
}
