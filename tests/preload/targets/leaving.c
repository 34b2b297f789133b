/* A program that leaves while somebody else is busy: leaving exec MILLISECONDS becomes another program
 * so much later, when a profile is on its way; leaving end MILLISECONDS ends, and a second thread ends
 * it as well. What it allocated last is to be heard of. */
#include "program.h"

APART void leak_at_last(void)
{
    for (int i = 0; i < 20000; i++)
        sink = malloc((size_t)i + 1);
}

static void *end_too(void *unused)
{
    usleep(1000);
    _exit(3);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc < 3)
        return 2;
    sink = malloc(100);
    usleep((useconds_t)strtol(argv[2], NULL, 10) * 1000);
    leak_at_last();
    if (strcmp(argv[1], "exec") == 0)
        execl("/bin/true", "true", (char *)NULL);
    else if (pthread_create(&thread, NULL, end_too, NULL) == 0)
        return 3;
    return 1;
}
