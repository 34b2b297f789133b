/* Raw deflate data (RFC 1951), inflated a piece at a time by a library: one interface, and a
 * backend for each library that has it.
 *
 * The compressed data lies in memory as a whole. The library keeps the 32 KiB that copies may reach
 * back to, so a piece may go anywhere. All memory is the caller's: a backend says how large its
 * state is. */
#ifndef PD_CODEC_INFLATE_STREAM_H
#define PD_CODEC_INFLATE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is left to read, and where the output goes. A call moves `in` and `out` on. */
typedef struct pd_inflate_run {
    const uint8_t *in, *in_end;
    uint8_t *out, *out_end;
} pd_inflate_run;

typedef enum pd_inflate_end {
    PD_INFLATE_FULL, /* out == out_end; there may be more output */
    PD_INFLATE_DONE, /* the final block ended; `in` is behind its last byte */
    PD_INFLATE_BAD   /* the data is damaged or cut off, and nothing is known about in and out */
} pd_inflate_end;

typedef struct pd_inflate_backend {
    const char *name;
    size_t size;                /* bytes of a state, aligned as malloc does it */
    bool (*begin)(void *state); /* at the first byte of deflate data; false: size is too small */
    pd_inflate_end (*some)(void *state, pd_inflate_run *run);
} pd_inflate_backend;

extern const pd_inflate_backend pd_inflate_zlib;
extern const pd_inflate_backend pd_inflate_isal; /* only where the build has ISA-L */

/* The backend for streams: ISA-L where the build has it, else zlib. */
const pd_inflate_backend *pd_inflate_backend_used(void);

#endif
