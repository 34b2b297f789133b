/* The compact writer's output as OTLP: see compact_otlp.h. */
#include "profile/compact_format.h"

#include "base/utf8.h"
#include "profile/fields.h"
#include "profile/otlp_attributes.h"

/* ---- the life of the parts ------------------------------------------------------------------- */

/* The tables in the order of the dictionary's fields, from 0, and then the samples of each type. */
enum { TABLES = PD_OTLP_DICTIONARY_STACK_TABLE };
static pd_buffer *part_of(pd_compact *c, size_t number)
{
    pd_buffer *const tables[TABLES] = {
        &c->mapping_bytes, &c->location_bytes,       &c->function_bytes,  &c->otlp.link_bytes,
        &c->string_bytes,  &c->otlp.attribute_bytes, &c->otlp.stack_bytes};
    return number < TABLES ? tables[number] : &c->otlp.samples[number - TABLES];
}

void pd_otlp_begin(pd_compact *c)
{
    pd_compact_otlp *o = &c->otlp;
    for (size_t i = 0; i < sizeof o->buffers / sizeof *o->buffers; i++)
        o->buffers[i].len = 0;
    for (size_t i = 0; i < sizeof o->maps / sizeof *o->maps; i++)
        pd_keymap_clear(&o->maps[i]);
    o->table_len = 0;
    o->types = 0;
    for (uint32_t i = 0; i < TABLES; i++) /* entry 0 is the zero value */
        pd_write_bytes(&c->writer, part_of(c, i), i + 1, NULL, 0);
}

void pd_otlp_release(pd_compact_otlp *o, pd_mem *mem)
{
    for (size_t i = 0; i < sizeof o->buffers / sizeof *o->buffers; i++)
        pd_buffer_release(mem, &o->buffers[i]);
    for (size_t i = 0; i < sizeof o->maps / sizeof *o->maps; i++)
        pd_keymap_release(&o->maps[i], mem);
    PD_RELEASE(mem, o->strings);
    PD_RELEASE(mem, o->set_list);
    PD_RELEASE(mem, o->picks);
}

pd_bytes pd_otlp_text(pd_compact *c, pd_bytes string)
{
    pd_writer *w = &c->writer;
    pd_buffer *repaired = &c->otlp.repaired;
    if (pd_utf8_is_valid(string) || w->status)
        return string;
    w->status = pd_utf8_repair(string, w->mem, repaired, w->err);
    return w->status ? string : (pd_bytes){repaired->ptr, repaired->len};
}

/* ---- the tables ------------------------------------------------------------------------------ */

void pd_otlp_add_string(pd_compact *c, pd_bytes string)
{
    pd_compact_otlp *o = &c->otlp;
    pd_writer *w = &c->writer;
    size_t number = c->strings.len - 1;
    if (!w->status)
        w->status = PD_GROW(w->mem, o->strings, number + 1, w->err);
    if (w->status)
        return;
    o->strings[number] = (pd_otlp_string){.off = o->texts.len, .len = string.len};
    pd_write_raw(w, &o->texts, string.ptr, string.len);
}

void pd_otlp_add_type(pd_compact *c, uint32_t type, uint32_t unit)
{
    pd_compact_otlp *o = &c->otlp;
    o->type_names[o->types][0] = type;
    o->type_names[o->types++][1] = unit;
}

/* Appends an index to the list that is being packed. */
static void add_index(pd_compact *c, uint32_t index)
{
    pd_write_element(&c->writer, &c->otlp.list, index);
}

static void put_mapping_attributes(pd_compact *c, const pd_compact_mapping *m)
{
    if (m->build_id)
        add_index(c, pd_otlp_text_attribute(
                         c, pd_otlp_build_id_key(pd_otlp_text_of(c, m->build_id)), m->build_id));
    for (uint32_t bit = 0; bit < PD_OTLP_MAPPING_FLAGS; bit++)
        if (m->has >> bit & 1)
            add_index(c, pd_otlp_true(c, pd_otlp_mapping_has[bit]));
}

uint32_t pd_otlp_mapping_id(pd_compact *c, pd_compact_mapping *m)
{
    pd_compact_otlp *o = &c->otlp;
    bool is_new;
    pd_key own = pd_key_of_bytes(o->own.ptr, o->own.len, 0);
    uint64_t words[] = {m->start,    m->limit, m->file_offset, m->filename,
                        m->build_id, m->has,   own.lo,         own.hi};
    uint64_t any = words[0] | words[1] | words[2] | words[3] | words[4] | words[5] | o->own.len;
    m->own = o->own_lists.len;
    m->own_len = o->own.len;
    pd_write_raw(&c->writer, &o->own_lists, o->own.ptr, o->own.len);
    o->own.len = 0;
    pd_key content = pd_key_of_words(words, sizeof words / sizeof *words, 0);
    return any ? pd_write_key(&c->writer, &c->otlp.mapping_contents, content, &is_new) + 1 : 0;
}

