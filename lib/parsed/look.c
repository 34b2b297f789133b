#include "parsed/context.h"
#include "profile/stamp.h"

void pd_look_name_columns(pd_look *look)
{
    const pd_tables *t = &look->tables;
    for (size_t i = 0; i < t->types_len; i++)
        look->names[i] = (pd_type_name){.type = t->strings[t->types[i].type],
                                        .unit = t->strings[t->types[i].unit]};
}

static pprofdelta_status keep(pprofdelta *pd, pd_look *look, pd_bytes *raw, pprofdelta_error *err)
{
    look->inflated.len = 0;
    pprofdelta_status status = pd_buffer_room(&pd->mem, &look->inflated, raw->len, err);
    if (status)
        return status;
    memcpy(look->inflated.ptr, raw->ptr, raw->len);
    look->inflated.len = raw->len;
    raw->ptr = look->inflated.ptr;
    return PPROFDELTA_OK;
}

/* In the usual way: is the limit likely to be too low for the profile as a whole? Then it is held
 * about six times: inflated, as tables, as the ledger and rows of it, written, and compressed. This
 * is a guess, for speed: if it is wrong the other ways are left. Plain bytes are not held by the
 * context. What the context has written itself, it knows the length of. */
bool pd_look_is_large(const pprofdelta *pd, const pd_look *look, const uint8_t *bytes, size_t len)
{
    enum { TIMES = 6 };
    bool is_own = look == &pd->proof;
    uint64_t left = pd->mem.limit - pd->mem.used + look->inflated.cap, most = left / TIMES;
    if (pd->piece || (pd->way != PD_WAY_USUAL && !is_own))
        return pd->piece || pd->way == PD_WAY_BOUNDED;
    if (pd->way != PD_WAY_USUAL)
        most = PD_STREAM_PIECE;
    return pd_format_of(bytes, len) != PD_FORMAT_PLAIN && pd_inflate_announced(bytes, len) > most;
}

pprofdelta_status pd_look_stream(pprofdelta *pd, pd_look *look, pprofdelta_error *err)
{
    return pd_stream_begin(&look->stream, &pd->mem, look->packed.ptr, look->packed.len,
                           pd->piece ? pd->piece : PD_STREAM_PIECE,
                           pd_pump_is_open(&pd->pump) && !pd->way ? &pd->pump : NULL, err);
}

static pprofdelta_status parse_whole(pprofdelta *pd, pd_look *look, bool keep_bytes,
                                     pprofdelta_error *err)
{
    pd_bytes raw, packed = look->packed;
    pd_stream_end(&look->stream);
    pd_buffer_release(&pd->mem, &look->text);
    look->is_streamed = false;
    pprofdelta_status status =
        pd_inflate(&pd->inflater, &pd->mem, packed.ptr, packed.len, &look->inflated, &raw, err);
    if (!status)
        status = pd_text_read(&look->dump, &pd->mem, !look->unsamples, &raw, err);
    if (look->unsamples)
        look->dump.rate = 0;
    if (!status && keep_bytes && packed.len && raw.ptr == packed.ptr)
        status = keep(pd, look, &raw, err);
    return status ? status : pd_tables_parse(&look->tables, &pd->mem, raw, err);
}

/* But for a dump that is text, which becomes a profile whole or not at all. */
static pprofdelta_status parse_streamed(pprofdelta *pd, pd_look *look, pprofdelta_error *err)
{
    pd_bytes head;
    pd_buffer_release(&pd->mem, &look->inflated);
    look->is_streamed = true;
    look->dump.rate = 0;
    look->dump.has_no_sums = false;
    pprofdelta_status status = pd_look_stream(pd, look, err);
    if (!status)
        status = pd_stream_reach(&look->stream, 0, PD_TEXT_HEAD, &head, err);
    if (!status && pd_text_begins(head))
        return parse_whole(pd, look, false, err);
    if (!status)
        status = pd_chunks_tables(&look->tables, &look->text, &look->stream, &pd->mem, err);
    return status;
}

