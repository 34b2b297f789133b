#include <pprofdelta.h>
#include <fstream>
#include <iostream>
#include <iterator>

int main(int argc, char **argv) // consumer PREV CUR >DELTA
{
    std::string bytes[2];
    for (int i = 0; i < 2; i++) {
        std::ifstream in(argc == 3 ? argv[1 + i] : "", std::ios::binary);
        if (!in)
            return std::cerr << "cannot read " << (argc == 3 ? argv[1 + i] : "PREV CUR"), 1;
        bytes[i].assign(std::istreambuf_iterator<char>(in), {});
    }
    const auto put = [](void *out, const void *data, size_t len) -> int {
        return !static_cast<std::ostream *>(out)->write(static_cast<const char *>(data), len);
    };
    const pprofdelta_sink sink = {put, &std::cout, nullptr};
    pprofdelta *pd = nullptr;
    pprofdelta_error err = {};
    if (pprofdelta_new(nullptr, nullptr, &pd, &err) ||
        pprofdelta_base(pd, bytes[0].data(), bytes[0].size(), &err) ||
        pprofdelta_window(pd, bytes[1].data(), bytes[1].size(), &sink, nullptr, &err))
        return std::cerr << err.text, 1;
    pprofdelta_free(pd);
}
