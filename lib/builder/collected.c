/* Samples that were added and not written yet. */
#include "base/sum.h"
#include "builder/builder.h"

/* Begins to add a sample with this key. Returns whether it is new: then its stack and its labels are to be put to the
 * model, and pd_totals_add follows. The values of another one were added. */
static bool begin_sample(pd_collected *c, pd_key key, const int64_t *values, pprofdelta_error *err)
{
    pd_totals *sum = &c->sum;
    uint32_t known = pd_keymap_find(&sum->ledger.keys, key);
    if (known != PD_KEYMAP_NONE)
        c->lost += !pd_values_add(pd_ledger_base(&sum->ledger, known), values, c->types);
    else if (sum->ledger.keys.len)
        pd_model_go_on(&sum->model, &c->mem, err);
    else
        pd_totals_begin(sum, &c->mem, c->types, err);
    return known == PD_KEYMAP_NONE;
}

/* Puts the stack and the labels to the model. */
static void put_sample(pd_model *m, const pd_sample *s)
{
    const uint8_t *at = s->parts.ptr;
    uint8_t *out = s->frames_len ? pd_model_stack(m, s->frames_len) : NULL;
    for (size_t i = 0; i < s->frames_len && out; i++) {
        pd_sample_frame f;
        memcpy(&f, at, sizeof f);
        uint32_t id = pd_write_packed_location(m, f.ident, 0, f.address, at + sizeof f, 1);
        out = pd_model_stack_put(out, pd_encode_id(id));
        at += f.size;
    }
    if (out)
        pd_model_stack_end(m, out);
    for (size_t i = 0; i < s->labels_len && !m->writer.status; i++) {
        pd_label_parts label = pd_unpack_label(&at);
        pd_write_label(m, &label);
    }
}

static pprofdelta_status add_sample(pd_collected *c, const pd_sample *s, pprofdelta_error *err)
{
    pd_key key = pd_identity_key(&s->hash);
    if (!begin_sample(c, key, s->values, err))
        return PPROFDELTA_OK;
    put_sample(&c->sum.model, s);
    return pd_totals_add(&c->sum, key, s->values);
}

pprofdelta_status pd_collected_add(pd_collected *c, const pd_sample *s, pprofdelta_error *err)
{
    pprofdelta_status status = add_sample(c, s, err);
    if (status == PPROFDELTA_E_LIMIT && !c->sum.ledger.keys.len) {
        pd_mem_drop(&c->mem); /* arrays that are empty may be too large */
        *c = (pd_collected){.mem = c->mem, .types = c->types, .in = c->in, .lost = c->lost};
        status = add_sample(c, s, err);
        c->lost += status == PPROFDELTA_E_LIMIT;
        status = status == PPROFDELTA_E_LIMIT ? PPROFDELTA_OK : status;
    }
    c->in += !status;
    return status;
}

pprofdelta_status pd_collected_move(pd_collected *c, pd_collected *from, pprofdelta_error *err)
{
    pd_totals *sum = &from->sum;
    if (!c->sum.ledger.keys.len)
        PD_SWAP(pd_collected, *c, *from);
    if (sum->ledger.keys.len)
        PD_TRY(pd_transfer_begin_model(&c->transfer, &c->mem, &sum->model, &c->sum.model, err));
    for (size_t i = 0; i < sum->ledger.keys.len; i++) {
        pd_key key = sum->ledger.keys.keys[i];
        int64_t *values = pd_ledger_base(&sum->ledger, i);
        if (begin_sample(c, key, values, err)) {
            pd_transfer_sample(&c->transfer, sum->offsets[i]);
            PD_TRY(pd_totals_add(&c->sum, key, values));
        }
        memset(values, 0, from->types * sizeof *values);
    }
    c->in += from->in;
    c->lost += from->lost;
    pd_collected_clear(from);
    return PPROFDELTA_OK;
}

void pd_collected_clear(pd_collected *c)
{
    pd_keymap_clear(&c->sum.ledger.keys);
    c->in = c->lost = 0;
}
