/* A server that starts as root and becomes nobody. dropping WAY WORKERS [FOLDER]
 *
 * WAY: setuid, setreuid, setresuid; effective: only the effective user changes; chroot: FOLDER becomes the root
 * directory before; exec, vfork: the worker executes this program again, with nothing left to do.
 * WORKERS: how many processes do that; with 0, the one process does, after it has allocated for a while. The others stay
 * root. Each allocates without end, by a function of its own. Nobody's standard error leads to /dev/null. */
#include "program.h"

#include <grp.h>

enum { SIZE = 1000, NOBODY = 65534, AWHILE = 700 };

APART void leak_root(void)
{
    sink = malloc(SIZE);
}

APART void leak_nobody(void)
{
    sink = malloc(SIZE);
}

static void repeat(void (*leak)(void), int times)
{
    for (int i = 0; i != times; i++) {
        leak();
        usleep(1000);
    }
}

static int become_nobody(const char *way)
{
    if (setgroups(0, NULL) || setgid(NOBODY))
        return -1;
    if (!strcmp(way, "setreuid"))
        return setreuid(NOBODY, NOBODY);
    if (!strcmp(way, "setresuid"))
        return setresuid(NOBODY, NOBODY, NOBODY);
    return strcmp(way, "effective") ? setuid(NOBODY) : seteuid(NOBODY);
}

static void work(char **argv)
{
    int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere < 0 || dup2(nowhere, STDERR_FILENO) < 0 ||
        (!strcmp(argv[1], "chroot") && (chroot(argv[3]) || chdir("/"))) || become_nobody(argv[1]))
        _exit(9);
    char *const again[] = {argv[0], (char *)"done", (char *)"0", NULL};
    if (!strcmp(argv[1], "exec") || !strcmp(argv[1], "vfork"))
        execv(argv[0], again);
    repeat(leak_nobody, -1);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 1;
    if (!strcmp(argv[1], "done"))
        repeat(leak_nobody, -1);
    int workers = atoi(argv[2]); // NOLINT(cert-err34-c): of the test
    for (int i = 0; i < workers; i++)
        if ((strcmp(argv[1], "vfork") ? fork() : vfork()) == 0) // NOLINT: what servers do
            work(argv);
    repeat(leak_root, workers ? -1 : AWHILE);
    work(argv);
    return 0;
}
