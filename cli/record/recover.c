/* The last windows of killed processes: see recover.h. */
#include "record/recover.h"

#include "cli.h"
#include "delta/uploader.h"
#include "input.h"
#include "instant.h"
#include "keep.h"
#include "message.h"
#include "output_file.h"
#include "resource.h"
#include "symbolize/symbolize_view.h"
#include "text.h"

#include "agent/base/remains.h"
#include "pprofdelta_heap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

/* One file. */
typedef struct remains {
    const char *path, *name; /* name: the last part of path */
    int folder, fd;
    struct stat status;
    uint8_t *bytes;              /* free them */
    const pd_remains_head *head; /* in bytes; NULL: the file is not complete */
    const pd_remains_beat *beat; /* in it */
    pprofdelta_heap_area areas[PD_REMAINS_AREAS];
    size_t areas_len;
    pprofdelta_heap *heap;
    pprofdelta_format format; /* in which it is written, with what is in use or its changes */
    bool is_snapshot;
    bool is_of_other; /* another user's, whose folder it is; this is root */
    bool is_early;    /* the process ended before its file was complete */
} remains;

static const char closed[] = "is of another user; that user or root can read it";
static const char damaged[] = "is cut or damaged: it cannot be recovered; remove it";

/* ---- the file --------------------------------------------------------------------------------
 *
 * The functions that return a text say why the file is left alone: NULL if it is not, and "" if there is nothing to
 * say, because its process lives. */

/* Root recovers what other users have in folders of their own, with their rights. */
static bool is_ours(remains *r, const struct stat *folder)
{
    const uid_t user = r->status.st_uid;
    r->is_of_other = user != geteuid();
    return !r->is_of_other || (!geteuid() && user == folder->st_uid);
}

/* Opens the file and locks it. */
static const char *open_file(remains *r)
{
    const char *why;
    struct stat folder;
    r->fd = cli_regular_open(r->folder, r->name, O_RDONLY | O_NOFOLLOW, &why);
    bool is_locked = r->fd >= 0 && flock(r->fd, LOCK_EX | LOCK_NB) != 0;
    if (r->fd < 0 || fstat(r->fd, &r->status)) /* of what does not change any more */
        return r->fd < 0 ? why : strerror(errno);
    if (r->status.st_nlink != 1 || (r->status.st_mode & 077))
        return "is left alone: it is not a file of this user alone, as the heap agent makes them";
    if (fstat(r->folder, &folder) || !is_ours(r, &folder))
        return geteuid() ? "is left alone: it is another user's; that user or root can recover it"
                         : "is left alone: it belongs to another user than its folder; that user "
                           "can recover it";
    return is_locked ? "" : NULL;
}

/* ---- does its process live? -------------------------------------------------------------------- */

typedef enum fate { ENDED, LIVES, NOT_KNOWN } fate;

static bool is_process(int folder, const pd_remains_process *wanted)
{
    char stat[1024], status[4096];
    pd_remains_process found = {0};
    if (!cli_text_read(folder, "stat", stat, sizeof stat) ||
        !cli_text_read(folder, "status", status, sizeof status))
        return false;
    pd_remains_read_process(stat, status, &found);
    return found.since_boot == wanted->since_boot && found.number == wanted->number;
}

/* Is it one of those that this process can see? */
static bool is_seen(const pd_remains_process *wanted)
{
    bool is = false;
    DIR *proc = opendir("/proc");
    for (const struct dirent *entry; proc && !is && (entry = readdir(proc));) {
        if (entry->d_name[strspn(entry->d_name, "0123456789")])
            continue;
        int folder = openat(dirfd(proc), entry->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC);
        is = folder >= 0 && is_process(folder, wanted);
        cli_close(folder);
    }
    if (proc)
        closedir(proc);
    return is;
}

/* This process has locked the file. That decides, if the process that made it saw the same file: otherwise this is
 * another view of it (a layer of overlayfs, a copy), with a lock of its own. A process of an earlier boot has ended.
 * In the first namespace of process numbers, all processes are seen. */
