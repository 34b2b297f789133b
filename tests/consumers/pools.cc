// A program with a pool of its own, which pprofdelta_alloc.hpp records: pools >PROFILE. Every allocation is a sample.
#include <pprofdelta_alloc.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

namespace
{

// Blocks of one size, in a list of those that are free.
class pool
{
    std::vector<void *> free_blocks;
    size_t size;

  public:
    explicit pool(size_t bytes) : size(bytes)
    {
    }
    ~pool()
    {
        for (void *ptr : free_blocks)
            std::free(ptr);
    }
    void *take()
    {
        void *ptr;
        if (free_blocks.empty()) {
            ptr = std::malloc(size);
        } else {
            ptr = free_blocks.back();
            free_blocks.pop_back();
        }
        return pprofdelta_alloc::allocated(ptr, size);
    }
    void give(void *ptr)
    {
        pprofdelta_alloc::freed(ptr);
        free_blocks.push_back(ptr);
    }
};

void *grow(void *old, size_t before, size_t size)
{
    return pprofdelta_alloc::reallocated(old, before, size,
                                         [&] { return std::realloc(old, size); });
}

int put(void *out, const void *data, size_t len)
{
    return std::fwrite(data, 1, len, static_cast<FILE *>(out)) != len;
}

// As std::string::append does without memory.
int lack_memory(void *, const void *, size_t)
{
    throw std::bad_alloc();
}

// Takes 1000 blocks of 48 bytes and gives 600 of them back.
[[gnu::noinline]] void cache(std::vector<void *> &kept)
{
    pool blocks(48);
    for (int i = 0; i < 1000; i++) {
        void *ptr = blocks.take();
        if (i % 5 < 2)
            kept.push_back(ptr);
        else
            blocks.give(ptr);
    }
}

} // namespace

int main()
{
    pprofdelta_error err;
    pprofdelta_heap_options options = PPROFDELTA_HEAP_OPTIONS_INIT;
    const pprofdelta_sink sink = {put, stdout, nullptr};
    std::vector<void *> kept;
    void *early = pprofdelta_alloc::allocated(std::malloc(1), 1); // nothing is recorded yet
    options.period = 1;
    if (pprofdelta_alloc::start(options, &err) != PPROFDELTA_OK)
        return std::fprintf(stderr, "%s\n", err.text), 1;
    cache(kept);
    std::thread([&] { cache(kept); }).join();
    void *grown = grow(grow(grow(nullptr, 0, 100), 100, 100000), 100000, 10000);
    pprofdelta_alloc::freed(early);
    if (pprofdelta_alloc::window({lack_memory, nullptr, nullptr}, &err) != PPROFDELTA_E_SINK)
        return std::fprintf(stderr, "the sink threw, and the window was not refused\n"), 1;
    if (pprofdelta_alloc::window(sink, &err) != PPROFDELTA_OK)
        return std::fprintf(stderr, "%s\n", err.text), 1;
    pprofdelta_alloc::freed(grown);
    for (void *ptr : kept)
        pprofdelta_alloc::freed(ptr);
    pprofdelta_heap_stats stats = {};
    stats.size = sizeof stats;
    pprofdelta_heap_describe(pprofdelta_alloc::tracker, &stats);
    std::free(early);
    std::free(grown);
    for (void *ptr : kept)
        std::free(ptr);
    return stats.inuse_bytes != 0;
}
