/* The public header, by itself: the first thing that is included, and all that is. */
#include "pprofdelta_profile.h"

#if !defined(__STDC_VERSION__) || __STDC_VERSION__ < 201112L
#error "the header is for C11"
#endif

/* What programs are compiled against: changing any of it breaks them. */
_Static_assert(PPROFDELTA_OK == 0, "a status is tested as a truth value");
_Static_assert(PPROFDELTA_E_USAGE == 11 && PPROFDELTA_E_STATE == 12 && PPROFDELTA_E_SOURCE == 13 &&
                   PPROFDELTA_E_NOT_CUMULATIVE == 14 && PPROFDELTA_E_OLDER == 15 &&
                   PPROFDELTA_E_OTHER_TARGET == 16,
               "statuses are not renumbered");
_Static_assert(PPROFDELTA_REASON_NONE == 0 && PPROFDELTA_REASON_MAX_MEMORY == 1 &&
                   PPROFDELTA_REASON_NEWER_STATE == 13,
               "reasons are not renumbered");
_Static_assert(PPROFDELTA_ON_RESET_FAIL == 4 && PPROFDELTA_FIRST_ZERO == 1 &&
                   PPROFDELTA_PLAIN == 2 && PPROFDELTA_RESTART_ANY == 4 &&
                   PPROFDELTA_RESTART_LIVE == 5,
               "choices are not renumbered");
_Static_assert(PPROFDELTA_NO_STAMP == 1 && PPROFDELTA_FORCE == 2 && PPROFDELTA_VERIFY == 4 &&
                   PPROFDELTA_DEFAULT_COUNTER == 8,
               "flags keep their bits");
_Static_assert(sizeof(pprofdelta_sum) == 16, "a sum is 128 bits");
_Static_assert(PPROFDELTA_NOWHERE == UINT64_MAX && PPROFDELTA_MAX_TYPES == 64,
               "limits are not narrowed");
_Static_assert(PPROFDELTA_DEFAULT_MAX_MEMORY == 8589934592, "the default is 8 GiB");

#include "../support/test.h"

TEST(options_begin_with_the_defaults)
{
    static const pprofdelta_options zero = {.size = sizeof zero}, init = PPROFDELTA_OPTIONS_INIT;
    CHECK(memcmp(&zero, &init, sizeof zero) == 0);
}

TEST_MAIN()
