/* The life of a context, and the calls that look at a profile without remembering it. */
#include "parsed/context.h"
#include "codec/peek.h"
#include "profile/lookalike.h"
#include "profile/stamp.h"

static pprofdelta_status read_options(const pprofdelta_options *given, pprofdelta_options *out,
                                      pprofdelta_error *err)
{
    *out = (pprofdelta_options)PPROFDELTA_OPTIONS_INIT;
    if (!given)
        return PPROFDELTA_OK;
    if (given->size != sizeof *given)
        return pd_refuse(err, "options.size is not that of this version's pprofdelta_options");
    *out = *given;
    const unsigned known = PPROFDELTA_NO_STAMP | PPROFDELTA_FORCE | PPROFDELTA_VERIFY |
                           PPROFDELTA_DEFAULT_COUNTER | PPROFDELTA_NO_SAVE | PPROFDELTA_NO_SEQUENCE;
    if (out->flags & ~known)
        return pd_refuse(err, "options.flags has a bit that this version does not know");
    if ((unsigned)out->on_reset > PPROFDELTA_ON_RESET_FAIL)
        return pd_refuse(err, "options.on_reset is not one of pprofdelta_on_reset");
    if ((unsigned)out->first > PPROFDELTA_FIRST_ZERO)
        return pd_refuse(err, "options.first is not one of pprofdelta_first");
    if ((unsigned)out->compression > PPROFDELTA_PLAIN)
        return pd_refuse(err, "options.compression is not one of pprofdelta_compression");
    if (out->level < 0 || out->level > 9)
        return pd_refuse(err, "options.level is not from 0 to 9");
    if ((out->counters_len && !out->counters) || (out->gauges_len && !out->gauges))
        return pd_refuse(err, "options.counters or options.gauges is NULL and its length is not 0");
    if (out->runner && (!out->runner->start || !out->runner->wait))
        return pd_refuse(err, "options.runner has no start or no wait");
    return PPROFDELTA_OK;
}

static pprofdelta_status add_rules(pprofdelta *pd, pd_buffer *rules, const char *const *names,
                                   size_t len, pprofdelta_error *err)
{
    pprofdelta_status status = PPROFDELTA_OK;
    for (size_t i = 0; i < len && !status; i++)
        status = pd_type_rules_add(rules, &pd->mem, names[i], err);
    return status;
}

pprofdelta_status pprofdelta_new(const pprofdelta_options *options,
                                 const pprofdelta_allocator *allocator, pprofdelta **out,
                                 pprofdelta_error *err)
{
    pprofdelta_options o;
    pprofdelta_status status = read_options(options, &o, err);
    if (status)
        return status;
    pd_mem mem;
    pprofdelta *pd = NULL;
    status = pd_mem_begin(&mem, allocator, o.max_memory, &pd, sizeof *pd, err);
    if (status)
        return status;
    pd->mem = mem;
    pd->flags = o.flags;
    pd->on_reset = o.on_reset;
    pd->first = o.first;
    pd->deflater.compression = o.compression;
    pd->deflater.level = o.level;
    if (o.runner) {
        pd->runner_copy = *o.runner;
        pd->runner = &pd->runner_copy;
    }
    pd_stack_numbers_init(&pd->numbers);
    status = add_rules(pd, &pd->rules.counters, o.counters, o.counters_len, err);
    if (!status)
        status = add_rules(pd, &pd->rules.gauges, o.gauges, o.gauges_len, err);
    if (status) {
        pprofdelta_free(pd);
        return status;
    }
    *out = pd;
    return PPROFDELTA_OK;
}

void pprofdelta_free(pprofdelta *pd)
{
    if (!pd)
        return;
    pd_mem *mem = &pd->mem;
    pd_buffer_release(mem, &pd->rules.counters);
    pd_buffer_release(mem, &pd->rules.gauges);
    pd_ledger_release(&pd->ledger, mem);
    pd_ledger_release(&pd->spare, mem);
    pd_schema_release(&pd->schema, mem);
    pd_schema_release(&pd->spare_schema, mem);
    pd_buffer_release(mem, &pd->last.build_id);
    pd_buffer_release(mem, &pd->next.build_id);
    pd_mapped_release(&pd->last.mapped, mem);
    pd_mapped_release(&pd->next.mapped, mem);
    pd_inflater_fini(&pd->inflater);
    pd_deflater_fini(&pd->deflater, mem);
    pd_look_release(&pd->cur, mem);
    pd_look_release(&pd->prev, mem);
    pd_compact_release(&pd->compact, mem);
    pd_look_release(&pd->proof, mem);
    pd_mem_end(mem, pd, sizeof *pd);
}

