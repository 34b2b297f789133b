/* What `pprofdelta leaks --json` prints. pprofdelta-formats(5) has the schema. A finding is one line,
 * so that line tools work on it. */
#include "leaks/leaks.h"

#include "instant.h"
#include "json.h"

#include <math.h>

#define J        CLI_JSON
#define PUT(...) cli_json_put(to, form, __VA_ARGS__)

/* What is below 0 is not known, and becomes null. */
static double known_or_null(double value)
{
    return value < 0 ? INFINITY : value;
}

static void put_frame(FILE *to, cli_text_form form, const cli_frame *frame)
{
    PUT("{\"function\": $, \"file\": $, \"line\": $}", J(frame->text.name), J(frame->text.file),
        J(frame->text.line));
}

static void put_stack(FILE *to, cli_text_form form, const cli_leaks_rows *rows, size_t row)
{
    const cli_frame *frame;
    const char *comma = "";
    fputs(", \"stack\": [", to);
    for (cli_walk w = cli_leaks_walk(rows, &rows->rows[row]); (frame = cli_walk_next(&w));) {
        fputs(comma, to);
        put_frame(to, form, frame);
        comma = ", ";
    }
    fputs("]", to);
}

/* What grew: a stack, or areas of the resident memory. */
static void put_what(FILE *to, cli_text_form form, const cli_leaks_run *run,
                     const cli_leaks_finding *f)
{
    fputs(f->cause.frame ? "\"place\": " : "\"place\": null", to);
    if (f->cause.frame)
        put_frame(to, form, f->cause.frame);
    fputs(", \"areas\": [", to);
    for (size_t i = 0; i < f->areas_len; i++) {
        const cli_leaks_row *area = &run->areas.rows[f->areas[i]];
        fputs(i ? ", " : "", to);
        PUT("{\"area\": $, \"growth\": $, \"now\": $",
            J(cli_leaks_area_name(&run->areas, f->areas[i])), J(area->verdict.growth),
            J(area->now));
        put_stack(to, form, &run->areas, f->areas[i]);
        fputs("}", to);
    }
    fputs("]", to);
    put_stack(to, form, cli_leaks_rows_of(run, f), f->row);
}

static void put_evidence(FILE *to, cli_text_form form, const cli_leaks_run *run,
                         const cli_leaks_evidence *e)
{
    if (e->age)
        PUT("{\"older_than_windows\": $, \"settled\": $, \"freed\": $, \"alive\": $, \"needed\": "
            "$, "
            "\"windows_that_tell\": $}",
            J((double)(e->age * cli_leaks_block(run))), J(e->settled), J(e->freed), J(e->old),
            J(e->needed), J((int64_t)ceil(e->longer * (double)run->windows)));
    else
        fputs("null", to);
}

/* The table: for each point of birth, what was freed, by age. */
static void put_survival(FILE *to, cli_text_form form, const cli_leaks_run *run,
                         const cli_leaks_cohorts *cohorts)
{
    size_t points = run->rows.points;
    if (!cohorts) {
        fputs("null", to);
        return;
    }
    PUT("{\"windows\": $, \"cohorts\": [", J(cli_leaks_block(run)));
    for (size_t born = 0; born < points; born++) {
        fputs(born ? ", " : "", to);
        PUT("{\"born\": $, \"freed\": [", J((double)cohorts->births[born]));
        for (size_t died = born; died < points; died++)
            fprintf(to, "%s%.9g", died > born ? ", " : "",
                    cohorts->deaths[cli_leaks_cell(born, died)]);
        fputs("]}", to);
    }
    fputs("]}", to);
}

static void put_finding(FILE *to, cli_text_form form, const cli_leaks_run *run,
                        const cli_leaks_finding *f)
{
    static const char *const words[] = {"stack", "place", "shared", "rest", "resident"};
    const cli_leaks_verdict *v = &f->verdict;
    PUT("{\"kind\": $, \"reason\": $, \"why\": $, \"what\": $, \"now\": $, \"objects\": $, "
        "\"per_hour\": $, "
        "\"growth\": $, \"noise\": $, \"doubt\": $, \"allocated_per_hour\": $, \"age_seconds\": $, "
        "\"evidence\": ",
        J(cli_string_of(cli_leaks_kinds[v->kind].word)),
        J(cli_string_of(cli_leaks_reasons[v->reason].word)), J(cli_string_of(cli_leaks_why(v))),
        J(cli_string_of(words[f->what])), J(f->now), J(f->objects), J(v->slope * 3600),
        J(v->growth), J(v->noise), J(v->doubt), J(known_or_null(f->rate * 3600)),
        J(known_or_null(f->age)));
    put_evidence(to, form, run, &v->evidence);
    fputs(", \"survival\": ", to);
    put_survival(to, form, run, f->cohorts);
    PUT(", \"stacks\": $, \"group\": $, \"shared\": $, ", J(f->stacks), J(f->group),
        f->what == CLI_LEAKS_SHARED ? J(f->shared) : CLI_JSON_NULL);
    put_what(to, form, run, f);
    fputs("}", to);
}

static void put_head(FILE *to, cli_text_form form, const cli_leaks_run *run)
{
    const cli_leaks_findings *findings = &run->findings;
    char begin[48], end[48];
    PUT("\"binary\": $, \"type\": $, \"unit\": $, \"from\": $, \"to\": $, \"from_nanos\": $, "
        "\"to_nanos\": $,\n",
        J(run->binary), J(run->type), J(run->unit),
        J(cli_string_of(cli_instant_format(run->from_nanos, begin))),
        J(cli_string_of(cli_instant_format(run->to_nanos, end))), J(run->from_nanos),
        J(run->to_nanos));
    PUT("\"left_out\": $, \"doubt\": $,\n", J(run->left_out),
        run->doubt ? J(cli_string_of(run->doubt)) : CLI_JSON_NULL);
    PUT("\"windows\": $, \"is_enough\": $, \"after_restart\": $, \"stacks\": $,\n", J(run->windows),
        J(cli_leaks_is_enough(run)), J(run->has_restarted), J(run->rows.len));
    PUT("\"span_seconds\": $, \"now\": $, \"per_hour\": $, \"smallest_leak\": $, "
        "\"suspects\": $, \"unknown\": $,\n",
        J(run->span), J(findings->now), J(findings->slope * 3600), J(findings->smallest),
        J(findings->suspects), J(findings->unknown));
}

void cli_leaks_put_run(FILE *to, cli_text_form form, const cli_leaks_run *run, size_t findings)
{
    fputs("{", to);
    put_head(to, form, run);
    fputs("\"findings\": [", to);
    for (size_t i = 0; i < findings && !ferror(to); i++) {
        fputs(i ? ",\n" : "\n", to);
        put_finding(to, form, run, run->findings.shown[i]);
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
    cli_leaks_put_run(stdout, CLI_TEXT_JSON, run, run->findings.shown_len);
    fputs(at + 1 == w->runs_len ? "\n]}\n" : "", stdout);
}
