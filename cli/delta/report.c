/* What the command prints about a delta and about a state: see report.h.
 *
 * The report is made in memory and written at once, after the output is complete. As text it is a
 * table. As JSON it is one object on one line, with exact integers. */
#include "delta/report.h"

#include "units.h"
#include "instant.h"
#include "json.h"
#include "keep.h"
#include "message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define J             CLI_JSON
#define PUT(out, ...) cli_json_put(out, CLI_TEXT_JSON, __VA_ARGS__)

/* The columns of the table of types, in the order of both forms. */
enum { SUM_PREV, SUM_CUR, SUM_DELTA, SUM_CLAMPED, SUM_VANISHED, SUMS };
static const char *const sum_names[SUMS] = {"prev", "cur", "delta", "clamped", "vanished"};

static pprofdelta_sum sum_of(const pprofdelta_type_report *type, int which)
{
    const pprofdelta_sum sums[SUMS] = {type->prev, type->cur, type->delta, type->clamped,
                                       type->vanished};
    return sums[which];
}

static const struct {
    const char *name, *reason;
} restarts[] = {
    [PPROFDELTA_RESTART_STARTED] = {"started",
                                    "the program started after the first profile was taken"},
    [PPROFDELTA_RESTART_BUILD_ID] =
        {"build_id",
         "half of the value of a counter is gone, and the main binary is another build"},
    [PPROFDELTA_RESTART_MASS] = {"mass", "at least half of the value of a counter is gone"},
    [PPROFDELTA_RESTART_ANY] = {"decrease", "a counter went backwards"},
    [PPROFDELTA_RESTART_LIVE] =
        {"live", "the stamp of its live heap is of another process or of a later start"},
};

/* The time between two times: 0 if one of them is 0, INT64_MAX if it does not fit. */
static int64_t duration_between(int64_t from_nanos, int64_t to_nanos)
{
    int64_t duration;
    if (!from_nanos || !to_nanos)
        return 0;
    return __builtin_sub_overflow(to_nanos, from_nanos, &duration) ? INT64_MAX : duration;
}

/* Becomes null if there is none. */
static const char *id_of(uint64_t id)
{
    return id ? cli_keep_print("%016" PRIx64, id) : NULL;
}

/* "FROM to TO (59.96 s), a restart: why"; beginning stands for a time that is not known. */
static void put_window(FILE *out, const char *beginning, int64_t from, int64_t to,
                       pprofdelta_restart restart)
{
    char text[48];
    fputs(from ? cli_instant_format(from, text) : beginning, out);
    fprintf(out, " to %s", to ? cli_instant_format(to, text) : "unknown");
    if (from && to)
        fprintf(out, " (%s)", cli_span_format(duration_between(from, to), text));
    if (restart)
        fprintf(out, ", a restart: %s", restarts[restart].reason);
}

static void put_type(FILE *out, const pprofdelta_type_report *type)
{
    cli_string_put(out, cli_string_of(type->type), CLI_TEXT_SHOWN);
    putc('/', out);
    cli_string_put(out, cli_string_of(type->unit), CLI_TEXT_SHOWN);
    fputs(type->is_counter ? "\n" : " (gauge)\n", out);
}

/* Begins the object of a type in an array of JSON. */
static void put_type_json(FILE *out, const pprofdelta_type_report *type, size_t index)
{
    fputs(index ? ", " : "", out);
    PUT(out, "{\"type\": $, \"unit\": $, \"kind\": $", J(type->type), J(type->unit),
        J(type->is_counter ? "counter" : "gauge"));
}

static void put_window_json(FILE *out, int64_t from_nanos, int64_t to_nanos)
{
    PUT(out, "\"window\": {\"from_nanos\": $, \"to_nanos\": $, \"duration_nanos\": $}",
        J(from_nanos), J(to_nanos), J(duration_between(from_nanos, to_nanos)));
}

/* ---- a delta --------------------------------------------------------------------------------- */

static void note_window(const pprofdelta_report *report, const char *prev_name,
                        const char *cur_name)
{
    if (report->had_base)
        cli_note("the durations of %s and %s do not show that both count from the start of the "
                 "process; if one is a window (as of ?seconds=), this delta is wrong",
                 prev_name, cur_name);
    else
        cli_note("%s has a duration; if it is a window (as of ?seconds=), it does not count from "
                 "the start of the process",
                 cur_name);
}

