/* Attributes: see otlp_attributes.h. */
#include "profile/otlp_attributes.h"

#include "base/utf8.h"
#include "profile/fields.h"

#define NONE UINT32_MAX

/* ---- values ---------------------------------------------------------------------------------- */

void pd_otlp_put_text(pd_writer *w, pd_buffer *buffer, pd_bytes text)
{
    pd_write_bytes(w, buffer, PD_OTLP_ANY_VALUE_STRING_VALUE, text.ptr, text.len);
}

void pd_otlp_put_number(pd_writer *w, pd_buffer *buffer, int64_t number)
{
    pd_write_varint_always(w, buffer, PD_OTLP_ANY_VALUE_INT_VALUE, (uint64_t)number);
}

void pd_otlp_put_pair(pd_writer *w, pd_buffer *buffer, uint32_t number, pd_bytes key,
                      pd_buffer *value, pd_buffer *message)
{
    message->len = 0;
    pd_write_bytes(w, message, PD_OTLP_KEY_VALUE_KEY, key.ptr, key.len);
    pd_write_part(w, message, PD_OTLP_KEY_VALUE_VALUE, value);
    pd_write_part(w, buffer, number, message);
}

/* ---- strings and attributes ------------------------------------------------------------------ */

pd_bytes pd_otlp_text_of(const pd_compact *c, uint32_t string)
{
    if (c->writer.status || !string)
        return (pd_bytes){0};
    const pd_otlp_string *s = &c->otlp.strings[string];
    return (pd_bytes){c->otlp.texts.ptr + s->off, s->len};
}

uint32_t pd_otlp_strindex(pd_compact *c, uint32_t string)
{
    pd_compact_otlp *o = &c->otlp;
    if (!string || c->writer.status)
        return 0;
    if (!o->strings[string].index) {
        pd_bytes text = pd_otlp_text_of(c, string);
        o->strings[string].index = ++o->table_len;
        pd_write_bytes(&c->writer, &c->string_bytes, PD_OTLP_DICTIONARY_STRING_TABLE, text.ptr,
                       text.len);
    }
    return o->strings[string].index;
}

uint32_t pd_otlp_entry(pd_compact *c, pd_keymap *contents, pd_buffer *table, uint32_t number,
                       pd_buffer *content)
{
    bool is_new;
    if (!content->len)
        return 0;
    pd_key key = pd_key_of_bytes(content->ptr, content->len, 0);
    uint32_t index = pd_write_key(&c->writer, contents, key, &is_new) + 1;
    if (is_new)
        pd_write_part(&c->writer, table, number, content);
    content->len = 0;
    return index;
}

uint32_t pd_otlp_attribute(pd_compact *c, uint32_t key, uint32_t unit)
{
    pd_compact_otlp *o = &c->otlp;
    pd_writer *w = &c->writer;
    pd_buffer *whole = &o->message;
    whole->len = 0;
    pd_write_varint(w, whole, PD_OTLP_ATTRIBUTE_KEY_STRINDEX, pd_otlp_strindex(c, key));
    pd_write_part(w, whole, PD_OTLP_ATTRIBUTE_VALUE, &o->value);
    pd_write_varint(w, whole, PD_OTLP_ATTRIBUTE_UNIT_STRINDEX, pd_otlp_strindex(c, unit));
    return pd_otlp_entry(c, &o->attributes, &o->attribute_bytes, PD_OTLP_DICTIONARY_ATTRIBUTE_TABLE,
                         whole);
}

uint32_t pd_otlp_true(pd_compact *c, const char *key)
{
    pd_write_varint_always(&c->writer, &c->otlp.value, PD_OTLP_ANY_VALUE_BOOL_VALUE, 1);
    return pd_otlp_attribute(c, pd_compact_string(c, pd_bytes_of(key)), 0);
}

uint32_t pd_otlp_text_attribute(pd_compact *c, const char *key, uint32_t string)
{
    pd_otlp_put_text(&c->writer, &c->otlp.value, pd_otlp_text_of(c, string));
    return pd_otlp_attribute(c, pd_compact_string(c, pd_bytes_of(key)), 0);
}