static fate has_ended(const pd_remains_head *head, const struct stat *status)
{
    const uint64_t first_numbers = 0xeffffffc;
    const pd_remains_process *process = &head->process;
    char boot[sizeof process->boot];
    struct stat numbers;
    if (head->dev == status->st_dev && head->ino == status->st_ino)
        return ENDED;
    if (!process->since_boot ||
        !cli_text_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", boot, sizeof boot) ||
        stat("/proc/self/ns/pid", &numbers))
        return NOT_KNOWN;
    if (strncmp(boot, process->boot, sizeof boot) != 0)
        return ENDED;
    if (is_seen(process))
        return LIVES;
    return numbers.st_ino == process->numbers || numbers.st_ino == first_numbers ? ENDED
                                                                                 : NOT_KNOWN;
}

/* ---- what it holds --------------------------------------------------------------------------- */

static bool read_all(int fd, uint8_t *bytes, size_t len)
{
    size_t done = 0;
    for (ssize_t got = 1; done < len && got > 0; done += got > 0 ? (size_t)got : 0)
        got = pread(fd, bytes + done, len - done, (off_t)done);
    return done == len;
}

static const char *read_areas(remains *r, const pd_remains_head *head, uint64_t size)
{
    uint64_t end = 0;
    for (unsigned i = 0; i < PD_REMAINS_AREAS; i++) {
        const pd_remains_area *area = &head->areas[i];
        if (area->base)
            end = pd_remains_area_off(i) + area->used;
        if (area->used > pd_remains_area_size(i) || end > size)
            return damaged;
    }
    if (end < sizeof *head)
        return damaged;
    r->bytes = malloc(end);
    if (!r->bytes || !read_all(r->fd, r->bytes, end))
        return r->bytes ? "cannot be read" : strerror(ENOMEM);
    memcpy(r->bytes, head, sizeof *head); /* what was checked is what counts */
    r->head = (const pd_remains_head *)(const void *)r->bytes;
    r->beat = pd_remains_last_beat(r->head);
    for (unsigned i = 0; i < PD_REMAINS_AREAS; i++)
        if (head->areas[i].base)
            r->areas[r->areas_len++] =
                (pprofdelta_heap_area){r->bytes + pd_remains_area_off(i),
                                       (size_t)head->areas[i].used, head->areas[i].base};
    return r->beat ? NULL : damaged;
}

/* Reads what the file holds. The copy does not change any more. */
static const char *read_file(remains *r)
{
    pd_remains_head head = {0};
    const uint64_t size = (uint64_t)r->status.st_size;
    const size_t len = size < sizeof head ? (size_t)size : sizeof head;
    if (!read_all(r->fd, (uint8_t *)&head, len))
        return "cannot be read";
    r->is_early = !size || head.magic == PD_REMAINS_EARLY;
    if (r->is_early || head.magic == PD_REMAINS_OVER)
        return NULL;
    if (len < sizeof head)
        return "is cut: it cannot be recovered; remove it";
    if (head.magic != PD_REMAINS_MAGIC)
        return "is not what the heap agent of this version leaves; the pprofdelta that recorded it "
               "can recover it";
    if (head.check != pd_remains_check(&head.check, PD_REMAINS_HEAD_SIZE))
        return damaged;
    const fate now = has_ended(&head, &r->status);
    return now == ENDED   ? read_areas(r, &head, size)
           : now == LIVES ? ""
                          : "is left alone: the process that has it cannot be seen from here, and "
                            "may live; recover it where that runs, or on the host of its container";
}

/* ---- the window ------------------------------------------------------------------------------ */

static const void *find_bytes(const void *cookie, uint64_t address, size_t len)
{
    const remains *r = cookie;
    for (size_t i = 0; i < r->areas_len; i++) {
        const uint64_t off = address - r->areas[i].base;
        if (off < r->areas[i].len && len <= r->areas[i].len - off && off % sizeof(uint64_t) == 0)
            return (const char *)r->areas[i].bytes + off;
    }
    return NULL;
}

/* A pprofdelta_symbolizer for the frames of an interpreter. */
static void name_frame(void *cookie, uint64_t number, pprofdelta_symbol *out)
{
    static pprofdelta_frame frame;
    if (pd_remains_name_frame(find_bytes, cookie, number, &frame))
        *out = (pprofdelta_symbol){.frames = &frame, .frames_len = 1};
}