static void put_mapping(pd_compact *c, const pd_compact_mapping *m)
{
    pd_compact_otlp *o = &c->otlp;
    pd_writer *w = &c->writer;
    o->list.len = 0;
    if (m->own_len)
        pd_write_raw(w, &o->list, o->own_lists.ptr + m->own, m->own_len);
    else
        put_mapping_attributes(c, m);
    PD_WRITE_VARINTS(w, &c->scratch, PD_OTLP_MAPPING_MEMORY_START, m->start, m->limit,
                     m->file_offset, pd_otlp_strindex(c, m->filename));
    if (o->list.len)
        pd_write_part(w, &c->scratch, PD_OTLP_MAPPING_ATTRIBUTE_INDICES, &o->list);
    pd_write_part(w, &c->mapping_bytes, PD_OTLP_DICTIONARY_MAPPING_TABLE, &c->scratch);
}

void pd_otlp_add_function(pd_compact *c, uint32_t name, uint32_t system_name, uint32_t filename,
                          int64_t start_line)
{
    PD_WRITE_VARINTS(&c->writer, &c->scratch, PD_OTLP_FUNCTION_NAME_STRINDEX,
                     pd_otlp_strindex(c, name), pd_otlp_strindex(c, system_name),
                     pd_otlp_strindex(c, filename), (uint64_t)start_line);
    pd_write_part(&c->writer, &c->function_bytes, PD_OTLP_DICTIONARY_FUNCTION_TABLE, &c->scratch);
}

uint32_t pd_otlp_add_location(pd_compact *c, uint32_t mapping, uint64_t address, bool is_folded)
{
    pd_compact_otlp *o = &c->otlp;
    pd_writer *w = &c->writer;
    o->list.len = 0;
    pd_write_raw(w, &o->list, o->own.ptr, o->own.len);
    o->own.len = 0;
    if (is_folded && !o->list.len)
        add_index(c, pd_otlp_true(c, "pprof.location.is_folded"));
    PD_WRITE_VARINTS(w, &c->scratch, PD_OTLP_LOCATION_MAPPING_INDEX, mapping, address);
    pd_write_raw(w, &c->scratch, c->lines.ptr, c->lines.len);
    if (o->list.len)
        pd_write_part(w, &c->scratch, PD_OTLP_LOCATION_ATTRIBUTE_INDICES, &o->list);
    return pd_otlp_entry(c, &o->location_contents, &c->location_bytes,
                         PD_OTLP_DICTIONARY_LOCATION_TABLE, &c->scratch);
}

/* ---- samples --------------------------------------------------------------------------------- */

/* The index of the stack in c->stack; 0 for a stack without locations. */
static uint32_t stack_index(pd_compact *c)
{
    pd_compact_otlp *o = &c->otlp;
    if (c->stack.len)
        pd_write_part(&c->writer, &c->scratch, PD_OTLP_STACK_LOCATION_INDICES, &c->stack);
    return pd_otlp_entry(c, &o->stacks, &o->stack_bytes, PD_OTLP_DICTIONARY_STACK_TABLE,
                         &c->scratch);
}

enum {
    TAG_SAMPLE = PD_OTLP_PROFILE_SAMPLES << 3 | PD_WIRE_BYTES,
    TAG_STACK = PD_OTLP_SAMPLE_STACK_INDEX << 3 | PD_WIRE_VARINT,
    TAG_VALUES = PD_OTLP_SAMPLE_VALUES << 3 | PD_WIRE_BYTES
};

/* A Sample: `stack` is its field with the index of the stack, `labels` that with the attributes. */
static void put_value(pd_compact *c, pd_buffer *samples, pd_bytes stack, pd_bytes labels,
                      int64_t value)
{
    size_t value_len = pd_varint_size((uint64_t)value);
    size_t body = stack.len + labels.len + 2 + value_len;
    uint8_t *p =
        pd_write_room(&c->writer, samples, body + PD_VARINT_MAX + PD_VARINT_MAX + PD_PIECE);
    if (!p)
        return;
    *p++ = TAG_SAMPLE;
    p = pd_varint_encode(p, body);
    p = pd_put_bytes(p, stack.ptr, stack.len);
    p = pd_put_bytes(p, labels.ptr, labels.len);
    *p++ = TAG_VALUES;
    *p++ = (uint8_t)value_len;
    pd_write_done(samples, pd_varint_encode(p, (uint64_t)value));
}

