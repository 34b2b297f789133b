/* The table of plans: every row is a situation, and how a profile is then read. */
#include "delta/plan.h"

#include "test.h"

enum { PIECE = 128 << 10 };

#define KB  (UINT64_C(1) << 10)
#define MB  (UINT64_C(1) << 20)
#define GB8 (UINT64_C(8) << 30)

/* Short names, so that a row is a line. */
enum {
    PLAIN = PD_FORMAT_PLAIN,
    GZIP = PD_FORMAT_GZIP,
    ZSTD = PD_FORMAT_ZSTD,
    WHOLE = PD_SOURCE_WHOLE,
    STREAM = PD_SOURCE_STREAM
};

typedef enum role { INPUT, LONG, KEPT } role;

typedef struct row {
    const char *what;
    int format;
    uint64_t announced, left;
    role role;
    unsigned nth;
    int source;
} row;

static const row rows[] = {
    {"small", GZIP, 40 * KB, GB8, INPUT, 0, WHOLE},
    {"large", GZIP, 40 * MB, GB8, INPUT, 0, WHOLE},
    {"plain", PLAIN, 40 * MB, GB8, INPUT, 0, WHOLE},
    {"no size", ZSTD, 0, GB8, INPUT, 0, WHOLE},
    /* What may not fit as a whole is a stream. */
    {"a sixth", GZIP, 40 * MB, 240 * MB, INPUT, 0, WHOLE},
    {"more than a sixth", GZIP, 40 * MB + 1, 240 * MB, INPUT, 0, STREAM},
    {"zstd", ZSTD, 40 * MB + 1, 240 * MB, INPUT, 0, STREAM},
    {"plain", PLAIN, 40 * MB, 10 * MB, INPUT, 0, WHOLE},
    {"kept", GZIP, 40 * MB + 1, 240 * MB, KEPT, 0, WHOLE},
    /* After E_LIMIT. */
    {"second try, short", GZIP, 256 * KB, GB8, INPUT, 1, WHOLE},
    {"second try, long", GZIP, 256 * KB + 1, GB8, INPUT, 1, STREAM},
    {"second try, no size", ZSTD, 0, GB8, INPUT, 1, WHOLE},
    {"second try, no size", ZSTD, 0, GB8, LONG, 1, STREAM},
    {"second try, kept", GZIP, 40 * MB, GB8, KEPT, 1, WHOLE},
};

static pd_plan_facts facts_of(const row *r)
{
    return (pd_plan_facts){.format = (pd_format)r->format,
                           .announced = r->announced,
                           .left = r->left,
                           .packed = r->role == LONG ? 32 * KB + 1 : 32 * KB,
                           .keeps_bytes = r->role == KEPT};
}

TEST(every_situation_has_its_plan)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const row *r = &rows[i];
        pd_plan_facts facts = facts_of(r);
        pd_plan plan = pd_plan_choose(&facts, r->nth);
        CHECK_MSG((int)plan.source == r->source, "row %zu, %s: %d", i, r->what, plan.source);
        CHECK_MSG(plan.piece == PIECE && plan.is_tight == (r->nth > 0), "row %zu, %s", i, r->what);
    }
}

/* Whether a later plan succeeds from a certain limit on must not depend on the limit. */
TEST(later_plans_do_not_depend_on_the_limit)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (unsigned nth = 1; nth < PD_PLANS; nth++) {
            pd_plan_facts facts = facts_of(&rows[i]), least = facts;
            least.left = 1;
            CHECK(pd_plan_choose(&facts, nth).is_tight);
            CHECK(pd_plan_choose(&facts, nth).source == pd_plan_choose(&least, nth).source);
        }
}

TEST(tests_may_choose)
{
    pd_plan_facts facts = facts_of(&rows[0]);
    facts.piece = 50;
    pd_plan plan = pd_plan_choose(&facts, 0);
    CHECK(plan.source == PD_SOURCE_STREAM && plan.piece == 50);
}

TEST_MAIN()
