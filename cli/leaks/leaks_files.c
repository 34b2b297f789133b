/* The files of `pprofdelta leaks`: see leaks.h. */
#include "leaks/leaks.h"

#include "cli.h"
#include "keep.h"
#include "message.h"
#include "record/recover.h"

#include <sys/stat.h>

static void add_file(cli_leaks_work *w, cli_file file)
{
    CLI_KEEP_MORE(w->files, 1);
    w->files[w->files_len] = (cli_leaks_file){.place = file, .operand = w->files_len};
    w->files_len++;
}

/* Adds a file, or the profiles of a directory in the order of their names. */
static int add_operand(cli_leaks_work *w, const char *path)
{
    cli_folder folder;
    if (!cli_is_folder(path)) {
        add_file(w, (cli_file){path, true, NULL});
        return CLI_DONE;
    }
    int code = cli_recover_and_read(&folder, path, "leaks");
    for (size_t i = 0; i < folder.files_len && !code; i++)
        add_file(w, folder.files[i]);
    return code;
}

/* Returns whether a file of a directory is of a kind that can be judged. One of a live heap is. */
static bool can_judge(const cli_leaks_file *file, const cli_leaks_how *how)
{
    cli_profile profile = {.view = NULL};
    cli_leaks_columns columns;
    bool can = file->stamp.live || (!cli_profile_load(&profile, file->place, &how->library) &&
                                    cli_leaks_find_columns(&profile, how->type, &columns));
    cli_profile_free(&profile);
    return can;
}

/* Reads the time and the stamp. A file of a directory may be left out, with a note; then *counts is
 * false. */
static int read_file(cli_leaks_file *file, const cli_leaks_how *how, bool *counts)
{
    pprofdelta_census census;
    uint64_t limit = how->library.max_memory;
    int code = cli_input_check(file->place, limit, &census, counts);
    if (code || !*counts)
        return code;
    file->stamp = census.stamp;
    file->time_nanos = file->stamp.live ? file->stamp.to_nanos : census.time_nanos;
    const char *wrong = file->time_nanos <= 0 && !how->every_nanos
                            ? "has no time (--every=TIME gives one)"
                        : !file->place.found_in || can_judge(file, how) ? NULL
                        : how->type                                     ? "has no such sample type"
                                                                        : "has no in-use values";
    *counts = !wrong;
    if (wrong && !file->place.found_in)
        return cli_error("%s: %s", file->place.path, wrong);
    if (wrong)
        cli_note_left_out(file->place.path, wrong);
    return CLI_DONE;
}

/* A recording that was cut off leaves an empty file. */
static bool is_empty(cli_file file)
{
    struct stat st;
    return !file.found_in && !stat(file.path, &st) && S_ISREG(st.st_mode) && !st.st_size;
}

/* What is wrong with one file ends no verdict about the others. */
int cli_leaks_find_files(cli_leaks_work *w, const char *const *operands, size_t len)
{
    int code = CLI_DONE;
    for (size_t i = 0; i < len && !code; i++)
        code = add_operand(w, operands[i]);
    if (code)
        return code;
    len = w->files_len;
    w->files_len = 0;
    for (size_t i = 0; i < len; i++) {
        bool counts = false;
        if (is_empty(w->files[i].place))
            cli_note_left_out(w->files[i].place.path, "is empty");
        else
            code = read_file(&w->files[i], &w->how, &counts) ? CLI_FAILED : code;
        w->files[w->files_len] = w->files[i];
        w->files_len += counts;
    }
    w->has_failed = code != CLI_DONE;
    return w->files_len ? CLI_DONE : code ? code : cli_error("no profile is left to judge");
}
