/* For a program that is linked with ISA-L; else inflate_by_zlib.c stands here. */
#include "codec/inflate_stream.h"

const pd_inflate_backend *pd_inflate_backend_used(void)
{
    return &pd_inflate_isal;
}
