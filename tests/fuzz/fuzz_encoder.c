/* Calls on an encoder, with allocations that fail and sinks that refuse: what it writes is
 * what went in, and the same bytes as in one push. */
#include "codec/encoder.h"
#include "fuzz.h"

#include <libdeflate.h>
#include <zstd.h>

enum { LONGEST = 3 << 19, REST = 255 << 11, HEAD = 8, MOST_CALLS = 60, RUNS = 3 };

/* What the first bytes of an input say. */
typedef struct plan {
    pprofdelta_compression compression;
    int level;
    uint64_t source;
    unsigned long fail_at; /* the allocation that fails; 0: none */
    bool is_tight;
    const uint8_t *calls; /* a byte each: how much is pushed */
    size_t calls_len;
} plan;

static plan read_plan(const uint8_t *data, size_t size)
{
    size_t calls = size - HEAD < MOST_CALLS ? size - HEAD : MOST_CALLS;
    return (plan){.compression = (pprofdelta_compression)(data[0] % 3),
                  .level = data[1] % (data[1] < 200 ? 4 : 10), /* the high ones are slow */
                  .source = (uint64_t)data[3] << 15,
                  .fail_at = data[4] < 128 ? 0 : data[4] - 127u,
                  .is_tight = data[5] & 1,
                  .calls = data + HEAD,
                  .calls_len = calls};
}

static uint8_t content[LONGEST];

static size_t push_len(uint8_t call)
{
    return call < 64 ? call : (size_t)(call - 63) << 11;
}

/* Repeats the input, a little changed each time, as far as the plan reads it. */
static void fill_content(const uint8_t *data, size_t size, const plan *p)
{
    size_t len = REST;
    for (size_t i = 0; i < p->calls_len; i++)
        len += push_len(p->calls[i]);
    len = len < LONGEST ? len : LONGEST;
    for (size_t i = 0; i < len; i++)
        content[i] = (uint8_t)(i < size ? data[i] : content[i - size] + (data[7] >> 4));
}

typedef struct failing {
    unsigned long calls, fail_at;
} failing;

static void *resize(void *cookie, void *ptr, size_t size)
{
    failing *f = cookie;
    return ++f->calls == f->fail_at ? NULL : realloc(ptr, size);
}

static void release(void *cookie, void *ptr)
{
    (void)cookie;
    free(ptr);
}

static int append(void *cookie, const void *data, size_t len)
{
    pd_buffer *out = cookie;
    require(len <= out->cap - out->len);
    memcpy(out->ptr + out->len, data, len);
    out->len += len;
    return 0;
}

static int refuse(void *cookie, const void *data, size_t len)
{
    (void)data;
    return (*(size_t *)cookie += len) > 1000;
}

/* Pushes, and sets *early to how much. A call of 255 begins again. */
static pprofdelta_status push_all(pd_encoder *e, pd_mem *mem, const plan *p, pd_buffer *writer,
                                  size_t *early)
{
    pprofdelta_status status = pd_encoder_begin(e, mem, p->source, NULL);
    *early = 0;
    for (size_t i = 0; i < p->calls_len && !status; i++) {
        size_t len = push_len(p->calls[i]);
        len = len < LONGEST - REST - *early ? len : LONGEST - REST - *early;
        if (p->calls[i] == 255) {
            status = pd_encoder_begin(e, mem, p->source, NULL);
            *early = writer->len = 0;
            continue;
        }
        status = pd_buffer_room(mem, writer, len + 1, NULL);
        if (status || !writer->ptr)
            break;
        memcpy(writer->ptr + writer->len, content + *early, len);
        writer->len += len;
        *early += len;
        status = pd_encoder_push(e, writer, NULL);
    }
    return status;
}

