/* What a request has that a pprof profile has no place for, for the request that is made of it: the
 * resource, the scope and their schemas; the attributes of profiles, mappings and locations; and those of
 * samples, if a label does not say all of one. What is copied has strings in place of their indices. */
#include "otlp/any_value.h"
#include "otlp/request.h"

/* Does a Resource have an attribute with this key? */
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
        pd_write_bytes(&r->parse.writer, out, f->number, pd_reader_bytes(f->body));
    else
        pd_write_varint(&r->parse.writer, out, f->number, f->value);
}

static void make_resource(pd_request *r, pd_bytes source, pd_bytes given, pd_bytes strong)
{
    pd_buffer *out = &r->written_resource;
    pd_reader own = pd_request_reader(source), others = pd_request_reader(given);
    pd_field f;
    out->len = 0;
    while (!r->parse.status && pd_reader_next(&own, &f)) {
        if (f.number > PD_OTLP_RESOURCE_ENTITY_REFS)
            continue;
        if (f.number != PD_OTLP_RESOURCE_ATTRIBUTES)
            copy_field(r, out, &f);
        else if (!has_key(r, strong, pd_key_value_of(r, f.body).key))
            pd_key_value_copy(r, out, &f);
    }
    while (pd_reader_next(&others, &f)) {
        pd_bytes key = pd_key_value_of(r, f.body).key;
        if (has_key(r, strong, key) || !has_key(r, source, key))
            copy_field(r, out, &f);
    }
}

/* What a request has for all of its value types is in attributes that the writer writes. */
static void make_scope(pd_request *r, pd_bytes source)
{
    pd_buffer *out = &r->written_scope;
    pd_reader reader = pd_request_reader(source);
    pd_field f;
    out->len = 0;
    while (!r->parse.status && pd_reader_next(&reader, &f)) {
        bool is_attribute = f.number == PD_OTLP_SCOPE_ATTRIBUTES;
        pd_bytes key = is_attribute ? pd_key_value_of(r, f.body).key : (pd_bytes){NULL, 0};
        if (f.number > PD_OTLP_SCOPE_DROPPED_ATTRIBUTES_COUNT ||
            pd_bytes_are(key, "pprof.scope.default_sample_type") ||
            pd_bytes_are(key, "pprof.scope.sample_type_order") || pd_bytes_are(key, "pprofdelta"))
            continue;
        if (is_attribute)
            pd_key_value_copy(r, out, &f);
        else
            copy_field(r, out, &f);
    }
}

pprofdelta_status pd_request_attributes(pd_request *r, pd_encoder *encoder, pd_bytes strong,
                                        pprofdelta_error *err)
{
    const pd_request_source *source = &r->sources[r->profiles[0].scope];
    r->parse.err = err;
    r->attributes = source->attributes;
    make_resource(r, source->attributes.resource, encoder->resource, strong);
    make_scope(r, source->attributes.scope);
    r->attributes.resource = pd_buffer_bytes(&r->written_resource);
    r->attributes.scope = pd_buffer_bytes(&r->written_scope);
    encoder->attributes = &r->attributes;
    return r->parse.status;
}

/* ---- attributes ----------------------------------------------------------------------------- */

static uint32_t string_of(pd_request *r, pd_model *c, uint64_t at)
{
    pd_bytes text = pd_request_string(r, at);
    pd_request_spend(r, text.len);
    return r->parse.status || !at ? 0 : pd_model_string(c, text);
}

/* The attribute in the model, whose failures are sticky, too. */
static uint32_t copy_attribute(pd_request *r, pd_model *c, uint64_t index)
{
    const pd_request_attribute *attribute = &r->dictionary.attributes[index];
    uint32_t key = string_of(r, c, attribute->key_at), unit = string_of(r, c, attribute->unit_at);
    r->text.len = 0;
    pd_any_value_walk(r, NULL, pd_request_reader(attribute->value), &r->text);
    if (!c->writer.status)
        c->writer.status = r->parse.status;
    return pd_model_attribute_of(c, key, unit, pd_buffer_bytes(&r->text));
}

/* The attributes of an entry or a sample, whose field `number` they are. */
static void put_attributes(pd_request *r, pd_model *c, pd_bytes message, uint32_t number,
                           pd_model_owner kind, uint64_t owner)
{
    pd_reader body = pd_request_reader(message);
    pd_field f;
    while (!c->writer.status && pd_reader_find(&body, number, &f)) {
        pd_list list = pd_list_of(&r->parse, NULL, &f);
        while (pd_list_next(&r->parse, &list))
            pd_model_own(c, kind, owner, copy_attribute(r, c, list.value));
    }
}

/* The index in the tables of the profile is that of the entry but for entry 0. */
static void put_entry(void *cookie, pd_model *c, pd_model_owner kind, uint32_t index, uint32_t id)
{
    pd_request *r = cookie;
    bool is_mapping = kind == PD_OWNER_MAPPING;
    const pd_request_table *t =
        &r->dictionary.tables[is_mapping ? PD_OTLP_DICTIONARY_MAPPING_TABLE
                                         : PD_OTLP_DICTIONARY_LOCATION_TABLE];
    if (index + UINT64_C(1) < t->len) /* not the location of which nothing is known */
        put_attributes(r, c, t->entries[index + 1],
                       is_mapping ? PD_OTLP_MAPPING_ATTRIBUTE_INDICES
                                  : PD_OTLP_LOCATION_ATTRIBUTE_INDICES,
                       kind, id);
}

static void put_labels(void *cookie, pd_model *c, uint64_t offset)
{
    pd_request *r = cookie;
    size_t from = 0, to = r->rows_len;
    if (!r->facts.has_more)
        return;
    while (to - from > 1) {
        size_t middle = from + (to - from) / 2;
        if (r->rows[middle].at <= offset)
            from = middle;
        else
            to = middle;
    }
    put_attributes(r, c, r->rows[from].sample, PD_OTLP_SAMPLE_ATTRIBUTE_INDICES, PD_OWNER_SAMPLE,
                   c->samples + 1);
    pd_model_drop_labels(c, r->rows[from].labels);
}

const pd_transfer_more *pd_request_more(pd_request *r, pprofdelta_error *err)
{
    r->parse.err = err;
    r->more = (pd_transfer_more){r, put_entry, put_labels};
    return &r->more;
}

void pd_request_profiles(pd_request *r, pd_model *c)
{
    for (size_t i = 0; i < r->profiles_count; i++) {
        pd_reader body = pd_request_reader(r->profiles[i].body);
        pd_field f;
        while (!c->writer.status && pd_reader_find(&body, PD_OTLP_PROFILE_ATTRIBUTE_INDICES, &f)) {
            pd_list list = pd_list_of(&r->parse, NULL, &f);
            while (pd_list_next(&r->parse, &list))
                if (!pd_request_has_field(r, r->dictionary.attributes[list.value].key))
                    pd_model_own(c, PD_OWNER_TYPE, r->profiles[i].column + 1,
                                 copy_attribute(r, c, list.value));
        }
    }
}
