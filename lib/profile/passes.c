#include "profile/passes.h"

enum { HEAD = 1024 }; /* bytes in the first part, if the profile has them */

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
    uint64_t need = HEAD;
    if (p->is_begun) {
        need = 1;
        if (p->is_end)
            return false;
        if (top->trouble && (need = pd_reader_lacks(top)) <= (uint64_t)(top->end - top->at))
            return false;
        p->at += (uint64_t)(top->at - p->part.ptr);
    }
    *status = pd_source_reach(p->source, p->at, need, &p->part, err);
    if (*status)
        return false;
    p->is_begun = true;
    p->is_end = p->source->is_done;
    *top = pd_reader_of(p->part.ptr, p->part.len);
    return true;
}

/* ---- the tables -------------------------------------------------------------------------------- */

/* Copies the strings from `from` on, which lie in the part that was just read, behind *text. */
static pprofdelta_status keep_strings(const pd_tables *t, size_t from, pd_buffer *text, pd_mem *mem,
                                      pprofdelta_error *err)
{
    size_t len = 1; /* so that there is something to point to */
    for (size_t i = from; i < t->strings_len; i++)
        len += t->strings[i].len; /* no more than the part */
    pprofdelta_status status = pd_buffer_room(mem, text, len, err);
    for (size_t i = from; i < t->strings_len && !status; i++) {
        if (t->strings[i].len)
            memcpy(text->ptr + text->len, t->strings[i].ptr, t->strings[i].len);
        text->len += t->strings[i].len;
    }
    return status;
}

/* The text does not move any more: points the strings into it. */
static void point_strings(pd_tables *t, const pd_buffer *text)
{
    const uint8_t *at = text->ptr;
    for (size_t i = 0; i < t->strings_len; i++) {
        t->strings[i].ptr = at;
        at += t->strings[i].len;
    }
}

/* Reads to the end of the profile, or to what is wrong with it. */
static pprofdelta_status read_parts(pd_tables *t, pd_buffer *text, parts *p, pd_mem *mem,
                                    pprofdelta_error *err)
{
    pprofdelta_status status = PPROFDELTA_OK;
    pd_parse parse = {.mem = mem, .err = err, .element = PPROFDELTA_NOWHERE};
    pd_reader top = {0};
    pd_tables_begin(t);
    if (text)
        text->len = 0;
    while (!status && !parse.status && next_part(p, &top, &status, err)) {
        size_t strings = t->strings_len;
        t->bytes = p->part;
        t->base = p->at;
        parse.zero = p->part.ptr;
        parse.base = p->at;
        pd_tables_read(t, &parse, &top);
        if (!strings && t->strings_len)
            t->first_string_off = p->at + (uint64_t)(t->strings[0].ptr - p->part.ptr);
        if (!parse.status && text)
            status = keep_strings(t, strings, text, mem, err);
    }
    if (status)
        return status;
    pd_tables_read_end(t, &parse, &top);
    return parse.status;
}

static bool is_about_profile(pprofdelta_status status)
{
    return status == PPROFDELTA_E_WIRE || status == PPROFDELTA_E_PROFILE;
}

pprofdelta_status pd_pass_tables(pd_tables *t, pd_buffer *text, pd_source *source, pd_mem *mem,
                                 pprofdelta_error *err)
{
    pprofdelta_error container;
    parts p = {.source = source};
    pprofdelta_status status = read_parts(t, text, &p, mem, err);
    if (status && !is_about_profile(status))
        return status;
    pprofdelta_status before = pd_source_finish(source, &container);
    if (before) {
        if (err)
            *err = container;
        return before;
    }
    t->len = pd_source_len(source);
    if (!source->is_whole)
        t->bytes = (pd_bytes){0};
    if (!status && text)
        point_strings(t, text);
    return status ? status : pd_tables_seal(t, mem, err);
}

pprofdelta_status pd_tables_parse(pd_tables *tables, pd_mem *mem, pd_bytes bytes,
                                  pprofdelta_error *err)
{
    pd_source whole = {0};
    pd_source_set(&whole, mem, bytes);
    return pd_pass_tables(tables, NULL, &whole, mem, err);
}

/* ---- the samples ------------------------------------------------------------------------------- */

pprofdelta_status pd_pass_samples(pd_tables *t, pd_source *source, const pd_stack_numbers *numbers,
                                  const pd_columns *columns, pd_sample_taker taker, pd_mem *mem,
                                  pprofdelta_error *err)
{
    pd_sample_reader r = {
        .parse = {.mem = mem, .err = err}, .tables = t, .numbers = numbers, .columns = columns};
    parts p = {.source = source, .at = t->samples_off};
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

pprofdelta_status pd_pass_sums(const pd_tables *t, pd_source *source, pprofdelta_sum *sums,
                               pprofdelta_error *err)
{
    parts p = {.source = source, .at = t->samples_off};
    pd_reader top = {0};
    pprofdelta_status status = PPROFDELTA_OK;
    while (!status && next_part(&p, &top, &status, err))
        pd_samples_sum(&top, t->types_len, sums);
    return status;
}

/* ---- one record -------------------------------------------------------------------------------- */

/* How many bytes the field at the front takes if there are not as many; else 0. */
static uint64_t lacks(pd_bytes bytes)
{
    pd_reader r = pd_reader_of(bytes.ptr, bytes.len);
    pd_field f;
    if (pd_reader_next(&r, &f))
        return 0;
    return r.trouble ? pd_reader_lacks(&r) : 1;
}

pprofdelta_status pd_pass_record(pd_tables *t, pd_source *source, uint64_t origin,
                                 pprofdelta_error *err)
{
    if (source->is_whole)
        return PPROFDELTA_OK;
    uint64_t before = origin - t->base, need = 1;
    if (before < t->bytes.len)
        need = lacks((pd_bytes){t->bytes.ptr + before, t->bytes.len - (size_t)before});
    for (bool is_end = false; need && !is_end; is_end = source->is_done) {
        pprofdelta_status status = pd_source_reach(source, origin, need, &t->bytes, err);
        if (status)
            return status;
        t->base = origin;
        need = lacks(t->bytes);
    }
    return PPROFDELTA_OK;
}
