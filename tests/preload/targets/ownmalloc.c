/* A program that brings its own malloc: the agent has no way to stand before it, and says so. With
 * arguments, it starts the program that they name, twice, and prints nothing. */
#include "program.h"

static _Alignas(16) char pool[8 << 20];
static size_t used;

void *malloc(size_t size)
{
    size_t need = (size + 31) & ~(size_t)15;
    if (need > sizeof pool - used)
        return NULL;
    char *at = pool + used;
    used += need;
    memcpy(at, &size, sizeof size);
    return at + 16;
}

void free(void *ptr)
{
    (void)ptr;
}

void *calloc(size_t count, size_t size)
{
    return malloc(count * size); /* the pool is used once */
}

void *realloc(void *ptr, size_t size)
{
    void *got = malloc(size);
    size_t before = 0;
    if (ptr)
        memcpy(&before, (char *)ptr - 16, sizeof before);
    if (got && ptr)
        memcpy(got, ptr, before < size ? before : size);
    return got;
}

static int run(char **command)
{
    pid_t pid = fork();
    if (pid == 0) {
        execv(command[0], command);
        _exit(127);
    }
    return status_of(pid);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return run(argv + 1) || run(argv + 1);
    void *volatile block = malloc(100);
    printf("%s\n", (char *)block >= pool && (char *)block < pool + sizeof pool ? "own" : "other");
    return 0;
}
