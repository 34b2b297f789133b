/* Allocates before and after it has made an empty directory its root. rooted WAY FOLDER [closed]
 *
 * WAY is "chroot" or "syscall". closed: every descriptor from 3 on is closed then. A child does the same
 * afterwards. Prints "no rights" if it may not. */
#include "leaking.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static __attribute__((noinline)) void leak_after(void)
{
    for (int i = 0; i < 100; i++)
        sink = malloc(1000);
}

static __attribute__((noinline)) void leak_in_child(void)
{
    for (int i = 0; i < 100; i++)
        sink = malloc(1000);
}

static int change_root(const char *way, const char *folder)
{
    return strcmp(way, "chroot") == 0 ? chroot(folder) : (int)syscall(SYS_chroot, folder);
}

int main(int argc, char **argv)
{
    const struct timespec pause = {.tv_nsec = 300000000};
    if (argc < 3)
        return 1;
    leak_early();
    if (chroot("/no/such/folder") == 0 || change_root(argv[1], argv[2])) {
        if (unshare(CLONE_NEWUSER) || change_root(argv[1], argv[2])) {
            printf("no rights\n");
            return 0;
        }
    }
    if (chdir("/") || access("/proc", F_OK) == 0)
        return 2;
    if (argc > 3)
        for (int fd = 3; fd < 4096; fd++)
            close(fd);
    leak_after();
    nanosleep(&pause, NULL); /* a few windows */
    pid_t pid = fork();
    if (pid == 0) {
        leak_in_child();
        _exit(0);
    }
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
        return 3;
    leak_at_last();
    printf("done\n");
    return 0;
}
