/* The functions, inlined calls and lines of addresses in one ELF file.
 *
 *     symbolize_view.c     a profile -> requests; answers -> the profile
 *     symbolize_module.c   one request, in a child process; finds the file of a mapping and its debug
 *                          file, by build id
 *     symbolize_dwarf.c    functions from the symbol table, and functions, inlined calls and lines from
 *                          DWARF
 *
 * All but the first use libelf and libdw of elfutils. A build without them has only the first; the weak
 * cli_module_resolve is then NULL. */
#ifndef CLI_SYMBOLIZE_MODULE_H
#define CLI_SYMBOLIZE_MODULE_H

#include "symbolize/apart.h"

/* Where to look for files. */
typedef struct cli_debug_places {
    const char *dirs[64]; /* --debug-dir */
    size_t dirs_len;
    bool needs_build_id;  /* no file is used for a mapping without a build id */
    bool has_tables_only; /* only symbol tables of the files that are mapped are read */
    bool asks_servers;    /* debuginfod-find is run for build ids that are in no directory */
} cli_debug_places;

enum { CLI_BUILD_ID_ROOM = 2 * 64 + 1 }; /* of its text */

/* A mapping and the addresses in it. */
typedef struct cli_module_request {
    const char *path;     /* of the file; empty: unknown */
    const char *build_id; /* in lower case hexadecimal digits; empty: unknown */
    uint64_t start, file_offset;
    const uint64_t *addresses;
    size_t addresses_len;
    const cli_debug_places *places;
} cli_module_request;

/* Why a module has no symbols, or not all. */
typedef enum cli_module_state {
    CLI_MODULE_READ,        /* with debug information */
    CLI_MODULE_TABLE_ONLY,  /* with a symbol table only */
    CLI_MODULE_NO_SYMBOLS,  /* the file has neither */
    CLI_MODULE_MISSING,     /* no file was found */
    CLI_MODULE_OTHER_BUILD, /* the file at the path has another build id */
    CLI_MODULE_UNREADABLE   /* the child ended early, or the file is no ELF file */
} cli_module_state;

/* What the child answers, as numbers and strings (apart.h):
 *
 *     state
 *     for each address that has frames:
 *         its index plus one, the number of frames, and for each frame, innermost call first:
 *             name, linkage name, file, start line, line, column
 *     0 */
__attribute__((weak)) cli_apart_end cli_module_resolve(const cli_module_request *request,
                                                       cli_answer *answer);

#endif
