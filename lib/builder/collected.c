#include "builder/collected.h"

static int64_t *values_of(const pd_collected *c, size_t sample)
{
    return c->values + sample * c->types;
}

static void add_values(pd_collected *c, size_t sample, const int64_t *values)
{
    int64_t *sums = values_of(c, sample);
    for (size_t i = 0; i < c->types; i++)
        sums[i] = (int64_t)((uint64_t)sums[i] + (uint64_t)values[i]);
}

/* Reserves room for one more sample with that many frames and labels. */
static pprofdelta_status reserve(pd_collected *c, pd_key key, size_t frames, size_t labels,
                                 pprofdelta_error *err)
{
    size_t len = c->keys.len;
    pprofdelta_status status =
        pd_mem_grow(&c->mem, &c->heads, &c->heads_cap, len + 1, sizeof *c->heads, err);
    if (!status)
        status = pd_mem_grow(&c->mem, &c->values, &c->values_cap, (len + 1) * c->types,
                             sizeof *c->values, err);
    if (!status)
        status = pd_mem_grow(&c->mem, &c->frames, &c->frames_cap, c->frames_len + frames,
                             sizeof *c->frames, err);
    if (!status)
        status = pd_mem_grow(&c->mem, &c->labels, &c->labels_cap, c->labels_len + labels,
                             sizeof *c->labels, err);
    if (!status)
        status = pd_keymap_room(&c->keys, &c->mem, key, err);
    return status;
}

/* Adds the sample whose frames and labels were put behind those of the last one. There is room. */
static void append(pd_collected *c, pd_key key, size_t frames, size_t labels, const int64_t *values)
{
    uint32_t sample = pd_keymap_add(&c->keys, key);
    c->heads[sample] = (pd_collected_head){c->frames_len, c->labels_len, frames, labels};
    memset(values_of(c, sample), 0, c->types * sizeof *values);
    add_values(c, sample, values);
    c->frames_len += frames;
    c->labels_len += labels;
}

/* The number of the place, which is added if it is new. */
static pprofdelta_status add_place(pd_collected *c, pd_key ident, uint64_t address,
                                   const pd_function_parts *parts, int64_t line, int64_t column,
                                   uint32_t *out, pprofdelta_error *err)
{
    pd_symbols *s = &c->symbols;
    *out = pd_symbols_find(s, ident);
    if (*out != PD_KEYMAP_NONE)
        return PPROFDELTA_OK;
    pd_symbol_place place = {
        .ident = ident, .address = address, .lines_first = s->lines_len, .lines_len = 1};
    pprofdelta_status status = pd_symbols_add_line(s, &c->mem, parts, line, column, err);
    if (!status)
        status = pd_symbols_add(s, &c->mem, ident, &place, out, err);
    if (status)
        s->lines_len = place.lines_first;
    return status;
}

static pprofdelta_status add_label(pd_collected *c, const pd_label_parts *label,
                                   pd_collected_label *out, pprofdelta_error *err)
{
    pd_symbols *s = &c->symbols;
    out->num = label->num;
    pprofdelta_status status = pd_symbols_string(s, &c->mem, label->key, &out->key, err);
    if (!status)
        status = pd_symbols_string(s, &c->mem, label->str, &out->str, err);
    if (!status)
        status = pd_symbols_string(s, &c->mem, label->num_unit, &out->num_unit, err);
    return status;
}

/* ---- a sample from its thread ---------------------------------------------------------------- */

static pprofdelta_status take_frame(pd_collected *c, const uint8_t **at, uint32_t *out)
{
    pd_sample_frame f;
    memcpy(&f, *at, sizeof f);
    *at += sizeof f;
    pd_function_parts parts = {.key = f.function, .start_line = f.start_line};
    parts.name = pd_unpack_text(at, f.name_len);
    parts.system_name = pd_unpack_text(at, f.system_name_len);
    parts.filename = pd_unpack_text(at, f.filename_len);
    return add_place(c, f.ident, f.address, &parts, f.line, f.column, out, NULL);
}

static pprofdelta_status add_new(pd_collected *c, pd_key key, const pprofdelta_sample *s)
{
    pprofdelta_status status = reserve(c, key, s->frames_len, s->labels_len, NULL);
    const uint8_t *at = s->frames.ptr;
    for (size_t i = 0; i < s->frames_len && !status; i++)
        status = take_frame(c, &at, &c->frames[c->frames_len + i]);
    at = s->labels.ptr;
    for (size_t i = 0; i < s->labels_len && !status; i++) {
        pd_label_parts label = pd_unpack_label(&at);
        status = add_label(c, &label, &c->labels[c->labels_len + i], NULL);
    }
    if (!status)
        append(c, key, s->frames_len, s->labels_len, s->values);
    return status;
}

void pd_collected_add(pd_collected *c, const pprofdelta_sample *s)
{
    pd_key key = pd_identity_key(&s->hash);
    uint32_t known = pd_keymap_find(&c->keys, key);
    c->in++;
    if (known != PD_KEYMAP_NONE)
        add_values(c, known, s->values);
    else if (add_new(c, key, s) != PPROFDELTA_OK)
        c->lost++;
}