static void note_unread(const char *name, const pprofdelta_report *report, uint64_t unread)
{
    if (unread >= report->output_len)
        cli_note("%s: ended with exit status 0 without reading the delta (%" PRIu64
                 " bytes), which counts as sent",
                 name, report->output_len);
    else
        cli_note("%s: ended with exit status 0 after reading %" PRIu64 " of the delta's %" PRIu64
                 " bytes, which count as sent",
                 name, report->output_len - unread, report->output_len);
}

void cli_report_notes(const cli_options *options, const pprofdelta_report *report,
                      const char *prev_name, const char *cur_name, uint64_t unread)
{
    if (report->restart != PPROFDELTA_RESTART_NONE)
        cli_note("%s: a restart since %s: %s; the delta counts from zero", cur_name, prev_name,
                 restarts[report->restart].reason);
    if (report->may_be_two_kinds)
        cli_note(
            "%s and %s may be two kinds of profile with the same types, such as mutex and block; "
            "then it was no restart, and each kind needs a state of its own",
            prev_name, cur_name);
    if (!report->had_base && report->sequence > 1)
        cli_note(
            "%s: was written by an older version, which took functions at one address for one; "
            "%s cannot be compared with it, so this window begins anew, as with --first=zero",
            prev_name, cur_name);
    if (report->clock_set_back)
        cli_note("%s: the clock was set back since %s; the window counts, and ends no earlier than "
                 "the last one",
                 cur_name, prev_name);
    if (report->files_replaced)
        cli_note("%s: the files of %" PRIu64 " %s were replaced, renamed or removed since %s; the "
                 "process counts as the same",
                 cur_name, report->files_replaced,
                 report->files_replaced == 1 ? "mapping" : "mappings", prev_name);
    if (report->clamped && (options->library.on_reset == PPROFDELTA_ON_RESET_AUTO ||
                            options->library.on_reset == PPROFDELTA_ON_RESET_CLAMP))
        cli_note("%s: %" PRIu64 " %s went backwards since %s and %s clamped to zero", cur_name,
                 report->clamped, report->clamped == 1 ? "sample" : "samples", prev_name,
                 report->clamped == 1 ? "was" : "were");
    if (report->is_same && options->state)
        cli_note("%s is the profile that %s already has: no counter has changed", cur_name,
                 prev_name);
    else if (report->is_same)
        cli_note("%s and %s are the same profile: no counter has changed", prev_name, cur_name);
    if (report->may_be_window)
        note_window(report, prev_name, cur_name);
    if (unread)
        note_unread(options->uploader.argv[0], report, unread);
}

static void text_head(FILE *out, const pprofdelta_report *report, uint64_t unread, bool is_lost)
{
    bool has_restarted = report->restart != PPROFDELTA_RESTART_NONE;
    fputs("window    ", out);
    put_window(out, "unknown", report->from_nanos, report->to_nanos, PPROFDELTA_RESTART_NONE);
    fputs(report->from_nanos && report->to_nanos ? "" : " (duration unknown)", out);
    fprintf(out, "\nrestart   %s%s\n", has_restarted ? "yes: " : "no",
            has_restarted ? restarts[report->restart].reason : "");
    fprintf(out, "samples   %" PRIu64 " in, %" PRIu64 " out\n", report->samples_in,
            report->samples_out);
    fprintf(out,
            "          %" PRIu64 " matched, %" PRIu64 " new, %" PRIu64 " vanished, %" PRIu64
            " clamped, %" PRIu64 " duplicate\n",
            report->matched, report->fresh, report->vanished, report->clamped, report->duplicates);
    fprintf(out, "identity  %" PRIu64 " locations by address, %" PRIu64 " by lines\n",
            report->by_address, report->by_lines);
    if (report->files_replaced || report->other_build)
        fprintf(out, "          %" PRIu64 " %s whose file was replaced%s\n", report->files_replaced,
                report->files_replaced == 1 ? "mapping" : "mappings",
                report->other_build ? ", the main binary with another build id" : "");
    if (report->unknown_fields)
        fprintf(out, "unknown   %" PRIu64 " fields skipped\n", report->unknown_fields);
    if (report->left_out)
        fprintf(out, "left out  %" PRIu64 " attributes and payloads of the OTLP request\n",
                report->left_out);
    fprintf(out, "output    %" PRIu64 " bytes", report->output_len);
    if (report->sequence)
        fprintf(out, ", sequence %" PRIu64 ", attempt %" PRIu64, report->sequence, report->attempt);
    putc('\n', out);
    if (unread)
        fprintf(out, "unread    %" PRIu64 " of these bytes, by the uploader\n", unread);
    fputs(is_lost ? "lost      all of it: it is older than --max-age\n" : "", out);
    putc('\n', out);
}

