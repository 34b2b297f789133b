/* For a build without compression libraries (-Dcodecs=disabled): what stands in the place of the files
 * that use them (codec_sources in lib/meson.build).
 *
 * Compressed input is refused. Compressed output cannot be asked for (pd_options_check_output), so what
 * makes it is never called. */
#include "base/option_checks.h"
#include "codec/compress.h"
#include "codec/inflate.h"

const bool pd_options_has_codecs = false;

/* *made stays 0: see pd_inflate_some. NOLINTNEXTLINE(readability-non-const-parameter) */
static pprofdelta_status refuse(pd_inflater *inflater, uint8_t *out, size_t room, size_t *made,
                                pprofdelta_error *err)
{
    (void)out, (void)room, (void)made;
    return PD_REFUSE(err, 0,
                     "the input is compressed by %s, which this build of the library does not "
                     "inflate: inflate it before it is given to the library",
                     inflater->decoder->name);
}

static uint64_t announced(pd_bytes file)
{
    (void)file;
    return 0;
}

const pd_decoder pd_gzip_decoder = {"gzip", refuse, NULL, announced, NULL, NULL};
const pd_decoder pd_zstd_decoder = {"zstd", refuse, NULL, announced, NULL, NULL};

const pd_packer pd_gzip_packer = {NULL, NULL, NULL};
const pd_packer pd_zstd_packer = {NULL, NULL, NULL};
