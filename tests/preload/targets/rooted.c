/* Allocates before and after it has made an empty directory its root. rooted WAY FOLDER [closed]
 *
 * WAY is "chroot" or "syscall". closed: every descriptor from 3 on is closed then. A child does the same
 * afterwards. Prints "no rights" if it may not. */
#include "program.h"

LEAK(leak_early)
LEAK(leak_after)
LEAK(leak_in_child)
LEAK(leak_at_last)

static int change_root(const char *way, const char *folder)
{
    return strcmp(way, "chroot") == 0 ? chroot(folder) : (int)syscall(SYS_chroot, folder);
}

int main(int argc, char **argv)
{
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
    usleep(300000); /* a few windows */
    pid_t pid = fork();
    if (pid == 0) {
        leak_in_child();
        _exit(0);
    }
    if (status_of(pid))
        return 3;
    leak_at_last();
    printf("done\n");
    return 0;
}
