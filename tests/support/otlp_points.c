#include "otlp_points.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines and strings ----------------------------------------------------------------------- */

void otlp_lines_add(otlp_lines *l, const char *line)
{
    ARENA_PUSH(l->arena, l->texts, l->len, l->cap, line);
}

/* The length of a UTF-8 sequence by its decoded value; 0: none. */
static size_t decode(const uint8_t *p, size_t left)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t len = p[0] < 0x80       ? 1
                 : p[0] >> 5 == 6  ? 2
                 : p[0] >> 4 == 14 ? 3
                 : p[0] >> 3 == 30 ? 4
                                   : 0;
    if (len < 2 || len > left)
        return len > left ? 0 : len;
    uint32_t value = p[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) {
        if (p[i] >> 6 != 2)
            return 0;
        value = value << 6 | (p[i] & 0x3f);
    }
    bool is_surrogate = value >= 0xd800 && value < 0xe000;
    return value < least[len] || value > 0x10ffff || is_surrogate ? 0 : len;
}

const char *otlp_quoted(arena *a, ProtobufCBinaryData text)
{
    buf out = buf_begin(a);
    size_t len = 0;
    for (size_t at = 0; at < text.len;) {
        size_t good = decode(text.data + at, text.len - at);
        len += good ? good : 3;
        if (!good)
            buf_text(&out, "\\xef\\xbf\\xbd");
        for (size_t i = 0; i < good; i++) {
            uint8_t byte = text.data[at + i];
            if (byte < 32 || byte > 126 || byte == '\\')
                buf_format(&out, "\\x%02x", byte);
            else
                buf_add(&out, &byte, 1);
        }
        at += good ? good : 1;
    }
    return arena_format(a, "%zu'%s'", len, buf_string(&out));
}

bool otlp_is_utf8(ProtobufCBinaryData text)
{
    for (size_t at = 0; at < text.len;) {
        size_t good = decode(text.data + at, text.len - at);
        if (!good)
            return false;
        at += good;
    }
    return true;
}

static ProtobufCBinaryData bytes_of(const char *text)
{
    return (ProtobufCBinaryData){strlen(text), (uint8_t *)(uintptr_t)text};
}

const char *otlp_quoted_text(arena *a, const char *text)
{
    return otlp_quoted(a, bytes_of(text));
}

static void quote(buf *b, ProtobufCBinaryData text)
{
    buf_text(b, otlp_quoted(b->arena, text));
    buf_text(b, " ");
}

/* ---- parts of both --------------------------------------------------------------------------- */

/* The lines, sorted. Those that differ only in their value, behind the last '=', are added up. */
static otlp_lines summed(otlp_lines all)
{
    otlp_lines out = {.arena = all.arena};
    sort_texts(all.texts, all.len);
    for (size_t i = 0; i < all.len;) {
        const char *first = all.texts[i];
        int len = (int)(strrchr(first, '=') - first) + 1;
        uint64_t sum = 0;
        for (; i < all.len && !strncmp(all.texts[i], first, (size_t)len) &&
               strrchr(all.texts[i], '=') == all.texts[i] + len - 1;
             i++)
            sum += (uint64_t)strtoll(all.texts[i] + len, NULL, 10);
        if (sum)
            otlp_lines_add(&out, arena_format(all.arena, "%.*s%" PRId64, len, first, (int64_t)sum));
    }
    return out;
}

static void add_sorted(buf *b, otlp_lines *labels)
{
    sort_texts(labels->texts, labels->len);
    for (size_t i = 0; i < labels->len; i++) {
        buf_text(b, "{");
        buf_text(b, labels->texts[i]);
        buf_text(b, "}");
    }
}

/* A request has no line of a function of which nothing is known. */
static void put_line(buf *b, ProtobufCBinaryData name, ProtobufCBinaryData system,
                     ProtobufCBinaryData file, int64_t start, int64_t line, int64_t column)
{
    if (!name.len && !system.len && !file.len && !start)
        return;
    quote(b, name);
    quote(b, system);
    quote(b, file);
    buf_format(b, "%" PRId64 " %" PRId64 ".%" PRId64 ";", start, line, column);
}

