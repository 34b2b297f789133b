/* The command lines of the delta, the sum and the merge: see options.h. */
#include "delta/options.h"

#include "instant.h"
#include "keep.h"
#include "message.h"
#include "output_file.h"

#include <stdio.h>
#include <stdlib.h>

enum { DELTA = 1, ONLY_SUM = 2, MERGE = 4, SUM = ONLY_SUM | MERGE };

static void add_type(const cli_option *option, const char *value, void *options)
{
    cli_options *o = options;
    bool is_counter = option->letter == 'c';
    size_t *len = is_counter ? &o->library.counters_len : &o->library.gauges_len;
    cli_take_type(option, value, &(is_counter ? o->counters : o->gauges)[(*len)++]);
}

static void take_default_type(const cli_option *option, const char *value, void *flags)
{
    int chosen;
    cli_take_choice(option, value, &chosen);
    *(unsigned *)flags &= ~(unsigned)PPROFDELTA_DEFAULT_COUNTER;
    *(unsigned *)flags |= chosen ? 0 : PPROFDELTA_DEFAULT_COUNTER;
}

/* 0 means "not known" in the library, and no running program began before 1970. */
static void take_started(const cli_option *option, const char *value, void *nanos)
{
    int64_t read;
    if (!cli_instant_parse(value, &read) || read <= 0)
        cli_bad_value(option->name, value,
                      "a time after 1970 with its zone, like 2026-11-21T08:00:00Z, or "
                      "@SECONDS");
    *(int64_t *)nanos = read;
}

/* "-6". getopt reads "-12" as "-1 -2", which is refused here. */
static void take_level(const cli_option *option, const char *digits, void *level)
{
    (void)option;
    if (digits[0] == '0' || (digits[1] >= '0' && digits[1] <= '9'))
        cli_usage("-%.31s: the level of compression is -1 to -9", digits);
    *(int *)level = digits[0] - '0';
}

static void take_version(const cli_option *option, const char *value, void *none)
{
    (void)option, (void)value, (void)none;
    printf("pprofdelta %s\nOTLP: opentelemetry-proto %s, profiles v1development\n",
           pprofdelta_version(), PPROFDELTA_OTLP_PROTO);
    exit(cli_output_end_text());
}

static void take_label(const cli_option *option, const char *value, void *label)
{
    if (value && !*value)
        cli_bad_value(option->name, value, "the key of a label");
    *(const char **)label = value ? value : "target";
}

