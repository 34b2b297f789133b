// A program with known inlined calls, templates, lambdas and constructors, for symbolize. It is only
// compiled: its addresses are looked up.
#include <stdlib.h>
#include <string>
#include <vector>

namespace shapes {

struct Point {
    int x, y;
    __attribute__((noinline)) Point(int from, int to) : x(from), y(to) {}
};

template <class T>
inline __attribute__((always_inline)) T *fresh(int count)
{
    return static_cast<T *>(malloc(sizeof(T) * static_cast<size_t>(count)));
}

class Store {
    std::vector<int *> kept;

public:
    inline __attribute__((always_inline)) void keep(int count)
    {
        kept.push_back(
            fresh<int>(count));
    }
    __attribute__((noinline)) void fill(int rounds)
    {
        for (int i = 0; i < rounds; i++)
            keep(i + 1);
    }
    size_t size() const { return kept.size(); }
};

template <class F>
__attribute__((noinline)) int call(F f)
{
    return f(3);
}

} // namespace shapes

extern "C" __attribute__((noinline)) int plain_c(int n)
{
    return n * 3 + static_cast<int>(std::string(static_cast<size_t>(n), 'x').size());
}

int main(int argc, char **)
{
    shapes::Store store;
    shapes::Point point(argc, 2);
    store.fill(argc + 10);
    int sum = shapes::call([&](int n) { return n + point.x + plain_c(n); });
    return static_cast<int>(store.size()) + sum > 5 ? 0 : 1;
}