/* One cell: "-" if a gauge has no such sum. */
static const char *format_cell(const pprofdelta_type_report *type, int which, char buf[48])
{
    if (!type->is_counter && which != SUM_CUR && which != SUM_DELTA)
        return strcpy(buf, "-");
    return cli_sum_format(sum_of(type, which), buf);
}

/* The width of a column; 0: it is left out, since no type has such a sum. */
static int column_width(const pprofdelta_report *report, int which)
{
    char text[48];
    size_t width = strlen(sum_names[which]);
    bool is_shown = which <= SUM_DELTA;
    for (size_t i = 0; i < report->types_len; i++) {
        pprofdelta_sum sum = sum_of(PPROFDELTA_TYPE(report, i), which);
        size_t len = strlen(format_cell(PPROFDELTA_TYPE(report, i), which, text));
        width = len > width ? len : width;
        is_shown |= sum.lo || sum.hi;
    }
    return is_shown ? (int)width : 0;
}

static void text_types(FILE *out, const pprofdelta_report *report)
{
    int width[SUMS];
    for (int c = 0; c < SUMS; c++) {
        width[c] = column_width(report, c);
        if (width[c])
            fprintf(out, "%*s  ", width[c], sum_names[c]);
    }
    fputs("type\n", out);
    for (size_t i = 0; i < report->types_len; i++) {
        const pprofdelta_type_report *type = PPROFDELTA_TYPE(report, i);
        char text[48];
        for (int c = 0; c < SUMS; c++)
            if (width[c])
                fprintf(out, "%*s  ", width[c], format_cell(type, c, text));
        put_type(out, type);
    }
}

static void json_whole(FILE *out, const pprofdelta_report *r, uint64_t unread, bool is_lost)
{
    PUT(out,
        "{\"samples\": {\"in\": $, \"out\": $, \"matched\": $, \"new\": $, \"vanished\": $, "
        "\"clamped\": $, \"duplicate\": $}, \"identity\": {\"address\": $, \"lines\": $}, "
        "\"mappings\": {\"files_replaced\": $, \"other_build\": $}, "
        "\"restart\": {\"detected\": $, \"reason\": $}, ",
        J(r->samples_in), J(r->samples_out), J(r->matched), J(r->fresh), J(r->vanished),
        J(r->clamped), J(r->duplicates), J(r->by_address), J(r->by_lines), J(r->files_replaced),
        J((bool)r->other_build), J((bool)r->restart), J(restarts[r->restart].name));
    put_window_json(out, r->from_nanos, r->to_nanos);
    PUT(out,
        ", \"had_base\": $, \"same\": $, \"may_be_window\": $, \"clock_set_back\": $, "
        "\"may_be_two_kinds\": $, \"id\": $, \"sequence\": $, \"attempt\": $, \"unknown_fields\": "
        "$, \"left_out\": $, "
        "\"output_bytes\": $, \"unread_bytes\": $, \"lost\": $, \"types\": [",
        J((bool)r->had_base), J((bool)r->is_same), J((bool)r->may_be_window),
        J((bool)r->clock_set_back), J((bool)r->may_be_two_kinds), J(id_of(r->id)), J(r->sequence),
        J(r->attempt), J(r->unknown_fields), J(r->left_out), J(r->output_len), J(unread),
        J(is_lost));
    for (size_t i = 0; i < r->types_len; i++) {
        put_type_json(out, PPROFDELTA_TYPE(r, i), i);
        for (int c = 0; c < SUMS; c++)
            PUT(out, ", $: $", J(sum_names[c]), J(sum_of(PPROFDELTA_TYPE(r, i), c)));
        putc('}', out);
    }
    fputs("]}\n", out);
}

