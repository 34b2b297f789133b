/* The output: see output_file.h. */
#include "output_file.h"

#include "cli.h"
#include "input.h"
#include "keep.h"
#include "message.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX ".pprofdelta-"
#define RANDOM "XXXXXX"

/* ".pprofdelta-HASH-XXXXXX" */
enum { KIND_LEN = sizeof PREFIX - 1 + 8 + 1, NAME_LEN = KIND_LEN + sizeof RANDOM - 1, TRIES = 16 };

static const char stdout_name[] = "(stdout)";

/* ---- memory ---------------------------------------------------------------------------------- */

/* One large piece is kept without spare room; many pieces cost few copies. */
uint8_t *cli_buffer_extend(cli_buffer *b, size_t len)
{
    if (len > b->cap - b->len || !b->bytes) {
        size_t cap = b->len + len > b->cap * 2 ? b->len + len : b->cap * 2;
        uint8_t *grown = cap < len ? NULL : realloc(b->bytes, cap ? cap : 1);
        if (!grown)
            return NULL;
        b->bytes = grown;
        b->cap = cap;
    }
    b->len += len;
    return b->bytes + b->len - len;
}

int cli_buffer_append(void *buffer, const void *data, size_t len)
{
    uint8_t *to = cli_buffer_extend(buffer, len);
    if (!to)
        return -1;
    memcpy(to, data, len);
    return 0;
}

int cli_write_all(int fd, const void *bytes, size_t len)
{
    for (const char *at = bytes; len;) {
        ssize_t done = write(fd, at, len);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done ? errno : EIO;
        at += done;
        len -= (size_t)done;
    }
    return 0;
}

/* ---- what OUT is ----------------------------------------------------------------------------- */

