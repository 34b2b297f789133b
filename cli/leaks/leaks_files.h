/* The files of `pprofdelta leaks`: operands and the profiles of directories, with their times. */
#ifndef CLI_LEAKS_FILES_H
#define CLI_LEAKS_FILES_H

#include "leaks/leaks_windows.h"

#include "input.h"

#include <stdbool.h>

typedef struct cli_leaks_files {
    cli_leaks_file *files;
    size_t len, cap;
    cli_folder *folders; /* where files were found */
    size_t folders_len;
} cli_leaks_files;

/* Lists the files, checks each and reads its time and its stamp. In a directory every file named
 * *.pb.gz is taken that is a profile with values to judge; a note names each other one. Prints what is
 * wrong; returns an exit code. Free *files whatever is returned. */
int cli_leaks_files_read(cli_leaks_files *files, const char *const *operands, size_t len,
                         const cli_leaks_how *how);
void cli_leaks_files_free(cli_leaks_files *files);

/* Where the file is, for cli_input_read_again. */
cli_file cli_leaks_file_of(const cli_leaks_file *file);

#endif
