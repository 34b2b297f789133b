/* The names of functions for the verbs that print them: see names.h. */
#include "symbolize/names.h"

#include "cli.h"
#include "message.h"
#include "arguments.h"
#include "symbolize/symbolize_view.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int cli_names_take_dir(const cli_option *option, const char *dir, void *member)
{
    cli_names *names = member;
    if (!*dir)
        return cli_bad_value(option->name, dir, "a directory");
    if (access(dir, R_OK | X_OK))
        return cli_usage("%s: %.200s: %s", option->name, dir, strerror(errno));
    if (names->dirs_len == sizeof names->dirs / sizeof *names->dirs)
        return cli_usage("%s may be given %zu times", option->name, names->dirs_len);
    names->dirs[names->dirs_len++] = dir;
    return CLI_DONE;
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
