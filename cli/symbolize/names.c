/* The names of functions for the verbs that print them: see names.h. */
#include "symbolize/names.h"

#include "cli.h"
#include "message.h"
#include "option_values.h"
#include "symbolize/symbolize_view.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int add_dir(cli_names *names, const char *dir)
{
    if (!*dir)
        return cli_bad_value("--debug-dir", dir, "a directory");
    if (access(dir, R_OK | X_OK))
        return cli_usage("--debug-dir: %.200s: %s", dir, strerror(errno));
    if (names->dirs_len == sizeof names->dirs / sizeof *names->dirs)
        return cli_usage("--debug-dir may be given %zu times", names->dirs_len);
    names->dirs[names->dirs_len++] = dir;
    return CLI_DONE;
}

int cli_names_take(cli_names *names, int option, const char *value)
{
    switch (option) {
    case CLI_NAMES_NO_SYMBOLIZE:
        names->is_not_symbolized = true;
        return CLI_DONE;
    case CLI_NAMES_NO_DEMANGLE:
        names->is_not_demangled = true;
        return CLI_DONE;
    case CLI_NAMES_DEBUG_DIR:
        return add_dir(names, value);
    default:
        return CLI_USAGE;
    }
}

static bool is_wrong(const cli_module_report *module)
{
    return module->end != CLI_APART_DONE || module->state == CLI_MODULE_OTHER_BUILD;
}

int cli_names_find(cli_profile *profile, const cli_names *names)
{
    cli_symbolize_report report = {0};
    const cli_symbolizing how = {
        .places = {.dirs = names->dirs, .dirs_len = names->dirs_len, .needs_build_id = true}};
    bool is_symbolized = !names->is_not_symbolized && cli_module_is_supported();
    int code = is_symbolized ? cli_symbolize_view(profile, &how, &report) : CLI_DONE;
    for (size_t i = 0; i < report.len && !code; i++)
        if (is_wrong(&report.modules[i]))
            cli_symbolize_note(profile, &report.modules[i]);
    cli_symbolize_report_free(&report);
    return code || names->is_not_demangled ? code : cli_demangle_view(profile);
}