/* The buffer that the strings point into, which may move, gets no room for more. */
static void trim_bytes(pd_mem *mem, pd_buffer *buffer, size_t len, pd_tables *t)
{
    if (!len || buffer->cap == len)
        return;
    uintptr_t before = (uintptr_t)buffer->ptr;
    pd_mem_trim(mem, &buffer->ptr, &buffer->cap, len, 1);
    for (size_t i = 0; i < t->strings_len; i++)
        t->strings[i].ptr = buffer->ptr + ((uintptr_t)t->strings[i].ptr - before);
}

void pd_look_trim(pd_look *look, pd_mem *mem)
{
    pd_tables *t = &look->tables;
    pd_buffer *const buffers[] = {&look->inflated, &look->dump.profile};
    if (look->is_streamed)
        trim_bytes(mem, &look->text, look->text.len, t);
    for (size_t i = 0; i < 2 && t->bytes.len; i++)
        if (t->bytes.ptr == buffers[i]->ptr) {
            trim_bytes(mem, buffers[i], t->bytes.len, t);
            t->bytes.ptr = buffers[i]->ptr;
        }
    pd_tables_trim(t, mem);
}

pprofdelta_status pd_look_parse(pprofdelta *pd, pd_look *look, const void *bytes, size_t len,
                                bool keep_bytes, pprofdelta_error *err)
{
    if (!bytes && len)
        return pd_fail(err, PPROFDELTA_E_USAGE, "options", NULL, PPROFDELTA_NOWHERE,
                       PPROFDELTA_NOWHERE, "bytes is NULL and len is not 0");
    look->packed = (pd_bytes){bytes, len};
    pprofdelta_error first, second;
    bool is_large_one = !keep_bytes && pd_look_is_large(pd, look, bytes, len), has_second = false;
    pprofdelta_status status =
        is_large_one ? parse_streamed(pd, look, &first) : parse_whole(pd, look, keep_bytes, &first);
    /* One way may have room for what the other has not. If none has, the ordinary one tells. */
    if (status == PPROFDELTA_E_LIMIT && !keep_bytes && !pd->piece && !pd->way) {
        status = is_large_one ? parse_whole(pd, look, false, &second)
                              : parse_streamed(pd, look, &second);
        has_second = is_large_one || status != PPROFDELTA_E_LIMIT;
    }
    if (status && err)
        *err = has_second ? second : first;
    if (!status && pd->way)
        pd_look_trim(look, &pd->mem);
    if (!status)
        pd_look_name_columns(look);
    return status;
}

pprofdelta_status pd_look_samples(pprofdelta *pd, pd_look *look, pd_sample_taker taker,
                                  pprofdelta_error *err)
{
    if (!look->is_streamed)
        return pd_samples_read(&look->tables, &pd->numbers, &look->columns, taker, &pd->mem, err);
    pprofdelta_status status = pd_look_stream(pd, look, err);
    if (!status)
        status = pd_chunks_samples(&look->tables, &look->stream, &pd->numbers, &look->columns,
                                   taker, &pd->mem, err);
    return status;
}

pprofdelta_status pd_look_sum(pprofdelta *pd, pd_look *look, pprofdelta_sum *sums,
                              pprofdelta_error *err)
{
    if (!look->is_streamed) {
        pd_samples_sum(&look->tables, sums);
        return PPROFDELTA_OK;
    }
    pprofdelta_status status = pd_look_stream(pd, look, err);
    return status ? status : pd_chunks_sum(&look->tables, &look->stream, sums, err);
}

void pd_look_keep_nothing(pprofdelta *pd, pd_look *look)
{
    pd_kept_release(&look->kept, &pd->mem);
    look->is_kept = false;
}

/* Are the records of the window's rows there? */
static bool has_kept(const pd_look *look)
{
    return look->is_kept && !look->kept.is_lost;
}

pprofdelta_status pd_look_rewind(pprofdelta *pd, pd_look *look, pprofdelta_error *err)
{
    if (!look->is_streamed || has_kept(look))
        return PPROFDELTA_OK;
    look->tables.bytes = (pd_bytes){0};
    look->tables.base = 0;
    return pd_look_stream(pd, look, err);
}