void pd_otlp_add_sample(pd_compact *c, const int64_t *values, size_t len)
{
    pd_compact_otlp *o = &c->otlp;
    uint8_t stack[PD_VARINT_MAX + PD_PIECE], *end = stack;
    if (pd_compact_has_value(values, len)) {
        uint32_t index = stack_index(c);
        pd_bytes labels = pd_otlp_labels(c);
        if (index) {
            *end++ = TAG_STACK;
            end = pd_varint_encode(end, index);
        }
        for (size_t i = 0; i < len; i++)
            if (values[i])
                put_value(c, &o->samples[i], (pd_bytes){stack, (size_t)(end - stack)}, labels,
                          values[i]);
    }
}

/* ---- the end --------------------------------------------------------------------------------- */

/* The time of an OTLP profile is the beginning of its window, that of a pprof profile is the end, where 0 is
 * not known. A window that begins before 1970 is cut there. One that begins in 1970 has its time, too, although
 * it is 0: without the field, it is not known. */
static void put_times(pd_compact *c, pd_buffer *out, const pd_compact_header *h)
{
    uint64_t time = h->time_nanos > 0 ? (uint64_t)h->time_nanos : 0;
    uint64_t duration = h->duration_nanos > 0 ? (uint64_t)h->duration_nanos : 0;
    if (time && duration > time)
        duration = time;
    if (time)
        pd_write_fixed64(&c->writer, out, PD_OTLP_PROFILE_TIME_UNIX_NANO, time - duration);
    pd_write_varint(&c->writer, out, PD_OTLP_PROFILE_DURATION_NANO, duration);
}

/* The attribute of all comments: an array, in their order. */
static uint32_t comment_attribute(pd_compact *c)
{
    pd_compact_otlp *o = &c->otlp;
    pd_writer *w = &c->writer;
    pd_reader r = pd_reader_of(c->comments.ptr, c->comments.len);
    uint64_t string;
    while (!w->status && pd_reader_varint(&r, &string)) {
        pd_otlp_put_text(w, &o->value, pd_otlp_text_of(c, (uint32_t)string));
        pd_write_part(w, &c->scratch, PD_OTLP_ARRAY_VALUE_VALUES, &o->value);
    }
    pd_write_part(w, &o->value, PD_OTLP_ANY_VALUE_ARRAY_VALUE, &c->scratch);
    return pd_otlp_attribute(c, pd_compact_string(c, pd_bytes_of("pprof.profile.comment")), 0);
}

static void put_profile_attributes(pd_compact *c, const pd_compact_header *h)
{
    const struct {
        const char *key;
        uint32_t string;
    } texts[] = {{"pprof.profile.drop_frames", h->drop_frames},
                 {"pprof.profile.keep_frames", h->keep_frames},
                 {"pprof.profile.doc_url", h->doc_url}};
    c->otlp.list.len = 0;
    if (c->comments.len)
        add_index(c, comment_attribute(c));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].string)
            add_index(c, pd_otlp_text_attribute(c, texts[i].key, texts[i].string));
}

/* type and unit are numbers of strings. */
static void put_value_type(pd_compact *c, pd_buffer *to, uint32_t number, uint32_t type,
                           uint32_t unit)
{
    uint32_t type_index = pd_otlp_strindex(c, type);
    pd_compact_value_type(c, to, number, type_index, pd_otlp_strindex(c, unit));
}

/* The order in which the types are. */
static void put_order(pd_compact *c)
{
    static const char order[] = "pprof.scope.sample_type_order";
    pd_compact_otlp *o = &c->otlp;
    pd_writer *w = &c->writer;
    o->list.len = 0;
    for (size_t i = 0; i < o->types; i++) {
        pd_otlp_put_number(w, &o->value, (int64_t)i);
        pd_write_part(w, &o->list, PD_OTLP_ARRAY_VALUE_VALUES, &o->value);
    }
    pd_write_part(w, &o->value, PD_OTLP_ANY_VALUE_ARRAY_VALUE, &o->list);
    pd_otlp_put_pair(w, &c->scratch, PD_OTLP_SCOPE_ATTRIBUTES, pd_bytes_of(order), &o->value,
                     &o->message);
}

