// A C++ program: both headers compile as C++, with the macros, and threads add to a builder.
#include <pprofdelta.h>
#include <pprofdelta_record.h>

#include <cstdint>
#include <cstdio>
#include <new>
#include <string>
#include <thread>
#include <vector>

static unsigned passed, failed;

static void check(const char *what, bool holds)
{
    std::printf("%s %s\n", holds ? "ok" : "FAILED", what);
    holds ? passed++ : failed++;
}

static int keep(void *cookie, const void *data, std::size_t len)
{
    static_cast<std::string *>(cookie)->append(static_cast<const char *>(data), len);
    return 0;
}

static int lack_memory(void *, const void *, size_t)
{
    throw std::bad_alloc();
}

// The window that its sink left can be abandoned, and is sent again.
static void throw_from_a_sink(pprofdelta_builder *builder)
{
    const pprofdelta_sink sink = {lack_memory, nullptr, nullptr};
    bool has_thrown = false;
    check("begin", pprofdelta_builder_begin(builder, nullptr) == PPROFDELTA_OK);
    try {
        pprofdelta_builder_write(builder, &sink, nullptr, nullptr);
    } catch (const std::bad_alloc &) {
        has_thrown = true;
    }
    check("an exception passes through", has_thrown);
    check("its sink did not return", pprofdelta_builder_commit(builder) == PPROFDELTA_E_USAGE);
    pprofdelta_builder_abandon(builder);
}

static void use_builder()
{
    const pprofdelta_value_type types[] = {{"exceptions", "count", 0}};
    pprofdelta_builder_options options = PPROFDELTA_BUILDER_OPTIONS_INIT;
    options.types = types;
    options.types_len = 1;
    pprofdelta_builder *builder = nullptr;
    check("a builder is made",
          pprofdelta_builder_new(&options, nullptr, &builder, nullptr) == PPROFDELTA_OK);
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; i++)
        threads.emplace_back([builder] {
            for (int n = 0; n < 100; n++) {
                std::string name = "thrower" + std::to_string(n % 10); // gone when it is written
                pprofdelta_frame frame = pprofdelta_frame();
                frame.name = name.c_str();
                const int64_t one = 1;
                const pprofdelta_sample sample = {&frame, nullptr, 1, &one, nullptr, 0};
                pprofdelta_builder_add(builder, &sample, nullptr);
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    std::string out;
    pprofdelta_sink sink = {keep, &out, nullptr};
    pprofdelta_builder_report report = pprofdelta_builder_report();
    report.size = sizeof report;
    throw_from_a_sink(builder);
    check("a window",
          pprofdelta_builder_begin(builder, nullptr) == PPROFDELTA_OK &&
              pprofdelta_builder_write(builder, &sink, &report, nullptr) == PPROFDELTA_OK);
    pprofdelta_builder_commit(builder);
    check("what was in it",
          report.samples_in == 400 && report.samples_out == 10 && report.output_len == out.size());
    pprofdelta_builder_free(builder);
}

int main()
{
    use_builder();
    check("a version", std::string(pprofdelta_version()) == PPROFDELTA_VERSION);
    std::printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
