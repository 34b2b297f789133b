/* pprofdelta PREV CUR: the delta of two files; with --state, see window.h.
 *
 * Everything is computed before anything is written, and what is written takes OUT's place only
 * when it is complete. */
#include "ahead.h"
#include "cli.h"
#include "helper.h"
#include "input.h"
#include "memory.h"
#include "message.h"
#include "options.h"
#include "output.h"
#include "pack.h"
#include "progress.h"
#include "report.h"
#include "status.h"
#include "window.h"

#include <sys/stat.h>

/* Everything that a run holds, zeroed first, so that one place can give it all back. */
typedef struct run {
    cli_options options;
    cli_input prev, cur;
    cli_output output;
    pprofdelta *context;
    cli_ahead ahead;   /* another thread: it reads, */
    cli_helper helper; /* or helps to */
} run;

static uint64_t limit_of(const run *r)
{
    return r->options.library.max_memory;
}

static int new_context(run *r)
{
    pprofdelta_error err;
    const pprofdelta_allocator *memory = cli_memory_within(limit_of(r));
    /* The two files are all there is. */
    r->options.library.flags |= PPROFDELTA_NO_SAVE | PPROFDELTA_NO_SEQUENCE;
    if (pprofdelta_new(&r->options.library, memory, &r->context, &err) == PPROFDELTA_OK)
        return CLI_DONE;
    if (err.status == PPROFDELTA_E_USAGE)
        return cli_usage("%s", err.text);
    return cli_options_error(cli_input_name(r->options.prev), &err);
}

static void start_ahead(run *r)
{
    cli_ahead_start_file(&r->ahead, r->context, r->options.cur, limit_of(r), CLI_AHEAD_OF_PROFILE);
}

/* What the second processor does for large files, now that there is one to look at. */
static void begin_second(run *r)
{
    if (!r->ahead.state && !cli_helper_start(&r->helper, r->context, &r->prev))
        start_ahead(r);
}

static int make_base(run *r)
{
    pprofdelta_error err;
    int code = cli_input_read(&r->prev, r->options.prev, limit_of(r));
    if (code)
        return code;
    cli_progress_say("remembering", r->prev.name);
    pprofdelta_set_started(r->context, r->options.started_nanos);
    begin_second(r);
    pprofdelta_status status = pprofdelta_base(r->context, r->prev.bytes, r->prev.len, &err);
    if (status == PPROFDELTA_E_LIMIT && cli_ahead_end(&r->ahead)) /* which has half of the memory */
        status = pprofdelta_base(r->context, r->prev.bytes, r->prev.len, &err);
    cli_input_release(&r->prev);
    return status ? cli_library_error(r->prev.name, &err) : CLI_DONE;
}

static int make_window(run *r, pprofdelta_report *report)
{
    pprofdelta_error err;
    pprofdelta_status status;
    pprofdelta_sink sink = cli_output_sink(&r->output);
    cli_pack pack = {0};
    r->cur.name = r->options.cur;
    cli_progress_say("comparing", r->cur.name);
    status = cli_ahead_window(&r->ahead, &pack.state, report, &err);
    if (status == PPROFDELTA_E_AHEAD) {
        int code = cli_input_read(&r->cur, r->options.cur, limit_of(r));
        if (code)
            return code;
        cli_progress_say("comparing", r->cur.name);
        status =
            pprofdelta_pack_window(r->context, r->cur.bytes, r->cur.len, &pack.state, report, &err);
    }
    if (!status) {
        cli_pack_start(&pack, r->ahead.is_running || r->helper.state);
        status = cli_pack_finish(&pack, &sink, report, &err);
    }
    if (status == PPROFDELTA_E_SINK && r->output.failure)
        return r->output.failure; /* told when it happened */
    return status ? cli_pair_error(r->prev.name, r->cur.name, &err) : CLI_DONE;
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
    pprofdelta_report report;
    int code = cli_options_parse(&r->options, argc, argv);
    if (code || r->options.print)
        return code ? code : r->options.print();
    if (r->options.state)
        return r->options.status ? cli_status_print(&r->options) : cli_window_run(&r->options);
    if ((code = cli_output_prepare(&r->output, r->options.output)) || (code = new_context(r)))
        return code;
    cli_progress_start(!r->options.quiet);
    if (!cli_ahead_is_large(r->options.cur, CLI_HELPER_LARGE))
        start_ahead(r);
    bool is_one = is_one_file(r->options.prev, r->options.cur);
    if ((code = make_base(r)) || (code = make_window(r, &report)))
        return code;
    report.is_same |= is_one;
    if ((code = cli_output_finish(&r->output)))
        return code;
    cli_progress_end();
    pprofdelta_commit(r->context);
    cli_report_notes(&r->options, &report, r->prev.name, r->cur.name);
    return cli_report_print(&r->options, &report, 0);
}

int cli_delta(int argc, char **argv)
{
    run r = {.output = {.fd = -1}};
    int code = perform(&r, argc, argv);
    cli_ahead_end(&r.ahead);
    cli_helper_end(&r.helper);
    cli_progress_end();
    pprofdelta_free(r.context);
    cli_output_close(&r.output);
    cli_input_free(&r.prev);
    cli_input_free(&r.cur);
    cli_options_free(&r.options);
    return code;
}
