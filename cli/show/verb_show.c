/* pprofdelta show FILE, or PREV CUR: prints profiles for people and for other tools. */
#include "show/forms.h"
#include "show/otlp_forms.h"

#include "arguments.h"
#include "cli.h"
#include "message.h"
#include "symbolize/names.h"
#include "option_values.h"
#include "output_file.h"
#include "progress.h"

#include <string.h>

static const char help[] =
    "usage: pprofdelta show FILE [FORM] [FILTER...] [--type TYPE]\n"
    "       pprofdelta show PREV CUR [FORM] [FILTER...] [--type TYPE]\n"
    "Prints a table of the functions in the profile FILE (- is stdin), or of those\n"
    "that grew or shrank from PREV to CUR; or\n"
    "\n"
    "      --stacks[=N]       the N (10) heaviest stacks, with files and lines\n"
    "      --flame=OUT.html   a page with a flame graph, which needs no network\n"
    "      --folded           one line for each stack: root;...;leaf VALUE\n"
    "      --raw              the whole profile, one line for each record\n"
    "      --json             the whole profile, as one JSON object\n"
    "\n"
    "      --top[=N]          the table, with N rows (10)\n"
    "      --cum              the table, sorted by cumulative values\n"
    "      --type=TYPE[/UNIT] the sample type that is shown and sorted by\n"
    "      --focus=REGEX      only samples with a frame that matches\n"
    "      --ignore=REGEX     no samples with a frame that matches\n"
    "      --tag=KEY[=VALUE]  only samples with that label; VALUE may be a regular\n"
    "                         expression for the whole value, or MIN:MAX\n"
    "      --hide=REGEX       no frames that match; their values stay\n"
    "      --all-frames       wrappers of malloc and start-up functions, too\n"
    "      --max-memory=SIZE  use at most SIZE bytes: 512M, 8G (the default)\n"
    "      --no-symbolize     leave addresses as they are\n"
    "      --no-demangle      leave the names of C++ and Rust mangled\n"
    "      --debug-dir=DIR    look for binaries and debug files in DIR, too\n"
    "  -h, --help\n";

enum {
    OPT_TOP = CLI_LONG,
    OPT_TYPE,
    OPT_RAW,
    OPT_FOLDED,
    OPT_JSON,
    OPT_FLAME,
    OPT_STACKS,
    OPT_CUM,
    OPT_FOCUS,
    OPT_IGNORE,
    OPT_TAG,
    OPT_HIDE,
    OPT_ALL_FRAMES,
    OPT_MAX_MEMORY
};
enum { DEFAULT_TOP = 10 };

