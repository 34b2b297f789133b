/* The files that are read: see input.h. */
#include "input.h"

#include "agent/base/remains.h"
#include "cli.h"
#include "keep.h"
#include "message.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* ---- regular files --------------------------------------------------------------------------- */

static const char *kind_of(mode_t mode)
{
    return S_ISLNK(mode)    ? "is a symbolic link"
           : S_ISDIR(mode)  ? "is a directory"
           : S_ISFIFO(mode) ? "is a pipe"
           : S_ISSOCK(mode) ? "is a socket"
                            : "is a device";
}

/* Why the file is not opened; NULL: it may be. Reading a file of the kernel may have effects or never
 * end. */
static const char *obstacle_of(int fd)
{
    static const uint32_t of_kernel[] = {
        PROC_SUPER_MAGIC,   SYSFS_MAGIC,         DEBUGFS_MAGIC, TRACEFS_MAGIC,  SECURITYFS_MAGIC,
        CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, BPF_FS_MAGIC,  PSTOREFS_MAGIC, EFIVARFS_MAGIC};
    struct stat st;
    struct statfs system;
    if (fstat(fd, &st))
        return strerror(errno);
    if (!S_ISREG(st.st_mode))
        return kind_of(st.st_mode);
    if (fstatfs(fd, &system))
        return NULL;
    for (size_t i = 0; i < sizeof of_kernel / sizeof *of_kernel; i++)
        if ((uint32_t)system.f_type == of_kernel[i])
            return "is a file of the kernel";
    return NULL;
}

int cli_regular_open(int folder, const char *name, int how, const char **why)
{
    enum { HOW = O_CLOEXEC | O_NONBLOCK | O_NOCTTY };
    char self[32];
    int fd = -1, seen = openat(folder, name, O_PATH | O_CLOEXEC | (how & O_NOFOLLOW));
    const char *wrong = seen < 0 ? NULL : obstacle_of(seen);
    if (seen >= 0 && !wrong) {
        snprintf(self, sizeof self, "/proc/self/fd/%d", seen);
        fd = open(self, (how & O_ACCMODE) | HOW);
        if (fd < 0 && errno == ENOENT) /* there is no /proc: what was opened is examined again */
            fd = openat(folder, name, how | HOW);
        wrong = fd < 0 ? NULL : obstacle_of(fd);
    }
    if (why)
        *why = wrong ? wrong : cli_keep_print("cannot open: %s", strerror(errno));
    cli_close(seen);
    if (fd >= 0 && wrong)
        close(fd);
    return wrong ? -1 : fd;
}

size_t cli_text_read(int folder, const char *name, char *text, size_t room)
{
    size_t len = 0;
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    for (ssize_t got = 1; fd >= 0 && got > 0 && len<room - 1; len += got> 0 ? (size_t)got : 0)
        got = read(fd, text + len, room - 1 - len);
    cli_close(fd);
    text[len] = '\0';
    return len;
}

const char *cli_regular_kind(const char *path, pprofdelta_file_kind *kind, const char **why)
{
    enum { HEAD = 64 << 10 };
    char head[HEAD];
    const char *what = NULL;
    pprofdelta_error err;
    int fd = cli_regular_open(AT_FDCWD, path, O_RDONLY, why);
    if (fd < 0)
        return NULL;
    ssize_t got = read(fd, head, HEAD); /* a regular file: as many as there are */
    if (got < 0)
        *why = cli_keep_print("cannot read: %s", strerror(errno));
    else if (pprofdelta_identify(head, (size_t)got, kind, &what, &err))
        *why = cli_keep_print("%s", err.text);
    close(fd);
    return what;
}

/* ---- a folder -------------------------------------------------------------------------------- */

bool cli_is_folder(const char *path)
{
    struct stat status;
    return !stat(path, &status) && S_ISDIR(status.st_mode);
}

static const char *path_under(const char *folder, const char *name)
{
    bool is_whole = folder[strlen(folder) - 1] == '/';
    return cli_keep_print("%s%s%s", folder, is_whole ? "" : "/", name);
}

static int is_of_user(const struct dirent *entry)
{
    const size_t len = sizeof PD_REMAINS_USER - 1;
    const char *name = entry->d_name;
    return !strncmp(name, PD_REMAINS_USER, len) && name[len] &&
           !name[len + strspn(name + len, "0123456789")];
}

