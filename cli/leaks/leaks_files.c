/* The files of `pprofdelta leaks`: see leaks_files.h. */
#include "leaks/leaks_files.h"

#include "cli.h"
#include "input.h"
#include "leaks/leaks_windows.h"
#include "message.h"
#include "progress.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

static int short_of_memory(const char *name)
{
    return cli_system_error(name, "read", ENOMEM);
}

static int add_file(cli_leaks_files *files, const char *path, DIR *found_in)
{
    if (files->len == files->cap) {
        size_t cap = files->cap * 2 + 16;
        cli_leaks_file *grown = realloc(files->files, cap * sizeof *grown);
        if (!grown)
            return short_of_memory("the list of files");
        files->files = grown;
        files->cap = cap;
    }
    files->files[files->len] =
        (cli_leaks_file){.path = path, .found_in = found_in, .operand = files->len};
    files->len++;
    return CLI_DONE;
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
        code = add_file(files, folder->paths[i], folder->dir);
    return code;
}

static int add_operand(cli_leaks_files *files, const char *operand)
{
    struct stat status;
    if (!stat(operand, &status) && S_ISDIR(status.st_mode))
        return add_directory(files, operand);
    return add_file(files, operand, NULL);
}

static void set_time(cli_leaks_file *file, const pprofdelta_census *census)
{
    file->stamp = census->stamp;
    file->time_nanos = file->stamp.live ? file->stamp.to_nanos : census->time_nanos;
}

cli_file cli_leaks_file_of(const cli_leaks_file *file)
{
    return (cli_file){file->path, file->found_in};
}

static int refuse_without_time(const char *path)
{
    cli_error("%s: has no time, so the speed of growth is not known", path);
    cli_hint("--every=TIME is the time between two windows: --every=60s");
    return CLI_FAILED;
}

/* A file that the user named. */
static int read_named(cli_leaks_file *file, pprofdelta *context, const cli_leaks_how *how)
{
    cli_input input;
    pprofdelta_census census;
    pprofdelta_error err;
    int code = cli_input_read_again(&input, cli_leaks_file_of(file), how->max_memory);
    if (!code) {
        cli_progress_say("checking", input.name);
        if (pprofdelta_check(context, input.bytes, input.len, &census, &err))
            code = cli_library_error(input.name, &err);
        else if (set_time(file, &census), file->time_nanos <= 0 && !how->every_nanos)
            code = refuse_without_time(file->path);
    }
    cli_input_free(&input);
    return code;
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

/* A file of a directory. Returns false, after a note, if it does not count. */
static bool read_found(cli_leaks_file *file, pprofdelta *context, const cli_leaks_how *how)
{
    pprofdelta_census census;
    if (!cli_input_check_found(cli_leaks_file_of(file), context, how->max_memory, &census))
        return false;
    set_time(file, &census);
    const char *wrong = file->time_nanos <= 0 && !how->every_nanos
                            ? "has no time (--every=TIME gives one)"
                        : can_judge(file, how) ? NULL
                        : how->type            ? "has no such sample type"
                                               : "has no in-use values";
    if (wrong)
        cli_note_left_out(file->path, wrong);
    return !wrong;
}

static int read_all(cli_leaks_files *files, pprofdelta *context, const cli_leaks_how *how)
{
    int code = CLI_DONE;
    size_t len = files->len;
    files->len = 0;
    for (size_t i = 0; i < len; i++) {
        cli_leaks_file *file = &files->files[i];
        if (!code && !file->found_in)
            code = read_named(file, context, how);
        if (code || !file->found_in || read_found(file, context, how))
            files->files[files->len++] = *file;
    }
    if (!files->len) {
        cli_error("no profile is left to judge");
        return CLI_FAILED;
    }
    return code;
}

int cli_leaks_files_read(cli_leaks_files *files, const char *const *operands, size_t len,
                         const cli_leaks_how *how)
{
    int code = CLI_DONE;
    pprofdelta *context = NULL;
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    *files = (cli_leaks_files){.folders = calloc(len, sizeof *files->folders)};
    if (!files->folders)
        return short_of_memory("the list of files");
    options.max_memory = how->max_memory;
    for (size_t i = 0; i < len && !code; i++)
        code = add_operand(files, operands[i]);
    if (!code)
        code = cli_context_new(&options, files->files[0].path, &context);
    if (!code)
        code = read_all(files, context, how);
    pprofdelta_free(context);
    return code;
}

void cli_leaks_files_free(cli_leaks_files *files)
{
    for (size_t i = 0; i < files->folders_len; i++)
        cli_folder_free(&files->folders[i]);
    free(files->files);
    free(files->folders);
    *files = (cli_leaks_files){.len = 0};
}
