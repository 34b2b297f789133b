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
//     options.period = 512 << 10;            // a sample for each 512 KiB
//     options.flags = PPROFDELTA_HEAP_AGES;  // leaks finds smaller leaks by the ages
//     pprofdelta_alloc::start(options, &err);
//     every minute, on one thread:
//         pprofdelta_alloc::window(sink, &err);                   // a pprof profile; what fails is in the next one
//     at the end, or before dlclose:
//         pprofdelta_alloc::stop();                               // frees the tracker
//
// A window in which the receiver's answer decides: begin(), write(), then commit() or abandon().
//
// Every program and every shared object that includes this header has a tracker of its own, whatever its visibility is,
// and starts and stops it. So the functions that allocate and free a block belong into the same one. A child of
// a fork has a series of its own (fork, not vfork); one that a signal handler forks within the tracker or a window is not
// recorded.
//
// What is allocated before start is not seen. allocated and freed may be called from inside malloc: they do not allocate, and
// keep errno. pprofdelta_heap.h has all else: `pprofdelta_alloc::tracker` is a pprofdelta_heap, or NULL before start and after stop.
// Needs C++17, and GCC or Clang.
#ifndef PPROFDELTA_ALLOC_HPP
#define PPROFDELTA_ALLOC_HPP

#include "pprofdelta_heap.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <pthread.h>
#include <sched.h>
#include <unwind.h>