/* The number before the text has the verbs that do not have the option. */
static const cli_option table[] = {
    {"--output", 'o', CLI_VALUE, cli_take_name, offsetof(cli_options, output), 0, 0,
     "  -o, --output OUT           write to the file OUT (default, or -: stdout)\n"},
    {"--counter", 'c', CLI_VALUE, add_type, 0, 0, 0,
     "  -c, --counter TYPE[/UNIT]  take this sample type as a counter\n"},
    {"--gauge", 'g', CLI_VALUE, add_type, 0, 0, 0,
     "  -g, --gauge TYPE[/UNIT]    take this sample type as a gauge\n"},
    {"--on-reset", 0, CLI_VALUE, cli_take_choice, offsetof(cli_options, library.on_reset),
     CLI_ON_RESET, SUM,
     "      --on-reset=HOW         on a reset: auto, restart, clamp, negative or fail\n"},
    {"--started", 0, CLI_VALUE, take_started, offsetof(cli_options, started_nanos), 0, SUM,
     "      --started=TIME         when the program started: RFC 3339 or @SECONDS\n"},
    {"--default-type", 0, CLI_MAY_HAVE_VALUE, take_default_type,
     offsetof(cli_options, library.flags), CLI_DEFAULT_TYPE, 0,
     "      --default-type[=HOW]   if the default type is a gauge: counter or keep\n"},
    {"--compress", 0, CLI_VALUE, cli_take_choice, offsetof(cli_options, library.compression),
     CLI_COMPRESSION, 0,
     "      --compress=HOW         gzip, zstd or none; -1 (fast) ... -9 (small)\n"},
    {"--format", 0, CLI_VALUE, cli_take_choice, offsetof(cli_options, library.format), CLI_FORMAT,
     0, "      --format=FORMAT        pprof, otlp, otlp-parca or otlp-plain\n"},
    {"--for", 0, CLI_VALUE, cli_receiver_take, offsetof(cli_options, receiver), 0, 0,
     "      --for=RECEIVER         what it takes, with a stamp and values in use:\n"},
    {"--resource", 0, CLI_VALUE, cli_resource_take, offsetof(cli_options, given), 0, 0,
     "      --resource=KEY=VALUE   an attribute of the resource, for otlp\n"},
    {NULL, '0', CLI_ALONE, take_level, offsetof(cli_options, library.level), 0, 0, ""},
    {"--report", 0, CLI_MAY_HAVE_VALUE, cli_take_choice, offsetof(cli_options, report), CLI_REPORT,
     SUM, "      --report[=FORM]        print counts and sums to stderr, as text or json\n"},
    {"--verify", 0, CLI_ALONE, cli_take_bit, offsetof(cli_options, library.flags),
     PPROFDELTA_VERIFY, SUM,
     "      --verify               check that the sums add up before writing\n"},
    {"--no-stamp", 0, CLI_ALONE, cli_take_bit, offsetof(cli_options, library.flags),
     PPROFDELTA_NO_STAMP, 0,
     "      --no-stamp             leave out the comment that marks a delta\n"},
    {"--force", 0, CLI_ALONE, cli_take_bit, offsetof(cli_options, library.flags), PPROFDELTA_FORCE,
     0, "      --force                accept inputs that would be refused\n"},
    {"--max-memory", 0, CLI_VALUE, cli_take_size, offsetof(cli_options, library.max_memory), 0, 0,
     "      --max-memory=SIZE      use at most SIZE bytes: 512M, 8G (the default)\n"},
    {"--label-target", 0, CLI_MAY_HAVE_VALUE, take_label,
     offsetof(cli_options, library.target_label), 0, DELTA | ONLY_SUM,
     "      --label-target[=KEY]   give each sample a label with the id of its target\n"},
    {"--disjoint", 0, CLI_ALONE, cli_take_bit, offsetof(cli_options, library.flags),
     PPROFDELTA_DISJOINT, DELTA | ONLY_SUM,
     "      --disjoint             take merges of other targets, too\n"},
    {"--quiet", 'q', CLI_ALONE, cli_take_quiet, 0, 0, 0,
     "  -q, --quiet                print no notes on stderr\n"},
    {"--version", 0, CLI_ALONE, take_version, 0, 0, SUM, "  -h, --help, --version\n"},
    {"--state", 0, CLI_VALUE, cli_take_name, offsetof(cli_options, state), CLI_STATE, SUM,
     "      --state=FILE           PREV is in FILE. It becomes CUR when OUT is on the\n"
     "                             disk, or UPLOADER (stdin: the delta) exits with 0\n"},
    {"--first", 0, CLI_VALUE, cli_take_choice, offsetof(cli_options, first), CLI_FIRST, SUM,
     "      --first=HOW            with a new FILE: full (the default), or zero\n"},
    {"--timeout", 0, CLI_VALUE, cli_take_span, offsetof(cli_options, uploader.timeout_nanos), 0,
     SUM, "      --timeout=TIME         end UPLOADER after 30s, 2m, ...\n"},
    {"--max-age", 0, CLI_VALUE, cli_take_span, offsetof(cli_options, max_age_nanos), 0, SUM,
     "      --max-age=TIME         a window that is older is not sent, but lost\n"},
    {"--no-wait", 0, CLI_ALONE, cli_take_flag, offsetof(cli_options, no_wait), 0, SUM,
     "      --no-wait              fail if another run is using FILE\n"},
    {"--status", 0, CLI_MAY_HAVE_VALUE, cli_take_choice, offsetof(cli_options, status), CLI_STATUS,
     SUM, "      --status[=FORM]        what is in FILE...|DIR: text, json or openmetrics\n"},
    {"--json", 0, CLI_ALONE, cli_take_flag, offsetof(cli_options, has_json), 0, SUM, ""},
    {"--help", 'h', CLI_ALONE, NULL, 0, 0, 0, ""},
};

