/* The table of plans: every row is a situation, and how a profile is then read and compressed. */
#include "delta/plan.h"

#include "test.h"

enum { PIECE = 128 << 10 };

#define KB  (UINT64_C(1) << 10)
#define MB  (UINT64_C(1) << 20)
#define GB8 (UINT64_C(8) << 30)
#define GB4 (UINT64_C(4) << 30)

/* Short names, so that a row is a line. */
enum {
    PLAIN = PD_FORMAT_PLAIN,
    GZIP = PD_FORMAT_GZIP,
    ZSTD = PD_FORMAT_ZSTD,
    WHOLE = PD_SOURCE_WHOLE,
    STREAM = PD_SOURCE_STREAM,
    AHEAD = PD_SOURCE_AHEAD,
    ALONE = PD_ORDER_ALONE,
    BESIDE = PD_ORDER_BESIDE,
    INLINE = PD_COMPRESS_INLINE,
    TASKS = PD_COMPRESS_TASKS
};

typedef enum role { WINDOW, PAIR, OTHER, OUTPUT, KEPT } role;

typedef struct row {
    const char *what;
    int format;
    uint64_t packed, announced, left;
    bool has_runner;
    role role;
    unsigned nth;
    int source, order, compressor;
} row;

static const row rows[] = {
    /* Without a runner there are no tasks. */
    {"small", GZIP, 10 * KB, 40 * KB, GB8, 0, WINDOW, 0, WHOLE, ALONE, INLINE},
    {"large", GZIP, 10 * MB, 40 * MB, GB8, 0, WINDOW, 0, WHOLE, ALONE, INLINE},
    {"plain", PLAIN, 40 * MB, 40 * MB, GB8, 0, WINDOW, 0, WHOLE, ALONE, INLINE},
    {"no size", ZSTD, 10 * MB, 0, GB8, 0, WINDOW, 0, WHOLE, ALONE, INLINE},
    /* With one: which files are worth a task. */
    {"small, state", GZIP, 95 * KB, 400 * KB, GB8, 1, WINDOW, 0, WHOLE, ALONE, TASKS},
    {"long, state", GZIP, 96 * KB, 400 * KB, GB8, 1, WINDOW, 0, WHOLE, BESIDE, TASKS},
    {"small, pair", GZIP, 31 * KB, 400 * KB, GB8, 1, PAIR, 0, WHOLE, ALONE, TASKS},
    {"long, pair", GZIP, 32 * KB, 400 * KB, GB8, 1, PAIR, 0, WHOLE, BESIDE, TASKS},
    {"zstd, pair", ZSTD, 32 * KB, 400 * KB, GB8, 1, PAIR, 0, WHOLE, BESIDE, TASKS},
    {"plain, pair", PLAIN, 32 * KB, 32 * KB, GB8, 1, PAIR, 0, WHOLE, BESIDE, TASKS},
    {"base", GZIP, 10 * MB, 40 * MB, GB8, 1, OTHER, 0, WHOLE, ALONE, TASKS},
    /* Half of the memory is lent to the task, if there is plenty. */
    {"half of it", GZIP, MB, 4 * MB, GB4, 1, PAIR, 0, WHOLE, BESIDE, TASKS},
    {"less", GZIP, MB, 4 * MB, GB4 - 1, 1, PAIR, 0, WHOLE, ALONE, TASKS},
    {"a twelfth", GZIP, 100 * MB, GB8 / 12, GB8, 1, PAIR, 0, WHOLE, BESIDE, TASKS},
    {"more", GZIP, 100 * MB, GB8 / 12 + 1, GB8, 1, PAIR, 0, WHOLE, ALONE, TASKS},
    /* What may not fit as a whole is a stream. */
    {"a sixth", GZIP, 10 * MB, 40 * MB, 240 * MB, 0, WINDOW, 0, WHOLE, ALONE, INLINE},
    {"more than a sixth", GZIP, 10 * MB, 40 * MB + 1, 240 * MB, 0, WINDOW, 0, STREAM, ALONE,
     INLINE},
    {"with a runner", GZIP, 10 * MB, 40 * MB + 1, 240 * MB, 1, WINDOW, 0, AHEAD, ALONE, TASKS},
    {"base", GZIP, 10 * MB, 40 * MB + 1, 240 * MB, 1, OTHER, 0, AHEAD, ALONE, TASKS},
    {"short", GZIP, 255 * KB, 4 * MB, 10 * MB, 1, WINDOW, 0, STREAM, ALONE, TASKS},
    {"not short", GZIP, 256 * KB, 4 * MB, 10 * MB, 1, WINDOW, 0, AHEAD, ALONE, TASKS},
    {"zstd", ZSTD, 10 * MB, 40 * MB + 1, 240 * MB, 1, WINDOW, 0, STREAM, ALONE, TASKS},
    {"plain", PLAIN, 40 * MB, 40 * MB, 10 * MB, 1, WINDOW, 0, WHOLE, ALONE, TASKS},
    {"kept", GZIP, 10 * MB, 40 * MB + 1, 240 * MB, 1, KEPT, 0, WHOLE, ALONE, TASKS},
    {"output", GZIP, 10 * MB, 40 * MB + 1, 240 * MB, 0, OUTPUT, 0, STREAM, ALONE, INLINE},
    /* After E_LIMIT. */
    {"second try", GZIP, 10 * KB, 40 * KB, GB8, 1, WINDOW, 1, STREAM, ALONE, INLINE},
    {"third try", GZIP, 10 * KB, 40 * KB, GB8, 1, WINDOW, 2, WHOLE, ALONE, INLINE},
    {"second try, pair", GZIP, 10 * MB, 40 * MB, GB8, 1, PAIR, 1, STREAM, ALONE, INLINE},
    {"second try, kept", GZIP, 10 * MB, 40 * MB, GB8, 1, KEPT, 1, WHOLE, ALONE, INLINE},
    {"second try, output", GZIP, 10 * KB, PIECE, GB8, 0, OUTPUT, 1, WHOLE, ALONE, INLINE},
    {"second try, long output", GZIP, 10 * KB, PIECE + 1, GB8, 0, OUTPUT, 1, STREAM, ALONE, INLINE},
    {"third try, long output", GZIP, 10 * KB, PIECE + 1, GB8, 0, OUTPUT, 2, STREAM, ALONE, INLINE},
};