/* And so for a mapping. */
static void put_mapping(buf *b, uint64_t start, uint64_t limit, uint64_t offset,
                        ProtobufCBinaryData file, ProtobufCBinaryData build_id, const bool has[4])
{
    if (!start && !limit && !offset && !file.len && !build_id.len && !has[0] && !has[1] &&
        !has[2] && !has[3])
        return;
    buf_format(b, "[%" PRIx64 " %" PRIx64 " %" PRIx64 " %d%d%d%d ", start, limit, offset, has[0],
               has[1], has[2], has[3]);
    quote(b, file);
    quote(b, build_id);
    buf_text(b, "]");
}

static void add_label(otlp_lines *labels, ProtobufCBinaryData key, ProtobufCBinaryData text,
                      int64_t number, ProtobufCBinaryData unit)
{
    buf b = buf_begin(labels->arena);
    quote(&b, key);
    if (text.len) {
        quote(&b, text);
    } else {
        buf_format(&b, "= %" PRId64 " ", number);
        quote(&b, unit);
    }
    otlp_lines_add(labels, buf_string(&b));
}

/* ---- the request --------------------------------------------------------------------------- */

static const ProtobufCBinaryData nothing = {0, NULL};

/* A profile of a request, with what it is in. */
typedef struct placed {
    const Pd__Otlp__ResourceProfiles *resource;
    const Pd__Otlp__ScopeProfiles *scope;
    const Pd__Otlp__Profile *profile;
} placed;

typedef struct request {
    arena *a;
    const Pd__Otlp__Dictionary *d;
    const char **locations; /* their texts, made when first needed */
    placed *profiles;
    size_t len, cap, resources, scopes;
    bool has_times; /* profiles of several times */
} request;

static ProtobufCBinaryData string_at(const request *r, int32_t index)
{
    return index ? r->d->string_table[index] : nothing;
}

static ProtobufCBinaryData key_of(const request *r, const Pd__Otlp__KeyValue *attribute)
{
    return attribute->key_strindex ? string_at(r, attribute->key_strindex) : attribute->key;
}

static ProtobufCBinaryData joined(arena *a, ProtobufCBinaryData x, const char *between,
                                  ProtobufCBinaryData y)
{
    buf b = buf_begin(a);
    buf_add(&b, x.data, x.len);
    buf_text(&b, between);
    buf_add(&b, y.data, y.len);
    return (ProtobufCBinaryData){b.len, b.ptr};
}

static ProtobufCBinaryData hex_of(arena *a, ProtobufCBinaryData bytes)
{
    buf b = buf_begin(a);
    for (size_t i = 0; i < bytes.len; i++)
        buf_format(&b, "%02x", bytes.data[i]);
    return (ProtobufCBinaryData){b.len, b.ptr};
}

