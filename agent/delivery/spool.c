/* Writes finished profiles to a directory: see delivery.h. */
#include "agent/delivery/delivery.h"

#include "agent/base/agent.h"
#include "agent/base/remains.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    NAME_MAX_LEN = 128 /* with a slash before it and a NUL */,
    PATH_LEN = PD_PATH_MAX + NAME_MAX_LEN
};

/* ---- the directory --------------------------------------------------------------------------- */

static int held = -1;
static struct stat held_status; /* of the directory that it is */

/* The program may have closed it, and given its number to another file. */
static bool is_held(void)
{
    struct stat status;
    return held >= 0 && fstat(held, &status) == 0 && pd_is_same_file(&status, &held_status) &&
           status.st_nlink > 0;
}

/* Moves the descriptor out of the numbers that programs use. */
static void hold_descriptor(int fd)
{
    struct stat status;
    int up = -1;
    for (int least = 1000; fd >= 0 && up < 0 && least > STDERR_FILENO; least /= 2)
        up = fcntl(fd, F_DUPFD_CLOEXEC, least);
    pd_close(fd);
    if (up < 0 || fstat(up, &status))
        return;
    if (is_held())
        close(held);
    held = up;
    held_status = status;
}

void pd_spool_hold(void)
{
    const char *dir = pd_given.dir;
    if (*dir && !is_held())
        hold_descriptor(open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

bool pd_spool_own_table(void)
{
    enum { UNSHARE = 1 << 1 }; /* CLOSE_RANGE_UNSHARE, which older headers lack */
    unsigned kept = is_held() ? (unsigned)held : 0;
    return syscall(SYS_close_range, kept ? kept + 1 : 0U, ~0U, UNSHARE) == 0 &&
           (!kept || syscall(SYS_close_range, 0U, kept - 1, 0) == 0);
}

/* Writes the path of the name, and returns the directory to which it is relative, or AT_FDCWD. */
static int find_path(const char *name, char path[PATH_LEN])
{
    bool has_base = is_held();
    snprintf(path, PATH_LEN, "%s%s", has_base ? "." : pd_given.dir, name);
    return has_base ? held : AT_FDCWD;
}

static int open_in_directory(const char *name, int flags, mode_t mode)
{
    char path[PATH_LEN];
    int base = find_path(name, path);
    return pd_open_high(openat(base, path, flags | O_NOFOLLOW | O_CLOEXEC, mode));
}

int pd_spool_open(const char *name, int flags)
{
    return open_in_directory(name, flags, 0600);
}

int pd_spool_stat(const char *name, struct stat *status)
{
    char path[PATH_LEN];
    int base = find_path(name, path);
    return fstatat(base, path, status, AT_SYMLINK_NOFOLLOW);
}

int pd_spool_remove(const char *name)
{
    char path[PATH_LEN];
    int base = find_path(name, path);
    return unlinkat(base, path, 0);
}

/* ---- the folder of a user -------------------------------------------------------------------- */

/* Gives it to the user if this process, or another one of root, has just made it. */
int pd_spool_open_folder(uid_t user)
{
    struct stat status;
    char name[NAME_MAX_LEN], path[PATH_LEN];
    snprintf(name, sizeof name, "/" PD_REMAINS_USER "%u", (unsigned)user);
    int base = find_path("/.", path);
    if (fstatat(base, path, &status, 0) || status.st_uid || (status.st_mode & (S_IWGRP | S_IWOTH)))
        return -1;
    find_path(name, path);
    if (!geteuid())
        mkdirat(base, path, status.st_mode & 0755);
    int fd = pd_spool_open(name, O_RDONLY | O_DIRECTORY);
    if (fd < 0 || (fstat(fd, &status) == 0 &&
                   (status.st_uid == user || (!status.st_uid && !fchown(fd, user, getegid())))))
        return fd;
    close(fd);
    return -1;
}

void pd_spool_use_folder(int fd, uid_t user)
{
    char *dir = pd_given.dir;
    size_t len = strlen(dir);
    hold_descriptor(fd);
    snprintf(dir + len, PD_PATH_MAX - len, "/" PD_REMAINS_USER "%u", (unsigned)user);
}

void pd_spool_begin(void)
{
    const uid_t user = geteuid();
    int fd = user ? pd_spool_open_folder(user) : -1;
    if (fd >= 0)
        pd_spool_use_folder(fd, user);
}

/* ---- one file --------------------------------------------------------------------------------- */

typedef struct spool_file {
    int fd;
    char temporary[NAME_MAX_LEN]; /* empty: the file has no name yet */
} spool_file;

/* Writes the path by which linkat gives a name to a file without one. */
static void find_descriptor(char path[NAME_MAX_LEN], int fd)
{
    snprintf(path, NAME_MAX_LEN, "/proc/thread-self/fd/%d", fd);
}

/* Creates a file without a name. If the process ends before the file is complete, nothing is left
 * behind. Needs /proc and a file system with O_TMPFILE. */
static int create_nameless(void)
{
    char descriptor[NAME_MAX_LEN];
    int fd = open_in_directory("/.", O_TMPFILE | O_WRONLY, 0666);
    find_descriptor(descriptor, fd);
    if (fd >= 0 && access(descriptor, F_OK) == 0)
        return fd;
    pd_close(fd);
    return -1;
}

/* Creates the file, without a name if the file system supports that. Its descriptor is above 2, or -1 and errno. Two
 * threads may write at once: the address of the struct makes their names different. */
static void create_file(spool_file *file)
{
    *file = (spool_file){.fd = create_nameless()};
    if (file->fd >= 0)
        return;
    snprintf(file->temporary, sizeof file->temporary, "/.pprofdelta-%d-%p", (int)getpid(),
             (void *)file);
    pd_spool_remove(file->temporary); /* of a process of the same pid that was killed */
    file->fd = open_in_directory(file->temporary, O_WRONLY | O_CREAT | O_EXCL, 0666);
}

/* Renames without replacing a file: by a hard link, or after a check where there are none. Returns 0 or an
 * errno value. */
static int rename_to_free(const char *from, int base, const char *to)
{
    char path[PATH_LEN];
    int base_before = find_path(from, path);
    if (linkat(base_before, path, base, to, 0) == 0) {
        unlinkat(base_before, path, 0);
        return 0;
    }
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS)
        return errno;
    if (faccessat(base, to, F_OK, 0) == 0)
        return EEXIST;
    return renameat(base_before, path, base, to) ? errno : 0;
}

/* Closes a duplicate, since some file systems report write errors only at close. */
static int close_duplicate(int fd)
{
    int duplicate = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return duplicate >= 0 && close(duplicate) ? errno : 0;
}

/* Names a complete file. Returns 0 or an errno value, which is EEXIST if the name is taken. */
static int name_file(const spool_file *file, const char *name)
{
    char path[PATH_LEN], descriptor[NAME_MAX_LEN];
    int base = find_path(name, path);
    if (*file->temporary)
        return rename_to_free(file->temporary, base, path);
    find_descriptor(descriptor, file->fd);
    return linkat(AT_FDCWD, descriptor, base, path, AT_SYMLINK_FOLLOW) ? errno : 0;
}

/* Gives the file its name: with *number, or with the next number that is free. */
static int publish_file(const spool_file *file, const char *ending, uint64_t *number,
                        pd_fixed_text *path_out)
{
    char name[NAME_MAX_LEN];
    int error = close_duplicate(file->fd);
    for (bool is_taken = !error; is_taken; *number += is_taken) {
        snprintf(name, sizeof name, "/heap.%s.%d.%06ju%s", pd_program_name(), (int)getpid(),
                 (uintmax_t)*number, ending);
        error = name_file(file, name);
        is_taken = error == EEXIST;
    }
    if (!error)
        pd_text_add(path_out, "%s%s", pd_given.dir, name);
    return error;
}

int pd_spool_write(const char *ending, pd_spool_writer *write, void *cookie, uint64_t *number,
                   pd_fixed_text *path)
{
    spool_file file;
    create_file(&file);
    *number = atomic_load(&pd_the_agent.next_number);
    int error = file.fd < 0 ? errno : write(file.fd, cookie);
    if (!error)
        error = publish_file(&file, ending, number, path);
    pd_close(file.fd);
    if (error && *file.temporary)
        pd_spool_remove(file.temporary);
    return error;
}
