/* Forks while another thread is at the loader's list of what it has loaded, as it is in dlopen. The
 * lock of that list stays behind in the child, which only allocates, and ends. */
#include <link.h>
#include "program.h"

static atomic_bool is_there, is_over;

static int linger(struct dl_phdr_info *info, size_t size, void *cookie)
{
    (void)info, (void)size, (void)cookie;
    atomic_store(&is_there, true);
    while (!atomic_load(&is_over))
        usleep(1000);
    return 1;
}

static void *look(void *unused)
{
    dl_iterate_phdr(linger, NULL);
    return unused;
}

int main(void)
{
    pthread_t thread = start_thread(look, NULL);
    while (!atomic_load(&is_there))
        continue;
    pid_t pid = fork();
    if (pid == 0) {
        alarm(20);
        sink = malloc(1000000);
        _exit(sink ? 5 : 6);
    }
    int status = status_of(pid);
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    printf("the child ended with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    return 0;
}
