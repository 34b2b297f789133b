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

int cli_regular_open(int folder, const char *name, int how, char why[CLI_WHY_ROOM])
{
    enum { HOW = O_CLOEXEC | O_NONBLOCK | O_NOCTTY };
    char self[32];
    int fd = -1, seen = openat(folder, name, O_PATH | O_CLOEXEC | (how & O_NOFOLLOW));
    const char *wrong = seen < 0 ? NULL : refuse(seen);
    if (seen >= 0 && !wrong) {
        snprintf(self, sizeof self, "/proc/self/fd/%d", seen);
        fd = open(self, (how & O_ACCMODE) | HOW);
        if (fd < 0 && errno == ENOENT) /* there is no /proc: what was opened is examined again */
            fd = openat(folder, name, how | HOW);
        wrong = fd < 0 ? NULL : refuse(fd);
    }
    if (why)
        snprintf(why, CLI_WHY_ROOM, "%s%s",
                 wrong ? "" : "cannot open: ", wrong ? wrong : strerror(errno));
    if (seen >= 0)
        close(seen);
    if (fd >= 0 && wrong)
        close(fd);
    return wrong ? -1 : fd;
}

const char *cli_regular_kind(const char *path, pprofdelta_file_kind *kind, char why[CLI_WHY_ROOM])
{
    enum { HEAD = 64 << 10 };
    char head[HEAD];
    const char *what = NULL;
    size_t len = 0;
    ssize_t got = 0;
    pprofdelta_error err;
    int fd = cli_regular_open(AT_FDCWD, path, O_RDONLY, why);
    if (fd < 0)
        return NULL;
    while (len < HEAD && (got = read(fd, head + len, HEAD - len)) > 0)
        len += (size_t)got;
    if (got < 0)
        snprintf(why, CLI_WHY_ROOM, "cannot read: %s", strerror(errno));
    else if (pprofdelta_identify(head, len, kind, &what, &err))
        snprintf(why, CLI_WHY_ROOM, "%s", err.text);
    close(fd);
    return what;
}

/* ---- a folder -------------------------------------------------------------------------------- */

static int is_profile_name(const struct dirent *entry)
{
    static const char end[] = ".pb.gz";
    const char *name = entry->d_name;
    size_t len = strlen(name);
    return name[0] != '.' && len > sizeof end - 1 && !strcmp(name + len - (sizeof end - 1), end);
}

int cli_folder_read(cli_folder *folder, const char *path)
{
    struct dirent **entries = NULL;
    const char *slash = path[strlen(path) - 1] == '/' ? "" : "/";
    *folder = (cli_folder){.dir = opendir(path)};
    int len = folder->dir ? scandir(path, &entries, is_profile_name, alphasort) : -1;
    if (len < 0)
        return cli_system_error(path, folder->dir ? "read" : "open", errno);
    folder->paths = calloc((size_t)len + 1, sizeof *folder->paths);
    bool is_whole = folder->paths != NULL;
    for (int i = 0; i < len; i++) {
        is_whole = is_whole && asprintf(&folder->paths[folder->len], "%s%s%s", path, slash,
                                        entries[i]->d_name) >= 0;
        folder->len += is_whole;
        free(entries[i]);
    }
    free(entries);
    return is_whole ? CLI_DONE : cli_system_error(path, "read", ENOMEM);
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
