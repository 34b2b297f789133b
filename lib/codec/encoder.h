/* The bytes of a delta on their way to the sink: gzip, zstd or plain, compressed while they are still
 * being written.
 *
 *     begin, push ... push, finish, write [, write ...]
 *
 * gzip is compressed in parts (cut.h), which are joined to one member (member.h):
 *
 *     input      [ part ][ part ][ part ][ part ][ part ][ not yet a part ...
 *     parts      [ joined to `out`      ][ slot ][ slot ]
 *
 * Without a runner, and if memory is tight, each part is compressed by push or finish itself. With a
 * runner each part is a task in a slot, which has a copy of its input and room for its output. If all
 * slots are in use, the calling thread compresses a part that no other thread has begun. A short zstd
 * frame is one part; a long one is compressed by push itself. Plain bytes are not taken before finish.
 *
 * The encoded bytes depend on the input, on its length at the last push and on source_len only. */
#ifndef PD_CODEC_ENCODER_H
#define PD_CODEC_ENCODER_H

#include "base/task.h"
#include "codec/compress.h"

#include <stdatomic.h>

enum { PD_ENCODER_SLOTS = 4 };

/* One part. The calling thread prepares it; one thread compresses it; the calling thread takes what
 * came out when it has waited for the task. */
typedef struct pd_encoder_slot {
    pd_task task;
    atomic_bool is_begun; /* by one of the threads */
    atomic_bool is_done;  /* the task need not be waited for long */
    bool is_last;         /* gzip: the member ends behind this part */
    void *zstd;           /* the compressor of a zstd frame; NULL: gzip */
    void *gzip;           /* made when first needed and kept */
    struct pd_member_check *check;
    pd_buffer kept; /* input that has to be copied or put together */
    pd_bytes in;
    pd_buffer out; /* len 0: it could not be compressed */
    const char *why;
} pd_encoder_slot;

typedef struct pd_encoder {
    pprofdelta_compression compression;
    int level;       /* 1..9; 0: the default */
    size_t part_len; /* push takes nothing from a buffer that is shorter */
    pd_mem *mem;
    const pprofdelta_runner *runner;
    size_t cut;   /* gzip: the length of a part; SIZE_MAX: all is one part */
    bool is_long; /* zstd: the frame is long, and begun */
    uint32_t crc; /* of the input so far */
    uint64_t len;
    pd_buffer out;                           /* the encoded bytes but for those in slots */
    void *zstd;                              /* ZSTD_CCtx, made when first needed and kept */
    pd_encoder_slot slots[PD_ENCODER_SLOTS]; /* a ring; slots[0] also serves what is no task */
    size_t first, used;                      /* slots[first ...], `used` of them, oldest first */
    const pd_bytes *runs;                    /* plain: the caller's */
    size_t runs_len;
} pd_encoder; /* zero it, set compression and level, to begin */

/* For pd_encoder_begin: the whole is one part. */
#define PD_ENCODER_UNCUT UINT64_MAX

/* Begins; discards the output of the delta before. source_len is the length of the inflated profile
 * that the delta comes of. runner may be NULL; it is borrowed until pd_encoder_drop or the next
 * begin, and so is mem until pd_encoder_fini. Nothing else may use the encoder's memory from another
 * thread. */
pprofdelta_status pd_encoder_begin(pd_encoder *e, pd_mem *mem, uint64_t source_len,
                                   const pprofdelta_runner *runner, pprofdelta_error *err);

/* Internal to pd_encoder_push. */
pprofdelta_status pd_encoder_take(pd_encoder *e, pd_buffer *in, pprofdelta_error *err);

/* Takes what it can from the front of *in, and leaves the rest at the front of *in. On failure the
 * delta has to be begun again. */
static inline pprofdelta_status pd_encoder_push(pd_encoder *e, pd_buffer *in, pprofdelta_error *err)
{
    return in->len < e->part_len ? PPROFDELTA_OK : pd_encoder_take(e, in, err);
}

/* The last bytes: runs[0..n), one after the other. `runs` and the bytes are borrowed until the last
 * call of pd_encoder_write or pd_encoder_bytes has returned, or pd_encoder_drop. Does not wait for
 * the last tasks. */
pprofdelta_status pd_encoder_finish(pd_encoder *e, const pd_bytes *runs, size_t n,
                                    pprofdelta_error *err);

/* After finish: waits for the tasks and hands all encoded bytes to the sink, in one or more calls.
 * May be called again, with another sink. *written is the number of bytes that the sink got; it is
 * set on success only. If the sink refuses, the status is PPROFDELTA_E_SINK and the stage "write".
 * Takes no memory from mem. */
pprofdelta_status pd_encoder_write(pd_encoder *e, const pprofdelta_sink *sink, uint64_t *written,
                                   pprofdelta_error *err);

/* After finish: waits for the tasks. *out is all encoded bytes, valid until the next begin or drop.
 * pd_encoder_write may follow. */
pprofdelta_status pd_encoder_bytes(pd_encoder *e, pd_bytes *out, pprofdelta_error *err);

/* One buffer, uncut, to the sink: begin, finish and write. */
pprofdelta_status pd_encode(pd_encoder *e, pd_mem *mem, pd_bytes in, const pprofdelta_sink *sink,
                            uint64_t *written, pprofdelta_error *err);

/* Waits for the tasks and discards the output. Compressors and capacities are kept. */
void pd_encoder_drop(pd_encoder *e);

/* Drops, and gives back all that was taken from mem. */
void pd_encoder_release(pd_encoder *e, pd_mem *mem);

/* Releases, and frees the compressors. */
void pd_encoder_fini(pd_encoder *e, pd_mem *mem);

#endif
