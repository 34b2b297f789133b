// A program that leaks in known functions, also in a library that it loads, for record.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

namespace leaker {

inline __attribute__((always_inline)) void *inlined_leak(size_t size)
{
    return malloc(size);
}

__attribute__((noinline)) void lose(int rounds)
{
    for (int i = 0; i < rounds; i++)
        if (!inlined_leak(4096))
            abort();
}

} // namespace leaker

extern "C" __attribute__((noinline)) int leak_in_library(void)
{
    leaker::lose(200);
    return 0;
}

#ifndef LIBRARY
int main(int argc, char **argv)
{
    leaker::lose(400);
    if (argc < 2)
        return 0;
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    int (*entry)() = library ? (int (*)())dlsym(library, "leak_in_library") : nullptr;
    if (!entry) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    int code = entry();
    dlerror(); // so that main is in the stacks of entry
    return code;
}
#endif
