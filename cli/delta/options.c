/* The command line of the delta and of the sum: see options.h.
 *
 * Every option is one row of the table and one case of the switch. A case that needs more than a
 * line has a function. */
#include "delta/options.h"

#include "arguments.h"
#include "cli.h"
#include "input.h"
#include "instant.h"
#include "message.h"
#include "option_values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OPT_ON_RESET = CLI_LONG,
    OPT_STARTED,
    OPT_DEFAULT_TYPE,
    OPT_COMPRESS,
    OPT_FORMAT,
    OPT_RESOURCE,
    OPT_REPORT,
    OPT_VERIFY,
    OPT_NO_STAMP,
    OPT_FORCE,
    OPT_MAX_MEMORY,
    OPT_STATE,
    OPT_FIRST,
    OPT_TIMEOUT,
    OPT_NO_WAIT,
    OPT_STATUS,
    OPT_JSON,
    OPT_VERSION
};

static const char letters[] = "o:c:g:qh0123456789"; /* of both */

static const struct option table[] = {
    {"output", required_argument, NULL, 'o'},
    {"counter", required_argument, NULL, 'c'},
    {"gauge", required_argument, NULL, 'g'},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {"on-reset", required_argument, NULL, OPT_ON_RESET},
    {"started", required_argument, NULL, OPT_STARTED},
    {"default-type", optional_argument, NULL, OPT_DEFAULT_TYPE},
    {"compress", required_argument, NULL, OPT_COMPRESS},
    {"format", required_argument, NULL, OPT_FORMAT},
    {"resource", required_argument, NULL, OPT_RESOURCE},
    {"report", optional_argument, NULL, OPT_REPORT},
    {"verify", no_argument, NULL, OPT_VERIFY},
    {"no-stamp", no_argument, NULL, OPT_NO_STAMP},
    {"force", no_argument, NULL, OPT_FORCE},
    {"max-memory", required_argument, NULL, OPT_MAX_MEMORY},
    {"state", required_argument, NULL, OPT_STATE},
    {"first", required_argument, NULL, OPT_FIRST},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"no-wait", no_argument, NULL, OPT_NO_WAIT},
    {"status", optional_argument, NULL, OPT_STATUS},
    {"json", no_argument, NULL, OPT_JSON},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

static const struct option sum_table[] = {
    {"output", required_argument, NULL, 'o'},
    {"counter", required_argument, NULL, 'c'},
    {"gauge", required_argument, NULL, 'g'},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {"default-type", optional_argument, NULL, OPT_DEFAULT_TYPE},
    {"compress", required_argument, NULL, OPT_COMPRESS},
    {"format", required_argument, NULL, OPT_FORMAT},
    {"resource", required_argument, NULL, OPT_RESOURCE},
    {"no-stamp", no_argument, NULL, OPT_NO_STAMP},
    {"force", no_argument, NULL, OPT_FORCE},
    {"max-memory", required_argument, NULL, OPT_MAX_MEMORY},
    {NULL, 0, NULL, 0},
};

static int add_type(const char *option, const char **types, size_t *len, const char *value)
{
    return cli_take_type(option, value, &types[(*len)++]);
}

static int set_on_reset(cli_options *options, const char *value)
{
    static const char *const names[] = {"auto", "restart", "clamp", "negative", "fail", NULL};
    static const pprofdelta_on_reset values[] = {
        PPROFDELTA_ON_RESET_AUTO, PPROFDELTA_ON_RESET_RESTART, PPROFDELTA_ON_RESET_CLAMP,
        PPROFDELTA_ON_RESET_NEGATIVE, PPROFDELTA_ON_RESET_FAIL};
    int chosen;
    if (cli_choose("--on-reset", value, names, &chosen))
        return CLI_USAGE;
    options->library.on_reset = values[chosen];
    return CLI_DONE;
}

