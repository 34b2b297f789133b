/* A program that is attached to. Its main thread waits or works as its argument says, another one allocates, and all ends
 * when stdin does. It prints what it noticed: nothing but its last line if nothing was wrong.
 *
 *     attachee MODE [LIBRARY]      allocated at its start: `early`; later: `late`; from an object that is loaded later: `leak_in_one` */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef OWN_MALLOC
static _Atomic size_t used;
static _Alignas(16) char arena[64 << 20];

void *malloc(size_t size)
{
    return arena + atomic_fetch_add(&used, (size + 31) & ~(size_t)15);
}

void free(void *ptr)
{
    (void)ptr;
}

void *calloc(size_t count, size_t size)
{
    return malloc(count * size);
}

void *realloc(void *ptr, size_t size)
{
    char *fresh = malloc(size);
    return ptr ? memcpy(fresh, ptr, size) : fresh;
}
#endif

static atomic_bool is_over;
static atomic_long rounds;
static void *volatile kept[100000];
static atomic_int kept_len;

__attribute__((noinline)) static void early(void)
{
    kept[atomic_fetch_add(&kept_len, 1)] = malloc(1000000);
}

__attribute__((noinline)) static void late(void)
{
    kept[atomic_fetch_add(&kept_len, 1) % 100000] = malloc(1000);
}

static void *allocate(void *is_keeping)
{
    while (!is_over) {
        void *blocks[16];
        for (int i = 0; i < 16; i++)
            memset(blocks[i] = malloc(50 + 40 * (size_t)i), i, 50);
        for (int i = 0; i < 16; i++)
            free(blocks[i]);
        if (is_keeping)
            late();
        rounds++;
        usleep(500);
    }
    return NULL;
}

static void *watch_stdin(void *unused)
{
    char byte;
    (void)unused;
    while (read(0, &byte, 1) > 0)
        continue;
    is_over = true;
    printf("over\n");
    fflush(stdout);
    _exit(0);
}

static void wrong(const char *what)
{
    static atomic_int count;
    if (count++ > 3)
        return;
    printf("WRONG: %s: %s\n", what, strerror(errno));
    fflush(stdout);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void wait_epoll(void)
{
    struct epoll_event event;
    int fd = epoll_create1(0);
    for (;;)
        if (epoll_wait(fd, &event, 1, 1000000) < 0)
            wrong("epoll_wait");
}

/* As a server under load: it waits at one moment, and works at the next. */
static void wait_tick(void)
{
    struct epoll_event event;
    int fd = epoll_create1(0);
    for (volatile int i = 0;; i++)
        if (i % 10000 == 0 && epoll_wait(fd, &event, 1, 1) < 0)
            wrong("epoll_wait");
}

static void wait_ppoll(void)
{
    sigset_t none;
    sigemptyset(&none);
    for (;;)
        if (ppoll(NULL, 0, NULL, &none) < 0)
            wrong("ppoll");
}

static void wait_futex(void)
{
    static int word;
    const struct timespec hour = {3600, 0};
    for (;;)
        if (syscall(SYS_futex, &word, 128 /* FUTEX_WAIT_PRIVATE */, 0, &hour, NULL, 0) < 0)
            wrong("futex");
}

static void wait_read(void)
{
    int ends[2];
    char byte;
    if (pipe(ends))
        exit(1);
    for (;;)
        if (read(ends[0], &byte, 1) < 0)
            wrong("read");
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* It goes on with the time that is left: the stop comes in the middle of it. */
static void wait_sleep(void)
{
    for (;;) {
        const struct timespec pause = {.tv_sec = 2};
        double begin = seconds();
        if (nanosleep(&pause, NULL))
            wrong("nanosleep");
        if (seconds() - begin > 2.7 || seconds() - begin < 2)
            wrong("the time of nanosleep");
    }
}

/* ---- working --------------------------------------------------------------------------------- */

static void work_malloc(void)
{
    for (;;) {
        void *volatile block = malloc((size_t)(rounds++ % 5000)); /* which no compiler leaves out */
        free(block);
    }
}

/* Everything that a thread has in registers is in the sums. */
static void work_registers(void)
{
    for (unsigned long round = 0;; round++) {
        unsigned long a = 1, b = 2, c = 3, d = 5, e = 7, f = 11;
        double x = 1.5, y = 2.5, z = 0.125;
        errno = 77;
        for (int i = 0; i < 10000; i++) {
            a = a * 31 + b, b ^= c << 3, c += d * e, d = (d >> 1) ^ f, e += a & 15, f = f * 5 + 1;
            x = x * 0.999 + y * 0.001, y += z, z = z * 0.9999 + 1e-6 * (double)(i & 7);
        }
        static unsigned long all;
        static double sum;
        if (!round)
            all = a ^ b ^ c ^ d ^ e ^ f, sum = x + y + z;
        if (all != (a ^ b ^ c ^ d ^ e ^ f) || sum != x + y + z || errno != 77)
            wrong("registers");
    }
}

static void on_alarm(int number)
{
    (void)number;
    rounds++;
}

static void work_timer(void)
{
    const struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    const struct itimerval often = {{0, 3000}, {0, 3000}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    work_malloc();
}

static void work_fork(void)
{
    for (;;) {
        int status;
        pid_t child = fork();
        if (!child) {
            void *volatile block = malloc(100);
            free(realloc(block, 100000));
            _exit(7);
        }
        if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
            WEXITSTATUS(status) != 7)
            wrong("fork");
    }
}

static void begin_threads(void)
{
    pthread_t thread;
    for (int i = 0; i < 200; i++)
        pthread_create(&thread, NULL, allocate, NULL);
}

static void rest(void)
{
    for (;;)
        pause();
}

/* LIBRARY is loaded after it was attached to. */
static const char *library;

static void work_loading(void)
{
    int (*run)(int, size_t);
    void *found = NULL;
    sleep(2);
#ifndef IS_STATIC
    void *handle = dlopen(library, RTLD_NOW);
    found = handle ? dlsym(handle, "run") : NULL;
#endif
    if (!found)
        wrong("dlopen");
    memcpy(&run, &found, sizeof run);
    for (;;) {
        run(10, 3000);
        usleep(10000);
    }
}

static void *end_later(void *unused)
{
    sleep(1);
    return unused;
}

/* The main thread ends, and the process goes on. */
static void work_leaving(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, end_later, NULL);
    printf("left\n");
    pthread_exit(NULL);
}

static void work_hiding(void)
{
    prctl(PR_SET_DUMPABLE, 0);
    pause();
}

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {{"epoll", wait_epoll},   {"tick", wait_tick},
             {"ppoll", wait_ppoll},   {"futex", wait_futex},
             {"read", wait_read},     {"sleep", wait_sleep},
             {"malloc", work_malloc}, {"registers", work_registers},
             {"timer", work_timer},   {"fork", work_fork},
             {"threads", rest},       {"loading", work_loading},
             {"hiding", work_hiding}};

int main(int argc, char **argv)
{
    pthread_t thread;
    library = argc > 2 ? argv[2] : NULL;
    bool is_leaving = argc > 1 && !strcmp(argv[1], "leaving");
    early();
    if (!is_leaving) {
        pthread_create(&thread, NULL, allocate, &is_over);
        pthread_create(&thread, NULL, watch_stdin, NULL);
    }
    if (argc > 1 && !strcmp(argv[1], "threads"))
        begin_threads();
    printf("begun\n");
    fflush(stdout);
    if (is_leaving)
        work_leaving();
    for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(argv[1], modes[i].name))
            modes[i].run();
    return 1;
}
