/* Locks its memory. locked FLAGS [early | syscall]
 *
 * Allocates for a while, calls mlockall(FLAGS), allocates again, starts a thread, calls mlockall(MCL_CURRENT), and prints
 * the results and the locked memory after each. The agent works meanwhile. "resident" and the memory in KiB are the last
 * line. early: it locks its memory before it allocates. syscall: by syscall(2). */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS = 2000, SIZE = 500 };
static void *volatile sink;

static void *leak_blocks(void *unused)
{
    for (int i = 0; i < BLOCKS; i++)
        sink = malloc(SIZE);
    return unused;
}

static long status_of(const char *name)
{
    char line[256];
    long kib = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (!strncmp(line, name, strlen(name)))
            kib = strtol(line + strlen(name), NULL, 10);
    if (status)
        fclose(status);
    return kib;
}

static void print(int result, int error)
{
    printf("%d %d, locked: %ld\n", result, error, status_of("VmLck:"));
}

static void lock(int flags, int is_raw)
{
    errno = 0;
    int result = is_raw ? (int)syscall(SYS_mlockall, flags) : mlockall(flags);
    print(result, errno);
}

int main(int argc, char **argv)
{
    const struct timespec pause = {.tv_nsec = 250000000};
    int flags = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0,
        is_raw = argc > 2 && !strcmp(argv[2], "syscall");
    pthread_t thread;
    sink = malloc(SIZE); /* the heap is there, as it is with the agent */
    if (argc < 3 || is_raw) {
        leak_blocks(NULL);
        nanosleep(&pause, NULL); /* the agent has its thread and its file */
    }
    lock(flags, is_raw);
    leak_blocks(NULL);
    int error = pthread_create(&thread, NULL, leak_blocks, NULL);
    if (!error)
        pthread_join(thread, NULL);
    nanosleep(&pause, NULL);
    print(error, 0);
    lock(MCL_CURRENT, is_raw);
    print(munlockall(), 0);
    printf("resident %ld\n", status_of("VmRSS:"));
    return 0;
}