static int add_resource(cli_options *options, const char *value)
{
    options->resources[options->resources_len++] = value;
    return cli_resource_check(value);
}

/* Only OTLP has a resource. */
static int make_resource(cli_options *options)
{
    if (options->library.format != PPROFDELTA_OTLP)
        return options->resources_len
                   ? cli_usage("--resource needs --format=otlp, which is missing")
                   : CLI_DONE;
    int code = cli_resource_make(&options->resource, options->resources, options->resources_len);
    options->library.resource = options->resource.list;
    options->library.resource_len = options->resource.len;
    return code;
}

static int set_form(const char *option, cli_report_form *form, const char *value)
{
    static const char *const names[] = {"text", "json", NULL};
    int chosen = 0;
    if (value && cli_choose(option, value, names, &chosen))
        return CLI_USAGE;
    *form = chosen ? CLI_REPORT_JSON : CLI_REPORT_TEXT;
    return CLI_DONE;
}

static int set_state(cli_options *options, const char *value)
{
    size_t len = strlen(value);
    if (!len || value[len - 1] == '/')
        return cli_bad_value("--state", value, "the name of a file");
    options->state = value;
    return CLI_DONE;
}

static int set_first(cli_options *options, const char *value)
{
    static const char *const names[] = {"full", "zero", NULL};
    int chosen;
    if (cli_choose("--first", value, names, &chosen))
        return CLI_USAGE;
    options->library.first = chosen ? PPROFDELTA_FIRST_ZERO : PPROFDELTA_FIRST_FULL;
    options->has_first = true;
    return CLI_DONE;
}

static int set_default_type(cli_options *options, const char *value)
{
    static const char *const names[] = {"counter", "keep", NULL};
    int chosen = 0;
    if (value && cli_choose("--default-type", value, names, &chosen))
        return CLI_USAGE;
    if (chosen)
        options->library.flags &= ~(unsigned)PPROFDELTA_DEFAULT_COUNTER;
    else
        options->library.flags |= PPROFDELTA_DEFAULT_COUNTER;
    return CLI_DONE;
}

/* 0 means "not known" in the library, and no running program began before 1970. */
static int set_started(cli_options *options, const char *value)
{
    int64_t nanos;
    if (!cli_instant_parse(value, &nanos) || nanos <= 0)
        return cli_bad_value("--started", value,
                             "a time after 1970 with its zone, like 2026-11-21T08:00:00Z, or "
                             "@SECONDS");
    options->started_nanos = nanos;
    return CLI_DONE;
}

/* "-6". getopt reads "-12" as "-1 -2", which is refused here. */
static int set_level(cli_options *options, char **argv, int token, int digit)
{
    const char *text = argv[token];
    bool has_more = text[1] == digit && text[2] >= '0' && text[2] <= '9';
    if (digit == '0' || has_more)
        return cli_usage("%.32s: the level of compression is -1 to -9", text);
    options->library.level = digit - '0';
    return CLI_DONE;
}

static int set_print(cli_options *options, int (*print)(void))
{
    options->print = print;
    return CLI_DONE;
}

static int set_flag(cli_options *options, unsigned flag)
{
    options->library.flags |= flag;
    return CLI_DONE;
}

static int add_operand(cli_options *options, const char *value)
{
    if (!*value)
        return cli_usage("the name of a profile is empty");
    if (options->files) {
        options->files[options->files_len++] = value;
        return CLI_DONE;
    }
    if (options->cur && options->has_behind)
        return cli_usage("%.60s: a command after -- needs --state FILE, which is missing", value);
    if (options->cur)
        return cli_usage("%.60s: is one operand too many; a delta needs two profiles", value);
    if (!options->prev)
        options->prev = value;
    else
        options->cur = value;
    return CLI_DONE;
}

