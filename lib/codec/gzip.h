/* The parts of gzip that are not deflate data, for both ways to inflate: whole (gzip.c) and a piece
 * at a time (unpack_gzip.c). */
#ifndef PD_CODEC_GZIP_H
#define PD_CODEC_GZIP_H

#include "pprofdelta.h"

/* Bytes of a gzip file, and how far they are read. Offsets of errors count from in[0]; whatever is
 * cut off is so at `len`, with no other error there. */
typedef struct pd_gzip_source {
    const uint8_t *in;
    size_t len, pos;
} pd_gzip_source;

/* Reads the header of a member, whose two magic bytes are known. */
pprofdelta_status pd_gzip_read_header(pd_gzip_source *src, pprofdelta_error *err);

/* Reads the trailer of a member whose content has the CRC-32 `got` and this length. */
pprofdelta_status pd_gzip_read_trailer(pd_gzip_source *src, uint32_t got, uint64_t len,
                                       pprofdelta_error *err);

/* Behind the last member: nothing may follow. */
pprofdelta_status pd_gzip_read_end(const pd_gzip_source *src, pprofdelta_error *err);

/* For a member that was refused, with *err set: its deflate data begins at src->pos. Words *err by
 * what zlib finds in the deflate data; *err stays where zlib finds nothing. *made: the number of
 * bytes that the data inflates to before the damage. */
pprofdelta_status pd_gzip_explain(const pd_gzip_source *src, uint64_t *made, pprofdelta_error *err);

#endif
