/* pprofdelta symbolize FILE [-o OUT]: functions, inlined calls and lines for addresses.
 *
 *     profile -> view -> symbolize_view.c, demangle_view.c -> packed -> pprofdelta_rewrite -> OUT
 *
 * What is still missing is printed, with what to do about it. */
#include "arguments.h"
#include "cli.h"
#include "memory.h"
#include "message.h"
#include "symbolize/names.h"
#include "option_values.h"
#include "output_file.h"
#include "progress.h"
#include "symbolize/symbolize_view.h"
#include "view_edit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: pprofdelta symbolize FILE [-o OUT]\n"
    "Finds the functions, inlined calls and lines of the addresses in the profile\n"
    "FILE (- is stdin), from the debug information of its binaries. A binary is used\n"
    "only if its build id is that of the profile.\n"
    "\n"
    "  -o, --output OUT           write to the file OUT (default, or -: stdout)\n"
    "      --debug-dir=DIR        look for binaries and debug files in DIR first;\n"
    "                             may be given several times\n"
    "      --debuginfod[=URLS]    ask debuginfod servers, those of DEBUGINFOD_URLS\n"
    "                             or URLS (the default if DEBUGINFOD_URLS is set)\n"
    "      --no-debuginfod        ask no server\n"
    "      --return-addresses     addresses of callers are those behind the call\n"
    "      --force                look also for locations that have lines\n"
    "      --no-demangle          leave the names of C++ and Rust mangled\n"
    "      --compress=HOW         gzip, zstd or none\n"
    "      --max-memory=SIZE      use at most SIZE bytes: 512M, 8G (the default)\n"
    "  -q, --quiet                print no notes on stderr\n"
    "  -h, --help\n";

enum {
    OPT_DEBUGINFOD = CLI_LONG,
    OPT_NO_DEBUGINFOD,
    OPT_RETURN_ADDRESSES,
    OPT_FORCE,
    OPT_COMPRESS,
    OPT_MAX_MEMORY
};