pprofdelta_status pd_look_record(pd_look *look, size_t row, pprofdelta_error *err)
{
    uint64_t origin = look->window.origin[row];
    if (!look->is_streamed)
        return PPROFDELTA_OK;
    if (!has_kept(look))
        return pd_chunks_record(&look->tables, &look->stream, origin, err);
    look->tables.bytes = pd_kept_record(&look->kept, row);
    look->tables.base = origin;
    return PPROFDELTA_OK;
}

static pprofdelta_status classify(pprofdelta *pd, pd_look *look, pprofdelta_error *err)
{
    const pd_tables *t = &look->tables;
    if (pd->flags & PPROFDELTA_FORCE)
        return pd_types_classify(look->names, t->types_len, &pd->rules, err);
    pd_type_name period = {.type = t->strings[t->header.period_type.type],
                           .unit = t->strings[t->header.period_type.unit]};
    return pd_types_classify_cumulative(
        look->names, t->types_len, t->header.has_period_type ? &period : NULL, &pd->rules, err);
}

pprofdelta_status pd_look_classify(pprofdelta *pd, pd_look *look, pprofdelta_error *err)
{
    if (look->tables.is_stamped && !(pd->flags & PPROFDELTA_FORCE))
        return pd_fail(err, PPROFDELTA_E_STAMPED, "delta", "comment", PPROFDELTA_NOWHERE,
                       PPROFDELTA_NOWHERE,
                       "this is already a delta that pprofdelta wrote, not a cumulative profile");
    pprofdelta_status status = classify(pd, look, err);
    if (status == PPROFDELTA_E_MISMATCH && look->dump.has_no_sums)
        return pd_fail(err, status, "delta", "sample_type", PPROFDELTA_NOWHERE, PPROFDELTA_NOWHERE,
                       "this dump has no cumulative counts, only what is in use; jemalloc counts "
                       "with MALLOC_CONF=prof:true,prof_accum:true");
    return status;
}

bool pd_look_live_stamp(const pd_look *look, pprofdelta_stamp *out)
{
    pprofdelta_stamp stamp;
    if (!pd_stamp_of(&look->tables, &stamp) || !stamp.live || stamp.from_nanos > stamp.to_nanos)
        return false;
    *out = stamp;
    return true;
}

pprofdelta_status pd_look_remember(pprofdelta *pd, const pd_look *look, const pd_mapped_list *known,
                                   pd_remembered *out, pprofdelta_error *err)
{
    const pd_tables *t = &look->tables;
    pprofdelta_stamp live = {0};
    pd_look_live_stamp(look, &live);
    out->live_id = live.id;
    out->live_to_nanos = live.to_nanos;
    out->time_nanos = t->header.time_nanos;
    out->duration_nanos = t->header.duration_nanos > 0 ? t->header.duration_nanos : 0;
    out->from_nanos = 0;
    out->restart = PPROFDELTA_RESTART_NONE;
    out->rate = look->dump.rate;
    out->build_id.len = 0;
    pprofdelta_status status = pd_mapped_remember(&out->mapped, &pd->mem, t, known, err);
    if (status || !t->mappings_len)
        return status;
    pd_bytes build_id = t->strings[t->mappings[0].build_id];
    status = pd_buffer_room(&pd->mem, &out->build_id, build_id.len + 1, err);
    if (status || !build_id.len)
        return status;
    memcpy(out->build_id.ptr, build_id.ptr, build_id.len);
    out->build_id.len = build_id.len;
    return PPROFDELTA_OK;
}

void pd_look_release(pd_look *look, pd_mem *mem)
{
    pd_buffer_release(mem, &look->inflated);
    pd_buffer_release(mem, &look->text);
    pd_kept_release(&look->kept, mem);
    pd_stream_end(&look->stream);
    pd_text_release(&look->dump, mem);
    pd_tables_release(&look->tables, mem);
    pd_window_release(&look->window, mem);
    pd_transfer_release(&look->transfer, mem);
}
