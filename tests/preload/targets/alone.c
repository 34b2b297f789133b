/* Makes system calls for which the process must have one thread, while it allocates: says what each
 * returns. Under the agent it waits before each call until the agent's thread is there. */
#include <dirent.h>
#include "program.h"

static bool has_agent;
static void *volatile kept[100000];
static size_t kept_len;

APART void leak_around(void)
{
    for (int i = 0; i < 10; i++)
        kept[kept_len++] = malloc(1000);
}

static int count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;
    for (struct dirent *entry; tasks && (entry = readdir(tasks)) != NULL;)
        count += entry->d_name[0] != '.';
    if (tasks)
        closedir(tasks);
    return count;
}

static void await_thread(void)
{
    while (has_agent && count_threads() < 2)
        usleep(1000);
}

int main(void)
{
    enum { ROUNDS = 200 };
    int failed = 0;
    const char *preload = getenv("LD_PRELOAD");
    has_agent = preload && strstr(preload, "pprofdelta-agent");
    for (int i = 0; i < ROUNDS; i++) {
        leak_around();
        await_thread();
        errno = 42;
        failed += unshare(i % 2 ? CLONE_THREAD : CLONE_VM) != 0 || errno != 42;
    }
    printf("failed: %d\n", failed);
    errno = 0;
    int result = unshare(CLONE_NEWUSER);
    printf("a user namespace: %d, %s\n", result, result ? strerror(errno) : "made");
    leak_around();
    await_thread();
    int fd = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
    errno = 0;
    printf("the same again: %d, ", setns(fd, CLONE_NEWUSER));
    printf("%s\n", strerror(errno));
    await_thread();
    fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    errno = 0;
    printf("the mounts: %d, ", setns(fd, 0));
    printf("%s\n", strerror(errno));
    printf("leak_around %d\n", (ROUNDS + 1) * 10 * 1000);
    return 0;
}