namespace [[gnu::visibility("hidden")]] pprofdelta_alloc
{

inline pprofdelta_heap_filter filter;
inline std::atomic<pprofdelta_heap *> tracker;
inline std::atomic<uint64_t> interval;
// __thread has no initialisation at run time, so no access checks for one.
inline __thread pprofdelta_sampler sampler;
inline __thread bool is_inside;    // of the tracker
inline __thread bool is_exporting; // in a function of windows, which has a lock that fork waits for
// Writes the addresses of this thread's stack, each within its call and the leaf first, and returns how many: for
// programs with a quicker way than the unwinder's (frame pointers, their own tables). It may be called from inside
// malloc; what it allocates is not recorded. Set it before start. nullptr: _Unwind_Backtrace.
inline std::atomic<size_t (*)(uint64_t *addresses, size_t most)> walker;
inline std::atomic<unsigned> users; // threads that are in it

inline int64_t now()
{
    return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

namespace detail
{

constexpr size_t max_depth = 128;
constexpr int64_t idle = 16 << 10; // bytes between two looks at whether recording has started

struct stack {
    uint64_t addresses[max_depth];
    size_t depth;
    uintptr_t from; // where the frames of the program begin; 0: here
};

inline _Unwind_Reason_Code push(_Unwind_Context *context, void *cookie)
{
    stack *s = static_cast<stack *>(cookie);
    int is_before = 0;
    const uintptr_t address = _Unwind_GetIPInfo(context, &is_before);
    if (!address || s->depth == max_depth)
        return _URC_END_OF_STACK;
    if (s->from && s->from != address)
        return _URC_NO_REASON;
    s->from = 0;
    s->addresses[s->depth++] = address - !is_before; // within the call
    return _URC_NO_REASON;
}

// Calls with the tracker, if there is one, unless the thread is in it: what a signal handler allocates or frees then is
// left out. Keeps errno.
template <typename Call> void enter(Call call)
{
    if (is_inside)
        return;
    const int kept = errno;
    is_inside = true;
    users++; // stop() waits for them
    if (pprofdelta_heap *heap = tracker)
        call(heap);
    users--;
    is_inside = false;
    errno = kept;
}

[[gnu::noinline, gnu::cold]] inline void may_be_sample(void *ptr, size_t size, bool is_piece)
{
    const uintptr_t caller =
        reinterpret_cast<uintptr_t>(__builtin_extract_return_addr(__builtin_return_address(0)));
    const uint64_t every = interval;
    if (!every) {
        sampler = {};
        sampler.left = idle;
        return;
    }
    if (!pprofdelta_sampler_has_begun(&sampler)) {
        pprofdelta_sampler_init(&sampler, every, 0);
        if (!pprofdelta_sampler_tick(&sampler, size))
            return;
    }
    pprofdelta_heap_event event = {};
    if (!pprofdelta_sampler_take(&sampler, size, &event.weight) || !ptr)
        return;
    enter([&](pprofdelta_heap *heap) {
        stack s;
        s.depth = 0;
        s.from = caller;
        if (const auto walk = walker.load())
            s.depth = walk(s.addresses, max_depth);
        else
            _Unwind_Backtrace(push, &s);
        s.from = 0;
        if (!s.depth)
            _Unwind_Backtrace(push, &s);
        event.ptr = ptr;
        event.stack = s.addresses;
        event.depth = s.depth;
        event.size = size;
        event.is_piece = is_piece;
        pprofdelta_heap_track(heap, &event);
    });
}

// A sink may fork. An exception of it does not pass through the library, which is C: the sink has refused the profile.
template <typename Call> int guarded(Call call)
{
    int refused = -1;
    is_exporting = false;
#if defined(__cpp_exceptions)
    try {
        refused = call();
    } catch (...) {
    }
#else
    refused = call();
#endif
    is_exporting = true;
    return refused;
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
    enter([&](pprofdelta_heap *heap) { pprofdelta_heap_untrack(heap, ptr); });
}

inline pprofdelta_status refuse(const char *why, pprofdelta_error *err)
{
    if (!err)
        return PPROFDELTA_E_USAGE;
    *err = {};
    err->status = PPROFDELTA_E_USAGE;
    err->field = "";
    err->element = err->offset = PPROFDELTA_NOWHERE;
    std::snprintf(err->text, sizeof err->text, "%s", why);
    return PPROFDELTA_E_USAGE;
}

template <typename Call> pprofdelta_status with_tracker(pprofdelta_error *err, Call call)
{
    pprofdelta_heap *heap = tracker;
    if (!heap)
        return refuse("no tracker has been started", err);
    is_exporting = true;
    const pprofdelta_status status = call(heap);
    is_exporting = false;
    return status;
}

// A block between begin and end of pprofdelta_heap_realloc_begin. If regrow throws, the old one is still there.
struct resizing {
    pprofdelta_heap_realloc held;
    void *ptr; // where the block is
    size_t before, size;
    bool was;

    resizing(void *old, size_t len) : held(), ptr(old), before(len), size(len), was(false)
    {
        if (pprofdelta_heap_maybe(&filter, old))
            enter([&](pprofdelta_heap *heap) {
                was = pprofdelta_heap_realloc_begin(heap, old, &held);
            });
    }
    resizing(const resizing &) = delete;
    resizing &operator=(const resizing &) = delete;
    ~resizing()
    {
        if (was)
            enter([&](pprofdelta_heap *heap) {
                pprofdelta_heap_realloc_end(heap, &held, ptr, before, size);
            });
    }
};

// ---- fork: this thread has the tracker's locks meanwhile, so what other handlers allocate is left out ----

inline __thread pprofdelta_heap *forking;
inline __thread unsigned forks; // a signal handler may fork meanwhile

inline void fork_step(pprofdelta_fork step)
{
    if (forking)
        pprofdelta_heap_fork(forking, step, now());
    if (step == PPROFDELTA_FORK_PREPARE || !forking)
        return;
    forking = nullptr;
    is_inside = false;
}

inline void before_fork()
{
    if (forks++ || is_inside || is_exporting || !(forking = tracker))
        return;
    is_inside = true;
    users++;
    fork_step(PPROFDELTA_FORK_PREPARE);
}

inline void after_fork_in_parent()
{
    if (forks == 1) {
        if (forking)
            users--;
        fork_step(PPROFDELTA_FORK_PARENT);
    }
    forks--;
}

// A child that does not have the locks of the tracker is not recorded, and what it returns to in the tracker ends at once.
inline void after_fork_in_child()
{
    const bool is_recorded = !--forks && forking;
    users = is_inside && !is_recorded; // the other threads are not here
    sampler = {};
    if (is_recorded)
        return fork_step(PPROFDELTA_FORK_CHILD);
    interval = 0;
    if (pprofdelta_heap *lost = tracker.exchange(nullptr))
        pprofdelta_heap_fork(lost, PPROFDELTA_FORK_LOST, 0);
}

} // namespace detail

// Returns ptr, the block of size bytes that an allocator has made, or NULL. A size that no block has is left out.
[[gnu::always_inline]] inline void *allocated(void *ptr, size_t size)
{
    if (size <= PTRDIFF_MAX && pprofdelta_sampler_tick(&sampler, size))
        detail::may_be_sample(ptr, size, false);
    return ptr;
}

inline void freed(const void *ptr)
{
    if (pprofdelta_heap_maybe(&filter, ptr))
        detail::may_be_tracked(ptr);
}

// Returns what regrow returns: the new block, or NULL if the old one is still there. before: the bytes of the old one.
template <typename Regrow>
[[gnu::always_inline]] inline void *reallocated(
    void *old, size_t before, size_t size, Regrow regrow)
{
    void *ptr;
    {
        detail::resizing block(old, before);
        if ((ptr = regrow())) {
            block.ptr = ptr;
            block.size = size;
        }
    }
    if (ptr && size > before && size <= PTRDIFF_MAX &&
        pprofdelta_sampler_tick(&sampler, size - before))
        detail::may_be_sample(ptr, size - before, true);
    return ptr;
}

// Begins to record, until stop. options.filter is set here; a period of 0 is 512 KiB. E_USAGE: it records already.
inline pprofdelta_status start(pprofdelta_heap_options options, pprofdelta_error *err)
{
    static const int followed = pthread_atfork(
        detail::before_fork, detail::after_fork_in_parent, detail::after_fork_in_child);
    pprofdelta_heap *made = nullptr;
    if (tracker || followed)
        return detail::refuse(tracker ? "a tracker has been started already"
                                      : "there is no memory for the handlers of fork",
            err);
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

// Ends the recording and frees the tracker. No window may be under way; other threads may allocate and free meanwhile.
inline void stop()
{
    interval = 0;
    pprofdelta_heap *old = tracker.exchange(nullptr);
    while (users)
        sched_yield();
    pprofdelta_heap_free(old);
}

// Ends a window. Then write, and commit or abandon. E_USAGE before start.
inline pprofdelta_status begin(pprofdelta_error *err)
{
    return detail::with_tracker(err,
        [&](pprofdelta_heap *heap) { return pprofdelta_heap_begin(heap, now(), nullptr, err); });
}

// Writes the profile of the window that has begun. A sink that throws has refused it: E_SINK.
inline pprofdelta_status write(const pprofdelta_sink &sink, pprofdelta_error *err)
{
    const pprofdelta_sink guard = {sink.write ? detail::write : nullptr,
        const_cast<pprofdelta_sink *>(&sink), sink.tables ? detail::hand_over : nullptr};
    pprofdelta_sampler_pause(&sampler); // the compressor calls malloc
    const pprofdelta_status status = detail::with_tracker(err, [&](pprofdelta_heap *heap) {
        return pprofdelta_heap_write(heap, PPROFDELTA_HEAP_BY_FORMAT, &guard, err);
    });
    pprofdelta_sampler_resume(&sampler);
    return status;
}

// The profile has arrived.
inline pprofdelta_status commit()
{
    return detail::with_tracker(nullptr, pprofdelta_heap_commit);
}

// It has not: the next window has its events, too.
inline void abandon()
{
    detail::with_tracker(nullptr, [](pprofdelta_heap *heap) {
        pprofdelta_heap_abandon(heap);
        return PPROFDELTA_OK;
    });
}

// All of these in one. If it fails, the next window has its events, too.
inline pprofdelta_status window(const pprofdelta_sink &sink, pprofdelta_error *err)
{
    pprofdelta_status status = begin(err);
    if (status != PPROFDELTA_OK)
        return status;
    status = write(sink, err);
    if (status == PPROFDELTA_OK)
        return commit();
    abandon();
    return status;
}

} // namespace gnu::visibility("hidden")]]pprofdelta_alloc
#endif
