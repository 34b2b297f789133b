/* pprofdelta --state FILE [CUR]: one window.
 *
 *     read CUR -> lock FILE -> load -> delta, in memory -> next state, in a temporary file
 *              -> FILE is replaced -> the delta goes out -> one byte of FILE says that it arrived
 *
 * Everything that can fail for lack of space or permissions is done before the delta goes out. If the
 * run ends before the last byte is written, FILE has an open attempt: the next window begins at the
 * same place, with the same sequence and a higher attempt, and has at least what this one had. So
 * nothing is lost, and nothing counts twice if the receiver keeps, of each sequence, the delta with the
 * highest attempt. */
#include "delta/state_verbs.h"

#include "buffer.h"
#include "cli.h"
#include "input.h"
#include "message.h"
#include "output_file.h"
#include "progress.h"
#include "delta/report.h"
#include "delta/state_file.h"
#include "delta/uploader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct run {
    const cli_options *options;
    cli_input cur;
    cli_output output;
    cli_state state;
    pprofdelta *context;
    pprofdelta_report report;
    cli_buffer delta; /* until the state is on disk */
    uint64_t unread;  /* bytes of delta that the uploader did not read */
} run;

static int read_cur(run *r)
{
    const cli_options *o = r->options;
    pprofdelta_error err;
    int code = cli_input_read(&r->cur, o->cur, o->library.max_memory);
    if (!code && pprofdelta_begin(r->context, r->cur.bytes, r->cur.len, &err) != PPROFDELTA_OK)
        code = cli_window_error(o->state, r->cur.name, &err);
    return code;
}

static int compute(run *r)
{
    pprofdelta_error err;
    cli_progress_say("comparing", r->cur.name);
    pprofdelta_set_started(r->context, r->options->started_nanos);
    const pprofdelta_sink sink = cli_buffer_sink(&r->delta);
    pprofdelta_status status = pprofdelta_write(r->context, &sink, &r->report, &err);
    if (status == PPROFDELTA_E_SINK)
        return cli_system_error(r->cur.name, "keep the delta", ENOMEM);
    return status ? cli_window_error(r->options->state, r->cur.name, &err) : CLI_DONE;
}

static int deliver(run *r)
{
    cli_progress_end(); /* from here on the terminal is the uploader's */
    if (r->options->uploader) {
        cli_upload upload = {.argv = r->options->uploader,
                             .bytes = (char *)r->delta.bytes,
                             .len = r->delta.len,
                             .timeout_nanos = r->options->timeout_nanos,
                             .id = r->report.id,
                             .sequence = r->report.sequence,
                             .attempt = r->report.attempt,
                             .from_nanos = r->report.from_nanos,
                             .to_nanos = r->report.to_nanos};
        return cli_upload_run(&upload, &r->unread);
    }
    pprofdelta_sink sink = cli_output_sink(&r->output);
    if (sink.write(sink.cookie, r->delta.bytes, r->delta.len) != 0)
        return r->output.failure; /* the message is printed already */
    return cli_output_finish(&r->output);
}

static cli_waiting how_to_wait(const cli_options *options)
{
    return options->no_wait ? CLI_NO_WAIT : options->quiet ? CLI_WAIT_QUIETLY : CLI_WAIT;
}

static int perform(run *r)
{
    const cli_options *o = r->options;
    int code;
    if (cli_output_leads_to(o->output, o->state))
        return cli_usage("-o and --state name the same file, which cannot be both");
    if (!o->uploader && (code = cli_output_prepare(&r->output, o->output)))
        return code;
    r->output.state = o->state;
    r->output.is_synced = true;
    cli_progress_start(!o->quiet);
    if ((code = cli_context_new(&o->library, o->cur, &r->context)) || (code = read_cur(r)) ||
        (code = cli_state_open(&r->state, o->state, how_to_wait(o))) ||
        (code = cli_state_load(&r->state, r->context)) || (code = compute(r)) ||
        (code = cli_state_replace(&r->state, r->context)) || (code = deliver(r)) ||
        (code = cli_state_arrived(&r->state)))
        return code;
    cli_report_notes(o, &r->report, o->state, r->cur.name);
    cli_report_unread(o, &r->report, r->unread);
    cli_report_print(o, &r->report, r->unread);
    return CLI_DONE;
}

int cli_state_run(const cli_options *options)
{
    run r = {.options = options,
             .report.size = sizeof r.report,
             .output = {.fd = -1},
             .state = {.lock = -1}};
    int code = perform(&r);
    cli_progress_end();
    cli_output_close(&r.output);
    cli_state_close(&r.state);
    pprofdelta_free(r.context);
    cli_input_free(&r.cur);
    free(r.delta.bytes);
    return code;
}
