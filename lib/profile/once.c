#include "profile/once.h"

#include "profile/seal.h"
#include "profile/tables_quick.h"

/* Gives identities to the locations that have come. */
static bool identify(pd_once *o)
{
    pd_tables *t = o->tables;
    if (t->location_map.sequential != t->locations_len ||
        (t->idents_cap < t->locations_len &&
         pd_mem_grow(o->mem, &t->idents, &t->idents_cap, t->locations_len, sizeof *t->idents,
                     NULL)))
        return false;
    for (size_t i = (size_t)t->by_address; i < t->locations_len; i++) {
        const pd_location *l = &t->locations[i];
        if (!l->address && l->lines_len)
            return false;
        t->idents[i] =
            pd_location_key_address(pd_naming_assumed_place(l->mapping), l->address, l->is_folded);
    }
    t->by_address = t->locations_len;
    return true;
}

/* What is there before the next sample. */
static bool read_tables(pd_once *o)
{
    pd_tables_read(o->tables, &o->parse, &o->top);
    return !o->parse.status && identify(o);
}

/* The next sample, the careful way. False where it is not whole. */
static bool read_carefully(pd_once *o)
{
    pd_sample_reader *r = &o->reader;
    pd_field f;
    pd_sample s;
    if (!pd_reader_next(&o->top, &f) || f.wire != PD_WIRE_BYTES)
        return false;
    pd_sample_read(r, f.body, &s);
    if (!r->parse.status)
        r->parse.status = pd_sample_take(o->taker, &r->parse, pd_stack_hash_key(&s.stack), f.start,
                                         f.body.end, s.values);
    r->parse.element++;
    return true;
}

/* As many samples as come one after the other. */
static void read_samples(pd_once *o)
{
    pd_sample_reader *r = &o->reader;
    pd_sample_run *run = pd_sample_run_best();
    if (!r->parse.element)
        o->tables->samples_off = pd_parse_offset(&r->parse, o->top.at);
    do {
        r->parse.status = run(r, &o->top, o->taker);
    } while (!r->parse.status && pd_tables_meets_sample(o->tables, &o->top) && read_carefully(o) &&
             !r->parse.status);
}

static bool next_part(pd_once *o, pprofdelta_status *status)
{
    pd_parts *p = &o->parts;
    if (!pd_parts_next(p, &o->top, status, NULL))
        return false;
    o->tables->bytes = p->part;
    o->tables->base = o->reader.parse.base = o->parse.base = p->at;
    o->reader.parse.zero = o->parse.zero = p->part.ptr;
    return true;
}

/* What is left of the part; the strings in it are kept. */
static bool read_part(pd_once *o)
{
    pd_tables *t = o->tables;
    while (!o->top.trouble && o->top.at < o->top.end) {
        if (pd_tables_meets_sample(t, &o->top))
            read_samples(o);
        if (o->reader.parse.status || !read_tables(o))
            return false;
    }
    size_t strings = o->strings;
    o->strings = t->strings_len;
    if (!strings && t->strings_len)
        t->first_string_off = o->parts.at + (uint64_t)(t->strings[0].ptr - o->parts.part.ptr);
    return !pd_parts_keep_strings(t, strings, o->text, o->mem, NULL);
}

bool pd_once_begin(pd_once *o, pd_tables *t, pd_buffer *text, pd_stream *stream,
                   const pd_stack_numbers *numbers, pd_mem *mem)
{
    pprofdelta_status status = PPROFDELTA_OK;
    *o = (pd_once){.tables = t, .text = text, .mem = mem, .parts.stream = stream};
    o->parse = (pd_parse){.mem = mem, .element = PPROFDELTA_NOWHERE};
    o->reader = (pd_sample_reader){
        .parse.mem = mem, .tables = t, .numbers = numbers, .assumed = &o->triples};
    pd_tables_begin(t);
    t->is_once = true;
    text->len = 0;
    return next_part(o, &status) && read_tables(o);
}

bool pd_once_read(pd_once *o, const pd_columns *columns, pd_sample_taker taker)
{
    pd_tables *t = o->tables;
    pprofdelta_status status = PPROFDELTA_OK;
    o->reader.columns = columns;
    o->taker = taker;
    do {
        if (!read_part(o))
            return false;
    } while (next_part(o, &status));
    bool is_through = !status && !o->top.trouble && !t->samples; /* one whose tag is odd */
    if (!is_through || pd_stream_finish(o->parts.stream, NULL))
        return false;
    t->samples = (size_t)o->reader.parse.element;
    t->unknown_fields = o->parse.unknown_fields;
    t->sample_unknown_fields = o->reader.parse.unknown_fields;
    t->bytes = (pd_bytes){0};
    t->len = pd_stream_len(o->parts.stream);
    pd_parts_point_strings(t, o->text);
    return !pd_tables_seal(t, o->mem, NULL);
}