static ProtobufCBinaryData decimal_of(arena *a, double value)
{
    char *text = NULL;
    for (int digits = 15; digits <= 17; digits++) {
        text = arena_format(a, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    return bytes_of(text);
}

/* { "value": int, "unit": string }, or { "value": string, "unit": "" }, in any order */
static const Pd__Otlp__KeyValue *member_of(const request *r, const Pd__Otlp__KeyValueList *list,
                                           const char *key, Pd__Otlp__AnyValue__ValueCase kind)
{
    for (size_t i = 0; i < list->n_values; i++) {
        ProtobufCBinaryData name = key_of(r, list->values[i]);
        const Pd__Otlp__AnyValue *value = list->values[i]->value;
        if (name.len == strlen(key) && !memcmp(name.data, key, name.len) && value &&
            value->value_case == kind)
            return list->values[i];
    }
    return NULL;
}

static bool label_pair(const request *r, otlp_lines *labels, ProtobufCBinaryData key,
                       const Pd__Otlp__KeyValueList *list)
{
    const Pd__Otlp__KeyValue *number =
        member_of(r, list, "value", PD__OTLP__ANY_VALUE__VALUE_INT_VALUE);
    const Pd__Otlp__KeyValue *text =
        member_of(r, list, "value", PD__OTLP__ANY_VALUE__VALUE_STRING_VALUE);
    const Pd__Otlp__KeyValue *unit =
        member_of(r, list, "unit", PD__OTLP__ANY_VALUE__VALUE_STRING_VALUE);
    if (list->n_values != 2 || !unit || (!number && !text))
        return false;
    if (text && text->value->string_value.len && unit->value->string_value.len)
        return false;
    add_label(labels, key, text ? text->value->string_value : nothing,
              number ? number->value->int_value : 0, unit->value->string_value);
    return true;
}

static void label_value(const request *r, otlp_lines *labels, ProtobufCBinaryData key,
                        const Pd__Otlp__AnyValue *v, ProtobufCBinaryData unit)
{
    switch (v ? v->value_case : PD__OTLP__ANY_VALUE__VALUE__NOT_SET) {
    case PD__OTLP__ANY_VALUE__VALUE_STRING_VALUE:
        add_label(labels, key, v->string_value, 0, nothing);
        break;
    case PD__OTLP__ANY_VALUE__VALUE_STRING_VALUE_STRINDEX:
        add_label(labels, key, string_at(r, v->string_value_strindex), 0, nothing);
        break;
    case PD__OTLP__ANY_VALUE__VALUE_BOOL_VALUE:
        add_label(labels, key, bytes_of(v->bool_value ? "true" : "false"), 0, nothing);
        break;
    case PD__OTLP__ANY_VALUE__VALUE_INT_VALUE:
        add_label(labels, key, nothing, v->int_value, unit);
        break;
    case PD__OTLP__ANY_VALUE__VALUE_DOUBLE_VALUE:
        add_label(labels, key, decimal_of(r->a, v->double_value), 0, nothing);
        break;
    case PD__OTLP__ANY_VALUE__VALUE_BYTES_VALUE:
        add_label(labels, key, hex_of(r->a, v->bytes_value), 0, nothing);
        break;
    case PD__OTLP__ANY_VALUE__VALUE_ARRAY_VALUE:
        for (size_t i = 0; i < v->array_value->n_values; i++)
            label_value(r, labels, key, v->array_value->values[i], unit);
        break;
    case PD__OTLP__ANY_VALUE__VALUE_KVLIST_VALUE:
        if (label_pair(r, labels, key, v->kvlist_value))
            break;
        for (size_t i = 0; i < v->kvlist_value->n_values; i++) {
            const Pd__Otlp__KeyValue *member = v->kvlist_value->values[i];
            label_value(r, labels, joined(r->a, key, ".", key_of(r, member)), member->value, unit);
        }
        break;
    default:
        add_label(labels, key, nothing, 0, nothing);
    }
}

static bool is_text(ProtobufCBinaryData x, const char *text)
{
    return x.len == strlen(text) && !memcmp(x.data, text, x.len);
}

static const Pd__Otlp__AnyValue unset; /* its value_case is 0 */

static const Pd__Otlp__AnyValue *attribute_of(const request *r, const int32_t *indices, size_t len,
                                              const char *key)
{
    for (size_t i = 0; i < len; i++) {
        const Pd__Otlp__Attribute *attribute = r->d->attribute_table[indices[i]];
        if (is_text(string_at(r, attribute->key_strindex), key))
            return attribute->value ? attribute->value : &unset;
    }
    return NULL;
}

/* The last string in a value. */
static ProtobufCBinaryData last_string(const request *r, const Pd__Otlp__AnyValue *v)
{
    ProtobufCBinaryData found = nothing;
    if (v->value_case == PD__OTLP__ANY_VALUE__VALUE_STRING_VALUE)
        return v->string_value;
    if (v->value_case == PD__OTLP__ANY_VALUE__VALUE_STRING_VALUE_STRINDEX)
        return string_at(r, v->string_value_strindex);
    if (v->value_case == PD__OTLP__ANY_VALUE__VALUE_ARRAY_VALUE)
        for (size_t i = 0; i < v->array_value->n_values; i++) {
            const Pd__Otlp__AnyValue *element = v->array_value->values[i];
            bool has_one = element->value_case == PD__OTLP__ANY_VALUE__VALUE_STRING_VALUE ||
                           element->value_case == PD__OTLP__ANY_VALUE__VALUE_STRING_VALUE_STRINDEX;
            if (has_one)
                found = last_string(r, element);
        }
    return found;
}

static bool is_true(const Pd__Otlp__AnyValue *v)
{
    return v && v->value_case == PD__OTLP__ANY_VALUE__VALUE_BOOL_VALUE && v->bool_value;
}

static void put_request_mapping(const request *r, buf *b, const Pd__Otlp__Mapping *m)
{
    static const char *const ids[] = {"gnu", "go", "htlhash"};
    static const char *const names[] = {"functions", "filenames", "line_numbers", "inline_frames"};
    ProtobufCBinaryData build_id = nothing;
    bool has[4];
    for (size_t i = 0; i < 3 && !build_id.len; i++) {
        const Pd__Otlp__AnyValue *v =
            attribute_of(r, m->attribute_indices, m->n_attribute_indices,
                         arena_format(r->a, "process.executable.build_id.%s", ids[i]));
        build_id = v ? last_string(r, v) : nothing;
    }
    for (size_t i = 0; i < 4; i++)
        has[i] = is_true(attribute_of(r, m->attribute_indices, m->n_attribute_indices,
                                      arena_format(r->a, "pprof.mapping.has_%s", names[i])));
    put_mapping(b, m->memory_start, m->memory_limit, m->file_offset,
                string_at(r, m->filename_strindex), build_id, has);
}

static void put_location(const request *r, buf *b, const Pd__Otlp__Location *l)
{
    buf_format(b, "(%" PRIx64 " %d ", l->address,
               is_true(attribute_of(r, l->attribute_indices, l->n_attribute_indices,
                                    "pprof.location.is_folded")));
    if (l->mapping_index)
        put_request_mapping(r, b, r->d->mapping_table[l->mapping_index]);
    for (size_t i = 0; i < l->n_lines; i++) {
        const Pd__Otlp__Line *line = l->lines[i];
        if (!line->function_index)
            continue;
        const Pd__Otlp__Function *f = r->d->function_table[line->function_index];
        put_line(b, string_at(r, f->name_strindex), string_at(r, f->system_name_strindex),
                 string_at(r, f->filename_strindex), f->start_line, line->line, line->column);
    }
    buf_text(b, ")");
}

static void label_resource(const request *r, otlp_lines *labels, const Pd__Otlp__Resource *from)
{
    for (size_t i = 0; from && i < from->n_attributes; i++)
        label_value(r, labels,
                    joined(r->a, bytes_of("resource."), "", key_of(r, from->attributes[i])),
                    from->attributes[i]->value, nothing);
}

static void label_scope(otlp_lines *labels, const Pd__Otlp__Scope *from)
{
    if (from && from->name.len)
        add_label(labels, bytes_of("scope.name"), from->name, 0, nothing);
    if (from && from->version.len)
        add_label(labels, bytes_of("scope.version"), from->version, 0, nothing);
}

static otlp_lines labels_of(const request *r, const placed *m, const Pd__Otlp__Sample *s)
{
    otlp_lines labels = {.arena = r->a};
    for (size_t i = 0; i < s->n_attribute_indices; i++) {
        const Pd__Otlp__Attribute *one = r->d->attribute_table[s->attribute_indices[i]];
        label_value(r, &labels, string_at(r, one->key_strindex), one->value,
                    string_at(r, one->unit_strindex));
    }
    if (s->link_index) {
        const Pd__Otlp__Link *link = r->d->link_table[s->link_index];
        if (link->trace_id.len)
            add_label(&labels, bytes_of("trace_id"), hex_of(r->a, link->trace_id), 0, nothing);
        if (link->span_id.len)
            add_label(&labels, bytes_of("span_id"), hex_of(r->a, link->span_id), 0, nothing);
    }
    if (r->resources > 1)
        label_resource(r, &labels, m->resource->resource);
    if (r->scopes > r->resources)
        label_scope(&labels, m->scope->scope);
    if (r->has_times) {
        ProtobufCBinaryData unit = bytes_of("nanoseconds");
        add_label(&labels, bytes_of("profile.time_unix_nano"), nothing,
                  (int64_t)m->profile->time_unix_nano, unit);
        add_label(&labels, bytes_of("profile.duration_nano"), nothing,
                  (int64_t)m->profile->duration_nano, unit);
    }
    return labels;
}

static const char *stack_of(const request *r, const Pd__Otlp__Sample *s)
{
    static const Pd__Otlp__Location nowhere = PD__OTLP__LOCATION__INIT;
    buf b = buf_begin(r->a);
    const Pd__Otlp__Stack *stack = s->stack_index ? r->d->stack_table[s->stack_index] : NULL;
    for (size_t i = 0; stack && i < stack->n_location_indices; i++) {
        int32_t index = stack->location_indices[i];
        buf location = buf_begin(r->a);
        if (!index)
            put_location(r, &b, &nowhere);
        else if (!r->locations[index]) {
            put_location(r, &location, r->d->location_table[index]);
            r->locations[index] = buf_string(&location);
        }
        if (index)
            buf_text(&b, r->locations[index]);
    }
    return buf_string(&b);
}

static void add_points(const request *r, otlp_lines *out, const placed *m)
{
    const Pd__Otlp__Profile *p = m->profile;
    for (size_t i = 0; i < p->n_samples; i++) {
        const Pd__Otlp__Sample *s = p->samples[i];
        size_t len = s->n_values ? s->n_values : s->n_timestamps_unix_nano;
        const char *stack = stack_of(r, s);
        for (size_t j = 0; j < len; j++) {
            otlp_lines labels = labels_of(r, m, s);
            int64_t value = s->n_values ? s->values[j] : 1;
            buf b = buf_begin(r->a);
            if (s->n_timestamps_unix_nano)
                add_label(&labels, bytes_of("timestamp_unix_nano"), nothing,
                          (int64_t)s->timestamps_unix_nano[j], bytes_of("nanoseconds"));
            quote(&b, string_at(r, p->sample_type ? p->sample_type->type_strindex : 0));
            quote(&b, string_at(r, p->sample_type ? p->sample_type->unit_strindex : 0));
            buf_text(&b, stack);
            add_sorted(&b, &labels);
            buf_format(&b, "= %" PRId64, value);
            if (value)
                otlp_lines_add(out, buf_string(&b));
        }
    }
}

static request request_of(arena *a, const Pd__Otlp__Request *view)
{
    static const Pd__Otlp__Dictionary empty = PD__OTLP__DICTIONARY__INIT;
    request r = {.a = a, .d = view->dictionary ? view->dictionary : &empty};
    r.locations = ARENA_ARRAY(a, const char *, r.d->n_location_table);
    r.resources = view->n_resource_profiles;
    for (size_t i = 0; i < view->n_resource_profiles; i++) {
        const Pd__Otlp__ResourceProfiles *resource = view->resource_profiles[i];
        r.scopes += resource->n_scope_profiles;
        for (size_t j = 0; j < resource->n_scope_profiles; j++) {
            const Pd__Otlp__ScopeProfiles *scope = resource->scope_profiles[j];
            for (size_t k = 0; k < scope->n_profiles; k++)
                ARENA_PUSH(a, r.profiles, r.len, r.cap,
                           (placed){resource, scope, scope->profiles[k]});
        }
    }
    for (size_t i = 1; i < r.len; i++)
        r.has_times |=
            r.profiles[i].profile->time_unix_nano != r.profiles[0].profile->time_unix_nano ||
            r.profiles[i].profile->duration_nano != r.profiles[0].profile->duration_nano;
    return r;
}

otlp_lines otlp_points_of_request(arena *a, const Pd__Otlp__Request *view)
{
    const request r = request_of(a, view);
    otlp_lines out = {.arena = a};
    for (size_t i = 0; i < r.len; i++)
        add_points(&r, &out, &r.profiles[i]);
    return summed(out);
}

/* ---- the profile --------------------------------------------------------------------------- */

static ProtobufCBinaryData text_at(const Pd__View__Profile *p, int64_t index)
{
    return p->string_table[index];
}

static void put_view_mapping(const Pd__View__Profile *p, buf *b, const Pd__View__Mapping *m)
{
    const bool has[] = {m->has_functions, m->has_filenames, m->has_line_numbers,
                        m->has_inline_frames};
    put_mapping(b, m->memory_start, m->memory_limit, m->file_offset, text_at(p, m->filename),
                text_at(p, m->build_id), has);
}

static void put_view_location(const Pd__View__Profile *p, buf *b, const Pd__View__Location *l)
{
    buf_format(b, "(%" PRIx64 " %d ", l->address, l->is_folded);
    if (l->mapping_id)
        put_view_mapping(p, b, p->mapping[l->mapping_id - 1]);
    for (size_t i = 0; i < l->n_line; i++) {
        const Pd__View__Line *line = l->line[i];
        const Pd__View__Function *f = p->function[line->function_id - 1];
        put_line(b, text_at(p, f->name), text_at(p, f->system_name), text_at(p, f->filename),
                 f->start_line, line->line, line->column);
    }
    buf_text(b, ")");
}

otlp_lines otlp_points_of_profile(arena *a, const Pd__View__Profile *p)
{
    otlp_lines out = {.arena = a};
    const char **locations = ARENA_ARRAY(a, const char *, p->n_location);
    for (size_t i = 0; i < p->n_sample; i++) {
        const Pd__View__Sample *s = p->sample[i];
        otlp_lines labels = {.arena = a};
        buf stack = buf_begin(a);
        for (size_t j = 0; j < s->n_label; j++)
            add_label(&labels, text_at(p, s->label[j]->key), text_at(p, s->label[j]->str),
                      s->label[j]->num, text_at(p, s->label[j]->num_unit));
        for (size_t j = 0; j < s->n_location_id; j++) {
            uint64_t id = s->location_id[j];
            buf location = buf_begin(a);
            if (!locations[id - 1]) {
                put_view_location(p, &location, p->location[id - 1]);
                locations[id - 1] = buf_string(&location);
            }
            buf_text(&stack, locations[id - 1]);
        }
        for (size_t j = 0; j < s->n_value; j++) {
            buf b = buf_begin(a);
            quote(&b, text_at(p, p->sample_type[j]->type));
            quote(&b, text_at(p, p->sample_type[j]->unit));
            buf_text(&b, buf_string(&stack));
            add_sorted(&b, &labels);
            buf_format(&b, "= %" PRId64, s->value[j]);
            if (s->value[j])
                otlp_lines_add(&out, buf_string(&b));
        }
    }
    return summed(out);
}

const char *otlp_lines_differ(arena *a, const otlp_lines *x, const otlp_lines *y)
{
    for (size_t i = 0; i < x->len || i < y->len; i++) {
        const char *one = i < x->len ? x->texts[i] : "(none)";
        const char *other = i < y->len ? y->texts[i] : "(none)";
        if (strcmp(one, other) != 0)
            return arena_format(a, "%s\n  is not\n  %s", one, other);
    }
    return NULL;
}
