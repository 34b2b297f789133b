/* pprofdelta sum BASE DELTA...: adds deltas to a profile.
 * pprofdelta merge DELTA...: makes one profile of the windows of many targets.
 *
 * The files of a sum are read, checked and added in order. The library checks that each window begins
 * where the one before ends. Those of a merge are read twice: first their stamps, by which they are
 * sorted, because the library takes the windows of one target after another; so one file is in memory at
 * a time. Nothing is written before the last file has been added. */
#include "cli.h"
#include "input.h"
#include "keep.h"
#include "message.h"
#include "delta/options.h"
#include "output_file.h"
#include "record/recover.h"

#include <stdlib.h>
#include <string.h>

/* How a file joins the last one, if many files of a sum do: the first of them, and the last one
 * before it. */
typedef struct joined {
    size_t len;
    const char *name, *last;
} joined;

/* A file of a merge. */
typedef struct window {
    const char *path;
    pprofdelta_stamp stamp;
} window;

typedef struct run {
    cli_options options;
    cli_input input;
    cli_output output;
    cli_folder folder; /* of a sum, if a directory was given */
    pprofdelta_adder *adder;
    const char *last; /* the last file that counts */
    const char *gap;  /* the first file before which batches are missing, or NULL */
    joined joins[PPROFDELTA_JOIN_APART];
    window *windows;           /* of a merge, sorted; NULL: a sum */
    size_t replaced;           /* of a merge: files that do not count */
    size_t apart;              /* files before which windows are missing */
    const char *after_missing; /* the first of them */
} run;

/* Errors of a sum have hints of their own. */
static unsigned kind_of(const pprofdelta_error *err)
{
    return err->stage == PPROFDELTA_STAGE_SUM ? CLI_A_SUM : CLI_TWO_FILES;
}

/* Batches of a live heap are missing, and no full profile came after them. */
static int refuse_gap(const run *r, const pprofdelta_error *err)
{
    int code = cli_inputs_error(kind_of(err), r->last, r->gap, err);
    cli_hint("a full profile of a later epoch closes the gap");
    return code;
}

static int refuse_file(const run *r, const char *name, const pprofdelta_error *err)
{
    if (err->reason == PPROFDELTA_REASON_WINDOW_LATE && r->gap) {
        cli_error("%s: is out of order: its batch comes before that of %s", name, r->gap);
        return CLI_FAILED;
    }
    if (r->windows && r->gap && err->reason == PPROFDELTA_REASON_WINDOW_MISSING)
        return refuse_gap(r, err);
    if (r->windows && err->element < r->options.arguments.operands_len)
        return cli_inputs_error(CLI_A_MERGE, r->windows[err->element].path, name, err);
    return cli_inputs_error(r->windows ? CLI_TWO_FILES : kind_of(err), r->last, name, err);
}

static bool is_counted(pprofdelta_join join)
{
    return join != PPROFDELTA_JOIN_STALE && join != PPROFDELTA_JOIN_EQUAL &&
           join != PPROFDELTA_JOIN_GAP;
}

/* What is said of a file of a sum, before and after the name of the last one, if that belongs to
 * it. A gap is noted or refused later, because a full profile may come. */
static const struct {
    const char *before, *after;
} notes[PPROFDELTA_JOIN_APART] = {
    [PPROFDELTA_JOIN_RESTART] = {"the program restarted before this window; the sum covers the "
                                 "time before and after the restart (for the time after it "
                                 "only, begin with this file)",
                                 NULL},
    [PPROFDELTA_JOIN_ENDED] = {"a window is missing between ",
                               " and this file: it was not acknowledged, since a restart "
                               "ended it, or nothing was in it; if it did not arrive, it is lost"},
    [PPROFDELTA_JOIN_AGAIN] = {"is the same window as ", ", sent again; this one counts"},
    [PPROFDELTA_JOIN_STALE] = {"is an earlier attempt at the same window as ",
                               "; it does not count"},
    [PPROFDELTA_JOIN_EQUAL] = {"is the same attempt at the same window as ", "; it does not count"},
    [PPROFDELTA_JOIN_UNTIMED] = {"neither this file nor ",
                                 " has a time, so it is not known if a window is missing"},
    [PPROFDELTA_JOIN_FORCED] = {"does not join ", "; it was added because of --force"},
};

/* One note for all files that join in this way. */
static void note_joined(const joined *j, pprofdelta_join join)
{
    const char *others = j->len > 1 ? cli_keep_print("; the same is true of %zu other %s",
                                                     j->len - 1, j->len == 2 ? "file" : "files")
                                    : "";
    if (j->len)
        cli_note("%s: %s%s%s%s", j->name, notes[join].before, notes[join].after ? j->last : "",
                 notes[join].after ? notes[join].after : "", others);
}

static void note_join(run *r, const char *name, pprofdelta_join join)
{
    const char *gap = r->gap;
    if (join == PPROFDELTA_JOIN_RESYNC)
        r->gap = NULL;
    else if (join == PPROFDELTA_JOIN_GAP && !gap)
        r->gap = name;
    if (join == PPROFDELTA_JOIN_RESYNC && gap)
        cli_note("%s: batches are missing between %s and %s; this full profile closes the gap",
                 name, r->last, gap);
    r->replaced += !is_counted(join) || join == PPROFDELTA_JOIN_AGAIN;
    r->apart += join == PPROFDELTA_JOIN_APART;
    if (join == PPROFDELTA_JOIN_APART && !r->after_missing)
        r->after_missing = name;
    if (join >= PPROFDELTA_JOIN_APART || !notes[join].before)
        return;
    joined *joins = &r->joins[join];
    if (!joins->len++)
        *joins = (joined){1, name, r->last};
    if (join == PPROFDELTA_JOIN_ENDED && !r->windows) { /* each may be a loss */
        note_joined(joins, join);
        joins->len = 0;
    }
}

