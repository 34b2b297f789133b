/* The model of an OTLP request, and whether its dictionary has the form that the manual names: entry 0
 * of each table is the zero value, nothing is unused, and nothing is there twice. */
#include "otlp_meaning.h"
#include "otlp_model.h"
#include "otlp.pb-c.h"
#include "view.h"

#include <inttypes.h>
#include <string.h>

/* ---- the parts of a profile ------------------------------------------------------------------ */

typedef struct otlp {
    arena *a;
    const Pd__Otlp__Dictionary *d;
    bool *strings, *mappings, *locations, *functions, *attributes, *stacks; /* used */
    const char **location_texts; /* made when first needed */
    const char *wrong;
} otlp;

static void blame(otlp *s, const char *wrong)
{
    if (!s->wrong)
        s->wrong = wrong;
}

/* Marks an index as used; false if it is not in the table. */
static bool use(otlp *s, bool *used, int64_t index, size_t len, const char *table)
{
    if (index < 0 || (uint64_t)index >= len) {
        blame(s, arena_format(s->a, "an index %" PRId64 " is not in the %s table", index, table));
        return false;
    }
    used[index] = true;
    return true;
}

static const char *otlp_text(otlp *s, ProtobufCBinaryData text)
{
    if (!meaning_is_utf8(text))
        blame(s, "a string is not UTF-8");
    return meaning_quoted(s->a, text);
}

static const char *otlp_string(otlp *s, int32_t index)
{
    return use(s, s->strings, index, s->d->n_string_table, "string")
               ? otlp_text(s, s->d->string_table[index])
               : "lost";
}

/* The attribute with this index: its key, and the value itself. NULL if there is none. */
static const Pd__Otlp__Attribute *attribute(otlp *s, int32_t index, const char **key)
{
    if (!use(s, s->attributes, index, s->d->n_attribute_table, "attribute"))
        return NULL;
    const Pd__Otlp__Attribute *attr = s->d->attribute_table[index];
    if (!attr->value)
        blame(s, "an attribute has no value");
    *key = otlp_string(s, attr->key_strindex);
    return attr->value ? attr : NULL;
}

static const char *in_quotes(arena *a, const char *text)
{
    return meaning_quoted(a, (ProtobufCBinaryData){strlen(text), (uint8_t *)(uintptr_t)text});
}

static bool is_true(const Pd__Otlp__Attribute *a)
{
    return a->value->value_case == PD__OTLP__ANY_VALUE__VALUE_BOOL_VALUE && a->value->bool_value;
}

static const char *text_value(otlp *s, const Pd__Otlp__AnyValue *value)
{
    if (value->value_case == PD__OTLP__ANY_VALUE__VALUE_STRING_VALUE)
        return otlp_text(s, value->string_value);
    blame(s, "a value is not a string");
    return "lost";
}

static const char *label_value(otlp *s, const Pd__Otlp__AnyValue *value, const char *unit)
{
    if (value->value_case == PD__OTLP__ANY_VALUE__VALUE_INT_VALUE)
        return meaning_number(s->a, value->int_value, unit);
    if (value->value_case != PD__OTLP__ANY_VALUE__VALUE_KVLIST_VALUE)
        return text_value(s, value);
    const Pd__Otlp__KeyValueList *list = value->kvlist_value;
    if (list->n_values != 2 ||
        list->values[0]->value->value_case != PD__OTLP__ANY_VALUE__VALUE_INT_VALUE) {
        blame(s, "a number with a unit of its own has another form");
        return "lost";
    }
    return meaning_number(s->a, list->values[0]->value->int_value,
                          text_value(s, list->values[1]->value));
}

static const char *otlp_labels(otlp *s, const Pd__Otlp__Sample *sample)
{
    meaning_labels l = meaning_labels_begin(s->a);
    for (size_t i = 0; i < sample->n_attribute_indices; i++) {
        const char *key;
        const Pd__Otlp__Attribute *attr = attribute(s, sample->attribute_indices[i], &key);
        if (!attr)
            continue;
        for (size_t j = 0; j < l.keys.len; j++)
            if (!strcmp(l.keys.list[j], key))
                blame(s, "a sample has two attributes with one key");
        const char *unit = otlp_string(s, attr->unit_strindex);
        const Pd__Otlp__AnyValue *value = attr->value;
        bool is_array = value->value_case == PD__OTLP__ANY_VALUE__VALUE_ARRAY_VALUE;
        if (is_array && value->array_value->n_values < 2)
            blame(s, "an array of a label has fewer than two values");
        for (size_t j = 0; is_array && j < value->array_value->n_values; j++)
            meaning_labels_add(&l, key, label_value(s, value->array_value->values[j], unit));
        if (!is_array)
            meaning_labels_add(&l, key, label_value(s, value, unit));
    }
    return meaning_labels_end(&l);
}

