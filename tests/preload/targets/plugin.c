/* The same source thrice: two plugins, which leak under names of their own, and the program that
 * loads and unloads them in turn:
 *
 *     plugin ONE TWO [ROUNDS [locked]]     with ROUNDS, each is loaded for a millisecond; locked: mlockall(2) */
#include "program.h"

#ifdef PLUGIN
#define NAME2(a, b) a##b
#define NAME(a, b)  NAME2(a, b)

void *volatile NAME(kept_by_, PLUGIN);
void *NAME(leak_in_, PLUGIN)(size_t size);
int run(int count, size_t size);

__attribute__((noinline)) void *NAME(leak_in_, PLUGIN)(size_t size)
{
    void *volatile got = malloc(size);
    return got;
}

int run(int count, size_t size)
{
    for (int i = 0; i < count; i++)
        NAME(kept_by_, PLUGIN) = NAME(leak_in_, PLUGIN)(size);
    return count;
}
#else
#include <dlfcn.h>

static useconds_t stay; /* how long a plugin is loaded */

APART int use(const char *path, int count, size_t size)
{
    int (*run)(int, size_t);
    void *plugin = dlopen(path, RTLD_NOW), *found = plugin ? dlsym(plugin, "run") : NULL;
    if (!found)
        return -1;
    memcpy(&run, &found, sizeof run);
    int result = run(count, size);
    usleep(stay);
    dlclose(plugin);
    return result;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    int rounds = argc > 3 ? atoi(argv[3]) : 5;
    size_t size = argc > 3 ? 1000 : 100000;
    if (argc > 4 && mlockall(MCL_CURRENT | MCL_FUTURE))
        return 77;
    stay = argc > 3 ? 1000 : 0;
    for (int i = 0; i < rounds; i++)
        printf("%d %d\n", use(argv[1], 20, size), use(argv[2], 10, 3 * size));
    return 0;
}
#endif
