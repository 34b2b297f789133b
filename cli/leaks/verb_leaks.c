/* pprofdelta leaks FILE...: which stacks keep growing?
 *
 *     leaks_files.c     lists the files, reads their times and stamps
 *     leaks_order.c     sorts them into runs (pure)
 *     leaks_windows.c   reads each window: in-use values, the library's sum where they are changes
 *     leaks_rows.c      one series for each stack
 *     leaks_verdict.c   is a series a leak? (pure)
 *     leaks_stack.c     the frames of a stack, and which is the program's own
 *     leaks_rank.c      judges stacks and sums of stacks; ranks what was found
 *     leaks_areas.c     judges the areas of the resident memory
 *     leaks_text.c, leaks_json.c   print */
#include "leaks/leaks_files.h"
#include "leaks/leaks_print.h"

#include "cli.h"
#include "input.h"
#include "keep.h"
#include "message.h"
#include "symbolize/names.h"
#include "arguments.h"
#include "output_file.h"

#include <string.h>

enum { DEFAULT_TOP = 10 };

typedef struct leaks_options {
    const char *const *files;
    size_t files_len;
    size_t top; /* 0: not given */
    cli_leaks_how how;
    bool all_frames;
    bool all, json, fail, quiet;
} leaks_options;

static int check_file(void *options, const char *value)
{
    (void)options;
    if (!*value)
        return cli_usage("the name of a profile is empty");
    if (!strcmp(value, "-"))
        return cli_usage("leaks reads each profile more than once, so stdin cannot be one");
    return CLI_DONE;
}

static const cli_option table[] = {
    {"--top", 0, CLI_VALUE, cli_take_rows, offsetof(leaks_options, top),
     "      --top=N            print N suspects of each run (10)\n", 0, 0},
    {"--all", 0, CLI_ALONE, cli_take_flag, offsetof(leaks_options, all),
     "      --all              print also what is not a suspect, and why\n", 0, 0},
    {"--all-frames", 0, CLI_ALONE, cli_take_flag, offsetof(leaks_options, all_frames),
     "      --all-frames       wrappers of malloc and start-up functions, too\n", 0, 0},
    {"--json", 0, CLI_ALONE, cli_take_flag, offsetof(leaks_options, json),
     "      --json             print one JSON object, with all frames\n", 0, 0},
    {"--fail", 0, CLI_ALONE, cli_take_flag, offsetof(leaks_options, fail),
     "      --fail             exit with status 5 if there is a suspect, and with 6 if\n"
     "                         none is, but growth is unknown or profiles are too few\n",
     0, 0},
    {"--type", 0, CLI_VALUE, cli_take_type, offsetof(leaks_options, how.type),
     "      --type=TYPE[/UNIT] the sample type that is judged (inuse_space)\n", 0, 0},
    {"--every", 0, CLI_VALUE, cli_take_span, offsetof(leaks_options, how.every_nanos),
     "      --every=TIME       the time between two profiles, whatever theirs are\n", 0, 0},
    {"--max-memory", 0, CLI_VALUE, cli_take_size, offsetof(leaks_options, how.max_memory),
     "      --max-memory=SIZE  use at most SIZE bytes: 512M, 8G (the default)\n", 0, 0},
    {"--no-symbolize", 0, CLI_ALONE, cli_take_flag,
     offsetof(leaks_options, how.names.is_not_symbolized),
     "      --no-symbolize     leave addresses as they are\n"
     "      --no-demangle      leave the names of C++ and Rust mangled\n"
     "      --debug-dir=DIR    look for binaries and debug files in DIR, too\n",
     0, 0},
    {"--no-demangle", 0, CLI_ALONE, cli_take_flag,
     offsetof(leaks_options, how.names.is_not_demangled), "", 0, 0},
    {"--debug-dir", 0, CLI_VALUE, cli_names_take_dir, offsetof(leaks_options, how.names), "", 0, 0},
    {"--quiet", 'q', CLI_ALONE, cli_take_flag, offsetof(leaks_options, quiet),
     "  -q, --quiet            print no notes on stderr\n", 0, 0},
    {"--help", 'h', CLI_ALONE, NULL, 0, "  -h, --help\n", 0, 0},
    {NULL, 0, CLI_ALONE, NULL, 0, NULL, 0, 0},
};

static const cli_command command = {
    .before = "usage: pprofdelta leaks [option ...] FILE...\n"
              "Prints the stacks whose memory in use grows steadily, from the profiles of one\n"
              "run: those that record wrote (a FILE may be its directory), or Go's heap\n"
              "profiles, one after the other. At least 6 are needed; 10 or more are better.\n"
              "\n",
    .options = table,
    .after = "\n"
             "Exit status: 0 done, 1 failed, 2 wrong command line, 5 and 6 see --fail\n",
    .operand = check_file,
};

/* ---- notes -------------------------------------------------------------------------------- */

static const char *find_role(const cli_leaks_files *files, cli_leaks_role role)
{
    for (size_t i = 0; i < files->len; i++)
        if (files->files[i].role == role)
            return files->files[i].path;
    return "";
}

