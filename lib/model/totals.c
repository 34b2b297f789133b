#include "model/totals.h"

pprofdelta_status pd_totals_begin(pd_totals *t, pd_mem *mem, size_t values, pprofdelta_error *err)
{
    pd_ledger_clear(&t->ledger, values);
    t->ledger.is_bare = true;
    if (t->spare.len) /* it was finished: each form keeps its memory */
        PD_SWAP(pd_buffer, t->model.encoded, t->spare);
    t->spare.len = 0;
    pd_model_begin(&t->model, mem, err);
    return t->model.writer.status;
}

static const int64_t zeros[PPROFDELTA_MAX_TYPES];

pprofdelta_status pd_totals_add_sample(pd_totals *t, size_t entry)
{
    pd_model *m = &t->model;
    if (!m->writer.status)
        m->writer.status = PD_GROW(m->writer.mem, t->offsets, entry + 1, m->writer.err);
    PD_TRY(m->writer.status);
    t->offsets[entry] = m->encoded.len;
    pd_model_add_sample(m, zeros);
    return m->writer.status;
}

pprofdelta_status pd_totals_add(pd_totals *t, pd_key key, const int64_t *values)
{
    pd_model *m = &t->model;
    size_t len = t->ledger.keys.len;
    PD_TRY(m->writer.status);
    pprofdelta_status status = pd_ledger_put(&t->ledger, m->writer.mem, key, values, m->writer.err);
    if (t->ledger.keys.len == len) {
        m->stack.len = 0;
        pd_model_drop_labels(m, SIZE_MAX);
        return status;
    }
    status = pd_totals_add_sample(t, len);
    if (status)
        pd_keymap_truncate(&t->ledger.keys, len);
    return status;
}

/* ---- out ---------------------------------------------------------------------------------------- */

/* Sets the values of an entry in the order of the columns. Returns whether one is not 0. */
static bool arrange(const pd_totals *t, size_t entry, const pd_columns *columns, int64_t *values)
{
    const int64_t *base = pd_ledger_base(&t->ledger, entry);
    for (size_t i = 0; i < t->ledger.counters; i++)
        values[i] = base[columns ? columns->slot[i] : i];
    return pd_model_has_value(values, t->ledger.counters);
}

bool pd_totals_finish(pd_totals *t, const pd_columns *columns)
{
    pd_model *m = &t->model;
    const pd_model bare = {.types_len = m->types_len, .encoded = m->encoded};
    size_t at = m->samples_off;
    pd_model_sample s;
    for (size_t entry = 0; entry < t->ledger.keys.len; entry++)
        if (!pd_model_has_value(pd_ledger_base(&t->ledger, entry), t->ledger.counters))
            return false;
    m->encoded = t->spare;
    m->encoded.len = m->samples = 0;
    m->has_zeros = false;
    pd_write_raw(&m->writer, &m->encoded, (pd_bytes){bare.encoded.ptr, at});
    for (size_t entry = 0; pd_model_next_sample(&bare, &at, &s) && !m->writer.status; entry++) {
        uint8_t *stack = s.stack.len ? pd_model_stack(m, s.stack.len) : NULL;
        if (stack)
            pd_model_stack_end(m, (uint8_t *)memcpy(stack, s.stack.ptr, s.stack.len) + s.stack.len);
        pd_write_raw(&m->writer, &m->labels, s.labels);
        arrange(t, entry, columns, s.values);
        pd_model_add_sample(m, s.values);
    }
    t->spare = bare.encoded;
    return true;
}

void pd_totals_write(const pd_totals *t, const pd_columns *columns, pd_transfer *transfer)
{
    pd_model *m = transfer->model;
    int64_t values[PPROFDELTA_MAX_TYPES];
    for (size_t entry = 0; entry < t->ledger.keys.len && !m->writer.status; entry++) {
        if (!arrange(t, entry, columns, values))
            continue;
        pd_transfer_sample(transfer, t->offsets[entry]);
        pd_model_add_sample(m, values);
    }
}
