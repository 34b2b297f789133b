/* The files of `pprofdelta leaks`: see leaks_files.h. */
#include "leaks/leaks_files.h"

#include "cli.h"
#include "input.h"
#include "keep.h"
#include "leaks/leaks_windows.h"
#include "message.h"

#include <sys/stat.h>

static void add_file(cli_leaks_files *files, const char *path, DIR *found_in)
{
    files->files = cli_keep_more(files->files, files->len, 1, &files->cap, sizeof *files->files);
    files->files[files->len] =
        (cli_leaks_file){.path = path, .found_in = found_in, .operand = files->len};
    files->len++;
}

/* Adds the profiles of a directory, in the order of their names. */
static int add_directory(cli_leaks_files *files, const char *path)
{
    cli_folder *folder = &files->folders[files->folders_len++];
    int code = cli_folder_read(folder, path);
    if (!code && !folder->len) {
        cli_error("%s: has no profiles: leaks takes the files named *.pb.gz in a directory", path);
        return CLI_FAILED;
    }
    for (size_t i = 0; i < folder->len && !code; i++)
        add_file(files, folder->paths[i], folder->dir);
    return code;
}

static int add_operand(cli_leaks_files *files, const char *operand)
{
    struct stat status;
    if (!stat(operand, &status) && S_ISDIR(status.st_mode))
        return add_directory(files, operand);
    add_file(files, operand, NULL);
    return CLI_DONE;
}

cli_file cli_leaks_file_of(const cli_leaks_file *file)
{
    return (cli_file){file->path, file->found_in};
}

/* Returns whether a file of a directory is of a kind that can be judged. One of a live heap is. */
static bool can_judge(const cli_leaks_file *file, const cli_leaks_how *how)
{
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    cli_profile profile = {.view = NULL};
    cli_input input;
    options.max_memory = how->max_memory;
    bool can =
        file->stamp.live ||
        (!cli_input_read_again(&input, cli_leaks_file_of(file), how->max_memory) &&
         !cli_profile_take(&profile, input, &options) && cli_leaks_can_judge(&profile, how->type));
    cli_profile_free(&profile);
    return can;
}

/* Checks a file that the user named. Prints what is wrong; returns an exit code. */
static int check_named(const cli_leaks_file *file, uint64_t max_memory, pprofdelta_census *census)
{
    cli_input input;
    pprofdelta_error err;
    int code = cli_input_read_again(&input, cli_leaks_file_of(file), max_memory);
    cli_progress_say("checking", file->path);
    if (!code && cli_input_check(&input, max_memory, census, &err))
        code = cli_library_error(input.name, &err);
    cli_input_free(&input);
    return code;
}

/* Reads the time and the stamp. A file of a directory may be left out, with a note; then *counts is
 * false. */
static int read_file(cli_leaks_file *file, const cli_leaks_how *how, bool *counts)
{
    pprofdelta_census census;
    int code = CLI_DONE;
    *counts = true;
    if (file->found_in)
        *counts = cli_input_check_found(cli_leaks_file_of(file), how->max_memory, &census);
    else
        code = check_named(file, how->max_memory, &census);
    if (code || !*counts)
        return code;
    file->stamp = census.stamp;
    file->time_nanos = file->stamp.live ? file->stamp.to_nanos : census.time_nanos;
    const char *wrong = file->time_nanos <= 0 && !how->every_nanos
                            ? "has no time (--every=TIME gives one)"
                        : !file->found_in || can_judge(file, how) ? NULL
                        : how->type                               ? "has no such sample type"
                                                                  : "has no in-use values";
    *counts = !wrong;
    if (wrong && file->found_in)
        cli_note_left_out(file->path, wrong);
    else if (wrong)
        cli_error("%s: %s", file->path, wrong);
    return wrong && !file->found_in ? CLI_FAILED : CLI_DONE;
}

static int read_all(cli_leaks_files *files, const cli_leaks_how *how)
{
    size_t len = files->len;
    files->len = 0;
    for (size_t i = 0; i < len; i++) {
        bool counts;
        int code = read_file(&files->files[i], how, &counts);
        if (code)
            return code;
        if (counts)
            files->files[files->len++] = files->files[i];
    }
    if (files->len)
        return CLI_DONE;
    cli_error("no profile is left to judge");
    return CLI_FAILED;
}

int cli_leaks_files_read(cli_leaks_files *files, const char *const *operands, size_t len,
                         const cli_leaks_how *how)
{
    int code = CLI_DONE;
    *files = (cli_leaks_files){.folders = cli_keep(len, sizeof *files->folders)};
    for (size_t i = 0; i < len && !code; i++)
        code = add_operand(files, operands[i]);
    return code ? code : read_all(files, how);
}

void cli_leaks_files_free(cli_leaks_files *files)
{
    for (size_t i = 0; i < files->folders_len; i++)
        cli_folder_free(&files->folders[i]);
}
