/* What is printed about files whose symbols are missing, and the names that show finds by itself. */
#include "symbolize/symbolize_view.h"

#include "cli.h"
#include "message.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

static void name_of(const cli_profile *profile, const cli_module_report *module, char *to,
                    size_t room)
{
    cli_string name = cli_profile_string(profile, module->mapping->filename);
    cli_string id = cli_profile_string(profile, module->mapping->build_id);
    size_t len = cli_string_write(to, room, name);
    if (id.len && len + 16 < room) {
        len += (size_t)snprintf(to + len, room - len, "%s(build id ", len ? " " : "");
        len += cli_string_write(to + len, room - len - 1, id);
        snprintf(to + len, room - len, ")");
    }
}

void cli_symbolize_note(const cli_profile *profile, const cli_module_report *module)
{
    char name[1024];
    const char *why = missing_of(module);
    uint64_t left = module->wanted - module->lined;
    name_of(profile, module, name, sizeof name);
    if (why && left)
        cli_note("%s: %s; %" PRIu64 " of %" PRIu64 " locations have no lines", name, why, left,
                 module->wanted);
    else if (left)
        cli_note("%s: its debug information has no lines for %" PRIu64 " of %" PRIu64 " locations",
                 name, left, module->wanted);
}
