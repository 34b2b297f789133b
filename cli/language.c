/* The language of a frame, as far as names need it: see language.h. */
#include "language.h"

#include <string.h>

bool cli_is_foreign(cli_string source, cli_string module)
{
    static const char *const extensions[] = {
        ".rb",  ".erb",   ".rake", ".py",     ".pyc",  ".java",  ".jar", ".class", ".kt",
        ".kts", ".scala", ".clj",  ".groovy", ".js",   ".cjs",   ".mjs", ".jsx",   ".ts",
        ".tsx", ".vue",   ".php",  ".phtml",  ".pl",   ".pm",    ".cs",  ".fs",    ".vb",
        ".lua", ".ex",    ".exs",  ".erl",    ".dart", ".swift", ".R"};
    cli_string file = source.len ? source : module;
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++)
        if (cli_string_ends(file, extensions[i]))
            return true;
    return cli_string_begins(file, "<") || cli_string_begins(file, "node:");
}
