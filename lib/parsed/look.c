#include "parsed/context.h"

void pd_look_name_columns(pd_look *look)
{
    const pd_tables *t = &look->tables;
    for (size_t i = 0; i < t->types_len; i++)
        look->names[i] = (pd_type_name){.type = t->strings[t->types[i].type],
                                        .unit = t->strings[t->types[i].unit]};
}

static pprofdelta_status keep(pprofdelta *pd, pd_look *look, pd_bytes *raw, pprofdelta_error *err)
{
    look->inflated.len = 0;
    pprofdelta_status status = pd_buffer_room(&pd->mem, &look->inflated, raw->len, err);
    if (status)
        return status;
    memcpy(look->inflated.ptr, raw->ptr, raw->len);
    look->inflated.len = raw->len;
    raw->ptr = look->inflated.ptr;
    return PPROFDELTA_OK;
}

pprofdelta_status pd_look_parse(pprofdelta *pd, pd_look *look, const void *bytes, size_t len,
                                bool keep_bytes, pprofdelta_error *err)
{
    if (!bytes && len)
        return pd_fail(err, PPROFDELTA_E_USAGE, "options", NULL, PPROFDELTA_NOWHERE,
                       PPROFDELTA_NOWHERE, "bytes is NULL and len is not 0");
    pd_bytes raw;
    pprofdelta_status status =
        pd_inflate(&pd->inflater, &pd->mem, bytes, len, &look->inflated, &raw, err);
    if (!status && keep_bytes && len && raw.ptr == bytes)
        status = keep(pd, look, &raw, err);
    if (!status)
        status = pd_tables_parse(&look->tables, &pd->mem, raw, err);
    if (!status)
        pd_look_name_columns(look);
    return status;
}

pprofdelta_status pd_look_classify(pprofdelta *pd, pd_look *look, pprofdelta_error *err)
{
    if (look->tables.is_stamped && !(pd->flags & PPROFDELTA_ACCEPT_STAMPED))
        return pd_fail(err, PPROFDELTA_E_STAMPED, "delta", "comment", PPROFDELTA_NOWHERE,
                       PPROFDELTA_NOWHERE,
                       "this is already a delta that pprofdelta wrote, not a cumulative profile");
    return pd_types_classify(look->names, look->tables.types_len, &pd->rules, err);
}

pprofdelta_status pd_look_remember(pprofdelta *pd, const pd_look *look, pd_remembered *out,
                                   pprofdelta_error *err)
{
    const pd_tables *t = &look->tables;
    out->time_nanos = t->header.time_nanos;
    out->from_nanos = 0;
    out->restart = PPROFDELTA_RESTART_NONE;
    out->build_id.len = 0;
    if (!t->mappings_len)
        return PPROFDELTA_OK;
    pd_bytes build_id = t->strings[t->mappings[0].build_id];
    pprofdelta_status status = pd_buffer_room(&pd->mem, &out->build_id, build_id.len + 1, err);
    if (status || !build_id.len)
        return status;
    memcpy(out->build_id.ptr, build_id.ptr, build_id.len);
    out->build_id.len = build_id.len;
    return PPROFDELTA_OK;
}

void pd_look_release(pd_look *look, pd_mem *mem)
{
    pd_buffer_release(mem, &look->inflated);
    pd_tables_release(&look->tables, mem);
    pd_window_release(&look->window, mem);
    pd_transfer_release(&look->transfer, mem);
}
