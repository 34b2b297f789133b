/* Files that are replaced as a whole or not at all: see temporary.h. */
#include "temporary.h"

#include "cli.h"
#include "regular.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
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

/* The length of "dir/" in "dir/target". */
static size_t folder_len(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* The beginning of the names of all temporary files of an owner: ".pprofdelta-HASH-". The hash
 * (FNV-1a of the last name of the owner) keeps the names short. */
static void name_kind(const char *owner, char kind[KIND_LEN + 1])
{
    uint32_t hash = UINT32_C(0x811c9dc5);
    for (const char *at = owner + folder_len(owner); *at; at++)
        hash = (hash ^ (unsigned char)*at) * UINT32_C(0x01000193);
    snprintf(kind, KIND_LEN + 1, PREFIX "%08" PRIx32 "-", hash);
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
static int make(char *name)
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

/* Removes a regular file of this user that no process has locked. The file is locked while it is
 * removed, so that a process that has just created it notices. */
static void remove_left_over(int folder, const char *name)
{
    struct stat st;
    int fd = cli_regular_open(folder, name, O_RDWR | O_NOFOLLOW, NULL);
    if (fd < 0)
        return;
    if (!fstat(fd, &st) && st.st_uid == geteuid() && !flock(fd, LOCK_EX | LOCK_NB))
        unlinkat(folder, name, 0);
    close(fd);
}

/* Removes the files of this kind that killed runs left in the directory of target. */
static void sweep(const char *target, const char *kind)
{
    char *folder = cli_temporary_folder(target);
    DIR *dir = folder ? opendir(folder) : NULL;
    struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        if (strlen(entry->d_name) == NAME_LEN && !memcmp(entry->d_name, kind, KIND_LEN))
            remove_left_over(dirfd(dir), entry->d_name);
    if (dir)
        closedir(dir);
    free(folder);
}

int cli_temporary_create(cli_temporary *t, const char *target, const char *owner, bool is_private)
{
    char kind[KIND_LEN + 1];
    sigset_t ending;
    name_kind(owner, kind);
    sweep(target, kind);
    if (asprintf(&t->name, "%.*s%s%s", (int)folder_len(target), target, kind, RANDOM) < 0) {
        t->name = NULL;
        errno = ENOMEM;
        return -1;
    }
    cli_ending_signals(&ending);
    sigprocmask(SIG_BLOCK, &ending, &t->before);
    t->fd = make(t->name);
    if (t->fd >= 0 && !copy_owner_and_mode(t->fd, target, is_private))
        return 0;
    cli_temporary_remove(t);
    return -1;
}

/* Has a signal come that ends this process when it is no longer blocked? */
static bool is_ending(const cli_temporary *t)
{
    sigset_t ending, pending;
    bool has_come = false;
    cli_ending_signals(&ending);
    sigpending(&pending);
    for (int number = 1; number < SIGRTMIN; number++)
        has_come |= sigismember(&pending, number) == 1 && sigismember(&ending, number) == 1 &&
                    !sigismember(&t->before, number);
    return has_come;
}

int cli_sync(int fd)
{
    /* These errors mean that there is nothing to sync. */
    return fsync(fd) && errno != EINVAL && errno != ENOTSUP && errno != EROFS ? -1 : 0;
}

static int sync_folder(const char *path)
{
    char *folder = cli_temporary_folder(path);
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int result = fd < 0 ? -1 : cli_sync(fd), error = errno;
    free(folder);
    if (fd >= 0)
        close(fd);
    errno = error;
    return result;
}

/* Ends the file's time as a temporary one: from here on, signals end the process. */
static void forget(cli_temporary *t)
{
    int error = errno;
    free(t->name);
    t->name = NULL;
    sigprocmask(SIG_SETMASK, &t->before, NULL);
    errno = error;
}

int cli_temporary_replace(cli_temporary *t, const char *target, bool is_synced)
{
    /* Some file systems report a failed write only to close. The file stays open, and locked. */
    int copy = dup(t->fd);
    if (copy < 0 || close(copy) || (is_synced && cli_sync(t->fd)) || is_ending(t) ||
        rename(t->name, target)) {
        cli_temporary_remove(t);
        return -1;
    }
    forget(t);
    return is_synced ? sync_folder(target) : 0;
}

void cli_temporary_remove(cli_temporary *t)
{
    int error = errno;
    if (!t->name)
        return;
    if (t->fd >= 0) {
        unlink(t->name);
        close(t->fd);
    }
    t->fd = -1;
    errno = error;
    forget(t);
}

char *cli_temporary_folder(const char *path)
{
    size_t len = folder_len(path);
    return len ? strndup(path, len) : strdup(".");
}
