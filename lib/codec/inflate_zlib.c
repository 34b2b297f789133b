#include "codec/inflate_zlib.h"

#include "codec/inflate_stream.h"

#include <string.h>

static void *allocate(void *opaque, unsigned items, unsigned size)
{
    enum { ALIGN = 64 }; /* zlib-ng aligns its window to as much by itself */
    pd_zlib *zlib = opaque;
    size_t need = ((size_t)items * size + ALIGN - 1) / ALIGN * ALIGN;
    if (need > sizeof zlib->room - zlib->used)
        return NULL;
    void *ptr = zlib->room + zlib->used;
    zlib->used += need;
    return ptr;
}

static void release(void *opaque, void *ptr)
{
    (void)opaque;
    (void)ptr;
}

bool pd_zlib_begin(pd_zlib *zlib)
{
    enum { RAW = -15 }; /* no header; a window of 2^15 bytes */
    zlib->used = 0;
    zlib->z = (z_stream){.zalloc = allocate, .zfree = release, .opaque = zlib};
    return inflateInit2(&zlib->z, RAW) == Z_OK;
}

static bool begin(void *state)
{
    return pd_zlib_begin(state);
}

static pd_inflate_end some(void *state, pd_inflate_run *run)
{
    z_stream *z = &((pd_zlib *)state)->z;
    while (run->out < run->out_end) {
        z->next_in = (uint8_t *)(uintptr_t)run->in; /* zlib does not write there */
        z->avail_in = pd_zlib_len(run->in, run->in_end);
        z->next_out = run->out;
        z->avail_out = pd_zlib_len(run->out, run->out_end);
        int status = inflate(z, Z_NO_FLUSH);
        run->in = z->next_in;
        run->out = z->next_out;
        if (status == Z_STREAM_END)
            return PD_INFLATE_DONE;
        if (status != Z_OK)
            return PD_INFLATE_BAD; /* Z_BUF_ERROR: the input is cut off */
    }
    return PD_INFLATE_FULL;
}

const pd_inflate_backend pd_inflate_zlib = {"zlib", sizeof(pd_zlib), begin, some};