static const struct option table[] = {
    {"output", required_argument, NULL, 'o'},
    {"debug-dir", required_argument, NULL, CLI_NAMES_DEBUG_DIR},
    {"debuginfod", optional_argument, NULL, OPT_DEBUGINFOD},
    {"no-debuginfod", no_argument, NULL, OPT_NO_DEBUGINFOD},
    {"return-addresses", no_argument, NULL, OPT_RETURN_ADDRESSES},
    {"force", no_argument, NULL, OPT_FORCE},
    {"no-demangle", no_argument, NULL, CLI_NAMES_NO_DEMANGLE},
    {"compress", required_argument, NULL, OPT_COMPRESS},
    {"max-memory", required_argument, NULL, OPT_MAX_MEMORY},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

typedef struct run {
    const char *file, *output;
    cli_names names;
    cli_symbolizing how;
    pprofdelta_options library;
    bool quiet, help;
    cli_profile profile;
    cli_output out;
} run;

/* ---- the command line ------------------------------------------------------------------------ */

static int set_file(run *r, const char *value)
{
    if (r->file)
        return cli_usage("%.60s: is one operand too many; symbolize takes one profile", value);
    r->file = value;
    return CLI_DONE;
}

static int set_servers(run *r, const char *urls)
{
    const char *set = getenv("DEBUGINFOD_URLS");
    if (urls && (!*urls || setenv("DEBUGINFOD_URLS", urls, 1)))
        return cli_bad_value("--debuginfod", urls, "the URLs of servers");
    if (!urls && (!set || !*set))
        return cli_usage("--debuginfod: DEBUGINFOD_URLS names no server; give --debuginfod=URL");
    r->how.places.asks_servers = true;
    return CLI_DONE;
}

static int apply(run *r, int option)
{
    switch (option) {
    case CLI_OPERAND:
        return set_file(r, optarg);
    case 'o':
        return cli_take_output(optarg, &r->output);
    case OPT_DEBUGINFOD:
        return set_servers(r, optarg);
    case OPT_NO_DEBUGINFOD:
        r->how.places.asks_servers = false;
        return CLI_DONE;
    case OPT_RETURN_ADDRESSES:
        r->how.has_return_addresses = true;
        return CLI_DONE;
    case OPT_FORCE:
        r->how.is_forced = true;
        return CLI_DONE;
    case OPT_COMPRESS:
        return cli_take_compression(optarg, &r->library.compression);
    case OPT_MAX_MEMORY:
        return cli_take_size("--max-memory", optarg, &r->library.max_memory);
    case 'q':
        r->quiet = true;
        return CLI_DONE;
    case 'h':
        r->help = true;
        return CLI_DONE;
    default:
        return cli_names_take(&r->names, option, optarg);
    }
}

static int parse(run *r, int argc, char **argv)
{
    cli_arguments arguments = {argc, argv, "o:qh", table, false};
    const char *urls = getenv("DEBUGINFOD_URLS");
    r->how.places.asks_servers = urls && *urls;
    for (int option; (option = cli_arguments_next(&arguments)) != CLI_END;) {
        int code = apply(r, option);
        if (code || r->help)
            return code;
    }
    r->how.places.dirs = r->names.dirs;
    r->how.places.dirs_len = r->names.dirs_len;
    return r->file ? CLI_DONE : cli_usage("a profile is missing: pprofdelta symbolize FILE");
}

/* ---- what is missing ------------------------------------------------------------------------- */

/* Is there a program with this name in the PATH? */
static bool is_installed(const char *program)
{
    const char *path = getenv("PATH");
    char name[4096];
    for (const char *at = path; at && *at; at += *at == ':') {
        size_t len = strcspn(at, ":");
        int size = snprintf(name, sizeof name, "%.*s/%s", (int)len, at, program);
        if (size > 0 && (size_t)size < sizeof name && !access(name, X_OK))
            return true;
        at += len;
    }
    return false;
}

static void print_report(const run *r, const cli_symbolize_report *report)
{
    uint64_t wanted = 0, named = 0, lined = 0;
    for (size_t i = 0; i < report->len; i++) {
        wanted += report->modules[i].wanted;
        named += report->modules[i].named;
        lined += report->modules[i].lined;
        cli_symbolize_note(&r->profile, &report->modules[i]);
    }
    if (report->placeless)
        cli_note("%" PRIu64 " locations are in no file, so they have no names", report->placeless);
    if (r->how.places.asks_servers && !is_installed("debuginfod-find"))
        cli_note("no server was asked: debuginfod-find is not installed (it is part of elfutils; "
                 "Debian: debuginfod)");
    if (report->kept && !wanted)
        cli_note("%s: all %" PRIu64 " locations have names; --force looks for them again",
                 r->profile.input.name, report->kept);
    else
        cli_note("%s: of %" PRIu64 " locations, %" PRIu64 " had names, %" PRIu64
                 " have a function now, %" PRIu64 " with a line",
                 r->profile.input.name, report->locations, report->kept, named, lined);
}

/* ---- the run --------------------------------------------------------------------------------- */

static int find_symbols(run *r)
{
    cli_symbolize_report report = {0};
    cli_progress_say("reading the symbols of", r->profile.input.name);
    int code = cli_symbolize_view(&r->profile, &r->how, &report);
    if (!code && !r->names.is_not_demangled)
        code = cli_demangle_view(&r->profile);
    if (!code)
        code = cli_edit_write(&r->profile, &r->out);
    cli_progress_end();
    if (!code && !r->quiet)
        print_report(r, &report);
    cli_symbolize_report_free(&report);
    return code;
}

static int perform(run *r)
{
    if (!cli_module_is_supported()) {
        cli_error("this pprofdelta was built without libdw of elfutils, so it cannot read debug "
                  "information");
        cli_hint("build it with libdw (Debian: libdw-dev)");
        return CLI_FAILED;
    }
    int code = cli_output_prepare(&r->out, r->output);
    if (code)
        return code;
    cli_progress_start(!r->quiet);
    code = cli_profile_load_with(&r->profile, r->file, &r->library);
    return code ? code : find_symbols(r);
}

int cli_symbolize(int argc, char **argv)
{
    run r = {.library = PPROFDELTA_OPTIONS_INIT, .out = {.fd = -1}};
    r.library.max_memory = PPROFDELTA_DEFAULT_MAX_MEMORY;
    int code = parse(&r, argc, argv);
    if (!code)
        code = r.help ? cli_output_text(help) : perform(&r);
    cli_progress_end();
    cli_profile_free(&r.profile);
    cli_output_close(&r.out);
    return code;
}
