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

#include "arguments.h"
#include "cli.h"
#include "input.h"
#include "instant.h"
#include "message.h"
#include "symbolize/names.h"
#include "option_values.h"
#include "output_file.h"
#include "progress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: pprofdelta leaks [option ...] FILE...\n"
    "Prints the stacks whose memory in use grows steadily, from the profiles of one\n"
    "run: those that record wrote (a FILE may be its directory), or Go's heap\n"
    "profiles, one after the other. At least 6 are needed; 10 or more are better.\n"
    "\n"
    "      --top=N            print N suspects of each run (10)\n"
    "      --all              print also what is not a suspect, and why\n"
    "      --all-frames       wrappers of malloc and start-up functions, too\n"
    "      --json             print one JSON object, with all frames\n"
    "      --fail             exit with status 5 if there is a suspect, and with 6 if\n"
    "                         none is, but growth is unknown or profiles are too few\n"
    "      --type=TYPE[/UNIT] the sample type that is judged (inuse_space)\n"
    "      --every=TIME       the time between two profiles, whatever theirs are\n"
    "      --max-memory=SIZE  use at most SIZE bytes: 512M, 8G (the default)\n"
    "      --no-symbolize, --no-demangle, --debug-dir=DIR  as for show\n"
    "  -q, --quiet            print no notes on stderr\n"
    "  -h, --help\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 wrong command line, 5 and 6 see --fail\n";

enum {
    OPT_TOP = CLI_LONG,
    OPT_ALL,
    OPT_ALL_FRAMES,
    OPT_JSON,
    OPT_FAIL,
    OPT_TYPE,
    OPT_EVERY,
    OPT_MAX_MEMORY
};
enum { DEFAULT_TOP = 10 };

static const struct option table[] = {
    {"top", required_argument, NULL, OPT_TOP},
    {"all", no_argument, NULL, OPT_ALL},
    {"all-frames", no_argument, NULL, OPT_ALL_FRAMES},
    {"json", no_argument, NULL, OPT_JSON},
    {"fail", no_argument, NULL, OPT_FAIL},
    {"type", required_argument, NULL, OPT_TYPE},
    {"every", required_argument, NULL, OPT_EVERY},
    {"max-memory", required_argument, NULL, OPT_MAX_MEMORY},
    {"no-symbolize", no_argument, NULL, CLI_NAMES_NO_SYMBOLIZE},
    {"no-demangle", no_argument, NULL, CLI_NAMES_NO_DEMANGLE},
    {"debug-dir", required_argument, NULL, CLI_NAMES_DEBUG_DIR},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

typedef struct leaks_options {
    const char **files;
    size_t files_len;
    const char *type; /* NULL: what is in use */
    size_t top;       /* 0: not given */
    int64_t every_nanos;
    uint64_t max_memory;
    cli_names names;
    bool all_frames;
    bool all, json, fail, quiet, help;
} leaks_options;

static int add_file(leaks_options *options, const char *value)
{
    if (!*value)
        return cli_usage("the name of a profile is empty");
    if (cli_input_is_stdin(value))
        return cli_usage("leaks reads each profile more than once, so stdin cannot be one");
    options->files[options->files_len++] = value;
    return CLI_DONE;
}

static int apply(leaks_options *options, int option)
{
    switch (option) {
    case CLI_OPERAND:
        return add_file(options, optarg);
    case OPT_TOP:
        return cli_take_rows("--top", optarg, &options->top);
    case OPT_ALL:
        options->all = true;
        return CLI_DONE;
    case OPT_ALL_FRAMES:
        options->all_frames = true;
        return CLI_DONE;
    case OPT_JSON:
        options->json = true;
        return CLI_DONE;
    case OPT_FAIL:
        options->fail = true;
        return CLI_DONE;
    case OPT_TYPE:
        return cli_take_type("--type", optarg, &options->type);
    case OPT_EVERY:
        return cli_take_span("--every", optarg, &options->every_nanos);
    case OPT_MAX_MEMORY:
        return cli_take_size("--max-memory", optarg, &options->max_memory);
    case 'q':
        options->quiet = true;
        return CLI_DONE;
    case 'h':
        options->help = true;
        return CLI_DONE;
    default:
        return cli_names_take(&options->names, option, optarg);
    }
}

static int parse(leaks_options *options, int argc, char **argv)
{
    cli_arguments arguments = {argc, argv, "qh", table, false};
    for (int option; (option = cli_arguments_next(&arguments)) != CLI_END;) {
        int code = apply(options, option);
        if (code || options->help)
            return code;
    }
    if (!options->files_len)
        return cli_usage("the profiles are missing: pprofdelta leaks FILE...");
    return CLI_DONE;
}

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

static int rank_all(run *r)
{
    int code = CLI_DONE;
    r->findings = calloc(r->runs.len + 1, sizeof *r->findings);
    if (!r->findings)
        return cli_system_error("the stacks", "judge", ENOMEM);
    for (size_t i = 0; i < r->runs.len && !code; i++)
        code = cli_leaks_rank(&r->findings[i], &r->runs.runs[i]);
    return code;
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
    if (r->options.json)
        cli_leaks_print_json(&report);
    else if (!cli_leaks_print_text(&report))
        return cli_system_error("the stacks", "print", ENOMEM);
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
    cli_progress_start(!options->quiet);
    const cli_leaks_filing filing = {options->type, options->every_nanos != 0, options->max_memory};
    int code = cli_leaks_files_read(&r->files, options->files, options->files_len, &filing);
    if (code)
        return code;
    cli_leaks_order_report order = cli_leaks_order(r->files.files, r->files.len);
    if (order.gaps + order.again == r->files.len)
        return refuse_gaps(&r->files);
    code = cli_leaks_read(&r->runs, r->files.files, r->files.len, options->type,
                          options->every_nanos, &options->names, options->max_memory);
    if (!code)
        code = rank_all(r);
    cli_progress_end();
    if (code)
        return code;
    if (!options->quiet) {
        note_order(&r->files, &order);
        note_runs(&r->files, &r->runs);
    }
    code = print(r, &order);
    return code || !options->fail ? code : status_of(r);
}

int cli_leaks(int argc, char **argv)
{
    run r = {.options = {.max_memory = PPROFDELTA_DEFAULT_MAX_MEMORY}};
    r.options.files = calloc((size_t)argc + 1, sizeof *r.options.files);
    int code = r.options.files ? parse(&r.options, argc, argv)
                               : cli_system_error("the command line", "read", ENOMEM);
    if (!code)
        code = r.options.help ? cli_output_text(help) : perform(&r);
    cli_progress_end();
    for (size_t i = 0; r.findings && i < r.runs.len; i++)
        cli_leaks_findings_free(&r.findings[i]);
    free(r.findings);
    cli_leaks_runs_free(&r.runs);
    cli_leaks_files_free(&r.files);
    free(r.options.files);
    return code;
}
