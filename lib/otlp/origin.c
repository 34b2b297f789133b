/* Where the profiles of a request come from, for the request that is made of it: its resource and its
 * scope, with all that they have, and their schemas. */
#include "otlp/any_value.h"
#include "otlp/request.h"

/* Does an encoded Resource, which this library wrote, have an attribute with this key? */
static bool has_key(pd_request *r, pd_bytes resource, pd_bytes key)
{
    pd_reader reader = pd_request_reader(resource);
    pd_field f;
    while (pd_reader_find(&reader, PD_OTLP_RESOURCE_ATTRIBUTES, &f))
        if (pd_bytes_equal(pd_key_value_of(r, f.body).key, key))
            return true;
    return false;
}

/* A field that is no attribute: a number, or a message without indices. */
static void copy_field(pd_request *r, pd_buffer *out, const pd_field *f)
{
    if (f->wire == PD_WIRE_BYTES)
        pd_write_bytes(&r->writer, out, f->number, f->body.at, (size_t)(f->body.end - f->body.at));
    else
        pd_write_varint(&r->writer, out, f->number, f->value);
}

static void make_resource(pd_request *r, pd_bytes source, pd_bytes given)
{
    pd_buffer *out = &r->origin_resource;
    pd_reader reader = pd_request_reader(source);
    pd_field f;
    out->len = 0;
    while (!r->parse.status && !r->writer.status && pd_reader_next(&reader, &f)) {
        if (f.number > PD_OTLP_RESOURCE_ENTITY_REFS)
            continue;
        if (f.number != PD_OTLP_RESOURCE_ATTRIBUTES)
            copy_field(r, out, &f);
        else if (!has_key(r, given, pd_key_value_of(r, f.body).key))
            pd_key_value_copy(r, out, PD_OTLP_RESOURCE_ATTRIBUTES, f.body);
    }
    pd_write_raw(&r->writer, out, given.ptr, given.len);
}

/* What a request has for all of its value types is in two attributes, which the writer writes. */
static void make_scope(pd_request *r, pd_bytes source)
{
    pd_buffer *out = &r->origin_scope;
    pd_reader reader = pd_request_reader(source);
    pd_field f;
    out->len = 0;
    while (!r->parse.status && !r->writer.status && pd_reader_next(&reader, &f)) {
        bool is_attribute = f.number == PD_OTLP_SCOPE_ATTRIBUTES;
        pd_bytes key = is_attribute ? pd_key_value_of(r, f.body).key : (pd_bytes){NULL, 0};
        if (f.number > PD_OTLP_SCOPE_DROPPED_ATTRIBUTES_COUNT ||
            pd_request_equal(key, "pprof.scope.default_sample_type"))
            continue;
        if (pd_request_equal(key, "pprof.scope.sample_type_order"))
            r->origin.has_order = true;
        else if (is_attribute)
            pd_key_value_copy(r, out, PD_OTLP_SCOPE_ATTRIBUTES, f.body);
        else
            copy_field(r, out, &f);
    }
}

pprofdelta_status pd_request_origin(pd_request *r, pd_bytes resource, const pd_otlp_origin **out,
                                    pprofdelta_error *err)
{
    const pd_request_source *source = &r->sources[r->sets[0].scope];
    r->parse.err = r->writer.err = err;
    r->origin = (pd_otlp_origin){.resource_url = source->resource_url,
                                 .scope_url = source->scope_url,
                                 .has_scope = source->has_scope};
    make_resource(r, source->resource, resource);
    make_scope(r, source->scope);
    pprofdelta_status status = r->parse.status ? r->parse.status : r->writer.status;
    if (status)
        return status;
    r->origin.resource = (pd_bytes){r->origin_resource.ptr, r->origin_resource.len};
    r->origin.scope = (pd_bytes){r->origin_scope.ptr, r->origin_scope.len};
    *out = &r->origin;
    return PPROFDELTA_OK;
}
