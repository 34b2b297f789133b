/* The names of functions for the verbs that print them, and what is printed about files whose symbols are
 * missing: see symbolize_view.h. */
#include "symbolize/symbolize_view.h"

#include "cli.h"
#include "keep.h"
#include "message.h"
#include "symbolize/demangle.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

int cli_names_take_dir(const cli_option *option, const char *dir, void *member)
{
    cli_debug_places *places = member;
    if (!*dir)
        return cli_bad_value(option->name, dir, "a directory");
    if (access(dir, R_OK | X_OK))
        return cli_usage("%s: %.200s: %s", option->name, dir, strerror(errno));
    if (places->dirs_len == sizeof places->dirs / sizeof *places->dirs)
        return cli_usage("%s may be given %zu times", option->name, places->dirs_len);
    places->dirs[places->dirs_len++] = dir;
    return CLI_DONE;
}

/* ---- what is missing ------------------------------------------------------------------------- */

/* What a module does not have, as the end of a sentence. NULL: nothing. */
static const char *missing_of(const cli_module_report *module)
{
    static const char *const reasons[] = {
        [CLI_MODULE_READ] = NULL,
        [CLI_MODULE_TABLE_ONLY] =
            "has no debug information, only a symbol table; install its debug symbols",
        [CLI_MODULE_NO_SYMBOLS] = "has no symbols; install its debug symbols",
        [CLI_MODULE_MISSING] =
            "is not here; --debug-dir names a directory that has it or its debug file",
        [CLI_MODULE_OTHER_BUILD] = ("the file has another build id and is not used; --debug-dir "
                                    "names a directory that has the right one"),
        [CLI_MODULE_UNREADABLE] = "is not an ELF file that can be read",
    };
    return module->end == CLI_APART_DONE ? reasons[module->state] : cli_apart_reason(module->end);
}

void cli_symbolize_note(const cli_profile *profile, const cli_module_report *module)
{
    char name[1024], id[256];
    const char *why = missing_of(module);
    uint64_t left = module->wanted - module->lined;
    size_t name_len =
        cli_string_write(name, sizeof name, cli_profile_string(profile, module->mapping->filename));
    size_t id_len =
        cli_string_write(id, sizeof id, cli_profile_string(profile, module->mapping->build_id));
    const char *before = !id_len ? "" : name_len ? " (build id " : "(build id ";
    if (left)
        cli_note("%s%s%s%s: %s%s %" PRIu64 " of %" PRIu64 " locations%s", name, before, id,
                 id_len ? ")" : "", why ? why : "its debug information has no lines for",
                 why ? ";" : "", left, module->wanted, why ? " have no lines" : "");
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_wrong(const cli_module_report *module)
{
    return module->end != CLI_APART_DONE || module->state == CLI_MODULE_OTHER_BUILD;
}

void cli_symbolize_profile(cli_profile *profile, const cli_symbolizing *how,
                           cli_symbolize_report *report)
{
    cli_edit edit;
    cli_edit_begin(&edit, profile);
    if (!how->is_not_symbolized && cli_module_resolve)
        cli_symbolize_view(&edit, how, report);
    if (!how->is_not_demangled && cli_demangle)
        cli_demangle_view(&edit);
    cli_edit_end(&edit);
}

void cli_names_find(cli_profile *profile, cli_symbolizing how)
{
    cli_symbolize_report report = {0};
    how.places.needs_build_id = true;
    cli_symbolize_profile(profile, &how, &report);
    for (size_t i = 0; i < report.len; i++)
        if (is_wrong(&report.modules[i]))
            cli_symbolize_note(profile, &report.modules[i]);
    cli_drop(report.modules);
}
