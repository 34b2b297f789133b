/* The probes of the heap door: what a listener finds in the file and hears, call by call, and that
 * what it heard adds up to what the tracker has. */
#include "listener.h"
#include "live.h"
#include "rng.h"
#include "seeds.h"
#include "test.h"

#if CAN_LISTEN

#include <dlfcn.h>
#include <link.h>

enum { HEARD_MAX = 1 << 16 };

typedef struct heard {
    char kind; /* of alloc or free: its first letter */
    uint64_t ptr, size, weight;
} heard;

static heard log_[HEARD_MAX];
static size_t log_len, told_len;
static listener_probe probes[LISTENER_PROBES_MAX];
static size_t probes_len;

/* Which of the pointers it is about. */
static size_t pointer_of(const heard *h)
{
    return (size_t)((h->ptr - (uint64_t)(uintptr_t)live_pointer(0)) / 4096);
}

static void note(const listener_probe *probe, const uint64_t arguments[LISTENER_ARGUMENTS_MAX])
{
    bool is_alloc = probe->name[0] == 'a';
    if (log_len < HEARD_MAX)
        log_[log_len++] = (heard){probe->name[0], arguments[0], is_alloc ? arguments[1] : 0,
                                  is_alloc ? arguments[2] : 0};
}

/* The first object is the executable. */
static int take_bias(struct dl_phdr_info *info, size_t size, void *cookie)
{
    (void)size;
    *(uintptr_t *)cookie = info->dlpi_addr;
    return 1;
}

/* Returns whether there is a listener, which hears nothing yet. */
static bool listen(void)
{
    static int is_started = -1;
    uintptr_t bias = 0;
    if (is_started < 0) {
        dl_iterate_phdr(take_bias, &bias);
        probes_len = listener_find("/proc/self/exe", bias, "otel_memory", probes);
        is_started = probes_len && listener_start(probes, probes_len, note) == 0;
        if (probes_len && !is_started)
            printf("skipped: code cannot be changed here\n");
    }
    CHECK_MSG(probes_len == 2, "%zu probes", probes_len);
    log_len = told_len = 0;
    return is_started;
}

static const uint64_t a_stack[] = {0x1000, 0x2000};

static pprofdelta_heap_event event_at(size_t at, size_t size)
{
    return (pprofdelta_heap_event){.ptr = live_pointer(at),
                                   .weight = {3, (int64_t)(1000 + at)},
                                   .stack = a_stack,
                                   .depth = 2,
                                   .size = size};
}

static pprofdelta_heap *make(void)
{
    pprofdelta_heap *heap = NULL;
    pprofdelta_heap_options options = PPROFDELTA_HEAP_OPTIONS_INIT;
    options.max_deferred = 8;
    options.max_live = 16; /* fewer than POINTERS: some are dropped */
    CHECK(pprofdelta_heap_new(&options, &heap, NULL) == PPROFDELTA_OK);
    return heap;
}

/* What was heard since the last call: "a1:77/1001 f1" is an allocation of 77 bytes with a weight of 1001
 * at the pointer 1, and its end. */
static void check_heard(const char *want)
{
    char text[256] = "";
    size_t len = 0;
    for (; told_len < log_len; told_len++) {
        const heard *h = &log_[told_len];
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%c%zu", len ? " " : "", h->kind,
                                pointer_of(h));
        if (h->kind == 'a')
            len += (size_t)snprintf(text + len, sizeof text - len, ":%" PRIu64 "/%" PRIu64, h->size,
                                    h->weight);
    }
    CHECK_STR(text, want);
}