static int apply(cli_options *options, int option, char **argv, int token)
{
    pprofdelta_options *library = &options->library;
    switch (option) {
    case CLI_OPERAND:
        return add_operand(options, optarg);
    case 'o':
        return cli_take_output(optarg, &options->output);
    case 'c':
        return add_type("--counter", options->counters, &library->counters_len, optarg);
    case 'g':
        return add_type("--gauge", options->gauges, &library->gauges_len, optarg);
    case 'q':
        options->quiet = true;
        return CLI_DONE;
    case 'h':
        return set_print(options, cli_help);
    case OPT_VERSION:
        return set_print(options, cli_version);
    case OPT_ON_RESET:
        return set_on_reset(options, optarg);
    case OPT_STARTED:
        return set_started(options, optarg);
    case OPT_DEFAULT_TYPE:
        return set_default_type(options, optarg);
    case OPT_COMPRESS:
        return cli_take_compression(optarg, &library->compression);
    case OPT_FORMAT:
        return cli_take_format(optarg, &library->format);
    case OPT_RESOURCE:
        return add_resource(options, optarg);
    case OPT_REPORT:
        return set_form("--report", &options->report, optarg);
    case OPT_VERIFY:
        return set_flag(options, PPROFDELTA_VERIFY);
    case OPT_NO_STAMP:
        return set_flag(options, PPROFDELTA_NO_STAMP);
    case OPT_FORCE:
        return set_flag(options, PPROFDELTA_FORCE);
    case OPT_MAX_MEMORY:
        return cli_take_size("--max-memory", optarg, &library->max_memory);
    case OPT_STATE:
        return set_state(options, optarg);
    case OPT_FIRST:
        return set_first(options, optarg);
    case OPT_TIMEOUT:
        return cli_take_span("--timeout", optarg, &options->timeout_nanos);
    case OPT_NO_WAIT:
        options->no_wait = true;
        return CLI_DONE;
    case OPT_STATUS:
        return set_form("--status", &options->status, optarg);
    case OPT_JSON:
        options->has_json = true;
        return CLI_DONE;
    default: /* a digit, or CLI_WRONG */
        return option == CLI_WRONG ? CLI_USAGE : set_level(options, argv, token, option);
    }
}

static bool is_there(const char *path)
{
    return cli_input_is_stdin(path) || !access(path, F_OK);
}

/* An operand after "--" is taken for a command if no file has that name. */
static bool is_command(const char *operand)
{
    return operand && !is_there(operand);
}

/* Checks the command line of two files. */
static int check_without_state(const cli_options *options)
{
    const char *given = options->has_first       ? "--first"
                        : options->timeout_nanos ? "--timeout"
                        : options->no_wait       ? "--no-wait"
                        : options->status        ? "--status"
                        : options->has_json      ? "--json"
                                                 : NULL;
    if (given)
        return cli_usage("%s needs --state FILE, which is missing", given);
    const char *last = options->cur ? options->cur : options->prev;
    if (options->has_behind && is_command(last))
        return cli_usage("%.60s: a command after -- needs --state FILE, which is missing", last);
    if (options->prev && cli_is_verb(options->prev) && !is_there(options->prev))
        return cli_usage("%s: is a verb, and a verb comes first: pprofdelta %s ...", options->prev,
                         options->prev);
    if (!options->prev)
        return cli_usage("two profiles are missing: pprofdelta PREV CUR [-o OUT]");
    if (!options->cur)
        return cli_usage("the second profile is missing: pprofdelta PREV CUR [-o OUT]");
    const char *const files[] = {options->prev, options->cur};
    return cli_check_stdin(files, 2);
}