uint32_t pd_otlp_value_attribute(pd_compact *c, uint32_t key, uint32_t unit, pd_bytes value)
{
    pd_write_raw(&c->writer, &c->otlp.value, value.ptr, value.len);
    return pd_otlp_attribute(c, key, unit);
}

void pd_otlp_own(pd_compact *c, uint32_t attribute)
{
    pd_write_element(&c->writer, &c->otlp.own, attribute);
}

void pd_otlp_own_of_profile(pd_compact *c, uint32_t type, uint32_t attribute)
{
    const pd_otlp_more more = {type, attribute};
    pd_write_raw(&c->writer, &c->otlp.more, (const uint8_t *)&more, sizeof more);
}

/* ---- labels ---------------------------------------------------------------------------------- */

/* The nth label of the set in c->labels. */
static pd_compact_label label_at(const pd_compact *c, size_t n)
{
    pd_compact_label label;
    memcpy(&label, c->labels.ptr + n * sizeof label, sizeof label);
    return label;
}

void pd_otlp_remove_labels(pd_compact *c, size_t from, size_t to)
{
    size_t size = (to - from) * sizeof(pd_compact_label);
    if (!size || c->writer.status)
        return;
    uint8_t *at = c->labels.ptr + from * sizeof(pd_compact_label);
    c->labels.len -= size;
    memmove(at, at + size, (size_t)(c->labels.ptr + c->labels.len - at));
}

/* The value of a number whose unit is not that of its attribute. */
static void put_measure(pd_compact *c, pd_buffer *buffer, const pd_compact_label *l)
{
    pd_compact_otlp *o = &c->otlp;
    pd_writer *w = &c->writer;
    o->pairs.len = o->member.len = 0;
    const uint32_t members = PD_OTLP_KEY_VALUE_LIST_VALUES;
    pd_otlp_put_number(w, &o->member, l->num);
    pd_otlp_put_pair(w, &o->pairs, members, pd_bytes_of("value"), &o->member, &o->message);
    pd_otlp_put_text(w, &o->member, pd_otlp_text_of(c, (uint32_t)l->num_unit));
    pd_otlp_put_pair(w, &o->pairs, members, pd_bytes_of("unit"), &o->member, &o->message);
    pd_write_part(w, buffer, PD_OTLP_ANY_VALUE_KVLIST_VALUE, &o->pairs);
}

static void put_label(pd_compact *c, pd_buffer *buffer, const pd_compact_label *l, uint64_t unit)
{
    if (l->str)
        pd_otlp_put_text(&c->writer, buffer, pd_otlp_text_of(c, (uint32_t)l->str));
    else if (l->num_unit == unit)
        pd_otlp_put_number(&c->writer, buffer, l->num);
    else
        put_measure(c, buffer, l);
}

/* The unit of the first number among the labels from this one on. */
static uint32_t unit_from(const pd_compact *c, uint32_t label)
{
    for (; label != NONE; label = c->otlp.picks[label].next)
        if (!label_at(c, label).str)
            return (uint32_t)label_at(c, label).num_unit;
    return 0;
}

/* The attribute of all labels with one key: a value, or an array in the order of the labels. */
static uint32_t attribute_of(pd_compact *c, uint32_t first)
{
    pd_compact_otlp *o = &c->otlp;
    pd_writer *w = &c->writer;
    uint32_t unit = unit_from(c, first);
    o->list.len = 0;
    for (uint32_t at = first; at != NONE; at = o->picks[at].next) {
        pd_compact_label label = label_at(c, at);
        put_label(c, &o->value, &label, unit);
        if (o->picks[first].next != NONE)
            pd_write_part(w, &o->list, PD_OTLP_ARRAY_VALUE_VALUES, &o->value);
    }
    if (o->list.len)
        pd_write_part(w, &o->value, PD_OTLP_ANY_VALUE_ARRAY_VALUE, &o->list);
    return pd_otlp_attribute(c, (uint32_t)label_at(c, first).key, unit);
}

