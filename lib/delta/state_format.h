/* The layout of a state (see state.h), for the two who must agree on it. */
#ifndef PD_DELTA_STATE_FORMAT_H
#define PD_DELTA_STATE_FORMAT_H

#include "base/key.h"

#include <string.h>

/* More attempts are not to be had: one a second for 136 years. */
#define PD_STATE_MOST_ATTEMPTS UINT32_MAX

#define PD_STATE_MAGIC "\x89PDS\r\n\x1a\n" /* no text, and no text tool leaves it as it is */

enum {
    PD_STATE_MAGIC_LEN = 8,
    PD_STATE_FORMAT = 3,
    PD_STATE_OLDEST = 1,         /* what no version can read any more */
    PD_STATE_INTRO = 16,         /* magic, format, length of the head */
    PD_STATE_FIXED = 120,        /* the intro, and the numbers behind it */
    PD_STATE_HEAD_SUM = 8,       /* at the end of the head */
    PD_STATE_HEAD_MAX = 1 << 20, /* no head is longer: 64 names have room */
    PD_STATE_MAPPING = 56,
    PD_STATE_UNSEEN = 8,
    PD_STATE_CHECK = 16,
    PD_STATE_CHUNK = 8192, /* bytes that are put together at a time */
    PD_STATE_SLACK = 8     /* a value is read and written as 8 bytes, whatever it takes */
};

/* Where the numbers stand. */
enum {
    PD_STATE_AT_FORMAT = 8,    /* 4 */
    PD_STATE_AT_HEAD = 12,     /* 4 */
    PD_STATE_AT_SEQUENCE = 16, /* 8 */
    PD_STATE_AT_FROM = 24,     /* 8 */
    PD_STATE_AT_TIME = 32,     /* 8 */
    PD_STATE_AT_ENTRIES = 40,  /* 8 */
    PD_STATE_AT_UNSEEN = 48,   /* 8 */
    PD_STATE_AT_HAS_BASE = 56, /* 4 */
    PD_STATE_AT_RESTART = 60,  /* 4 */
    PD_STATE_AT_TYPES = 64,    /* 4 */
    PD_STATE_AT_COUNTERS = 68, /* 4 */
    PD_STATE_AT_BUILD_ID = 72, /* 4: its length. Its bytes come first behind the lengths of names */
    PD_STATE_AT_RATE = 76,     /* 4: of a text form's raw counts, as pd_text has it; else 0 */
    PD_STATE_AT_DURATION = 80, /* 8: of the last profile */
    PD_STATE_AT_LIVE_ID = 88,  /* 8: of the stamp of a live heap, where the last profile has one */
    PD_STATE_AT_LIVE_TO = 96,  /* 8: the end of that stamp */
    PD_STATE_AT_MAPPED = 104,  /* 8: how many mappings */
    PD_STATE_AT_ATTEMPTS = 112 /* 8: at the next window; the only number of an empty state */
    /* then, for each type, the lengths of its name and its unit, 4 each; for each counter, how many
     * bytes its values take, 1 each; the bytes of the build id and all names, in this order; zeros
     * up to a multiple of 8; the head's sum */
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

/* The bytes that a value takes, and all values do that have no bit but those of this one. */
static inline uint8_t pd_state_width(uint64_t value)
{
    uint8_t width = 0;
    for (; value; value >>= 8)
        width++;
    return width;
}

#endif
