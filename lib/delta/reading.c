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

static void name_columns(pd_input *input)
{
    const pd_tables *t = &input->tables;
    for (size_t i = 0; i < t->types_len; i++)
        input->names[i] = (pd_type_name){.type = t->strings[t->types[i].type],
                                         .unit = t->strings[t->types[i].unit]};
}

/* *bytes is the input, inflated, and becomes the profile that it stands for. */
static pprofdelta_status convert_text(pd_input *input, const pd_reading *r, pd_bytes *bytes,
                                      pprofdelta_error *err)
{
    pprofdelta_status status = pd_dump_read(&input->dump, input->mem, !r->unsamples, bytes, err);
    if (r->unsamples)
        input->dump.rate = 0;
    return status;
}

/* A request has the windows of a receiver, and no counters since the start of a process. */
static pprofdelta_status convert_otlp(pd_input *input, const pd_reading *r, pd_bytes *bytes,
                                      pprofdelta_error *err)
{
    if (!r->takes_otlp)
        return pd_because(
            err, PPROFDELTA_REASON_IS_OTLP,
            pd_fail(err, PPROFDELTA_E_PROFILE, "profile", NULL, PPROFDELTA_NOWHERE,
                    PPROFDELTA_NOWHERE,
                    "this is an OTLP request; a delta needs cumulative pprof profiles"));
    return pd_request_read(&input->otlp, input->mem, bytes, err);
}

/* Copies plain bytes, which are the caller's. */
static pprofdelta_status keep(pd_input *input, pprofdelta_error *err)
{
    pd_bytes all = input->source.whole;
    pd_buffer *kept = &input->source.window;
    kept->len = 0;
    pprofdelta_status status = pd_buffer_room(input->mem, kept, all.len, err);
    if (status)
        return status;
    memcpy(kept->ptr, all.ptr, all.len);
    pd_source_set(&input->source, input->mem, (pd_bytes){kept->ptr, all.len});
    return PPROFDELTA_OK;
}

/* An input that is converted becomes a profile whole or not at all. */
static pprofdelta_status convert(pd_input *input, const pd_reading *r, pprofdelta_file_kind kind,
                                 pprofdelta_error *err)
{
    pd_source *source = &input->source;
    pprofdelta_status status = PPROFDELTA_OK;
    if (!source->is_whole)
        status = pd_source_open(source, input->mem, r->bytes, 0, err);
    pd_bytes bytes = source->whole;
    if (!status)
        status = kind == PPROFDELTA_FILE_TEXT ? convert_text(input, r, &bytes, err)
                                              : convert_otlp(input, r, &bytes, err);
    if (!status)
        pd_source_set(source, input->mem, bytes);
    return status;
}

pprofdelta_status pd_input_open(pd_input *input, const pd_reading *r, pprofdelta_error *err)
{
    enum { HEAD = sizeof((pd_head *)0)->bytes };
    pd_bytes head;
    pd_source *source = &input->source;
    input->dump.rate = 0;
    input->dump.has_no_sums = false;
    input->otlp.is_read = false;
    pprofdelta_status status = pd_source_open(source, input->mem, r->bytes, r->piece, err);
    if (!status)
        status = pd_source_reach(source, 0, HEAD, &head, err);
    if (status)
        return status;
    pprofdelta_file_kind kind = pd_kind_of(head).kind;
    if (kind == PPROFDELTA_FILE_TEXT || kind == PPROFDELTA_FILE_OTLP)
        return convert(input, r, kind, err);
    bool is_borrowed = source->is_whole && source->whole.ptr == r->bytes.ptr;
    return r->keeps_bytes && is_borrowed ? keep(input, err) : PPROFDELTA_OK;
}

