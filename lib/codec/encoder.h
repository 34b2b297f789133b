#ifndef SHIM_ENCODER
#define SHIM_ENCODER
#include "base/task.h"
#include "codec/deflate.h"
typedef struct pd_encoder { pprofdelta_compression compression; int level; pd_deflater d; pd_mem *mem; size_t part; pd_buffer rest; } pd_encoder;
pprofdelta_status pd_encoder_begin(pd_encoder *e, pd_mem *mem, uint64_t source_len, const pprofdelta_runner *runner, pprofdelta_error *err);
pprofdelta_status pd_encoder_push(pd_encoder *e, pd_buffer *in, pprofdelta_error *err);
pprofdelta_status pd_encoder_finish(pd_encoder *e, const pd_bytes *runs, size_t n, pprofdelta_error *err);
pprofdelta_status pd_encoder_write(pd_encoder *e, const pprofdelta_sink *sink, uint64_t *written, pprofdelta_error *err);
pprofdelta_status pd_encoder_bytes(pd_encoder *e, pd_bytes *out, pprofdelta_error *err);
void pd_encoder_drop(pd_encoder *e);
void pd_encoder_fini(pd_encoder *e, pd_mem *mem);
pprofdelta_status pd_encode(pd_encoder *e, pd_mem *mem, pd_bytes in, const pprofdelta_sink *sink, uint64_t *written, pprofdelta_error *err);
#endif