const cli_command cli_delta_command = {
    .before = "usage: pprofdelta PREV CUR [-o OUT]  what a program did between two profiles\n"
              "       pprofdelta --state FILE [CUR] [-o OUT | -- UPLOADER [ARG...]]  windows\n"
              "       pprofdelta sum BASE DELTA... [-o OUT]  add deltas to a profile\n"
              "       pprofdelta merge DELTA... [-o OUT]  windows of many targets as one\n"
              "       pprofdelta show [PREV] FILE [--type T] [--top|--raw|--folded|--json]\n"
              "       pprofdelta check FILE...      check that profiles are valid\n"
              "       pprofdelta record -- COMMAND  run COMMAND with the heap agent\n"
              "       pprofdelta symbolize FILE [-o OUT]  add functions and lines to addresses\n"
              "       pprofdelta leaks FILE...      stacks that keep growing\n"
              "       pprofdelta export FILE... -o DIR  profiles as tables\n"
              "       pprofdelta recover DIR        last windows of killed processes\n"
              "       pprofdelta help [VERB]        print this help, or that of a verb\n"
              "An input is a pprof profile or an OTLP request; - or a missing CUR is stdin.\n",
    .options = table,
    .after = "Exit status: 0 done, 1 failed, 2 usage, 3 --on-reset=fail, 4 UPLOADER failed\n",
    .verb = DELTA,
};

const cli_command cli_sum_command = {
    .before = "usage: pprofdelta sum BASE DELTA... [-o OUT]\n"
              "Adds the DELTAs, which follow BASE in order without a gap, to BASE. BASE is a\n"
              "cumulative profile, or the first delta of a state or of a restarted program. If\n"
              "BASE is a later delta, the sum is the delta of the longer window. Counters are\n"
              "added up; gauges are those of the last delta. Of deltas with the same sequence\n"
              "number the one with the highest attempt counts. For profiles of a live heap\n"
              "(see record), in-use values are added up too; a full profile closes a gap.\n"
              "If BASE is a directory and all there is, the profiles in it are added up.\n"
              "\n",
    .options = table,
    .after = "  -h, --help\n",
    .missing = "the profiles are missing: pprofdelta sum BASE DELTA... [-o OUT]",
    .verb = ONLY_SUM,
};

const cli_command cli_merge_command = {
    .before = "usage: pprofdelta merge DELTA... [-o OUT]\n"
              "Makes one profile of the windows of many targets, given in any order. Counters\n"
              "are added up. Gauges are added up over the targets; for each target they are\n"
              "those of its last window. Each window (id and sequence number in the stamp)\n"
              "counts once, with its highest attempt. Profiles that name none are refused.\n"
              "With --disjoint, merges of other targets are added up, too: a tree of merges.\n"
              "\n",
    .options = table,
    .after = "  -h, --help\n",
    .missing = "the deltas are missing: pprofdelta merge DELTA... [-o OUT]",
    .verb = MERGE,
};

/* Checks the command line of two files. */
static void check_without_state(cli_options *options)
{
    const char *const *files = options->arguments.operands;
    size_t len = options->arguments.operands_len;
    const char *given = options->first >= 0               ? "--first"
                        : options->uploader.timeout_nanos ? "--timeout"
                        : options->max_age_nanos          ? "--max-age"
                        : options->no_wait                ? "--no-wait"
                        : options->has_json               ? "--json"
                                                          : NULL;
    if (given)
        cli_usage("%s needs --state FILE, which is missing", given);
    if (len < 1)
        cli_usage("two profiles are missing: pprofdelta PREV CUR [-o OUT]");
    if (len < 2)
        cli_usage("the second profile is missing: pprofdelta PREV CUR [-o OUT]; pprofdelta "
                  "show FILE prints one");
    if (len > 2)
        cli_usage("%.60s: is one operand too many; a delta needs two profiles, and a command "
                  "after -- needs --state FILE",
                  files[2]);
    options->prev = files[0];
    options->cur = files[1];
    options->library.flags |= PPROFDELTA_NO_SEQUENCE;
    cli_check_files(files, len, false);
}

