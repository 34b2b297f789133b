/* pprofdelta symbolize FILE [-o OUT]: functions, inlined calls and lines for addresses.
 *
 *     profile -> view -> symbolize_view.c, demangle_view.c -> packed -> pprofdelta_rewrite -> OUT
 *
 * What is still missing is printed, with what to do about it. */
#include "cli.h"
#include "keep.h"
#include "message.h"
#include "arguments.h"
#include "output_file.h"
#include "symbolize/symbolize_view.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct run {
    cli_arguments arguments;
    const char *output;
    cli_symbolizing how;
    pprofdelta_options library;
    cli_profile profile;
    cli_output out;
} run;

/* ---- the command line ------------------------------------------------------------------------ */

static void take_servers(const cli_option *option, const char *urls, void *asks_servers)
{
    const char *set = getenv("DEBUGINFOD_URLS");
    if (urls && (!*urls || setenv("DEBUGINFOD_URLS", urls, 1)))
        cli_bad_value(option->name, urls, "the URLs of servers");
    if (!urls && (!set || !*set))
        cli_usage("--debuginfod: DEBUGINFOD_URLS names no server; give --debuginfod=URL");
    cli_take_flag(option, NULL, asks_servers);
}

static const cli_option table[] = {
    {"--output", 'o', CLI_VALUE, cli_take_name, offsetof(run, output), 0, 0,
     "  -o, --output OUT           write to the file OUT (default, or -: stdout)\n"},
    {"--debug-dir", 0, CLI_VALUE, cli_names_take_dir, offsetof(run, how.places), 0, 0,
     "      --debug-dir=DIR        look for binaries and debug files in DIR first;\n"
     "                             may be given several times\n"},
    {"--debuginfod", 0, CLI_MAY_HAVE_VALUE, take_servers, offsetof(run, how.places.asks_servers), 0,
     0,
     "      --debuginfod[=URLS]    ask debuginfod servers, those of DEBUGINFOD_URLS\n"
     "                             or URLS (the default if DEBUGINFOD_URLS is set)\n"},
    {"--no-debuginfod", 0, CLI_ALONE, cli_take_flag, offsetof(run, how.places.asks_servers),
     CLI_CLEARED, 0, "      --no-debuginfod        ask no server\n"},
    {"--return-addresses", 0, CLI_ALONE, cli_take_flag, offsetof(run, how.has_return_addresses), 0,
     0, "      --return-addresses     addresses of callers are those behind the call\n"},
    {"--force", 0, CLI_ALONE, cli_take_flag, offsetof(run, how.is_forced), 0, 0,
     "      --force                look also for locations that have lines\n"},
    {"--no-demangle", 0, CLI_ALONE, cli_take_flag, offsetof(run, how.is_not_demangled), 0, 0,
     "      --no-demangle          leave the names of C++ and Rust mangled\n"},
    {"--compress", 0, CLI_VALUE, cli_take_choice, offsetof(run, library.compression),
     CLI_COMPRESSION, 0, "      --compress=HOW         gzip, zstd or none\n"},
    {"--max-memory", 0, CLI_VALUE, cli_take_size, offsetof(run, library.max_memory), 0, 0,
     "      --max-memory=SIZE      use at most SIZE bytes: 512M, 8G (the default)\n"},
    {"--quiet", 'q', CLI_ALONE, cli_take_quiet, 0, 0, 0,
     "  -q, --quiet                print no notes on stderr\n"},
    {"--help", 'h', CLI_ALONE, NULL, 0, 0, 0, "  -h, --help\n"},
};

static const cli_command command = {
    .before = "usage: pprofdelta symbolize FILE [-o OUT]\n"
              "Finds the functions, inlined calls and lines of the addresses in the profile\n"
              "FILE (- is stdin), from the debug information of its binaries. A binary is used\n"
              "only if its build id is that of the profile.\n"
              "\n",
    .options = table,
    .missing = "a profile is missing: pprofdelta symbolize FILE",
};

/* ---- what is missing ------------------------------------------------------------------------- */

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
    if (!report->locations)
        cli_note("%s: no location has an address, so nothing was looked for",
                 r->profile.input.name);
    else if (report->kept && !wanted)
        cli_note("%s: all %" PRIu64 " locations have lines; --force looks for them again",
                 r->profile.input.name, report->kept);
    else
        cli_note("%s: of %" PRIu64 " locations, %" PRIu64 " had lines, %" PRIu64
                 " have a function now, %" PRIu64 " with a line",
                 r->profile.input.name, report->locations, report->kept, named, lined);
}

/* ---- the run --------------------------------------------------------------------------------- */

int cli_symbolize(int argc, char **argv)
{
    static run r = {.library = PPROFDELTA_OPTIONS_INIT, .out = {.fd = -1}};
    const char *urls = getenv("DEBUGINFOD_URLS");
    static cli_buffer changed;
    cli_symbolize_report report = {0};
    r.arguments = (cli_arguments){.argc = argc, .argv = argv};
    r.library.max_memory = PPROFDELTA_DEFAULT_MAX_MEMORY;
    r.how.places.asks_servers = urls && *urls;
    cli_command_read(&command, &r.arguments, &r);
    const char *const *files = r.arguments.operands;
    if (r.arguments.operands_len > 1)
        cli_usage("%.60s: is one operand too many; symbolize takes one profile", files[1]);
    if (!cli_module_resolve) {
        cli_error("this pprofdelta was built without libdw of elfutils, so it cannot read debug "
                  "information");
        cli_must(cli_hint("build it with libdw (Debian: libdw-dev)"));
    }
    cli_must(cli_output_prepare(&r.out, r.output));
    cli_progress_start();
    cli_keep_at_most(r.library.max_memory, cli_input_name(files[0]));
    cli_must(cli_profile_load(&r.profile, (cli_file){.path = files[0]}, &r.library));
    cli_progress_say("reading the symbols of", r.profile.input.name);
    cli_symbolize_profile(&r.profile, &r.how, &report);
    cli_must(cli_edit_write(&r.profile, &changed));
    cli_must(cli_output_finish_with(&r.out, &changed));
    print_report(&r, &report);
    return CLI_DONE;
}
