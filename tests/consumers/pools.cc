// A program with a pool of its own, which pprofdelta_alloc.hpp records: pools >PROFILE. Every allocation is a sample.
#include <pprofdelta_alloc.hpp>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <new>
#include <sys/time.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
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

// A walker of the program's own: the caller, or nothing, and then the unwinder is asked.
size_t walk(uint64_t *addresses, size_t most)
{
    static unsigned calls;
    if (calls++ % 2 || !most)
        return 0;
    addresses[0] = reinterpret_cast<uintptr_t>(&cache) + 1;
    return 1;
}

int discard(void *, const void *, size_t)
{
    return 0;
}

size_t in_use()
{
    pprofdelta_heap_stats stats = {};
    stats.size = sizeof stats;
    pprofdelta_heap_describe(pprofdelta_alloc::tracker, &stats);
    return static_cast<size_t>(stats.inuse_bytes);
}

// A block whose regrowing fails is where it was.
bool outlives_a_throw()
{
    const size_t before = in_use();
    void *block = pprofdelta_alloc::allocated(std::malloc(50), 50);
    try {
        pprofdelta_alloc::reallocated(block, 50, 100, []() -> void * { throw std::bad_alloc(); });
    } catch (const std::bad_alloc &) {
    }
    const bool is_there = in_use() == before + 50;
    pprofdelta_alloc::freed(block);
    std::free(block);
    return is_there && in_use() == before;
}

// A child records on, in a series of its own, while another thread of the parent allocates.
bool forks()
{
    std::atomic<bool> is_over(false);
    std::thread busy([&] {
        while (!is_over) {
            void *ptr = pprofdelta_alloc::allocated(std::malloc(10), 10);
            pprofdelta_alloc::freed(ptr);
            std::free(ptr);
        }
    });
    bool is_right = true;
    for (int i = 0; i < 20; i++) {
        const pid_t child = fork();
        if (!child) {
            pprofdelta_error err;
            const size_t before = in_use();
            pprofdelta_alloc::allocated(std::malloc(7), 7);
            const pprofdelta_sink none = {discard, nullptr, nullptr};
            _exit(before > 10 || in_use() != before + 7 ||
                  pprofdelta_alloc::window(none, &err) != PPROFDELTA_OK);
        }
        int status = 1;
        is_right = is_right && waitpid(child, &status, 0) == child && status == 0;
    }
    is_over = true;
    busy.join();
    return is_right;
}

volatile sig_atomic_t forked, is_child;

void fork_within(int)
{
    const pid_t child = is_child || forked == 100 ? -1 : fork();
    forked = forked + (child > 0);
    if (child)
        return;
    is_child = 1;
    std::signal(SIGALRM, SIG_DFL);
    alarm(300);
}

// A child that a signal handler forks goes on where the thread was, and waits for no lock that another thread has.
bool forks_in_a_handler()
{
    const struct itimerval often = {{0, 700}, {0, 700}}, never = {{0, 0}, {0, 0}};
    const pprofdelta_sink none = {discard, nullptr, nullptr};
    static char block[16], other[16];
    std::atomic<bool> is_over(false);
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, nullptr);
    std::thread busy([&] {
        while (!is_over)
            pprofdelta_alloc::freed(pprofdelta_alloc::allocated(other, 10));
    });
    std::signal(SIGALRM, fork_within);
    pthread_sigmask(SIG_UNBLOCK, &alarms, nullptr);
    setitimer(ITIMER_REAL, &often, nullptr);
    while (!is_child && forked < 100) {
        pprofdelta_error err;
        for (int i = 0; i < 20; i++)
            pprofdelta_alloc::freed(pprofdelta_alloc::allocated(block, 10));
        pprofdelta_alloc::window(none, &err);
    }
    if (is_child)
        _exit(0);
    setitimer(ITIMER_REAL, &never, nullptr);
    is_over = true;
    busy.join();
    bool is_right = true;
    for (int status; waitpid(-1, &status, 0) > 0;)
        is_right = is_right && status == 0;
    return is_right;
}

