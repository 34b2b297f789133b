/* Small programs, each with one way to leak or one way to look like it: see README.md.
 *
 *     kinds DIR WINDOWS KIND   ends a window in DIR after every 400 requests
 *     kinds                    prints the kinds
 *
 * Each program also serves requests whose memory comes and goes (serve). A leak loses 1 to 2 MiB in a
 * window where nothing else is said. */
#include "window.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <vector>

#define NOINLINE __attribute__((noinline))

// NOLINTBEGIN(cert-err58-cpp): no allocation of a static fails before main

enum { REQUESTS = 400 };
static const size_t KIB = 1024;

static int window, windows;        /* under way; in all */
static uint64_t request, state = 1; /* since the start */

static uint64_t draw(uint64_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % below;
}

static double lives(double mean) /* of so many windows: the request in which it ends */
{
    return (double)request - mean * REQUESTS * std::log(((double)draw(1 << 20) + 1) / (1 << 20));
}

using block = std::unique_ptr<char[]>;
static std::vector<void *> lost;
static std::multimap<double, block> ends; /* what is freed at a request */

static char *use(char *ptr)
{
    return static_cast<char *>(lost.emplace_back(ptr));
}

/* ---- what every program does -------------------------------------------------------------------- */

static std::map<uint64_t, std::string> entries;

NOINLINE static void serve_answer() { std::string page(4 * KIB + draw(8 * KIB), 'a'); use(&page[0]); lost.pop_back(); }
NOINLINE static void serve_session() { ends.emplace(lives(0.5), new char[3 * KIB]); }
NOINLINE static void serve_upload() { ends.emplace(lives(2), new char[2 * KIB]); }
NOINLINE static void serve_cache() { entries[draw(500)].assign(4 * KIB, 'c'); }

static void serve()
{
    for (int i = 0; i < 4; i++)
        serve_answer();
    serve_session();
    serve_upload();
    serve_cache();
    ends.erase(ends.begin(), ends.upper_bound((double)request));
}

/* ---- leaks: each is called once for a request ---------------------------------------------------- */

struct node { std::shared_ptr<node> other; char payload[1500] = {}; };
struct listener { std::function<void()> call; };
static std::list<listener> listeners;
static std::unordered_map<uint64_t, std::string> by_key;
static std::set<std::string> interned;
static std::deque<std::string> lines, queue;
static std::vector<std::string> rows, retries;
static std::string text;
static char *buffer, *doubled;
static size_t buffer_len, doubled_len, doubled_cap;

