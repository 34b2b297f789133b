/* For a build whose host compresses what the library writes (-Ddoors=portable): what stands in the place of
 * compress.c. */
#include "codec/compress.h"

void pd_compressor_end(pd_compressor *c)
{
    (void)c;
}

uint64_t pd_compressor_own(const pd_compressor *c)
{
    (void)c;
    return 0;
}

pprofdelta_status pd_compress_bytes(pd_compressor *c, pd_mem *mem, pd_bytes in, pd_bytes *out,
                                    pprofdelta_error *err)
{
    (void)mem;
    if (c->compression != PPROFDELTA_PLAIN)
        return pd_refuse(err, "options.compression: this build of the library does not compress");
    *out = in;
    return PPROFDELTA_OK;
}
