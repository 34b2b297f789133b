/* Times: now, and as messages show them. */
#ifndef PD_BASE_TIME_H
#define PD_BASE_TIME_H

#include "pprofdelta.h"

/* Nanoseconds since 1970 by the system's clock; 0 if there is none. */
int64_t pd_time_now(void);

/* Writes a time in nanoseconds since 1970 as an RFC 3339 time in UTC (2026-11-21T08:00:00Z) and
 * returns buf. Fractions of a second are written if they are not 0, without trailing zeros. */
char *pd_time_format(int64_t nanos, char buf[48]);

typedef struct pd_time_text {
    char text[48];
} pd_time_text;

/* Formats a time for a message: pd_time_shown(nanos).text. 0 gives "an unknown time". */
pd_time_text pd_time_shown(int64_t nanos);

#endif
