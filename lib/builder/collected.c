#include "builder/collected.h"

static int64_t *values_of(const pd_collected *c, size_t sample)
{
    return c->values + sample * c->types;
}

/* ---- in ----------------------------------------------------------------------------------------- */

/* A sample from its thread, or one of another collection. */
typedef struct incoming {
    pd_key key;
    const int64_t *values;
    const pd_sample *sample; /* or NULL: */
    size_t origin;           /* where it is in the model that is being copied */
} incoming;

static uint32_t find_location(pd_model *m, const uint8_t *at, size_t *size)
{
    pd_sample_frame f;
    memcpy(&f, at, sizeof f);
    *size = f.size;
    uint32_t id = pd_model_find_location(m, f.ident);
    if (!id) {
        pd_write_packed_frames(m, at + sizeof f, 1);
        id = pd_model_add_location(m, f.ident, 0, f.address, false);
    }
    return id;
}

/* Puts the stack and the labels to the model. */
static void put_sample(pd_model *m, const pd_sample *s)
{
    const uint8_t *at = s->frames.ptr;
    uint8_t *out = s->frames_len ? pd_model_stack(m, s->frames_len) : NULL;
    for (size_t i = 0, size; i < s->frames_len && out; i++, at += size)
        out = pd_model_stack_put(out, pd_encode_id(find_location(m, at, &size)));
    if (out)
        pd_model_stack_end(m, out);
    pd_write_packed_labels(m, s->labels.ptr, s->labels_len);
}

static pprofdelta_status add_new(pd_collected *c, const incoming *s, pprofdelta_error *err)
{
    size_t len = c->keys.len;
    pd_model *m = &c->model;
    if (!len)
        pd_model_begin(m, &c->mem, err);
    else
        pd_model_go_on(m, &c->mem, err);
    PD_TRY(PD_GROW(&c->mem, c->origins, len + 1, err));
    PD_TRY(PD_GROW(&c->mem, c->values, (len + 1) * c->types, err));
    PD_TRY(pd_keymap_room(&c->keys, &c->mem, s->key, err));
    size_t origin = m->encoded.len;
    if (s->sample)
        put_sample(m, s->sample);
    else
        pd_model_copy_sample(&c->copy, s->origin);
    pd_model_add_sample(m, NULL);
    PD_TRY(m->writer.status);
    pd_keymap_add(&c->keys, s->key);
    c->origins[len] = origin;
    memcpy(values_of(c, len), s->values, c->types * sizeof *s->values);
    return PPROFDELTA_OK;
}

static pprofdelta_status add(pd_collected *c, const incoming *s, pprofdelta_error *err)
{
    uint32_t known = pd_keymap_find(&c->keys, s->key);
    if (known == PD_KEYMAP_NONE)
        return add_new(c, s, err);
    c->lost += !pd_values_add(values_of(c, known), s->values, c->types);
    return PPROFDELTA_OK;
}

pprofdelta_status pd_collected_add(pd_collected *c, const pd_sample *s, pprofdelta_error *err)
{
    incoming sample = {.key = pd_identity_key(&s->hash), .values = s->values, .sample = s};
    pprofdelta_status status = add(c, &sample, err);
    if (status == PPROFDELTA_E_LIMIT && !c->keys.len) { /* arrays that are empty may be too large */
        pd_collected_release(c);
        status = add(c, &sample, err);
        c->lost += status == PPROFDELTA_E_LIMIT;
        status = status == PPROFDELTA_E_LIMIT ? PPROFDELTA_OK : status;
    }
    c->in += !status;
    return status;
}

pprofdelta_status pd_collected_move(pd_collected *c, pd_collected *from, pprofdelta_error *err)
{
    if (!c->keys.len)
        PD_SWAP(pd_collected, *c, *from);
    if (from->keys.len)
        PD_TRY(pd_model_copy_begin(&c->copy, &c->mem, &from->model, &c->model, err));
    for (size_t i = 0; i < from->keys.len; i++) {
        incoming sample = {
            .key = from->keys.keys[i], .values = values_of(from, i), .origin = from->origins[i]};
        PD_TRY(add(c, &sample, err));
        memset(values_of(from, i), 0, from->types * sizeof *from->values);
    }
    c->in += from->in;
    c->lost += from->lost;
    pd_collected_clear(from);
    return PPROFDELTA_OK;
}

/* ---- out ---------------------------------------------------------------------------------------- */

void pd_collected_write(const pd_collected *c, pd_model_copy *copy, pd_model *out)
{
    pd_writer *w = &out->writer;
    if (c->keys.len && !w->status)
        w->status = pd_model_copy_begin(copy, w->mem, &c->model, out, w->err);
    for (size_t i = 0; i < c->keys.len && !out->writer.status; i++) {
        if (!pd_model_has_value(values_of(c, i), c->types))
            continue;
        pd_model_copy_sample(copy, c->origins[i]);
        pd_model_add_sample(out, values_of(c, i));
    }
}

void pd_collected_clear(pd_collected *c)
{
    pd_keymap_clear(&c->keys);
    c->in = c->lost = 0;
}

void pd_collected_release(pd_collected *c)
{
    pd_mem *mem = &c->mem;
    pd_keymap_release(&c->keys, mem);
    pd_model_release(&c->model, mem);
    pd_model_copy_release(&c->copy, mem);
    PD_RELEASE(mem, c->values);
    PD_RELEASE(mem, c->origins);
}