/* The scope, with what pprof has for all value types together. */
static void put_scope(pd_compact *c, pd_buffer *out, const pd_compact_header *h)
{
    const pd_otlp_origin *origin = c->origin;
    pd_compact_otlp *o = &c->otlp;
    pd_writer *w = &c->writer;
    pd_bytes name = pd_bytes_of("pprofdelta"), version = pd_bytes_of(PPROFDELTA_VERSION);
    if (origin) {
        pd_write_raw(w, &c->scratch, origin->scope.ptr, origin->scope.len);
    } else {
        pd_write_bytes(w, &c->scratch, PD_OTLP_SCOPE_NAME, name.ptr, name.len);
        pd_write_bytes(w, &c->scratch, PD_OTLP_SCOPE_VERSION, version.ptr, version.len);
    }
    if (!origin || origin->has_order)
        put_order(c);
    if (h->default_sample_type) {
        pd_otlp_put_text(w, &o->value, pd_otlp_text_of(c, h->default_sample_type));
        pd_otlp_put_pair(w, &c->scratch, PD_OTLP_SCOPE_ATTRIBUTES,
                         pd_bytes_of("pprof.scope.default_sample_type"), &o->value, &o->message);
    }
    if (!origin || origin->has_scope)
        pd_write_part(w, out, PD_OTLP_SCOPE_PROFILES_SCOPE, &c->scratch);
}

/* The hash of everything but the resource, the scope and what is made of the hash. */
static pd_key content_key(pd_compact *c)
{
    const pd_compact_otlp *o = &c->otlp;
    uint64_t words[2 * (TABLES + PPROFDELTA_MAX_TYPES)];
    size_t len = 0;
    for (size_t i = 0; i < TABLES + o->types; i++) {
        const pd_buffer *part = part_of(c, i);
        pd_key key = pd_key_of_bytes(part->ptr, part->len, 0);
        words[len++] = key.lo;
        words[len++] = key.hi;
    }
    pd_key common = pd_key_of_bytes(o->common.ptr, o->common.len, 0);
    pd_key all = pd_key_of_words(words, len, common.lo);
    return (pd_key){all.lo, all.hi ^ common.hi};
}

/* How many types before this one have its name and unit. */
static size_t namesakes(const pd_compact_otlp *o, size_t type)
{
    size_t found = 0;
    for (size_t i = 0; i < type; i++)
        found += memcmp(o->type_names[i], o->type_names[type], sizeof *o->type_names) == 0;
    return found;
}

static pd_bytes resource_of(const pd_compact *c)
{
    return c->origin ? c->origin->resource : c->resource;
}

static pd_key key_of_string(const pd_compact *c, uint32_t string)
{
    pd_bytes text = pd_otlp_text_of(c, string);
    return pd_key_of_bytes(text.ptr, text.len, 0);
}

static void put_profile_id(pd_compact *c, pd_buffer *out, size_t type, pd_key series,
                           uint64_t sequence)
{
    const pd_compact_otlp *o = &c->otlp;
    pd_bytes whole = resource_of(c);
    pd_key resource = pd_key_of_bytes(whole.ptr, whole.len, 0);
    pd_key name = key_of_string(c, o->type_names[type][0]);
    pd_key unit = key_of_string(c, o->type_names[type][1]);
    uint64_t words[] = {series.lo, series.hi, resource.lo, resource.hi, name.lo,
                        name.hi,   unit.lo,   unit.hi,     sequence,    namesakes(o, type)};
    pd_key key = pd_key_of_words(words, sizeof words / sizeof *words, 0);
    if (!(key.lo | key.hi)) /* which is invalid */
        key.lo = 1;
    uint64_t id[] = {pd_le64(key.lo), pd_le64(key.hi)};
    pd_write_bytes(&c->writer, out, PD_OTLP_PROFILE_PROFILE_ID, (const uint8_t *)id, sizeof id);
}

/* The tag and the length of a field, whose content comes behind it. */
static void put_intro(pd_compact *c, pd_buffer *out, uint32_t number, size_t len)
{
    uint8_t *p = pd_write_room(&c->writer, out, PD_VARINT_MAX + PD_VARINT_MAX);
    if (!p)
        return;
    p = pd_varint_encode(p, number << 3 | PD_WIRE_BYTES);
    pd_write_done(out, pd_varint_encode(p, len));
}

static size_t intro_size(size_t len)
{
    return 1 + pd_varint_size(len);
}

/* The attributes that all Profiles have, which are in o->list, and those of this one. */
static void put_attribute_list(pd_compact *c, pd_buffer *out, size_t type)
{
    pd_compact_otlp *o = &c->otlp;
    pd_buffer *list = &c->scratch;
    pd_otlp_more more;
    list->len = 0;
    pd_write_raw(&c->writer, list, o->list.ptr, o->list.len);
    for (size_t at = 0; at < o->more.len; at += sizeof more) {
        memcpy(&more, o->more.ptr + at, sizeof more);
        if (more.type == type)
            pd_write_element(&c->writer, list, more.attribute);
    }
    if (list->len)
        pd_write_part(&c->writer, out, PD_OTLP_PROFILE_ATTRIBUTE_INDICES, list);
}

