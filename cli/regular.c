/* Regular files and folders: see regular.h. */
#include "regular.h"

#include "cli.h"
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* ---- one file -------------------------------------------------------------------------------- */

static const char *kind_of(mode_t mode)
{
    return S_ISLNK(mode)    ? "is a symbolic link"
           : S_ISDIR(mode)  ? "is a directory"
           : S_ISFIFO(mode) ? "is a pipe"
           : S_ISSOCK(mode) ? "is a socket"
                            : "is a device";
}

/* Reading such a file may have effects or never end. */
static bool is_of_kernel(int fd)
{
    static const uint32_t kinds[] = {
        PROC_SUPER_MAGIC,   SYSFS_MAGIC,         DEBUGFS_MAGIC, TRACEFS_MAGIC,  SECURITYFS_MAGIC,
        CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, BPF_FS_MAGIC,  PSTOREFS_MAGIC, EFIVARFS_MAGIC};
    struct statfs of;
    if (fstatfs(fd, &of))
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if ((uint32_t)of.f_type == kinds[i])
            return true;
    return false;
}

/* Why the file is not opened; NULL: it may be. */
static const char *refuse(int fd)
{
    struct stat st;
    if (fstat(fd, &st))
        return strerror(errno);
    if (!S_ISREG(st.st_mode))
        return kind_of(st.st_mode);
    return is_of_kernel(fd) ? "is a file of the kernel" : NULL;
}

static int fail(int fd, const char *why, char *to)
{
    if (to)
        snprintf(to, CLI_WHY_ROOM, "%s", why);
    if (fd >= 0)
        close(fd);
    return -1;
}

static int fail_to_open(int fd, int error, char *to)
{
    char why[CLI_WHY_ROOM];
    snprintf(why, sizeof why, "cannot open: %s", strerror(error));
    return fail(fd, why, to);
}

int cli_regular_open(int folder, const char *name, int how, char why[CLI_WHY_ROOM])
{
    enum { HOW = O_CLOEXEC | O_NONBLOCK | O_NOCTTY };
    char self[32];
    int seen = openat(folder, name, O_PATH | O_CLOEXEC | (how & O_NOFOLLOW));
    if (seen < 0)
        return fail_to_open(-1, errno, why);
    const char *wrong = refuse(seen);
    if (wrong)
        return fail(seen, wrong, why);
    snprintf(self, sizeof self, "/proc/self/fd/%d", seen);
    int fd = open(self, (how & O_ACCMODE) | HOW);
    if (fd < 0 && errno == ENOENT) /* there is no /proc: what was opened is examined again */
        fd = openat(folder, name, how | HOW);
    if (fd < 0)
        return fail_to_open(seen, errno, why);
    close(seen);
    wrong = refuse(fd);
    return wrong ? fail(fd, wrong, why) : fd;
}

/* ---- a folder -------------------------------------------------------------------------------- */

static bool is_profile_name(const char *name)
{
    static const char end[] = ".pb.gz";
    size_t len = strlen(name);
    return name[0] != '.' && len > sizeof end - 1 && !strcmp(name + len - (sizeof end - 1), end);
}

static char *join(const char *dir, const char *name)
{
    size_t len = strlen(dir) + strlen(name) + 2;
    char *path = malloc(len);
    if (path)
        snprintf(path, len, "%s%s%s", dir, dir[strlen(dir) - 1] == '/' ? "" : "/", name);
    return path;
}

/* Takes path, which was allocated. */
static int add_path(cli_folder *folder, size_t *cap, char *path)
{
    if (path && folder->len == *cap) {
        size_t more = *cap * 2 + 64;
        char **grown = realloc(folder->paths, more * sizeof *grown);
        if (!grown) {
            free(path);
            return ENOMEM;
        }
        folder->paths = grown;
        *cap = more;
    }
    if (!path)
        return ENOMEM;
    folder->paths[folder->len++] = path;
    return 0;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int read_paths(cli_folder *folder, const char *path)
{
    const struct dirent *entry;
    size_t cap = 0;
    int error = 0;
    while (!error && (errno = 0, entry = readdir(folder->dir)))
        if (is_profile_name(entry->d_name))
            error = add_path(folder, &cap, join(path, entry->d_name));
    error = error ? error : errno;
    if (!error && folder->len)
        qsort(folder->paths, folder->len, sizeof *folder->paths, by_path);
    return error;
}

int cli_folder_read(cli_folder *folder, const char *path)
{
    *folder = (cli_folder){.dir = opendir(path)};
    if (!folder->dir)
        return cli_system_error(path, "open", errno);
    int error = read_paths(folder, path);
    return error ? cli_system_error(path, "read", error) : CLI_DONE;
}

void cli_folder_free(cli_folder *folder)
{
    for (size_t i = 0; i < folder->len; i++)
        free(folder->paths[i]);
    free(folder->paths);
    if (folder->dir)
        closedir(folder->dir);
    *folder = (cli_folder){.dir = NULL};
}
