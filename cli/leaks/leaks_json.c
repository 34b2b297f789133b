/* What `pprofdelta leaks --json` prints. pprofdelta-formats(5) has the schema. A finding is one line,
 * so that line tools work on it. */
#include "leaks/leaks.h"

#include "instant.h"
#include "json.h"

#include <math.h>

#define J        CLI_JSON
#define PUT(...) cli_json_put(r->to, r->form, __VA_ARGS__)

#define FRAME           "{\"function\": $, \"file\": $, \"line\": $}"
#define FRAME_OF(frame) J((frame)->text.name), J((frame)->text.file), J((frame)->text.line)

/* What is below 0 is not known, and becomes null. */
static double known_or_null(double value)
{
    return value < 0 ? INFINITY : value;
}

static void put_stack(const cli_leaks_report *r, const cli_leaks_rows *rows, size_t row)
{
    const cli_frame *frame;
    const char *comma = "";
    fputs(", \"stack\": [", r->to);
    for (cli_walk w = cli_leaks_walk(rows, &rows->rows[row]); (frame = cli_walk_next(&w));) {
        fputs(comma, r->to);
        PUT(FRAME, FRAME_OF(frame));
        comma = ", ";
    }
    fputs("]", r->to);
}

/* What grew: a stack, or areas of the resident memory. */
static void put_what(const cli_leaks_report *r, const cli_leaks_run *run,
                     const cli_leaks_finding *f)
{
    if (f->of->cause.frame)
        PUT("\"place\": " FRAME, FRAME_OF(f->of->cause.frame));
    else
        fputs("\"place\": null", r->to);
    fputs(", \"areas\": [", r->to);
    for (size_t i = 0; i < f->areas_len; i++) {
        const cli_leaks_row *area = &run->areas.rows[f->areas[i]];
        PUT(i ? ", {\"area\": $, \"growth\": $, \"now\": $"
              : "{\"area\": $, \"growth\": $, \"now\": $",
            J(cli_leaks_area_name(&run->areas, f->areas[i])), J(area->verdict.growth),
            J(area->now.total));
        put_stack(r, &run->areas, f->areas[i]);
        fputs("}", r->to);
    }
    fputs("]", r->to);
    put_stack(r, cli_leaks_rows_of(run, f), f->row);
}

static void put_evidence(const cli_leaks_report *r, const cli_leaks_run *run,
                         const cli_leaks_evidence *e)
{
    if (e->age)
        PUT("{\"older_than_windows\": $, \"settled\": $, \"freed\": $, \"alive\": $, "
            "\"needed\": $, \"windows_that_tell\": $}",
            J((double)(e->age * cli_leaks_block(run))), J(e->settled), J(e->freed), J(e->old),
            J(e->needed), J((int64_t)ceil(e->longer * (double)run->windows)));
    else
        fputs("null", r->to);
}

/* The table: for each point of birth, what was freed, by age. */
static void put_survival(const cli_leaks_report *r, const cli_leaks_run *run,
                         const cli_leaks_lives *lives)
{
    size_t points = run->rows.points;
    if (!lives) {
        fputs("null", r->to);
        return;
    }
    PUT("{\"windows\": $, \"cohorts\": [", J(cli_leaks_block(run)));
    for (size_t born = 0; born < points; born++) {
        PUT(born ? ", {\"born\": $, \"freed\": [" : "{\"born\": $, \"freed\": [",
            J((double)lives->cohorts.births[born]));
        for (size_t died = born; died < points; died++)
            PUT(died > born ? ", $" : "$",
                J((double)lives->cohorts.deaths[cli_leaks_cell(born, died)]));
        fputs("]}", r->to);
    }
    fputs("]}", r->to);
}

static void put_finding(const cli_leaks_report *r, const cli_leaks_section *s, size_t at)
{
    static const char *const words[] = {"stack", "place", "shared", "rest", "resident"};
    const cli_leaks_finding *f = s->list[at];
    const cli_leaks_verdict *v = &f->of->verdict;
    fputs(at ? ",\n" : "\n", r->to);
    PUT("{\"kind\": $, \"reason\": $, \"why\": $, \"what\": $, \"now\": $, \"objects\": $, "
        "\"per_hour\": $, \"growth\": $, \"noise\": $, \"doubt\": $, "
        "\"allocated_per_hour\": $, \"age_seconds\": $, \"evidence\": ",
        J(cli_leaks_kinds[v->kind].word), J(cli_leaks_reasons[v->reason].word), J(cli_leaks_why(v)),
        J(words[f->what]), J(f->of->now.total), J(f->of->objects.total), J(v->slope * 3600),
        J(v->growth), J(v->noise), J(v->doubt), J(known_or_null(f->rate * 3600)),
        J(known_or_null(f->age)));
    put_evidence(r, s->run, &v->evidence);
    fputs(", \"survival\": ", r->to);
    put_survival(r, s->run, f->of->lives);
    PUT(", \"stacks\": $, \"group\": $, \"shared\": $, ", J(f->stacks), J(f->group), J(f->shared));
    put_what(r, s->run, f);
    fputs("}", r->to);
}

static void begin_section(const cli_leaks_report *r, const cli_leaks_section *s)
{
    const cli_leaks_run *run = s->run;
    const cli_leaks_findings *findings = &run->findings;
    char from[48], to[48];
    fputs(s == r->sections ? "\n{" : ",\n{", r->to);
    PUT("\"binary\": $, \"type\": $, \"unit\": $, \"from\": $, \"to\": $, \"from_nanos\": $, "
        "\"to_nanos\": $,\n",
        J(run->binary), J(run->type), J(run->unit), J(cli_instant_format(run->from_nanos, from)),
        J(cli_instant_format(run->to_nanos, to)), J(run->from_nanos), J(run->to_nanos));
    PUT("\"left_out\": $, \"doubt\": $,\n\"windows\": $, \"is_enough\": $, "
        "\"after_restart\": $, \"stacks\": $, \"attached\": $,\n",
        J(run->left_out), J(run->doubt), J(run->windows), J(cli_leaks_is_enough(run)),
        J(run->has_restarted), J(run->rows.len), J(run->is_attached));
    PUT("\"span_seconds\": $, \"now\": $, \"per_hour\": $, \"smallest_leak\": $, "
        "\"suspects\": $, \"unknown\": $,\n\"findings\": [",
        J(run->span), J(findings->now), J(findings->slope * 3600), J(findings->smallest),
        J(findings->suspects), J(findings->unknown));
}

static void end_section(const cli_leaks_report *r, const cli_leaks_section *s)
{
    (void)s;
    fputs("\n]}", r->to);
}

const cli_leaks_form cli_leaks_json = {begin_section, put_finding, end_section};

void cli_leaks_put_json(const cli_leaks_work *w)
{
    cli_leaks_report report = {.work = w, .to = stdout, .form = CLI_TEXT_JSON, .is_whole = true};
    printf("{\"schema\": 1, \"out_of_order\": %zu, \"duplicates\": %zu, \"gaps\": %zu,\n"
           "\"runs\": [",
           w->order.moved, w->order.again, w->order.gaps);
    cli_leaks_write(&report, &cli_leaks_json);
    puts("\n]}");
}