void cli_report_print(const cli_options *options, const pprofdelta_report *report, uint64_t unread,
                      bool is_lost)
{
    char *bytes = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&bytes, &len);
    if (out && options->report == CLI_REPORT_JSON) {
        json_whole(out, report, unread, is_lost);
    } else if (out) {
        text_head(out, report, unread, is_lost);
        text_types(out, report);
    }
    bool is_whole = out && !ferror(out);
    if (out && !fclose(out) && is_whole)
        cli_message_raw(bytes, len);
    else
        cli_note("--report: cannot print: %s", strerror(ENOMEM));
    free(bytes);
}

/* ---- the status of a state ------------------------------------------------------------------- */

void cli_status_text(const cli_state *state, const pprofdelta_memory *m)
{
    fputs("state     ", stdout);
    cli_string_put(stdout, cli_string_of(state->path), CLI_TEXT_SHOWN);
    printf("%s\nid        %016" PRIx64, m->types_len ? "" : ", nothing remembered yet", m->id);
    if (!m->types_len) {
        printf("\nbytes     %lld\n", (long long)state->is.st_size);
        return;
    }
    printf("\nsequence  %" PRIu64 "\n", m->sequence);
    if (m->sequence) {
        fputs("window    ", stdout);
        put_window(stdout, m->sequence == 1 ? "the beginning" : "unknown", m->from_nanos,
                   m->to_nanos, m->restart);
        putchar('\n');
    }
    if (m->attempts) {
        printf("open      sequence %" PRIu64 ", attempt %" PRIu64 ", not acknowledged: ",
               m->open_sequence, m->attempts);
        put_window(stdout, "the beginning", m->open_from_nanos, m->open_to_nanos, m->open_restart);
        putchar('\n');
    }
    fputs("build id  ", stdout);
    cli_string_put(stdout, cli_string_of(*m->build_id ? m->build_id : "unknown"), CLI_TEXT_SHOWN);
    printf("\nsamples   %" PRIu64 ", of which %" PRIu64 " not in the last profile\n", m->samples,
           m->unseen);
    printf("bytes     %lld", (long long)state->is.st_size);
    if (m->samples)
        printf(", %.1f a sample", (double)state->is.st_size / (double)m->samples);
    fputs("\n\n", stdout);
    for (size_t i = 0; i < m->types_len; i++) {
        const pprofdelta_type_report *type = PPROFDELTA_TYPE(m, i);
        char text[48];
        printf("%20s  ", type->is_counter ? cli_sum_format(type->prev, text) : "-");
        put_type(stdout, type);
    }
}

static void put_open(const pprofdelta_memory *m)
{
    if (m->attempts)
        PUT(stdout,
            "{\"sequence\": $, \"attempts\": $, \"from_nanos\": $, \"to_nanos\": $, "
            "\"restart\": $}",
            J(m->open_sequence), J(m->attempts), J(m->open_from_nanos), J(m->open_to_nanos),
            J(restarts[m->open_restart].name));
    else
        fputs("null", stdout);
}

void cli_status_json(const cli_state *state, const pprofdelta_memory *m, double age)
{
    PUT(stdout, "{\"state\": $, \"readable\": $", J(state->path), J((bool)m));
    if (!m) {
        fputs("}\n", stdout);
        return;
    }
    PUT(stdout,
        ", \"id\": $, \"bytes\": $, \"age_seconds\": $, \"sequence\": $, \"attempts\": $, "
        "\"samples\": $, \"unseen\": $, \"build_id\": $, ",
        J(id_of(m->id)), J((int64_t)state->is.st_size), J(age), J(m->sequence), J(m->attempts),
        J(m->samples), J(m->unseen), J(*m->build_id ? m->build_id : NULL));
    put_window_json(stdout, m->from_nanos, m->to_nanos);
    PUT(stdout, ", \"restart\": $, \"open\": ", J(restarts[m->restart].name));
    put_open(m);
    fputs(", \"types\": [", stdout);
    for (size_t i = 0; i < m->types_len; i++) {
        put_type_json(stdout, PPROFDELTA_TYPE(m, i), i);
        PUT(stdout, ", \"sum\": $}",
            PPROFDELTA_TYPE(m, i)->is_counter ? J(PPROFDELTA_TYPE(m, i)->prev) : CLI_JSON_NULL);
    }
    fputs("]}\n", stdout);
}