void pprofdelta_set_started(pprofdelta *pd, int64_t started_nanos)
{
    pd->started_nanos = started_nanos;
}

static void describe_binary(const pd_tables *t, pprofdelta_census *census)
{
    census->binary = census->build_id = "";
    if (!t->mappings_len)
        return;
    pd_bytes file = t->strings[t->mappings[0].filename], id = t->strings[t->mappings[0].build_id];
    if (file.len) {
        census->binary = (const char *)file.ptr;
        census->binary_len = file.len;
    }
    if (id.len) {
        census->build_id = (const char *)id.ptr;
        census->build_id_len = id.len;
    }
}

typedef struct check_call {
    const void *bytes;
    size_t len;
    pprofdelta_census *census;
} check_call;

static pprofdelta_status check(pprofdelta *pd, void *cookie, pprofdelta_error *err)
{
    const check_call *call = cookie;
    const void *bytes = call->bytes;
    size_t len = call->len;
    pprofdelta_census *census = call->census;
    pd_look *look = &pd->cur;
    pprofdelta_status status = pd_look_parse(pd, look, bytes, len, false, err);
    if (status) {
        pd_stream_rest(&look->stream);
        return status;
    }
    pd_tables *t = &look->tables;
    look->columns = (pd_columns){.len = t->types_len};
    status = pd_look_samples(pd, look, (pd_sample_taker){0}, err);
    pd_stream_rest(&look->stream);
    if (status || !census)
        return status;
    *census = (pprofdelta_census){
        .format = look->dump.rate && pd_format_of(bytes, len) == PD_FORMAT_PLAIN
                      ? "text"
                      : pd_format_name(pd_format_of(bytes, len)),
        .inflated_len = t->len,
        .types = t->types_len,
        .samples = t->samples,
        .mappings = t->mappings_len,
        .locations = t->locations_len,
        .functions = t->functions_len,
        .strings = t->strings_len,
        .by_address = t->by_address,
        .by_lines = t->by_lines,
        .unknown_fields = t->unknown_fields + t->sample_unknown_fields,
        .time_nanos = t->header.time_nanos,
        .duration_nanos = t->header.duration_nanos,
        .is_stamped = t->is_stamped,
    };
    describe_binary(t, census);
    if (!pd_stamp_of(t, &census->stamp))
        census->stamp = (pprofdelta_stamp){0};
    return PPROFDELTA_OK;
}

pprofdelta_status pprofdelta_check(pprofdelta *pd, const void *bytes, size_t len,
                                   pprofdelta_census *census, pprofdelta_error *err)
{
    check_call call = {bytes, len, census};
    bool is_needed = pd->is_pending || pd->pack || pd->ahead; /* what is in memory */
    return is_needed ? check(pd, &call, err) : pd_call_in_any_way(pd, check, &call, err);
}

pprofdelta_status pprofdelta_identify(pprofdelta *pd, const void *head, size_t len,
                                      pprofdelta_file_kind *kind, const char **name,
                                      pprofdelta_error *err)
{
    uint8_t bytes[PD_LOOKALIKE_HEAD];
    size_t made;
    bool is_good;
    if (!head && len)
        return pd_refuse(err, "head is NULL and len is not 0");
    pprofdelta_status status =
        pd_peek(&pd->mem, (pd_bytes){head, len}, bytes, sizeof bytes, &made, &is_good, err);
    if (status)
        return status;
    pd_lookalike found = pd_lookalike_of((pd_bytes){bytes, made});
    *kind = is_good ? found.kind : PPROFDELTA_FILE_UNKNOWN;
    *name = is_good ? found.name : "compressed data that are damaged or cut off";
    return PPROFDELTA_OK;
}

pprofdelta_status pprofdelta_inflate(pprofdelta *pd, const void *bytes, size_t len,
                                     const uint8_t **out, size_t *out_len, pprofdelta_error *err)
{
    pd_bytes raw;
    if (!bytes && len)
        return pd_refuse(err, "bytes is NULL and len is not 0");
    pprofdelta_status status =
        pd_inflate(&pd->inflater, &pd->mem, bytes, len, &pd->cur.inflated, &raw, err);
    if (!status)
        status = pd_text_read(&pd->cur.dump, &pd->mem, false, &raw, err);
    if (status)
        return status;
    *out = raw.ptr;
    *out_len = raw.len;
    return PPROFDELTA_OK;
}
