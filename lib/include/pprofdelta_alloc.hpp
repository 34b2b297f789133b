// pprofdelta for C++ programs with allocators of their own: pools, arenas, jemalloc or mimalloc linked statically.
//
//     #include <pprofdelta_alloc.hpp>
//
//     void *pool::take(size_t size)
//     {
//         return pprofdelta_alloc::allocated(carve(size), size);  // a subtraction and a branch
//     }
//     void pool::give(void *ptr)
//     {
//         pprofdelta_alloc::freed(ptr);                           // a load and a branch; before the block is given back
//         put_back(ptr);
//     }
//     void *pool::grow(void *old, size_t size)
//     {
//         return pprofdelta_alloc::reallocated(old, size_of(old), size, [&] { return regrow(old, size); });
//     }
//
//     pprofdelta_error err;
//     pprofdelta_heap_options options = PPROFDELTA_HEAP_OPTIONS_INIT;
//     options.period = 512 << 10; // a sample for each 512 KiB
//     pprofdelta_alloc::start(options, &err);
//     every minute, on any thread:
//         pprofdelta_alloc::window(sink, &err);                   // a pprof profile; what fails is in the next one
//
// A program has one tracker, which is never freed. What is allocated before start is not seen. allocated and freed may be
// called from inside malloc: they do not allocate. pprofdelta_heap.h has all else: `pprofdelta_alloc::tracker` is a pprofdelta_heap.
// Needs C++17, and GCC or Clang.
#ifndef PPROFDELTA_ALLOC_HPP
#define PPROFDELTA_ALLOC_HPP

#include "pprofdelta_heap.h"

#include <atomic>
#include <chrono>
#include <unwind.h>

