/* What the programs here share: the headers, functions that are in stacks, and what they leak. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A function of its own in every stack. */
#define APART __attribute__((noinline, unused)) static

static void *volatile sink;

/* A function that allocates 100 blocks of 1,000 bytes, which nothing frees. */
#define LEAK(name)                                                                                 \
    APART void name(void)                                                                          \
    {                                                                                              \
        for (int i = 0; i < 100; i++)                                                              \
            sink = malloc(1000);                                                                   \
    }

/* Returns the status of the child, or -1. */
__attribute__((unused)) static int status_of(pid_t child)
{
    int status;
    return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

__attribute__((unused)) static pthread_t start_thread(void *(*run)(void *), void *cookie)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, cookie))
        abort();
    return thread;
}

#endif
