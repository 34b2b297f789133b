/* pprofdelta --state FILE --status: what is in the state.
 *
 * FILE is read without its lock: a state is replaced as a whole, so an open file does not
 * change. */
#include "decimal.h"
#include "cli.h"
#include "instant.h"
#include "message.h"
#include "output_file.h"
#include "delta/report.h"
#include "delta/state_file.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>

static void put_window(int64_t from, int64_t to, bool is_first, pprofdelta_restart restart)
{
    char span[48];
    if (!from && is_first)
        fputs("the beginning", stdout);
    else
        cli_report_put_time(stdout, from);
    fputs(" to ", stdout);
    cli_report_put_time(stdout, to);
    if (from && to)
        printf(" (%s)", cli_span_format(cli_report_duration(from, to), span));
    if (restart)
        printf(", a restart: %s", cli_restart_reason(restart));
    putchar('\n');
}

static void print_text(const cli_state *state, const pprofdelta_memory *m)
{
    fputs("state     ", stdout);
    cli_text_put(stdout, state->path, CLI_TEXT_SHOWN);
    printf("%s\nid        %016" PRIx64, m->types_len ? "" : ", nothing remembered yet", m->id);
    if (!m->types_len) {
        printf("\nbytes     %lld\n", (long long)state->is.st_size);
        return;
    }
    printf("\nsequence  %" PRIu64 "\n", m->sequence);
    if (m->sequence) {
        fputs("window    ", stdout);
        put_window(m->from_nanos, m->to_nanos, m->sequence == 1, m->restart);
    }
    if (m->attempts) {
        printf("open      sequence %" PRIu64 ", attempt %" PRIu64 ", not acknowledged: ",
               m->open_sequence, m->attempts);
        put_window(m->open_from_nanos, m->open_to_nanos, true, m->open_restart);
    }
    fputs("build id  ", stdout);
    cli_text_put(stdout, *m->build_id ? m->build_id : "unknown", CLI_TEXT_SHOWN);
    printf("\nsamples   %" PRIu64 ", of which %" PRIu64 " not in the last profile\n", m->samples,
           m->unseen);
    printf("bytes     %lld", (long long)state->is.st_size);
    if (m->samples)
        printf(", %.1f a sample", (double)state->is.st_size / (double)m->samples);
    fputs("\n\n", stdout);
    for (size_t i = 0; i < m->types_len; i++) {
        const pprofdelta_type_report *type = &m->types[i];
        char text[48];
        printf("%20s  ", type->is_counter ? cli_sum_format(type->prev, text) : "-");
        cli_report_put_type(stdout, type);
    }
}

static void print_open(const pprofdelta_memory *m)
{
    if (!m->attempts) {
        fputs("\"open\": null, ", stdout);
        return;
    }
    printf("\"open\": {\"sequence\": %" PRIu64 ", \"attempts\": %" PRIu64
           ", \"from_nanos\": %" PRId64 ", \"to_nanos\": %" PRId64 ", \"restart\": ",
           m->open_sequence, m->attempts, m->open_from_nanos, m->open_to_nanos);
    cli_report_put_restart(stdout, m->open_restart);
    fputs("}, ", stdout);
}

static void print_json(const cli_state *state, const pprofdelta_memory *m)
{
    int64_t duration = cli_report_duration(m->from_nanos, m->to_nanos);
    fputs("{\"state\": ", stdout);
    cli_text_put(stdout, state->path, CLI_TEXT_JSON);
    fputs(", \"id\": ", stdout);
    cli_report_put_id(stdout, m->id);
    printf(", \"bytes\": %lld, \"sequence\": %" PRIu64 ", \"attempts\": %" PRIu64
           ", \"samples\": %" PRIu64 ", \"unseen\": %" PRIu64 ", \"build_id\": ",
           (long long)state->is.st_size, m->sequence, m->attempts, m->samples, m->unseen);
    if (*m->build_id)
        cli_text_put(stdout, m->build_id, CLI_TEXT_JSON);
    else
        fputs("null", stdout);
    printf(", \"window\": {\"from_nanos\": %" PRId64 ", \"to_nanos\": %" PRId64
           ", \"duration_nanos\": %" PRId64 "}, \"restart\": ",
           m->from_nanos, m->to_nanos, duration);
    cli_report_put_restart(stdout, m->restart);
    fputs(", ", stdout);
    print_open(m);
    fputs("\"types\": [", stdout);
    for (size_t i = 0; i < m->types_len; i++) {
        char text[48];
        const char *sum = cli_sum_format(m->types[i].prev, text);
        cli_report_put_type_json(stdout, &m->types[i], i);
        printf(", \"sum\": %s}", m->types[i].is_counter ? sum : "null");
    }
    fputs("]}\n", stdout);
}

static int read_state(const cli_options *options, cli_state *state, pprofdelta **context)
{
    pprofdelta_error err;
    int code = cli_state_open_to_read(state, options->state);
    if (!code && pprofdelta_new(&options->library, NULL, context, &err))
        code = cli_options_error(options->state, &err);
    return code ? code : cli_state_load(state, *context);
}

int cli_status_print(const cli_options *options)
{
    cli_state state = {.lock = -1};
    pprofdelta *context = NULL;
    int code = read_state(options, &state, &context);
    if (!code) {
        pprofdelta_memory memory = {.size = sizeof memory};
        pprofdelta_describe(context, &memory);
        if (options->status == CLI_REPORT_JSON)
            print_json(&state, &memory);
        else
            print_text(&state, &memory);
        code = cli_output_end_text();
    }
    pprofdelta_free(context);
    cli_state_close(&state);
    return code;
}