static pd_plan_facts facts_of(const row *r)
{
    return (pd_plan_facts){.format = (pd_format)r->format,
                           .packed = r->packed,
                           .announced = r->announced,
                           .left = r->left,
                           .has_runner = r->has_runner,
                           .is_window = r->role == WINDOW || r->role == PAIR,
                           .is_pair = r->role == PAIR,
                           .is_output = r->role == OUTPUT,
                           .keeps_bytes = r->role == KEPT};
}

TEST(every_situation_has_its_plan)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const row *r = &rows[i];
        pd_plan_facts facts = facts_of(r);
        pd_plan plan = pd_plan_choose(&facts, r->nth);
        CHECK_MSG((int)plan.source == r->source && (int)plan.order == r->order &&
                      (int)plan.compressor == r->compressor,
                  "row %zu, %s: source %d, order %d, compressor %d", i, r->what, plan.source,
                  plan.order, plan.compressor);
        CHECK_MSG(plan.piece == PIECE && plan.is_tight == (r->nth > 0), "row %zu, %s", i, r->what);
    }
}

/* Whatever the facts are: a later plan uses no runner and less memory. */
TEST(later_plans_need_less)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (unsigned nth = 1; nth < PD_PLANS; nth++) {
            pd_plan_facts facts = facts_of(&rows[i]), alone = facts;
            alone.has_runner = false;
            alone.left = 1;
            pd_plan plan = pd_plan_choose(&facts, nth), least = pd_plan_choose(&alone, nth);
            CHECK(plan.is_tight && plan.order == PD_ORDER_ALONE &&
                  plan.compressor == PD_COMPRESS_INLINE && plan.source != PD_SOURCE_AHEAD);
            CHECK(plan.source ==
                  least.source); /* it depends neither on the limit nor on a runner */
        }
}

TEST(tests_may_choose)
{
    pd_plan_facts facts = facts_of(&rows[0]);
    facts.piece = 50;
    pd_plan plan = pd_plan_choose(&facts, 0);
    CHECK(plan.source == PD_SOURCE_STREAM && plan.piece == 50);
    facts.is_eager = facts.has_runner = true;
    CHECK(pd_plan_choose(&facts, 0).source == PD_SOURCE_AHEAD);
    facts.piece = 0;
    facts.left = 1 << 20;
    CHECK(pd_plan_choose(&facts, 0).order == PD_ORDER_BESIDE);
    facts.has_runner = false;
    CHECK(pd_plan_choose(&facts, 0).order == PD_ORDER_ALONE);
}

TEST_MAIN(CASE(every_situation_has_its_plan), CASE(later_plans_need_less), CASE(tests_may_choose))