TEST(the_file_has_both_probes)
{
    bool has_alloc = false, has_free = false;
    listen();
    for (size_t i = 0; i < probes_len; i++) {
        const listener_probe *p = &probes[i];
        bool is_alloc = strcmp(p->name, "alloc") == 0;
        has_alloc |= is_alloc;
        has_free |= strcmp(p->name, "free") == 0;
        CHECK(p->semaphore && *p->semaphore == 0);
#if defined(__x86_64__)
        CHECK_STR(p->arguments, is_alloc ? "8@%rdi 8@%rsi 8@%rdx" : "8@%rdi");
#else
        CHECK_STR(p->arguments, is_alloc ? "8@x0 8@x1 8@x2" : "8@x0");
#endif
    }
    CHECK(has_alloc && has_free);
}

TEST(nothing_fires_while_nobody_listens)
{
    listen();
    ENDS(heap_end) pprofdelta_heap *heap = make();
    pprofdelta_heap_event event = event_at(1, 10);
    CHECK(pprofdelta_heap_track(heap, &event) && pprofdelta_heap_untrack(heap, event.ptr));
    CHECK(log_len == 0);
}

TEST(an_allocation_and_its_end)
{
    if (!listen())
        return;
    listener_want(1);
    ENDS(heap_end) pprofdelta_heap *heap = make();
    pprofdelta_heap_event known = event_at(1, 77), unknown = event_at(2, 0);
    CHECK(pprofdelta_heap_track(heap, &known) && pprofdelta_heap_track(heap, &unknown));
    CHECK(!pprofdelta_heap_untrack(heap, live_pointer(3)));
    CHECK(pprofdelta_heap_track(heap, &known)); /* its end was not seen */
    CHECK(pprofdelta_heap_untrack(heap, live_pointer(1)) &&
          !pprofdelta_heap_untrack(heap, live_pointer(1)));
    listener_want(-1);
    check_heard("a1:77/1001 a2:334/1002 f1 a1:77/1001 f1"); /* 334: a third of its weight */
}

TEST(realloc_ends_the_old_block_at_once)
{
    pprofdelta_heap_realloc r;
    if (!listen())
        return;
    listener_want(1);
    ENDS(heap_end) pprofdelta_heap *heap = make();
    pprofdelta_heap_event event = event_at(1, 50);
    CHECK(pprofdelta_heap_track(heap, &event));
    CHECK(pprofdelta_heap_realloc_begin(heap, event.ptr, &r));
    check_heard("a1:50/1001 f1"); /* before realloc can give the block to another thread */
    pprofdelta_heap_realloc_end(heap, &r, NULL, 0, 0);
    CHECK(pprofdelta_heap_track(heap, &event));
    CHECK(pprofdelta_heap_realloc_begin(heap, event.ptr, &r));
    pprofdelta_heap_realloc_end(heap, &r, live_pointer(2), 0, 0); /* the block was moved */
    check_heard("a1:50/1001 f1 a2:333/1001");
    event.ptr = live_pointer(2);
    event.is_piece = 1;
    CHECK(
        pprofdelta_heap_track(heap, &event)); /* and has more bytes: their weight is that of all */
    listener_want(-1);
    check_heard("f2 a2:333/2002");
}

/* Forgets the second, moves the third, and leaves the others. */
static int complete_some(void *cookie, pprofdelta_heap_event *event)
{
    size_t call = (*(size_t *)cookie)++;
    if (call == 2)
        event->ptr = live_pointer(30);
    return call != 1;
}

TEST(deferred_allocations_are_heard_when_they_are_made)
{
    size_t calls = 0;
    if (!listen())
        return;
    listener_want(1);
    ENDS(heap_end) pprofdelta_heap *heap = make();
    for (size_t i = 1; i <= 4; i++) {
        pprofdelta_heap_event event = event_at(i, 10 * i);
        CHECK(pprofdelta_heap_defer(heap, &event));
    }
    CHECK(pprofdelta_heap_untrack(heap, live_pointer(4)));
    check_heard("a1:10/1001 a2:20/1002 a3:30/1003 a4:40/1004 f4");
    CHECK(pprofdelta_heap_complete(heap, complete_some, &calls) == 2);
    check_heard("f2 f3 a30:334/1003");
    CHECK(pprofdelta_heap_untrack(heap, live_pointer(1)) &&
          pprofdelta_heap_untrack(heap, live_pointer(30)));
    listener_want(-1);
    check_heard("f1 f30");
}

