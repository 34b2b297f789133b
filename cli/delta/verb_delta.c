/* pprofdelta PREV CUR: the delta of two files. pprofdelta --state FILE [CUR]: one window.
 *
 * Everything is computed before anything is written, and what is written takes OUT's place only
 * when it is complete. With a state:
 *
 *     read CUR -> lock FILE -> load -> delta, in memory -> next state, in a temporary file
 *              -> FILE is replaced -> the delta goes out -> one byte of FILE says that it arrived
 *
 * Everything that can fail for lack of space or permissions is done before the delta goes out. If the
 * run ends before the last byte is written, FILE has an open attempt: the next window begins at the
 * same place, with the same sequence and a higher attempt, and has at least what this one had. So
 * nothing is lost, and nothing counts twice if the receiver keeps, of each sequence, the delta with the
 * highest attempt. */
#include "cli.h"
#include "input.h"
#include "message.h"
#include "delta/options.h"
#include "output_file.h"
#include "delta/report.h"
#include "delta/state_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#ifdef __GLIBC__
#include <malloc.h>
#else
#define mallopt(option, value) ((void)0)
#endif

typedef struct run {
    cli_options options;
    cli_input prev, cur;
    cli_output output;
    cli_state state;
    pprofdelta *context;
    pprofdelta_report report;
    cli_buffer delta; /* with a state: until the state is on disk */
    uint64_t unread;  /* bytes of delta that the uploader did not read */
    bool is_lost;     /* the window is older than --max-age: it is not sent */
} run;

/* ---- the start of the program ---------------------------------------------------------------- */

/* Is the time after the last change of the file? */
static bool is_after(int64_t nanos, const struct timespec *changed)
{
    const int64_t second = 1000000000;
    return nanos / second != changed->tv_sec ? nanos / second > changed->tv_sec
                                             : nanos % second > changed->tv_nsec;
}

/* Gives the start to the library, which compares it with the time of the profile that it remembers.
 * Text heap profiles have no time: that of the file, which was written after the profile was taken,
 * stands in. prev: the file; NULL: there is none. */
static void set_started(run *r, const char *name, const struct stat *prev)
{
    int64_t started = r->options.started_nanos;
    pprofdelta_memory m = {.size = sizeof m};
    if (!started)
        return;
    pprofdelta_describe(r->context, &m);
    if (m.types_len && !(m.attempts ? m.open_to_nanos : m.to_nanos)) {
        bool has_time = prev && S_ISREG(prev->st_mode);
        if (!has_time)
            cli_must(cli_error("%s: the profile has no time that --started could be compared with; "
                               "give it as a regular file, whose time stands in",
                               name));
        started = has_time && is_after(started, &prev->st_mtim) ? INT64_MAX : 0;
    }
    pprofdelta_set_started(r->context, started);
}

/* ---- two files ------------------------------------------------------------------------------- */

