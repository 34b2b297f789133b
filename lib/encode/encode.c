#include "encode/otlp.h"

#include "base/sum.h"
#include "base/utf8.h"

pprofdelta_status pd_encode(pd_encoder *e, pd_model *m, const pd_model_header *h, pd_bytes *out)
{
    uint64_t size = 0;
    if (m->writer.status)
        return m->writer.status;
    switch (e->format) {
    case PPROFDELTA_TABLES:
        PD_TRY(pd_encode_tables(e, m, h, &size));
        *out = (pd_bytes){(const uint8_t *)&e->tables, (size_t)size};
        break;
    case PPROFDELTA_OTLP:
    case PPROFDELTA_OTLP_PARCA:
    case PPROFDELTA_OTLP_PLAIN:
        PD_TRY(pd_encode_otlp(e, m, h));
        *out = pd_buffer_bytes(&e->out);
        break;
    default:
        PD_TRY(pd_encode_pprof(e, m, h));
        *out = pd_buffer_bytes(&m->encoded);
    }
    return PPROFDELTA_OK;
}

static int hand_tables(void *cookie, const void *data, size_t len)
{
    const pprofdelta_sink *sink = cookie;
    (void)len;
    return sink->tables(sink->cookie, (pprofdelta_tables *)data);
}

const pprofdelta_sink *pd_encoder_sink(const pd_encoder *e, const pprofdelta_sink *sink,
                                       pprofdelta_sink *own)
{
    if (!sink || !pd_encoder_makes_tables(e))
        return sink;
    *own = (pprofdelta_sink){.write = sink->tables ? hand_tables : NULL, .cookie = (void *)sink};
    return own;
}

/* ---- the resource ------------------------------------------------------------------------------- */

/* The first or the last attribute with the key of this one. */
static size_t same_key(const pprofdelta_attribute *attributes, size_t len, size_t index, bool last)
{
    size_t found = len;
    for (size_t i = 0; i < len && (last || found == len); i++)
        if (pd_bytes_equal(pd_bytes_of(attributes[i].key), pd_bytes_of(attributes[index].key)))
            found = i;
    return found;
}

static pd_bytes repaired_text(pd_writer *w, const char *text, pd_buffer *buffer)
{
    if (!w->status)
        w->status = pd_utf8_repair(pd_bytes_of(text), w->mem, buffer, w->err);
    return w->status ? (pd_bytes){0} : pd_buffer_bytes(buffer);
}

pprofdelta_status pd_encode_resource(pprofdelta_format format,
                                     const pprofdelta_attribute *attributes, size_t len,
                                     pd_mem *mem, pd_buffer *out, pprofdelta_error *err)
{
    pd_writer w = {.mem = mem, .err = err};
    pd_buffer key = {0}, text = {0};
    for (size_t i = len; i-- && format == PPROFDELTA_TABLES && !out->len;)
        if (!strcmp(attributes[i].key, "target"))
            pd_write_raw(&w, out, pd_bytes_of(attributes[i].value));
    for (size_t i = 0; i < len && !w.status && pd_format_is_otlp(format); i++) {
        if (same_key(attributes, len, i, false) != i)
            continue;
        const char *counts = attributes[same_key(attributes, len, i, true)].value;
        pd_otlp_put_pair(&w, out, PD_OTLP_RESOURCE_ATTRIBUTES,
                         repaired_text(&w, attributes[i].key, &key),
                         repaired_text(&w, counts, &text));
    }
    pd_buffer_release(mem, &key);
    pd_buffer_release(mem, &text);
    return w.status;
}
