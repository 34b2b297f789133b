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
static void add_operand(cli_leaks_work *w, const char *path)
{
    cli_folder folder;
    if (!cli_is_folder(path)) {
        add_file(w, (cli_file){path, true, NULL});
        return;
    }
    cli_must(cli_recover_and_read(&folder, path, "leaks"));
    for (size_t i = 0; i < folder.files_len; i++)
        add_file(w, folder.files[i]);
}

/* Adds up what is judged, if the profile has it. Otherwise *has is false. Returns an exit code. */
static int add_up(cli_leaks_file *file, const cli_leaks_how *how, bool *has)
{
    cli_profile profile;
    cli_leaks_columns columns;
    cli_sample sample;
    int code = cli_profile_load(&profile, file->place, &how->library);
    *has = !code && cli_leaks_find_columns(&profile, how->type, &columns);
    size_t level = *has ? columns.of[CLI_LEAKS_LEVEL] : 0;
    size_t made = *has ? columns.of[CLI_LEAKS_ALLOCATED] : SIZE_MAX;
    file->made = made == SIZE_MAX ? -1 : cli_sum_double(profile.samples.totals[made]);
    file->in_use = *has ? cli_sum_double(profile.samples.totals[level]) : 0;
    for (cli_samples rest = profile.samples; *has && cli_samples_next(&rest, &sample);) {
        int64_t value = sample.values[level];
        file->has_negative |= value < 0;
        file->has_older |= value > (made == SIZE_MAX ? 0 : sample.values[made]);
    }
    cli_profile_free(&profile);
    return code;
}

/* Reads the time, the stamp and the sums. A file of a directory may be left out, with a note; then *counts
 * is false. */
static int read_file(cli_leaks_file *file, const cli_leaks_how *how, bool *counts)
{
    pprofdelta_census census;
    bool is_judged;
    int code = cli_input_check(file->place, how->library.max_memory, &census, counts);
    if (code || !*counts)
        return code;
    file->stamp = census.stamp;
    file->time_nanos = file->stamp.live ? file->stamp.to_nanos : census.time_nanos;
    code = add_up(file, how, &is_judged);
    bool can_be_named = !file->place.found_in || file->stamp.live || is_judged;
    const char *wrong = file->time_nanos <= 0 && !how->every_nanos
                            ? "has no time (--every=TIME gives one)"
                        : code || can_be_named ? NULL
                        : how->type            ? "has no such sample type"
                                               : "has no in-use values";
    *counts = !wrong && !code;
    if (wrong && !file->place.found_in)
        return cli_error("%s: %s", file->place.path, wrong);
    if (wrong)
        cli_note_left_out(file->place.path, wrong);
    return code;
}

/* A recording that was cut off leaves an empty file. */
static bool is_empty(cli_file file)
{
    struct stat st;
    return !file.found_in && !stat(file.path, &st) && S_ISREG(st.st_mode) && !st.st_size;
}

/* What is wrong with one file ends no verdict about the others. */
void cli_leaks_find_files(cli_leaks_work *w, const char *const *operands, size_t len)
{
    for (size_t i = 0; i < len; i++)
        add_operand(w, operands[i]);
    len = w->files_len;
    w->files_len = 0;
    for (size_t i = 0; i < len; i++) {
        bool counts = false;
        if (is_empty(w->files[i].place))
            cli_note_left_out(w->files[i].place.path, "is empty");
        else
            w->has_failed |= read_file(&w->files[i], &w->how, &counts) != CLI_DONE;
        w->files[w->files_len] = w->files[i];
        w->files_len += counts;
    }
    if (!w->files_len)
        cli_must(w->has_failed ? CLI_FAILED : cli_error("no profile is left to judge"));
}
