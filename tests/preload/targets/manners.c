/* A program that would notice a careless guest: it takes note of its descriptors, its children, its
 * signals and its errno while it allocates, and prints what it saw. manners MILLISECONDS */
#include "program.h"

static volatile sig_atomic_t children_that_ended;

static void on_child(int number)
{
    (void)number;
    children_that_ended++;
}

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static int most_descriptors(void)
{
    int most = 0;
    for (int fd = 0; fd < 256; fd++)
        if (fcntl(fd, F_GETFD) != -1)
            most = fd;
    return most;
}

int main(int argc, char **argv)
{
    long long end = now() + (argc > 1 ? (int)strtol(argv[1], NULL, 10) : 300);
    int first = most_descriptors(), most = first, strange_children = 0, lost_errno = 0, torn = 0;
    signal(SIGCHLD, on_child);
    FILE *own = tmpfile();
    int number = own ? fileno(own) : -1, lowest_taken = 0;
    while (now() < end) {
        for (int i = 0; i < 2000; i++) {
            errno = 42;
            sink = malloc((size_t)i + 1);
            free(sink);
            lost_errno += errno != 42;
        }
        int seen = most_descriptors();
        if (seen > most)
            most = seen;
        /* Whoever writes to a number that it does not own any more writes into this file. */
        int fd = open("/dev/null", O_RDONLY);
        lowest_taken += fd != number + 1;
        close(fd);
        strange_children += waitpid(-1, NULL, WNOHANG) != -1;
    }
    torn = own && (fseek(own, 0, SEEK_END) || ftell(own) != 0);
    printf("descriptors %d, numbers taken %d, children %d, signals %d, errno lost %d, torn %d\n",
           most - number, lowest_taken, strange_children, (int)children_that_ended, lost_errno,
           torn);
    return 0;
}
