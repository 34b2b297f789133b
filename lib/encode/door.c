#include "encode/door.h"

#include "base/option_checks.h"
#include "base/random.h"
#include "profile/stamp.h"

/* ---- options ------------------------------------------------------------------------------------ */

pprofdelta_status pd_door_check(const pd_door_options *o, pprofdelta_error *err)
{
    if ((unsigned)o->compression > PPROFDELTA_PLAIN)
        return pd_refuse(err, "options.compression is not one of pprofdelta_compression");
    if (o->level < 0 || o->level > 9)
        return pd_refuse(err, "options.level is not from 0 to 9");
    if ((unsigned)o->format > PPROFDELTA_TABLES)
        return pd_refuse(err, "options.format is not one of pprofdelta_format");
    if (o->resource_len && !o->resource)
        return pd_refuse(err, "options.resource is NULL and its length is not 0");
    for (size_t i = 0; i < o->resource_len; i++)
        if (!o->resource[i].key || !*o->resource[i].key)
            return pd_refuse(err, "options.resource has a key that is empty");
    return PPROFDELTA_OK;
}

pprofdelta_status pd_door_open(pd_door *d, pd_mem *mem, const pd_door_options *o,
                               pprofdelta_error *err)
{
    pd_mem_part(&d->mem, mem);
    d->encoder.format = o->format;
    d->compressor.compression =
        pd_encoder_makes_tables(&d->encoder) ? PPROFDELTA_PLAIN : o->compression;
    d->compressor.level = o->level;
    d->has_stamp = !(o->flags & PPROFDELTA_NO_STAMP);
    d->id = o->id ? o->id : pd_random_id(d);
    PD_TRY(pd_encode_resource(o->format, o->resource, o->resource_len, mem, &d->resource, err));
    d->encoder.resource = (pd_bytes){d->resource.ptr, d->resource.len};
    return PPROFDELTA_OK;
}

pprofdelta_status pd_door_describe(pd_door *d, pd_mem *mem, const pprofdelta_value_type *types,
                                   size_t types_len, const char *const rest[3],
                                   pprofdelta_error *err)
{
    d->types = types_len;
    d->has_period_type = rest[0] || rest[1];
    for (size_t i = 0; i < 2 * types_len; i++) {
        const char *text = i % 2 ? types[i / 2].unit : types[i / 2].type;
        PD_TRY(pd_buffer_add_text(mem, &d->text, pd_bytes_of(text), err));
    }
    d->rest_at = d->text.len;
    for (size_t i = 0; i < 3; i++)
        PD_TRY(pd_buffer_add_text(mem, &d->text, pd_bytes_of(rest[i]), err));
    return PPROFDELTA_OK;
}

void pd_door_drop(pd_door *d)
{
    pd_tables_drop(&d->encoder.tables);
    pd_mem_drop(&d->mem);
    d->model = (pd_model){.samples = 0};
    d->encoder.out = d->compressor.out = (pd_buffer){0};
}

void pd_door_close(pd_door *d)
{
    pd_door_drop(d);
    pd_compressor_end(&d->compressor);
}

/* ---- a write ------------------------------------------------------------------------------------ */

typedef struct sending {
    const pd_door_job *job;
    void *cookie;
    const pprofdelta_sink *sink;
} sending;

static int send_by_step(void *cookie, const void *data, size_t len)
{
    const sending *s = cookie;
    return s->job->send(s->cookie, s->sink, data, len);
}

pprofdelta_status pd_door_write(const pd_door *d, pd_steps *steps, const pd_door_job *job,
                                void *cookie, const pprofdelta_sink *sink, uint64_t *written,
                                pprofdelta_error *err)
{
    pprofdelta_sink own;
    pd_bytes out;
    uint64_t ticket;
    sink = pd_encoder_sink(&d->encoder, sink, &own);
    PD_TRY(pd_steps_write(steps, sink, &ticket, err));
    sending by_step = {job, cookie, sink};
    const pprofdelta_sink step = {.write = send_by_step, .cookie = &by_step};
    pprofdelta_status status = job->make(cookie, &out, err);
    if (!status)
        status = pd_sink_write(PD_STEPS_SINK(steps, job->send ? &step : sink), out, written, err);
    return pd_steps_wrote(steps, ticket, status, err);
}

/* ---- what the options say of a profile ---------------------------------------------------------- */

/* Writes the text at *at and moves *at behind it. */
static uint32_t next_text(pd_model *model, const char **at)
{
    pd_bytes text = pd_bytes_of(*at);
    *at += text.len + 1;
    return pd_model_string(model, text);
}

void pd_door_add_types(const pd_door *d, pd_model *model)
{
    const char *text = (const char *)d->text.ptr;
    for (size_t i = 0; i < d->types; i++) {
        uint32_t type = next_text(model, &text);
        pd_model_add_type(model, type, next_text(model, &text));
    }
}

void pd_door_add_stamp(const pd_door *d, const pd_steps *steps, const pd_interval *window,
                       pd_model *model)
{
    pprofdelta_stamp stamp = {.from_nanos = window->from_nanos,
                              .to_nanos = window->to_nanos,
                              .sequence = window->sequence,
                              .attempt = window->attempt,
                              .restart = window->restart};
    if (window->sequence) {
        stamp.id = d->id;
        stamp.acked = steps->series.acked.sequence;
    }
    if (d->has_stamp)
        pd_model_add_stamp(model, &stamp, d->pid);
}

pprofdelta_status pd_door_finish(pd_door *d, const pd_steps *steps, pd_model *model, pd_bytes *out)
{
    const pd_interval *window = &steps->window;
    pd_door_add_stamp(d, steps, window, model);
    pd_model_header header = {.has_period_type = d->has_period_type,
                              .period = d->period,
                              .time_nanos = window->to_nanos,
                              .duration_nanos = window->duration_nanos,
                              .series = d->id,
                              .sequence = window->sequence};
    const char *text = (const char *)d->text.ptr + d->rest_at;
    header.period_type = next_text(model, &text);
    header.period_unit = next_text(model, &text);
    header.default_sample_type = next_text(model, &text);
    return pd_encode(&d->encoder, model, &header, out);
}
