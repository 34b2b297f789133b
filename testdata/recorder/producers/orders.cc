#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

// Sorts orders, asks for the time, and reads a file that the kernel makes.
namespace
{
template <typename T, int n> struct book {
    std::map<std::string, std::vector<T>> all;
    __attribute__((noinline)) long add(const std::string &name, const std::function<T(int)> &price)
    {
        for (int i = 0; i < n; i++)
            all[name].push_back(price(i));
        std::sort(all[name].begin(), all[name].end(), [](const T &a, const T &b) { return b < a; });
        return all[name].size();
    }
    __attribute__((noinline)) bool operator()(long ms,
                                              std::chrono::steady_clock::time_point begin) const
    {
        return std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(ms);
    }
};
} // namespace
int main(int, char **args)
{
    auto begin = std::chrono::steady_clock::now();
    book<double, 200> one;
    for (int i = 0; one(atol(args[1]), begin); i++) {
        one.add("order-" + std::to_string(i % 50000),
                [i](int at) { return at * 7919 % (i + 11) * 0.5; });
        for (int j = 0; j < 3000 && one(1000000, begin); j++)
            ;
        if (FILE *file = fopen("/proc/self/maps", "r")) {
            while (fgetc(file) != EOF)
                ;
            fclose(file);
        }
    }
}
