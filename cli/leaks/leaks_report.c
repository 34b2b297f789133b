/* What is printed, in which order, and the numbers in it: see leaks.h. */
#include "leaks/leaks.h"

#include "keep.h"
#include "units.h"

#include <math.h>
#include <stdio.h>

/* ---- numbers ------------------------------------------------------------------------------ */

const char *cli_leaks_amount(double value, cli_string unit)
{
    static const double most = 9e18;
    char text[48];
    pprofdelta_sum sum = {0};
    cli_sum_add(&sum, (int64_t)round(fmin(fmax(value, -most), most)));
    return cli_keep_print("%s", cli_units_format(sum, unit, text));
}

const char *cli_leaks_slope(const cli_leaks_run *run, cli_string unit, double slope)
{
    static const double hour = 3600, minute = 60, short_run = 600;
    bool is_short = run->span < short_run;
    double value = slope * (is_short ? minute : hour);
    return cli_keep_print("%s%s/%s", value > 0 ? "+" : "", cli_leaks_amount(value, unit),
                          is_short ? "min" : "h");
}

const char *cli_leaks_span(double seconds)
{
    return cli_leaks_amount(seconds * 1e9, cli_string_of("nanoseconds"));
}

/* ---- what to do about verdicts that are unknown --------------------------------------------- */

/* Also one that is not printed because there are many. */
static bool has_reason(const cli_leaks_findings *findings, cli_leaks_reason reason)
{
    for (size_t i = 0; i < findings->shown_len + findings->left; i++)
        if (findings->shown[i]->of->verdict.reason == reason)
            return true;
    return false;
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

/* NULL: nothing. */
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

const char *cli_leaks_advice(const cli_leaks_work *w)
{
    const char *advice = NULL;
    bool is_all_short = true;
    for (size_t i = 0; i < w->runs_len; i++)
        is_all_short &= cli_leaks_is_short(&w->runs[i]);
    for (size_t i = 0; i < w->runs_len && !advice; i++)
        if (is_all_short || !cli_leaks_is_short(&w->runs[i]))
            advice = advice_of(&w->runs[i]);
    return advice;
}

/* ---- sections ------------------------------------------------------------------------------- */

/* What several runs have is in the first of them. A run that is too short has none. */
static bool is_listed(const cli_leaks_report *r, const cli_leaks_run *run,
                      const cli_leaks_finding *f)
{
    return r->is_whole || (!cli_leaks_is_short(run) && (!f->is_repeated || r->repeats));
}

/* The last section, if it is of the run, or a new one. */
static cli_leaks_section *section_of(cli_leaks_report *r, size_t number)
{
    const cli_leaks_run *run = &r->work->runs[number];
    size_t last = r->last[number];
    if (last && last == r->sections_len)
        return &r->sections[last - 1];
    if (last)
        r->sections[last - 1].left = 0;
    CLI_KEEP_MORE(r->sections, 1);
    r->sections[r->sections_len++] =
        (cli_leaks_section){.run = run,
                            .list = cli_keep(run->findings.shown_len, sizeof(cli_leaks_finding *)),
                            .first = r->findings,
                            .left = run->findings.left,
                            .is_again = last > 0};
    r->last[number] = r->sections_len;
    return &r->sections[r->sections_len - 1];
}

/* Adds the findings of a run: suspects, the others, or both. */
static void add_findings(cli_leaks_report *r, size_t number, bool suspects, bool others)
{
    const cli_leaks_run *run = &r->work->runs[number];
    if (r->is_whole)
        section_of(r, number);
    for (size_t i = 0; i < run->findings.shown_len; i++) {
        const cli_leaks_finding *f = run->findings.shown[i];
        if (!is_listed(r, run, f) ||
            !(f->of->verdict.kind == CLI_LEAKS_SUSPECT ? suspects : others))
            continue;
        cli_leaks_section *section = section_of(r, number);
        section->list[section->len++] = f;
        r->findings++;
    }
}

/* Adds the runs without a finding. Of those that are too short, or have nothing new, there may be hundreds. */
static void add_others(cli_leaks_report *r)
{
    const cli_leaks_work *w = r->work;
    for (size_t i = 0; i < w->runs_len; i++) {
        const cli_leaks_run *run = &w->runs[i];
        bool is_short = cli_leaks_is_short(run), is_few = is_short && w->runs_len > 1;
        bool is_same =
            !is_short && !r->last[i] && !run->has_restarted && run->findings.shown_len > 0;
        r->few += is_few;
        r->same += is_same;
        if (!is_few && !is_same && !r->last[i])
            section_of(r, i);
    }
}

void cli_leaks_write(cli_leaks_report *r, const cli_leaks_form *form)
{
    const cli_leaks_work *w = r->work;
    r->last = cli_keep(w->runs_len, sizeof *r->last);
    for (size_t i = 0; i < w->runs_len && r->by_kind; i++)
        add_findings(r, i, true, false);
    for (size_t i = 0; i < w->runs_len; i++)
        add_findings(r, i, !r->by_kind, true);
    if (r->has_others)
        add_others(r);
    for (size_t i = 0; i < r->sections_len && !ferror(r->to); i++)
        cli_leaks_write_section(r, &r->sections[i], form);
}

void cli_leaks_write_section(const cli_leaks_report *r, const cli_leaks_section *s,
                             const cli_leaks_form *form)
{
    form->begin_section(r, s);
    for (size_t i = 0; i < s->len && !ferror(r->to); i++)
        form->put_finding(r, s, i);
    form->end_section(r, s);
}
