/* A small test harness.
 *
 *     TEST(empty_input_is_refused)
 *     {
 *         CHECK(status == PPROFDELTA_E_PROFILE);
 *         CHECK_MSG(len == want, "seed %u: %zu, not %zu", seed, len, want);
 *     }
 *
 *     TEST_MAIN()
 *
 * ENDS(scene_end) scene s; calls scene_end(&s) where the scope of s is left, by REQUIRE, too.
 *
 * A failed CHECK is reported and the test goes on; REQUIRE ends the test. A test in which no check
 * ran has failed. With an argument, only the tests whose names contain it run. The last line of
 * output is "N passed, N failed", which `./dev test` adds up. */
#ifndef PD_TESTS_TEST_H
#define PD_TESTS_TEST_H

#include <stdio.h>
#include <string.h>

typedef void test_function(void);
typedef struct test_case {
    const char *name;
    test_function *run;
    struct test_case *next;
} test_case;

static unsigned long test_checks, test_failures;
static test_case *test_first, **test_last = &test_first;

static inline void test_register(test_case *test)
{
    *test_last = test;
    test_last = &test->next;
}

/* A function, so that what a call got is said without calling again. */
static inline void test_check_str(const char *file, int line, const char *what, const char *got,
                                  const char *want)
{
    test_checks++;
    if (strcmp(got, want) != 0 && test_failures++ < 20)
        printf("  %s:%d: %s: \"%s\" is not \"%s\"\n", file, line, what, got, want);
}

/* Each test registers itself before main, in the order of the file. */
#define TEST(function)                                                                             \
    static void function(void);                                                                    \
    __attribute__((constructor)) static void register_##function(void)                             \
    {                                                                                              \
        static test_case test = {#function, function, NULL};                                       \
        test_register(&test);                                                                      \
    }                                                                                              \
    static void function(void)

#define ENDS(function) __attribute__((cleanup(function)))

#define CHECK_MSG(condition, ...)                                                                  \
    do {                                                                                           \
        test_checks++;                                                                             \
        if (!(condition)) {                                                                        \
            if (test_failures++ < 20) {                                                            \
                printf("  %s:%d: %s: ", __FILE__, __LINE__, #condition);                           \
                printf(__VA_ARGS__);                                                               \
                printf("\n");                                                                      \
            }                                                                                      \
        }                                                                                          \
    } while (0)
#define CHECK(condition)     CHECK_MSG(condition, "does not hold")
#define CHECK_STR(got, want) test_check_str(__FILE__, __LINE__, #got, (got), (want))
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        unsigned long before_ = test_failures;                                                     \
        CHECK(condition);                                                                          \
        if (test_failures != before_)                                                              \
            return;                                                                                \
    } while (0)

static inline int test_run(int argc, char **argv)
{
    unsigned long passed = 0, failed = 0;
    for (const test_case *test = test_first; test; test = test->next) {
        if (argc > 1 && !strstr(test->name, argv[1]))
            continue;
        test_checks = test_failures = 0;
        test->run();
        int ok = test_failures == 0 && test_checks > 0;
        printf("%s %s", ok ? "ok" : "FAILED", test->name);
        if (!test_checks)
            printf(" (checked nothing)");
        else if (!ok)
            printf(" (%lu of %lu checks)", test_failures, test_checks);
        printf("\n");
        fflush(stdout);
        ok ? passed++ : failed++;
    }
    printf("%lu passed, %lu failed\n", passed, failed);
    return failed != 0 || passed == 0;
}

#define TEST_MAIN()                                                                                \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        return test_run(argc, argv);                                                               \
    }

#endif
