/* Opens an interpreter when it runs already, and runs a program in it: embeds LIBRARY PROGRAM */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void find(void *function, void *library, const char *name)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
}

int main(int argc, char **argv)
{
    void *library = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
    void (*initialize)(void);
    int (*run)(const char *);
    if (!library)
        return fprintf(stderr, "%s\n", dlerror()), 1;
    find(&initialize, library, "Py_Initialize");
    find(&run, library, "PyRun_SimpleString");
    initialize();
    if (run(argv[2]))
        return 1;
    _exit(0);
}
