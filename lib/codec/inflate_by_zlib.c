/* For a program that is linked without ISA-L; else inflate_by_isal.c stands here. */
#include "codec/inflate_stream.h"

const pd_inflate_backend *pd_inflate_backend_used(void)
{
    return &pd_inflate_zlib;
}