/* Prints what was done about files that are out of order, duplicate or without a base. */
static void note_order(const cli_leaks_files *files, const cli_leaks_order_report *order)
{
    if (order->moved)
        cli_note("%zu file%s older than a file before: the files are taken in the order of their "
                 "times",
                 order->moved, order->moved == 1 ? " is" : "s are");
    if (order->again)
        cli_note("%s: is the same window as another file; %zu file%s not count",
                 find_role(files, CLI_LEAKS_AGAIN), order->again,
                 order->again == 1 ? " does" : "s do");
    if (order->gaps)
        cli_note("%s: has changes only, and a profile before it is missing; %zu file%s not count",
                 find_role(files, CLI_LEAKS_GAP), order->gaps, order->gaps == 1 ? " does" : "s do");
}

static void note_runs(const cli_leaks_files *files, const cli_leaks_runs *runs)
{
    for (size_t i = 0; i < runs->len; i++)
        if (runs->runs[i].left_out)
            cli_note("%s: is the last profile, and less is in use than before: it is not judged, "
                     "since programs free memory when they end",
                     runs->runs[i].left_out);
    for (size_t i = 0; i < runs->len; i++)
        if (runs->runs[i].has_restarted)
            cli_note("%s: the program restarted before this profile; each run is judged by itself",
                     files->files[runs->runs[i].first].path);
}

/* No file counts: all are changes without the profile that they change. */
static int refuse_gaps(const cli_leaks_files *files)
{
    cli_error("%s: has changes of in-use values only, and what they change is missing",
              files->files[0].path);
    cli_hint("add the profiles before it: the first profile of a process has all values "
             "(heap.PID.1.pb.gz), or use record --snapshot");
    return CLI_FAILED;
}

/* ---- the run ------------------------------------------------------------------------------ */

typedef struct run {
    leaks_options options;
    cli_leaks_files files;
    cli_leaks_runs runs;
    cli_leaks_findings *findings;
} run;

size_t cli_leaks_find_shown(const cli_leaks_report *report, const cli_leaks_findings *findings,
                            const cli_leaks_finding ***shown, size_t *left)
{
    size_t len = 0;
    *shown = cli_keep(findings->len, sizeof **shown);
    for (size_t i = 0; i < findings->len; i++) {
        const cli_leaks_finding *f = &findings->list[i];
        if (report->all || (f->verdict.kind != CLI_LEAKS_NONE && !cli_leaks_is_member(f)))
            (*shown)[len++] = f;
    }
    *left = len > report->top ? len - report->top : 0;
    return len - *left;
}

static int print(const run *r, const cli_leaks_order_report *order)
{
    size_t most = r->options.all ? SIZE_MAX : DEFAULT_TOP;
    cli_leaks_report report = {.runs = &r->runs,
                               .findings = r->findings,
                               .order = *order,
                               .top = r->options.top ? r->options.top : most,
                               .all = r->options.all,
                               .all_frames = r->options.all_frames};
    for (size_t i = 0; i < r->runs.len; i++)
        (r->options.json ? cli_leaks_put_json : cli_leaks_put_text)(&report, i);
    return cli_output_end_text();
}

/* The exit status with --fail. A run with too few profiles counts only if all have too few: programs
 * start others that end soon. */
static int status_of(const run *r)
{
    bool is_enough = false, is_unknown = false;
    for (size_t i = 0; i < r->runs.len; i++) {
        bool has_verdict = r->runs.runs[i].windows >= CLI_LEAKS_LEAST_POINTS;
        if (r->findings[i].suspects)
            return CLI_LEAKS_FOUND;
        is_enough |= has_verdict;
        is_unknown |= has_verdict && r->findings[i].unknown;
    }
    return is_enough && !is_unknown ? CLI_DONE : CLI_LEAKS_NO_VERDICT;
}

static int perform(run *r)
{
    const leaks_options *options = &r->options;
    if (options->quiet)
        cli_message_quiet();
    else
        cli_progress_start();
    int code = cli_leaks_files_read(&r->files, options->files, options->files_len, &options->how);
    if (code)
        return code;
    cli_leaks_order_report order = cli_leaks_order(r->files.files, r->files.len);
    if (order.gaps + order.again == r->files.len)
        return refuse_gaps(&r->files);
    code = cli_leaks_read(&r->runs, r->files.files, r->files.len, &options->how);
    r->findings = cli_keep(r->runs.len, sizeof *r->findings);
    for (size_t i = 0; i < r->runs.len && !code; i++)
        cli_leaks_rank(&r->findings[i], &r->runs.runs[i]);
    cli_progress_end();
    if (code)
        return code;
    note_order(&r->files, &order);
    note_runs(&r->files, &r->runs);
    code = print(r, &order);
    return code || !options->fail ? code : status_of(r);
}

int cli_leaks(int argc, char **argv)
{
    run r = {.options = {.how.max_memory = PPROFDELTA_DEFAULT_MAX_MEMORY}};
    cli_arguments arguments = {.argc = argc, .argv = argv};
    int code = cli_command_read(&command, &arguments, &r.options);
    r.options.files = arguments.operands;
    r.options.files_len = arguments.operands_len;
    if (!code && !arguments.is_done)
        code = r.options.files_len
                   ? perform(&r)
                   : cli_usage("the profiles are missing: pprofdelta leaks FILE...");
    cli_leaks_files_free(&r.files);
    return code;
}
