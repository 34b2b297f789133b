/* pprofdelta leaks FILE...: which stacks keep growing? See leaks.h. */
#include "leaks/leaks.h"

#include "cli.h"
#include "keep.h"
#include "message.h"
#include "arguments.h"
#include "output_file.h"

#include <math.h>
#include <string.h>

enum { DEFAULT_TOP = 10 };

typedef struct verb {
    cli_leaks_work work;
    cli_leaks_work base_work;
    const char *base;
    uint64_t budget;
    bool json, markdown, fail;
} verb;

static const cli_option table[] = {
    {"--top", 0, CLI_VALUE, cli_take_rows, offsetof(verb, work.how.top), 0, 0,
     "      --top=N            print N suspects of each run (10)\n"},
    {"--all", 0, CLI_ALONE, cli_take_flag, offsetof(verb, work.how.all), 0, 0,
     "      --all              print also what is not a suspect, and why\n"},
    {"--all-frames", 0, CLI_ALONE, cli_take_flag, offsetof(verb, work.how.all_frames), 0, 0,
     "      --all-frames       wrappers of malloc and start-up functions, too\n"},
    {"--allocator", 0, CLI_VALUE, cli_filters_take, offsetof(verb, work.how.allocators),
     CLI_FILTER_ALLOCATOR, 0,
     "      --allocator=REGEX  functions that only allocate: a finding is in a caller\n"},
    {"--json", 0, CLI_ALONE, cli_take_flag, offsetof(verb, json), 0, 0,
     "      --json             print one JSON object, with all frames\n"},
    {"--html", 0, CLI_VALUE, cli_take_name, offsetof(verb, work.how.html), CLI_OUT, 0,
     "      --html=OUT.html    write one page for a browser, which needs no network\n"},
    {"--source", 0, CLI_ALONE, cli_take_flag, offsetof(verb, work.how.has_source), 0, 0,
     "      --source           source lines in the page, of the files it names\n"},
    {"--markdown", 0, CLI_ALONE, cli_take_flag, offsetof(verb, markdown), 0, 0,
     "      --markdown         print a comment for a pull request\n"},
    {"--base", 0, CLI_VALUE, cli_take_text, offsetof(verb, base), 0, 0,
     "      --base=FILE        what grew since FILE or DIR, of another run\n"},
    {"--fail-above", 0, CLI_VALUE, cli_take_size, offsetof(verb, budget), 0, 0,
     "      --fail-above=SIZE  exit with status 5 if a stack has more in use, or has\n"
     "                         grown more since the base\n"},
    {"--fail", 0, CLI_ALONE, cli_take_flag, offsetof(verb, fail), 0, 0,
     "      --fail             exit with status 5 if there is a suspect, and with 6 if\n"
     "                         none is, but growth is unknown or profiles are too few\n"},
    {"--type", 0, CLI_VALUE, cli_take_type, offsetof(verb, work.how.type), 0, 0,
     "      --type=TYPE[/UNIT] the sample type that is judged (inuse_space)\n"},
    {"--every", 0, CLI_VALUE, cli_take_span, offsetof(verb, work.how.every_nanos), 0, 0,
     "      --every=TIME       the time between two profiles, whatever theirs are\n"},
    {"--max-memory", 0, CLI_VALUE, cli_take_size, offsetof(verb, work.how.library.max_memory), 0, 0,
     "      --max-memory=SIZE  use at most SIZE bytes: 512M, 8G (the default)\n"},
    CLI_NAMES_OPTIONS(offsetof(verb, work.how.names)),
    {"--quiet", 'q', CLI_ALONE, cli_take_quiet, 0, 0, 0,
     "  -q, --quiet            print no notes on stderr\n"},
    {"--help", 'h', CLI_ALONE, NULL, 0, 0, 0, "  -h, --help\n"},
};

static const cli_command command = {
    .before = "usage: pprofdelta leaks [option ...] FILE...\n"
              "Prints the stacks whose memory in use grows steadily, from the profiles of one\n"
              "run: those that record wrote (a FILE may be its directory), or Go's heap\n"
              "profiles, one after the other. At least 6 are needed; 10 or more are better.\n"
              "\n",
    .options = table,
    .after = "\n"
             "Exit status: 0 done, 1 failed, 2 wrong command line, 5 and 6 see --fail,\n"
             "5 see --fail-above\n",
    .missing = "the profiles are missing: pprofdelta leaks FILE...",
};

/* ---- notes -------------------------------------------------------------------------------- */

static const char *find_role(const cli_leaks_work *w, cli_leaks_role role)
{
    for (size_t i = 0; i < w->files_len; i++)
        if (w->files[i].role == role)
            return w->files[i].place.path;
    return "";
}

/* Prints what was done about files that are out of order, duplicate or without a base. */
static void note_order(const cli_leaks_work *w)
{
    const cli_leaks_order_report *order = &w->order;
    if (order->moved)
        cli_note("%zu file%s older than a file before: the files are taken in the order of their "
                 "times",
                 order->moved, order->moved == 1 ? " is" : "s are");
    if (order->again)
        cli_note("%s: is the same window as another file; %zu file%s not count",
                 find_role(w, CLI_LEAKS_AGAIN), order->again, order->again == 1 ? " does" : "s do");
    if (order->gaps)
        cli_note("%s: has changes only, and a profile before it is missing; %zu file%s not count",
                 find_role(w, CLI_LEAKS_GAP), order->gaps, order->gaps == 1 ? " does" : "s do");
}

