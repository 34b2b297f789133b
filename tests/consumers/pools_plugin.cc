// A shared object with a tracker of its own: records a block, and returns the bytes in use; or 0.
#include <pprofdelta_alloc.hpp>

#include <cstdlib>

namespace
{

int discard(void *, const void *, size_t)
{
    return 0;
}

} // namespace

extern "C" [[gnu::visibility("default")]] long plugin_run();
extern "C" [[gnu::visibility("default")]] void plugin_stop();

long plugin_run()
{
    pprofdelta_error err;
    pprofdelta_heap_stats stats = {};
    stats.size = sizeof stats;
    const pprofdelta_sink none = {discard, nullptr, nullptr};
    pprofdelta_heap_options options = PPROFDELTA_HEAP_OPTIONS_INIT;
    options.period = 1;
    if (pprofdelta_alloc::start(options, &err) != PPROFDELTA_OK)
        return 0;
    void *ptr = pprofdelta_alloc::allocated(std::malloc(64), 64);
    pprofdelta_heap_describe(pprofdelta_alloc::tracker, &stats);
    pprofdelta_alloc::freed(ptr);
    std::free(ptr);
    return pprofdelta_alloc::window(none, &err) == PPROFDELTA_OK ? stats.inuse_bytes : 0;
}

void plugin_stop()
{
    pprofdelta_alloc::stop();
}
