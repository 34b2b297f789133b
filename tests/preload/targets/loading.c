/* Forks while another thread is at the loader's list of what it has loaded, as it is in dlopen. The
 * lock of that list stays behind in the child, which only allocates, and ends. */
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_bool is_there, is_over;
static void *volatile sink;

static int linger(struct dl_phdr_info *info, size_t size, void *cookie)
{
    (void)info, (void)size, (void)cookie;
    const struct timespec pause = {.tv_nsec = 1000000};
    atomic_store(&is_there, true);
    while (!atomic_load(&is_over))
        nanosleep(&pause, NULL);
    return 1;
}

static void *look(void *unused)
{
    dl_iterate_phdr(linger, NULL);
    return unused;
}

int main(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, look, NULL))
        return 1;
    while (!atomic_load(&is_there))
        continue;
    pid_t pid = fork();
    if (pid == 0) {
        alarm(20);
        sink = malloc(1000000);
        _exit(sink ? 5 : 6);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    printf("the child ended with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    return 0;
}
