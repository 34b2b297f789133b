// plugins ONE TWO: loads two plugins again and again, forks, and unloads them. Each records, and none leaves anything.
#include <cstdio>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace
{

long address_space()
{
    long pages = 0;
    FILE *file = std::fopen("/proc/self/statm", "r");
    if (!file || std::fscanf(file, "%ld", &pages) != 1)
        return 0;
    std::fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

template <typename Function> Function find(void *plugin, const char *name)
{
    return reinterpret_cast<Function>(dlsym(plugin, name));
}

bool has_run(char **paths)
{
    void *plugins[2];
    bool is_right = true;
    for (int i = 0; i < 2; i++) {
        plugins[i] = dlopen(paths[i], RTLD_NOW);
        is_right = is_right && plugins[i] && find<long (*)()>(plugins[i], "plugin_run")() == 64;
    }
    const pid_t child = fork();
    if (!child)
        _exit(0);
    is_right = is_right && waitpid(child, nullptr, 0) == child;
    for (int i = 0; i < 2 && is_right; i++) {
        find<void (*)()>(plugins[i], "plugin_stop")();
        dlclose(plugins[i]);
    }
    for (int i = 0; i < 2; i++)
        is_right = is_right && !dlopen(paths[i], RTLD_NOW | RTLD_NOLOAD);
    return is_right;
}

} // namespace

int main(int, char **argv)
{
    const long most = 4 << 20;
    long first = 0;
    for (int i = 0; i < 50; i++) {
        if (!has_run(argv + 1))
            return std::puts("a plugin records nothing, or stays"), 1;
        first = first ? first : address_space();
    }
    if (address_space() > first + most)
        return std::puts("trackers stay"), 1;
    return 0;
}
