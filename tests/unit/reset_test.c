/* Restarts: the reasons and their order, and numbers at the limits. The oracle of delta_test.c makes the
 * same decision for made-up profiles. */
#include "../support/test.h"

#include "ledger/reset.h"
#include "run.h"

#define PLENTY (UINT64_C(1) << 40)

enum { STRIDE = 4 };

/* One sample of one look: nobody is there more than once. */
typedef struct sample {
    size_t who;
    int64_t values[STRIDE];
} sample;

typedef struct kit {
    tracker tracker;
    pd_mem mem;
    pd_ledger ledger;
    pd_window window;
} kit;

static void begin(kit *k, size_t counters)
{
    memset(k, 0, sizeof *k);
    pprofdelta_allocator allocator = tracker_allocator(&k->tracker);
    pd_mem_init(&k->mem, &allocator, PLENTY);
    pd_ledger_clear(&k->ledger, counters);
}

static void end(kit *k)
{
    pd_window_release(&k->window, &k->mem);
    pd_ledger_release(&k->ledger, &k->mem);
    CHECK(k->mem.used == 0);
}

static void see(kit *k, const sample *samples, size_t len)
{
    REQUIRE(pd_window_begin(&k->window, &k->mem, &k->ledger, STRIDE, len, NULL) == PPROFDELTA_OK);
    for (size_t i = 0; i < len; i++) {
        pd_key key = {samples[i].who * 31, samples[i].who};
        REQUIRE(pd_window_add(&k->window, &k->mem, key, 0, samples[i].values, NULL) ==
                PPROFDELTA_OK);
    }
}

static void remember(kit *k, const sample *samples, size_t len)
{
    see(k, samples, len);
    pd_window_commit(&k->window, PD_COMMIT_KEEP);
}

static pprofdelta_restart judge(const kit *k, pd_reset_facts facts)
{
    return pd_reset_judge(&k->window, &facts).restart;
}

/* Two looks with one counter, and what is made of them without further facts. */
static pd_verdict verdict(const sample *prev, size_t prev_len, const sample *cur, size_t cur_len)
{
    kit k;
    begin(&k, 1);
    remember(&k, prev, prev_len);
    see(&k, cur, cur_len);
    pd_verdict v = pd_reset_judge(&k.window, &(pd_reset_facts){0});
    pd_window_abandon(&k.window);
    end(&k);
    return v;
}

TEST(sums_do_not_wrap)
{
    sample prev[8], cur[8];
    for (size_t i = 0; i < 8; i++)
        cur[i] = prev[i] = (sample){.who = i, .values = {INT64_MAX}};
    CHECK(verdict(prev, 8, cur, 8).restart == PPROFDELTA_RESTART_NONE);
    CHECK(verdict(prev, 8, cur, 5).restart == PPROFDELTA_RESTART_NONE);
    CHECK(verdict(prev, 8, cur, 4).restart == PPROFDELTA_RESTART_MASS);
    cur[0].values[0] = INT64_MIN; /* behind by twice what there was */
    CHECK(verdict(prev, 8, cur, 8).restart == PPROFDELTA_RESTART_NONE);
    cur[1].values[0] = INT64_MIN;
    CHECK(verdict(prev, 8, cur, 8).restart == PPROFDELTA_RESTART_MASS);
}

TEST(the_first_window_is_no_restart)
{
    static const sample some[] = {{1, {5}}};
    kit k;
    begin(&k, 1);
    see(&k, some, 1);
    pd_reset_facts facts = {.on_reset = PPROFDELTA_ON_RESET_RESTART,
                            .started_nanos = 9,
                            .prev_time_nanos = 5,
                            .other_build = true,
                            .main_moved = true};
    CHECK(judge(&k, facts) == PPROFDELTA_RESTART_NONE);
    end(&k);
}

/* The reasons one above the other: each is given only where none above it holds. */
TEST(the_strongest_reason_is_reported)
{
    static const sample prev[] = {{1, {100}}, {2, {100}}};
    static const sample curs[][2] = {
        {{1, {100}}, {2, {100}}}, {{1, {99}}, {2, {100}}}, {{1, {0}}, {2, {100}}}};
    static const pprofdelta_on_reset modes[] = {
        PPROFDELTA_ON_RESET_AUTO, PPROFDELTA_ON_RESET_RESTART, PPROFDELTA_ON_RESET_CLAMP,
        PPROFDELTA_ON_RESET_NEGATIVE, PPROFDELTA_ON_RESET_FAIL};
    kit k;
    begin(&k, 1);
    remember(&k, prev, 2);
    for (size_t cur = 0; cur < 3; cur++) {
        see(&k, curs[cur], 2);
        for (size_t mode = 0; mode < 5; mode++)
            for (int started = 0; started < 2; started++)
                for (int other = 0; other < 6; other++) {
                    int build = other % 3; /* 2: in another place */
                    bool live = other >= 3;
                    pd_reset_facts facts = {.on_reset = modes[mode],
                                            .started_nanos = started ? 1001 : 0,
                                            .prev_time_nanos = 1000,
                                            .other_build = build != 0,
                                            .main_moved = build == 2,
                                            .is_other_heap = live};
                    bool never = modes[mode] == PPROFDELTA_ON_RESET_CLAMP ||
                                 modes[mode] == PPROFDELTA_ON_RESET_NEGATIVE;
                    bool any = cur && modes[mode] == PPROFDELTA_ON_RESET_RESTART;
                    bool another = build == 2 || (build && cur == 2);
                    pprofdelta_restart want = never      ? PPROFDELTA_RESTART_NONE
                                              : started  ? PPROFDELTA_RESTART_STARTED
                                              : live     ? PPROFDELTA_RESTART_LIVE
                                              : another  ? PPROFDELTA_RESTART_BUILD_ID
                                              : cur == 2 ? PPROFDELTA_RESTART_MASS
                                              : any      ? PPROFDELTA_RESTART_ANY
                                                         : PPROFDELTA_RESTART_NONE;
                    pd_verdict v = pd_reset_judge(&k.window, &facts);
                    CHECK_MSG(v.restart == want, "cur %zu, mode %zu: %d", cur, mode, v.restart);
                    CHECK(v.has_decrease == (cur > 0));
                }
        pd_window_abandon(&k.window);
    }
    end(&k);
}

TEST(a_start_before_prev_is_no_restart)
{
    static const sample same[] = {{1, {5}}};
    static const struct {
        int64_t started, prev_time;
        bool is_restart;
    } cases[] = {{1001, 1000, true},      {1000, 1000, false},
                 {999, 1000, false},      {0, 1000, false},
                 {1000, 0, false},        {0, 0, false},
                 {INT64_MAX, 1000, true}, {INT64_MAX, INT64_MAX, false},
                 {-5, -6, true},          {-6, -5, false},
                 {1, INT64_MIN, true}};
    kit k;
    begin(&k, 1);
    remember(&k, same, 1);
    see(&k, same, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pd_reset_facts facts = {.started_nanos = cases[i].started,
                                .prev_time_nanos = cases[i].prev_time};
        CHECK_MSG((judge(&k, facts) == PPROFDELTA_RESTART_STARTED) == cases[i].is_restart,
                  "case %zu", i);
    }
    end(&k);
}

TEST_MAIN()
