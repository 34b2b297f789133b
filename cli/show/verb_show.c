/* pprofdelta show FILE, or PREV CUR: prints profiles for people and for other tools. */
#include "show/shown.h"

#include "agent/base/memory_limit.h"
#include "cli.h"
#include "keep.h"
#include "message.h"
#include "output_file.h"
#include "symbolize/symbolize_view.h"
#include "arguments.h"

#include <getopt.h>
#include <string.h>

enum { DEFAULT_TOP = 10 };
typedef enum show_form { TABLE, RAW, FOLDED, JSON, FLAME, STACKS, LIFETIMES, PEEK } show_form;
static cli_show_form *const forms[] = {cli_show_table,     cli_show_raw,   cli_show_folded,
                                       cli_show_json,      cli_show_flame, cli_show_stacks,
                                       cli_show_lifetimes, cli_show_peek};

typedef struct show_options {
    cli_arguments arguments; /* whose operands are the files */
    const char *type;        /* NULL: all types in the table, the default type elsewhere */
    show_form form;
    size_t top; /* 0: not given */
    size_t stacks;
    cli_shown shown;
    cli_filters filters, peeked;
    uint64_t max_memory;
    cli_symbolizing names;
} show_options;

static void set_form(show_options *options, show_form form)
{
    if (options->form && options->form != form)
        cli_usage("--stacks, --peek, --lifetimes, --flame, --folded, --raw and --json "
                  "exclude each other");
    options->form = form;
}

static void take_form(const cli_option *option, const char *value, void *options)
{
    (void)value;
    set_form(options, (show_form)option->what);
}

static void take_page(const cli_option *option, const char *value, void *options)
{
    show_options *o = options;
    cli_take_name(option, value, &o->shown.page);
    set_form(o, FLAME);
}

static void take_peek(const cli_option *option, const char *value, void *options)
{
    show_options *o = options;
    cli_filters_take(option, value, &o->peeked);
    set_form(o, PEEK);
}

/* --top, --top=N, or --top N if the next argument is a number; the same for --stacks. */
static void take_number(const cli_option *option, const char *value, void *options)
{
    show_options *o = options;
    size_t *number = option->what == STACKS ? &o->stacks : &o->top;
    const char *next = optind < o->arguments.argc ? o->arguments.argv[optind] : "";
    bool is_next = !value && *next && !next[strspn(next, "0123456789")];
    optind += is_next;
    value = is_next ? next : value;
    *number = DEFAULT_TOP;
    if (value)
        cli_take_rows(option, value, number);
    if (option->what == STACKS)
        set_form(o, STACKS);
}

static const cli_option table[] = {
    {"--stacks", 0, CLI_MAY_HAVE_VALUE, take_number, 0, STACKS, 0,
     "      --stacks[=N]       the N (10) heaviest stacks, with files and lines\n"},
    {"--peek", 0, CLI_VALUE, take_peek, 0, CLI_FILTER_FOCUS, 0,
     "      --peek=REGEX       functions by name, with their callers and callees\n"},
    {"--lifetimes", 0, CLI_ALONE, take_form, 0, LIFETIMES, 0,
     "      --lifetimes        for each stack: what is freed soon, what lives on\n"},
    {"--flame", 0, CLI_VALUE, take_page, 0, 0, 0,
     "      --flame=OUT.html   a page with a flame graph, which needs no network\n"},
    {"--folded", 0, CLI_ALONE, take_form, 0, FOLDED, 0,
     "      --folded           one line for each stack: root;...;leaf VALUE\n"},
    {"--raw", 0, CLI_ALONE, take_form, 0, RAW, 0,
     "      --raw              the whole profile, one line for each record\n"},
    {"--json", 0, CLI_ALONE, take_form, 0, JSON, 0,
     "      --json             the whole profile, as one JSON object\n"},
    {"--top", 0, CLI_MAY_HAVE_VALUE, take_number, 0, TABLE, 0,
     "\n"
     "      --top[=N]          the table, with N rows (10)\n"},
    {"--cum", 0, CLI_ALONE, cli_take_flag, offsetof(show_options, shown.is_by_cum), 0, 0,
     "      --cum              the table, sorted by cumulative values\n"},
    {"--type", 0, CLI_VALUE, cli_take_text, offsetof(show_options, type), 0, 0,
     "      --type=TYPE[/UNIT] the sample type that is shown and sorted by\n"},
    {"--focus", 0, CLI_VALUE, cli_filters_take, offsetof(show_options, filters), CLI_FILTER_FOCUS,
     0, "      --focus=REGEX      only samples with a frame that matches\n"},
    {"--ignore", 0, CLI_VALUE, cli_filters_take, offsetof(show_options, filters), CLI_FILTER_IGNORE,
     0, "      --ignore=REGEX     no samples with a frame that matches\n"},
    {"--tag", 0, CLI_VALUE, cli_filters_take, offsetof(show_options, filters), CLI_FILTER_TAG, 0,
     "      --tag=KEY[=VALUE]  only samples with that label; VALUE may be a regular\n"
     "                         expression for the whole value, or MIN:MAX\n"},
    {"--hide", 0, CLI_VALUE, cli_filters_take, offsetof(show_options, filters), CLI_FILTER_HIDE, 0,
     "      --hide=REGEX       no frames that match; their values stay\n"},
    {"--allocator", 0, CLI_VALUE, cli_filters_take, offsetof(show_options, filters),
     CLI_FILTER_ALLOCATOR, 0,
     "      --allocator=REGEX  functions that only allocate, hidden as malloc is\n"},
    {"--all-frames", 0, CLI_ALONE, cli_take_flag, offsetof(show_options, filters.shows_wrappers), 0,
     0, "      --all-frames       wrappers of malloc and start-up functions, too\n"},
    {"--max-memory", 0, CLI_VALUE, cli_take_size, offsetof(show_options, max_memory), 0, 0,
     "      --max-memory=SIZE  use at most SIZE bytes: 512M, 8G (default: 7/8\n"
     "                         of the memory of the machine or the cgroup)\n"},
    CLI_NAMES_OPTIONS(offsetof(show_options, names)),
    {"--help", 'h', CLI_ALONE, NULL, 0, 0, 0, "  -h, --help\n"},
};

