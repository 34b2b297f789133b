/* A gzip member that is put together from parts which know nothing of each other.
 *
 *     [ head | deflate data ~ deflate data ~ deflate data | tail ]
 *
 * libdeflate makes deflate data that are whole: their last block says that it is the final one,
 * which has to be taken back where more is to follow. libdeflate does not say where that block
 * begins, so zlib inflates the data and stops at each block. Then an empty stored block brings them
 * to a whole byte (that is ~ above), and the next part follows as it is. */
#ifndef PD_CODEC_MEMBER_H
#define PD_CODEC_MEMBER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    PD_MEMBER_HEAD = 10,
    PD_MEMBER_TAIL = 8,
    PD_MEMBER_JOINT = 6 /* what opening the end of data may add to them */
};

/* The memory that pd_member_open works in (see member_check.h), and its size. It need not be cleared,
 * and can be used again. Calls on several threads each have one of their own. */
typedef struct pd_member_check pd_member_check;
extern const size_t pd_member_check_size;

static inline void pd_member_head(uint8_t *at)
{
    static const uint8_t head[PD_MEMBER_HEAD] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff};
    memcpy(at, head, sizeof head);
}

static inline void pd_member_tail(uint8_t *at, uint32_t crc, uint64_t len)
{
    for (int i = 0; i < 4; i++) {
        at[i] = (uint8_t)(crc >> 8 * i);
        at[4 + i] = (uint8_t)(len >> 8 * i);
    }
}

/* Makes data[0..len) go on; there is room behind them. Returns how many bytes they take now, or 0
 * where they are not whole deflate data. */
size_t pd_member_open(pd_member_check *check, uint8_t *data, size_t len);

#endif
