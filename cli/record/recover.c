/* The last windows of killed processes: see recover.h. */
#include "record/recover.h"

#include "cli.h"
#include "delta/uploader.h"
#include "input.h"
#include "message.h"
#include "output_file.h"
#include "resource.h"
#include "text.h"

#include "agent/base/remains.h"
#include "pprofdelta_heap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* One file. */
typedef struct remains {
    const char *path, *name; /* name: the last part of path */
    int folder, fd;
    struct stat status;
    uint8_t *bytes;              /* free them */
    const pd_remains_head *head; /* in bytes; NULL: the file is not complete */
    pprofdelta_heap_area areas[PD_REMAINS_AREAS];
    size_t areas_len;
    pprofdelta_heap *heap;
    bool is_left;  /* the file is left alone */
    bool is_early; /* the process ended before its file was complete */
} remains;

static const char damaged[] = "is cut or damaged: it cannot be recovered; remove it";

/* ---- the file -------------------------------------------------------------------------------- */

/* Says why the file is left alone. */
static int leave_alone(cli_recovering *how, remains *r, const char *why)
{
    r->is_left = true;
    return how->is_silent ? CLI_DONE : cli_error("%s: %s", r->path, why);
}

/* Opens the file and locks it. */
static int open_file(cli_recovering *how, remains *r)
{
    char why[CLI_WHY_ROOM];
    r->fd = cli_regular_open(r->folder, r->name, O_RDONLY | O_NOFOLLOW, why);
    r->is_left = r->fd >= 0 && flock(r->fd, LOCK_EX | LOCK_NB) != 0;
    if (r->fd < 0 || fstat(r->fd, &r->status)) /* of what does not change any more */
        return leave_alone(how, r, r->fd < 0 ? why : strerror(errno));
    if (r->status.st_uid != geteuid() || r->status.st_nlink != 1 || (r->status.st_mode & 077))
        return leave_alone(how, r,
                           "is left alone: it is not a file of this user alone, as the heap agent "
                           "makes them");
    how->living += r->is_left;
    return CLI_DONE;
}

static bool read_all(int fd, uint8_t *bytes, size_t len)
{
    size_t done = 0;
    for (ssize_t got = 1; done < len && got > 0; done += got > 0 ? (size_t)got : 0)
        got = pread(fd, bytes + done, len - done, (off_t)done);
    return done == len;
}

static int read_areas(cli_recovering *how, remains *r, const pd_remains_head *head, uint64_t size)
{
    uint64_t end = 0;
    for (unsigned i = 0; i < PD_REMAINS_AREAS; i++) {
        const pd_remains_area *area = &head->areas[i];
        if (area->base)
            end = pd_remains_area_off(i) + area->used;
        if (area->used > pd_remains_area_size(i) || end > size)
            return leave_alone(how, r, damaged);
    }
    if (end < sizeof *head)
        return leave_alone(how, r, damaged);
    r->bytes = malloc(end);
    if (!r->bytes)
        return cli_system_error(r->path, "read", ENOMEM);
    if (!read_all(r->fd, r->bytes, end))
        return leave_alone(how, r, "cannot be read");
    memcpy(r->bytes, head, sizeof *head); /* what was checked is what counts */
    r->head = (const pd_remains_head *)(const void *)r->bytes;
    for (unsigned i = 0; i < PD_REMAINS_AREAS; i++)
        if (head->areas[i].base)
            r->areas[r->areas_len++] =
                (pprofdelta_heap_area){r->bytes + pd_remains_area_off(i),
                                       (size_t)head->areas[i].used, head->areas[i].base};
    return CLI_DONE;
}

/* Reads what the file holds. The copy does not change any more. */
static int read_file(cli_recovering *how, remains *r)
{
    pd_remains_head head;
    r->is_early = !r->status.st_size;
    if ((uint64_t)r->status.st_size < sizeof head ||
        !read_all(r->fd, (uint8_t *)&head, sizeof head))
        return r->status.st_size ? leave_alone(how, r, "is cut: it cannot be recovered; remove it")
                                 : CLI_DONE;
    r->is_early = !head.magic;
    if (r->is_early || head.magic == PD_REMAINS_OVER)
        return CLI_DONE;
    if (head.magic != PD_REMAINS_MAGIC)
        return leave_alone(how, r,
                           "is not what the heap agent of this version leaves; the "
                           "pprofdelta that recorded it can recover it");
    return read_areas(how, r, &head, (uint64_t)r->status.st_size);
}

/* ---- the window ------------------------------------------------------------------------------ */

