/* The bytes of a delta on their way to the sink: gzip, zstd or plain, compressed while they are still
 * being written.
 *
 *     begin, push ... push, finish, write [, write ...]
 *
 * gzip is compressed in parts (cut.h), which are joined to one member (member.h). A part is compressed by
 * push or finish as soon as its input is complete. A short zstd frame is one part; a long one is compressed by
 * push. Plain bytes are not taken before finish.
 *
 * The encoded bytes depend on the input, on its length at the last push and on source_len only. */
#ifndef PD_CODEC_ENCODER_H
#define PD_CODEC_ENCODER_H

#include "codec/compress.h"

/* What a part is compressed with. */
typedef struct pd_encoder_slot {
    bool is_last; /* gzip: the member ends behind this part */
    void *gzip;   /* made when first needed and kept */
    struct pd_member_check *check;
    pd_buffer kept; /* input that has to be put together */
    pd_bytes in;
} pd_encoder_slot;

typedef struct pd_encoder {
    pprofdelta_compression compression;
    int level;       /* 1..9; 0: the default */
    size_t part_len; /* push takes nothing from a buffer that is shorter */
    pd_mem *mem;
    size_t cut;   /* gzip: the length of a part; SIZE_MAX: all is one part */
    bool is_long; /* zstd: the frame is long, and begun */
    uint32_t crc; /* of the input so far */
    uint64_t len;
    pd_buffer out; /* the encoded bytes */
    void *zstd;    /* ZSTD_CCtx, made when first needed and kept */
    pd_encoder_slot slot;
    const pd_bytes *runs; /* plain: the caller's */
    size_t runs_len;
} pd_encoder; /* zero it, set compression and level, to begin */

/* For pd_encoder_begin: the whole is one part. */
#define PD_ENCODER_UNCUT UINT64_MAX

/* Begins; discards the output of the delta before. source_len is the length of the inflated profile
 * that the delta comes of. mem is borrowed until pd_encoder_fini. */
pprofdelta_status pd_encoder_begin(pd_encoder *e, pd_mem *mem, uint64_t source_len,
                                   pprofdelta_error *err);

/* Internal to pd_encoder_push. */
pprofdelta_status pd_encoder_take(pd_encoder *e, pd_buffer *in, pprofdelta_error *err);

/* Takes what it can from the front of *in, and leaves the rest at the front of *in. On failure the
 * delta has to be begun again. */
static inline pprofdelta_status pd_encoder_push(pd_encoder *e, pd_buffer *in, pprofdelta_error *err)
{
    return in->len < e->part_len ? PPROFDELTA_OK : pd_encoder_take(e, in, err);
}

/* The last bytes: runs[0..n), one after the other. `runs` and the bytes are borrowed until the last
 * call of pd_encoder_write or pd_encoder_bytes has returned, or pd_encoder_drop. */
pprofdelta_status pd_encoder_finish(pd_encoder *e, const pd_bytes *runs, size_t n,
                                    pprofdelta_error *err);

/* After finish: hands all encoded bytes to the sink, in one or more calls.
 * May be called again, with another sink. *written is the number of bytes that the sink got; it is
 * set on success only. If the sink refuses, the status is PPROFDELTA_E_SINK and the stage "write".
 * Takes no memory from mem. */
pprofdelta_status pd_encoder_write(pd_encoder *e, const pprofdelta_sink *sink, uint64_t *written,
                                   pprofdelta_error *err);

/* After finish: *out is all encoded bytes, valid until the next begin or drop.
 * pd_encoder_write may follow. */
pprofdelta_status pd_encoder_bytes(pd_encoder *e, pd_bytes *out, pprofdelta_error *err);

/* One buffer, uncut, to the sink: begin, finish and write. */
pprofdelta_status pd_encode(pd_encoder *e, pd_mem *mem, pd_bytes in, const pprofdelta_sink *sink,
                            uint64_t *written, pprofdelta_error *err);

/* Discards the output. Compressors and capacities are kept. */
void pd_encoder_drop(pd_encoder *e);

/* Drops, and gives back all that was taken from mem. */
void pd_encoder_release(pd_encoder *e, pd_mem *mem);

/* Releases, and frees the compressors. */
void pd_encoder_fini(pd_encoder *e, pd_mem *mem);

#endif