NOINLINE static void leak_constant() { use(new char[4 * KIB]); }
NOINLINE static void leak_small() { for (int i = 0; i < 100; i++) use(new char[32]); }
NOINLINE static void leak_large() { if (request % 40 == 0) use(new char[150 * KIB]); }
NOINLINE static void leak_below_churn()
{
    for (int i = 0; i < 10; i++) {
        char *p = use(new char[4 * KIB]);
        if (i) { lost.pop_back(); delete[] p; }
    }
}
NOINLINE static void leak_one_in_100()
{
    for (int i = 0; i < 100; i++) {
        char *p = use(new char[4 * KIB]);
        if (i) { lost.pop_back(); delete[] p; }
    }
}
NOINLINE static void leak_at_cache()
{
    static std::vector<block> cache(4000);
    for (int i = 0; i < (window ? 4 : 40); i++) {
        block made(new char[4 * KIB]);
        auto &slot = cache[window ? draw(4000) : (request * 40 + (uint64_t)i) % 4000];
        if (i % 4 == 3) use(made.release());
        else slot = std::move(made);
    }
}
NOINLINE static void leak_behind_cache()
{
    if (window < 3 || request % 2) use(new char[window < 3 ? 16 * KIB : 8 * KIB]);
}
NOINLINE static void leak_vector() { for (int i = 0; i < 80; i++) rows.emplace_back(); }
NOINLINE static void leak_grown() { buffer = static_cast<char *>(realloc(buffer, buffer_len += 4 * KIB)); }
NOINLINE static void leak_doubled()
{
    if ((doubled_len += 4 * KIB) > doubled_cap)
        doubled = static_cast<char *>(realloc(doubled, doubled_cap = 2 * doubled_len));
}
NOINLINE static void leak_string() { text.append(4 * KIB, 's'); }
NOINLINE static void leak_mmap()
{
    if (request % 8 == 0)
        memset(mmap(nullptr, 32 * KIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 32 * KIB);
}
static void wait_for_ever(std::promise<void> *is_ready)
{
    volatile char stack[48 * KIB];
    for (size_t i = 0; i < sizeof stack; i += 512)
        stack[i] = 1;
    for (is_ready->set_value();;)
        pause();
}
NOINLINE static void leak_thread()
{
    std::promise<void> is_ready;
    if (request % 10 == 0) {
        std::thread(wait_for_ever, &is_ready).detach();
        is_ready.get_future().wait();
    }
}
NOINLINE static void leak_cron() { if (window % 3 == 1) use(new char[12 * KIB]); }
NOINLINE static void leak_batch() { if (request % 150 == 0) for (int i = 0; i < 100; i++) use(new char[5 * KIB]); }
NOINLINE static void leak_session()
{
    block session(new char[6 * KIB]);
    if (request % 2) use(session.release());
    else ends.emplace(lives(1), std::move(session));
}
NOINLINE static void leak_cycle()
{
    auto a = std::make_shared<node>(), b = std::make_shared<node>();
    a->other = b;
    b->other = a;
}
NOINLINE static void leak_listener()
{
    std::string name(3 * KIB, 'l');
    listeners.push_back({[name] { use(nullptr); }});
}
NOINLINE static void leak_key() { for (int i = 0; i < 20; i++) by_key[request * 20 + (uint64_t)i] = std::string(100, 'k'); }
NOINLINE static void leak_backlog()
{
    for (int i = 0; i < 2; i++) queue.push_back(std::string(6 * KIB, 'q'));
    for (int i = 0; i < 3 && request % 2; i++) queue.pop_front();
}
NOINLINE static void leak_retry() { if (draw(10) == 0) retries.push_back(std::string(40 * KIB, 'r')); }
NOINLINE static void leak_error_path()
{
    char *page = use(new char[16 * KIB]);
    if (draw(5)) { lost.pop_back(); delete[] page; }
}
NOINLINE static void leak_intern() { for (int i = 0; i < 10; i++) interned.insert(std::to_string(request * 10 + (uint64_t)i) + std::string(300, 'i')); }
NOINLINE static void leak_log() { for (int i = 0; i < 10; i++) lines.push_back(std::string(400, 'l')); }
NOINLINE static void leak_of_thread() { use(new char[40 * KIB]); }
static void run_thread() { if (request % 10 == 0) std::thread(leak_of_thread).join(); }
NOINLINE static void leak_recursive(uint64_t depth) { if (depth) leak_recursive(depth - 1); else use(new char[4 * KIB]); }
static void run_recursive() { leak_recursive(request % 7); }
NOINLINE static void leak_many_stacks(size_t size) { use(new char[size * KIB]); }
NOINLINE static void way_1() { leak_many_stacks(3); }
NOINLINE static void way_2() { leak_many_stacks(4); }
NOINLINE static void way_3() { leak_many_stacks(5); }
static void run_ways() { static void (*const ways[])() = {way_1, way_2, way_3}; ways[request % 3](); }
NOINLINE static void leak_faster() { use(new char[1 + (size_t)window * 512]); }
NOINLINE static void leak_slower() { if (draw((uint64_t)windows) > (uint64_t)window / 3) use(new char[5 * KIB]); }
NOINLINE static void leak_late() { if (window >= windows / 3) use(new char[6 * KIB]); }
NOINLINE static void leak_c() { lost.push_back(strdup(std::string(4 * KIB, 's').c_str())); }
NOINLINE static void leak_drained() { use(new char[4 * KIB]); }
NOINLINE static void leak_zeroed() { lost.push_back(calloc(64, 64)); }

/* ---- what only looks like a leak ----------------------------------------------------------------- */

static std::vector<block> slots(8000);

NOINLINE static void calm_cache() { for (int i = 0; i < 10; i++) slots[draw(4000)].reset(new char[4 * KIB]); }
NOINLINE static void calm_cache_half() { for (int i = 0; i < 3; i++) { auto &slot = slots[draw(2500)]; if (!slot) slot.reset(new char[4 * KIB]); } }
NOINLINE static void calm_cache_slow() { for (int i = 0; i < 4; i++) { auto &slot = slots[draw(8000)]; if (!slot) slot.reset(new char[4 * KIB]); } }
NOINLINE static void calm_ring() { slots[request % 2000].reset(new char[8 * KIB]); }
NOINLINE static void calm_pool() { if (request < 3000) slots[request].reset(new char[8 * KIB]); }
NOINLINE static void calm_session() { ends.emplace(lives(1.5), new char[12 * KIB]); }
NOINLINE static void calm_long_session() { ends.emplace(lives(4), new char[8 * KIB]); }
NOINLINE static void calm_queue()
{
    queue.push_back(std::string(10 * KIB, 'q'));
    for (size_t n = 0; n < 2 && queue.size() > 50 + draw(400); n++) queue.pop_front();
}
NOINLINE static void calm_ramp() { for (int i = 0; i < window; i++) ends.emplace(lives(0.5), new char[2 * KIB]); }
NOINLINE static void calm_periodic() { if (window % 4 == 1) ends.emplace((double)request + 300, new char[20 * KIB]); }
NOINLINE static void calm_batch() { if (retries.size() == 1500) retries.clear(); retries.push_back(std::string(8 * KIB, 'b')); }
NOINLINE static void calm_churn() { for (int i = 0; i < 100; i++) { block page(new char[4 * KIB]); use(page.get()); lost.pop_back(); } }
NOINLINE static void calm_reload() { if (request % (9UL * REQUESTS) == 0) { retries.clear(); retries.shrink_to_fit(); for (int i = 0; i < 1000; i++) retries.emplace_back(8 * KIB, 'r'); } }
NOINLINE static void calm_mapping()
{
    const size_t len = KIB * 160 * 1024;
    static char *ring;
    if (!ring) ring = static_cast<char *>(mmap(nullptr, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    memset(ring + request * 16 * KIB % len, 'm', 16 * KIB);
}

NOINLINE static void calm_shrink() /* buffers that grow by pieces, and are cut to a byte when they are full */
{
    static char *buffers[8];
    static size_t sizes[8];
    char *&buffer = buffers[request % 8];
    size_t &size = sizes[request % 8];
    size = size < 600 * KIB ? size + 16 * KIB : 1;
    buffer = static_cast<char *>(realloc(buffer, size));
}
NOINLINE static void calm_mixed() /* at one line, small objects that go at once and a large one that stays a while */
{
    for (size_t i = 0; i < 10; i++) {
        block part(new char[i ? 4 * KIB : 150 * KIB]);
        if (!i && request % 20 == 0) ends.emplace((double)request + 300, std::move(part));
        else use(part.get()), lost.pop_back();
    }
}

static const struct kind { const char *name; void (*call)(); } kinds[] = {
#define KIND(name) {#name, name}
    {"leak_of_thread", run_thread}, {"leak_many_stacks", run_ways}, {"leak_recursive", run_recursive},
    KIND(leak_constant), KIND(leak_small), KIND(leak_large), KIND(leak_below_churn), KIND(leak_one_in_100),
    KIND(leak_at_cache), KIND(leak_behind_cache), KIND(leak_vector), KIND(leak_grown), KIND(leak_doubled),
    KIND(leak_string), KIND(leak_mmap), KIND(leak_thread), KIND(leak_cron), KIND(leak_batch), KIND(leak_session),
    KIND(leak_cycle), KIND(leak_listener), KIND(leak_key), KIND(leak_backlog), KIND(leak_retry), KIND(leak_error_path),
    KIND(leak_intern), KIND(leak_log),
    KIND(leak_faster), KIND(leak_slower), KIND(leak_late), KIND(leak_c), KIND(leak_zeroed), KIND(leak_drained),
    KIND(calm_cache), KIND(calm_cache_half), KIND(calm_cache_slow), KIND(calm_ring), KIND(calm_pool),
    KIND(calm_session), KIND(calm_long_session), KIND(calm_queue), KIND(calm_ramp), KIND(calm_periodic),
    KIND(calm_batch), KIND(calm_churn), KIND(calm_reload), KIND(calm_mapping), KIND(calm_shrink),
    KIND(calm_mixed),
};

/* The program ends: what it has goes in three more windows. */
static void drain(const char *profiles)
{
    for (size_t i = 0, third = (lost.size() + 2) / 3; i < 3; i++) {
        for (size_t k = 0; k < third && !lost.empty(); k++, lost.pop_back())
            delete[] static_cast<char *>(lost.back());
        entries.clear();
        ends.clear();
        end_window(profiles);
    }
}

int main(int argc, char **argv)
{
    lost.reserve(1 << 21); /* the list itself is no part of a program */
    for (const kind &k : kinds) {
        if (argc != 4) {
            puts(k.name);
            continue;
        }
        if (strcmp(k.name, argv[3]) != 0)
            continue;
        for (windows = (int)strtol(argv[2], nullptr, 10); window < windows; window++) {
            for (int i = 0; i < REQUESTS; i++, request++) {
                serve();
                k.call();
            }
            end_window(argv[1]);
        }
        if (k.call == leak_drained)
            drain(argv[1]);
        _exit(0);
    }
    return argc == 1 ? 0 : 2;
}
// NOLINTEND(cert-err58-cpp)
