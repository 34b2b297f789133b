/* A program that leaves while somebody else is busy: leaving exec MILLISECONDS becomes another program
 * so much later, when a profile is on its way; leaving end MILLISECONDS ends, and a second thread ends
 * it as well. What it allocated last is to be heard of. leaving killed 0 becomes another program, and a
 * second thread sends it SIGTERM as soon as the window before the exec is a file. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void *volatile sink;

static void rest(long milliseconds)
{
    const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&time, NULL);
}

__attribute__((noinline)) static void leak_at_last(void)
{
    for (int i = 0; i < 20000; i++)
        sink = malloc((size_t)i + 1);
}

static void *end_too(void *unused)
{
    rest(1);
    _exit(3);
    return unused;
}

static pthread_t main_thread;

static void *kill_main(void *path)
{
    while (access(path, F_OK) != 0)
        continue;
    pthread_kill(main_thread, SIGTERM); // NOLINT(*-bad-signal-to-kill-thread,cert-pos44-c)
    return NULL;
}

static int start_killer(pthread_t *thread)
{
    static char path[4096];
    const char *dir = getenv("PPROFDELTA_RECORD_DIR");
    main_thread = pthread_self();
    snprintf(path, sizeof path, "%s/heap.leaving.%ld.000001.pb.gz", dir ? dir : "", (long)getpid());
    return pthread_create(thread, NULL, kill_main, path);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc < 3)
        return 2;
    sink = malloc(100);
    rest(strtol(argv[2], NULL, 10));
    leak_at_last();
    if (strcmp(argv[1], "killed") == 0 && start_killer(&thread))
        return 2;
    if (strcmp(argv[1], "exec") == 0 || strcmp(argv[1], "killed") == 0)
        execl("/bin/true", "true", (char *)NULL);
    else if (pthread_create(&thread, NULL, end_too, NULL) == 0)
        return 3;
    return 1;
}
