/* Any bytes at all: they inflate within the limit or are refused with a reason, and what they
 * inflate to comes back from every format. libdeflate, which inflates them whole, and ISA-L and zlib,
 * which inflate streams in pieces of any length, accept and refuse the same, and for the same. */
#include "codec/compress.h"
#include "codec/stream.h"

#include <libdeflate.h>

#include <stdlib.h>
#include <string.h>

#define LIMIT (UINT64_C(16) << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
    if (!condition)
        abort();
}

static void check_error(pprofdelta_status status, const pprofdelta_error *err, size_t size)
{
    require(status == PPROFDELTA_E_INFLATE || status == PPROFDELTA_E_LIMIT);
    require(err->status == status && err->text[0]);
    require(strcmp(err->stage, "inflate") == 0 && err->offset <= size);
}

/* The sink: inflates what it is given once more and compares. */
typedef struct expectation {
    pd_bytes content;
    pprofdelta_compression compression;
} expectation;

static int inflate_and_compare(void *cookie, const void *data, size_t len)
{
    const expectation *want = cookie;
    pd_mem mem;
    pd_mem_init(&mem, NULL, 2 * LIMIT);
    pd_inflater inflater = {0};
    pd_buffer into = {0};
    pd_bytes got = {data, len};
    if (want->compression != PPROFDELTA_PLAIN)
        require(pd_inflate(&inflater, &mem, data, len, &into, &got, NULL) == PPROFDELTA_OK);
    require(got.len == want->content.len);
    require(got.len == 0 || memcmp(got.ptr, want->content.ptr, got.len) == 0);
    pd_buffer_release(&mem, &into);
    pd_inflater_fini(&inflater);
    return 0;
}

static void round_trip(pd_bytes content)
{
    pd_mem mem;
    pd_mem_init(&mem, NULL, 4 * LIMIT);
    expectation want = {content, (pprofdelta_compression)(content.len ? content.ptr[0] % 3 : 0)};
    pd_compressor compressor = {.compression = want.compression};
    pprofdelta_sink sink = {inflate_and_compare, &want};
    uint64_t written;
    require(pd_compress(&compressor, &mem, content, &sink, &written, NULL) == PPROFDELTA_OK);
    pd_compressor_fini(&compressor, &mem);
    require(mem.used == 0);
}

/* What came of a file. */
typedef struct outcome {
    pprofdelta_status status;
    pprofdelta_error err;
    uint8_t *ptr; /* what it inflated to */
    size_t len, cap;
} outcome;

static void append(outcome *o, pd_bytes more)
{
    if (more.len > o->cap - o->len) {
        o->cap = 2 * (o->len + more.len);
        o->ptr = realloc(o->ptr, o->cap);
        require(o->ptr != NULL);
    }
    if (more.len)
        memcpy(o->ptr + o->len, more.ptr, more.len);
    o->len += more.len;
}

static outcome stream(const pd_inflate_backend *backend, size_t piece, const uint8_t *data,
                      size_t size)
{
    outcome o = {0};
    pd_mem mem;
    pd_mem_init(&mem, NULL, LIMIT);
    pd_stream s = {.unpacker.backend = backend};
    o.status = pd_stream_begin(&s, &mem, (pd_bytes){data, size}, piece, &o.err);
    for (bool is_end = false; !o.status && !is_end; is_end = s.is_done) {
        pd_bytes out;
        o.status = pd_stream_reach(&s, o.len, piece, &out, &o.err);
        if (!o.status)
            append(&o, out);
    }
    if (o.status)
        check_error(o.status, &o.err, size);
    pd_stream_end(&s);
    require(mem.used == 0 && mem.peak <= LIMIT);
    return o;
}

static outcome whole(const pd_inflate_backend *backend, const uint8_t *data, size_t size)
{
    outcome o = {0};
    pd_mem mem;
    pd_mem_init(&mem, NULL, LIMIT);
    pd_inflater inflater = {.backend = backend};
    pd_buffer into = {0};
    pd_bytes out = {0};
    o.status = pd_inflate(&inflater, &mem, data, size, &into, &out, &o.err);
    require(mem.peak <= LIMIT);
    if (o.status) {
        require(!out.ptr);
        check_error(o.status, &o.err, size);
    }
    append(&o, out);
    pd_buffer_release(&mem, &into);
    pd_inflater_fini(&inflater);
    require(mem.used == 0);
    return o;
}

static void require_same(const outcome *a, const outcome *b)
{
    require(a->status == b->status);
    if (a->status)
        require(a->err.offset == b->err.offset && strcmp(a->err.text, b->err.text) == 0);
    else
        require(a->len == b->len && (!a->len || memcmp(a->ptr, b->ptr, a->len) == 0));
}