static void put_heads(pd_compact *c, pd_key series, uint64_t sequence)
{
    pd_compact_otlp *o = &c->otlp;
    pd_writer *w = &c->writer;
    for (size_t i = 0; i < o->types; i++) {
        pd_buffer *head = &c->tail;
        head->len = 0;
        put_value_type(c, head, PD_OTLP_PROFILE_SAMPLE_TYPE, o->type_names[i][0],
                       o->type_names[i][1]);
        pd_write_raw(w, head, o->common.ptr, o->common.len);
        put_attribute_list(c, head, i);
        put_profile_id(c, head, i, series, sequence);
        put_intro(c, &o->heads, PD_OTLP_SCOPE_PROFILES_PROFILES, head->len + o->samples[i].len);
        pd_write_raw(w, &o->heads, head->ptr, head->len);
        o->head_ends[i] = o->heads.len;
    }
}

/* A field that is left out if it is empty, and its size. */
static void put_field(pd_compact *c, pd_buffer *out, uint32_t number, pd_bytes content)
{
    if (content.len)
        pd_write_bytes(&c->writer, out, number, content.ptr, content.len);
}

static size_t field_size(pd_bytes content)
{
    return content.len ? intro_size(content.len) + content.len : 0;
}

/* Joins everything. The length of what is inside a field stands before it. */
static void put_all(pd_compact *c, const pd_compact_header *h)
{
    static const pd_otlp_origin none = {.has_scope = false};
    const pd_otlp_origin *origin = c->origin ? c->origin : &none;
    pd_compact_otlp *o = &c->otlp;
    pd_writer *w = &c->writer;
    pd_bytes resource = resource_of(c);
    pd_buffer *scope = &c->tail, *out = &c->out;
    size_t dictionary = 0, at = 0;
    scope->len = 0;
    put_scope(c, scope, h);
    size_t profiles = scope->len + o->heads.len + field_size(origin->scope_url);
    for (size_t i = 0; i < o->types; i++)
        profiles += o->samples[i].len;
    put_intro(c, out, PD_OTLP_REQUEST_RESOURCE_PROFILES,
              field_size(resource) + intro_size(profiles) + profiles +
                  field_size(origin->resource_url));
    put_field(c, out, PD_OTLP_RESOURCE_PROFILES_RESOURCE, resource);
    put_intro(c, out, PD_OTLP_RESOURCE_PROFILES_SCOPE_PROFILES, profiles);
    pd_write_raw(w, out, scope->ptr, scope->len);
    for (size_t i = 0; i < o->types; at = o->head_ends[i++]) {
        pd_write_raw(w, out, o->heads.ptr + at, o->head_ends[i] - at);
        pd_write_raw(w, out, o->samples[i].ptr, o->samples[i].len);
    }
    put_field(c, out, PD_OTLP_SCOPE_PROFILES_SCHEMA_URL, origin->scope_url);
    put_field(c, out, PD_OTLP_RESOURCE_PROFILES_SCHEMA_URL, origin->resource_url);
    for (size_t i = 0; i < TABLES; i++)
        dictionary += part_of(c, i)->len;
    put_intro(c, out, PD_OTLP_REQUEST_DICTIONARY, dictionary);
    for (size_t i = 0; i < TABLES; i++)
        pd_write_raw(w, out, part_of(c, i)->ptr, part_of(c, i)->len);
}

void pd_otlp_end(pd_compact *c, const pd_compact_header *h)
{
    pd_compact_otlp *o = &c->otlp;
    for (size_t i = 0; i < c->mapping_len && !c->writer.status; i++)
        put_mapping(c, &c->mapping_list[i]);
    put_times(c, &o->common, h);
    if (h->has_period_type)
        put_value_type(c, &o->common, PD_OTLP_PROFILE_PERIOD_TYPE, h->period_type, h->period_unit);
    pd_write_varint(&c->writer, &o->common, PD_OTLP_PROFILE_PERIOD, (uint64_t)h->period);
    put_profile_attributes(c, h);
    for (size_t i = 0; i < o->types; i++) { /* all strings are there before they are hashed */
        pd_otlp_strindex(c, o->type_names[i][0]);
        pd_otlp_strindex(c, o->type_names[i][1]);
    }
    if (c->writer.status)
        return;
    put_heads(c, h->series ? (pd_key){h->series, 0} : content_key(c), h->sequence);
    if (!c->writer.status)
        put_all(c, h);
}