/* Chains the labels of the set by their keys. */
static void pick_labels(pd_compact *c)
{
    pd_compact_otlp *o = &c->otlp;
    pd_writer *w = &c->writer;
    size_t len = c->labels.len / sizeof(pd_compact_label);
    pd_keymap_clear(&o->keys);
    if (!w->status)
        w->status = PD_GROW(w->mem, o->picks, len, w->err);
    for (uint32_t n = 0; n < len && !w->status; n++) {
        bool is_new;
        uint64_t word = label_at(c, n).key;
        uint32_t key = pd_write_key(&c->writer, &o->keys, pd_key_of_words(&word, 1, 0), &is_new);
        if (w->status)
            return;
        o->picks[n].next = NONE;
        if (is_new)
            o->picks[key].first = n;
        else
            o->picks[o->picks[key].last].next = n;
        o->picks[key].last = n;
    }
}

/* The bytes of an id of a link in hexadecimal. Returns false if the text is none. */
static bool read_hex(pd_bytes text, uint8_t *id, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < text.len && text.len == 2 * size; i++) {
        const char *digit = memchr(digits, text.ptr[i], sizeof digits - 1);
        if (!digit)
            return false;
        id[i / 2] = (uint8_t)(id[i / 2] << 4 | (digit - digits));
    }
    return text.len == 2 * size;
}

/* Moves an id of a link from the labels to the link in c->scratch: the last label with this key. */
static void take_id(pd_compact *c, const char *name, uint32_t field, size_t size)
{
    enum { MOST = 16 };
    uint8_t id[MOST] = {0};
    size_t n = c->labels.len / sizeof(pd_compact_label);
    pd_bytes key = pd_bytes_of(name);
    while (n && !pd_bytes_equal(pd_otlp_text_of(c, (uint32_t)label_at(c, n - 1).key), key))
        n--;
    if (!n || !read_hex(pd_otlp_text_of(c, (uint32_t)label_at(c, n - 1).str), id, size))
        return;
    pd_write_bytes(&c->writer, &c->scratch, field, id, size);
    pd_otlp_remove_labels(c, n - 1, n);
}

/* The index of the link that the labels have, which are then without it. */
static uint32_t take_link(pd_compact *c)
{
    enum { TRACE = 16, SPAN = 8 };
    c->scratch.len = 0;
    take_id(c, "trace_id", PD_OTLP_LINK_TRACE_ID, TRACE);
    take_id(c, "span_id", PD_OTLP_LINK_SPAN_ID, SPAN);
    return pd_otlp_entry(c, &c->otlp.links, &c->otlp.link_bytes, PD_OTLP_DICTIONARY_LINK_TABLE,
                         &c->scratch);
}

/* Appends the fields of the set in c->labels to set_bytes. */
static pd_otlp_set make_set(pd_compact *c)
{
    pd_compact_otlp *o = &c->otlp;
    pd_writer *w = &c->writer;
    pd_otlp_set set = {.off = o->set_bytes.len};
    uint32_t link = c->origin ? take_link(c) : 0;
    pick_labels(c);
    c->scratch.len = 0;
    pd_write_raw(w, &c->scratch, o->own.ptr, o->own.len);
    for (uint32_t key = 0; key < o->keys.len && !w->status; key++) {
        uint32_t index = attribute_of(c, o->picks[key].first);
        pd_write_element(w, &c->scratch, index);
    }
    if (c->scratch.len)
        pd_write_part(w, &o->set_bytes, PD_OTLP_SAMPLE_ATTRIBUTE_INDICES, &c->scratch);
    pd_write_varint(w, &o->set_bytes, PD_OTLP_SAMPLE_LINK_INDEX, link);
    set.len = o->set_bytes.len - set.off;
    return set;
}