static const char *otlp_mapping(otlp *s, int32_t index)
{
    if (!index || !use(s, s->mappings, index, s->d->n_mapping_table, "mapping"))
        return "none";
    const Pd__Otlp__Mapping *m = s->d->mapping_table[index];
    const char *build_id = in_quotes(s->a, ""), *key;
    char has[] = "0000";
    static const char *const names[] = {
        "pprof.mapping.has_functions", "pprof.mapping.has_filenames",
        "pprof.mapping.has_line_numbers", "pprof.mapping.has_inline_frames"};
    for (size_t i = 0; i < m->n_attribute_indices; i++) {
        const Pd__Otlp__Attribute *attr = attribute(s, m->attribute_indices[i], &key);
        bool is_known = attr == NULL;
        for (size_t bit = 0; attr && bit < 4; bit++)
            if (!strcmp(key, in_quotes(s->a, names[bit])) && is_true(attr)) {
                has[bit] = '1';
                is_known = true;
            }
        if (attr && strstr(key, "process.executable.build_id.")) {
            build_id = text_value(s, attr->value);
            is_known = true;
        }
        if (!is_known)
            blame(s, arena_format(s->a, "a mapping has an attribute %s", key));
    }
    return meaning_mapping(s->a, m->memory_start, m->memory_limit, m->file_offset,
                           otlp_string(s, m->filename_strindex), build_id, has);
}

static const char *otlp_function(otlp *s, int32_t index)
{
    if (!index || !use(s, s->functions, index, s->d->n_function_table, "function"))
        return "none";
    const Pd__Otlp__Function *f = s->d->function_table[index];
    return meaning_function(s->a, otlp_string(s, f->name_strindex),
                            otlp_string(s, f->system_name_strindex),
                            otlp_string(s, f->filename_strindex), f->start_line);
}

static const char *otlp_location(otlp *s, int32_t index)
{
    if (!use(s, s->locations, index, s->d->n_location_table, "location"))
        return "lost";
    const Pd__Otlp__Location *l = s->d->location_table[index];
    if (s->location_texts[index])
        return s->location_texts[index];
    bool is_folded = false;
    for (size_t i = 0; i < l->n_attribute_indices; i++) {
        const char *key;
        const Pd__Otlp__Attribute *attr = attribute(s, l->attribute_indices[i], &key);
        is_folded =
            attr && is_true(attr) && !strcmp(key, in_quotes(s->a, "pprof.location.is_folded"));
        if (!is_folded)
            blame(s, "a location has an attribute that is not pprof.location.is_folded");
    }
    buf out = buf_begin(s->a);
    MEANING_FORMAT(&out, "(%s @%" PRIx64 "%s", otlp_mapping(s, l->mapping_index), l->address,
                   is_folded ? " folded" : "");
    for (size_t i = 0; i < l->n_lines; i++)
        MEANING_FORMAT(&out, " [%s %" PRId64 ":%" PRId64 "]",
                       otlp_function(s, l->lines[i]->function_index), l->lines[i]->line,
                       l->lines[i]->column);
    buf_text(&out, ")");
    return s->location_texts[index] = buf_string(&out);
}

static const char *otlp_stack(otlp *s, int32_t index)
{
    buf out = buf_begin(s->a);
    if (use(s, s->stacks, index, s->d->n_stack_table, "stack"))
        for (size_t i = 0; i < s->d->stack_table[index]->n_location_indices; i++)
            buf_text(&out, otlp_location(s, s->d->stack_table[index]->location_indices[i]));
    return buf_string(&out);
}

static void otlp_profile(otlp *s, size_t nth, const Pd__Otlp__Profile *p, meaning *out)
{
    if (!p->sample_type) {
        blame(s, "a profile has no type");
        return;
    }
    meaning_add(out, arena_format(s->a, "type %zu %s %s", nth,
                                  otlp_string(s, p->sample_type->type_strindex),
                                  otlp_string(s, p->sample_type->unit_strindex)));
    for (size_t i = 0; i < p->n_samples; i++) {
        const Pd__Otlp__Sample *sample = p->samples[i];
        if (sample->n_values != 1 || !sample->values[0] || sample->n_timestamps_unix_nano ||
            sample->link_index)
            blame(s, "a sample has not one value, or has more than a value");
        else
            meaning_add(out, arena_format(s->a, "sample %zu %s {%s} %" PRId64, nth,
                                          otlp_stack(s, sample->stack_index),
                                          otlp_labels(s, sample), sample->values[0]));
    }
}