/* The length of "dir/" in "dir/target". */
static size_t folder_len(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

int cli_folder_open(const char *path, int how)
{
    size_t len = folder_len(path);
    return open(len ? cli_keep_print("%.*s", (int)len, path) : ".", how | O_DIRECTORY | O_CLOEXEC);
}

static int fail_output(cli_output *out, const char *verb, int error)
{
    const char *what = out->is_new     ? "create the state in its directory"
                       : out->is_state ? "replace the state"
                                       : verb;
    return out->failure = cli_system_error(out->name, what, error);
}

static _Noreturn void refuse_terminal(const char *name)
{
    cli_usage("%s: is a terminal, and a profile is binary; use -o OUT or a pipe", name);
}

/* The file that path leads to through symbolic links. It need not exist if path is none. Returns
 * NULL with errno set. */
static const char *target_of(const char *path)
{
    struct stat st;
    bool is_link = !lstat(path, &st) && S_ISLNK(st.st_mode);
    return is_link ? realpath(path, NULL) : path;
}

/* Examines the directory of path. Returns 0, or -1 with errno set. */
static int examine_folder(const char *path, struct stat *st)
{
    int folder = cli_folder_open(path, O_PATH), failed = folder < 0 ? -1 : fstat(folder, st);
    cli_close(folder);
    return failed;
}

/* Do both paths name the same file of one directory? The file need not exist. */
static bool is_same_name(const char *path, const char *other)
{
    struct stat st, other_st;
    return !strcmp(path + folder_len(path), other + folder_len(other)) &&
           !examine_folder(path, &st) && !examine_folder(other, &other_st) &&
           st.st_dev == other_st.st_dev && st.st_ino == other_st.st_ino;
}

/* Which existing file OUT may replace: a profile a profile, a page a page, a table a table, and all
 * an empty file. Every other file stays. Its name does not matter. */
static int check_old(const cli_output *out)
{
    const char *why;
    pprofdelta_file_kind kind;
    const char *what = cli_regular_kind(out->target, &kind, &why);
    if (!what)
        return cli_error("%s: %s; it is read to check that it may be replaced", out->name, why);
    bool is_same = out->is_page ? kind == PPROFDELTA_FILE_HTML
                   : out->is_table
                       ? kind == PPROFDELTA_FILE_ARROW
                       : kind == PPROFDELTA_FILE_PROFILE || kind == PPROFDELTA_FILE_OTLP;
    if (is_same || kind == PPROFDELTA_FILE_EMPTY)
        return CLI_DONE;
    const char *noun = out->is_page ? "page" : out->is_table ? "table" : "profile";
    cli_error("%s: is not replaced: it is %s, and a %s replaces only a %s", out->name, what, noun,
              noun);
    return cli_hint("give another name, or delete the file first");
}

/* stdout has other names. Replacing the file behind one would lose what `>>` keeps. */
static bool names_stdout(const char *path)
{
    return !path || !strcmp(path, "-") || !strcmp(path, "/dev/stdout") ||
           !strcmp(path, "/dev/fd/1") || !strcmp(path, "/proc/self/fd/1");
}

int cli_output_prepare(cli_output *out, const char *path)
{
    struct stat st;
    if (names_stdout(path)) {
        out->name = stdout_name;
        out->fd = STDOUT_FILENO;
        if (isatty(STDOUT_FILENO))
            refuse_terminal(out->name);
        return CLI_DONE;
    }
    out->name = path;
    out->target = out->is_table ? path : target_of(path);
    if (out->target && out->state && is_same_name(out->target, out->state))
        cli_usage("-o and --state name the same file, which cannot be both");
    bool is_missing = (out->is_table ? lstat : stat)(path, &st) != 0;
    if (is_missing && errno != ENOENT)
        return fail_output(out, "write", errno);
    if (out->is_table && !is_missing && !S_ISREG(st.st_mode))
        return cli_error("%s: is not replaced: it is no regular file", path);
    if (!is_missing && (S_ISDIR(st.st_mode) || S_ISSOCK(st.st_mode)))
        return fail_output(out, "write", S_ISDIR(st.st_mode) ? EISDIR : ENXIO);
    out->kind = is_missing || S_ISREG(st.st_mode) ? CLI_OUTPUT_REPLACE : CLI_OUTPUT_DIRECT;
    if (out->kind == CLI_OUTPUT_DIRECT)
        return CLI_DONE;
    if (!out->target)
        return fail_output(out, "write", ENOENT);
    if (is_missing && examine_folder(out->target, &st))
        return fail_output(out, "write", errno);
    return is_missing ? CLI_DONE : check_old(out);
}

/* ---- the temporary file ---------------------------------------------------------------------- */

void cli_ending_signals(sigset_t *set)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action;
    sigemptyset(set);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        if (!sigaction(ending[i], NULL, &action) && action.sa_handler != SIG_IGN)
            sigaddset(set, ending[i]);
}

/* Gives the file the owner and the mode of target. If the owner cannot be set (only root can), it
 * stays that of the process. If the group cannot be set, the group gets no more rights than
 * everyone, so that nobody can read the file who could not read target. */
static int copy_owner_and_mode(int fd, const char *target, bool is_private)
{
    struct stat was, is;
    if (stat(target, &was)) {
        mode_t mask = umask(0);
        umask(mask);
        return is_private ? 0 : fchmod(fd, 0666 & ~mask);
    }
    mode_t mode = is_private ? 0600 : was.st_mode & 0777;
    if (fchown(fd, was.st_uid, was.st_gid) && fchown(fd, (uid_t)-1, was.st_gid)) {
        if (fstat(fd, &is))
            return -1;
        if (is.st_gid != was.st_gid)
            mode &= 0707 | (mode & 07) << 3;
    }
    return fchmod(fd, mode);
}

/* Creates a file and locks it. Another process that locks it first removes it: then it has no name
 * any more. If the file system has no locks, no process removes it. */
static int make_locked(char *name)
{
    struct stat st;
    for (int i = 0; i < TRIES; i++) {
        int fd = mkostemp(name, O_CLOEXEC);
        if (fd < 0)
            return -1;
        while (flock(fd, LOCK_EX) && errno == EINTR) {
        }
        if (fstat(fd, &st) || st.st_nlink)
            return fd;
        close(fd);
        strcpy(name + strlen(name) - strlen(RANDOM), RANDOM);
    }
    errno = EAGAIN;
    return -1;
}