static int add_file(run *r, cli_file file)
{
    pprofdelta_error err;
    pprofdelta_join join;
    pprofdelta_census census;
    bool is_profile = true;
    uint64_t limit = r->options.library.max_memory;
    int code = file.found_in ? cli_input_check(file, limit, &census, &is_profile) : CLI_DONE;
    if (code || !is_profile)
        return code;
    if ((code = cli_input_read(&r->input, file, limit)))
        return code;
    const char *name = r->input.name;
    cli_progress_say("adding", name);
    if (pprofdelta_adder_add(r->adder, r->input.bytes, r->input.len, &join, &err))
        return refuse_file(r, name, &err);
    note_join(r, name, join);
    if (is_counted(join))
        r->last = name;
    cli_input_free(&r->input);
    return CLI_DONE;
}

static void write_sum(run *r)
{
    pprofdelta_error err;
    const pprofdelta_sink sink = {.write = cli_output_write, .cookie = &r->output};
    if (pprofdelta_adder_finish(r->adder, &sink, &err))
        cli_must(r->gap && err.status == PPROFDELTA_E_MISMATCH
                     ? refuse_gap(r, &err)
                     : cli_output_error(&r->output, "the sum", &err));
    cli_must(cli_output_finish(&r->output));
}

/* ---- a merge ----------------------------------------------------------------------------------- */

/* By target, then by window and attempt. */
static int by_window(const void *left, const void *right)
{
    const window *a = left, *b = right;
    const uint64_t of_a[] = {a->stamp.id, a->stamp.epoch, a->stamp.sequence, a->stamp.attempt};
    const uint64_t of_b[] = {b->stamp.id, b->stamp.epoch, b->stamp.sequence, b->stamp.attempt};
    for (size_t i = 0; i < sizeof of_a / sizeof *of_a; i++)
        if (of_a[i] != of_b[i])
            return of_a[i] < of_b[i] ? -1 : 1;
    return strcmp(a->path, b->path);
}

/* Reads the stamps, and sorts the files by them. */
static void sort_windows(run *r)
{
    const cli_arguments *arguments = &r->options.arguments;
    pprofdelta_census census;
    bool is_read;
    r->windows = cli_keep(arguments->operands_len, sizeof *r->windows);
    for (size_t i = 0; i < arguments->operands_len; i++) {
        const cli_file file = {.path = arguments->operands[i], .is_regular = true};
        cli_must(cli_input_check(file, r->options.library.max_memory, &census, &is_read));
        r->windows[i] = (window){file.path, census.stamp};
    }
    qsort(r->windows, arguments->operands_len, sizeof *r->windows, by_window);
}

static void note_merge(const run *r)
{
    if (r->replaced)
        cli_note(
            "files that do not count, because another attempt at their window does or they are "
            "there twice: %zu of %zu",
            r->replaced, r->options.arguments.operands_len);
    if (r->apart)
        cli_note("windows of a target are missing before %s%s", r->after_missing,
                 r->apart > 1 ? ", and before other files" : "");
}

/* ---- the verbs --------------------------------------------------------------------------------- */

static void add_files(run *r)
{
    const char *const *operands = r->options.arguments.operands;
    const bool is_folder = r->folder.files_len;
    size_t len = is_folder ? r->folder.files_len : r->options.arguments.operands_len;
    int code = CLI_DONE;
    for (size_t i = 0; i < len && !code; i++)
        code = add_file(r, is_folder    ? r->folder.files[i]
                           : r->windows ? (cli_file){r->windows[i].path, true, NULL}
                                        : (cli_file){.path = operands[i]});
    for (int join = 0; join < PPROFDELTA_JOIN_APART && !r->windows; join++)
        note_joined(&r->joins[join], (pprofdelta_join)join);
    cli_must(code);
    if (!r->last)
        cli_must(cli_error("%s: no file in it is a profile", operands[0]));
    if (r->windows)
        note_merge(r);
}

static int run_verb(const cli_command *command, int argc, char **argv)
{
    static run r = {.output = {.fd = -1}};
    const cli_arguments *arguments = &r.options.arguments;
    pprofdelta_error err;
    cli_options_parse(&r.options, command, argc, argv);
    cli_must(cli_output_prepare(&r.output, r.options.output));
    if (pprofdelta_adder_new(&r.options.library, NULL, &r.adder, &err))
        cli_must(cli_options_error(cli_input_name(arguments->operands[0]), &err));
    cli_progress_start();
    if (command == &cli_merge_command)
        sort_windows(&r);
    else if (arguments->operands_len == 1 && cli_is_folder(arguments->operands[0]))
        cli_must(cli_recover_and_read(&r.folder, arguments->operands[0], "sum"));
    add_files(&r);
    write_sum(&r);
    pprofdelta_adder_free(r.adder);
    return CLI_DONE;
}

int cli_sum(int argc, char **argv)
{
    return run_verb(&cli_sum_command, argc, argv);
}

int cli_merge(int argc, char **argv)
{
    return run_verb(&cli_merge_command, argc, argv);
}