pd_bytes pd_otlp_labels(pd_compact *c)
{
    pd_compact_otlp *o = &c->otlp;
    pd_writer *w = &c->writer;
    bool is_new;
    if (!c->labels.len && !o->own.len)
        return (pd_bytes){0};
    if (!w->status)
        w->status = PD_GROW(w->mem, o->set_list, o->sets.len + 1, w->err);
    pd_key own = o->own.len ? pd_key_of_bytes(o->own.ptr, o->own.len, 0) : (pd_key){0, 0};
    pd_key content = pd_key_of_bytes(c->labels.ptr, c->labels.len, own.lo);
    uint32_t number = pd_write_key(&c->writer, &o->sets, content, &is_new);
    if (is_new)
        o->set_list[number] = make_set(c);
    o->own.len = 0;
    if (!pd_write_room(w, &o->set_bytes, PD_PIECE))
        return (pd_bytes){0};
    return (pd_bytes){o->set_bytes.ptr + o->set_list[number].off, o->set_list[number].len};
}

const char *const pd_otlp_mapping_has[PD_OTLP_MAPPING_FLAGS] = {
    "pprof.mapping.has_functions", "pprof.mapping.has_filenames", "pprof.mapping.has_line_numbers",
    "pprof.mapping.has_inline_frames"};

/* ---- build ids ------------------------------------------------------------------------------- */

static bool is_base64url(uint8_t byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '-' || byte == '_';
}

/* A build id of Go has parts of base64url with slashes between them. Every other build id has the name
 * of GNU's: what pprof has in this place is nearly always one. */
const char *pd_otlp_build_id_key(pd_bytes build_id)
{
    bool was_slash = true;
    size_t slashes = 0;
    for (size_t i = 0; i < build_id.len; i++) {
        bool is_slash = build_id.ptr[i] == '/';
        if (is_slash ? was_slash : !is_base64url(build_id.ptr[i]))
            return "process.executable.build_id.gnu";
        slashes += is_slash;
        was_slash = is_slash;
    }
    return slashes && !was_slash ? "process.executable.build_id.go"
                                 : "process.executable.build_id.gnu";
}

/* ---- the resource ------------------------------------------------------------------------------ */

/* The first or the last attribute with the key of this one. */
static size_t same_key(const pprofdelta_attribute *attributes, size_t len, size_t index, bool last)
{
    size_t found = len;
    for (size_t i = 0; i < len && (last || found == len); i++)
        if (pd_bytes_equal(pd_bytes_of(attributes[i].key), pd_bytes_of(attributes[index].key)))
            found = i;
    return found;
}

static pd_bytes repaired(pd_writer *w, const char *text, pd_buffer *buffer)
{
    if (!w->status)
        w->status = pd_utf8_repair(pd_bytes_of(text), w->mem, buffer, w->err);
    return w->status ? (pd_bytes){0} : (pd_bytes){buffer->ptr, buffer->len};
}

pprofdelta_status pd_otlp_resource(pprofdelta_format format, const pprofdelta_attribute *attributes,
                                   size_t len, pd_mem *mem, pd_buffer *out, pprofdelta_error *err)
{
    pd_writer w = {.mem = mem, .err = err};
    pd_buffer key = {0}, text = {0}, value = {0}, message = {0};
    pd_buffer *const buffers[] = {&key, &text, &value, &message};
    for (size_t i = len; i-- && format == PPROFDELTA_TABLES && !out->len;)
        if (!strcmp(attributes[i].key, "target"))
            pd_write_raw(&w, out, pd_bytes_of(attributes[i].value).ptr,
                         pd_bytes_of(attributes[i].value).len);
    for (size_t i = 0; i < len && !w.status && format == PPROFDELTA_OTLP; i++) {
        if (same_key(attributes, len, i, false) != i)
            continue;
        const char *counts = attributes[same_key(attributes, len, i, true)].value;
        pd_otlp_put_text(&w, &value, repaired(&w, counts, &text));
        pd_otlp_put_pair(&w, out, PD_OTLP_RESOURCE_ATTRIBUTES,
                         repaired(&w, attributes[i].key, &key), &value, &message);
    }
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        pd_buffer_release(mem, buffers[i]);
    return w.status;
}
