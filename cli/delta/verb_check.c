/* pprofdelta check FILE...: checks that each file is a valid profile.
 *
 * Prints one line for each file: what a valid profile has on stdout, or what is wrong and where on
 * stderr. All files are checked, also after one that is wrong. */
#include "cli.h"
#include "delta/receiver_rules.h"
#include "input.h"
#include "message.h"
#include "arguments.h"
#include "output_file.h"
#include "pprofdelta_profile.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct check_options {
    pprofdelta_options library;
    cli_receiver receiver;
} check_options;

static const cli_option table[] = {
    {"--for", 0, CLI_VALUE, cli_receiver_take, offsetof(check_options, receiver), 0, 0,
     "      --for=RECEIVER     print also what it would refuse, drop, rename or\n"
     "                         multiply; other verbs write what it takes:\n"},
    {"--max-memory", 0, CLI_VALUE, cli_take_size, offsetof(check_options, library.max_memory), 0, 0,
     "      --max-memory=SIZE  use at most SIZE bytes: 512M, 8G (the default)\n"},
    {"--quiet", 'q', CLI_ALONE, cli_take_quiet, 0, 0, 0,
     "  -q, --quiet            print nothing about valid profiles\n"},
    {"--help", 'h', CLI_ALONE, NULL, 0, 0, 0, "  -h, --help\n"},
};

static const cli_command command = {
    .before = "usage: pprofdelta check [-q] [--for=RECEIVER] [--max-memory=SIZE] FILE...\n"
              "Checks that each FILE (- is stdin) is a valid profile or OTLP request; if not,\n"
              "prints where it is wrong.\n"
              "\n",
    .options = table,
    .after = "\n"
             "Exit status: 0 all files are valid, 1 a file is not, or RECEIVER refuses one or\n"
             "drops something of it, 2 wrong command line\n",
    .missing = "a profile is missing: pprofdelta check FILE...",
};

static void put_count(uint64_t count, const char *noun)
{
    printf(", %" PRIu64 " %s%s", count, noun, count == 1 ? "" : "s");
}

static void put_named(const char *noun, const char *text, size_t len)
{
    if (!len)
        return;
    printf(", %s ", noun);
    cli_string_put(stdout, (cli_string){text, len}, CLI_TEXT_SHOWN);
}

/* What an OTLP request has and the profile has not that is made of it. */
static void put_request(const pprofdelta_census *census)
{
    if (!census->request)
        return;
    fputs(", an OTLP request", stdout);
    put_count(census->resources, "resource");
    put_count(census->scopes, "scope");
    put_count(census->profiles, "profile");
    if (census->timestamps)
        put_count(census->timestamps, "timestamp");
    if (census->links)
        put_count(census->links, "link");
    if (census->payloads)
        put_count(census->payloads, "original payload");
    if (census->other_attributes)
        put_count(census->other_attributes, "other attribute");
}

static void put_census(const char *name, const pprofdelta_census *census)
{
    cli_progress_clear();
    cli_string_put(stdout, cli_string_of(name), CLI_TEXT_SHOWN);
    bool is_packed = !strcmp(census->format, "gzip") || !strcmp(census->format, "zstd");
    printf(": ok: %s, %" PRIu64 " bytes%s", census->format, census->inflated_len,
           is_packed ? " inflated" : "");
    put_request(census);
    put_count(census->types, "type");
    put_count(census->samples, "sample");
    put_count(census->mappings, "mapping");
    put_count(census->locations, "location");
    put_count(census->functions, "function");
    put_count(census->strings, "string");
    if (census->unknown_fields)
        put_count(census->unknown_fields, "unknown field");
    put_named("binary", census->binary, census->binary_len);
    put_named("build id", census->build_id, census->build_id_len);
    printf("%s\n", census->is_stamped ? ", a delta" : "");
}

static int check_file(const check_options *o, const char *path)
{
    cli_input input;
    cli_profile profile;
    int code = cli_input_read(&input, (cli_file){.path = path}, o->library.max_memory);
    if (code)
        return code;
    cli_progress_say("checking", input.name);
    code = cli_profile_open(&profile, input, &o->library);
    if (!code && o->receiver)
        code = cli_profile_unpack(&profile);
    if (!code && !cli_is_quiet)
        put_census(input.name, &profile.census);
    if (!code && o->receiver)
        code = cli_receiver_check(o->receiver, &profile);
    cli_profile_free(&profile);
    return code;
}

int cli_check(int argc, char **argv)
{
    check_options options = {.library = PPROFDELTA_OPTIONS_INIT};
    cli_arguments arguments = {.argc = argc, .argv = argv};
    options.library.max_memory = PPROFDELTA_DEFAULT_MAX_MEMORY;
    cli_command_read(&command, &arguments, &options);
    cli_check_files(arguments.operands, arguments.operands_len, false);
    cli_progress_start();
    int first = CLI_DONE; /* exit code that is not 0 */
    for (size_t i = 0; i < arguments.operands_len; i++) {
        int code = check_file(&options, arguments.operands[i]);
        first = first ? first : code;
    }
    cli_must(cli_output_end_text());
    return first;
}
