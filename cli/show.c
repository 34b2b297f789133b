/* pprofdelta show FILE: a profile for the eye, or for the next tool in the pipe. */
#include "show.h"

#include "arguments.h"
#include "cli.h"
#include "message.h"
#include "output.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: pprofdelta show FILE [--top N] [--type TYPE] [--raw|--folded|--json]\n"
    "Prints the profile FILE (- is stdin) as a table of its functions, or as\n"
    "\n"
    "      --raw              everything, one record a line\n"
    "      --folded           one line a stack, root first: root;...;leaf VALUE\n"
    "      --json             everything, one JSON object\n"
    "\n"
    "      --top=N            rows of the table (10)\n"
    "      --type=TYPE[/UNIT] the sample type of the table or of --folded\n"
    "      --max-memory=SIZE  bytes to use at most, or 512M, 8G (the default)\n"
    "  -h, --help\n";

enum { OPT_TOP = CLI_LONG, OPT_TYPE, OPT_RAW, OPT_FOLDED, OPT_JSON, OPT_MAX_MEMORY };
enum { DEFAULT_TOP = 10, MOST_TOP = 1000000000 };

static const struct option table[] = {
    {"top", required_argument, NULL, OPT_TOP},
    {"type", required_argument, NULL, OPT_TYPE},
    {"raw", no_argument, NULL, OPT_RAW},
    {"folded", no_argument, NULL, OPT_FOLDED},
    {"json", no_argument, NULL, OPT_JSON},
    {"max-memory", required_argument, NULL, OPT_MAX_MEMORY},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

typedef struct show_options {
    const char *file;
    const char *type; /* NULL: all in the table, the default one in --folded */
    int form;         /* OPT_RAW and so on; 0: the table */
    size_t top;       /* 0: not given */
    unsigned long long max_memory;
    bool help;
} show_options;

static int set_top(show_options *options, const char *value)
{
    size_t top = 0;
    const char *p = value;
    for (; *p >= '0' && *p <= '9' && top <= MOST_TOP; p++)
        top = top * 10 + (size_t)(*p - '0');
    if (*p || !top || top > MOST_TOP)
        return cli_bad_value("--top", value, "a number of rows, 1 or more");
    options->top = top;
    return CLI_DONE;
}

static int set_form(show_options *options, int form)
{
    if (options->form && options->form != form)
        return cli_usage("--raw, --folded and --json exclude each other");
    options->form = form;
    return CLI_DONE;
}

static int apply(show_options *options, int option)
{
    switch (option) {
    case CLI_OPERAND:
        if (options->file)
            return cli_usage("%.60s: is one operand too many; show takes one profile", optarg);
        options->file = optarg;
        return CLI_DONE;
    case OPT_TOP:
        return set_top(options, optarg);
    case OPT_TYPE:
        options->type = optarg;
        return CLI_DONE;
    case OPT_RAW:
    case OPT_FOLDED:
    case OPT_JSON:
        return set_form(options, option);
    case OPT_MAX_MEMORY:
        if (!cli_size_parse(optarg, &options->max_memory))
            return cli_bad_value("--max-memory", optarg, cli_size_allowed);
        return CLI_DONE;
    case 'h':
        options->help = true;
        return CLI_DONE;
    default:
        return CLI_USAGE;
    }
}

static int parse(show_options *options, int argc, char **argv)
{
    cli_arguments arguments = {argc, argv, "h", table, false};
    for (int option; (option = cli_arguments_next(&arguments)) != CLI_END;) {
        int code = apply(options, option);
        if (code || options->help)
            return code;
    }
    if (!options->file)
        return cli_usage("a profile is missing: pprofdelta show FILE");
    if (options->top && options->form)
        return cli_usage("--top is for the table, not for --raw, --folded or --json");
    if (options->type && options->form && options->form != OPT_FOLDED)
        return cli_usage("--type is for the table and --folded; --raw and --json show every type");
    return CLI_DONE;
}

/* The column that is meant, or says which there are. */
static int choose_column(const cli_profile *profile, const char *type, size_t *column)
{
    if (!profile->view->n_sample_type) {
        cli_error("%s: has no sample types; --raw shows what it has", profile->input.name);
        return CLI_FAILED;
    }
    *column = cli_profile_default_type(profile);
    if (!type)
        return CLI_DONE;
    int found = cli_profile_find_type(profile, type);
    if (found >= 0) {
        *column = (size_t)found;
        return CLI_DONE;
    }
    char names[512] = "";
    for (size_t i = 0, at = 0; i < profile->view->n_sample_type && at < sizeof names; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", i ? " or " : "",
                               cli_profile_type(profile, i));
    return cli_bad_value("--type", type, names);
}

static int print(const show_options *options, const cli_profile *profile)
{
    size_t column;
    if (options->form == OPT_RAW)
        return cli_show_raw(profile);
    if (options->form == OPT_JSON)
        return cli_show_json(profile);
    int code = choose_column(profile, options->type, &column);
    if (code)
        return code;
    if (options->form == OPT_FOLDED)
        return cli_show_folded(profile, column);
    return cli_show_top(profile, column, options->type != NULL,
                        options->top ? options->top : DEFAULT_TOP);
}

int cli_show(int argc, char **argv)
{
    show_options options = {.max_memory = PPROFDELTA_DEFAULT_MAX_MEMORY};
    int code = parse(&options, argc, argv);
    if (code)
        return code;
    if (options.help) {
        fputs(help, stdout);
        return cli_output_end_text();
    }
    cli_profile profile;
    code = cli_profile_load(&profile, options.file, options.max_memory);
    if (!code)
        code = print(&options, &profile);
    if (!code)
        code = cli_output_end_text();
    cli_profile_free(&profile);
    return code;
}
