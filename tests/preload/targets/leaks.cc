// Threads that leak known amounts by known functions, among a lot that they do not leak. Prints what
// was leaked by each; the agent is to find the same. leaks THREADS [MILLISECONDS TO LINGER]
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>
#include <string>
#include <thread>
#include <vector>

struct Order {
    char bytes[4000];
};

static std::atomic<void *> kept[1 << 16];
static std::atomic<size_t> kept_len;

static void keep(void *leaked)
{
    kept[kept_len++ % (sizeof kept / sizeof *kept)] = leaked;
}

#define APART __attribute__((noinline))

APART void leak_by_malloc(int count)
{
    for (int i = 0; i < count; i++)
        keep(std::malloc(10000));
}

APART void leak_by_new(int count)
{
    for (int i = 0; i < count; i++)
        keep(new Order());
}

APART void leak_by_array(int count)
{
    for (int i = 0; i < count; i++)
        keep(new char[300]);
}

APART void leak_by_realloc(int count)
{
    for (int i = 0; i < count; i++)
        keep(std::realloc(std::malloc(100), 20000));
}

APART void leak_aligned(int count)
{
    for (int i = 0; i < count; i++)
        keep(aligned_alloc(64, 8192));
}

APART size_t work(int rounds)
{
    std::map<int, std::string> names;
    size_t len = 0;
    for (int i = 0; i < rounds; i++) {
        names[i % 500] = std::string(static_cast<size_t>(i % 700), 'x');
        len += names[i % 300].size();
    }
    return len;
}

static void run(int number)
{
    if (work(20000) == 0)
        std::abort();
    leak_by_malloc(100 + number);
    leak_by_new(500);
    leak_by_array(4000);
    leak_by_realloc(50);
    leak_aligned(100);
    work(20000);
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? static_cast<int>(std::strtol(argv[1], nullptr, 10)) : 4;
    std::vector<std::thread> threads;
    threads.reserve(static_cast<size_t>(count));
    for (int i = 0; i < count; i++)
        threads.emplace_back(run, i);
    for (std::thread &thread : threads)
        thread.join();
    int by_malloc = 0;
    for (int i = 0; i < count; i++)
        by_malloc += 100 + i;
    std::printf("leak_by_malloc %d\n", by_malloc * 10000);
    std::printf("leak_by_new %d\n", count * 500 * static_cast<int>(sizeof(Order)));
    std::printf("leak_by_array %d\n", count * 4000 * 300);
    std::printf("leak_by_realloc %d\n", count * 50 * 20000);
    std::printf("leak_aligned %d\n", count * 100 * 8192);
    if (argc > 2)
        std::this_thread::sleep_for(std::chrono::milliseconds(std::strtol(argv[2], nullptr, 10)));
    try {
        keep(::operator new(SIZE_MAX / 4));
    } catch (const std::bad_alloc &trouble) {
        std::printf("%s\n", trouble.what());
    }
    return 0;
}
