#include "profile/chunks.h"

#include "profile/lookalike.h"
#include "profile/seal.h"

/* The first bytes of the profile, for pd_lookalike_tell. */
typedef struct head {
    uint8_t bytes[PD_PARTS_HEAD];
    size_t len;
} head;

static void keep_head(head *h, pd_bytes part)
{
    h->len = part.len < sizeof h->bytes ? part.len : sizeof h->bytes;
    if (h->len)
        memcpy(h->bytes, part.ptr, h->len);
}

/* Everything up to the end of the profile, or what is wrong with it. */
static pprofdelta_status read_parts(pd_tables *t, pd_buffer *text, pd_parts *p, pd_mem *mem,
                                    head *h, pprofdelta_error *err)
{
    pprofdelta_status status = PPROFDELTA_OK;
    pd_parse parse = {.mem = mem, .err = err, .element = PPROFDELTA_NOWHERE};
    pd_reader top = {0};
    pd_tables_begin(t);
    text->len = 0;
    while (!status && !parse.status && pd_parts_next(p, &top, &status, err)) {
        size_t strings = t->strings_len;
        if (!p->at)
            keep_head(h, p->part);
        t->bytes = p->part;
        t->base = p->at;
        parse.zero = p->part.ptr;
        parse.base = p->at;
        pd_tables_read(t, &parse, &top);
        if (!strings && t->strings_len)
            t->first_string_off = p->at + (uint64_t)(t->strings[0].ptr - p->part.ptr);
        if (!parse.status)
            status = pd_parts_keep_strings(t, strings, text, mem, err);
    }
    if (status)
        return status;
    pd_tables_read_end(t, &parse, &top);
    return parse.status;
}

pprofdelta_status pd_chunks_tables(pd_tables *t, pd_buffer *text, pd_stream *stream, pd_mem *mem,
                                   pprofdelta_error *err)
{
    head h = {.len = 0};
    pprofdelta_error container;
    pd_parts p = {.stream = stream};
    pprofdelta_status status = read_parts(t, text, &p, mem, &h, err);
    bool is_told = status == PPROFDELTA_E_WIRE || status == PPROFDELTA_E_PROFILE;
    if (status && !is_told)
        return status;
    pprofdelta_status before = pd_stream_finish(stream, &container);
    if (before) {
        if (err)
            *err = container;
        return before;
    }
    t->bytes = (pd_bytes){0};
    t->len = pd_stream_len(stream);
    if (!status) {
        pd_parts_point_strings(t, text);
        status = pd_tables_seal(t, mem, err);
    }
    if (status == PPROFDELTA_E_WIRE || status == PPROFDELTA_E_PROFILE)
        status = pd_lookalike_tell((pd_bytes){h.bytes, h.len}, status, err);
    return status;
}

pprofdelta_status pd_chunks_samples(pd_tables *t, pd_stream *stream,
                                    const pd_stack_numbers *numbers, const pd_columns *columns,
                                    pd_sample_taker taker, pd_mem *mem, pprofdelta_error *err)
{
    pd_sample_reader r = {
        .parse = {.mem = mem, .err = err}, .tables = t, .numbers = numbers, .columns = columns};
    pd_parts p = {.stream = stream, .at = t->samples_off};
    pd_reader top = {0};
    pprofdelta_status status = PPROFDELTA_OK;
    while (!status && r.parse.element < t->samples && pd_parts_next(&p, &top, &status, err)) {
        r.parse.zero = p.part.ptr;
        r.parse.base = p.at;
        status = pd_samples_read_some(&r, &top, taker);
    }
    t->sample_unknown_fields = r.parse.unknown_fields;
    return status;
}

pprofdelta_status pd_chunks_sum(const pd_tables *t, pd_stream *stream, pprofdelta_sum *sums,
                                pprofdelta_error *err)
{
    pd_parts p = {.stream = stream, .at = t->samples_off};
    pd_reader top = {0};
    pprofdelta_status status = PPROFDELTA_OK;
    while (!status && pd_parts_next(&p, &top, &status, err))
        pd_samples_sum_some(&top, sums);
    return status;
}

/* How many bytes the field at the front takes, where there are not as many; else 0. */
static uint64_t lacks(pd_bytes bytes)
{
    pd_reader r = pd_reader_of(bytes.ptr, bytes.len);
    pd_field f;
    if (pd_reader_next(&r, &f))
        return 0;
    return r.trouble ? pd_reader_lacks(&r) : 1;
}

pprofdelta_status pd_chunks_record(pd_tables *t, pd_stream *stream, uint64_t origin,
                                   pprofdelta_error *err)
{
    uint64_t before = origin - t->base, need = 1;
    if (before < t->bytes.len)
        need = lacks((pd_bytes){t->bytes.ptr + before, t->bytes.len - (size_t)before});
    for (bool is_end = false; need && !is_end; is_end = stream->is_done) {
        pprofdelta_status status = pd_stream_reach(stream, origin, need, &t->bytes, err);
        if (status)
            return status;
        t->base = origin;
        need = lacks(t->bytes);
    }
    return PPROFDELTA_OK;
}
