/* A server with planted leaks, and with all that grows and is no leak: a session that is never closed, a
 * cycle of shared pointers, a listener that is never removed, and what each thread leaves. See README.md.
 *
 *     server DIR WINDOWS REQUESTS   ends a window in DIR after every REQUESTS requests */
#include "window.h"

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#define NOINLINE __attribute__((noinline))

struct Session {
    std::string name = std::string(300, 's');
};

struct Node {
    std::shared_ptr<Node> other;
    char payload[200] = {};
};

template <typename T> struct Listeners {
    std::vector<std::unique_ptr<T>> all;
    NOINLINE void add() { all.push_back(std::make_unique<T>()); }
};

struct Report {
    std::vector<char> page = std::vector<char>(64 << 10);
};

class Server {
public:
    NOINLINE void leak_fast() { open.push_back(new Session); }

    NOINLINE void leak_slow()
    {
        auto a = std::make_shared<Node>(), b = std::make_shared<Node>();
        a->other = b;
        b->other = a;
    }

    NOINLINE void leak_rare() { reports.add(); }

    NOINLINE void fill_cache()
    {
        std::string &entry = cache[draw(3000)];
        if (entry.empty())
            entry.assign(700, 'c');
    }

    NOINLINE void write_ring()
    {
        ring.push_back(std::string(300, 'r'));
        if (ring.size() > 2000)
            ring.pop_front();
    }

    NOINLINE void grow_pool()
    {
        if (pool.size() < 500)
            pool.push_back(std::make_unique<char[]>(2048));
    }

    NOINLINE void open_session()
    {
        auto &slot = sessions[draw(4000)];
        slot = draw(2) ? std::make_unique<Session>() : nullptr;
    }

    NOINLINE void collect_batch()
    {
        if (batch.size() == 4096)
            batch.clear();
        batch.emplace_back(200, 'b');
    }

    NOINLINE void answer() { std::string reply(1000, 'a'); }

    NOINLINE void start_up()
    {
        for (int i = 0; i < 100; i++)
            loaded.emplace_back(10000, 'l');
    }

    NOINLINE void load_again() { loaded.emplace_back(1 << 20, 'l'); }

    NOINLINE void handle(unsigned long i)
    {
        switch (i % 8) {
        case 0: return leak_fast();
        case 1: return fill_cache();
        case 2: return write_ring();
        case 3: return grow_pool();
        case 4: answer(); break;
        case 5: return collect_batch();
        default: open_session();
        }
        if (i % 64 == 4)
            leak_slow();
        if (i % 10000 == 4)
            leak_rare();
    }

private:
    uint64_t draw(uint64_t below)
    {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (state >> 33) % below;
    }

    uint64_t state = 1;
    std::list<Session *> open;
    Listeners<Report> reports;
    std::map<uint64_t, std::string> cache;
    std::deque<std::string> ring;
    std::vector<std::unique_ptr<char[]>> pool;
    std::map<uint64_t, std::unique_ptr<Session>> sessions;
    std::list<std::string> batch, loaded;
};

static void *volatile kept;

NOINLINE static void leak_thread()
{
    for (int i = 0; i < 4; i++)
        kept = new char[4096];
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    int windows = atoi(argv[2]), requests = atoi(argv[3]);
    Server server;
    unsigned long i = 0;
    server.start_up();
    for (int window = 0; window < windows; window++) {
        for (int n = 0; n < requests; n++)
            server.handle(i++);
        std::thread(leak_thread).join();
        if (window == windows / 2)
            server.load_again();
        end_window(argv[1]);
    }
    return 0;
}