/* Adds what is wanted in one folder. Otherwise closes it. Returns 0 or an errno value. */
static int add_files(cli_folder *folder, DIR *dir, const char *path,
                     int (*is_wanted)(const struct dirent *entry))
{
    struct dirent **entries = NULL;
    int found = dir ? scandir(path, &entries, is_wanted, alphasort) : -1, error = errno;
    for (int i = 0; i < found; i++) {
        CLI_KEEP_MORE(folder->files, 1);
        folder->files[folder->files_len++] =
            (cli_file){path_under(path, entries[i]->d_name), true, dir};
        free(entries[i]);
    }
    free(entries);
    if (dir && found <= 0)
        closedir(dir);
    return found < 0 ? error : 0;
}

/* No link is followed to the folder of a user. */
static void add_user(cli_folder *folder, int parent, const char *path, const char *name,
                     int (*is_wanted)(const struct dirent *entry))
{
    const char *whole = path_under(path, name);
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (add_files(folder, fd < 0 ? NULL : fdopendir(fd), whole, is_wanted) == EACCES)
        folder->left_out = whole;
}

int cli_folder_read(cli_folder *folder, const char *path,
                    int (*is_wanted)(const struct dirent *entry))
{
    struct dirent **users = NULL;
    DIR *dir = opendir(path);
    int len = dir ? scandir(path, &users, is_of_user, alphasort) : 0;
    int parent = len > 0 ? fcntl(dirfd(dir), F_DUPFD_CLOEXEC, 0) : -1;
    *folder = (cli_folder){.files = NULL};
    int error = add_files(folder, dir, path, is_wanted);
    for (int i = 0; i < len; i++) {
        if (!error)
            add_user(folder, parent, path, users[i]->d_name, is_wanted);
        free(users[i]);
    }
    free(users);
    cli_close(parent);
    return error ? cli_system_error(path, dir ? "read" : "open", error) : CLI_DONE;
}

void cli_folder_close(cli_folder *folder)
{
    for (size_t i = 0; i < folder->files_len; i++)
        if (!i || folder->files[i].found_in != folder->files[i - 1].found_in)
            closedir(folder->files[i].found_in);
    folder->files_len = 0;
}

/* ---- files in memory ------------------------------------------------------------------------- */

const char *cli_input_name(const char *path)
{
    return strcmp(path, "-") != 0 ? path : "(stdin)";
}

enum { TOO_LARGE = -1, FOREIGN = -2 }; /* are no errno */

/* What the file is if it is no profile, by its first bytes; NULL: it may be one. */
static const char *foreign_kind(const cli_input *in)
{
    pprofdelta_file_kind kind;
    const char *what;
    bool is_foreign = !pprofdelta_identify(in->bytes, CLI_INPUT_HEAD, &kind, &what, NULL) &&
                      kind != PPROFDELTA_FILE_PROFILE && kind != PPROFDELTA_FILE_OTLP &&
                      kind != PPROFDELTA_FILE_TEXT;
    uint64_t magic;
    memcpy(&magic, in->bytes, sizeof magic);
    if (is_foreign && magic == PD_REMAINS_MAGIC)
        what =
            "the live file of a recorded process, and pprofdelta recover DIR makes a profile of it";
    return is_foreign ? what : NULL;
}

/* Reads to the end of fd, unless the first bytes show that it is no profile. There is room for one
 * byte more than the limit, to distinguish a file of that length from a larger one, and for one byte
 * more than a regular file's length, so that a read reaches its end. Returns 0, TOO_LARGE, FOREIGN or
 * an errno. */
