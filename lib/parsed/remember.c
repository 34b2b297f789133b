/* What a context remembers, outside of it: saved, loaded, described. */
#include "parsed/context.h"

pprofdelta_status pprofdelta_save(pprofdelta *pd, const pprofdelta_sink *sink,
                                  pprofdelta_error *err)
{
    if (!sink || !sink->write)
        return pd_refuse(err, "there is no sink to save to");
    if (pd->flags & PPROFDELTA_NO_SAVE)
        return pd_refuse(err, "the context was made with PPROFDELTA_NO_SAVE");
    pd_state state = {.ledger = &pd->ledger,
                      .schema = &pd->schema,
                      .last = &pd->last,
                      .sequence = pd->sequence,
                      .attempts = pd->attempts,
                      .has_base = pd->has_base};
    return pd_state_write(&state, sink, err);
}

pprofdelta_status pprofdelta_load(pprofdelta *pd, const pprofdelta_source *source,
                                  pprofdelta_error *err)
{
    if (pd->is_pending)
        return pd_refuse(err, "a window is pending: pprofdelta_commit or pprofdelta_abandon comes "
                              "first");
    if (!source || !source->read)
        return pd_refuse(err, "there is no source to load from");
    pd_state state = {.ledger = &pd->spare, .schema = &pd->spare_schema, .last = &pd->next};
    pprofdelta_status status = pd_state_read(&state, &pd->mem, source, err);
    if (status)
        return status;
    if (state.has_base) {
        PD_SWAP(pd_ledger, pd->ledger, pd->spare);
        PD_SWAP(pd_schema, pd->schema, pd->spare_schema);
        PD_SWAP(pd_remembered, pd->last, pd->next);
    }
    pd->naming.is_set = false;
    pd->sequence = state.sequence;
    pd->attempts = state.attempts;
    pd->has_base = state.has_base;
    pd->is_from_base = false;
    return PPROFDELTA_OK;
}

/* The names of the types in the ledger's order. */
static void name_types(pprofdelta *pd)
{
    const char *text = (const char *)pd->schema.text.ptr;
    for (size_t i = 0; i < pd->schema.len; i++)
        pd->types[i] = (pprofdelta_type_report){.type = text + pd->schema.names[i].type,
                                                .unit = text + pd->schema.names[i].unit,
                                                .is_counter = i < pd->schema.counters};
}

static void add_up(pprofdelta *pd)
{
    const pd_ledger *ledger = &pd->ledger;
    for (size_t entry = 0; entry < ledger->committed; entry++)
        for (size_t i = 0; i < ledger->counters; i++)
            pd_sum_add(&pd->types[i].prev, pd_ledger_base(ledger, entry)[i]);
}

void pprofdelta_describe(pprofdelta *pd, pprofdelta_memory *out)
{
    *out = (pprofdelta_memory){.attempts = pd->attempts, .build_id = ""};
    if (!pd->has_base)
        return;
    name_types(pd);
    add_up(pd);
    if (pd->last.build_id.len) {
        pd->last.build_id.ptr[pd->last.build_id.len] = 0; /* there is room: see pd_look_remember */
        out->build_id = (const char *)pd->last.build_id.ptr;
    }
    out->has_base = 1;
    out->sequence = pd->sequence;
    out->samples = pd->ledger.committed;
    out->unseen = pd->ledger.committed - pd->ledger.living;
    out->from_nanos = pd->last.from_nanos;
    out->to_nanos = pd->last.time_nanos;
    out->restart = pd->last.restart;
    out->types = pd->types;
    out->types_len = pd->schema.len;
}