// errno is what it was, though the unwinder below changes it.
bool keeps_errno()
{
    static char block[16];
    errno = 77;
    pprofdelta_alloc::allocated(block, 10);
    const bool is_kept = errno == 77;
    pprofdelta_alloc::freed(block);
    return is_kept && errno == 77;
}

// What is asked for at the wrong time is an error.
bool is_off()
{
    pprofdelta_error err;
    const pprofdelta_sink none = {discard, nullptr, nullptr};
    pprofdelta_alloc::abandon();
    pprofdelta_alloc::stop();
    return pprofdelta_alloc::window(none, &err) == PPROFDELTA_E_USAGE &&
           pprofdelta_alloc::write(none, &err) == PPROFDELTA_E_USAGE &&
           pprofdelta_alloc::commit() == PPROFDELTA_E_USAGE;
}

using unwinder = _Unwind_Reason_Code(_Unwind_Trace_Fn, void *);
unwinder *real_unwinder;

} // namespace

extern "C" _Unwind_Reason_Code _Unwind_Backtrace(_Unwind_Trace_Fn each, void *cookie)
{
    const _Unwind_Reason_Code reason = real_unwinder(each, cookie);
    errno = EIO;
    return reason;
}

int main()
{
    pprofdelta_error err;
    real_unwinder = reinterpret_cast<unwinder *>(dlsym(RTLD_NEXT, "_Unwind_Backtrace"));
    if (!is_off())
        return std::fprintf(stderr, "a window without a tracker is no error\n"), 1;
    pprofdelta_heap_options options = PPROFDELTA_HEAP_OPTIONS_INIT;
    const pprofdelta_sink sink = {put, stdout, nullptr};
    std::vector<void *> kept;
    void *early = pprofdelta_alloc::allocated(std::malloc(1), 1); // nothing is recorded yet
    options.period = 1;
    if (pprofdelta_alloc::start(options, &err) != PPROFDELTA_OK)
        return std::fprintf(stderr, "%s\n", err.text), 1;
    if (pprofdelta_alloc::start(options, &err) != PPROFDELTA_E_USAGE)
        return std::fprintf(stderr, "a second tracker was started\n"), 1;
    pprofdelta_alloc::allocated(nullptr,
                                static_cast<size_t>(PTRDIFF_MAX) + 2); // no block has such a size
    pprofdelta_alloc::reallocated(nullptr, 0, SIZE_MAX, [] { return nullptr; });
    cache(kept);
    pprofdelta_alloc::walker = walk;
    std::thread([&] { cache(kept); }).join();
    pprofdelta_alloc::walker = nullptr;
    void *grown = grow(grow(grow(nullptr, 0, 100), 100, 100000), 100000, 10000);
    pprofdelta_alloc::freed(early);
    if (pprofdelta_alloc::window({lack_memory, nullptr, nullptr}, &err) != PPROFDELTA_E_SINK)
        return std::fprintf(stderr, "the sink threw, and the window was not refused\n"), 1;
    if (pprofdelta_alloc::window(sink, &err) != PPROFDELTA_OK)
        return std::fprintf(stderr, "%s\n", err.text), 1;
    pprofdelta_alloc::freed(grown);
    for (void *ptr : kept)
        pprofdelta_alloc::freed(ptr);
    const bool is_empty = in_use() == 0;
    std::free(early);
    std::free(grown);
    for (void *ptr : kept)
        std::free(ptr);
    if (!is_empty || !outlives_a_throw() || !forks())
        return std::fprintf(stderr, "what is in use is wrong: %zu\n", in_use()), 1;
    if (!keeps_errno())
        return std::fprintf(stderr, "errno changed\n"), 1;
    if (!forks_in_a_handler())
        return std::fprintf(stderr, "a child of a signal handler did not end well\n"), 1;
    pprofdelta_alloc::stop();
    pprofdelta_alloc::freed(pprofdelta_alloc::allocated(&err, 100));
    options.period = 2;
    if (!is_off() || pprofdelta_alloc::start(options, &err) != PPROFDELTA_OK)
        return std::fprintf(stderr, "it does not start again\n"), 1;
    pprofdelta_alloc::stop();
    return 0;
}