/* Checks the command line with --state. */
static int check_with_state(cli_options *options)
{
    if (options->has_json && !options->status)
        return cli_usage("--json is for --status or for show; a report is --report=json");
    if (options->status && (options->has_json || options->report == CLI_REPORT_JSON))
        options->status = CLI_REPORT_JSON;
    if (options->status)
        return options->prev || options->uploader || options->output
                   ? cli_usage("--status prints what is in the state; it takes no profile, "
                               "UPLOADER or -o")
                   : CLI_DONE;
    if (options->cur)
        return cli_usage("%.60s: is one operand too many; with --state, the state is PREV",
                         options->cur);
    options->cur = options->prev ? options->prev : "-";
    options->prev = NULL;
    if (options->library.on_reset == PPROFDELTA_ON_RESET_NEGATIVE)
        return cli_usage("--on-reset=negative needs two profiles: a state has no stacks");
    if (options->uploader && options->output)
        return cli_usage("the delta goes to -o OUT or to UPLOADER, not to both");
    if (options->timeout_nanos && !options->uploader)
        return cli_usage("--timeout is for UPLOADER, which is missing");
    return CLI_DONE;
}

/* After --state, "--" begins the command of the uploader. */
static int take_uploader(cli_options *options, int argc, char **argv)
{
    if (optind >= argc || !*argv[optind])
        return cli_usage("the command after -- is missing: -- UPLOADER [ARG...]");
    options->uploader = argv + optind;
    return CLI_DONE;
}

static bool ends_options(const cli_options *options, char **argv, int token, int argc)
{
    return options->state && token < argc && !strcmp(argv[token], "--");
}

/* Makes a list with room for every argument. Prints what is wrong; returns an exit code. */
static int begin_list(const char ***list, int argc)
{
    *list = calloc((size_t)argc + 1, sizeof **list);
    if (*list)
        return CLI_DONE;
    cli_error("%s", strerror(ENOMEM));
    return CLI_FAILED;
}

static int begin(cli_options *options, int argc)
{
    *options = (cli_options){.library = PPROFDELTA_OPTIONS_INIT};
    int code = begin_list(&options->counters, argc);
    if (!code)
        code = begin_list(&options->gauges, argc);
    return code ? code : begin_list(&options->resources, argc);
}

/* Reads all options, or those up to --help or --version. */
static int parse(cli_options *options, cli_arguments *arguments)
{
    char **argv = arguments->argv;
    for (;;) {
        int token = optind, code;
        if (ends_options(options, argv, token, arguments->argc)) {
            optind = token + 1;
            if ((code = take_uploader(options, arguments->argc, argv)))
                return code;
            break;
        }
        int option = cli_arguments_next(arguments);
        if (option == CLI_END)
            break;
        options->has_behind |= option == CLI_OPERAND && arguments->has_ended;
        code = apply(options, option, argv, token);
        if (code || options->print)
            return code;
    }
    options->library.counters = options->counters;
    options->library.gauges = options->gauges;
    if (!options->library.max_memory)
        options->library.max_memory = PPROFDELTA_DEFAULT_MAX_MEMORY;
    return make_resource(options);
}

int cli_options_parse(cli_options *options, int argc, char **argv)
{
    cli_arguments arguments = {argc, argv, letters, table, false};
    int code = begin(options, argc);
    if (!code)
        code = parse(options, &arguments);
    if (code || options->print)
        return code;
    return options->state ? check_with_state(options) : check_without_state(options);
}

int cli_options_parse_sum(cli_options *options, int argc, char **argv, int (*help)(void))
{
    cli_arguments arguments = {argc, argv, letters, sum_table, false};
    int code = begin(options, argc);
    if (!code)
        code = begin_list(&options->files, argc);
    if (!code)
        code = parse(options, &arguments);
    if (options->print)
        options->print = help;
    if (code || options->print)
        return code;
    if (!options->files_len)
        return cli_usage("the profiles are missing: pprofdelta sum BASE DELTA... [-o OUT]");
    return cli_check_stdin(options->files, options->files_len);
}

void cli_options_free(cli_options *options)
{
    free(options->counters);
    free(options->gauges);
    free(options->resources);
    cli_resource_free(&options->resource);
    free(options->files);
    *options = (cli_options){.library = PPROFDELTA_OPTIONS_INIT};
}
