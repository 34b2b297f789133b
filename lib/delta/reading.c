#include "delta/reading.h"

#include "delta/kind.h"

/* ---- whole or streamed ------------------------------------------------------------------------- */

enum {
    CHUNK = 128 << 10,
    SHORT = 2 * CHUNK, /* a shorter profile takes less memory whole than as a stream */
    USUAL_RATIO = 8,   /* for files that do not say what they inflate to */
    /* A profile that is read whole is held about so many times: inflated, as tables, as ledger and
     * rows, written, and compressed. If this guess is wrong, the call is made again. */
    TIMES = 6
};

size_t pd_reading_chunk(const pd_reading_facts *f)
{
    uint64_t size = f->announced ? f->announced : f->packed * USUAL_RATIO; /* by the file alone */
    bool is_large = f->is_tight
                        ? size > SHORT
                        : f->container != PD_CONTAINER_PLAIN && f->announced > f->left / TIMES;
    if (f->needs_all)
        return 0;
    return f->chunk ? f->chunk : is_large ? CHUNK : 0;
}

/* ---- the bytes -------------------------------------------------------------------------------- */

/* *bytes is the input, inflated, and becomes the profile that it stands for. */
static pprofdelta_status convert_text(pd_input *input, const pd_reading *r, pd_bytes *bytes,
                                      pprofdelta_error *err)
{
    pprofdelta_status status = pd_dump_read(&input->dump, input->mem, !r->unsamples, bytes, err);
    if (r->unsamples)
        input->dump.rate = 0;
    return status;
}

/* Copies plain bytes, which are the caller's. */
static pprofdelta_status copy_bytes(pd_input *input, pprofdelta_error *err)
{
    pd_bytes all = input->source.whole;
    pd_buffer *kept = &input->source.window;
    kept->len = 0;
    PD_TRY(pd_buffer_room(input->mem, kept, all.len, err));
    memcpy(kept->ptr, all.ptr, all.len);
    pd_source_set(&input->source, input->mem, (pd_bytes){kept->ptr, all.len});
    return PPROFDELTA_OK;
}

/* The offsets of a request's samples, which the output has, are in its bytes. */
static pprofdelta_status convert_otlp(pd_input *input, const pd_reading *r, pd_bytes *bytes,
                                      pprofdelta_error *err)
{
    bool is_borrowed = bytes->ptr == r->bytes.ptr;
    PD_TRY(r->keeps_bytes && is_borrowed ? copy_bytes(input, err) : PPROFDELTA_OK);
    *bytes = input->source.whole;
    input->otlp.takes_several = r->takes_several;
    return pd_request_read(&input->otlp, input->mem, bytes, err);
}

/* An input that is converted becomes a profile whole or not at all. */
static pprofdelta_status convert_input(pd_input *input, const pd_reading *r,
                                       pprofdelta_file_kind kind, pprofdelta_error *err)
{
    pd_source *source = &input->source;
    if (!source->is_whole)
        PD_TRY(pd_source_open(source, input->mem, r->bytes, 0, err));
    pd_bytes bytes = source->whole;
    input->converted_len = bytes.len;
    PD_TRY(kind == PPROFDELTA_FILE_TEXT ? convert_text(input, r, &bytes, err)
                                        : convert_otlp(input, r, &bytes, err));
    pd_source_set(source, input->mem, bytes);
    return PPROFDELTA_OK;
}