static int make_tracker(cli_recovering *how, remains *r)
{
    const pd_remains_head *head = r->head;
    const pprofdelta_heap_remains from = {r->areas, r->areas_len, head->root};
    pprofdelta_heap_options options = PPROFDELTA_HEAP_OPTIONS_INIT;
    pprofdelta_error err;
    options.format = head->format == PPROFDELTA_OTLP ? PPROFDELTA_OTLP : PPROFDELTA_PPROF;
    if (head->has_account) {
        options.gauge = PD_ACCOUNT_TYPE;
        options.gauge_unit = PD_ACCOUNT_UNIT;
        options.second_gauge = PD_ACCOUNT_MAPPED;
    }
    if (options.format == PPROFDELTA_OTLP) {
        cli_resource resource =
            cli_resource_read(head->resource, strnlen(head->resource, sizeof head->resource));
        options.resource = resource.list;
        options.resource_len = resource.list_len;
    }
    if (!pprofdelta_heap_recover(&from, &options, &r->heap, &err))
        return CLI_DONE;
    if (err.status == PPROFDELTA_E_STATE)
        return leave_alone(how, r, err.text);
    return cli_library_error(r->path, &err);
}

static bool is_empty(const remains *r)
{
    pprofdelta_heap_stats stats = {.size = sizeof stats};
    pprofdelta_heap_describe(r->heap, &stats);
    return !stats.changed && !(r->head->snapshot && stats.live);
}

/* The name of the profile: that of the file with the next number that is free. */
static bool name_profile(const remains *r, char path[PATH_MAX])
{
    const char *ending = r->head->format == PPROFDELTA_OTLP ? ".otlp.gz" : ".pb.gz";
    int stem = (int)(strstr(r->name, PD_REMAINS_ENDING) - r->path);
    const uint64_t most = 999999999;
    uint64_t number =
        r->head->next_number && r->head->next_number < most ? r->head->next_number : 1;
    for (; number <= most; number++) {
        int len = snprintf(path, PATH_MAX, "%.*s.%06" PRIu64 "%s", stem, r->path, number, ending);
        struct stat status;
        if (len >= PATH_MAX || (lstat(path, &status) && errno == ENOENT))
            return len < PATH_MAX;
    }
    return false;
}

static int write_file(const remains *r, const cli_buffer *profile)
{
    char path[PATH_MAX];
    cli_output out = {.fd = -1};
    if (!name_profile(r, path))
        return cli_system_error(r->path, "name the profile of", ENAMETOOLONG);
    int code = cli_output_prepare(&out, path);
    if (!code && cli_output_write(&out, profile->bytes, profile->len))
        code = out.failure;
    code = code ? code : cli_output_finish(&out);
    cli_output_close(&out);
    if (!code)
        cli_note("the last window of a process that was killed: %s", path);
    return code;
}

/* ---- the account ------------------------------------------------------------------------------- */

enum { ROWS_MOST = sizeof((pd_remains_account *)0)->rows / sizeof(pd_remains_row) };

typedef struct account {
    pprofdelta_heap_row rows[ROWS_MOST];
    pprofdelta_frame frames[ROWS_MOST][2];
    char comment[1280];
} account;

/* Reads the rows, up to the first one that is damaged. A name ends within the bytes, of which the last two are
 * NUL. Returns how many there are. */
static size_t read_rows(const pd_remains_account *from, account *to)
{
    const pd_remains_row *row;
    size_t count = 0;
    for (uint64_t at = 0; from->len - at >= sizeof *row; at += row->size, count++) {
        row = (const void *)(from->rows + at);
        const uint64_t *stack = (const void *)(row + 1);
        const char *name = (const char *)(stack + row->depth);
        if (row->size > from->len - at || row->size % sizeof *stack || row->names > 2 ||
            row->size < sizeof *row + row->depth * sizeof *stack)
            break;
        to->frames[count][0] = (pprofdelta_frame){.name = name};
        to->frames[count][1] = (pprofdelta_frame){.name = name + strlen(name) + 1};
        to->rows[count] = (pprofdelta_heap_row){.frames = to->frames[count],
                                                .frames_len = row->names,
                                                .stack = stack,
                                                .depth = row->depth,
                                                .value = row->bytes,
                                                .second = row->mapped};
    }
    return count;
}

/* Gives the window the account of the dead process. It is as of the window before, if there is one. */
static pprofdelta_status set_account(remains *r, pprofdelta_error *err)
{
    static account to;
    pd_remains_account *from = &((pd_remains_head *)(void *)r->bytes)->account;
    const double age = ((double)r->head->alive_nanos - (double)from->nanos) / 1e9;
    size_t count = 0;
    if (!r->head->has_account)
        return PPROFDELTA_OK;
    memset(from->rows + sizeof from->rows - 2, 0, 2);
    if (from->len <= sizeof from->rows - 2)
        count = read_rows(from, &to);
    if (count)
        snprintf(to.comment, sizeof to.comment, "%.*s; as of %.1f s before the end",
                 (int)sizeof from->comment - 1, from->comment, age > 0 ? age : 0);
    else
        snprintf(to.comment, sizeof to.comment,
                 "pprofdelta: no account: the process ended before its first one");
    return pprofdelta_heap_set_gauge(r->heap, to.rows, count, to.comment, err);
}

