/* From the options of a context to its end. */
#include "delta/context.h"

#include "base/option_checks.h"

static pprofdelta_status need_texts(const char *const *texts, size_t len, pprofdelta_error *err)
{
    PD_TRY(pd_need_array(texts, len, err));
    for (size_t i = 0; i < len; i++)
        PD_TRY(pd_need(texts[i], err));
    return PPROFDELTA_OK;
}

static pprofdelta_status read_options(const pprofdelta_options *given, pprofdelta_options *out,
                                      pprofdelta_error *err)
{
    *out = (pprofdelta_options)PPROFDELTA_OPTIONS_INIT;
    PD_TRY(pd_options_read(out, sizeof *out, given, err));
    const unsigned known = PPROFDELTA_NO_STAMP | PPROFDELTA_FORCE | PPROFDELTA_VERIFY |
                           PPROFDELTA_DEFAULT_COUNTER | PPROFDELTA_NO_SEQUENCE |
                           PPROFDELTA_ABSENT_TYPES | PPROFDELTA_MERGE | PPROFDELTA_DISJOINT;
    if (out->flags & ~known)
        return pd_refuse(err, "options.flags has a bit that this version does not know");
    if ((unsigned)out->on_reset > PPROFDELTA_ON_RESET_FAIL)
        return pd_refuse(err, "options.on_reset is not one of pprofdelta_on_reset");
    if ((unsigned)out->first > PPROFDELTA_FIRST_ZERO)
        return pd_refuse(err, "options.first is not one of pprofdelta_first");
    PD_TRY(need_texts(out->counters, out->counters_len, err));
    PD_TRY(need_texts(out->gauges, out->gauges_len, err));
    if (out->target_label && !(out->flags & PPROFDELTA_MERGE && *out->target_label))
        return pd_refuse(err, "options.target_label is empty, or there is no PPROFDELTA_MERGE");
    if (out->last_sequence > UINT64_MAX / 2)
        return pd_refuse(err, "options.last_sequence is more than half of its range");
    if (out->resource_weak > out->resource_len)
        return pd_refuse(err, "options.resource_weak is more than resource_len");
    return pd_door_check(PD_DOOR_OPTIONS(out), err);
}

pprofdelta_status pd_context_new(const pprofdelta_options *options,
                                 const pprofdelta_allocator *allocator, size_t size,
                                 pprofdelta **out, pprofdelta_error *err)
{
    pprofdelta_options o;
    PD_TRY(pd_need(out, err));
    PD_TRY(read_options(options, &o, err));
    pd_mem mem;
    pprofdelta *pd = NULL;
    PD_TRY(pd_mem_begin(&mem, allocator, o.max_memory, &pd, size, err));
    pprofdelta_status status = PPROFDELTA_OK;
    pd->mem = mem;
    pd->flags = o.flags;
    pd->on_reset = o.on_reset;
    pd->first = o.first;
    pd->last_sequence = o.last_sequence;
    pd->steps.series.last.sequence = pd->steps.series.acked.sequence = o.last_sequence;
    pd->rules.may_be_absent = (o.flags & PPROFDELTA_ABSENT_TYPES) != 0;
    pd_stack_numbers_init(&pd->numbers);
    pd_input *const inputs[] = {&pd->cur, &pd->prev, &pd->proof};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        pd_mem_part(&pd->inputs[i], &pd->mem);
        *inputs[i] = (pd_input){.mem = &pd->inputs[i], .numbers = &pd->numbers};
    }
    for (size_t i = 0; i < o.counters_len && !status; i++)
        status = pd_buffer_add_text(&pd->mem, &pd->rules.counters, pd_bytes_of(o.counters[i]), err);
    for (size_t i = 0; i < o.gauges_len && !status; i++)
        status = pd_buffer_add_text(&pd->mem, &pd->rules.gauges, pd_bytes_of(o.gauges[i]), err);
    if (!status && o.target_label)
        status = pd_buffer_add_text(&pd->mem, &pd->target_label, pd_bytes_of(o.target_label), err);
    if (!status)
        status = pd_door_open(&pd->door, &pd->mem, PD_DOOR_OPTIONS(&o), err);
    if (!status && pd_encoder_has_attributes(&pd->door.encoder) && o.resource_weak < o.resource_len)
        status = pd_encode_resource(o.format, o.resource + o.resource_weak,
                                    o.resource_len - o.resource_weak, &pd->mem, &pd->strong, err);
    if (status) {
        pprofdelta_free(pd);
        return status;
    }
    *out = pd;
    return PPROFDELTA_OK;
}