/* Removes a regular file of this user that no process has locked, or that has its target's name
 * already. The file is locked while it is removed, so that a process that has just created it
 * notices. */
static void remove_left_over(int folder, const char *name)
{
    struct stat st;
    int fd = cli_regular_open(folder, name, O_RDWR | O_NOFOLLOW, NULL);
    if (fd < 0)
        return;
    if (!fstat(fd, &st) && st.st_uid == geteuid() &&
        (st.st_nlink > 1 || !flock(fd, LOCK_EX | LOCK_NB)))
        unlinkat(folder, name, 0);
    close(fd);
}

/* Removes the files that killed runs of this owner left in the directory of OUT. Their names begin
 * with `kind`. */
static void remove_left_overs(const char *target, const char *kind)
{
    int folder = cli_folder_open(target, O_RDONLY);
    DIR *dir = folder < 0 ? NULL : fdopendir(folder);
    struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        if (strlen(entry->d_name) == NAME_LEN && !memcmp(entry->d_name, kind, KIND_LEN))
            remove_left_over(folder, entry->d_name);
    if (dir)
        closedir(dir);
    else if (folder >= 0)
        close(folder);
}

static cli_output *unfinished; /* those with a temporary file */

/* From now on, signals end the process. */
static void end_temporary(cli_output *out)
{
    cli_output **at = &unfinished;
    while (*at && *at != out)
        at = &(*at)->next;
    if (*at)
        *at = out->next;
    out->temporary = NULL;
    sigprocmask(SIG_SETMASK, &out->before, NULL);
}

static void remove_temporary(cli_output *out)
{
    if (out->fd >= 0 && out->temporary)
        unlink(out->temporary);
    cli_close(out->fd);
    out->fd = -1;
    end_temporary(out);
}

static void remove_unfinished(void)
{
    while (unfinished)
        remove_temporary(unfinished);
}

/* The name has the hash (FNV-1a) of the last name of the owner, which keeps it short. Returns 0 or
 * an errno value. */
static int create_temporary(cli_output *out)
{
    static bool is_registered;
    const char *owner = out->state ? out->state : out->target;
    uint32_t hash = UINT32_C(0x811c9dc5);
    sigset_t ending;
    for (const char *at = owner + folder_len(owner); *at; at++)
        hash = (hash ^ (unsigned char)*at) * UINT32_C(0x01000193);
    const char *kind = cli_keep_print(PREFIX "%08" PRIx32 "-", hash);
    remove_left_overs(out->target, kind);
    out->temporary =
        (char *)cli_keep_print("%.*s%s%s", (int)folder_len(out->target), out->target, kind, RANDOM);
    cli_ending_signals(&ending);
    sigprocmask(SIG_BLOCK, &ending, &out->before);
    is_registered = is_registered || !atexit(remove_unfinished);
    out->next = unfinished;
    unfinished = out;
    out->fd = make_locked(out->temporary);
    if (out->fd >= 0 && !copy_owner_and_mode(out->fd, out->target, out->is_state))
        return 0;
    int error = errno;
    remove_temporary(out);
    return error;
}

bool cli_is_ending(const sigset_t *before)
{
    sigset_t ending, pending;
    bool has_come = false;
    cli_ending_signals(&ending);
    sigpending(&pending);
    for (int number = 1; number < SIGRTMIN; number++)
        has_come |= sigismember(&pending, number) == 1 && sigismember(&ending, number) == 1 &&
                    !sigismember(before, number);
    return has_come;
}

/* Syncs what can be synced: no pipe, no device. Returns 0, or -1 with errno set. */
static int sync_all(int fd)
{
    return fsync(fd) && errno != EINVAL && errno != ENOTSUP && errno != EROFS ? -1 : 0;
}

/* Gives the temporary file the name of the target. Returns 0, or -1 with errno set. A new target
 * gets it by a link, which replaces nothing. On a file system without links, a look has to do. */
