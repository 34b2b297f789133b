#include "codec/encoder.h"
#include "codec/cut.h"
#include <string.h>
pprofdelta_status pd_encoder_begin(pd_encoder *e, pd_mem *mem, uint64_t source_len, const pprofdelta_runner *runner, pprofdelta_error *err)
{
    (void)runner;
    e->mem = mem; e->d.compression = e->compression; e->d.level = e->level; e->rest.len = 0;
    e->part = e->compression == PPROFDELTA_GZIP ? pd_cut_part(source_len) : SIZE_MAX;
    return pd_deflate_begin(&e->d, mem, err);
}
pprofdelta_status pd_encoder_push(pd_encoder *e, pd_buffer *in, pprofdelta_error *err)
{
    while (in->len >= e->part) {
        pprofdelta_status s = pd_deflate_part(&e->d, e->mem, in->ptr, e->part, false, err);
        if (s) return s;
        in->len -= e->part; memmove(in->ptr, in->ptr + e->part, in->len);
    }
    return 0;
}
pprofdelta_status pd_encoder_finish(pd_encoder *e, const pd_bytes *runs, size_t n, pprofdelta_error *err)
{
    e->rest.len = 0;
    for (size_t i = 0; i < n; i++) {
        pprofdelta_status s = pd_buffer_room(e->mem, &e->rest, runs[i].len + 1, err);
        if (s) return s;
        if (runs[i].len) memcpy(e->rest.ptr + e->rest.len, runs[i].ptr, runs[i].len);
        e->rest.len += runs[i].len;
    }
    size_t at = 0, parts = pd_cut_rest(e->part, e->rest.len);
    for (; parts; parts--) {
        size_t len = (e->rest.len - at) / parts;
        pprofdelta_status s = pd_deflate_part(&e->d, e->mem, e->rest.ptr + at, len, parts == 1, err);
        if (s) return s;
        at += len;
    }
    return 0;
}
pprofdelta_status pd_encoder_write(pd_encoder *e, const pprofdelta_sink *sink, uint64_t *written, pprofdelta_error *err) { return pd_deflate_write(&e->d, sink, written, err); }
pprofdelta_status pd_encoder_bytes(pd_encoder *e, pd_bytes *out, pprofdelta_error *err) { (void)err; *out = (pd_bytes){e->d.out.ptr, e->d.out.len}; return 0; }
void pd_encoder_drop(pd_encoder *e) { (void)e; }
void pd_encoder_fini(pd_encoder *e, pd_mem *mem) { pd_deflater_fini(&e->d, mem); pd_buffer_release(mem, &e->rest); }
pprofdelta_status pd_encode(pd_encoder *e, pd_mem *mem, pd_bytes in, const pprofdelta_sink *sink, uint64_t *written, pprofdelta_error *err)
{ e->d.compression = e->compression; e->d.level = e->level; return pd_deflate(&e->d, mem, in.ptr, in.len, sink, written, err); }
