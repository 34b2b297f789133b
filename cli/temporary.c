/* Temporary files that are removed when the process ends: see temporary.h. */
#include "temporary.h"

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

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
enum { ENDING = sizeof ending / sizeof *ending, MOST = 2, TRIES = 16 };

/* ".pprofdelta-HASH-XXXXXX" */
enum { KIND_LEN = sizeof PREFIX - 1 + 8 + 1, NAME_LEN = KIND_LEN + sizeof RANDOM - 1 };

/* The files that the handler removes; written only while the signals are blocked. The lock is a
 * second descriptor of the file, which keeps the file locked until it is renamed. */
static struct {
    char *volatile name;
    int lock;
} doomed[MOST];

static void remove_and_die(int signal_number)
{
    for (int i = 0; i < MOST; i++)
        if (doomed[i].name)
            unlink(doomed[i].name);
    /* SA_RESETHAND has restored the default, which ends the process when the handler returns. */
    raise(signal_number);
}

static void block(sigset_t *before)
{
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < ENDING; i++)
        sigaddset(&set, ending[i]);
    sigprocmask(SIG_BLOCK, &set, before);
}

static void unblock(const sigset_t *before)
{
    int kept = errno;
    sigprocmask(SIG_SETMASK, before, NULL);
    errno = kept;
}

/* A signal that was ignored (nohup, a background job) stays ignored. */
static void install_handlers(void)
{
    struct sigaction action = {.sa_handler = remove_and_die, .sa_flags = (int)SA_RESETHAND}, old;
    sigfillset(&action.sa_mask);
    for (int i = 0; i < ENDING; i++)
        if (!sigaction(ending[i], NULL, &old) && old.sa_handler != SIG_IGN)
            sigaction(ending[i], &action, NULL);
}

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

/* "dir/target" -> "dir/.pprofdelta-HASH-XXXXXX" */
static char *name_for(const char *target, const char *kind)
{
    size_t dir = folder_len(target);
    char *name = malloc(dir + NAME_LEN + 1);
    if (name) {
        memcpy(name, target, dir);
        memcpy(name + dir, kind, KIND_LEN);
        memcpy(name + dir + KIND_LEN, RANDOM, sizeof RANDOM);
    }
    return name;
}

/* Gives the file the owner and the mode of target. If the owner cannot be set (only root can), it
 * stays that of the process. If the group cannot be set, the group gets no more rights than
 * everyone, so that nobody can read the file who could not read target. */
static int copy_owner_and_mode(int fd, const char *target)
{
    struct stat was, is;
    if (stat(target, &was)) {
        mode_t mask = umask(0);
        umask(mask);
        return fchmod(fd, 0666 & ~mask);
    }
    mode_t mode = was.st_mode & 0777;
    if (fchown(fd, was.st_uid, was.st_gid) && fchown(fd, (uid_t)-1, was.st_gid)) {
        if (fstat(fd, &is))
            return -1;
        if (is.st_gid != was.st_gid)
            mode &= 0707 | (mode & 07) << 3;
    }
    return fchmod(fd, mode);
}

/* Locks a file that was just created. Returns false if another process locked and removed it first.
 * If the file system has no locks, no process removes it. */
static bool lock_new(int fd, int *lock)
{
    struct stat st;
    *lock = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    while (flock(fd, LOCK_EX) && errno == EINTR) {
    }
    return fstat(fd, &st) || st.st_nlink > 0;
}

/* Creates the file and stores its name for the handler. Returns its descriptor, or -1 with errno
 * set. */
static int make(char *name)
{
    for (int i = 0; i < TRIES; i++) {
        int lock, fd = mkostemp(name, O_CLOEXEC);
        if (fd < 0)
            return -1;
        if (lock_new(fd, &lock)) {
            int slot = doomed[0].name ? 1 : 0;
            doomed[slot].name = name;
            doomed[slot].lock = lock;
            install_handlers();
            return fd;
        }
        if (lock >= 0)
            close(lock);
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

char *cli_temporary_create(const char *target, const char *owner, bool is_private, int *fd)
{
    char kind[KIND_LEN + 1];
    name_kind(owner, kind);
    sweep(target, kind);
    char *name = name_for(target, kind);
    if (!name) {
        errno = ENOMEM;
        return NULL;
    }
    sigset_t before;
    block(&before);
    int made = make(name);
    unblock(&before);
    if (made < 0) {
        int error = errno;
        free(name);
        errno = error;
        return NULL;
    }
    if (is_private ? fchmod(made, 0600) : copy_owner_and_mode(made, target)) {
        int error = errno;
        close(made);
        cli_temporary_remove(name);
        errno = error;
        return NULL;
    }
    *fd = made;
    return name;
}

/* The handler no longer removes the file. */
static void forget(char *name, const sigset_t *before)
{
    for (int i = 0; i < MOST; i++) {
        if (doomed[i].name != name)
            continue;
        doomed[i].name = NULL;
        if (doomed[i].lock >= 0)
            close(doomed[i].lock);
    }
    unblock(before);
    free(name);
}

int cli_temporary_replace(char *name, const char *target)
{
    sigset_t before;
    block(&before);
    int result = rename(name, target);
    int error = errno;
    if (result)
        unlink(name);
    forget(name, &before);
    errno = error;
    return result;
}

void cli_temporary_remove(char *name)
{
    sigset_t before;
    block(&before);
    unlink(name);
    forget(name, &before);
}

char *cli_temporary_folder(const char *path)
{
    size_t len = folder_len(path);
    return len ? strndup(path, len) : strdup(".");
}

int cli_temporary_sync_folder(const char *path)
{
    char *folder = cli_temporary_folder(path);
    if (!folder) {
        errno = ENOMEM;
        return -1;
    }
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    if (fd < 0)
        return -1;
    /* These errors mean that the file system has nothing to sync there. */
    int result = fsync(fd) && errno != EINVAL && errno != ENOTSUP && errno != EROFS ? -1 : 0;
    int error = errno;
    close(fd);
    errno = error;
    return result;
}
