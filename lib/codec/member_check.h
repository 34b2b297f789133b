/* The memory that pd_member_open works in, for those who make it themselves. member.h does not include
 * this, because it needs zlib. */
#ifndef PD_CODEC_MEMBER_CHECK_H
#define PD_CODEC_MEMBER_CHECK_H

#include "codec/inflate_zlib.h"
#include "codec/member.h"

struct pd_member_check {
    pd_zlib zlib;
    uint8_t out[64 << 10]; /* what the data inflates to, which is not kept */
};

#endif
