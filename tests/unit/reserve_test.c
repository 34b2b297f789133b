/* The pages that the agent keeps for when the kernel has no others. */
#include "agent/base/agent.h"
#include "agent/base/real.h"
#include "agent/base/reserve.h"

#include "test.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define PAGE   ((size_t)4096)
#define BLOCKS (PD_RESERVE_LEN / PAGE)

pd_agent pd_the_agent;

const pd_other_functions *pd_next(void)
{
    static const pd_other_functions functions = {.mmap = mmap};
    return &functions;
}

static struct rlimit usual;

/* From here on, until restore, the kernel has no more pages. */
static void use_up(void)
{
    getrlimit(RLIMIT_AS, &usual);
    const struct rlimit none = {PAGE, usual.rlim_max};
    setrlimit(RLIMIT_AS, &none);
}

static void restore(void)
{
    setrlimit(RLIMIT_AS, &usual);
}

static bool is_zero(const char *block, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (block[i])
            return false;
    return true;
}

TEST(the_kernel_comes_first)
{
    char *blocks[4];
    pd_reserve_begin();
    pd_reserve_allow(true);
    for (size_t i = 0; i < 4; i++) {
        blocks[i] = pd_reserve_map(PD_RESERVE_LEN);
        REQUIRE(blocks[i]);
        memset(blocks[i], 1, PD_RESERVE_LEN);
    }
    for (size_t i = 0; i < 4; i++)
        pd_reserve_unmap(blocks[i], PD_RESERVE_LEN);
    pd_reserve_unmap(NULL, 1);
}

TEST(only_who_may_gets_reserved_pages)
{
    pd_reserve_allow(false);
    use_up();
    void *forbidden = pd_reserve_map(1);
    pd_reserve_allow(true);
    void *allowed = pd_reserve_map(1);
    void *nothing = pd_reserve_map(0), *huge = pd_reserve_map(SIZE_MAX);
    restore();
    CHECK(!forbidden && allowed && !nothing && !huge);
    pd_reserve_unmap(allowed, 1);
}

TEST(all_of_it_can_be_had_again_and_again)
{
    static char *blocks[BLOCKS];
    use_up();
    for (int round = 0; round < 3; round++) {
        size_t len = 0;
        while (len < BLOCKS && (blocks[len] = pd_reserve_map(PAGE - 1)) != NULL)
            len++;
        void *one_more = pd_reserve_map(1);
        bool is_clear = true;
        for (size_t i = 0; i < len; i++) {
            is_clear &= is_zero(blocks[i], PAGE);
            memset(blocks[i], 'x', PAGE);
        }
        for (size_t i = 0; i < len; i++)
            pd_reserve_unmap(blocks[i], PAGE - 1);
        CHECK(len == BLOCKS);
        CHECK(!one_more && is_clear);
    }
    void *whole = pd_reserve_map(PD_RESERVE_LEN), *more = pd_reserve_map(1);
    pd_reserve_unmap(whole, PD_RESERVE_LEN);
    restore();
    CHECK(whole && !more);
}

static bool is_filled(const char *block, char with)
{
    return block[0] == with && block[PAGE - 1] == with;
}

TEST(neighbours_stay_as_they_are)
{
    char *blocks[3];
    const size_t sizes[3] = {PAGE, 3 * PAGE, PAGE};
    use_up();
    for (size_t i = 0; i < 3; i++) {
        blocks[i] = pd_reserve_map(sizes[i]);
        if (blocks[i])
            memset(blocks[i], 'x', sizes[i]);
    }
    pd_reserve_unmap(blocks[1], sizes[1]);
    char *two = pd_reserve_map(2 * PAGE), *other = pd_reserve_map(2 * PAGE);
    restore();
    CHECK(blocks[0] && is_filled(blocks[0], 'x'));
    CHECK(blocks[2] && is_filled(blocks[2], 'x'));
    CHECK(two && two == blocks[1] && is_zero(two, 2 * PAGE)); /* the first that fits */
    CHECK(other && other != two + 2 * PAGE);
    pd_reserve_unmap(two, 2 * PAGE);
    pd_reserve_unmap(other, 2 * PAGE);
    pd_reserve_unmap(blocks[0], PAGE);
    pd_reserve_unmap(blocks[2], PAGE);
}

/* qemu's user mode does not enforce the limit. */
static bool memory_can_be_used_up(void)
{
    use_up();
    void *more = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    restore();
    return more == MAP_FAILED;
}

int main(int argc, char **argv)
{
    enum { MESON_SKIPS = 77 };
    if (!memory_can_be_used_up()) {
        printf("skipped: RLIMIT_AS is not enforced here\n");
        return MESON_SKIPS;
    }
    return test_run(argc, argv);
}