static int put_in_place(const cli_output *out)
{
    struct stat st;
    if (!out->is_new)
        return rename(out->temporary, out->target);
    if (!link(out->temporary, out->target)) { // NOLINT: it has a name since it was created
        unlink(out->temporary);
        return 0;
    }
    if (errno != EPERM && errno != EOPNOTSUPP)
        return -1;
    if (lstat(out->target, &st))
        return rename(out->temporary, out->target);
    errno = EEXIST;
    return -1;
}

static bool is_synced(const cli_output *out)
{
    return out->state || out->is_lasting;
}

static int replace_target(cli_output *out)
{
    /* Some file systems report a failed write only to close. The file stays open, and locked. */
    int copy = dup(out->fd);
    if (copy < 0 || close(copy) || (is_synced(out) && sync_all(out->fd)) ||
        cli_is_ending(&out->before) || put_in_place(out)) {
        int error = errno;
        remove_temporary(out);
        if (out->is_new && error == EEXIST)
            return out->failure = CLI_OVERTAKEN;
        return fail_output(out, "replace", error);
    }
    end_temporary(out);
    if (!is_synced(out))
        return CLI_DONE;
    int folder = cli_folder_open(out->target, O_RDONLY);
    if (folder < 0 || sync_all(folder))
        fail_output(out, "replace", errno);
    cli_close(folder);
    return out->failure;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Opens the output before the first byte. Returns 0, or -1 with out->failure set. */
static int open_output(cli_output *out)
{
    if (out->kind == CLI_OUTPUT_REPLACE) {
        int error = create_temporary(out);
        if (error)
            fail_output(out, "create a temporary file in its directory", error);
    } else {
        out->fd = open(out->name, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        if (out->fd < 0)
            fail_output(out, "open", errno);
        else if (isatty(out->fd))
            refuse_terminal(out->name);
    }
    return out->failure ? -1 : 0;
}

int cli_output_write(void *output, const void *data, size_t len)
{
    cli_output *out = output;
    if (out->failure || out->is_unread || (out->fd < 0 && open_output(out)))
        return -1;
    int error = cli_write_all(out->fd, data, len);
    if (!error)
        return 0;
    if (error == EPIPE && out->is_page && out->kind == CLI_OUTPUT_STDOUT)
        out->is_unread = true;
    else
        fail_output(out, "write", error);
    return -1;
}

int cli_output_finish(cli_output *out)
{
    if (out->is_unread)
        return CLI_DONE;
    if (out->failure || (out->fd < 0 && open_output(out)))
        return out->failure;
    if (out->kind == CLI_OUTPUT_REPLACE)
        return replace_target(out);
    if (is_synced(out) && sync_all(out->fd))
        return fail_output(out, "sync", errno);
    int fd = out->fd;
    out->fd = -1;
    return close(fd) ? fail_output(out, "write", errno) : CLI_DONE;
}

int cli_output_finish_with(cli_output *out, const cli_buffer *bytes)
{
    return cli_output_write(out, bytes->bytes, bytes->len) ? out->failure : cli_output_finish(out);
}

void cli_output_close(cli_output *out)
{
    if (out->temporary)
        remove_temporary(out);
    if (out->fd >= 0 && out->kind != CLI_OUTPUT_STDOUT)
        close(out->fd);
    *out = (cli_output){.fd = -1};
}

int cli_output_error(const cli_output *out, const char *name, const pprofdelta_error *err)
{
    return out->failure ? out->failure : cli_library_error(name, err);
}

/* Is fd a pipe that has no reader? */
static bool is_unread(int fd)
{
    struct pollfd end = {.fd = fd, .events = POLLOUT};
    return poll(&end, 1, 0) > 0 && end.revents & POLLERR;
}

bool cli_output_is_over(void)
{
    return ferror(stdout) != 0;
}

int cli_output_end_text(void)
{
    int failed = ferror(stdout); /* of an earlier write: its errno is lost */
    errno = 0;
    failed |= fflush(stdout);
    int error = errno;
    if (failed && is_unread(STDOUT_FILENO))
        return CLI_DONE;
    errno = 0;
    failed |= fclose(stdout);
    error = error ? error : errno;
    if (failed && error)
        return cli_system_error(stdout_name, "write", error);
    return failed ? cli_error("%s: cannot write", stdout_name) : CLI_DONE;
}
