/* Writes finished profiles to a directory: see spool.h. */
#include "agent/delivery/spool.h"

#include "agent/base/agent.h"
#include "agent/base/remains.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- the directory --------------------------------------------------------------------------- */

static int held = -1;
static dev_t held_dev;
static ino_t held_ino;

/* Moves the descriptor out of the numbers that programs use. Returns it, or -1. */
static int far_up(int fd)
{
    int up = -1;
    for (int least = 1000; fd >= 0 && up < 0 && least > STDERR_FILENO; least /= 2)
        up = fcntl(fd, F_DUPFD_CLOEXEC, least);
    if (fd >= 0)
        close(fd);
    return up;
}

/* The program may have closed it, and given its number to another file. */
static bool is_held(void)
{
    struct stat status;
    return held >= 0 && fstat(held, &status) == 0 && status.st_dev == held_dev &&
           status.st_ino == held_ino && status.st_nlink > 0;
}

static void hold(int fd)
{
    struct stat status;
    int up = far_up(fd);
    if (up < 0 || fstat(up, &status))
        return;
    if (is_held())
        close(held);
    held = up;
    held_dev = status.st_dev;
    held_ino = status.st_ino;
}

void pd_spool_hold(void)
{
    const char *dir = pd_the_agent.settings.dir;
    if (*dir && !is_held())
        hold(open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

bool pd_spool_own_table(void)
{
    enum { UNSHARE = 1 << 1 }; /* CLOSE_RANGE_UNSHARE, which older headers lack */
    unsigned kept = is_held() ? (unsigned)held : 0;
    return syscall(SYS_close_range, kept ? kept + 1 : 0U, ~0U, UNSHARE) == 0 &&
           (!kept || syscall(SYS_close_range, 0U, kept - 1, 0) == 0);
}

/* Returns the directory to which names are relative, and sets *dir to what they begin with. */
static int find_base(const char **dir)
{
    if (!is_held())
        return AT_FDCWD;
    *dir = ".";
    return held;
}

/* path has PD_SPOOL_PATH_MAX bytes. dir is shorter than PD_PATH_MAX, and names here
 * are shorter than PD_SPOOL_NAME_MAX. */
static void join(char *path, const char *dir, const pd_fixed_text *name)
{
    size_t len = strlen(dir);
    memcpy(path, dir, len + 1);
    memcpy(path + len, name->bytes, name->len + 1);
}

int pd_spool_path(const pd_fixed_text *name, char path[PD_SPOOL_PATH_MAX])
{
    const char *dir = pd_the_agent.settings.dir;
    int base = find_base(&dir);
    join(path, dir, name);
    return base;
}

/* ---- the folder of a user -------------------------------------------------------------------- */

/* Gives it to the user if this process, or another one of root, has just made it. */
int pd_spool_open_folder(uid_t user)
{
    struct stat status;
    char path[PD_SPOOL_PATH_MAX];
    pd_fixed_text name = {.len = 0};
    int base = pd_spool_path(&name, path);
    if (fstatat(base, path, &status, 0) || status.st_uid || (status.st_mode & (S_IWGRP | S_IWOTH)))
        return -1;
    pd_text_add(&name, "/" PD_REMAINS_USER "%u", (unsigned)user);
    pd_spool_path(&name, path);
    if (!geteuid())
        mkdirat(base, path, status.st_mode & 0755);
    int fd = pd_open_high(openat(base, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (fd < 0 || (fstat(fd, &status) == 0 &&
                   (status.st_uid == user || (!status.st_uid && !fchown(fd, user, getegid())))))
        return fd;
    close(fd);
    return -1;
}

void pd_spool_use_folder(int fd, uid_t user)
{
    char *dir = pd_the_agent.settings.dir;
    size_t len = strlen(dir);
    hold(fd);
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
    int base;                          /* the directory, or AT_FDCWD: its path is in the names */
    const char *dir;                   /* what the names begin with */
    char temporary[PD_SPOOL_PATH_MAX]; /* empty: the file has no name yet */
} spool_file;

/* Adds the path by which linkat gives a name to a file without one. */
static void add_descriptor(pd_fixed_text *path, int fd)
{
    pd_text_add(path, "/proc/thread-self/fd/%d", fd);
}

/* Creates a file without a name. If the process ends before the file is complete, nothing is left
 * behind. Needs /proc and a file system with O_TMPFILE. */
static int create_nameless(int base, const char *dir)
{
    int fd = pd_open_high(openat(base, dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
    if (fd < 0)
        return -1;
    pd_fixed_text path = {.len = 0};
    add_descriptor(&path, fd);
    if (access(path.bytes, F_OK) == 0)
        return fd;
    close(fd);
    return -1;
}

static void name_temporary(spool_file *file)
{
    /* Two threads may write at once. The address of the struct makes their names different. */
    pd_fixed_text name = {.len = 0};
    pd_text_add(&name, "/.pprofdelta-%d-%p", (int)getpid(), (void *)file);
    join(file->temporary, file->dir, &name);
}

static int create_named(spool_file *file)
{
    name_temporary(file);
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    int fd = openat(file->base, file->temporary, flags, 0666);
    if (fd < 0 && errno == EEXIST) {
        /* left by a process of the same pid that was killed */
        unlinkat(file->base, file->temporary, 0);
        fd = openat(file->base, file->temporary, flags, 0666);
    }
    int high = pd_open_high(fd);
    if (fd >= 0 && high < 0) {
        int kept = errno;
        unlinkat(file->base, file->temporary, 0);
        errno = kept;
    }
    return high;
}

/* Creates the file, without a name if the file system supports that. Returns a descriptor above 2, or -1
 * and errno. */
static int create(spool_file *file)
{
    file->temporary[0] = '\0';
    file->dir = pd_the_agent.settings.dir;
    file->base = find_base(&file->dir);
    file->fd = create_nameless(file->base, file->dir);
    if (file->fd < 0)
        file->fd = create_named(file);
    return file->fd;
}

/* Renames without replacing a file: by a hard link, or after a check where there are none. Returns 0 or an
 * errno value. */
static int rename_to_free(int base, const char *from, const char *to)
{
    if (linkat(base, from, base, to, 0) == 0) {
        unlinkat(base, from, 0);
        return 0;
    }
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS)
        return errno;
    if (faccessat(base, to, F_OK, 0) == 0)
        return EEXIST;
    return renameat(base, from, base, to) ? errno : 0;
}

/* Closes a duplicate, since some file systems report write errors only at close. */
static int close_duplicate(int fd)
{
    int duplicate = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return duplicate >= 0 && close(duplicate) ? errno : 0;
}

/* Names a complete file. Returns 0 or an errno value, which is EEXIST if the name is taken. */
static int name_file(const spool_file *file, const char *to)
{
    if (*file->temporary)
        return rename_to_free(file->base, file->temporary, to);
    pd_fixed_text from = {.len = 0};
    add_descriptor(&from, file->fd);
    return linkat(AT_FDCWD, from.bytes, file->base, to, AT_SYMLINK_FOLLOW) ? errno : 0;
}

/* Gives the file its name: with *number, or with the next number that is free. */
static int publish(const spool_file *file, const char *ending, uint64_t *number,
                   pd_fixed_text *path_out)
{
    char path[PD_SPOOL_PATH_MAX];
    int error = close_duplicate(file->fd);
    for (bool is_taken = true; !error && is_taken; *number += is_taken) {
        pd_fixed_text name = {.len = 0};
        pd_text_add(&name, "/heap.%s.%d.%06ju%s", pd_program_name(), (int)getpid(),
                    (uintmax_t)*number, ending);
        join(path, file->dir, &name);
        error = name_file(file, path);
        is_taken = error == EEXIST;
        if (is_taken)
            error = 0;
        else if (!error)
            pd_text_add(path_out, "%s%s", pd_the_agent.settings.dir, name.bytes);
    }
    return error;
}

int pd_spool_write(const char *ending, pd_spool_writer *write, void *cookie, uint64_t *number,
                   pd_fixed_text *path)
{
    spool_file file;
    if (create(&file) < 0)
        return errno;
    *number = atomic_load(&pd_the_agent.next_number);
    int error = write(file.fd, cookie);
    if (!error)
        error = publish(&file, ending, number, path);
    close(file.fd);
    if (error && *file.temporary)
        unlinkat(file.base, file.temporary, 0);
    return error;
}

bool pd_spool_has(const pd_fixed_text *name)
{
    char path[PD_SPOOL_PATH_MAX];
    return faccessat(pd_spool_path(name, path), path, F_OK, 0) == 0;
}