/* ---- any calls ------------------------------------------------------------------------------- */

enum { POINTERS = 24 };

static int is_odd_alive(void *cookie, const void *ptr)
{
    (void)cookie;
    return (uintptr_t)ptr / 4096 % 2 != 0;
}

static int complete_by_chance(void *cookie, pprofdelta_heap_event *event)
{
    rng *r = cookie;
    if (rng_chance(r, 20))
        event->ptr = live_pointer(rng_below(r, POINTERS));
    return !rng_chance(r, 20);
}

static void act(pprofdelta_heap *heap, rng *r)
{
    pprofdelta_heap_event event = event_at(rng_below(r, POINTERS), rng_below(r, 100));
    pprofdelta_heap_realloc move;
    switch (rng_below(r, 8)) {
    case 0:
    case 1:
        pprofdelta_heap_track(heap, &event);
        break;
    case 2:
    case 3:
        pprofdelta_heap_untrack(heap, event.ptr);
        break;
    case 4:
        if (!pprofdelta_heap_realloc_begin(heap, event.ptr, &move))
            break;
        pprofdelta_heap_realloc_end(heap, &move, rng_chance(r, 50) ? NULL : event.ptr, 0, 0);
        break;
    case 5:
        pprofdelta_heap_defer(heap, &event);
        break;
    case 6:
        pprofdelta_heap_complete(heap, complete_by_chance, r);
        break;
    default:
        pprofdelta_heap_sweep(heap, 4, is_odd_alive, NULL, NULL);
    }
}

/* Reads the log as a profiler does. Returns the sum of the weights that are alive, or -1 if a free
 * has no alloc or an alloc comes twice. */
static int64_t replay(size_t *alive)
{
    uint64_t weights[POINTERS] = {0}, sum = 0;
    *alive = 0;
    for (size_t i = 0; i < log_len; i++) {
        size_t at = pointer_of(&log_[i]);
        bool is_alloc = log_[i].kind == 'a';
        if (at >= POINTERS || (weights[at] != 0) == is_alloc)
            return -1;
        sum += is_alloc ? log_[i].weight : -weights[at];
        weights[at] = log_[i].weight;
        *alive += is_alloc ? 1 : (size_t)-1;
    }
    return (int64_t)sum;
}

TEST(what_is_heard_adds_up_to_what_is_alive)
{
    if (!listen())
        return;
    seed_range range = seeds(2);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        rng r = {seed};
        size_t alive;
        pprofdelta_heap_stats stats = {.size = sizeof stats};
        ENDS(heap_end) pprofdelta_heap *heap = make();
        log_len = 0;
        listener_want(1);
        for (int i = 0; i < 300; i++)
            act(heap, &r);
        pprofdelta_heap_complete(heap, NULL, NULL);
        listener_want(-1);
        pprofdelta_heap_describe(heap, &stats);
        int64_t sum = replay(&alive);
        CHECK_MSG(sum == stats.inuse_bytes && alive == stats.live,
                  "seed %" PRIu64 ": %" PRId64 " bytes in %zu, not %" PRId64 " in %" PRIu64, seed,
                  sum, alive, stats.inuse_bytes, stats.live);
    }
}

#else

/* A machine without probes: nothing is changed. */
TEST(tracking_works_without_probes)
{
    ENDS(heap_end) pprofdelta_heap *heap = NULL;
    const uint64_t stack[] = {1};
    const int place = 0;
    pprofdelta_heap_event event = {.ptr = &place, .weight = {1, 1}, .stack = stack, .depth = 1};
    CHECK(pprofdelta_heap_new(NULL, &heap, NULL) == PPROFDELTA_OK);
    CHECK(pprofdelta_heap_track(heap, &event) && pprofdelta_heap_untrack(heap, &place));
}

#endif

TEST_MAIN()
