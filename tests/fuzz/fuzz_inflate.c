/* Any bytes at all: they inflate within the limit or are refused with a reason, and what they
 * inflate to comes back from every format. */
#include "codec/compress.h"
#include "codec/stream.h"

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

/* A piece at a time: what the whole way made, and nothing that it refused. */
static void stream(const uint8_t *data, size_t size, pprofdelta_status want, pd_bytes whole)
{
    pd_mem mem;
    pd_mem_init(&mem, NULL, LIMIT);
    pd_stream s = {0};
    size_t piece = size ? 1 + (size_t)data[size - 1] * data[size / 2] : 1;
    pprofdelta_error err = {0};
    pprofdelta_status status = pd_stream_begin(&s, &mem, (pd_bytes){data, size}, piece, NULL, &err);
    uint64_t from = 0;
    for (bool is_end = false; !status && !is_end; is_end = s.is_done) {
        pd_bytes out;
        status = pd_stream_reach(&s, from, piece, &out, &err);
        if (status)
            break;
        require(want || (out.len <= whole.len - from &&
                         (!out.len || memcmp(out.ptr, whole.ptr + from, out.len) == 0)));
        from += out.len;
    }
    require(status == PPROFDELTA_E_LIMIT || !want || status == want);
    require(status || from == whole.len);
    if (status)
        check_error(status, &err, size);
    pd_stream_end(&s);
    require(mem.used == 0 && mem.peak <= LIMIT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pd_mem mem;
    pd_mem_init(&mem, NULL, LIMIT);
    pd_inflater inflater = {0};
    pd_buffer into = {0};
    pd_bytes out = {0};
    pprofdelta_error err = {0};
    pprofdelta_status status = pd_inflate(&inflater, &mem, data, size, &into, &out, &err);
    require(mem.peak <= LIMIT);
    if (status == PPROFDELTA_OK) {
        round_trip(out);
    } else {
        require(!out.ptr);
        check_error(status, &err, size);
    }
    if (status != PPROFDELTA_E_LIMIT)
        stream(data, size, status, out);
    pd_buffer_release(&mem, &into);
    pd_inflater_fini(&inflater);
    require(mem.used == 0);
    return 0;
}