static const char *make_tracker(remains *r, pprofdelta_error *err)
{
    const pd_remains_head *head = r->head;
    const pprofdelta_heap_remains from = {r->areas, r->areas_len, head->root};
    pprofdelta_heap_options options = PPROFDELTA_HEAP_OPTIONS_INIT;
    options.compression = PPROFDELTA_PLAIN;
    options.flags = PPROFDELTA_HEAP_NAMES_ONLY;
    options.symbolize = name_frame;
    options.symbolize_cookie = r;
    if (head->has_account) {
        options.gauge = PD_ACCOUNT_TYPE;
        options.gauge_unit = PD_ACCOUNT_UNIT;
        options.second_gauge = PD_ACCOUNT_MAPPED;
    }
    return pprofdelta_heap_recover(&from, &options, &r->heap, err) ? err->text : NULL;
}

static bool is_empty(const remains *r)
{
    pprofdelta_heap_stats stats = {.size = sizeof stats};
    pprofdelta_heap_describe(r->heap, &stats);
    return !stats.changed && !(r->head->snapshot && stats.inuse_bytes);
}

/* The name of the profile: that of the file with the next number that is free. */
static bool name_profile(const remains *r, char path[PATH_MAX])
{
    const size_t folder = (size_t)(r->name - r->path);
    const char *ending = r->format != PPROFDELTA_PPROF ? ".otlp.gz" : ".pb.gz";
    int stem = (int)(strstr(r->name, PD_REMAINS_ENDING) - r->path);
    const uint64_t most = 999999999;
    uint64_t number =
        r->beat->next_number && r->beat->next_number < most ? r->beat->next_number : 1;
    for (; number <= most; number++) {
        int len = snprintf(path, PATH_MAX, "%.*s.%06" PRIu64 "%s", stem, r->path, number, ending);
        struct stat status;
        if (len >= PATH_MAX ||
            (fstatat(r->folder, path + folder, &status, AT_SYMLINK_NOFOLLOW) && errno == ENOENT))
            return len < PATH_MAX;
    }
    return false;
}

