/* pprofdelta show FILE, or PREV CUR: prints profiles for people and for other tools. */
#include "show/forms.h"

#include "arguments.h"
#include "cli.h"
#include "message.h"
#include "output_file.h"
#include "progress.h"
#include "symbolize_view.h"

#include <string.h>

static const char help[] =
    "usage: pprofdelta show FILE [--top N] [--type TYPE]\n"
    "       pprofdelta show FILE --flame OUT.html | --folded | --raw | --json\n"
    "       pprofdelta show PREV CUR [--top N | --flame OUT.html | --folded]\n"
    "Prints a table of the functions in the profile FILE (- is stdin), or of those\n"
    "that grew or shrank from PREV to CUR; or\n"
    "\n"
    "      --flame=OUT.html   a page with a flame graph, which needs no network\n"
    "      --folded           one line for each stack: root;...;leaf VALUE\n"
    "      --raw              the whole profile, one line for each record\n"
    "      --json             the whole profile, as one JSON object\n"
    "\n"
    "      --top[=N]          the table, with N rows (10)\n"
    "      --type=TYPE[/UNIT] the sample type of the table, the page or --folded\n"
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
    OPT_MAX_MEMORY,
    OPT_NO_SYMBOLIZE,
    OPT_NO_DEMANGLE,
    OPT_DEBUG_DIR
};
enum { DEFAULT_TOP = 10, MOST_TOP = 1000000000 };

static const struct option table[] = {
    {"top", optional_argument, NULL, OPT_TOP},
    {"type", required_argument, NULL, OPT_TYPE},
    {"raw", no_argument, NULL, OPT_RAW},
    {"folded", no_argument, NULL, OPT_FOLDED},
    {"json", no_argument, NULL, OPT_JSON},
    {"flame", required_argument, NULL, OPT_FLAME},
    {"max-memory", required_argument, NULL, OPT_MAX_MEMORY},
    {"no-symbolize", no_argument, NULL, OPT_NO_SYMBOLIZE},
    {"no-demangle", no_argument, NULL, OPT_NO_DEMANGLE},
    {"debug-dir", required_argument, NULL, OPT_DEBUG_DIR},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

typedef struct show_options {
    const char *files[CLI_SIDES];
    size_t files_len;
    const char *type; /* NULL: all types in the table, the default type elsewhere */
    const char *page; /* the file of --flame */
    int form;         /* OPT_RAW, OPT_FOLDED, OPT_JSON or OPT_FLAME; 0: the table */
    size_t top;       /* 0: not given */
    unsigned long long max_memory;
    cli_show_names names;
    bool help;
} show_options;

static bool is_number(const char *text)
{
    return *text && !text[strspn(text, "0123456789")];
}

/* --top, --top=N, or --top N if the next argument is a number. */
static int set_top(show_options *options, const char *value, const cli_arguments *arguments)
{
    const char *next = optind < arguments->argc ? arguments->argv[optind] : "";
    if (!value && !is_number(next)) {
        options->top = DEFAULT_TOP;
        return CLI_DONE;
    }
    if (!value) {
        value = next;
        optind++;
    }
    size_t top = 0;
    for (const char *p = value; is_number(p) && top <= MOST_TOP; p++)
        top = top * 10 + (size_t)(*p - '0');
    if (!is_number(value) || !top || top > MOST_TOP)
        return cli_bad_value("--top", value, "a number of rows, 1 or more");
    options->top = top;
    return CLI_DONE;
}

static int set_form(show_options *options, int form)
{
    if (options->form && options->form != form)
        return cli_usage("--flame, --folded, --raw and --json exclude each other");
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
        return set_top(options, optarg, arguments);
    case OPT_FLAME:
        return set_page(options, optarg);
    case OPT_TYPE:
        options->type = optarg;
        return CLI_DONE;
    case OPT_RAW:
    case OPT_FOLDED:
    case OPT_JSON:
        return set_form(options, option);
    case OPT_MAX_MEMORY:
        return cli_take_size("--max-memory", optarg, &options->max_memory);
    case OPT_NO_SYMBOLIZE:
        options->names.is_not_symbolized = true;
        return CLI_DONE;
    case OPT_NO_DEMANGLE:
        options->names.is_not_demangled = true;
        return CLI_DONE;
    case OPT_DEBUG_DIR:
        return cli_show_add_dir(&options->names, optarg);
    case 'h':
        options->help = true;
        return CLI_DONE;
    default:
        return CLI_USAGE;
    }
}

static int check_options(const show_options *options)
{
    bool is_whole = options->form == OPT_RAW || options->form == OPT_JSON;
    if (!options->files_len)
        return cli_usage("a profile is missing: pprofdelta show FILE");
    if (options->files_len > 1 && is_whole)
        return cli_usage("--raw and --json show one profile");
    if (options->top && options->form)
        return cli_usage("--top is for the table, not for --flame, --folded, --raw or --json");
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

static int print(const show_options *options, const cli_profile *profiles)
{
    cli_types types;
    size_t chosen, sides = options->files_len;
    size_t rows = options->top ? options->top : DEFAULT_TOP;
    if (options->form == OPT_RAW)
        return cli_show_raw(profiles);
    if (options->form == OPT_JSON)
        return cli_show_json(profiles);
    int code = cli_types_match(&types, profiles, sides);
    if (!code)
        code = cli_types_choose(&types, profiles, sides, options->type, &chosen);
    if (code)
        return code;
    if (options->form == OPT_FOLDED)
        return cli_show_folded(profiles, sides, &types, chosen);
    if (options->form == OPT_FLAME)
        return cli_show_flame(profiles, sides, &types, chosen, options->page);
    if (sides > 1)
        return cli_show_change(profiles, &types, chosen, rows);
    return cli_show_top(profiles, &types, chosen, options->type != NULL, rows);
}

/* The limit counts for both profiles together. */
static int load_and_print(const show_options *options, cli_profile *profiles)
{
    uint64_t memory = options->max_memory;
    cli_progress_start(true);
    for (size_t i = 0; i < options->files_len; i++) {
        int code = cli_profile_load(&profiles[i], options->files[i], memory);
        if (!code && options->form != OPT_RAW) /* which shows what is in the file */
            code = cli_show_find_names(&profiles[i], &options->names);
        if (code)
            return code;
        memory = profiles[i].memory_left ? profiles[i].memory_left : 1;
    }
    if (options->form != OPT_FLAME)
        cli_progress_end();
    return print(options, profiles);
}

int cli_show(int argc, char **argv)
{
    show_options options = {.max_memory = PPROFDELTA_DEFAULT_MAX_MEMORY};
    cli_profile profiles[CLI_SIDES] = {{.view = NULL}};
    int code = parse(&options, argc, argv);
    if (code)
        return code;
    if (options.help)
        return cli_output_text(help);
    code = load_and_print(&options, profiles);
    cli_progress_end();
    if (!code && options.form != OPT_FLAME) /* the page is an output of its own */
        code = cli_output_end_text();
    for (size_t i = 0; i < CLI_SIDES; i++)
        cli_profile_free(&profiles[i]);
    return code;
}
