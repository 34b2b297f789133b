/* The files of `pprofdelta leaks`: see leaks_files.h. */
#include "leaks_files.h"

#include "cli.h"
#include "input.h"
#include "memory.h"
#include "message.h"
#include "progress.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int short_of_memory(const char *name)
{
    return cli_system_error(name, "read", ENOMEM);
}

/* Adds a file. Takes path, which was allocated, also if it fails. */
static int add_file(cli_leaks_files *files, char *path)
{
    if (path && files->len == files->cap) {
        size_t cap = files->cap * 2 + 16;
        cli_leaks_file *grown = realloc(files->files, cap * sizeof *grown);
        if (!grown) {
            free(path);
            path = NULL;
        } else {
            files->files = grown;
            files->cap = cap;
        }
    }
    if (!path)
        return short_of_memory("the list of files");
    files->files[files->len] = (cli_leaks_file){.path = path, .operand = files->len};
    files->len++;
    return CLI_DONE;
}

static bool is_profile_name(const char *name)
{
    static const char end[] = ".pb.gz";
    size_t len = strlen(name);
    return name[0] != '.' && len > sizeof end - 1 && !strcmp(name + len - (sizeof end - 1), end);
}

static int by_path(const void *a, const void *b)
{
    const cli_leaks_file *x = a, *y = b;
    return strcmp(x->path, y->path);
}

static char *join(const char *dir, const char *name)
{
    size_t len = strlen(dir) + strlen(name) + 2;
    char *path = malloc(len);
    if (path)
        snprintf(path, len, "%s%s%s", dir, dir[strlen(dir) - 1] == '/' ? "" : "/", name);
    return path;
}

static int add_entries(cli_leaks_files *files, const char *path, DIR *dir)
{
    for (const struct dirent *entry; (entry = readdir(dir));) {
        int code =
            is_profile_name(entry->d_name) ? add_file(files, join(path, entry->d_name)) : CLI_DONE;
        if (code)
            return code;
    }
    return CLI_DONE;
}

/* Adds the profiles of a directory, in the order of their names. */
static int add_directory(cli_leaks_files *files, const char *path)
{
    size_t before = files->len;
    DIR *dir = opendir(path);
    if (!dir)
        return cli_system_error(path, "open", errno);
    int code = add_entries(files, path, dir);
    closedir(dir);
    if (code)
        return code;
    if (files->len == before) {
        cli_error("%s: has no profiles: leaks takes the files named *.pb.gz in a directory", path);
        return CLI_FAILED;
    }
    qsort(files->files + before, files->len - before, sizeof *files->files, by_path);
    for (size_t i = before; i < files->len; i++)
        files->files[i].operand = i;
    return CLI_DONE;
}

static int add_operand(cli_leaks_files *files, const char *operand)
{
    struct stat status;
    if (!cli_input_is_stdin(operand) && !stat(operand, &status) && S_ISDIR(status.st_mode))
        return add_directory(files, operand);
    return add_file(files, strdup(operand));
}

static int set_time(cli_leaks_file *file, const pprofdelta_census *census, bool is_even)
{
    file->stamp = census->stamp;
    file->time_nanos = census->time_nanos;
    if (file->stamp.live)
        file->time_nanos = file->stamp.to_nanos;
    if (file->time_nanos > 0 || is_even)
        return CLI_DONE;
    cli_error("%s: has no time, so the speed of growth is not known", file->path);
    cli_hint("--every=TIME is the time between two windows: --every=60s");
    return CLI_FAILED;
}

static int read_census(cli_leaks_file *file, pprofdelta *context, bool is_even, uint64_t max_memory)
{
    cli_input input;
    pprofdelta_census census;
    pprofdelta_error err;
    int code = cli_input_read(&input, file->path, max_memory);
    if (!code) {
        cli_progress_say("checking", input.name);
        if (pprofdelta_check(context, input.bytes, input.len, &census, &err))
            code = cli_library_error(input.name, &err);
        else
            code = set_time(file, &census, is_even);
    }
    cli_input_free(&input);
    return code;
}

int cli_leaks_files_read(cli_leaks_files *files, const char *const *operands, size_t len,
                         bool is_even, uint64_t max_memory)
{
    int code = CLI_DONE;
    pprofdelta *context = NULL;
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    *files = (cli_leaks_files){.len = 0};
    options.max_memory = max_memory;
    for (size_t i = 0; i < len && !code; i++)
        code = add_operand(files, operands[i]);
    if (!code)
        code = cli_context_new(&options, files->files[0].path, &context);
    for (size_t i = 0; i < files->len && !code; i++)
        code = read_census(&files->files[i], context, is_even, max_memory);
    pprofdelta_free(context);
    return code;
}

void cli_leaks_files_free(cli_leaks_files *files)
{
    for (size_t i = 0; i < files->len; i++)
        free(files->files[i].path);
    free(files->files);
    *files = (cli_leaks_files){.len = 0};
}
