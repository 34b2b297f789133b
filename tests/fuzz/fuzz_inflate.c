/* Any bytes at all: they inflate within the limit or are refused with a reason. A source that reads them whole, and
 * sources that read them in pieces of any length, accept and refuse the same, and for the same. */
#include "fuzz.h"

#include "arena.h"

#include <libdeflate.h>

#define LIMIT (UINT64_C(16) << 20)

static void check_error(pprofdelta_status status, const pprofdelta_error *err, size_t size)
{
    require(status == PPROFDELTA_E_INFLATE || status == PPROFDELTA_E_LIMIT);
    require(err->status == status && err->text[0]);
    require(err->stage == PPROFDELTA_STAGE_INFLATE && err->offset <= size);
}

/* What came of a file. */
typedef struct outcome {
    pprofdelta_status status;
    pprofdelta_error err;
    buf bytes; /* what it inflated to */
} outcome;

/* Reads the file in pieces of this length, or whole if it is 0. */
static outcome read_by(arena *a, size_t piece, const uint8_t *data, size_t size)
{
    outcome o = {.bytes = buf_begin(a)};
    pd_mem mem;
    pd_mem_init(&mem, NULL, LIMIT);
    pd_source s = {0};
    o.status = pd_source_open(&s, &mem, (pd_bytes){data, size}, piece, &o.err);
    for (bool is_end = false; !o.status && !is_end; is_end = s.is_done) {
        pd_bytes out;
        o.status = pd_source_reach(&s, o.bytes.len, piece ? piece : 1, &out, &o.err);
        if (!o.status)
            buf_add(&o.bytes, out.ptr, out.len);
    }
    if (o.status)
        check_error(o.status, &o.err, size);
    pd_source_end(&s);
    require(mem.used == 0 && mem.peak <= LIMIT);
    return o;
}

static void require_same(const outcome *a, const outcome *b)
{
    require(a->status == b->status);
    if (a->status)
        require(a->err.offset == b->err.offset && strcmp(a->err.text, b->err.text) == 0);
    else
        require(buf_equal(a->bytes, b->bytes));
}

/* libdeflate, which reads files whole, accepts a Huffman code that no symbol has; zlib does not. */
static bool is_unused_code(const outcome *whole, const outcome *streamed)
{
    return !whole->status && streamed->status == PPROFDELTA_E_INFLATE &&
           strstr(streamed->err.text, "the deflate data is damaged: invalid ");
}

/* Is one of them a limit, where it need not be the other's? Only a streamed source refuses what inflates to
 * too much. libzstd does not tell how much of a piece it made before it found the damage. */
static bool is_other_limit(const outcome *a, const outcome *b, bool is_whole, pd_container format)
{
    bool is_one = a->status == PPROFDELTA_E_LIMIT || b->status == PPROFDELTA_E_LIMIT;
    return is_one && (is_whole || format == PD_CONTAINER_ZSTD);
}

/* In pieces of every kind of length, against each other and against the whole. */
static void check_file(const uint8_t *data, size_t size)
{
    enum { FEW = 2000, MANY = 8000, LARGE = 256 << 10 };
    arena a = {0};
    outcome all = read_by(&a, 0, data, size), first = read_by(&a, LARGE, data, size);
    pd_container format = pd_container_of(data, size);
    if (!is_other_limit(&all, &first, true, format) && !is_unused_code(&all, &first))
        require_same(&all, &first);
    size_t drawn = size ? 1 + (size_t)data[size - 1] * data[size / 2] : 1;
    const size_t pieces[] = {1, 7, drawn, 4096, 128 << 10};
    bool is_small =
        size < FEW && first.bytes.len < MANY; /* else pieces of a few bytes take too long */
    for (size_t i = is_small ? 0 : 2; i < (is_small ? 3 : 5); i++) {
        outcome o = read_by(&a, pieces[i], data, size);
        if (!is_other_limit(&o, &first, false, format))
            require_same(&o, &first);
    }
    arena_free(&a);
}

/* A gzip file of this deflate data, with the right trailer. */
static void check_file_of(const uint8_t *deflated, size_t len, pd_bytes content)
{
    static const uint8_t head[10] = {0x1f, 0x8b, 8};
    arena a = {0};
    buf file = buf_begin(&a);
    buf_add(&file, head, sizeof head);
    buf_add(&file, deflated, len);
    buf_add32(&file, libdeflate_crc32(0, content.ptr, content.len));
    buf_add32(&file, (uint32_t)content.len);
    check_file(file.ptr, file.len);
    arena_free(&a);
}

/* Random bytes have no right CRC. What libdeflate accepts is checked as a file whose trailer fits. */
static void check_as_deflate_data(const uint8_t *data, size_t size)
{
    static uint8_t room[1 << 20];
    struct libdeflate_decompressor *gzip = libdeflate_alloc_decompressor();
    size_t used, made;
    require(gzip != NULL);
    if (libdeflate_deflate_decompress_ex(gzip, data, size, room, sizeof room, &used, &made) ==
        LIBDEFLATE_SUCCESS)
        check_file_of(data, used, (pd_bytes){room, made});
    libdeflate_free_decompressor(gzip);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { SHORTEST_GZIP_HEADER = 10 };
    check_file(data, size);
    if (pd_container_of(data, size) == PD_CONTAINER_GZIP && size > SHORTEST_GZIP_HEADER)
        check_as_deflate_data(data + SHORTEST_GZIP_HEADER, size - SHORTEST_GZIP_HEADER);
    return 0;
}
