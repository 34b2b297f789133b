/* pprofdelta sum BASE DELTA...: adds deltas to a profile.
 *
 * The files are read, checked and added in order. The library checks that each window begins where
 * the one before ends. Nothing is written before the last file has been added. */
#include "cli.h"
#include "input.h"
#include "message.h"
#include "delta/options.h"
#include "output_file.h"
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: pprofdelta sum BASE DELTA... [-o OUT]\n"
    "Adds the DELTAs, which follow BASE in order without a gap, to BASE. BASE is a\n"
    "cumulative profile, or the first delta of a state or of a restarted program. If\n"
    "BASE is a later delta, the sum is the delta of the longer window. Counters are\n"
    "added up; gauges are those of the last delta. Of deltas with the same sequence\n"
    "number the one with the highest attempt counts. For profiles of a live heap\n"
    "(see record), in-use values are added up too; a full profile closes a gap.\n"
    "\n"
    "  -o, --output OUT           write to the file OUT (default, or -: stdout)\n"
    "  -c, --counter TYPE[/UNIT]  add up this sample type\n"
    "  -g, --gauge TYPE[/UNIT]    take this sample type from the last delta\n"
    "      --default-type[=HOW]   if the default type is a gauge: counter or keep\n"
    "      --compress=HOW         gzip, zstd or none\n"
    "      --format=FORMAT        pprof (the default) or otlp\n"
    "      --resource=KEY=VALUE   an attribute of the resource, for otlp\n"
    "  -1 ... -9                  compress fast ... compress well\n"
    "      --no-stamp             leave out the comment that marks a delta\n"
    "      --force                add also files that do not join or are not deltas\n"
    "      --max-memory=SIZE      use at most SIZE bytes: 512M, 8G (the default)\n"
    "  -q, --quiet                print no notes on stderr\n"
    "  -h, --help\n";

static int print_help(void)
{
    return cli_output_text(help);
}

typedef struct run {
    cli_options options;
    cli_input input;
    cli_output output;
    pprofdelta_adder *adder;
    const char *last; /* the last file that counts */
    const char *gap;  /* the first file before which batches are missing, or NULL */
} run;

/* Batches of a live heap are missing, and no full profile came after them. */
static int refuse_gap(const run *r, const pprofdelta_error *err)
{
    int code = cli_sum_error(r->last, r->gap, err);
    cli_hint("a full profile of a later epoch closes the gap");
    return code;
}

/* Reads the stamp of a file that was added or will be. Returns false if it cannot be read, or not
 * again. */
static bool read_stamp(const run *r, const char *path, pprofdelta_stamp *stamp)
{
    cli_input input;
    char why[CLI_WHY_ROOM];
    pprofdelta *context = NULL;
    pprofdelta_census census;
    uint64_t limit = r->options.library.max_memory;
    bool is_read =
        !cli_input_is_stdin(path) && cli_input_try(&input, (cli_file){path, NULL}, limit, why);
    bool is_known = is_read && !pprofdelta_new(&r->options.library, NULL, &context, NULL) &&
                    !pprofdelta_check(context, input.bytes, input.len, &census, NULL);
    if (is_known)
        *stamp = census.stamp;
    pprofdelta_free(context);
    if (is_read)
        cli_input_free(&input);
    return is_known;
}

/* Does the window of next begin where the window of last ends? */
static bool is_next(const pprofdelta_stamp *last, const pprofdelta_stamp *next)
{
    bool has_numbers = last->sequence && next->sequence;
    return last->to_nanos == next->from_nanos &&
           (has_numbers ? next->sequence == last->sequence + 1 : last->to_nanos != 0);
}

/* Looks for the window that is missing before file `name` among the files after it. If it is there,
 * prints that the order is wrong and returns true. */
static bool refuse_order(const run *r, const char *name)
{
    pprofdelta_stamp last, next;
    if (!read_stamp(r, r->last, &last))
        return false;
    size_t at = 0;
    while (at < r->options.files_len && r->options.files[at] != name)
        at++;
    for (at++; at < r->options.files_len; at++) {
        const char *later = r->options.files[at];
        if (!read_stamp(r, later, &next) || !next.is_delta || !is_next(&last, &next))
            continue;
        cli_error("%s: is out of order: its window comes between those of %s and %s", later,
                  r->last, name);
        return true;
    }
    return false;
}

static int refuse(const run *r, const char *name, const pprofdelta_error *err)
{
    bool is_between = err->status == PPROFDELTA_E_MISMATCH && r->last;
    if (is_between && strstr(err->text, "fills a gap") && r->gap) {
        cli_error("%s: is out of order: its batch comes before that of %s", name, r->gap);
        return CLI_FAILED;
    }
    if (is_between && strstr(err->text, "missing between") && refuse_order(r, name))
        return CLI_FAILED;
    return cli_sum_error(r->last, name, err);
}

