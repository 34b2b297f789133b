/* For a build without compression libraries (-Dcodecs=disabled): what stands in the place of the files
 * that use them (codec_sources in lib/meson.build).
 *
 * Compressed input is refused. Compressed output cannot be asked for (pd_options_check_output), so what
 * makes it is never called. */
#include "base/option_checks.h"
#include "codec/compress.h"
#include "codec/inflate.h"

/* Pointers to what these would write are not const, as in the files that they stand for.
 * NOLINTBEGIN(readability-non-const-parameter) */

const bool pd_options_has_codecs = false;

/* ---- input --------------------------------------------------------------------------------------- */

static pprofdelta_status refuse(const char *what, pprofdelta_error *err)
{
    return PD_REFUSE(err, 0,
                     "the input is compressed by %s, which this build of the library does not "
                     "inflate: inflate it before it is given to the library",
                     what);
}

pprofdelta_status pd_gzip_some(pd_inflater *inflater, uint8_t *out, size_t room, size_t *made,
                               pprofdelta_error *err)
{
    (void)inflater, (void)out, (void)room, (void)made;
    return refuse("gzip", err);
}

pprofdelta_status pd_zstd_some(pd_inflater *inflater, uint8_t *out, size_t room, size_t *made,
                               pprofdelta_error *err)
{
    (void)inflater, (void)out, (void)room, (void)made;
    return refuse("zstd", err);
}

void pd_gzip_end(pd_inflater *inflater)
{
    (void)inflater;
}

void pd_zstd_end(pd_inflater *inflater)
{
    (void)inflater;
}

uint64_t pd_gzip_announced(pd_bytes file)
{
    (void)file;
    return 0;
}

uint64_t pd_zstd_announced(pd_bytes file)
{
    (void)file;
    return 0;
}

bool pd_gzip_quick(void **gzip, pd_bytes file, pd_buffer *into)
{
    (void)gzip, (void)file, (void)into;
    return false;
}

void pd_gzip_quick_end(void *gzip)
{
    (void)gzip;
}

size_t pd_zstd_head(pd_bytes in, uint8_t *out, size_t room, bool *is_good)
{
    (void)in, (void)out, (void)room;
    *is_good = false;
    return 0;
}

/* ---- output -------------------------------------------------------------------------------------- */

static pprofdelta_status unable(pprofdelta_error *err)
{
    return pd_refuse(err, "this build of the library does not compress");
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
