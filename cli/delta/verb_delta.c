/* pprofdelta PREV CUR: the delta of two files; with --state, see verb_state.c.
 *
 * Everything is computed before anything is written, and what is written takes OUT's place only
 * when it is complete. */
#include "cli.h"
#include "input.h"
#include "message.h"
#include "delta/options.h"
#include "output_file.h"
#include "progress.h"
#include "delta/report.h"
#include "delta/state_verbs.h"

#include <sys/stat.h>

/* Everything that a run holds, zeroed first, so that one place can give it all back. */
typedef struct run {
    cli_options options;
    cli_input prev, cur;
    cli_output output;
    pprofdelta *context;
} run;

static uint64_t limit_of(const run *r)
{
    return r->options.library.max_memory;
}

/* The bytes of PREV are freed before those of CUR are read. */
static int read_prev(run *r)
{
    pprofdelta_error err;
    int code = cli_input_read(&r->prev, r->options.prev, limit_of(r));
    if (code)
        return code;
    if (pprofdelta_base(r->context, r->prev.bytes, r->prev.len, &err))
        return cli_library_error(r->prev.name, &err);
    cli_input_free(&r->prev);
    return CLI_DONE;
}

static int compare(run *r, pprofdelta_report *report)
{
    pprofdelta_error err;
    pprofdelta_sink sink = cli_output_sink(&r->output);
    int code = cli_input_read(&r->cur, r->options.cur, limit_of(r));
    if (code)
        return code;
    cli_progress_say("comparing", r->cur.name);
    pprofdelta_set_started(r->context, r->options.started_nanos);
    pprofdelta_status status =
        pprofdelta_window(r->context, r->cur.bytes, r->cur.len, &sink, report, &err);
    if (!status)
        return CLI_DONE;
    if (status == PPROFDELTA_E_SINK && r->output.failure)
        return r->output.failure; /* the message is printed already */
    return cli_pair_error(r->prev.name, r->cur.name, &err);
}

/* Of two dumps without a time the library cannot tell it. */
static bool is_one_file(const char *a, const char *b)
{
    struct stat of_a, of_b;
    return !cli_input_is_stdin(a) && !cli_input_is_stdin(b) && !stat(a, &of_a) && !stat(b, &of_b) &&
           S_ISREG(of_a.st_mode) && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

static int perform(run *r, int argc, char **argv)
{
    pprofdelta_report report = {.size = sizeof report};
    int code = cli_options_parse(&r->options, argc, argv);
    if (code || r->options.is_done)
        return code;
    if (r->options.state)
        return r->options.status ? cli_status_print(&r->options) : cli_state_run(&r->options);
    r->options.library.flags |= PPROFDELTA_NO_SEQUENCE;
    if ((code = cli_output_prepare(&r->output, r->options.output)) ||
        (code = cli_context_new(&r->options.library, r->options.prev, &r->context)))
        return code;
    cli_progress_start(!r->options.quiet);
    bool is_one = is_one_file(r->options.prev, r->options.cur);
    if ((code = read_prev(r)) || (code = compare(r, &report)))
        return code;
    report.is_same |= is_one;
    if ((code = cli_output_finish(&r->output)))
        return code;
    cli_progress_end();
    cli_report_notes(&r->options, &report, r->prev.name, r->cur.name);
    cli_report_print(&r->options, &report, 0);
    return CLI_DONE;
}

int cli_delta(int argc, char **argv)
{
    run r = {.output = {.fd = -1}};
    int code = perform(&r, argc, argv);
    cli_progress_end();
    pprofdelta_free(r.context);
    cli_output_close(&r.output);
    cli_input_free(&r.prev);
    cli_input_free(&r.cur);
    cli_options_free(&r.options);
    return code;
}