pprofdelta_status pd_input_open(pd_input *input, const pd_reading *r, pprofdelta_error *err)
{
    enum { HEAD = sizeof((pd_head *)0)->bytes };
    pd_bytes head;
    pd_source *source = &input->source;
    const pd_reading_facts facts = {.container = pd_container_of(r->bytes.ptr, r->bytes.len),
                                    .packed = r->bytes.len,
                                    .announced = pd_inflate_announced(r->bytes),
                                    .left = pd_mem_left(input->mem) +
                                            source->window.cap, /* which is used again */
                                    .needs_all = r->is_whole || r->keeps_bytes,
                                    .is_tight = pd_mem_is_tight(input->mem),
                                    .chunk = r->chunk};
    input->dump.rate = 0;
    input->dump.has_no_sums = false;
    input->otlp.is_read = false;
    input->converted_len = 0;
    PD_TRY(pd_source_open(source, input->mem, r->bytes, pd_reading_chunk(&facts), err));
    PD_TRY(pd_source_reach(source, 0, HEAD, &head, err));
    pprofdelta_file_kind kind = pd_kind_of(head).kind;
    if (kind == PPROFDELTA_FILE_TEXT || kind == PPROFDELTA_FILE_OTLP)
        return convert_input(input, r, kind, err);
    bool is_borrowed = source->is_whole && source->whole.ptr == r->bytes.ptr;
    return r->keeps_bytes && is_borrowed ? copy_bytes(input, err) : PPROFDELTA_OK;
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

/* ---- part by part ------------------------------------------------------------------------------ */

typedef struct parts {
    pd_source *source;
    pd_bytes part;
    uint64_t at; /* the offset of the part */
    bool is_begun, is_end;
} parts; /* set source and at, which is where to begin; zero the rest */

/* The next part, which begins where `top` could read no further. False if that was the last one, or
 * if more bytes would not help; *top is then as it was. */
static bool next_part(parts *p, pd_reader *top, pprofdelta_status *status, pprofdelta_error *err)
{
    enum { HEAD = 1024 }; /* bytes in the first part, if the profile has them */
    uint64_t need = HEAD;
    if (p->is_begun) {
        need = 1;
        if (p->is_end)
            return false;
        if (top->trouble && (need = pd_reader_lacks(top)) <= (uint64_t)(top->end - top->at))
            return false;
        p->at += (uint64_t)(top->at - p->part.ptr);
    } else if ((*status = pd_source_rewind(p->source, err))) {
        return false;
    }
    *status = pd_source_reach(p->source, p->at, need, &p->part, err);
    if (*status)
        return false;
    p->is_begun = true;
    p->is_end = p->source->is_done;
    *top = pd_reader_of(p->part.ptr, p->part.len);
    return true;
}

/* ---- the first pass ---------------------------------------------------------------------------- */

/* Copies the strings from `from` on, which lie in the part that was just read, behind the text. */
static pprofdelta_status keep_strings(pd_input *input, size_t from, pprofdelta_error *err)
{
    const pd_tables *t = &input->tables;
    size_t len = 1; /* so that there is something to point to */
    for (size_t i = from; i < t->strings_len; i++)
        len += t->strings[i].len; /* no more than the part */
    PD_TRY(pd_buffer_room(input->mem, &input->text, len, err));
    for (size_t i = from; i < t->strings_len; i++)
        pd_buffer_put(&input->text, t->strings[i].ptr, t->strings[i].len);
    return PPROFDELTA_OK;
}

/* The text does not move any more: points the strings into it. */
static void point_strings(pd_input *input)
{
    const uint8_t *at = input->text.ptr;
    for (size_t i = 0; i < input->tables.strings_len; i++) {
        input->tables.strings[i].ptr = at;
        at += input->tables.strings[i].len;
    }
}

/* Reads to the end of the profile, or to what is wrong with it. */
static pprofdelta_status read_parts(pd_input *input, pprofdelta_error *err)
{
    pd_tables *t = &input->tables;
    parts p = {.source = &input->source};
    pd_parse parse = {.mem = input->mem, .err = err, .element = PPROFDELTA_NOWHERE};
    pd_reader top = {0};
    pprofdelta_status status = PPROFDELTA_OK;
    pd_tables_begin(t);
    input->text.len = 0;
    input->source.useful = 0;
    while (!status && !parse.status && next_part(&p, &top, &status, err)) {
        size_t strings = t->strings_len;
        t->bytes = p.part;
        t->base = p.at;
        parse.zero = p.part.ptr;
        parse.base = p.at;
        pd_tables_read(t, &parse, &top);
        input->source.useful = t->samples_len; /* all else is held, or good for nothing */
        if (!parse.status)
            status = keep_strings(input, strings, err);
    }
    if (status)
        return status;
    pd_tables_read_end(t, &parse, &top);
    return parse.status;
}

/* If the container and the profile are damaged, the error is the container's. */
static pprofdelta_status read_streamed(pd_input *input, pprofdelta_error *err)
{
    pd_tables *t = &input->tables;
    pprofdelta_error container;
    pprofdelta_status status = read_parts(input, err);
    if (status && status != PPROFDELTA_E_WIRE && status != PPROFDELTA_E_PROFILE)
        return status;
    pprofdelta_status before = pd_source_finish(&input->source, &container);
    if (before)
        return pd_fail_as(err, &container);
    if (status)
        return status;
    t->len = pd_source_len(&input->source);
    t->bytes = (pd_bytes){0};
    point_strings(input);
    return pd_tables_seal(t, input->mem, err);
}

pprofdelta_status pd_input_parse(pd_input *input, const pd_reading *r, pprofdelta_error *err)
{
    pd_tables *t = &input->tables;
    PD_TRY(pd_input_open(input, r, err));
    if (input->source.is_whole)
        pd_buffer_release(input->mem, &input->text);
    pprofdelta_status status = input->source.is_whole
                                   ? pd_tables_parse(t, input->mem, input->source.whole, err)
                                   : read_streamed(input, err);
    if (status)
        return tell_kind(input, r, status, err);
    if (pd_mem_is_tight(input->mem))
        pd_input_trim(input);
    for (size_t i = 0; i < t->types_len; i++)
        input->names[i] = (pd_type_name){.type = t->strings[t->types[i].type],
                                         .unit = t->strings[t->types[i].unit]};
    return PPROFDELTA_OK;
}

/* ---- the second pass --------------------------------------------------------------------------- */

pprofdelta_status pd_input_samples(pd_input *input, pd_sample_taker taker, pprofdelta_error *err)
{
    pd_tables *t = &input->tables;
    pd_sample_reader r = {.parse = {.mem = pd_mem_whole(input->mem), .err = err},
                          .tables = t,
                          .numbers = input->numbers,
                          .columns = &input->columns};
    parts p = {.source = &input->source, .at = t->samples_off};
    pd_reader top = {0};
    pprofdelta_status status = PPROFDELTA_OK;
    while (!status && r.parse.element < t->samples && next_part(&p, &top, &status, err)) {
        r.parse.zero = p.part.ptr;
        r.parse.base = p.at;
        status = pd_samples_read(&r, &top, taker);
    }
    t->sample_unknown_fields = r.parse.unknown_fields;
    return status;
}

pprofdelta_status pd_input_sums(pd_input *input, pprofdelta_sum *sums, pprofdelta_error *err)
{
    parts p = {.source = &input->source, .at = input->tables.samples_off};
    pd_reader top = {0};
    pprofdelta_status status = PPROFDELTA_OK;
    while (!status && next_part(&p, &top, &status, err))
        pd_samples_sum(&top, input->tables.types_len, sums);
    return status;
}

/* ---- one record -------------------------------------------------------------------------------- */

pprofdelta_status pd_input_rewind(pd_input *input, pprofdelta_error *err)
{
    input->tables.bytes = (pd_bytes){0};
    input->tables.base = 0;
    return pd_source_rewind(&input->source, err);
}

pprofdelta_status pd_input_record(pd_input *input, size_t row, pprofdelta_error *err)
{
    pd_tables *t = &input->tables;
    uint64_t offset = input->window.offset[row];
    for (bool is_end = false; !is_end; is_end = input->source.is_done) {
        uint64_t before = offset - t->base;
        pd_reader r = {0};
        pd_field f;
        if (before < t->bytes.len)
            r = pd_reader_of(t->bytes.ptr + before, t->bytes.len - (size_t)before);
        if (pd_reader_next(&r, &f))
            break;
        uint64_t need = r.trouble ? pd_reader_lacks(&r) : 1;
        PD_TRY(pd_source_reach(&input->source, offset, need, &t->bytes, err));
        t->base = offset;
    }
    return PPROFDELTA_OK;
}

/* ---- memory ------------------------------------------------------------------------------------ */

/* Trims the buffer that the strings point into. It may move. */
static void trim_bytes(pd_input *input, pd_buffer *buffer, size_t len)
{
    pd_tables *t = &input->tables;
    if (!len || buffer->cap == len)
        return;
    uintptr_t before = (uintptr_t)buffer->ptr;
    pd_buffer_trim(input->mem, buffer, len);
    for (size_t i = 0; i < t->strings_len; i++)
        t->strings[i].ptr = buffer->ptr + ((uintptr_t)t->strings[i].ptr - before);
}

void pd_input_trim(pd_input *input)
{
    pd_tables *t = &input->tables;
    pd_buffer *const buffers[] = {&input->source.window, &input->dump.model.encoded,
                                  &input->otlp.profile};
    pd_tables_trim(t, input->mem);
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
    pd_source_rest(&input->source);
    pd_mem_drop(input->mem);
    *input = (pd_input){.mem = input->mem, .numbers = input->numbers};
}
