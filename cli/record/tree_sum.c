/* The sum of a process tree: see tree.h.
 *
 *     windows of process 1 -> adder -> profile 1 \
 *     windows of process 2 -> adder -> profile 2  -> merge -> the sum
 *     ...                                        /
 *
 * The adders check that no window is missing: such a process is left out. One profile is in memory at a
 * time. What is of one time in the life of a process is left out of the sum: the processes need not have
 * lived at the same time. */
#include "record/tree.h"

#include "cli.h"
#include "input.h"
#include "message.h"
#include "output_file.h"
#include "pprofdelta.h"
#include "view_edit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct file {
    cli_file place;
    pprofdelta_stamp stamp;
    int64_t began; /* of the first window of its process */
} file;

typedef struct list {
    cli_folder folder;
    file *files;
    size_t len;
} list;

/* The types of one time: see agent/account/account.h. */
static const char *const of_one_time[] = {"peak_objects", "peak_space", "rss_space"};

/* ---- the files ------------------------------------------------------------------------------- */

/* Reads the stamp of a profile. What is not one of the agent's is left out, with a note. */
static bool read_file(file *f)
{
    pprofdelta_census census;
    if (!cli_input_check_found(f->place, PPROFDELTA_DEFAULT_MAX_MEMORY, &census))
        return false;
    if (census.stamp.live == PPROFDELTA_LIVE_NONE) {
        cli_note_left_out(f->place.path, "is not a profile of the agent");
        return false;
    }
    f->stamp = census.stamp;
    return true;
}

static int read_folder(list *l, const char *path)
{
    int code = cli_folder_read(&l->folder, path);
    if (code)
        return code;
    l->files = calloc(l->folder.len + 1, sizeof *l->files);
    if (!l->files)
        return cli_system_error("the sum", "make", ENOMEM);
    for (size_t i = 0; i < l->folder.len; i++) {
        l->files[l->len] = (file){.place = {l->folder.paths[i], l->folder.dir}};
        l->len += read_file(&l->files[l->len]);
    }
    return CLI_DONE;
}

/* By process, and then by window and attempt. */
static int compare_in_process(const void *left, const void *right)
{
    const pprofdelta_stamp *a = &((const file *)left)->stamp, *b = &((const file *)right)->stamp;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    if (a->sequence != b->sequence)
        return a->sequence < b->sequence ? -1 : 1;
    return (a->attempt > b->attempt) - (a->attempt < b->attempt);
}

/* The process that began first is the last one: the sum has its main binary and its time. */
static int compare_in_tree(const void *left, const void *right)
{
    const file *a = left, *b = right;
    if (a->began != b->began)
        return a->began > b->began ? -1 : 1;
    return compare_in_process(left, right);
}

static void sort(list *l)
{
    if (!l->len)
        return;
    qsort(l->files, l->len, sizeof *l->files, compare_in_process);
    for (size_t i = 0; i < l->len; i++) {
        bool is_first = i == 0 || l->files[i].stamp.id != l->files[i - 1].stamp.id;
        l->files[i].began = is_first ? l->files[i].stamp.from_nanos : l->files[i - 1].began;
    }
    qsort(l->files, l->len, sizeof *l->files, compare_in_tree);
}

/* ---- the sums -------------------------------------------------------------------------------- */

/* Adds files[0] to files[len - 1] to a profile in the buffer, as plain bytes. Returns false, with a
 * message, if they cannot be added. */
static bool sum_process(const file *files, size_t len, cli_buffer *out)
{
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    pprofdelta_adder *adder = NULL;
    pprofdelta_error err = {0};
    const pprofdelta_sink sink = {.write = cli_buffer_append, .cookie = out};
    const char *last = NULL, *at = files[0].place.path;
    options.compression = PPROFDELTA_PLAIN;
    out->len = 0;
    pprofdelta_status status = pprofdelta_adder_new(&options, NULL, &adder, &err);
    for (size_t i = 0; i < len && !status; i++) {
        cli_input input;
        last = i ? at : NULL;
        at = files[i].place.path;
        if (cli_input_read_again(&input, files[i].place, PPROFDELTA_DEFAULT_MAX_MEMORY)) {
            pprofdelta_adder_free(adder);
            return false;
        }
        status = pprofdelta_adder_add(adder, input.bytes, input.len, NULL, &err);
        cli_input_free(&input);
    }
    if (!status)
        status = pprofdelta_adder_finish(adder, &sink, &err);
    pprofdelta_adder_free(adder);
    if (status)
        cli_sum_error(last, at, &err);
    return !status;
}

/* How many files are of the process of the first one. */
static size_t of_one_process(const file *files, size_t len)
{
    size_t count = 1;
    while (count < len && files[count].stamp.id == files[0].stamp.id)
        count++;
    return count;
}

static int sum_all(const list *l, pprofdelta_adder *adder, cli_buffer *one, cli_tree_total *total)
{
    pprofdelta_error err;
    for (size_t at = 0, len; at < l->len; at += len) {
        len = of_one_process(l->files + at, l->len - at);
        const char *path = l->files[at].place.path;
        bool is_whole = sum_process(l->files + at, len, one);
        pprofdelta_status status =
            is_whole ? pprofdelta_adder_add(adder, one->bytes, one->len, NULL, &err)
                     : PPROFDELTA_OK;
        int code = status ? cli_library_error(path, &err) : CLI_DONE;
        if (status && status != PPROFDELTA_E_MISMATCH)
            return code;
        if (status || !is_whole) {
            cli_note("%s: this process is left out of the sum", path);
            continue;
        }
        total->processes++;
        total->profiles += len;
    }
    return CLI_DONE;
}

static int write_sum(pprofdelta_adder *adder, const char *path)
{
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    pprofdelta_error err;
    cli_buffer sum = {0};
    cli_profile profile = {.view = NULL};
    cli_output output = {.fd = -1};
    const pprofdelta_sink sink = {.write = cli_buffer_append, .cookie = &sum};
    options.max_memory = PPROFDELTA_DEFAULT_MAX_MEMORY;
    int code = cli_output_prepare(&output, path);
    if (!code && pprofdelta_adder_finish(adder, &sink, &err))
        code = cli_library_error("the sum", &err);
    if (!code)
        code = cli_profile_take(
            &profile, (cli_input){.name = path, .bytes = sum.bytes, .len = sum.len}, &options);
    else
        free(sum.bytes);
    if (!code) {
        cli_edit_leave_out(&profile, of_one_time, sizeof of_one_time / sizeof *of_one_time);
        code = cli_edit_write(&profile, &output);
    }
    cli_profile_free(&profile);
    cli_output_close(&output);
    return code;
}

static int sum_list(list *l, const char *out, cli_tree_total *total)
{
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    pprofdelta_adder *adder = NULL;
    pprofdelta_error err;
    cli_buffer one = {0};
    options.flags = PPROFDELTA_NO_STAMP | PPROFDELTA_MERGE;
    options.compression = PPROFDELTA_PLAIN;
    sort(l);
    if (pprofdelta_adder_new(&options, NULL, &adder, &err))
        return cli_library_error("the sum", &err);
    int code = sum_all(l, adder, &one, total);
    if (!code && total->processes)
        code = write_sum(adder, out);
    pprofdelta_adder_free(adder);
    free(one.bytes);
    return code;
}

int cli_tree_sum(const char *folder, const char *out, cli_tree_total *total)
{
    list l = {0};
    *total = (cli_tree_total){0};
    int code = read_folder(&l, folder);
    if (!code)
        code = sum_list(&l, out, total);
    free(l.files);
    cli_folder_free(&l.folder);
    return code;
}
