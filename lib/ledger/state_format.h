/* The layout of a state (see state.h), for its reader and its writer. */
#ifndef PD_LEDGER_STATE_FORMAT_H
#define PD_LEDGER_STATE_FORMAT_H

#include "base/key.h"

#include <string.h>

/* The largest number of attempts: one a second for 136 years. */
#define PD_STATE_ATTEMPTS_MAX UINT32_MAX

#define PD_STATE_MAGIC "\x89PDS\r\n\x1a\n" /* no text tool leaves it unchanged */

enum {
    PD_STATE_MAGIC_LEN = 8,
    PD_STATE_FORMAT = 5,
    PD_STATE_OLDEST = 1,         /* oldest format that was ever written */
    PD_STATE_INTRO = 16,         /* magic, format, length of the head */
    PD_STATE_FIXED = 200,        /* the intro and the numbers after it */
    PD_STATE_HEAD_SUM = 8,       /* at the end of the head */
    PD_STATE_HEAD_MAX = 1 << 20, /* largest head: it has room for 64 names */
    PD_STATE_MAPPING = 56,
    PD_STATE_UNSEEN = 8,
    PD_STATE_TRIED = 4,
    PD_STATE_CHECK = 16,
    PD_STATE_ARRIVED = 1,
    PD_STATE_CHUNK = 8192, /* size of the buffer */
    PD_STATE_SLACK = 8     /* values are read and written 8 bytes at a time */
};

/* Offsets in the head, with the size of each number. */
enum {
    PD_STATE_AT_FORMAT = 8,          /* 4 */
    PD_STATE_AT_HEAD = 12,           /* 4 */
    PD_STATE_AT_SEQUENCE = 16,       /* 8: of the last committed window, */
    PD_STATE_AT_FROM = 24,           /* 8: its begin, */
    PD_STATE_AT_TO = 32,             /* 8: and its end */
    PD_STATE_AT_ENTRIES = 40,        /* 8 */
    PD_STATE_AT_UNSEEN = 48,         /* 8 */
    PD_STATE_AT_HAS_BASE = 56,       /* 4 */
    PD_STATE_AT_RESTART = 60,        /* 4: of the last committed window */
    PD_STATE_AT_TYPES = 64,          /* 4; 0: the state is empty, and all but the id is 0 */
    PD_STATE_AT_COUNTERS = 68,       /* 4 */
    PD_STATE_AT_BUILD_ID = 72,       /* 4: its length. Its bytes follow the widths */
    PD_STATE_AT_RATE = 76,           /* 4: of a text dump: see pd_dump; else 0 */
    PD_STATE_AT_DURATION = 80,       /* 8: of the profile seen last */
    PD_STATE_AT_LIVE_ID = 88,        /* 8: of its stamp, if it is a live heap's */
    PD_STATE_AT_LIVE_TO = 96,        /* 8: the end of that stamp */
    PD_STATE_AT_MAPPED = 104,        /* 8: number of mappings */
    PD_STATE_AT_ATTEMPTS = 112,      /* 8: at the window handed out last; 0: it is not open */
    PD_STATE_AT_ID = 120,            /* 8: of the series; 0: none */
    PD_STATE_AT_BINARY = 128,        /* 8: the length of the name of its binary */
    PD_STATE_AT_TIME = 136,          /* 8: of the profile seen last */
    PD_STATE_AT_COMMITTED = 144,     /* 8: number of committed entries */
    PD_STATE_AT_TRIED = 152,         /* 8: of those, in the section `tried` */
    PD_STATE_AT_LAST_SEQUENCE = 160, /* 8: of the window handed out last, */
    PD_STATE_AT_LAST_FROM = 168,     /* 8: its begin, */
    PD_STATE_AT_LAST_TO = 176,       /* 8: its end, */
    PD_STATE_AT_LAST_DURATION = 184, /* 8: its duration, */
    PD_STATE_AT_LAST_RESTART = 192   /* 4: and its restart; then 4 zero bytes */
    /* Then for each type the lengths of its name and its unit, 4 each; for each counter the bytes
     * of a value, 1 each, and the same for the values of `tried`; the bytes of the build id, of
     * the binary's name and of all names, in this order; zeros up to a multiple of 8; the head's checksum. */
};

static inline void pd_put64(uint8_t *at, uint64_t value)
{
    value = pd_le64(value);
    memcpy(at, &value, sizeof value);
}

static inline uint64_t pd_get64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return pd_le64(value);
}

static inline void pd_put32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static inline uint32_t pd_get32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* The bytes that a value needs. The value may be the OR of several. */
static inline uint8_t pd_state_width(uint64_t value)
{
    uint8_t width = 0;
    for (; value; value >>= 8)
        width++;
    return width;
}

#endif