/* Of zstd a part may be refused in other words than the whole, or for its size. */
static void require_alike(const outcome *a, const outcome *b, pd_format format)
{
    bool is_limit = a->status == PPROFDELTA_E_LIMIT || b->status == PPROFDELTA_E_LIMIT;
    if (format != PD_FORMAT_ZSTD || (!a->status && !b->status))
        require_same(a, b);
    else
        require(is_limit || a->status == b->status);
}

/* Streams in pieces of every kind of length, against each other and against the whole. Only the stream
 * refuses what inflates to too much. */
static outcome check_backend(const pd_inflate_backend *backend, const uint8_t *data, size_t size)
{
    enum { FEW = 2000, MANY = 8000, LARGE = 256 << 10 };
    pd_format format = pd_format_of(data, size);
    outcome all = whole(backend, data, size), first = stream(backend, LARGE, data, size);
    if (all.status != PPROFDELTA_E_LIMIT && first.status != PPROFDELTA_E_LIMIT)
        require_alike(&all, &first, format);
    size_t drawn = size ? 1 + (size_t)data[size - 1] * data[size / 2] : 1;
    const size_t pieces[] = {1, 7, drawn, 4096, 128 << 10};
    bool is_small = size < FEW && first.len < MANY; /* else pieces of a few bytes take too long */
    for (size_t i = is_small ? 0 : 2; i < (is_small ? 3 : 5); i++) {
        outcome o = stream(backend, pieces[i], data, size);
        require_alike(&o, &first, format);
        free(o.ptr);
    }
    free(first.ptr);
    return all;
}

/* ISA-L accepts a Huffman code with gaps, which zlib and libdeflate refuse, where the content has the
 * right CRC. Then zlib refuses a file, or a member before the one that ISA-L refuses. */
static void check_backends(const uint8_t *data, size_t size)
{
    outcome used = check_backend(pd_inflate_backend_used(), data, size);
    outcome zlib = check_backend(&pd_inflate_zlib, data, size);
    bool is_earlier =
        zlib.status == PPROFDELTA_E_INFLATE && (!used.status || zlib.err.offset < used.err.offset);
    if (is_earlier)
        require(strstr(zlib.err.text, "the deflate data is damaged: invalid ") != NULL);
    else
        require_same(&used, &zlib);
    if (!used.status)
        round_trip((pd_bytes){used.ptr, used.len});
    free(used.ptr);
    free(zlib.ptr);
}

/* A gzip file of this deflate data, with the right trailer. */
static void check_file_of(const uint8_t *deflated, size_t len, pd_bytes content)
{
    static const uint8_t head[10] = {0x1f, 0x8b, 8};
    outcome file = {0};
    uint32_t numbers[] = {libdeflate_crc32(0, content.ptr, content.len), (uint32_t)content.len};
    append(&file, (pd_bytes){head, sizeof head});
    append(&file, (pd_bytes){deflated, len});
    for (unsigned i = 0; i < 8; i++)
        append(&file, (pd_bytes){&(uint8_t){(uint8_t)(numbers[i / 4] >> 8 * (i % 4))}, 1});
    check_backends(file.ptr, file.len);
    free(file.ptr);
}

/* Random bytes have no right CRC, which is why the libraries' own answers are looked at as well: what
 * any of them accepts is checked as a file whose trailer fits, and so is what comes out of it. */
static void check_as_deflate_data(const uint8_t *data, size_t size)
{
    static uint8_t room[1 << 20];
    const pd_inflate_backend *backend = pd_inflate_backend_used();
    struct libdeflate_decompressor *gzip = libdeflate_alloc_decompressor();
    void *state = malloc(backend->size);
    size_t used, made;
    require(gzip && state && backend->begin(state));
    if (libdeflate_deflate_decompress_ex(gzip, data, size, room, sizeof room, &used, &made) ==
        LIBDEFLATE_SUCCESS)
        check_file_of(data, used, (pd_bytes){room, made});
    pd_inflate_run run = {data, data + size, room, room + sizeof room};
    if (backend->some(state, &run) == PD_INFLATE_DONE)
        check_file_of(data, (size_t)(run.in - data), (pd_bytes){room, (size_t)(run.out - room)});
    libdeflate_free_decompressor(gzip);
    free(state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { SHORTEST_GZIP_HEADER = 10 };
    check_backends(data, size);
    if (pd_format_of(data, size) == PD_FORMAT_GZIP && size > SHORTEST_GZIP_HEADER)
        check_as_deflate_data(data + SHORTEST_GZIP_HEADER, size - SHORTEST_GZIP_HEADER);
    return 0;
}