/* Names what is missing between the last file and this one: a restart ended it before it arrived. */
static void note_ended(const run *r, const char *name)
{
    pprofdelta_stamp last, next;
    char which[80] = "a window";
    if (read_stamp(r, r->last, &last) && read_stamp(r, name, &next)) {
        uint64_t first = last.sequence + 1, end = next.sequence - 1;
        if (first < end)
            snprintf(which, sizeof which, "each of the windows %" PRIu64 " to %" PRIu64, first,
                     end);
        else
            snprintf(which, sizeof which, "%swindow %" PRIu64,
                     first > end ? "the last attempt at " : "", end);
    }
    cli_note("%s: %s is missing after %s: a restart ended it before it was acknowledged; if it did "
             "not arrive, it is lost",
             name, which, r->last);
}

static void note(run *r, const char *name, pprofdelta_joint joint)
{
    const char *gap = r->gap;
    if (joint == PPROFDELTA_JOINT_RESYNC)
        r->gap = NULL;
    else if (joint == PPROFDELTA_JOINT_GAP && !gap)
        r->gap = name;
    if (r->options.quiet)
        return;
    switch (joint) {
    case PPROFDELTA_JOINT_FIRST:
    case PPROFDELTA_JOINT_NEXT:
    case PPROFDELTA_JOINT_GAP: /* noted or refused later: a full profile may come */
        break;
    case PPROFDELTA_JOINT_RESYNC:
        if (gap)
            cli_note("%s: batches are missing between %s and %s; this full profile closes the gap",
                     name, r->last, gap);
        break;
    case PPROFDELTA_JOINT_RESTART:
        cli_note("%s: the program restarted before this window; the sum covers the time before and "
                 "after the restart (for the time after it only, begin with this file)",
                 name);
        break;
    case PPROFDELTA_JOINT_ENDED:
        note_ended(r, name);
        break;
    case PPROFDELTA_JOINT_AGAIN:
        cli_note("%s: is the same window as %s, sent again; this one counts", name, r->last);
        break;
    case PPROFDELTA_JOINT_STALE:
        cli_note("%s: is an earlier attempt at the same window as %s; it does not count", name,
                 r->last);
        break;
    case PPROFDELTA_JOINT_UNTIMED:
        cli_note(
            "%s: neither this file nor %s has a time, so it is not known if a window is missing",
            name, r->last);
        break;
    case PPROFDELTA_JOINT_FORCED:
        cli_note("%s: does not join %s; it was added because of --force", name, r->last);
        break;
    }
}

static int add(run *r, const char *path)
{
    pprofdelta_error err;
    pprofdelta_joint joint;
    int code = cli_input_read(&r->input, path, r->options.library.max_memory);
    if (code)
        return code;
    const char *name = r->input.name;
    cli_progress_say("adding", name);
    if (pprofdelta_adder_add(r->adder, r->input.bytes, r->input.len, &joint, &err))
        return refuse(r, name, &err);
    note(r, name, joint);
    if (joint != PPROFDELTA_JOINT_STALE && joint != PPROFDELTA_JOINT_GAP)
        r->last = name;
    cli_input_free(&r->input);
    return CLI_DONE;
}

static int write_sum(run *r)
{
    pprofdelta_error err;
    pprofdelta_sink sink = cli_output_sink(&r->output);
    if (pprofdelta_adder_finish(r->adder, &sink, &err))
        return r->gap && err.status == PPROFDELTA_E_MISMATCH ? refuse_gap(r, &err)
               : r->output.failure                           ? r->output.failure
                                                             : cli_library_error("the sum", &err);
    return cli_output_finish(&r->output);
}

static int perform(run *r, int argc, char **argv)
{
    pprofdelta_error err;
    int code = cli_options_parse_sum(&r->options, argc, argv, print_help);
    if (code || r->options.print)
        return code ? code : r->options.print();
    if ((code = cli_output_prepare(&r->output, r->options.output)))
        return code;
    if (pprofdelta_adder_new(&r->options.library, NULL, &r->adder, &err))
        return cli_options_error(cli_input_name(r->options.files[0]), &err);
    cli_progress_start(!r->options.quiet);
    for (size_t i = 0; i < r->options.files_len; i++)
        if ((code = add(r, r->options.files[i])))
            return code;
    return write_sum(r);
}

int cli_sum(int argc, char **argv)
{
    run r = {.output = {.fd = -1}};
    int code = perform(&r, argc, argv);
    cli_progress_end();
    pprofdelta_adder_free(r.adder);
    cli_output_close(&r.output);
    cli_input_free(&r.input);
    cli_options_free(&r.options);
    return code;
}