/* ---- all of another -------------------------------------------------------------------------- */

static pprofdelta_status move_place(pd_collected *c, const pd_symbols *from, uint32_t index,
                                    uint32_t *out, pprofdelta_error *err)
{
    const pd_symbol_place *place = &from->places[index];
    const pd_symbol_line *line = &from->lines[place->lines_first];
    const pd_symbol_function *f = &from->functions[line->function];
    pd_function_parts parts = {.key = from->function_keys.keys[line->function],
                               .name = pd_symbols_text(from, f->name),
                               .system_name = pd_symbols_text(from, f->system_name),
                               .filename = pd_symbols_text(from, f->filename),
                               .start_line = f->start_line};
    return add_place(c, place->ident, place->address, &parts, line->line, line->column, out, err);
}

static pd_label_parts label_of(const pd_collected *from, size_t index)
{
    const pd_collected_label *label = &from->labels[index];
    return (pd_label_parts){.key = pd_symbols_text(&from->symbols, label->key),
                            .str = pd_symbols_text(&from->symbols, label->str),
                            .num_unit = pd_symbols_text(&from->symbols, label->num_unit),
                            .num = label->num};
}

static pprofdelta_status move_new(pd_collected *c, const pd_collected *from, size_t sample,
                                  pprofdelta_error *err)
{
    const pd_collected_head *h = &from->heads[sample];
    pd_key key = from->keys.keys[sample];
    pprofdelta_status status = reserve(c, key, h->depth, h->labels_len, err);
    for (size_t i = 0; i < h->depth && !status; i++)
        status = move_place(c, &from->symbols, from->frames[h->frames_first + i],
                            &c->frames[c->frames_len + i], err);
    for (size_t i = 0; i < h->labels_len && !status; i++) {
        pd_label_parts label = label_of(from, h->labels_first + i);
        status = add_label(c, &label, &c->labels[c->labels_len + i], err);
    }
    if (!status)
        append(c, key, h->depth, h->labels_len, values_of(from, sample));
    return status;
}

pprofdelta_status pd_collected_move(pd_collected *c, pd_collected *from, pprofdelta_error *err)
{
    for (size_t i = 0; i < from->keys.len; i++) {
        uint32_t known = pd_keymap_find(&c->keys, from->keys.keys[i]);
        pprofdelta_status status = PPROFDELTA_OK;
        if (known == PD_KEYMAP_NONE)
            status = move_new(c, from, i, err);
        else
            add_values(c, known, values_of(from, i));
        if (status)
            return status;
        memset(values_of(from, i), 0, from->types * sizeof *from->values);
    }
    c->in += from->in;
    c->lost += from->lost;
    from->in = from->lost = 0;
    return PPROFDELTA_OK;
}

/* ---- out ------------------------------------------------------------------------------------- */

static void write_stack(pd_collected *c, pd_compact *compact, const pd_collected_head *head)
{
    uint8_t *out = head->depth ? pd_compact_stack(compact, head->depth) : NULL;
    if (!out)
        return;
    for (size_t i = 0; i < head->depth; i++) {
        pd_symbol_place *place = &c->symbols.places[c->frames[head->frames_first + i]];
        out = pd_compact_stack_put(out, pd_symbols_write_place(&c->symbols, compact, place, 0));
    }
    pd_compact_stack_end(compact, out);
}

void pd_collected_write(pd_collected *c, pd_compact *compact)
{
    pd_symbols_begin_profile(&c->symbols);
    for (size_t i = 0; i < c->keys.len; i++) {
        const pd_collected_head *head = &c->heads[i];
        if (!pd_compact_has_value(values_of(c, i), c->types))
            continue;
        write_stack(c, compact, head);
        for (size_t n = 0; n < head->labels_len; n++) {
            const pd_collected_label *l = &c->labels[head->labels_first + n];
            uint32_t key = pd_symbols_write_string(&c->symbols, compact, l->key);
            uint32_t str = pd_symbols_write_string(&c->symbols, compact, l->str);
            uint32_t num_unit = pd_symbols_write_string(&c->symbols, compact, l->num_unit);
            pd_compact_sample_label(compact, key, str, l->num, num_unit);
        }
        pd_compact_sample_end(compact, values_of(c, i), c->types);
    }
}

void pd_collected_clear(pd_collected *c)
{
    pd_symbols_clear(&c->symbols);
    pd_keymap_clear(&c->keys);
    c->frames_len = c->labels_len = 0;
    c->in = c->lost = 0;
}

void pd_collected_release(pd_collected *c)
{
    pd_mem *mem = &c->mem;
    pd_symbols_release(&c->symbols, mem);
    pd_keymap_release(&c->keys, mem);
    pd_mem_release(mem, &c->heads, &c->heads_cap, sizeof *c->heads);
    pd_mem_release(mem, &c->values, &c->values_cap, sizeof *c->values);
    pd_mem_release(mem, &c->frames, &c->frames_cap, sizeof *c->frames);
    pd_mem_release(mem, &c->labels, &c->labels_cap, sizeof *c->labels);
}
