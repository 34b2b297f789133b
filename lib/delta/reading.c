#include "delta/reading.h"

#include "delta/kind.h"
#include "profile/stamp.h"

/* ---- whole or streamed ------------------------------------------------------------------------- */

enum {
    PIECE = 128 << 10,
    SHORT = 2 * PIECE, /* a shorter profile takes less memory whole than as a stream */
    USUAL_RATIO = 8,   /* for files that do not say what they inflate to */
    /* A profile that is read whole is held about so many times: inflated, as tables, as ledger and
     * rows, written, and compressed. If this guess is wrong, the call is made again. */
    TIMES = 6
};

size_t pd_reading_piece(const pd_reading_facts *f)
{
    uint64_t size = f->announced ? f->announced : f->packed * USUAL_RATIO; /* by the file alone */
    bool is_large =
        f->is_tight ? size > SHORT : f->format != PD_FORMAT_PLAIN && f->announced > f->left / TIMES;
    if (f->keeps_bytes)
        return 0;
    return f->piece ? f->piece : is_large ? PIECE : 0;
}

/* ---- the first pass ---------------------------------------------------------------------------- */

static void name_columns(pd_look *look)
{
    const pd_tables *t = &look->tables;
    for (size_t i = 0; i < t->types_len; i++)
        look->names[i] = (pd_type_name){.type = t->strings[t->types[i].type],
                                        .unit = t->strings[t->types[i].unit]};
}

/* A kind of input that stands for a profile. *bytes is the input, inflated, and becomes the profile. */
typedef pprofdelta_status to_profile(pd_look *look, const pd_reading *r, pd_bytes *bytes,
                                     pprofdelta_error *err);

static pprofdelta_status convert_text(pd_look *look, const pd_reading *r, pd_bytes *bytes,
                                      pprofdelta_error *err)
{
    pprofdelta_status status = pd_dump_read(&look->dump, look->mem, !r->unsamples, bytes, err);
    if (r->unsamples)
        look->dump.rate = 0;
    return status;
}

/* A request has the windows of a receiver, and no counters since the start of a process. */
static pprofdelta_status convert_otlp(pd_look *look, const pd_reading *r, pd_bytes *bytes,
                                      pprofdelta_error *err)
{
    if (!r->takes_otlp)
        return pd_because(
            err, PPROFDELTA_REASON_IS_OTLP,
            pd_fail(err, PPROFDELTA_E_PROFILE, "profile", NULL, PPROFDELTA_NOWHERE,
                    PPROFDELTA_NOWHERE,
                    "this is an OTLP request; a delta needs cumulative pprof profiles"));
    return pd_request_read(&look->otlp, look->mem, bytes, err);
}

static const struct {
    pprofdelta_file_kind kind;
    to_profile *convert;
} converted[] = {{PPROFDELTA_FILE_TEXT, convert_text}, {PPROFDELTA_FILE_OTLP, convert_otlp}};

/* What converts these bytes; NULL: they are read as a profile. */
static to_profile *converter_of(pd_bytes bytes)
{
    pprofdelta_file_kind kind = pd_kind_of(bytes).kind;
    for (size_t i = 0; i < sizeof converted / sizeof *converted; i++)
        if (converted[i].kind == kind)
            return converted[i].convert;
    return NULL;
}

/* Copies plain bytes, which are the caller's. */
static pprofdelta_status keep(pd_look *look, pprofdelta_error *err)
{
    pd_bytes all = look->source.whole;
    pd_buffer *kept = &look->source.window;
    kept->len = 0;
    pprofdelta_status status = pd_buffer_room(look->mem, kept, all.len, err);
    if (status)
        return status;
    memcpy(kept->ptr, all.ptr, all.len);
    pd_source_set(&look->source, look->mem, (pd_bytes){kept->ptr, all.len});
    return PPROFDELTA_OK;
}

/* An input that is converted becomes a profile whole or not at all. */
static pprofdelta_status convert(pd_look *look, const pd_reading *r, to_profile *with,
                                 pprofdelta_error *err)
{
    pd_source *source = &look->source;
    pprofdelta_status status = PPROFDELTA_OK;
    if (!source->is_whole)
        status = pd_source_open(source, look->mem, r->bytes, 0, err);
    pd_bytes bytes = source->whole;
    if (!status)
        status = with(look, r, &bytes, err);
    if (!status)
        pd_source_set(source, look->mem, bytes);
    return status;
}

