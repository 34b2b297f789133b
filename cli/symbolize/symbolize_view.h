/* Finds the functions, inlined calls and lines of a profile's locations.
 *
 * Which locations: those with an address in a mapping that has a file or a build id, if they have no
 * lines. A location with lines keeps them, unless no line has a file or a line number and its
 * mapping does not claim to have them: the names are then from a symbol table, as in the profiles of
 * the heap agent. `is_forced` takes every location with an address. A location for which nothing is
 * found stays as it is. */
#ifndef CLI_SYMBOLIZE_VIEW_H
#define CLI_SYMBOLIZE_VIEW_H

#include "arguments.h"
#include "view_edit.h"
#include "symbolize/symbolize_module.h"

typedef struct cli_symbolizing {
    cli_debug_places places;
    bool is_not_symbolized, is_not_demangled; /* --no-symbolize, --no-demangle */
    bool is_forced;
    bool has_return_addresses; /* of frames that are no leaf: the call is one byte before */
    const bool *wanted;        /* of each location: it is looked for; NULL: all are */
} cli_symbolizing;

/* What became of the locations of one mapping. */
typedef struct cli_module_report {
    const Pd__View__Mapping *mapping;
    cli_apart_end end;
    cli_module_state state;
    uint64_t wanted; /* locations that were looked for */
    uint64_t named;  /* that have a function now */
    uint64_t lined;  /* that have a line now */
} cli_module_report;

typedef struct cli_symbolize_report {
    cli_module_report *modules; /* those with wanted locations; kept (keep.h) */
    size_t len;
    uint64_t locations; /* with an address */
    uint64_t kept;      /* that had lines and were left as they are */
    uint64_t placeless; /* without a mapping that has a file or a build id */
} cli_symbolize_report;

/* Finds symbols and demangles, as `how` says. *report, which is zero before, is valid as long as the profile is. */
void cli_symbolize_profile(cli_profile *profile, const cli_symbolizing *how,
                           cli_symbolize_report *report);

/* Demangles the names of functions. Leaves system names, and names that are not mangled. */
void cli_demangle_view(cli_edit *edit);

/* Writes the demangled name to `to`. Returns its length, or 0 if the name is not mangled, or if it or
 * the result is too long. May crash or loop if the name is damaged. Weak: NULL in a build without
 * libiberty. */
enum { CLI_MANGLED_MAX = 4096, CLI_DEMANGLED_MAX = 16384 };
__attribute__((weak)) size_t cli_demangle(const char *mangled, char to[CLI_DEMANGLED_MAX]);

/* For cli_option.take of --debug-dir, whose member is a cli_debug_places. The others are flags. */
void cli_names_take_dir(const cli_option *option, const char *dir, void *member);

/* The rows of these options in the table of a verb that prints names: at is the offset of its cli_symbolizing. */
/* clang-format off */
#define CLI_NAMES_OPTIONS(at)                                                                      \
    {"--no-symbolize", 0, CLI_ALONE, cli_take_flag,                                                \
     (at) + offsetof(cli_symbolizing, is_not_symbolized), 0, 0,                                    \
     "      --no-symbolize     leave addresses as they are\n"},                                    \
    {"--no-demangle", 0, CLI_ALONE, cli_take_flag,                                                 \
     (at) + offsetof(cli_symbolizing, is_not_demangled), 0, 0,                                     \
     "      --no-demangle      leave the names of C++ and Rust mangled\n"},                        \
    {"--debug-dir", 0, CLI_VALUE, cli_names_take_dir, (at) + offsetof(cli_symbolizing, places),    \
     0, 0, "      --debug-dir=DIR    look for binaries and debug files in DIR, too\n"}
/* clang-format on */

/* For the verbs that print names: finds and demangles those that can be found without a question. Uses only
 * files with the build id of their mapping, asks no server, and prints only that a file is another build or is
 * damaged. */
void cli_names_find(cli_profile *profile, cli_symbolizing how);

/* Prints what a module does not have, if anything, and what to do about it. */
void cli_symbolize_note(const cli_profile *profile, const cli_module_report *module);

#endif
