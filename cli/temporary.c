/* A temporary file that no way out of the process forgets: see temporary.h. */
#include "temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
enum { ENDING = sizeof ending / sizeof *ending };

/* What the handler removes; written only while the signals are blocked. */
static char *volatile doomed;

static void remove_and_die(int signal_number)
{
    if (doomed)
        unlink(doomed);
    /* SA_RESETHAND gave the default back; it strikes when the handler returns and unblocks. */
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

/* A signal that is ignored (nohup, a background job) stays ignored. */
static void install_handlers(void)
{
    struct sigaction action = {.sa_handler = remove_and_die, .sa_flags = (int)SA_RESETHAND}, old;
    sigfillset(&action.sa_mask);
    for (int i = 0; i < ENDING; i++)
        if (!sigaction(ending[i], NULL, &old) && old.sa_handler != SIG_IGN)
            sigaction(ending[i], &action, NULL);
}

/* "dir/target" -> "dir/.pprofdelta-XXXXXX": short whatever the target is called. */
static char *name_beside(const char *target)
{
    static const char pattern[] = ".pprofdelta-XXXXXX";
    const char *slash = strrchr(target, '/');
    size_t dir = slash ? (size_t)(slash - target) + 1 : 0;
    char *name = malloc(dir + sizeof pattern);
    if (name) {
        memcpy(name, target, dir);
        memcpy(name + dir, pattern, sizeof pattern);
    }
    return name;
}

/* The owner and mode of the file to be replaced. An owner that cannot be had (only root gives files
 * away) stays ours; for a group that cannot be had the group's rights shrink to everybody's, since
 * a replacement never shows a file to someone who could not read it. */
static int dress(int fd, const char *target)
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

char *cli_temporary_create(const char *target, int *fd)
{
    char *name = name_beside(target);
    if (!name) {
        errno = ENOMEM;
        return NULL;
    }
    sigset_t before;
    block(&before);
    int made = mkostemp(name, O_CLOEXEC);
    if (made >= 0) {
        doomed = name;
        install_handlers();
    }
    unblock(&before);
    if (made < 0) {
        int error = errno;
        free(name);
        errno = error;
        return NULL;
    }
    if (dress(made, target)) {
        int error = errno;
        close(made);
        cli_temporary_remove(name);
        errno = error;
        return NULL;
    }
    *fd = made;
    return name;
}

/* The file is no longer ours to remove. */
static void forget(char *name, const sigset_t *before)
{
    doomed = NULL;
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
