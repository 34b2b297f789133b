/* Every row is a situation, and how a profile is then read. */
#include "delta/reading.h"

#include "test.h"

enum { PIECE = 128 << 10 };

#define KB  (UINT64_C(1) << 10)
#define MB  (UINT64_C(1) << 20)
#define GB8 (UINT64_C(8) << 30)

/* Short names, so that a row is a line. */
enum { PLAIN = PD_CONTAINER_PLAIN, GZIP = PD_CONTAINER_GZIP, ZSTD = PD_CONTAINER_ZSTD };
enum { WHOLE = 0, STREAM = PIECE };

typedef enum role { INPUT, LONG, KEPT } role;

typedef struct row {
    const char *what;
    int format;
    uint64_t announced, left;
    role role;
    bool is_tight;
    size_t chunk;
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

static pd_reading_facts facts_of(const row *r)
{
    return (pd_reading_facts){.container = (pd_container)r->format,
                              .announced = r->announced,
                              .left = r->left,
                              .packed = r->role == LONG ? 32 * KB + 1 : 32 * KB,
                              .needs_all = r->role == KEPT,
                              .is_tight = r->is_tight};
}

TEST(every_situation_has_its_plan)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const row *r = &rows[i];
        pd_reading_facts facts = facts_of(r);
        size_t chunk = pd_reading_chunk(&facts);
        CHECK_MSG(chunk == r->chunk, "row %zu, %s: %zu", i, r->what, chunk);
        /* Whether a call that is made again succeeds must not depend on the limit. */
        facts.left = 1;
        CHECK_MSG(!r->is_tight || pd_reading_chunk(&facts) == chunk, "row %zu", i);
    }
}

TEST(tests_may_choose)
{
    pd_reading_facts facts = facts_of(&rows[0]);
    facts.chunk = 50;
    CHECK(pd_reading_chunk(&facts) == 50);
}

TEST_MAIN()