/* The same in one push. */
static void encode_plainly(const plan *p, size_t early, size_t len, pd_buffer *out)
{
    pd_mem mem;
    pd_encoder e = {.compression = p->compression, .level = p->level};
    pd_buffer writer = {0};
    pprofdelta_sink sink = {append, out};
    uint64_t written;
    pd_mem_init(&mem, NULL, UINT64_C(1) << 30);
    require(pd_encoder_begin(&e, &mem, p->source, NULL) == PPROFDELTA_OK);
    require(!pd_buffer_room(&mem, &writer, early + 1, NULL) && writer.ptr);
    memcpy(writer.ptr, content, writer.len = early);
    require(pd_encoder_push(&e, &writer, NULL) == PPROFDELTA_OK);
    pd_bytes runs[] = {{writer.ptr, writer.len}, {content + early, len - early}};
    require(pd_encoder_finish(&e, runs, 2, NULL) == PPROFDELTA_OK);
    require(pd_encoder_write(&e, &sink, &written, NULL) == PPROFDELTA_OK && written == out->len);
    pd_buffer_release(&mem, &writer);
    pd_encoder_fini(&e, &mem);
    require(mem.used == 0);
}

static void require_decoded(const plan *p, pd_buffer out, size_t len)
{
    static uint8_t back[LONGEST + 1];
    size_t got = out.len;
    if (p->compression == PPROFDELTA_GZIP) {
        struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
        require(d && !libdeflate_gzip_decompress(d, out.ptr, out.len, back, sizeof back, &got));
        libdeflate_free_decompressor(d);
    } else if (p->compression == PPROFDELTA_ZSTD) {
        got = ZSTD_decompress(back, sizeof back, out.ptr, out.len);
    }
    require(got == len);
    require(!memcmp(p->compression == PPROFDELTA_PLAIN ? out.ptr : back, content, len));
}

/* Finishes and writes: to a sink that may refuse, then to one that does not. */
static pprofdelta_status write_out(pd_encoder *e, const pd_bytes *runs, pd_buffer *out)
{
    size_t taken = 0;
    uint64_t written;
    pprofdelta_sink refusing = {refuse, &taken}, sink = {append, out};
    pprofdelta_status status = pd_encoder_finish(e, runs, RUNS, NULL);
    if (status)
        return status;
    status = pd_encoder_write(e, &refusing, &written, NULL);
    require(status == PPROFDELTA_E_SINK || (!status && written == taken && taken <= 1000));
    require(pd_encoder_write(e, &sink, &written, NULL) == PPROFDELTA_OK && written == out->len);
    return PPROFDELTA_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t room[2][LONGEST + (1 << 16)];
    if (size < HEAD)
        return 0;
    plan p = read_plan(data, size);
    failing allocations = {0, p.fail_at};
    pprofdelta_allocator allocator = {resize, release, &allocations};
    pd_encoder e = {.compression = p.compression, .level = p.level};
    pd_buffer writer = {0}, out = {room[0], 0, sizeof room[0]},
              plain = {room[1], 0, sizeof room[1]};
    pd_mem mem;
    size_t early;
    fill_content(data, size, &p);
    pd_mem_init(&mem, &allocator, UINT64_C(1) << 30);
    mem.is_tight = p.is_tight;
    pprofdelta_status status = push_all(&e, &mem, &p, &writer, &early);
    size_t rest = (size_t)data[6] << 11, some = rest / 3;
    if (!status) {
        pd_bytes runs[RUNS] = {{writer.ptr, writer.len},
                               {content + early, some},
                               {content + early + some, rest - some}};
        status = write_out(&e, runs, &out);
    }
    require(!status || (status == PPROFDELTA_E_MEMORY && allocations.calls >= p.fail_at));
    if (!status) {
        encode_plainly(&p, early, early + rest, &plain);
        require(out.len == plain.len && !memcmp(out.ptr, plain.ptr, out.len));
        require_decoded(&p, out, early + rest);
    }
    pd_encoder_fini(&e, &mem);
    pd_buffer_release(&mem, &writer);
    require(mem.used == 0);
    return 0;
}