namespace pprofdelta_alloc
{

inline pprofdelta_heap_filter filter;
inline std::atomic<pprofdelta_heap *> tracker;
inline std::atomic<uint64_t> interval;
// __thread has no initialisation at run time, so no access checks for one.
inline __thread pprofdelta_sampler sampler;
inline __thread bool is_inside; // of the tracker

namespace detail
{

constexpr size_t max_depth = 128;
constexpr int64_t idle = 16 << 10; // bytes between two looks at whether recording has started

struct stack {
    uint64_t addresses[max_depth];
    size_t depth;
};

inline _Unwind_Reason_Code push(_Unwind_Context *context, void *cookie)
{
    stack *s = static_cast<stack *>(cookie);
    int is_before = 0;
    const uintptr_t address = _Unwind_GetIPInfo(context, &is_before);
    if (!address || s->depth == max_depth)
        return _URC_END_OF_STACK;
    s->addresses[s->depth++] = address - !is_before; // within the call
    return _URC_NO_REASON;
}

[[gnu::noinline, gnu::cold]] inline void may_be_sample(void *ptr, size_t size, bool is_piece)
{
    if (!pprofdelta_sampler_has_begun(&sampler)) {
        const uint64_t every = interval;
        if (!every) {
            sampler.left = idle;
            return;
        }
        pprofdelta_sampler_init(&sampler, every, 0);
        if (!pprofdelta_sampler_tick(&sampler, size))
            return;
    }
    pprofdelta_heap_event event = {};
    if (!pprofdelta_sampler_take(&sampler, size, &event.weight) || !ptr || is_inside)
        return;
    is_inside = true;
    stack s;
    s.depth = 0;
    _Unwind_Backtrace(push, &s);
    event.ptr = ptr;
    event.stack = s.addresses + (s.depth > 1); // without this function
    event.depth = s.depth - (s.depth > 1);
    event.size = size;
    event.is_piece = is_piece;
    pprofdelta_heap_track(tracker, &event);
    is_inside = false;
}

// Calls unless the thread is in the tracker: what a signal handler allocates or frees then is left out.
template <typename Call> void enter(Call call)
{
    if (!is_inside) {
        is_inside = true;
        call();
        is_inside = false;
    }
}

// An exception of the caller's sink does not pass through the library, which is C: the sink has refused the profile.
template <typename Call> int guarded(Call call)
{
#if defined(__cpp_exceptions)
    try {
        return call();
    } catch (...) {
        return -1;
    }
#else
    return call();
#endif
}

inline int write(void *cookie, const void *data, size_t len)
{
    const auto *sink = static_cast<const pprofdelta_sink *>(cookie);
    return guarded([&] { return sink->write(sink->cookie, data, len); });
}

inline int hand_over(void *cookie, pprofdelta_tables *tables)
{
    const auto *sink = static_cast<const pprofdelta_sink *>(cookie);
    return guarded([&] { return sink->tables(sink->cookie, tables); });
}

[[gnu::noinline, gnu::cold]] inline void may_be_tracked(const void *ptr)
{
    enter([&] { pprofdelta_heap_untrack(tracker, ptr); });
}

} // namespace detail

// Returns ptr, the block of size bytes that an allocator has made, or NULL.
inline void *allocated(void *ptr, size_t size)
{
    if (pprofdelta_sampler_tick(&sampler, size))
        detail::may_be_sample(ptr, size, false);
    return ptr;
}

inline void freed(const void *ptr)
{
    if (pprofdelta_heap_maybe(&filter, ptr))
        detail::may_be_tracked(ptr);
}

// Returns what regrow returns: the new block, or NULL if the old one is still there. before: the bytes of the old one.
template <typename Regrow> void *reallocated(void *old, size_t before, size_t size, Regrow regrow)
{
    pprofdelta_heap_realloc held;
    bool was = false;
    if (pprofdelta_heap_maybe(&filter, old))
        detail::enter([&] { was = pprofdelta_heap_realloc_begin(tracker, old, &held); });
    void *ptr = regrow();
    if (was)
        detail::enter([&] {
            pprofdelta_heap_realloc_end(tracker, &held, ptr ? ptr : old, before,
                                        ptr ? size : before);
        });
    if (ptr && size > before && pprofdelta_sampler_tick(&sampler, size - before))
        detail::may_be_sample(ptr, size - before, true);
    return ptr;
}

inline int64_t now()
{
    return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Begins to record, once in a program. options.filter is set here; a period of 0 is 512 KiB.
inline pprofdelta_status start(pprofdelta_heap_options options, pprofdelta_error *err)
{
    pprofdelta_heap *made = nullptr;
    options.filter = &filter;
    options.period = options.period ? options.period : 512 << 10;
    options.started_nanos = options.started_nanos ? options.started_nanos : now();
    const pprofdelta_status status = pprofdelta_heap_new(&options, &made, err);
    if (status == PPROFDELTA_OK) {
        tracker = made;
        interval = options.period;
        sampler.left = 0; // this thread begins at once
    }
    return status;
}

// Ends a window and writes its profile. If that fails, the next window has its events, too. A sink that throws has
// refused the profile: E_SINK.
inline pprofdelta_status window(const pprofdelta_sink &sink, pprofdelta_error *err)
{
    pprofdelta_status status = pprofdelta_heap_begin(tracker, now(), nullptr, err);
    if (status != PPROFDELTA_OK)
        return status;
    const pprofdelta_sink guard = {sink.write ? detail::write : nullptr,
                                   const_cast<pprofdelta_sink *>(&sink),
                                   sink.tables ? detail::hand_over : nullptr};
    pprofdelta_sampler_pause(&sampler); // the compressor calls malloc
    status = pprofdelta_heap_write(tracker, PPROFDELTA_HEAP_BY_FORMAT, &guard, err);
    pprofdelta_sampler_resume(&sampler);
    if (status == PPROFDELTA_OK)
        return pprofdelta_heap_commit(tracker);
    pprofdelta_heap_abandon(tracker);
    return status;
}

} // namespace pprofdelta_alloc
#endif
