/* killed TRUTH: allocates and frees without end, in three threads, and forks. What each thread has begun and
 * done is in the file TRUTH, which is mapped shared: it outlives the process, which is killed at any time. */
#include "program.h"

enum { THREADS = 3, KEPT = 64 };

/* Objects. What was begun and is not done may count or not. */
typedef struct truth {
    _Atomic uint64_t begun, done, ends_begun, ends_done;
} truth;

static truth *truths;

/* Each thread has a function of its own, and the first one the largest blocks. */
#define SITE(n, size)                                                                              \
    APART void *leak_##n(void)                                                                     \
    {                                                                                              \
        void *block = malloc(size);                                                                \
        memset(block, n, size);                                                                    \
        return block;                                                                              \
    }
SITE(0, 5000)
SITE(1, 100)
SITE(2, 300)

static void *(*const leaks[THREADS])(void) = {leak_0, leak_1, leak_2};

static void *work(void *cookie)
{
    size_t number = (size_t)cookie;
    truth *t = &truths[number];
    void *kept[KEPT] = {NULL};
    unsigned random = (unsigned)number + 1;
    for (;;) {
        random = random * 1103515245 + 12345;
        void **at = &kept[random >> 16 & (KEPT - 1)];
        if (*at) {
            t->ends_begun++;
            free(*at);
            *at = NULL;
            t->ends_done++;
        } else {
            t->begun++;
            *at = leaks[number]();
            t->done++;
        }
        if ((random >> 24 & 63) == number)
            usleep(100);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int fd = argc > 1 ? open(argv[1], O_RDWR) : -1;
    truths = mmap(NULL, THREADS * sizeof *truths, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (truths == MAP_FAILED)
        return 1;
    for (size_t i = 0; i < THREADS; i++)
        start_thread(work, (void *)i); // NOLINT(performance-no-int-to-ptr)
    for (;;) {
        pid_t child = fork();
        if (!child)
            _exit(0);
        waitpid(child, NULL, 0);
        usleep(2000);
    }
}