static int hand_over(const cli_recovering *how, const pprofdelta_heap_window *window,
                     const cli_buffer *profile)
{
    char *const shell[] = {(char *)"/bin/sh", (char *)"-c", (char *)how->to, NULL};
    const cli_uploader uploader = {.argv = shell, .timeout_nanos = how->timeout_nanos};
    const pprofdelta_report report = {.id = window->id,
                                      .sequence = window->sequence,
                                      .attempt = window->attempt,
                                      .from_nanos = window->from_nanos,
                                      .to_nanos = window->to_nanos};
    uint64_t unread;
    return cli_upload_run(&uploader, profile, &report, &unread);
}

static int write_window(cli_recovering *how, remains *r)
{
    pprofdelta_error err;
    pprofdelta_heap_window window = {.size = sizeof window};
    cli_buffer profile = {0};
    const pprofdelta_sink sink = {.write = cli_buffer_append, .cookie = &profile};
    int code = CLI_DONE;
    if (pprofdelta_heap_begin(r->heap, r->head->alive_nanos, &window, &err) ||
        set_account(r, &err) ||
        pprofdelta_heap_write(
            r->heap, r->head->snapshot ? PPROFDELTA_HEAP_SNAPSHOT : PPROFDELTA_HEAP_CHANGES, &sink,
            &err))
        code = cli_library_error(r->path, &err);
    if (!code)
        code = how->to ? hand_over(how, &window, &profile) : write_file(r, &profile);
    free(profile.bytes);
    how->recovered += !code;
    return code;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Returns CLI_DONE if the file has served, and may be removed: then *is_over is set. */
static int recover_file(cli_recovering *how, remains *r, bool *is_over)
{
    int code = open_file(how, r);
    if (!code && !r->is_left)
        code = read_file(how, r);
    if (!code && !r->is_left && r->head)
        code = make_tracker(how, r);
    if (code || r->is_left)
        return code;
    if (r->head && r->heap && !is_empty(r))
        code = write_window(how, r);
    else
        *(r->is_early ? &how->early : &how->empty) += 1;
    *is_over = !code;
    return code;
}

static int recover_one(const cli_folder *folder, const char *path, cli_recovering *how)
{
    remains r = {.path = path,
                 .name = cli_string_base(cli_string_of(path)).ptr,
                 .folder = dirfd(folder->dir),
                 .fd = -1};
    bool is_over = false;
    cli_progress_say("recovering", path);
    int code = recover_file(how, &r, &is_over);
    if (is_over && unlinkat(r.folder, r.name, 0))
        code = cli_system_error(path, "remove", errno);
    pprofdelta_heap_free(r.heap);
    free(r.bytes);
    if (r.fd >= 0)
        close(r.fd);
    return code;
}

static int is_remains(const struct dirent *entry)
{
    const char *ending = strstr(entry->d_name, PD_REMAINS_ENDING);
    if (!cli_string_begins(cli_string_of(entry->d_name), "heap.") || !ending)
        return 0;
    ending += strlen(PD_REMAINS_ENDING);
    return !*ending || (*ending == '.' && !ending[1 + strspn(ending + 1, "0123456789")]);
}

int cli_recover_folder(const char *path, cli_recovering *how)
{
    cli_folder folder;
    int code = cli_folder_read(&folder, path, is_remains);
    for (size_t i = 0; i < folder.len; i++) {
        int failed = recover_one(&folder, folder.paths[i], how);
        code = failed ? failed : code;
    }
    if (folder.dir)
        closedir(folder.dir);
    return code;
}

static int is_profile(const struct dirent *entry)
{
    cli_string name = cli_string_of(entry->d_name);
    return name.ptr[0] != '.' &&
           (cli_string_ends(name, ".pb.gz") || cli_string_ends(name, ".otlp.gz"));
}

int cli_recover_and_read(cli_folder *folder, const char *path, const char *verb)
{
    cli_recovering how = {.is_silent = true};
    cli_recover_folder(path, &how); /* what fails is left to pprofdelta recover */
    int code = cli_folder_read(folder, path, is_profile);
    return code || folder->len
               ? code
               : cli_error("%s: has no profiles: %s takes the files named *.pb.gz and *.otlp.gz in "
                           "a directory",
                           path, verb);
}
