/* For a build whose host compresses what the library writes (-Ddoors=parsed): what stands in the place of
 * compress_gzip.c and compress_zstd.c. */
#include "codec/compress.h"

/* Pointers to what these would write are not const, as in the files that they stand for.
 * NOLINTBEGIN(readability-non-const-parameter) */

static pprofdelta_status unable(pprofdelta_error *err)
{
    return pd_refuse(err, "options.compression: this build of the library does not compress");
}

pprofdelta_status pd_gzip_compress(pd_compressor *c, pd_mem *mem, pd_bytes in,
                                   pprofdelta_error *err)
{
    (void)c, (void)mem, (void)in;
    return unable(err);
}

pprofdelta_status pd_zstd_compress(pd_compressor *c, pd_mem *mem, pd_bytes in,
                                   pprofdelta_error *err)
{
    (void)c, (void)mem, (void)in;
    return unable(err);
}

void pd_gzip_free(void *gzip)
{
    (void)gzip;
}

void pd_zstd_free(void *zstd)
{
    (void)zstd;
}

/* NOLINTEND(readability-non-const-parameter) */