static int read_all(cli_input *in, int fd, uint64_t limit)
{
    struct stat st;
    bool is_regular = !fstat(fd, &st) && S_ISREG(st.st_mode);
    uint64_t all = is_regular ? (uint64_t)st.st_size + 1 : 0;
    if (all > limit + 1)
        return TOO_LARGE;
    for (size_t room = 0;;) {
        if (in->len > limit)
            return TOO_LARGE;
        if (in->len == room) {
            if (room == CLI_INPUT_HEAD && foreign_kind(in))
                return FOREIGN;
            uint64_t want = !room ? CLI_INPUT_HEAD : room < all ? all : 2 * (uint64_t)room;
            room = (size_t)(want < limit + 1 ? want : limit + 1);
            uint8_t *grown = realloc(in->bytes, room);
            if (!grown)
                return ENOMEM;
            in->bytes = grown;
        }
        ssize_t got = read(fd, in->bytes + in->len, room - in->len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got ? errno : 0;
        in->len += (size_t)got;
    }
}

static int open_file(cli_file file, const char **why)
{
    const char *name = file.found_in ? cli_string_base(cli_string_of(file.path)).ptr : file.path;
    if (file.is_regular)
        return cli_regular_open(file.found_in ? dirfd(file.found_in) : AT_FDCWD, name,
                                O_RDONLY | (file.found_in ? O_NOFOLLOW : 0), why);
    int fd = strcmp(name, "-") ? open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY) : STDIN_FILENO;
    if (fd < 0)
        *why = cli_keep_print("cannot open: %s", strerror(errno));
    return fd;
}

/* Returns what read_all does. If that is not 0, frees the bytes and sets *why to the end of a sentence that begins
 * with the name. */
static int try_to_read(cli_input *in, cli_file file, uint64_t limit, const char **why)
{
    *in = (cli_input){.name = cli_input_name(file.path)};
    /* A process cannot have more than PTRDIFF_MAX. */
    uint64_t most = file.found_in ? CLI_FOUND_MAX : PTRDIFF_MAX - 1;
    int fd = open_file(file, why);
    if (fd < 0)
        return FOREIGN;
    int wrong = read_all(in, fd, limit < most ? limit : most);
    if (fd != STDIN_FILENO)
        close(fd);
    if (!wrong)
        return 0;
    *why = wrong == FOREIGN ? cli_keep_print("not a pprof profile: this is %s", foreign_kind(in))
           : wrong == TOO_LARGE ? "is larger than the limit"
                                : cli_keep_print("cannot read: %s", strerror(wrong));
    cli_input_free(in);
    return wrong;
}

static int refuse_input(const char *name, int wrong, const char *why)
{
    if (wrong == TOO_LARGE)
        return cli_memory_error(name, why);
    cli_error("%s: %s", name, why);
    return wrong == EISDIR ? cli_hint("leaks, sum and recover take a directory of profiles")
                           : CLI_FAILED;
}

int cli_input_read(cli_input *in, cli_file file, uint64_t limit)
{
    const char *why;
    *in = (cli_input){.name = cli_input_name(file.path)};
    cli_progress_say("reading", in->name);
    if (!file.is_regular && !strcmp(file.path, "-") && isatty(STDIN_FILENO))
        cli_usage("(stdin): is a terminal; give a file, or a pipe with a profile");
    int wrong = try_to_read(in, file, limit, &why);
    return wrong ? refuse_input(in->name, wrong, why) : CLI_DONE;
}

/* Checks the profile. */
static pprofdelta_status check_profile(const cli_input *in, uint64_t limit,
                                       pprofdelta_census *census, pprofdelta_error *err)
{
    pprofdelta_profile *profile;
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.max_memory = limit;
    pprofdelta_status status =
        pprofdelta_profile_open(&options, NULL, in->bytes, in->len, &profile, err);
    if (status)
        return status;
    census->size = sizeof *census;
    pprofdelta_profile_census(profile, census);
    pprofdelta_profile_free(profile);
    return PPROFDELTA_OK;
}

int cli_input_check(cli_file file, uint64_t limit, pprofdelta_census *census, bool *counts)
{
    cli_input in;
    pprofdelta_error err;
    const char *why;
    cli_progress_say("checking", file.path);
    int wrong = try_to_read(&in, file, limit, &why), code = CLI_DONE;
    bool is_bad = !wrong && check_profile(&in, limit, census, &err);
    *counts = !wrong && !is_bad;
    if (wrong && file.found_in)
        cli_note_left_out(file.path, why);
    else if (is_bad && file.found_in)
        cli_note_refused(file.path, &err);
    else if (wrong || is_bad)
        code = wrong ? refuse_input(in.name, wrong, why) : cli_library_error(in.name, &err);
    cli_input_free(&in);
    return code;
}

void cli_input_free(cli_input *in)
{
    free(in->bytes);
    in->bytes = NULL;
    in->len = 0;
}
