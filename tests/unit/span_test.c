/* Whether a profile is cumulative or a window, by the times of two profiles. */
#include "../support/test.h"

#include "ledger/reset.h"

#include <stdint.h>

#define S  INT64_C(1000000000)
#define T0 (INT64_C(1700000000) * S)

enum { CUMULATIVE = PD_SPAN_CUMULATIVE, UNCLEAR = PD_SPAN_UNCLEAR, WINDOW = PD_SPAN_WINDOW };

typedef struct span_case {
    const char *what;
    pd_span prev, cur;
    int64_t started_nanos;
    int want;
} span_case;

static const span_case spans[] = {
    {"no durations, as Go has them", {T0, 0}, {T0 + 60 * S, 0}, 0, CUMULATIVE},
    {"the same profile", {T0, 0}, {T0, 0}, 0, CUMULATIVE},
    {"the same window", {T0, 3 * S}, {T0, 3 * S}, 0, CUMULATIVE},
    {"no times", {0, 0}, {0, 0}, 0, CUMULATIVE},
    {"no times, durations since a reset", {0, 5 * S}, {0, 8 * S}, 0, CUMULATIVE},
    {"no times, one duration", {0, 0}, {0, 8 * S}, 0, UNCLEAR},
    {"a negative duration is none", {T0, -S}, {T0 + 60 * S, INT64_MIN}, 0, CUMULATIVE},

    {"since the process began", {T0, 30 * S}, {T0 + 60 * S, 90 * S}, 0, CUMULATIVE},
    {"... a moment ago", {T0, 1}, {T0 + 60 * S, 60 * S + 1}, 0, CUMULATIVE},
    {"... by a clock that was set", {T0, 30 * S}, {T0 + 60 * S, 83 * S}, 0, CUMULATIVE},
    {"... and back", {T0, 30 * S}, {T0 + 60 * S, 100 * S}, 0, CUMULATIVE},
    {"... and far back", {T0, 30 * S}, {T0 + 60 * S, 101 * S}, 0, UNCLEAR},
    {"... by one that was set far", {T0, 30 * S}, {T0 + 60 * S, 82 * S}, 0, WINDOW},

    {"a window, later", {T0, 0}, {T0 + 60 * S, 3 * S}, 0, WINDOW},
    {"a window from prev on", {T0, 0}, {T0 + 60 * S, 60 * S}, 0, WINDOW},
    {"a window that begins before prev", {T0, 0}, {T0 + 60 * S, 60 * S + 1}, 0, UNCLEAR},
    {"two windows, apart", {T0, 3 * S}, {T0 + 60 * S, 3 * S}, 0, WINDOW},
    {"two windows, one after the other", {T0, 60 * S}, {T0 + 60 * S, 60 * S}, 0, WINDOW},
    {"... told by their beginnings", {T0, 60 * S}, {T0 + 60 * S, 60 * S + S / 100}, 0, WINDOW},
    {"... the second much longer", {T0, S}, {T0 + S, 3 * S}, 0, UNCLEAR},
    {"two windows that overlap by half", {T0, 60 * S}, {T0 + 30 * S, 60 * S}, 0, WINDOW},
    {"a shorter one in a longer one", {T0, 60 * S}, {T0, 10 * S}, 0, WINDOW},

    {"prev is a window, perhaps", {T0, 3 * S}, {T0 + 60 * S, 0}, 0, UNCLEAR},
    {"prev has no time", {0, 0}, {T0 + 60 * S, 3 * S}, 0, UNCLEAR},
    {"cur has no time", {T0, 3 * S}, {0, 3 * S}, 0, CUMULATIVE},

    {"a new process, since it began", {T0, 30 * S}, {T0 + 60 * S, 20 * S}, T0 + 40 * S, CUMULATIVE},
    {"... by its own clock", {T0, 30 * S}, {T0 + 60 * S, 19 * S}, T0 + 40 * S, CUMULATIVE},
    {"... a window of it", {T0, 30 * S}, {T0 + 60 * S, 3 * S}, T0 + 40 * S, WINDOW},
    {"the same process, known to be old", {T0, 0}, {T0 + 60 * S, 3 * S}, T0 - S, WINDOW},
    {"a start that is to come", {T0, 0}, {T0 + 60 * S, 3 * S}, T0 + 61 * S, WINDOW},

    {"before 1970", {-100, 0}, {-40, 60}, 0, WINDOW},
    {"the ends of time", {INT64_MIN, 0}, {INT64_MAX, INT64_MAX}, 0, WINDOW},
    {"... with durations", {INT64_MIN, INT64_MAX}, {INT64_MIN + 1, INT64_MAX}, 0, CUMULATIVE},
};

TEST(windows_are_found_by_times)
{
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
        const span_case *c = &spans[i];
        int got = (int)pd_span_judge(&c->prev, &c->cur, c->started_nanos);
        CHECK_MSG(got == c->want, "%s: %d", c->what, got);
    }
}

TEST(without_prev_only_the_duration_is_known)
{
    CHECK(pd_span_judge(NULL, &(pd_span){T0, 0}, 0) == PD_SPAN_CUMULATIVE);
    CHECK(pd_span_judge(NULL, &(pd_span){T0, 3 * S}, 0) == PD_SPAN_UNCLEAR);
    CHECK(pd_span_judge(NULL, &(pd_span){0, 3 * S}, T0) == PD_SPAN_UNCLEAR);
    CHECK(pd_span_judge(NULL, &(pd_span){T0, -1}, 0) == PD_SPAN_CUMULATIVE);
}

TEST_MAIN()
