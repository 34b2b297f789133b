/* Allocates until there is no more, in a limit of its own making, and says so calmly. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

__attribute__((noinline)) static char *hoard(size_t size)
{
    char *volatile got = malloc(size);
    return got;
}

int main(void)
{
    const struct rlimit limit = {256 << 20, 256 << 20};
    if (setrlimit(RLIMIT_AS, &limit))
        return 1;
    char *kept = NULL, *got;
    while ((got = hoard(100000)) != NULL) {
        memcpy(got, &kept, sizeof kept);
        kept = got;
    }
    int error = errno;
    while (kept) {
        memcpy(&got, kept, sizeof got);
        free(kept);
        kept = got;
    }
    printf("out of memory: %s\n", strerror(error));
    return error == ENOMEM ? 3 : 1;
}
