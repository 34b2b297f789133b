#include "builder/collected.h"

static int64_t *values_of(const pd_collected *c, size_t sample)
{
    return c->values + sample * c->types;
}

static const uint8_t *place_of(const pd_collected *c, uint32_t place)
{
    return c->bytes.ptr + c->place_at[place];
}

static pd_bytes labels_of(const pd_collected *c, const pd_collected_head *head)
{
    return head->labels_size ? (pd_bytes){c->bytes.ptr + head->labels_at, head->labels_size}
                             : (pd_bytes){NULL, 0};
}

/* ---- in -------------------------------------------------------------------------------------- */

/* A sample from its thread, or from another collection. */
typedef struct incoming {
    pd_key key;
    const int64_t *values;
    size_t depth;
    const uint8_t *frames;    /* all frames, one after the other; or NULL: */
    const pd_collected *from; /* the collection that has them */
    size_t first;             /* and where their places stand there */
    pd_bytes labels;
    size_t labels_len;
} incoming;

/* Reserves room for one more sample. */
static pprofdelta_status reserve(pd_collected *c, const incoming *s, pprofdelta_error *err)
{
    size_t len = c->keys.len;
    PD_TRY(PD_GROW(&c->mem, c->heads, len + 1, err));
    PD_TRY(PD_GROW(&c->mem, c->values, (len + 1) * c->types, err));
    PD_TRY(PD_GROW(&c->mem, c->frames, c->frames_len + s->depth, err));
    return pd_keymap_room(&c->keys, &c->mem, s->key, err);
}

/* The number of the place of a frame. A new one is added. *size is that of the frame. */
static pprofdelta_status add_place(pd_collected *c, const uint8_t *at, size_t *size, uint32_t *out,
                                   pprofdelta_error *err)
{
    pd_sample_frame f;
    memcpy(&f, at, sizeof f);
    *size = f.size;
    *out = pd_keymap_find(&c->places, f.ident);
    if (*out != PD_KEYMAP_NONE)
        return PPROFDELTA_OK;
    PD_TRY(PD_GROW(&c->mem, c->place_at, c->places.len + 1, err));
    PD_TRY(pd_buffer_room(&c->mem, &c->bytes, *size, err));
    PD_TRY(pd_keymap_room(&c->places, &c->mem, f.ident, err));
    *out = pd_keymap_add(&c->places, f.ident);
    c->place_at[*out] = c->bytes.len;
    pd_buffer_put(&c->bytes, at, f.size);
    return PPROFDELTA_OK;
}

static pprofdelta_status add_new(pd_collected *c, const incoming *s, pprofdelta_error *err)
{
    const uint8_t *at = s->frames;
    size_t size;
    PD_TRY(reserve(c, s, err));
    for (size_t i = 0; i < s->depth; i++) {
        if (s->from)
            at = place_of(s->from, s->from->frames[s->first + i]);
        PD_TRY(add_place(c, at, &size, &c->frames[c->frames_len + i], err));
        at += size;
    }
    PD_TRY(pd_buffer_room(&c->mem, &c->bytes, s->labels.len, err));
    uint32_t sample = pd_keymap_add(&c->keys, s->key);
    c->heads[sample] =
        (pd_collected_head){c->frames_len, s->depth, c->bytes.len, s->labels.len, s->labels_len};
    memcpy(values_of(c, sample), s->values, c->types * sizeof *s->values);
    pd_buffer_put(&c->bytes, s->labels.ptr, s->labels.len);
    c->frames_len += s->depth;
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

pprofdelta_status pd_collected_add(pd_collected *c, const pprofdelta_sample *s,
                                   pprofdelta_error *err)
{
    incoming sample = {.key = pd_identity_key(&s->hash),
                       .values = s->values,
                       .depth = s->frames_len,
                       .frames = s->frames.ptr,
                       .labels = {s->labels.ptr, s->labels.len},
                       .labels_len = s->labels_len};
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
    for (size_t i = 0; i < from->keys.len; i++) {
        const pd_collected_head *h = &from->heads[i];
        incoming sample = {.key = from->keys.keys[i],
                           .values = values_of(from, i),
                           .depth = h->depth,
                           .from = from,
                           .first = h->frames_first,
                           .labels = labels_of(from, h),
                           .labels_len = h->labels_len};
        PD_TRY(add(c, &sample, err));
        memset(values_of(from, i), 0, from->types * sizeof *from->values);
    }
    c->in += from->in;
    c->lost += from->lost;
    pd_collected_clear(from);
    return PPROFDELTA_OK;
}

/* ---- out ------------------------------------------------------------------------------------- */

static pd_encoded write_place(pd_model *out, const uint8_t *at)
{
    pd_sample_frame f;
    memcpy(&f, at, sizeof f);
    uint32_t id = pd_model_find_location(out, f.ident);
    if (!id) {
        pd_write_packed_frames(out, at + sizeof f, 1);
        id = pd_model_add_location(out, f.ident, 0, f.address, false);
    }
    return pd_encode_id(id);
}

static void write_stack(const pd_collected *c, pd_model *out, const pd_collected_head *head)
{
    uint8_t *at = head->depth ? pd_model_stack(out, head->depth) : NULL;
    if (!at)
        return;
    for (size_t i = 0; i < head->depth; i++) {
        uint32_t place = c->frames[head->frames_first + i];
        at = pd_model_stack_put(at, write_place(out, place_of(c, place)));
    }
    pd_model_stack_end(out, at);
}

void pd_collected_write(const pd_collected *c, pd_model *out)
{
    for (size_t i = 0; i < c->keys.len; i++) {
        const pd_collected_head *head = &c->heads[i];
        if (!pd_model_has_value(values_of(c, i), c->types))
            continue;
        write_stack(c, out, head);
        pd_write_packed_labels(out, labels_of(c, head).ptr, head->labels_len);
        pd_model_add_sample(out, values_of(c, i));
    }
}

void pd_collected_clear(pd_collected *c)
{
    pd_keymap_clear(&c->keys);
    pd_keymap_clear(&c->places);
    c->frames_len = c->bytes.len = 0;
    c->in = c->lost = 0;
}

void pd_collected_release(pd_collected *c)
{
    pd_mem *mem = &c->mem;
    pd_keymap_release(&c->keys, mem);
    pd_keymap_release(&c->places, mem);
    pd_buffer_release(mem, &c->bytes);
    PD_RELEASE(mem, c->heads);
    PD_RELEASE(mem, c->values);
    PD_RELEASE(mem, c->frames);
    PD_RELEASE(mem, c->place_at);
}