static const struct option table[] = {
    {"top", optional_argument, NULL, OPT_TOP},
    {"type", required_argument, NULL, OPT_TYPE},
    {"raw", no_argument, NULL, OPT_RAW},
    {"folded", no_argument, NULL, OPT_FOLDED},
    {"json", no_argument, NULL, OPT_JSON},
    {"flame", required_argument, NULL, OPT_FLAME},
    {"stacks", optional_argument, NULL, OPT_STACKS},
    {"cum", no_argument, NULL, OPT_CUM},
    {"focus", required_argument, NULL, OPT_FOCUS},
    {"ignore", required_argument, NULL, OPT_IGNORE},
    {"tag", required_argument, NULL, OPT_TAG},
    {"hide", required_argument, NULL, OPT_HIDE},
    {"all-frames", no_argument, NULL, OPT_ALL_FRAMES},
    {"max-memory", required_argument, NULL, OPT_MAX_MEMORY},
    {"no-symbolize", no_argument, NULL, CLI_NAMES_NO_SYMBOLIZE},
    {"no-demangle", no_argument, NULL, CLI_NAMES_NO_DEMANGLE},
    {"debug-dir", required_argument, NULL, CLI_NAMES_DEBUG_DIR},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

typedef struct show_options {
    const char *files[CLI_SIDES];
    size_t files_len;
    const char *type; /* NULL: all types in the table, the default type elsewhere */
    const char *page; /* the file of --flame */
    int form;         /* OPT_RAW, OPT_FOLDED, OPT_JSON, OPT_FLAME, OPT_STACKS; 0: the table */
    size_t top;       /* 0: not given */
    size_t stacks;
    bool is_by_cum;
    cli_filters filters;
    uint64_t max_memory;
    cli_names names;
    bool help;
} show_options;

static bool is_number(const char *text)
{
    return *text && !text[strspn(text, "0123456789")];
}

/* --top, --top=N, or --top N if the next argument is a number; the same for --stacks. */
static int set_number(const char *option, size_t *number, const char *value,
                      const cli_arguments *arguments)
{
    const char *next = optind < arguments->argc ? arguments->argv[optind] : "";
    if (!value && !is_number(next)) {
        *number = DEFAULT_TOP;
        return CLI_DONE;
    }
    if (!value) {
        value = next;
        optind++;
    }
    return cli_take_rows(option, value, number);
}

static int set_form(show_options *options, int form)
{
    if (options->form && options->form != form)
        return cli_usage("--stacks, --flame, --folded, --raw and --json exclude each other");
    options->form = form;
    return CLI_DONE;
}

static int set_page(show_options *options, const char *value)
{
    if (!*value)
        return cli_bad_value("--flame", value, "the name of a file, or - for stdout");
    options->page = value;
    return set_form(options, OPT_FLAME);
}

static int set_stacks(show_options *options, const char *value, const cli_arguments *arguments)
{
    int code = set_number("--stacks", &options->stacks, value, arguments);
    return code ? code : set_form(options, OPT_STACKS);
}

static int add_file(show_options *options, const char *value)
{
    if (options->files_len == CLI_SIDES)
        return cli_usage("%.60s: is one operand too many; show takes one profile, or PREV and CUR",
                         value);
    options->files[options->files_len++] = value;
    return CLI_DONE;
}

static int apply(show_options *options, int option, const cli_arguments *arguments)
{
    switch (option) {
    case CLI_OPERAND:
        return add_file(options, optarg);
    case OPT_TOP:
        return set_number("--top", &options->top, optarg, arguments);
    case OPT_STACKS:
        return set_stacks(options, optarg, arguments);
    case OPT_FLAME:
        return set_page(options, optarg);
    case OPT_TYPE:
        options->type = optarg;
        return CLI_DONE;
    case OPT_RAW:
    case OPT_FOLDED:
    case OPT_JSON:
        return set_form(options, option);
    case OPT_FOCUS:
        return cli_filters_add(&options->filters, CLI_FILTER_FOCUS, optarg);
    case OPT_IGNORE:
        return cli_filters_add(&options->filters, CLI_FILTER_IGNORE, optarg);
    case OPT_TAG:
        return cli_filters_add(&options->filters, CLI_FILTER_TAG, optarg);
    case OPT_HIDE:
        return cli_filters_add(&options->filters, CLI_FILTER_HIDE, optarg);
    case OPT_CUM:
        options->is_by_cum = true;
        return CLI_DONE;
    case OPT_ALL_FRAMES:
        options->filters.shows_wrappers = true;
        return CLI_DONE;
    case OPT_MAX_MEMORY:
        return cli_take_size("--max-memory", optarg, &options->max_memory);
    case 'h':
        options->help = true;
        return CLI_DONE;
    default:
        return cli_names_take(&options->names, option, optarg);
    }
}

static int check_options(const show_options *options)
{
    bool is_whole = options->form == OPT_RAW || options->form == OPT_JSON;
    if (!options->files_len)
        return cli_usage("a profile is missing: pprofdelta show FILE");
    if (options->files_len > 1 && options->form == OPT_RAW)
        return cli_usage("--raw shows one profile");
    if ((options->top || options->is_by_cum) && options->form)
        return cli_usage("%s is for the table, not for --stacks, --flame, --folded, --raw or "
                         "--json",
                         options->top ? "--top" : "--cum");
    if (options->form == OPT_RAW && cli_filters_have(&options->filters, CLI_FILTER_HIDE))
        return cli_usage("--hide is not for --raw, which shows records as they are");
    if (options->type && is_whole)
        return cli_usage("--type is not for --raw and --json, which show every type");
    return cli_check_stdin(options->files, options->files_len);
}

static int parse(show_options *options, int argc, char **argv)
{
    cli_arguments arguments = {argc, argv, "h", table, false};
    for (int option; (option = cli_arguments_next(&arguments)) != CLI_END;) {
        int code = apply(options, option, &arguments);
        if (code || options->help)
            return code;
    }
    return check_options(options);
}

/* The forms that show every type take the default one for what the filters kept, if there is any. */
static int match_types(const show_options *options, cli_shown *shown, cli_types *types)
{
    bool is_whole = options->form == OPT_RAW || options->form == OPT_JSON;
    if (is_whole && shown->sides == 1 && !shown->profiles->view->n_sample_type)
        return CLI_DONE;
    int code = cli_types_match(types, shown->profiles, shown->sides);
    if (code)
        return code;
    code = cli_types_choose(types, shown->profiles, shown->sides, options->type, &shown->chosen);
    shown->preferred = shown->chosen;
    if (!code && !options->type && options->form != OPT_RAW)
        shown->chosen = cli_types_instead(types, shown->profiles, shown->sides, shown->preferred);
    if (options->form == OPT_JSON) /* which shows all types */
        shown->preferred = shown->chosen;
    return code;
}

static int print_form(const show_options *options, const cli_shown *shown)
{
    switch (options->form) {
    case OPT_RAW:
        return shown->profiles->request ? cli_show_raw_request(shown->profiles)
                                        : cli_show_raw(shown);
    case OPT_JSON:
        return cli_show_json(shown);
    case OPT_FOLDED:
        return cli_show_folded(shown);
    case OPT_FLAME:
        return cli_show_flame(shown, options->page);
    case OPT_STACKS:
        return cli_show_stacks(shown);
    default:
        return shown->sides > 1 ? cli_show_change(shown) : cli_show_top(shown);
    }
}

static int print(const show_options *options, const cli_profile *profiles)
{
    cli_types types = {.len = 0};
    cli_selection selections[CLI_SIDES] = {{0}};
    cli_shown shown = {.profiles = profiles,
                       .selections = selections,
                       .sides = options->files_len,
                       .filters = &options->filters,
                       .types = &types,
                       .only_chosen = options->type != NULL,
                       .is_by_cum = options->is_by_cum,
                       .most = options->form == OPT_STACKS ? options->stacks
                               : options->top              ? options->top
                                                           : DEFAULT_TOP};
    bool is_whole = options->form == OPT_RAW || options->form == OPT_JSON;
    int code = match_types(options, &shown, &types);
    for (size_t side = 0; !code && side < shown.sides; side++)
        code = cli_selection_make(&selections[side], &profiles[side], &options->filters,
                                  is_whole ? CLI_FOLD_NOTHING : CLI_FOLD_WRAPPERS);
    if (!code)
        code = print_form(options, &shown);
    for (size_t side = 0; side < CLI_SIDES; side++)
        cli_selection_free(&selections[side]);
    return code;
}

/* The limit counts for both profiles together. */
static int load_and_print(const show_options *options, cli_profile *profiles)
{
    uint64_t memory = options->max_memory;
    cli_progress_start(true);
    for (size_t i = 0; i < options->files_len; i++) {
        int code = cli_profile_load(&profiles[i], options->files[i], memory);
        if (!code && options->form != OPT_RAW) /* which shows what is in the file */
            code = cli_names_find(&profiles[i], &options->names);
        if (code)
            return code;
        memory = profiles[i].memory_left ? profiles[i].memory_left : 1;
    }
    if (options->form != OPT_FLAME)
        cli_progress_end();
    return print(options, profiles);
}

static int show(show_options *options, int argc, char **argv)
{
    cli_profile profiles[CLI_SIDES] = {{.view = NULL}};
    int code = parse(options, argc, argv);
    if (code)
        return code;
    if (options->help)
        return cli_output_text(help);
    code = load_and_print(options, profiles);
    cli_progress_end();
    if (!code && options->form != OPT_FLAME) /* the page is an output of its own */
        code = cli_output_end_text();
    for (size_t i = 0; i < CLI_SIDES; i++)
        cli_profile_free(&profiles[i]);
    return code;
}

int cli_show(int argc, char **argv)
{
    show_options options = {.max_memory = PPROFDELTA_DEFAULT_MAX_MEMORY};
    int code = show(&options, argc, argv);
    cli_filters_free(&options.filters);
    return code;
}
