#include "delta/look.h"

#include "otlp/shape.h"
#include "profile/stamp.h"

static void name_columns(pd_look *look)
{
    const pd_tables *t = &look->tables;
    for (size_t i = 0; i < t->types_len; i++)
        look->names[i] = (pd_type_name){.type = t->strings[t->types[i].type],
                                        .unit = t->strings[t->types[i].unit]};
}

/* ---- the first pass ---------------------------------------------------------------------------- */

static pprofdelta_status keep(pd_look *look, pd_bytes *raw, pprofdelta_error *err)
{
    look->inflated.len = 0;
    pprofdelta_status status = pd_buffer_room(look->mem, &look->inflated, raw->len, err);
    if (status)
        return status;
    memcpy(look->inflated.ptr, raw->ptr, raw->len);
    look->inflated.len = raw->len;
    raw->ptr = look->inflated.ptr;
    return PPROFDELTA_OK;
}

static pprofdelta_status parse(pd_look *look, pprofdelta_error *err)
{
    pd_buffer *text = look->stream.is_whole ? NULL : &look->text;
    return pd_pass_tables(&look->tables, text, &look->stream, look->mem, err);
}

/* A request has the windows of a receiver, and no counters since the start of a process. */
static pprofdelta_status read_request(pd_look *look, const pd_reading *r, pd_bytes *raw,
                                      pprofdelta_error *err)
{
    if (!pd_request_begins(*raw))
        return PPROFDELTA_OK;
    if (!r->takes_otlp)
        return pd_because(
            err, PPROFDELTA_REASON_IS_OTLP,
            pd_fail(err, PPROFDELTA_E_PROFILE, "profile", NULL, PPROFDELTA_NOWHERE,
                    PPROFDELTA_NOWHERE,
                    "this is an OTLP request; a delta needs cumulative pprof profiles"));
    return pd_request_read(&look->otlp, look->mem, raw, err);
}

static pprofdelta_status parse_whole(pd_look *look, const pd_reading *r, pprofdelta_error *err)
{
    pd_bytes raw;
    pd_stream_end(&look->stream);
    pd_buffer_release(look->mem, &look->text);
    pprofdelta_status status = pd_inflate(&look->inflater, look->mem, r->bytes.ptr, r->bytes.len,
                                          &look->inflated, &raw, err);
    if (!status)
        status = pd_dump_read(&look->dump, look->mem, !look->unsamples, &raw, err);
    if (look->unsamples)
        look->dump.rate = 0;
    look->otlp.is_read = false;
    if (!status)
        status = read_request(look, r, &raw, err);
    if (!status && r->keeps_bytes && raw.len && raw.ptr == r->bytes.ptr)
        status = keep(look, &raw, err);
    if (status)
        return status;
    pd_stream_begin_whole(&look->stream, look->mem, raw);
    return parse(look, err);
}

enum { HEAD = PD_REQUEST_HEAD }; /* bytes that decide what the input is */
_Static_assert((int)HEAD >= (int)PD_DUMP_HEAD, "the header of a dump is in the head");

/* A dump in text form, or an OTLP request, becomes a profile whole or not at all. */
static pprofdelta_status parse_streamed(pd_look *look, const pd_reading *r, pprofdelta_error *err)
{
    pd_bytes head;
    pd_buffer_release(look->mem, &look->inflated);
    look->dump.rate = 0;
    look->dump.has_no_sums = false;
    look->otlp.is_read = false;
    pprofdelta_status status =
        pd_stream_begin(&look->stream, look->mem, r->bytes, r->plan.piece, err);
    if (!status)
        status = pd_stream_reach(&look->stream, 0, HEAD, &head, err);
    if (!status && (pd_dump_begins(head) || pd_request_begins(head)))
        return parse_whole(look, r, err);
    return status ? status : parse(look, err);
}

pprofdelta_status pd_look_parse(pd_look *look, const pd_reading *r, pprofdelta_error *err)
{
    pprofdelta_status status = r->plan.source == PD_SOURCE_WHOLE ? parse_whole(look, r, err)
                                                                 : parse_streamed(look, r, err);
    if (status)
        return status;
    if (r->plan.is_tight)
        pd_look_trim(look);
    name_columns(look);
    return PPROFDELTA_OK;
}

/* ---- the second pass --------------------------------------------------------------------------- */

pprofdelta_status pd_look_samples(pd_look *look, pd_sample_taker taker, pprofdelta_error *err)
{
    pprofdelta_status status = pd_stream_rewind(&look->stream, err);
    return status ? status
                  : pd_pass_samples(&look->tables, &look->stream, look->numbers, &look->columns,
                                    taker, look->mem, err);
}

pprofdelta_status pd_look_sums(pd_look *look, pprofdelta_sum *sums, pprofdelta_error *err)
{
    pprofdelta_status status = pd_stream_rewind(&look->stream, err);
    return status ? status : pd_pass_sums(&look->tables, &look->stream, sums, err);
}

pprofdelta_status pd_look_rewind(pd_look *look, pprofdelta_error *err)
{
    if (!look->stream.is_whole)
        look->tables.bytes = (pd_bytes){0};
    look->tables.base = 0;
    return pd_stream_rewind(&look->stream, err);
}

bool pd_look_live_stamp(const pd_look *look, pprofdelta_stamp *out)
{
    pprofdelta_stamp stamp;
    if (!pd_stamp_of(&look->tables, &stamp) || !stamp.live || stamp.from_nanos > stamp.to_nanos)
        return false;
    *out = stamp;
    return true;
}

/* ---- memory ------------------------------------------------------------------------------------ */

/* Trims the buffer that the strings point into. It may move. */
static void trim_bytes(pd_look *look, pd_buffer *buffer, size_t len)
{
    pd_tables *t = &look->tables;
    if (!len || buffer->cap == len)
        return;
    uintptr_t before = (uintptr_t)buffer->ptr;
    pd_mem_trim(look->mem, &buffer->ptr, &buffer->cap, len, 1);
    for (size_t i = 0; i < t->strings_len; i++)
        t->strings[i].ptr = buffer->ptr + ((uintptr_t)t->strings[i].ptr - before);
}

void pd_look_trim(pd_look *look)
{
    pd_tables *t = &look->tables;
    pd_buffer *const buffers[] = {&look->inflated, &look->dump.profile, &look->otlp.profile};
    if (!look->stream.is_whole)
        trim_bytes(look, &look->text, look->text.len);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers && t->bytes.len; i++)
        if (t->bytes.ptr == buffers[i]->ptr) {
            trim_bytes(look, buffers[i], t->bytes.len);
            t->bytes.ptr = look->stream.whole.ptr = buffers[i]->ptr;
        }
    pd_tables_trim(t, look->mem);
}

void pd_look_release(pd_look *look)
{
    pd_mem *mem = look->mem;
    const pd_stack_numbers *numbers = look->numbers;
    bool unsamples = look->unsamples;
    pd_inflater_fini(&look->inflater);
    pd_buffer_release(mem, &look->inflated);
    pd_buffer_release(mem, &look->text);
    pd_stream_end(&look->stream);
    pd_dump_release(&look->dump, mem);
    pd_request_release(&look->otlp, mem);
    pd_tables_release(&look->tables, mem);
    pd_window_release(&look->window, mem);
    pd_transfer_release(&look->transfer, mem);
    *look = (pd_look){.mem = mem, .numbers = numbers, .unsamples = unsamples};
}