/* If the bytes are of another kind, that is what is wrong with them. */
static pprofdelta_status tell_kind(pd_input *input, const pd_reading *r, pprofdelta_status status,
                                   pprofdelta_error *err)
{
    pd_head head;
    if ((status != PPROFDELTA_E_WIRE && status != PPROFDELTA_E_PROFILE) ||
        pd_source_head(input->mem, r->bytes, &head, NULL))
        return status;
    return pd_kind_tell((pd_bytes){head.bytes, head.len}, status, err);
}

pprofdelta_status pd_input_parse(pd_input *input, const pd_reading *r, pprofdelta_error *err)
{
    pprofdelta_status status = pd_input_open(input, r, err);
    if (status)
        return status;
    pd_buffer *text = input->source.is_whole ? NULL : &input->text;
    if (!text)
        pd_buffer_release(input->mem, &input->text);
    status = pd_pass_tables(&input->tables, text, &input->source, input->mem, err);
    if (status)
        return tell_kind(input, r, status, err);
    if (input->mem->is_tight)
        pd_input_trim(input);
    name_columns(input);
    return PPROFDELTA_OK;
}

/* ---- the second pass --------------------------------------------------------------------------- */

pprofdelta_status pd_input_samples(pd_input *input, pd_sample_taker taker, pprofdelta_error *err)
{
    pprofdelta_status status = pd_source_rewind(&input->source, err);
    return status ? status
                  : pd_pass_samples(&input->tables, &input->source, input->numbers, &input->columns,
                                    taker, input->mem, err);
}

pprofdelta_status pd_input_sums(pd_input *input, pprofdelta_sum *sums, pprofdelta_error *err)
{
    pprofdelta_status status = pd_source_rewind(&input->source, err);
    return status ? status : pd_pass_sums(&input->tables, &input->source, sums, err);
}

pprofdelta_status pd_input_rewind(pd_input *input, pprofdelta_error *err)
{
    if (!input->source.is_whole)
        input->tables.bytes = (pd_bytes){0};
    input->tables.base = 0;
    return pd_source_rewind(&input->source, err);
}

bool pd_input_live_stamp(const pd_input *input, pprofdelta_stamp *out)
{
    pprofdelta_stamp stamp;
    if (!pd_stamp_of(&input->tables, &stamp) || !stamp.live || stamp.from_nanos > stamp.to_nanos)
        return false;
    *out = stamp;
    return true;
}

/* ---- memory ------------------------------------------------------------------------------------ */

/* Trims the buffer that the strings point into. It may move. */
static void trim_bytes(pd_input *input, pd_buffer *buffer, size_t len)
{
    pd_tables *t = &input->tables;
    if (!len || buffer->cap == len)
        return;
    uintptr_t before = (uintptr_t)buffer->ptr;
    pd_mem_trim(input->mem, &buffer->ptr, &buffer->cap, len, 1);
    for (size_t i = 0; i < t->strings_len; i++)
        t->strings[i].ptr = buffer->ptr + ((uintptr_t)t->strings[i].ptr - before);
}

void pd_input_trim(pd_input *input)
{
    pd_tables *t = &input->tables;
    pd_buffer *const buffers[] = {&input->source.window, &input->dump.profile,
                                  &input->otlp.profile};
    if (!input->source.is_whole)
        trim_bytes(input, &input->text, input->text.len);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers && t->bytes.len; i++)
        if (t->bytes.ptr == buffers[i]->ptr) {
            trim_bytes(input, buffers[i], t->bytes.len);
            t->bytes.ptr = input->source.whole.ptr = buffers[i]->ptr;
        }
}

void pd_input_release(pd_input *input)
{
    pd_mem *mem = input->mem;
    const pd_stack_numbers *numbers = input->numbers;
    pd_buffer_release(mem, &input->text);
    pd_source_end(&input->source);
    pd_dump_release(&input->dump, mem);
    pd_request_release(&input->otlp, mem);
    pd_tables_release(&input->tables, mem);
    pd_window_release(&input->window, mem);
    pd_transfer_release(&input->transfer, mem);
    *input = (pd_input){.mem = mem, .numbers = numbers};
}
