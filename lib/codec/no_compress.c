/* For a build whose host compresses what the library writes (-Ddoors=parsed): what stands in the place of
 * compress_gzip.c and compress_zstd.c. */
#include "codec/compress.h"

const pd_packer pd_gzip_packer, pd_zstd_packer;
