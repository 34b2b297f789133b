/* The probes of the heap door: what they are called with, call by call, and that it adds up to what the tracker has.
 * The linker puts functions of this file before them (--wrap). tests/preload/probes.py has what the file says of them. */
#include "heap/usdt.h"
#include "live.h"
#include "rng.h"
#include "seeds.h"

#if PD_HAVE_USDT

enum { HEARD_MAX = 1 << 16 };

typedef struct heard {
    char kind; /* of alloc or free: its first letter */
    uint64_t ptr, size, weight;
} heard;

static heard log_[HEARD_MAX];
static size_t log_len, told_len;

static void note(heard h)
{
    if (log_len < HEARD_MAX)
        log_[log_len++] = h;
}

/* The names are the linker's. NOLINTBEGIN(bugprone-reserved-identifier) */
void __real_pd_usdt_alloc(const void *ptr, uint64_t size, uint64_t weight);
void __real_pd_usdt_free(const void *ptr);
void __wrap_pd_usdt_alloc(const void *ptr, uint64_t size, uint64_t weight);
void __wrap_pd_usdt_free(const void *ptr);

void __wrap_pd_usdt_alloc(const void *ptr, uint64_t size, uint64_t weight)
{
    note((heard){'a', (uint64_t)(uintptr_t)ptr, size, weight});
    __real_pd_usdt_alloc(ptr, size, weight);
}

void __wrap_pd_usdt_free(const void *ptr)
{
    note((heard){'f', (uint64_t)(uintptr_t)ptr, 0, 0});
    __real_pd_usdt_free(ptr);
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* As a tool that begins or ends to listen. */
static void listen(int change)
{
    pd_usdt_alloc_semaphore = (unsigned short)(pd_usdt_alloc_semaphore + change);
    pd_usdt_free_semaphore = (unsigned short)(pd_usdt_free_semaphore + change);
}

/* Which of the pointers it is about. */
static size_t pointer_of(const heard *h)
{
    return (size_t)((h->ptr - (uint64_t)(uintptr_t)live_pointer(0)) / 4096);
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

/* Completes what is deferred: forgets the pointer 2, and moves 3 to 30. */
static int complete_some(void *cookie, pprofdelta_heap_event *event)
{
    (void)cookie;
    bool is_forgotten = event->ptr == live_pointer(2);
    if (event->ptr == live_pointer(3))
        event->ptr = live_pointer(30);
    return !is_forgotten;
}

/* One step: a letter and a pointer. "+" tracks it with ten bytes for each number of the pointer, "0" with a size
 * that is not known, "p" as a piece; "-" ends it, "<" begins a realloc of it, ">" is where the block stands after
 * that (0: it was freed), "d" defers it, "c" completes; "L" begins to listen. */
static void play_step(pprofdelta_heap *heap, char what, size_t at)
{
    static pprofdelta_heap_realloc moved;
    pprofdelta_heap_event event = event_at(at, what == '0' || what == 'p' ? 0 : 10 * at);
    event.is_piece = what == 'p';
    if (what == 'L')
        listen(1);
    else if (what == '-')
        pprofdelta_heap_untrack(heap, event.ptr);
    else if (what == '<')
        CHECK(pprofdelta_heap_realloc_begin(heap, event.ptr, &moved));
    else if (what == '>')
        pprofdelta_heap_realloc_end(heap, &moved, at ? event.ptr : NULL, 0, 0);
    else if (what == 'd')
        CHECK(pprofdelta_heap_defer(heap, &event));
    else if (what == 'c')
        pprofdelta_heap_complete(heap, complete_some, NULL);
    else
        CHECK(pprofdelta_heap_track(heap, &event));
}

/* "a1:77/1001 f1 |" is an allocation of 77 bytes with a weight of 1001 at the pointer 1, its end, and the end of a
 * step. */
static void say_heard(char *text, size_t size)
{
    size_t len = strlen(text);
    for (; told_len < log_len; told_len++) {
        const heard *h = &log_[told_len];
        len += (size_t)snprintf(text + len, size - len, "%c%zu", h->kind, pointer_of(h));
        if (h->kind == 'a')
            len += (size_t)snprintf(text + len, size - len, ":%" PRIu64 "/%" PRIu64, h->size,
                                    h->weight);
        len += (size_t)snprintf(text + len, size - len, " ");
    }
    snprintf(text + len, size - len, "|");
}

TEST(what_each_call_says)
{
    static const struct {
        const char *steps, *heard;
    } rows[] = {
        {"+1 -1", "||"}, /* nobody listens */
        /* 334: a third of its weight */
        {"L +1 02 -3 -1 -1", "|a1:10/1001 |a2:334/1002 ||f1 ||"},
        {"L +1 +1 -1", "|a1:10/1001 |f1 a1:10/1001 |f1 |"}, /* the first end was not seen */
        /* the old block ends before realloc can give it to another thread */
        {"L +1 <1 >0 +1", "|a1:10/1001 |f1 ||a1:10/1001 |"},
        /* a piece: the block has more bytes, and their weight is that of all */
        {"L +1 <1 >2 p2", "|a1:10/1001 |f1 |a2:333/1001 |f2 a2:333/2003 |"},
        {"L d1 d2 d3 d4 -4 c0 -1 -30",
         "|a1:10/1001 |a2:20/1002 |a3:30/1003 |a4:40/1004 |f4 |f2 f3 a30:334/1003 |f1 |f30 |"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ENDS(heap_end) pprofdelta_heap *heap = make();
        char text[256] = "";
        for (const char *at = rows[i].steps; *at; at += strcspn(at, " "), at += *at == ' ') {
            play_step(heap, *at, strtoul(at + 1, NULL, 10));
            say_heard(text, sizeof text);
        }
        listen(*rows[i].steps == 'L' ? -1 : 0);
        CHECK_STR(text, rows[i].heard);
    }
}

/* ---- any calls ------------------------------------------------------------------------------- */

enum { POINTERS = 24 };

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
    switch (rng_below(r, 7)) {
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
    default:
        pprofdelta_heap_complete(heap, complete_by_chance, r);
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
    seed_range range = seeds(2);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        rng r = {seed};
        size_t alive;
        pprofdelta_heap_stats stats = {.size = sizeof stats};
        ENDS(heap_end) pprofdelta_heap *heap = make();
        log_len = 0;
        listen(1);
        for (int i = 0; i < 300; i++)
            act(heap, &r);
        pprofdelta_heap_complete(heap, NULL, NULL);
        listen(-1);
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