static const cli_command command = {
    .before = "usage: pprofdelta show FILE [FORM] [FILTER...] [--type TYPE]\n"
              "       pprofdelta show PREV CUR [FORM] [FILTER...] [--type TYPE]\n"
              "Prints a table of the functions in the profile FILE (- is stdin), or of those\n"
              "that grew or shrank from PREV to CUR; or\n"
              "\n",
    .options = table,
    .missing = "a profile is missing: pprofdelta show FILE",
};

static bool is_whole(const show_options *options)
{
    return options->form == RAW || options->form == JSON;
}

static void check_options(const show_options *options)
{
    const char *const *files = options->arguments.operands;
    size_t len = options->arguments.operands_len;
    if (options->form == LIFETIMES && len > 1)
        cli_usage("--lifetimes shows one profile: pprofdelta sum FILE... | pprofdelta show "
                  "--lifetimes -");
    if (len > CLI_SIDES)
        cli_usage("%.60s: is one operand too many; show takes one profile, or PREV and CUR",
                  files[CLI_SIDES]);
    if (options->type && options->form == LIFETIMES)
        cli_usage("--type is not for --lifetimes, which shows what ended by its age");
    if ((options->shown.is_by_cum || (options->top && options->form != LIFETIMES)) && options->form)
        cli_usage("%s is for the table, not for --stacks, --peek, --flame, --folded, --raw or "
                  "--json",
                  options->shown.is_by_cum ? "--cum" : "--top");
    if (options->form == RAW && cli_filters_of(&options->filters, CLI_FILTER_HIDE))
        cli_usage("--hide is not for --raw, which shows records as they are");
    if ((is_whole(options) || options->form == PEEK) &&
        cli_filters_of(&options->filters, CLI_FILTER_ALLOCATOR))
        cli_usage("--allocator is not for --raw, --json and --peek, which show the frames "
                  "of allocators");
    if (options->type && is_whole(options))
        cli_usage("--type is not for --raw and --json, which show every type");
    cli_check_files(files, len, false);
}

/* The forms that show every type take the default one for what the filters kept, if there is any. */
static void choose_type(const show_options *options, cli_shown *shown)
{
    if (is_whole(options) && shown->sides == 1 && !shown->profiles->view->n_sample_type)
        return;
    cli_must(cli_types_match(shown));
    cli_must(cli_types_choose(shown, options->type, &shown->chosen));
    shown->preferred = shown->chosen;
    if (!options->type && options->form != RAW)
        shown->chosen = cli_types_instead(shown, shown->preferred);
    if (options->form == JSON) /* which shows all types */
        shown->preferred = shown->chosen;
}

/* The limit counts for both profiles together. */
static void load_profiles(show_options *options, cli_profile *profiles)
{
    pprofdelta_options library = PPROFDELTA_OPTIONS_INIT;
    library.max_memory = options->max_memory;
    for (size_t i = 0; i < options->shown.sides; i++) {
        const char *path = options->arguments.operands[i];
        cli_keep_at_most(library.max_memory, cli_input_name(path));
        cli_must(cli_profile_load(&profiles[i], (cli_file){.path = path}, &library));
        if (options->form != RAW) /* which shows what is in the file */
            cli_names_find(&profiles[i], options->names);
        library.max_memory = cli_keep_left() ? cli_keep_left() : 1;
    }
    if (options->form == RAW && options->shown.sides > 1) {
        options->shown.sides = 1;
        cli_raw_of_two(profiles, &library);
    }
    const cli_profile *last = &profiles[options->shown.sides - 1];
    cli_progress_say("adding up", last->input.name);
}

/* What is left is for what the limit does not count: the command itself, and the heap's own. */
static uint64_t default_limit(void)
{
    pd_memory_limit limit;
    pd_memory_limit_of_self(&limit);
    return limit.bytes ? limit.bytes - limit.bytes / 8 : PPROFDELTA_DEFAULT_MAX_MEMORY;
}

int cli_show(int argc, char **argv)
{
    static show_options options;
    static cli_profile profiles[CLI_SIDES];
    cli_shown *shown = &options.shown;
    options.arguments = (cli_arguments){.argc = argc, .argv = argv};
    options.max_memory = default_limit();
    cli_command_read(&command, &options.arguments, &options);
    check_options(&options);
    shown->sides = options.arguments.operands_len;
    shown->profiles = profiles;
    shown->filters = &options.filters;
    shown->peeked = &options.peeked;
    options.filters.shows_wrappers |= options.form == PEEK; /* malloc has callers, too */
    shown->only_chosen = options.type != NULL;
    shown->most = options.form == STACKS ? options.stacks : options.top ? options.top : DEFAULT_TOP;
    cli_progress_start();
    load_profiles(&options, profiles);
    choose_type(&options, shown);
    cli_shown_make(shown, is_whole(&options));
    forms[options.form](shown);
    return options.form == FLAME ? CLI_DONE : cli_output_end_text();
}
