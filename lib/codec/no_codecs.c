/* For a build without compression libraries (-Dcodecs=disabled): what stands in the place of the files
 * that use them (codec_sources in lib/meson.build).
 *
 * Compressed input is refused. Compressed output cannot be asked for (pd_options_check_output), so what
 * makes it is never called. */
#include "base/option_checks.h"
#include "codec/compress.h"
#include "codec/unpack.h"

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

pprofdelta_status pd_gzip_inflate(pd_inflater *inflater, pd_mem *mem, const uint8_t *in, size_t len,
                                  pd_buffer *into, pprofdelta_error *err)
{
    return pd_gzip_by_libdeflate(inflater, mem, in, len, into, err);
}

pprofdelta_status pd_gzip_by_libdeflate(pd_inflater *inflater, pd_mem *mem, const uint8_t *in,
                                        size_t len, pd_buffer *into, pprofdelta_error *err)
{
    (void)inflater, (void)mem, (void)in, (void)len, (void)into;
    return refuse("gzip", err);
}

pprofdelta_status pd_zstd_inflate(pd_inflater *inflater, pd_mem *mem, const uint8_t *in, size_t len,
                                  pd_buffer *into, pprofdelta_error *err)
{
    (void)inflater, (void)mem, (void)in, (void)len, (void)into;
    return refuse("zstd", err);
}

uint64_t pd_gzip_announced(const uint8_t *in, size_t len)
{
    (void)in, (void)len;
    return 0;
}

uint64_t pd_zstd_announced(const uint8_t *in, size_t len)
{
    (void)in, (void)len;
    return 0;
}

void pd_gzip_free_decompressor(void *gzip)
{
    (void)gzip;
}

void pd_zstd_free_decompressor(void *zstd)
{
    (void)zstd;
}

pprofdelta_status pd_unpack_gzip(pd_unpacker *unpacker, uint8_t *out, size_t room, size_t *made,
                                 pprofdelta_error *err)
{
    (void)unpacker, (void)out, (void)room, (void)made;
    return refuse("gzip", err);
}

pprofdelta_status pd_unpack_zstd(pd_unpacker *unpacker, uint8_t *out, size_t room, size_t *made,
                                 pprofdelta_error *err)
{
    (void)unpacker, (void)out, (void)room, (void)made;
    return refuse("zstd", err);
}

void pd_unpack_zstd_end(pd_unpacker *unpacker)
{
    (void)unpacker;
}

pprofdelta_status pd_zstd_peek(pd_bytes in, void *out, size_t room, size_t *made, bool *is_good,
                               pprofdelta_error *err)
{
    (void)in, (void)out, (void)room, (void)made, (void)err;
    *is_good = false;
    return PPROFDELTA_OK;
}

/* The unpacker asks a backend for its size before it refuses the input. */
const pd_inflate_backend *pd_inflate_backend_used(void)
{
    static const pd_inflate_backend none = {"none", 1, NULL, NULL};
    return &none;
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
