/* Finds the ELF file of a mapping and the file with its debug information.
 *
 * A file is used only if its build id is that of the mapping. A mapping without a build id is taken
 * to be of the file at its path, and a debug file without one is checked by the checksum in
 * .gnu_debuglink. The order of the places:
 *
 *     DIR/.build-id/xx/yyyy.debug  DIR/.build-id/xx/yyyy    for each --debug-dir
 *     DIR/path/of/file.debug  DIR/path/of/file              and with the last part of the path only
 *     the path itself
 *     /usr/lib/debug/.build-id/xx/yyyy.debug
 *     the name in .gnu_debuglink: in the folder of the file, in .debug there, in DIR and in /usr/lib/debug
 *     debuginfod-find, if the user asked for it */
#ifndef CLI_SYMBOLIZE_FILES_H
#define CLI_SYMBOLIZE_FILES_H

#include "symbolize/symbolize_module.h"

#include <elfutils/libdw.h>
#include <limits.h>

typedef struct cli_elf_file {
    int fd; /* -1: there is none */
    Elf *elf;
    char path[PATH_MAX];
} cli_elf_file;

typedef struct cli_elf_files {
    cli_elf_file binary, debug; /* debug: another file than the binary */
    bool is_debug_binary;       /* the binary has the debug information itself */
    bool was_unreadable;        /* a file was there, and is no ELF file */
    bool was_other;             /* a file was there, with another build id */
} cli_elf_files;

/* Fills *files. What is not found stays empty. */
void cli_elf_files_find(const cli_module_request *request, cli_elf_files *files);

#endif
