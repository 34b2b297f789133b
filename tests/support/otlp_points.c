#include "otlp_points.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A string with its length, so that no two lists of strings have one text. */
static void quote(buf *b, ProtobufCBinaryData text)
{
    buf_format(b, "%zu:", text.len);
    buf_add(b, text.data, text.len);
    buf_text(b, " ");
}

static ProtobufCBinaryData bytes_of(const char *text)
{
    return (ProtobufCBinaryData){strlen(text), (uint8_t *)(uintptr_t)text};
}

static int by_text(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

/* Texts that may have NUL bytes are compared in an escaped form. */
static const char *text_of(arena *a, const buf *b)
{
    buf out = buf_begin(a);
    for (size_t i = 0; i < b->len; i++) {
        if (b->ptr[i] && b->ptr[i] != '\\')
            buf_add(&out, &b->ptr[i], 1);
        else
            buf_format(&out, "\\%02x", b->ptr[i]);
    }
    return buf_string(&out);
}

static void sort(otlp_points *p)
{
    if (p->len)
        qsort(p->texts, p->len, sizeof *p->texts, by_text);
}

/* The points, sorted. Those that differ only in their value, behind the last '=', are added up. */
static otlp_points summed(arena *a, otlp_points all)
{
    otlp_points out = {NULL, 0, 0};
    sort(&all);
    for (size_t i = 0; i < all.len;) {
        const char *first = all.texts[i];
        int len = (int)(strrchr(first, '=') - first) + 1;
        uint64_t sum = 0;
        for (; i < all.len && !strncmp(all.texts[i], first, (size_t)len) &&
               strrchr(all.texts[i], '=') == all.texts[i] + len - 1;
             i++)
            sum += (uint64_t)strtoll(all.texts[i] + len, NULL, 10);
        if (sum)
            ARENA_PUSH(a, out.texts, out.len, out.cap,
                       arena_format(a, "%.*s%" PRId64, len, first, (int64_t)sum));
    }
    return out;
}

static void add_sorted(buf *b, otlp_points *labels)
{
    sort(labels);
    for (size_t i = 0; i < labels->len; i++) {
        buf_text(b, "{");
        buf_text(b, labels->texts[i]);
        buf_text(b, "}");
    }
}

static void put_frame(buf *b, ProtobufCBinaryData name, ProtobufCBinaryData system,
                      ProtobufCBinaryData file, int64_t start)
{
    quote(b, name);
    quote(b, system);
    quote(b, file);
    buf_format(b, "%" PRId64 " ", start);
}

static void add_label(arena *a, otlp_points *labels, ProtobufCBinaryData key,
                      ProtobufCBinaryData text, int64_t number, ProtobufCBinaryData unit)
{
    buf b = buf_begin(a);
    quote(&b, key);
    if (text.len) {
        quote(&b, text);
    } else {
        buf_format(&b, "= %" PRId64 " ", number);
        quote(&b, unit);
    }
    ARENA_PUSH(a, labels->texts, labels->len, labels->cap, text_of(a, &b));
}

/* ---- the request --------------------------------------------------------------------------- */

static const ProtobufCBinaryData nothing = {0, NULL};

typedef struct request {
    arena *a;
    const Pd__Otlp__Request *view;
    const Pd__Otlp__Dictionary *d;
    size_t resources, scopes, sets;
    bool has_times; /* sets of several times */
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

/* { "value": int, "unit": string }, in any order */
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

static bool label_pair(const request *r, otlp_points *labels, ProtobufCBinaryData key,
                       const Pd__Otlp__KeyValueList *list)
{
    const Pd__Otlp__KeyValue *number =
        member_of(r, list, "value", PD__OTLP__ANY_VALUE__VALUE_INT_VALUE);
    const Pd__Otlp__KeyValue *unit =
        member_of(r, list, "unit", PD__OTLP__ANY_VALUE__VALUE_STRING_VALUE);
    if (list->n_values != 2 || !number || !unit)
        return false;
    add_label(r->a, labels, key, nothing, number->value->int_value, unit->value->string_value);
    return true;
}

static void label_value(const request *r, otlp_points *labels, ProtobufCBinaryData key,
                        const Pd__Otlp__AnyValue *v, ProtobufCBinaryData unit)
{
    switch (v ? v->value_case : PD__OTLP__ANY_VALUE__VALUE__NOT_SET) {
    case PD__OTLP__ANY_VALUE__VALUE_STRING_VALUE:
        add_label(r->a, labels, key, v->string_value, 0, nothing);
        break;
    case PD__OTLP__ANY_VALUE__VALUE_STRING_VALUE_STRINDEX:
        add_label(r->a, labels, key, string_at(r, v->string_value_strindex), 0, nothing);
        break;
    case PD__OTLP__ANY_VALUE__VALUE_BOOL_VALUE:
        add_label(r->a, labels, key, bytes_of(v->bool_value ? "true" : "false"), 0, nothing);
        break;
    case PD__OTLP__ANY_VALUE__VALUE_INT_VALUE:
        add_label(r->a, labels, key, nothing, v->int_value, unit);
        break;
    case PD__OTLP__ANY_VALUE__VALUE_DOUBLE_VALUE:
        add_label(r->a, labels, key, decimal_of(r->a, v->double_value), 0, nothing);
        break;
    case PD__OTLP__ANY_VALUE__VALUE_BYTES_VALUE:
        add_label(r->a, labels, key, hex_of(r->a, v->bytes_value), 0, nothing);
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
        add_label(r->a, labels, key, nothing, 0, nothing);
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

static void put_mapping(const request *r, buf *b, const Pd__Otlp__Mapping *m)
{
    static const char *const ids[] = {"gnu", "go", "htlhash"};
    static const char *const has[] = {"functions", "filenames", "line_numbers", "inline_frames"};
    ProtobufCBinaryData build_id = nothing;
    buf_format(b, "[%" PRIx64 " %" PRIx64 " %" PRIx64 " ", m->memory_start, m->memory_limit,
               m->file_offset);
    quote(b, string_at(r, m->filename_strindex));
    for (size_t i = 0; i < 3 && !build_id.len; i++) {
        const Pd__Otlp__AnyValue *v =
            attribute_of(r, m->attribute_indices, m->n_attribute_indices,
                         arena_format(r->a, "process.executable.build_id.%s", ids[i]));
        build_id = v ? last_string(r, v) : nothing;
    }
    quote(b, build_id);
    for (size_t i = 0; i < 4; i++)
        buf_format(b, "%d",
                   is_true(attribute_of(r, m->attribute_indices, m->n_attribute_indices,
                                        arena_format(r->a, "pprof.mapping.has_%s", has[i]))));
    buf_text(b, "]");
}

static void put_location(const request *r, buf *b, const Pd__Otlp__Location *l)
{
    buf_format(b, "(%" PRIx64 " %d ", l->address,
               is_true(attribute_of(r, l->attribute_indices, l->n_attribute_indices,
                                    "pprof.location.is_folded")));
    if (l->mapping_index)
        put_mapping(r, b, r->d->mapping_table[l->mapping_index]);
    for (size_t i = 0; i < l->n_lines; i++) {
        const Pd__Otlp__Line *line = l->lines[i];
        if (line->function_index) {
            const Pd__Otlp__Function *f = r->d->function_table[line->function_index];
            put_frame(b, string_at(r, f->name_strindex), string_at(r, f->system_name_strindex),
                      string_at(r, f->filename_strindex), f->start_line);
        }
        buf_format(b, "%" PRId64 ".%" PRId64 ";", line->line, line->column);
    }
    buf_text(b, ")");
}

static void label_resource(const request *r, otlp_points *labels, const Pd__Otlp__Resource *from)
{
    for (size_t i = 0; from && i < from->n_attributes; i++)
        label_value(r, labels,
                    joined(r->a, bytes_of("resource."), "", key_of(r, from->attributes[i])),
                    from->attributes[i]->value, nothing);
}

static void label_scope(const request *r, otlp_points *labels, const Pd__Otlp__Scope *from)
{
    if (from && from->name.len)
        add_label(r->a, labels, bytes_of("scope.name"), from->name, 0, nothing);
    if (from && from->version.len)
        add_label(r->a, labels, bytes_of("scope.version"), from->version, 0, nothing);
}

static otlp_points labels_of(const request *r, const Pd__Otlp__ResourceProfiles *resource,
                             const Pd__Otlp__ScopeProfiles *scope, const Pd__Otlp__Profile *p,
                             const Pd__Otlp__Sample *s)
{
    otlp_points labels = {NULL, 0, 0};
    for (size_t i = 0; i < s->n_attribute_indices; i++) {
        const Pd__Otlp__Attribute *one = r->d->attribute_table[s->attribute_indices[i]];
        label_value(r, &labels, string_at(r, one->key_strindex), one->value,
                    string_at(r, one->unit_strindex));
    }
    if (s->link_index) {
        const Pd__Otlp__Link *link = r->d->link_table[s->link_index];
        if (link->trace_id.len)
            add_label(r->a, &labels, bytes_of("trace_id"), hex_of(r->a, link->trace_id), 0,
                      nothing);
        if (link->span_id.len)
            add_label(r->a, &labels, bytes_of("span_id"), hex_of(r->a, link->span_id), 0, nothing);
    }
    if (r->resources > 1)
        label_resource(r, &labels, resource->resource);
    if (r->scopes > r->resources)
        label_scope(r, &labels, scope->scope);
    if (r->has_times) {
        ProtobufCBinaryData unit = bytes_of("nanoseconds");
        add_label(r->a, &labels, bytes_of("profile.time_unix_nano"), nothing,
                  (int64_t)p->time_unix_nano, unit);
        add_label(r->a, &labels, bytes_of("profile.duration_nano"), nothing,
                  (int64_t)p->duration_nano, unit);
    }
    return labels;
}

static const char *stack_of(const request *r, const Pd__Otlp__Sample *s)
{
    static const Pd__Otlp__Location nowhere = PD__OTLP__LOCATION__INIT;
    buf b = buf_begin(r->a);
    if (s->stack_index) {
        const Pd__Otlp__Stack *stack = r->d->stack_table[s->stack_index];
        for (size_t i = 0; i < stack->n_location_indices; i++)
            put_location(r, &b,
                         stack->location_indices[i]
                             ? r->d->location_table[stack->location_indices[i]]
                             : &nowhere);
    }
    return text_of(r->a, &b);
}

static void add_points(const request *r, otlp_points *out,
                       const Pd__Otlp__ResourceProfiles *resource,
                       const Pd__Otlp__ScopeProfiles *scope, const Pd__Otlp__Profile *p)
{
    for (size_t i = 0; i < p->n_samples; i++) {
        const Pd__Otlp__Sample *s = p->samples[i];
        size_t len = s->n_values ? s->n_values : s->n_timestamps_unix_nano;
        const char *stack = stack_of(r, s);
        for (size_t j = 0; j < len; j++) {
            otlp_points labels = labels_of(r, resource, scope, p, s);
            int64_t value = s->n_values ? s->values[j] : 1;
            buf b = buf_begin(r->a);
            if (s->n_timestamps_unix_nano)
                add_label(r->a, &labels, bytes_of("timestamp_unix_nano"), nothing,
                          (int64_t)s->timestamps_unix_nano[j], bytes_of("nanoseconds"));
            quote(&b, string_at(r, p->sample_type ? p->sample_type->type_strindex : 0));
            quote(&b, string_at(r, p->sample_type ? p->sample_type->unit_strindex : 0));
            buf_text(&b, stack);
            add_sorted(&b, &labels);
            buf_format(&b, "= %" PRId64, value);
            if (value)
                ARENA_PUSH(r->a, out->texts, out->len, out->cap, text_of(r->a, &b));
        }
    }
}

typedef void on_profile(request *r, otlp_points *out, const Pd__Otlp__ResourceProfiles *resource,
                        const Pd__Otlp__ScopeProfiles *scope, const Pd__Otlp__Profile *profile);

static void for_each_profile(request *r, otlp_points *out, on_profile *take)
{
    for (size_t i = 0; i < r->view->n_resource_profiles; i++) {
        const Pd__Otlp__ResourceProfiles *resource = r->view->resource_profiles[i];
        for (size_t j = 0; j < resource->n_scope_profiles; j++)
            for (size_t k = 0; k < resource->scope_profiles[j]->n_profiles; k++)
                take(r, out, resource, resource->scope_profiles[j],
                     resource->scope_profiles[j]->profiles[k]);
    }
}

static const Pd__Otlp__Profile *first_profile(const request *r)
{
    for (size_t i = 0; i < r->view->n_resource_profiles; i++)
        for (size_t j = 0; j < r->view->resource_profiles[i]->n_scope_profiles; j++)
            if (r->view->resource_profiles[i]->scope_profiles[j]->n_profiles)
                return r->view->resource_profiles[i]->scope_profiles[j]->profiles[0];
    return NULL;
}

static void look_at_times(request *r, otlp_points *out, const Pd__Otlp__ResourceProfiles *resource,
                          const Pd__Otlp__ScopeProfiles *scope, const Pd__Otlp__Profile *profile)
{
    const Pd__Otlp__Profile *first = first_profile(r);
    (void)out;
    (void)resource;
    (void)scope;
    r->has_times |= first->time_unix_nano != profile->time_unix_nano ||
                    first->duration_nano != profile->duration_nano;
}

static void take_points(request *r, otlp_points *out, const Pd__Otlp__ResourceProfiles *resource,
                        const Pd__Otlp__ScopeProfiles *scope, const Pd__Otlp__Profile *profile)
{
    add_points(r, out, resource, scope, profile);
}

otlp_points otlp_points_of_request(arena *a, const Pd__Otlp__Request *view)
{
    static const Pd__Otlp__Dictionary empty = PD__OTLP__DICTIONARY__INIT;
    request r = {.a = a, .view = view, .d = view->dictionary ? view->dictionary : &empty};
    otlp_points out = {NULL, 0, 0};
    r.resources = view->n_resource_profiles;
    for (size_t i = 0; i < view->n_resource_profiles; i++)
        r.scopes += view->resource_profiles[i]->n_scope_profiles;
    for_each_profile(&r, &out, look_at_times);
    for_each_profile(&r, &out, take_points);
    return summed(a, out);
}

/* ---- the profile --------------------------------------------------------------------------- */

static ProtobufCBinaryData text_at(const Pd__View__Profile *p, int64_t index)
{
    return p->string_table[index];
}

static void put_view_location(const Pd__View__Profile *p, buf *b, const Pd__View__Location *l)
{
    buf_format(b, "(%" PRIx64 " %d ", l->address, l->is_folded);
    if (l->mapping_id) {
        const Pd__View__Mapping *m = p->mapping[l->mapping_id - 1];
        buf_format(b, "[%" PRIx64 " %" PRIx64 " %" PRIx64 " ", m->memory_start, m->memory_limit,
                   m->file_offset);
        quote(b, text_at(p, m->filename));
        quote(b, text_at(p, m->build_id));
        buf_format(b, "%d%d%d%d]", m->has_functions, m->has_filenames, m->has_line_numbers,
                   m->has_inline_frames);
    }
    for (size_t i = 0; i < l->n_line; i++) {
        const Pd__View__Line *line = l->line[i];
        if (line->function_id) {
            const Pd__View__Function *f = p->function[line->function_id - 1];
            put_frame(b, text_at(p, f->name), text_at(p, f->system_name), text_at(p, f->filename),
                      f->start_line);
        }
        buf_format(b, "%" PRId64 ".%" PRId64 ";", line->line, line->column);
    }
    buf_text(b, ")");
}

otlp_points otlp_points_of_profile(arena *a, const Pd__View__Profile *p)
{
    otlp_points out = {NULL, 0, 0};
    for (size_t i = 0; i < p->n_sample; i++) {
        const Pd__View__Sample *s = p->sample[i];
        otlp_points labels = {NULL, 0, 0};
        buf stack = buf_begin(a);
        for (size_t j = 0; j < s->n_label; j++)
            add_label(a, &labels, text_at(p, s->label[j]->key), text_at(p, s->label[j]->str),
                      s->label[j]->num, text_at(p, s->label[j]->num_unit));
        for (size_t j = 0; j < s->n_location_id; j++)
            put_view_location(p, &stack, p->location[s->location_id[j] - 1]);
        const char *stack_text = text_of(a, &stack);
        for (size_t j = 0; j < s->n_value; j++) {
            buf b = buf_begin(a);
            quote(&b, text_at(p, p->sample_type[j]->type));
            quote(&b, text_at(p, p->sample_type[j]->unit));
            buf_text(&b, stack_text);
            add_sorted(&b, &labels);
            buf_format(&b, "= %" PRId64, s->value[j]);
            if (s->value[j])
                ARENA_PUSH(a, out.texts, out.len, out.cap, text_of(a, &b));
        }
    }
    return summed(a, out);
}

const char *otlp_points_differ(arena *a, const otlp_points *x, const otlp_points *y)
{
    for (size_t i = 0; i < x->len || i < y->len; i++) {
        const char *one = i < x->len ? x->texts[i] : "(none)";
        const char *other = i < y->len ? y->texts[i] : "(none)";
        if (strcmp(one, other) != 0)
            return arena_format(a, "%s\n  is not\n  %s", one, other);
    }
    return NULL;
}