/* What all profiles of the request have alike. */
static const char *otlp_header(otlp *s, const Pd__Otlp__Profile *p)
{
    meaning out = {.arena = s->a};
    const char *texts[3] = {in_quotes(s->a, ""), in_quotes(s->a, ""), in_quotes(s->a, "")};
    static const char *const keys[] = {"pprof.profile.drop_frames", "pprof.profile.keep_frames",
                                       "pprof.profile.doc_url"};
    meaning_add_times(&out, p->time_unix_nano, p->duration_nano);
    const char *period_type = "0'' 0''";
    if (p->period_type)
        period_type = arena_format(s->a, "%s %s", otlp_string(s, p->period_type->type_strindex),
                                   otlp_string(s, p->period_type->unit_strindex));
    meaning_add(&out, arena_format(s->a, "period %s %" PRId64, period_type, p->period));
    for (size_t i = 0; i < p->n_attribute_indices; i++) {
        const char *key;
        const Pd__Otlp__Attribute *attr = attribute(s, p->attribute_indices[i], &key);
        if (!attr)
            continue;
        if (!strcmp(key, in_quotes(s->a, "pprof.profile.comment"))) {
            const Pd__Otlp__ArrayValue *all = attr->value->array_value;
            for (size_t j = 0; j < all->n_values; j++)
                meaning_add_text(&out, arena_format(s->a, "comment %zu", j),
                                 text_value(s, all->values[j]));
            continue;
        }
        size_t k = 0;
        while (k < 3 && strcmp(key, in_quotes(s->a, keys[k])) != 0)
            k++;
        if (k < 3)
            texts[k] = text_value(s, attr->value);
        else
            blame(s, arena_format(s->a, "a profile has an attribute %s", key));
    }
    meaning_add_text(&out, "drop_frames", texts[0]);
    meaning_add_text(&out, "keep_frames", texts[1]);
    meaning_add_text(&out, "doc_url", texts[2]);
    return meaning_join(&out);
}

static void otlp_scope(otlp *s, const Pd__Otlp__Scope *scope, size_t types, meaning *out)
{
    const char *default_type = in_quotes(s->a, "");
    bool has_order = false;
    if (strcmp(otlp_text(s, scope->name), in_quotes(s->a, "pprofdelta")) != 0 ||
        strcmp(otlp_text(s, scope->version), in_quotes(s->a, PPROFDELTA_VERSION)) != 0)
        blame(s, "the scope is not pprofdelta");
    for (size_t i = 0; i < scope->n_attributes; i++) {
        const Pd__Otlp__KeyValue *pair = scope->attributes[i];
        const char *key = otlp_text(s, pair->key);
        if (!strcmp(key, in_quotes(s->a, "pprof.scope.default_sample_type")))
            default_type = text_value(s, pair->value);
        else if (!strcmp(key, in_quotes(s->a, "pprof.scope.sample_type_order")))
            has_order = pair->value->array_value->n_values == types;
        for (size_t j = 0;
             has_order && pair->value->value_case == PD__OTLP__ANY_VALUE__VALUE_ARRAY_VALUE &&
             j < types;
             j++)
            if (pair->value->array_value->values[j]->int_value != (int64_t)j)
                blame(s, "the order of the types is wrong");
    }
    if (!has_order)
        blame(s, "the scope has no order of types");
    meaning_add_text(out, "default_sample_type", default_type);
}

/* ---- the form of the dictionary -------------------------------------------------------------- */

/* Is entry 0 the zero value, is every other entry used, and is none there twice? */
static void check_table(otlp *s, const char *name, size_t len, ProtobufCMessage *const *entries,
                        const bool *used)
{
    meaning all = {.arena = s->a};
    if (!len) {
        blame(s, arena_format(s->a, "the %s table is empty", name));
        return;
    }
    for (size_t i = 0; i < len; i++) {
        size_t size = protobuf_c_message_get_packed_size(entries[i]);
        uint8_t *packed = arena_alloc(s->a, size);
        protobuf_c_message_pack(entries[i], packed);
        if (!i && size)
            blame(s, arena_format(s->a, "entry 0 of the %s table is not zero", name));
        if (i && used && !used[i])
            blame(s, arena_format(s->a, "entry %zu of the %s table is not used", i, name));
        buf hex = buf_begin(s->a);
        for (size_t j = 0; j < size; j++)
            buf_format(&hex, "%02x", packed[j]);
        meaning_add(&all, buf_string(&hex));
    }
    if (meaning_has_twice(&all))
        blame(s, arena_format(s->a, "an entry of the %s table is there twice", name));
}

static void check_strings(otlp *s)
{
    meaning all = {.arena = s->a};
    for (size_t i = 0; i < s->d->n_string_table; i++) {
        if (i && !s->strings[i])
            blame(s, arena_format(s->a, "string %zu is not used", i));
        meaning_add(&all, otlp_text(s, s->d->string_table[i]));
    }
    if (!all.len || s->d->string_table[0].len)
        blame(s, "string 0 is not empty");
    if (meaning_has_twice(&all))
        blame(s, "a string is there twice");
}