/* Checks the command line with --status. Without --state, the operands are states. */
static void check_status(cli_options *options)
{
    size_t len = options->arguments.operands_len;
    if (options->has_json || options->report == CLI_REPORT_JSON)
        options->status = CLI_REPORT_JSON;
    if ((options->state && (len || options->arguments.has_ended)) || options->output)
        cli_usage("--status prints what is in the state; it takes no profile, UPLOADER or -o");
    if (!options->state && !len)
        cli_usage("--status needs --state FILE, or states: pprofdelta --status FILE...|DIR");
    cli_check_files(options->arguments.operands, len, false);
}

/* Checks the command line with --state. "--" begins the command of the uploader. */
static void check_with_state(cli_options *options)
{
    const cli_arguments *arguments = &options->arguments;
    char **command = arguments->has_ended ? arguments->argv + arguments->ended_at : NULL;
    options->uploader.argv = command;
    if (command && (!*command || !**command))
        cli_usage("the command after -- is missing: -- UPLOADER [ARG...]");
    if (options->has_json)
        cli_usage("--json is for --status or for show; a report is --report=json");
    if (arguments->ended_at > 1)
        cli_usage("%.60s: is one operand too many; with --state, the state is PREV",
                  arguments->operands[1]);
    options->cur = arguments->ended_at ? arguments->operands[0] : "-";
    if (options->library.on_reset == PPROFDELTA_ON_RESET_NEGATIVE)
        cli_usage("--on-reset=negative needs two profiles: a state has no stacks");
    if (options->uploader.argv && options->output)
        cli_usage("the delta goes to -o OUT or to UPLOADER, not to both");
    if ((options->uploader.timeout_nanos || options->max_age_nanos) && !options->uploader.argv)
        cli_usage("%s is for UPLOADER, which is missing",
                  options->uploader.timeout_nanos ? "--timeout" : "--max-age");
    cli_check_files(&options->cur, 1, false);
}

void cli_options_parse(cli_options *options, const cli_command *command, int argc, char **argv)
{
    *options = (cli_options){.library = PPROFDELTA_OPTIONS_INIT, .first = -1};
    pprofdelta_options *library = &options->library;
    options->arguments = (cli_arguments){.argc = argc, .argv = argv};
    library->counters = options->counters = cli_keep((size_t)argc, sizeof *options->counters);
    library->gauges = options->gauges = cli_keep((size_t)argc, sizeof *options->gauges);
    library->max_memory = PPROFDELTA_DEFAULT_MAX_MEMORY;
    library->format = (pprofdelta_format)CLI_NOT_GIVEN;
    library->compression = (pprofdelta_compression)CLI_NOT_GIVEN;
    library->flags = command->verb == MERGE ? PPROFDELTA_MERGE : 0;
    cli_command_read(command, &options->arguments, options);
    cli_receiver_set(options->receiver, &library->format, &library->compression);
    if (options->first >= 0)
        library->first = (pprofdelta_first)options->first;
    if (library->format != PPROFDELTA_PPROF) {
        cli_resource resource = cli_resource_make(&options->given);
        library->resource = resource.list;
        library->resource_len = resource.list_len;
        library->resource_weak = resource.weak;
    } else if (options->given.list_len) {
        cli_usage("--resource needs --format=otlp, which is missing");
    }
    if (command->verb != DELTA)
        cli_check_files(options->arguments.operands, options->arguments.operands_len,
                        command->verb == MERGE);
    else
        (options->status  ? check_status
         : options->state ? check_with_state
                          : check_without_state)(options);
}
