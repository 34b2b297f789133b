/* Times: now, and as messages show them. */
#ifndef PD_BASE_TIME_H
#define PD_BASE_TIME_H

#include "pprofdelta.h"

/* Nanoseconds since 1970 by the system's clock; 0 if there is none. */
int64_t pd_time_now(void);

typedef struct pd_time_text {
    char text[48];
} pd_time_text;

/* Formats a time for a message: pd_time_shown(nanos).text. 0 gives "an unknown time". */
pd_time_text pd_time_shown(int64_t nanos);

#endif