#define CHECK_TABLE(s, name)                                                                       \
    check_table((s), #name, (s)->d->n_##name##_table,                                              \
                (ProtobufCMessage *const *)(s)->d->name##_table, (s)->name##s)

static void check_dictionary(otlp *s)
{
    if (s->d->n_mapping_table > 1)
        s->mappings[1] = true; /* the main one, which is written in any case */
    CHECK_TABLE(s, mapping);
    CHECK_TABLE(s, location);
    CHECK_TABLE(s, function);
    CHECK_TABLE(s, attribute);
    CHECK_TABLE(s, stack);
    check_table(s, "link", s->d->n_link_table, (ProtobufCMessage *const *)s->d->link_table, NULL);
    if (s->d->n_link_table != 1)
        blame(s, "there is a link");
    check_strings(s);
}

static const char *resource_text(otlp *s, const Pd__Otlp__Resource *resource)
{
    buf out = buf_begin(s->a);
    for (size_t i = 0; resource && i < resource->n_attributes; i++) {
        const Pd__Otlp__KeyValue *pair = resource->attributes[i];
        MEANING_FORMAT(&out, "%s=%s;", otlp_text(s, pair->key), text_value(s, pair->value));
    }
    return buf_string(&out);
}

static void check_id(otlp *s, otlp_model *out, size_t nth, ProtobufCBinaryData id)
{
    static const uint8_t zero[16];
    if (id.len != 16 || !memcmp(id.data, zero, 16)) {
        blame(s, "a profile_id is zero or has not 16 bytes");
        return;
    }
    memcpy(out->ids[nth], id.data, 16);
    for (size_t i = 0; i < nth; i++)
        if (!memcmp(out->ids[i], id.data, 16))
            blame(s, "two profiles have one id");
}

static void read_request(otlp *s, const Pd__Otlp__Request *q, otlp_model *out)
{
    meaning l = {.arena = s->a};
    const char *header = NULL;
    *out = (otlp_model){.text = "", .resource = ""};
    if (q->n_resource_profiles != 1 || q->resource_profiles[0]->n_scope_profiles != 1 ||
        !q->resource_profiles[0]->scope_profiles[0]->scope) {
        blame(s, "there is not one resource with one scope");
        return;
    }
    const Pd__Otlp__ScopeProfiles *scope = q->resource_profiles[0]->scope_profiles[0];
    out->types = scope->n_profiles;
    out->resource = resource_text(s, q->resource_profiles[0]->resource);
    for (size_t i = 0; i < scope->n_profiles && i < PPROFDELTA_MAX_TYPES; i++) {
        otlp_profile(s, i, scope->profiles[i], &l);
        check_id(s, out, i, scope->profiles[i]->profile_id);
        const char *this_header = otlp_header(s, scope->profiles[i]);
        if (header && strcmp(header, this_header) != 0)
            blame(s, "two profiles have different headers");
        header = this_header;
    }
    if (header)
        meaning_add(&l, header);
    otlp_scope(s, scope->scope, scope->n_profiles, &l);
    meaning_add_text(&l, "main", s->d->n_mapping_table > 1 ? otlp_mapping(s, 1) : "none");
    check_dictionary(s);
    out->text = meaning_join(&l);
}

/* Sorts the lines of a text, of which some came as a block. */
static const char *sorted(arena *a, const char *text)
{
    meaning l = {.arena = a};
    char *copy = arena_text(a, text), *save = NULL;
    for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        meaning_add(&l, line);
    return meaning_join(&l);
}

bool otlp_model_of_request(arena *a, const void *bytes, size_t len, otlp_model *out)
{
    ProtobufCAllocator allocator = {view_take, view_give, NULL};
    Pd__Otlp__Request *q = pd__otlp__request__unpack(&allocator, len, bytes);
    if (!q)
        return false;
    otlp s = {.a = a, .d = q->dictionary};
    *out = (otlp_model){.text = "", .resource = "", .wrong = "there is no dictionary"};
    if (q->dictionary) {
        const Pd__Otlp__Dictionary *d = q->dictionary;
        s.strings = ARENA_ARRAY(a, bool, d->n_string_table);
        s.mappings = ARENA_ARRAY(a, bool, d->n_mapping_table);
        s.locations = ARENA_ARRAY(a, bool, d->n_location_table);
        s.location_texts = ARENA_ARRAY(a, const char *, d->n_location_table);
        s.functions = ARENA_ARRAY(a, bool, d->n_function_table);
        s.attributes = ARENA_ARRAY(a, bool, d->n_attribute_table);
        s.stacks = ARENA_ARRAY(a, bool, d->n_stack_table);
        read_request(&s, q, out);
        out->text = sorted(a, out->text);
        out->wrong = s.wrong;
    }
    pd__otlp__request__free_unpacked(q, &allocator);
    return true;
}
