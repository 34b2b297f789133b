/* Deflate data (RFC 1951), decoded a piece at a time into memory that the caller moves along.
 *
 * The library that inflates whole buffers (gzip.c) cannot stop in the middle. This decoder can, at
 * any symbol, and needs no memory of its own for what was decoded before: the 32 KiB that copies
 * may reach back to stand before the output where the caller has left them. It is as strict as
 * pd_deflate_walk, which finds the words for what it refuses. */
#ifndef PD_CODEC_DECODE_H
#define PD_CODEC_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PD_DECODE_HISTORY = 32 << 10, /* how far a copy reaches back */
    PD_DECODE_SLACK = 320         /* so many bytes behind the room for output may be written, too */
};

/* Table sizes. A subtable of 2^k entries takes k + 1 symbols at least, so all subtables of a code
 * together are at most 16/5 entries to each of 288 symbols, or 128/8 to each of 32. */
enum {
    PD_LITLEN_BITS = 11,
    PD_DISTANCE_BITS = 8,
    PD_LITLEN_ENTRIES = (1 << PD_LITLEN_BITS) + 288 * 16 / 5 + 1,
    PD_DISTANCE_ENTRIES = (1 << PD_DISTANCE_BITS) + 32 * 16
};

typedef enum pd_decode_end {
    PD_DECODE_FULL, /* the room for output is used up */
    PD_DECODE_DONE, /* the final block ended */
    PD_DECODE_BAD   /* damaged or cut off */
} pd_decode_end;

typedef struct pd_decoder {
    unsigned hold, held; /* the bits of a byte that was begun, lowest first; fewer than 8 */
    enum { PD_DECODE_BLOCK, PD_DECODE_STORED, PD_DECODE_SYMBOLS } state;
    bool is_final;        /* the block is the last one */
    bool is_fixed;        /* the tables are those of the fixed codes */
    size_t stored;        /* bytes left of a stored block */
    uint64_t before;      /* bytes decoded before this call */
    const uint8_t *block; /* the block that was begun last begins so many bits before this byte */
    unsigned block_held;
    uint32_t litlen[PD_LITLEN_ENTRIES], distance[PD_DISTANCE_ENTRIES];
} pd_decoder;

/* Begins at the first byte of deflate data. */
void pd_decode_begin(pd_decoder *decoder);

/* What is to be read, to the end of the file, and where it goes; pd_decode moves `in` and `out` on,
 * `out` by a little more than there is room for, perhaps. Before `out` stand the bytes decoded
 * last, PD_DECODE_HISTORY of them if there were as many. */
typedef struct pd_decode_run {
    const uint8_t *in, *in_end;
    uint8_t *out, *out_end;
} pd_decode_run;

pd_decode_end pd_decode(pd_decoder *decoder, pd_decode_run *run);

#endif