static void note_runs(const cli_leaks_work *w)
{
    for (size_t i = 0; i < w->runs_len; i++)
        if (w->runs[i].left_out == 1)
            cli_note("%s: is the last profile, and less is in use than before: it is not judged, "
                     "since programs free memory when they end",
                     w->runs[i].first_left_out);
        else if (w->runs[i].left_out)
            cli_note(
                "%s: the program begins to end, and frees its memory: the last %zu profiles are "
                "not judged",
                w->runs[i].first_left_out, w->runs[i].left_out);
    for (size_t i = 0; i < w->runs_len; i++)
        if (w->runs[i].has_restarted)
            cli_note("%s: the program restarted before this profile; each run is judged by itself",
                     w->files[w->runs[i].first].place.path);
}

/* An expression that matches nothing may be written wrong. */
static void note_allocators(const cli_leaks_work *w)
{
    uint64_t matched = 0;
    for (size_t i = 0; i < w->all.shown.frames_len; i++)
        matched |= w->all.shown.frames[i].matches;
    for (size_t i = 0; i < w->how.allocators.len; i++)
        if (!(matched >> i & 1))
            cli_note("--allocator %s: no frame of the stacks matches",
                     w->how.allocators.list[i].text);
}

/* No file counts: all are changes without the profile that they change. */
static int refuse_gaps(const cli_leaks_work *w)
{
    cli_error("%s: has changes of in-use values only, and what they change is missing",
              w->files[0].place.path);
    return cli_hint("add the profiles before it: the first profile of a process has all values "
                    "(heap.PID.1.pb.gz), or use record --snapshot");
}

/* ---- the run ------------------------------------------------------------------------------ */

/* The exit status with --fail. A run with too few profiles counts only if all have too few: programs
 * start others that end soon. */
static int status_of(const cli_leaks_work *w)
{
    bool is_enough = false, is_unknown = false;
    for (size_t i = 0; i < w->runs_len; i++) {
        bool has_verdict = cli_leaks_is_enough(&w->runs[i]);
        if (w->runs[i].findings.suspects)
            return CLI_LEAKS_FOUND;
        is_enough |= has_verdict;
        is_unknown |= has_verdict && w->runs[i].findings.unknown;
    }
    return is_enough && !is_unknown ? CLI_DONE : CLI_LEAKS_NO_VERDICT;
}

static int print_answer(const verb *v, cli_leaks_work *w)
{
    bool is_over = false;
    note_order(w);
    note_runs(w);
    note_allocators(w);
    if (w->how.html)
        cli_leaks_put_html(w);
    else if (v->markdown)
        is_over = cli_leaks_put_markdown(w, v->base ? &v->base_work : NULL,
                                         v->budget ? (double)v->budget : INFINITY);
    else
        (v->json ? cli_leaks_put_json : cli_leaks_put_text)(w);
    if (!w->how.html)
        cli_must(cli_output_end_text());
    int code = is_over ? CLI_LEAKS_FOUND : v->fail ? status_of(w) : CLI_DONE;
    return code || !w->has_failed ? code : CLI_FAILED;
}

/* Reads all files, and judges each run. */
static void read_and_judge(cli_leaks_work *w, const char *const *operands, size_t len)
{
    cli_leaks_find_files(w, operands, len);
    w->order = cli_leaks_order(w->files, w->files_len);
    if (w->order.gaps + w->order.again == w->files_len)
        cli_must(refuse_gaps(w));
    cli_leaks_read(w);
    for (size_t i = 0; i < w->runs_len; i++)
        cli_leaks_rank(&w->runs[i], &w->how);
    cli_leaks_find_names(w);
    cli_leaks_join(w);
}

static void check_options(const verb *v, const cli_arguments *arguments)
{
    if (v->json + v->markdown + (v->work.how.html != NULL) > 1)
        cli_usage("--json, --html and --markdown exclude each other");
    if ((v->base || v->budget) && !v->markdown)
        cli_usage("%s is for --markdown", v->base ? "--base" : "--fail-above");
    if (v->work.how.has_source && !v->work.how.html)
        cli_usage("--source is for --html");
    cli_check_files(&v->base, v->base != NULL, true);
    cli_check_files(arguments->operands, arguments->operands_len, true);
}

int cli_leaks(int argc, char **argv)
{
    static verb v = {.work.how.library = PPROFDELTA_OPTIONS_INIT};
    cli_leaks_how *how = &v.work.how;
    cli_arguments arguments = {.argc = argc, .argv = argv};
    how->library.max_memory = PPROFDELTA_DEFAULT_MAX_MEMORY;
    how->library.compression = PPROFDELTA_PLAIN;
    cli_command_read(&command, &arguments, &v);
    check_options(&v, &arguments);
    cli_progress_start();
    if (!how->top)
        how->top = how->all ? SIZE_MAX : DEFAULT_TOP;
    how->names_all = how->all || how->html || v.markdown;
    v.base_work.how = *how;
    cli_keep_at_most(how->library.max_memory, arguments.operands[0]);
    read_and_judge(&v.work, arguments.operands, arguments.operands_len);
    if (v.base)
        read_and_judge(&v.base_work, &v.base, 1);
    cli_progress_end();
    return print_answer(&v, &v.work);
}
