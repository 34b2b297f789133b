/* gzip and zstd for the tests, by zlib and libzstd; the library uses libdeflate for gzip. */
#ifndef PD_TESTS_PACK_H
#define PD_TESTS_PACK_H

#include "arena.h"

/* In so many members or frames, one behind the other. */
buf pack_gzip(arena *a, buf in, unsigned members);
buf pack_zstd(arena *a, buf in, unsigned frames);

/* Told by the first bytes; plain input comes back as a copy. false: damaged, cut off, or followed
 * by something else. */
bool unpack(arena *a, const void *in, size_t len, buf *out);

#endif
