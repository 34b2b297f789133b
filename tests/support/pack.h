/* gzip and zstd for the tests, by zlib and libzstd; the library uses libdeflate for gzip. */
#ifndef PD_TESTS_PACK_H
#define PD_TESTS_PACK_H

#include "arena.h"

/* Compresses into this many members or frames. */
buf pack_gzip(arena *a, buf in, unsigned members);
buf pack_zstd(arena *a, buf in, unsigned frames);

/* One member, by a level and a strategy of zlib. */
buf pack_gzip_as(arena *a, buf in, int level, int strategy);

/* Decompresses by the first bytes; plain input is copied. Returns false if the data is damaged, cut
 * off, or followed by other data. */
bool unpack(arena *a, const void *in, size_t len, buf *out);

#endif