pprofdelta_status pd_look_open(pd_look *look, const pd_reading *r, pprofdelta_error *err)
{
    enum { HEAD = sizeof((pd_head *)0)->bytes };
    pd_bytes head;
    pd_source *source = &look->source;
    look->dump.rate = 0;
    look->dump.has_no_sums = false;
    look->otlp.is_read = false;
    pprofdelta_status status = pd_source_open(source, look->mem, r->bytes, r->piece, err);
    if (!status)
        status = pd_source_reach(source, 0, HEAD, &head, err);
    if (status)
        return status;
    to_profile *with = converter_of(head);
    if (with)
        return convert(look, r, with, err);
    bool is_borrowed = source->is_whole && source->whole.ptr == r->bytes.ptr;
    return r->keeps_bytes && is_borrowed ? keep(look, err) : PPROFDELTA_OK;
}

/* If the bytes are of another kind, that is what is wrong with them. */
static pprofdelta_status tell_kind(pd_look *look, const pd_reading *r, pprofdelta_status status,
                                   pprofdelta_error *err)
{
    pd_head head;
    if ((status != PPROFDELTA_E_WIRE && status != PPROFDELTA_E_PROFILE) ||
        pd_source_head(look->mem, r->bytes, &head, NULL))
        return status;
    return pd_kind_tell((pd_bytes){head.bytes, head.len}, status, err);
}

pprofdelta_status pd_look_parse(pd_look *look, const pd_reading *r, pprofdelta_error *err)
{
    pprofdelta_status status = pd_look_open(look, r, err);
    if (status)
        return status;
    pd_buffer *text = look->source.is_whole ? NULL : &look->text;
    if (!text)
        pd_buffer_release(look->mem, &look->text);
    status = pd_pass_tables(&look->tables, text, &look->source, look->mem, err);
    if (status)
        return tell_kind(look, r, status, err);
    if (look->mem->is_tight)
        pd_look_trim(look);
    name_columns(look);
    return PPROFDELTA_OK;
}

/* ---- the second pass --------------------------------------------------------------------------- */

pprofdelta_status pd_look_samples(pd_look *look, pd_sample_taker taker, pprofdelta_error *err)
{
    pprofdelta_status status = pd_source_rewind(&look->source, err);
    return status ? status
                  : pd_pass_samples(&look->tables, &look->source, look->numbers, &look->columns,
                                    taker, look->mem, err);
}

pprofdelta_status pd_look_sums(pd_look *look, pprofdelta_sum *sums, pprofdelta_error *err)
{
    pprofdelta_status status = pd_source_rewind(&look->source, err);
    return status ? status : pd_pass_sums(&look->tables, &look->source, sums, err);
}

pprofdelta_status pd_look_rewind(pd_look *look, pprofdelta_error *err)
{
    if (!look->source.is_whole)
        look->tables.bytes = (pd_bytes){0};
    look->tables.base = 0;
    return pd_source_rewind(&look->source, err);
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
    pd_buffer *const buffers[] = {&look->source.window, &look->dump.profile, &look->otlp.profile};
    if (!look->source.is_whole)
        trim_bytes(look, &look->text, look->text.len);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers && t->bytes.len; i++)
        if (t->bytes.ptr == buffers[i]->ptr) {
            trim_bytes(look, buffers[i], t->bytes.len);
            t->bytes.ptr = look->source.whole.ptr = buffers[i]->ptr;
        }
    pd_tables_trim(t, look->mem);
}

void pd_look_release(pd_look *look)
{
    pd_mem *mem = look->mem;
    const pd_stack_numbers *numbers = look->numbers;
    pd_buffer_release(mem, &look->text);
    pd_source_end(&look->source);
    pd_dump_release(&look->dump, mem);
    pd_request_release(&look->otlp, mem);
    pd_tables_release(&look->tables, mem);
    pd_window_release(&look->window, mem);
    pd_transfer_release(&look->transfer, mem);
    *look = (pd_look){.mem = mem, .numbers = numbers};
}