/* The path is that of the folder, since the user may put another folder in its place, or not reach it. */
static int write_file(const remains *r, const cli_buffer *profile)
{
    char path[PATH_MAX], place[PATH_MAX];
    cli_output out = {.fd = -1, .is_lasting = true};
    if (!name_profile(r, path))
        return cli_system_error(r->path, "name the profile of", ENAMETOOLONG);
    snprintf(place, sizeof place, "/proc/self/fd/%d/%s", r->folder, path + (r->name - r->path));
    int code = cli_output_prepare(&out, r->is_of_other ? place : path);
    out.name = path;
    code = code ? code : cli_output_finish_with(&out, profile);
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
static pprofdelta_status set_account(const remains *r, pprofdelta_error *err)
{
    static account to;
    pd_remains_account *from = &((pd_remains_head *)(void *)r->bytes)->account;
    const double age = ((double)r->beat->alive_nanos - (double)from->nanos) / 1e9;
    size_t count = 0;
    if (!r->head->has_account)
        return PPROFDELTA_OK;
    const bool is_whole =
        from->check && from->len <= sizeof from->rows - 2 &&
        from->check == pd_remains_check(&from->check, pd_remains_size_of_account(from));
    memset(from->rows + sizeof from->rows - 2, 0, 2);
    if (is_whole)
        count = read_rows(from, &to);
    if (is_whole)
        snprintf(to.comment, sizeof to.comment, "%.*s; as of %.1f s before the end",
                 (int)sizeof from->comment - 1, from->comment, age > 0 ? age : 0);
    else
        snprintf(to.comment, sizeof to.comment, "pprofdelta: no account: %s",
                 from->check ? "it is damaged and left out"
                             : "the process ended before its first one, or while it made one");
    return pprofdelta_heap_set_gauge(r->heap, to.rows, count, to.comment, err);
}

static int hand_over(const cli_recovering *how, const pprofdelta_heap_window *window,
                     const cli_buffer *profile)
{
    char *const shell[] = {(char *)"/bin/sh", (char *)"-c", (char *)how->to, NULL};
    const cli_uploader uploader = {.argv = shell,
                                   .timeout_nanos = how->timeout_nanos,
                                   .is_not_recorded = true,
                                   .is_silent = how->is_before};
    const pprofdelta_report report = {.id = window->id,
                                      .sequence = window->sequence,
                                      .attempt = window->attempt,
                                      .from_nanos = window->from_nanos,
                                      .to_nanos = window->to_nanos};
    uint64_t unread;
    return cli_upload_run(&uploader, profile, &report, &unread);
}

static uint64_t left_out(const remains *r)
{
    pprofdelta_heap_stats stats = {.size = sizeof stats};
    pprofdelta_heap_describe(r->heap, &stats);
    return stats.left_out;
}

/* Makes the window, whose addresses have no names. */
static int make_window(const remains *r, pprofdelta_heap_window *window, cli_buffer *made)
{
    const pprofdelta_sink sink = {.write = cli_buffer_append, .cookie = made};
    const pprofdelta_heap_inuse kind =
        r->is_snapshot ? PPROFDELTA_HEAP_SNAPSHOT : PPROFDELTA_HEAP_CHANGES;
    pprofdelta_error err;
    return pprofdelta_heap_begin(r->heap, r->beat->alive_nanos, window, &err) ||
                   set_account(r, &err) || pprofdelta_heap_write(r->heap, kind, &sink, &err)
               ? cli_library_error(r->path, &err)
               : CLI_DONE;
}

/* Gives the addresses the names that the heap agent gives to those of a living process: mangled, from the symbol
 * table of the file that was mapped, if that is still there and has the same build id. The resource is that of the
 * process, if it wrote requests. */
static int name_addresses(const remains *r, cli_buffer unnamed, cli_buffer *named)
{
    static const cli_symbolizing how = {.places = {.needs_build_id = true, .has_tables_only = true},
                                        .is_not_demangled = true};
    const pd_remains_head *head = r->head;
    static const cli_resource none;
    cli_resource resource =
        head->format == PPROFDELTA_PPROF && r->format != PPROFDELTA_PPROF
            ? cli_resource_make(&none)
            : cli_resource_read(head->resource, strnlen(head->resource, sizeof head->resource));
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    cli_symbolize_report report = {0};
    cli_profile profile;
    options.level = 1; /* as the agent has it */
    options.format = r->format;
    options.resource = resource.list;
    options.resource_len = resource.list_len;
    int code =
        cli_profile_take(&profile, (cli_input){r->path, unnamed.bytes, unnamed.len}, &options);
    if (!code) {
        cli_symbolize_profile(&profile, &how, &report);
        code = cli_edit_write(&profile, named);
    }
    cli_drop(report.modules);
    cli_profile_free(&profile);
    return code;
}

/* Gives the window to the command, or writes it to the folder, if there is no command or it is older than --max-age. That
 * one is refused that is older than the receiver takes does not show that others are: CLI_FAILED, and not CLI_UPLOAD. */
static int deliver(const cli_recovering *how, const remains *r,
                   const pprofdelta_heap_window *window, const cli_buffer *profile)
{
    const cli_waiting waiting = {.name = r->path,
                                 .receiver = how->receiver,
                                 .max_age_nanos = how->max_age_nanos,
                                 .format = r->format,
                                 .from_nanos = window->from_nanos,
                                 .to_nanos = window->to_nanos};
    if (!how->to || cli_waiting_must_stay(&waiting, false, "it goes to the directory"))
        return write_file(r, profile);
    int code = hand_over(how, window, profile);
    return code && how->is_before && cli_waiting_is_late(&waiting, cli_instant_now()) ? CLI_FAILED
                                                                                      : code;
}

/* As --for has it, or as the process would have written it. */
static void choose_form(const cli_recovering *how, remains *r)
{
    const pd_remains_head *head = r->head;
    cli_receiver receiver = how->is_before ? CLI_FOR_NONE : how->receiver;
    bool is_known = !receiver && head->format < PPROFDELTA_TABLES;
    r->format = is_known ? (pprofdelta_format)head->format : cli_receivers[receiver].format;
    r->is_snapshot = receiver || head->snapshot;
}

static int write_window(cli_recovering *how, remains *r)
{
    pprofdelta_heap_window window = {.size = sizeof window};
    cli_buffer made = {0}, profile = {0};
    choose_form(how, r);
    int code = make_window(r, &window, &made);
    code = code ? code : name_addresses(r, made, &profile);
    if (!code)
        code = deliver(how, r, &window, &profile);
    free(profile.bytes);
    if (!code && left_out(r))
        cli_note("%s: was damaged: %" PRIu64 " of its stacks, ages and peaks are left out of that "
                 "window; its comment tells them apart",
                 r->path, left_out(r));
    how->recovered += !code;
    return code;
}

static bool take_rights(uid_t user, gid_t group, size_t len, const gid_t *groups)
{
    bool has_groups = !setgroups(len, groups);
    setfsgid(group);
    setfsuid(user);
    return has_groups && (gid_t)setfsgid((gid_t)-1) == group && (uid_t)setfsuid((uid_t)-1) == user;
}

/* With the rights of the file's user for all files, also for those that have names of functions. The command of --to
 * has those of this process again, as has what `record` runs then. */
static int write_as_owner(cli_recovering *how, remains *r)
{
    const int most = getgroups(0, NULL);
    gid_t *groups = cli_keep((size_t)most + 1, sizeof *groups);
    const size_t len = (size_t)getgroups(most, groups);
    int code =
        take_rights(r->status.st_uid, r->status.st_gid, 0, NULL) ? write_window(how, r)
        : how->is_silent
            ? CLI_FAILED
            : cli_error("%s: is left alone: the rights of its user cannot be taken", r->path);
    take_rights(geteuid(), getegid(), len, groups);
    return code;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Returns CLI_DONE if the file has served, and may be removed: then *is_over is set. */
static int recover_file(cli_recovering *how, remains *r, bool *is_over)
{
    pprofdelta_error err;
    const char *why = open_file(r);
    why = why ? why : read_file(r);
    why = why || !r->head ? why : make_tracker(r, &err);
    const bool has_window = !why && r->head && !is_empty(r);
    if (!why && r->head && !has_window && left_out(r))
        why = damaged;
    how->living += why && !*why;
    if (why)
        return how->is_silent || !*why ? CLI_DONE : cli_error("%s: %s", r->path, why);
    int code = CLI_DONE;
    if (has_window)
        code = (r->is_of_other ? write_as_owner : write_window)(how, r);
    else
        *(r->is_early ? &how->early : &how->empty) += 1;
    *is_over = !code;
    return code;
}

static int recover_one(cli_file file, cli_recovering *how)
{
    remains r = {.path = file.path,
                 .name = cli_string_base(cli_string_of(file.path)).ptr,
                 .folder = dirfd(file.found_in),
                 .fd = -1};
    bool is_over = false;
    cli_progress_say("recovering", file.path);
    int code = recover_file(how, &r, &is_over);
    if (is_over && unlinkat(r.folder, r.name, 0))
        code = cli_system_error(file.path, "remove", errno);
    pprofdelta_heap_free(r.heap);
    free(r.bytes);
    cli_close(r.fd);
    return code;
}

static bool is_lost(const char *name)
{
    return cli_string_ends(cli_string_of(name), PD_REMAINS_LOST);
}

static int is_remains(const struct dirent *entry)
{
    const char *ending = strstr(entry->d_name, PD_REMAINS_ENDING);
    if (!cli_string_begins(cli_string_of(entry->d_name), "heap."))
        return 0;
    if (!ending)
        return is_lost(entry->d_name);
    ending += strlen(PD_REMAINS_ENDING);
    return !*ending || (*ending == '.' && !ending[1 + strspn(ending + 1, "0123456789")]);
}

int cli_recover_folder(const char *path, cli_recovering *how)
{
    cli_folder folder;
    int code = cli_folder_read(&folder, path, is_remains);
    for (size_t i = 0; i < folder.files_len && !(how->is_before && code == CLI_UPLOAD); i++) {
        const cli_file *file = &folder.files[i];
        bool is_note = is_lost(file->path);
        if (is_note)
            cli_note("%s: profiles are missing here, since processes could not write them; the "
                     "file says which, and what to do",
                     file->path);
        int failed = is_note ? CLI_DONE : recover_one(*file, how);
        code = failed ? failed : code;
    }
    if (folder.left_out && !how->is_silent)
        cli_note_left_out(folder.left_out, closed);
    cli_folder_close(&folder);
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
    if (folder->left_out)
        cli_note_left_out(folder->left_out, closed);
    return code || folder->files_len
               ? code
               : cli_error("%s: has no profiles: %s takes the files named *.pb.gz and *.otlp.gz in "
                           "a directory",
                           path, verb);
}