/* Of two dumps without a time the library cannot tell it. */
static bool is_one_file(const char *a, const char *b)
{
    struct stat of_a, of_b;
    return strcmp(a, "-") != 0 && strcmp(b, "-") != 0 && !stat(a, &of_a) && !stat(b, &of_b) &&
           S_ISREG(of_a.st_mode) && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

static void compare_files(run *r)
{
    const cli_options *o = &r->options;
    const pprofdelta_sink sink = {.write = cli_output_write, .cookie = &r->output};
    pprofdelta_error err;
    struct stat prev;
    bool is_one = is_one_file(o->prev, o->cur);
    cli_must(cli_input_read(&r->prev, (cli_file){.path = o->prev}, o->library.max_memory));
    if (pprofdelta_base(r->context, r->prev.bytes, r->prev.len, &err))
        cli_must(cli_library_error(r->prev.name, &err));
    bool is_file = strcmp(o->prev, "-") != 0 && !stat(o->prev, &prev);
    set_started(r, r->prev.name, is_file ? &prev : NULL);
    cli_input_free(&r->prev); /* before those of CUR are read */
    cli_must(cli_input_read(&r->cur, (cli_file){.path = o->cur}, o->library.max_memory));
    cli_progress_say("comparing", r->cur.name);
    if (pprofdelta_window(r->context, r->cur.bytes, r->cur.len, &sink, &r->report, &err))
        cli_must(r->output.failure
                     ? r->output.failure /* the message is printed already */
                     : cli_inputs_error(CLI_TWO_FILES, r->prev.name, r->cur.name, &err));
    r->report.is_same |= is_one;
    cli_must(cli_output_finish(&r->output));
}

/* ---- with a state ---------------------------------------------------------------------------- */

/* Is the window older than --max-age? If it is only older than what the receiver takes, that is said once: not if the
 * last attempt, with which FILE was written, was that as well. */
static bool must_stay(const run *r, const pprofdelta_memory *before)
{
    const cli_options *o = &r->options;
    const int64_t second = 1000000000, last = (int64_t)r->state.is.st_mtim.tv_sec * second;
    cli_waiting window = {.name = o->state,
                          .receiver = o->receiver,
                          .max_age_nanos = o->max_age_nanos,
                          .format = o->library.format,
                          .from_nanos = before->open_from_nanos,
                          .to_nanos = before->open_to_nanos};
    bool is_told = before->attempts && cli_waiting_is_late(&window, last);
    window.from_nanos = r->report.from_nanos;
    window.to_nanos = r->report.to_nanos;
    return cli_waiting_must_stay(&window, is_told, "it is not sent, and counts as lost");
}

/* Makes the delta, and a FILE that has this attempt. Returns false if another run has made FILE first. */
static bool try_window(run *r)
{
    const cli_options *o = &r->options;
    const pprofdelta_sink sink = {.write = cli_buffer_append, .cookie = &r->delta};
    pprofdelta_memory before = {.size = sizeof before};
    pprofdelta_error err;
    if (pprofdelta_begin(r->context, r->cur.bytes, r->cur.len, &err))
        cli_must(cli_inputs_error(CLI_A_STATE, o->state, r->cur.name, &err));
    cli_state_open(&r->state, o);
    cli_must(cli_state_load(&r->state, r->context));
    pprofdelta_describe(r->context, &before);
    set_started(r, o->state, &r->state.is);
    cli_progress_say("comparing", r->cur.name);
    pprofdelta_status status = pprofdelta_write(r->context, &sink, &r->report, &err);
    if (status)
        cli_must(status == PPROFDELTA_E_SINK
                     ? cli_system_error(r->cur.name, "keep the delta", ENOMEM)
                     : cli_inputs_error(CLI_A_STATE, o->state, r->cur.name, &err));
    r->is_lost = o->uploader.argv && r->delta.len && must_stay(r, &before);
    if (r->is_lost)
        r->delta.len = 0;
    if (!r->delta.len) /* so is a request without samples: nothing is sent, and the state goes on */
        pprofdelta_commit(r->context);
    return cli_state_replace(&r->state, r->context);
}

static void continue_state(run *r)
{
    const cli_options *o = &r->options;
    cli_must(cli_input_read(&r->cur, (cli_file){.path = o->cur}, o->library.max_memory));
    while (!try_window(r)) {
        pprofdelta_abandon(r->context);
        r->delta.len = 0;
    }
    if (o->uploader.argv && r->delta.len) {
        cli_progress_end(); /* from here on the terminal is the uploader's */
        cli_must(cli_upload_run(&o->uploader, &r->delta, &r->report, &r->unread));
    } else if (!o->uploader.argv) {
        cli_must(cli_output_finish_with(&r->output, &r->delta));
    }
    if (r->delta.len)
        cli_state_arrived(&r->state);
}

/* ---- the run --------------------------------------------------------------------------------- */

int cli_delta(int argc, char **argv)
{
    static run r = {.report.size = sizeof r.report, .output = {.fd = -1}, .state = {.lock = -1}};
    const cli_options *o = &r.options;
    pprofdelta_error err;
    /* After glibc has freed a large block, it puts others of up to that length into its heap, where an array
     * that grows leaves its former places. A run is short and needs the memory for other arrays. */
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
    cli_options_parse(&r.options, &cli_delta_command, argc, argv);
    if (o->status)
        return cli_status_print(o);
    const char *first = o->state ? o->cur : o->prev;
    r.output.state = o->state;
    if (!o->uploader.argv)
        cli_must(cli_output_prepare(&r.output, o->output));
    cli_progress_start();
    if (pprofdelta_new(&o->library, NULL, &r.context, &err))
        cli_must(cli_options_error(cli_input_name(first), &err));
    (o->state ? continue_state : compare_files)(&r);
    if (o->report != CLI_REPORT_JSON && !cli_is_quiet) /* JSON has all of this */
        cli_report_notes(o, &r.report, o->state ? o->state : r.prev.name, r.cur.name, r.unread);
    if (o->report)
        cli_report_print(o, &r.report, r.unread, r.is_lost);
    pprofdelta_free(r.context); /* and valgrind sees that all of it is */
    return CLI_DONE;
}
