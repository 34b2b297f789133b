#include "encode/outline.h"

#include "base/option_checks.h"
#include "base/random.h"
#include "profile/stamp.h"

pprofdelta_status pd_outline_check(const pprofdelta_builder_options *o, pprofdelta_error *err)
{
    PD_TRY(pd_options_check_output(o->compression, o->level, o->format, o->resource,
                                   o->resource_len, err));
    return pd_options_check_types(o->types, o->types_len, err);
}

pprofdelta_status pd_outline_set(pd_outline *outline, pd_mem *mem,
                                 const pprofdelta_builder_options *o, pprofdelta_error *err)
{
    pprofdelta_status status = PPROFDELTA_OK;
    outline->types = o->types_len;
    outline->has_period_type = o->period_type || o->period_unit;
    outline->has_stamp = !(o->flags & PPROFDELTA_NO_STAMP);
    outline->period = o->period;
    outline->id = o->id ? o->id : pd_random_id(outline);
    const char *rest[] = {o->period_type, o->period_unit, o->default_type};
    for (size_t i = 0; i < 2 * o->types_len && !status; i++) {
        const char *text = i % 2 ? o->types[i / 2].unit : o->types[i / 2].type;
        status = pd_buffer_add_text(mem, &outline->text, pd_bytes_of(text), err);
    }
    outline->rest_at = outline->text.len;
    for (size_t i = 0; i < 3 && !status; i++)
        status = pd_buffer_add_text(mem, &outline->text, pd_bytes_of(rest[i]), err);
    if (!status)
        status = pd_encode_resource(o->format, o->resource, o->resource_len, mem,
                                    &outline->resource, err);
    outline->encoder.format = o->format;
    outline->encoder.resource = (pd_bytes){outline->resource.ptr, outline->resource.len};
    return status;
}

void pd_outline_release(pd_outline *outline, pd_mem *mem)
{
    pd_buffer_release(mem, &outline->text);
    pd_buffer_release(mem, &outline->resource);
    pd_encoder_release(&outline->encoder, mem);
}

/* Writes the text at *at and moves *at behind it. */
static uint32_t next_text(pd_model *model, const char **at)
{
    pd_bytes text = pd_bytes_of(*at);
    *at += text.len + 1;
    return pd_model_string(model, text);
}

void pd_outline_begin(const pd_outline *outline, pd_model *model, pd_mem *mem,
                      pprofdelta_error *err)
{
    const char *text = (const char *)outline->text.ptr;
    pd_model_begin(model, mem, err);
    for (size_t i = 0; i < outline->types; i++) {
        uint32_t type = next_text(model, &text);
        pd_model_add_type(model, type, next_text(model, &text));
    }
}

pprofdelta_status pd_outline_finish(pd_outline *outline, const pd_life *life, pd_model *model,
                                    pd_bytes *out)
{
    const pd_stretch *window = &life->window;
    if (outline->has_stamp) {
        pprofdelta_stamp stamp = {.from_nanos = window->from_nanos,
                                  .to_nanos = window->to_nanos,
                                  .sequence = window->sequence,
                                  .attempt = window->attempt,
                                  .id = outline->id,
                                  .acked = life->series.acked.sequence,
                                  .restart = window->restart};
        pd_model_add_stamp(model, &stamp, outline->pid);
    }
    pd_model_header header = {.has_period_type = outline->has_period_type,
                              .period = outline->period,
                              .time_nanos = window->to_nanos,
                              .duration_nanos = window->duration_nanos,
                              .series = outline->id,
                              .sequence = window->sequence};
    const char *text = (const char *)outline->text.ptr + outline->rest_at;
    header.period_type = next_text(model, &text);
    header.period_unit = next_text(model, &text);
    header.default_sample_type = next_text(model, &text);
    return pd_encode(&outline->encoder, model, &header, out);
}
