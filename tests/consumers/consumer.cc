#include <pprofdelta.h>
#include <fstream>
#include <iostream>
#include <iterator>

int main(int, char **argv) // consumer PREV CUR >DELTA
{
    const auto read = [](const char *name) {
        std::ifstream in(name, std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(in), {});
    };
    const auto put = [](void *out, const void *data, size_t len) -> int {
        return !static_cast<std::ostream *>(out)->write(static_cast<const char *>(data), len);
    };
    const std::string prev = read(argv[1]), cur = read(argv[2]);
    const pprofdelta_sink sink = {put, &std::cout, nullptr};
    pprofdelta *pd = nullptr;
    pprofdelta_error err = {};
    if (pprofdelta_new(nullptr, nullptr, &pd, &err) ||
        pprofdelta_base(pd, prev.data(), prev.size(), &err) ||
        pprofdelta_window(pd, cur.data(), cur.size(), &sink, nullptr, &err))
        return std::cerr << err.text, 1;
    pprofdelta_free(pd);
}