pprofdelta_status pprofdelta_new(const pprofdelta_options *options,
                                 const pprofdelta_allocator *allocator, pprofdelta **out,
                                 pprofdelta_error *err)
{
    return pd_context_new(options, allocator, sizeof(pprofdelta), out, err);
}

void pprofdelta_free(pprofdelta *pd)
{
    if (!pd)
        return;
    pd_door_close(&pd->door);
    pd_input_release(&pd->cur);
    pd_input_release(&pd->prev);
    pd_input_release(&pd->proof);
    pd_mem_end(&pd->mem, pd);
}

void pprofdelta_set_started(pprofdelta *pd, int64_t started_nanos)
{
    pd->started_nanos = started_nanos;
}

/* ---- a call, and the same call with less memory ------------------------------------------------ */

/* Gives back all that the next profile does not need. What is left does not depend on what the context
 * did before. A delta that was made can then not be written any more. */
static void release_work(pprofdelta *pd)
{
    pd_mem *mem = &pd->mem;
    pd->is_made = false;
    pd_output_drop(pd);
    pd_row_set_abandon(&pd->cur.window);
    pd_row_set_keep_offsets(&pd->cur.window, mem, 0);
    pd_input_release(&pd->cur);
    pd_input_release(&pd->proof);
    pd_input_trim(&pd->prev);
    pd_source_rest(&pd->prev.source);
    pd_row_set_keep_offsets(&pd->prev.window, mem, pd->ledger.keys.len);
    pd_buffer_trim(mem, &pd->schema.text, pd->schema.text.len + 1);
    pd_buffer_trim(mem, &pd->last.build_id, pd->last.build_id.len + 1); /* with a NUL */
    pd_buffer_release(mem, &pd->spare_schema.text);
    pd_buffer_release(mem, &pd->next.build_id);
    pd_ledger_clear(&pd->spare, 0);
    pd_ledger_trim(&pd->spare, mem, 0);
    pd_ledger_trim(&pd->ledger, mem, pd->ledger.keys.len);
    pd_keymap_fold(&pd->ledger.keys, mem);
}

/* May a call that E_LIMIT has ended at this stage succeed with less memory? Limits of other stages are
 * those of a profile, and a stream that inflates to too much does so again. */
static bool may_fit(const pprofdelta *pd, pprofdelta_stage stage)
{
    bool is_too_much = pd->cur.source.is_too_much;
    return stage == PPROFDELTA_STAGE_MEMORY || (stage == PPROFDELTA_STAGE_INFLATE && !is_too_much);
}

pprofdelta_status pd_context_call(pprofdelta *pd, pd_call *call, void *cookie,
                                  pprofdelta_error *err)
{
    pprofdelta_error why;
    pprofdelta_status status = PPROFDELTA_OK;
    bool is_tight = pd->is_always_tight;
    if (!is_tight) {
        status = call(pd, cookie, &why);
        is_tight = status == PPROFDELTA_E_LIMIT && may_fit(pd, why.stage);
    }
    if (is_tight) {
        release_work(pd);
        pd->mem.is_tight = true;
        status = call(pd, cookie, &why);
        pd->mem.is_tight = false;
    }
    if (status == PPROFDELTA_E_LIMIT)
        release_work(pd); /* or else the next call finds all memory taken */
    if (status && err)
        *err = why;
    return status;
}
