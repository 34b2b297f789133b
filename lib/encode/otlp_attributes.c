/* Attributes of OTLP: a key, a value and a unit each; interned by these. */
#include "encode/otlp.h"

#include "base/utf8.h"

#define NONE UINT32_MAX

/* ---- values ------------------------------------------------------------------------------------- */

void pd_otlp_put_text(pd_writer *w, pd_buffer *buffer, pd_bytes text)
{
    pd_write_bytes(w, buffer, PD_OTLP_ANY_VALUE_STRING_VALUE, text);
}

void pd_otlp_put_number(pd_writer *w, pd_buffer *buffer, int64_t number)
{
    pd_write_varint_always(w, buffer, PD_OTLP_ANY_VALUE_INT_VALUE, (uint64_t)number);
}

pd_otlp_pair pd_otlp_pair_begin(pd_writer *w, pd_buffer *buffer, pd_bytes key)
{
    size_t from = buffer->len;
    pd_write_bytes(w, buffer, PD_OTLP_KEY_VALUE_KEY, key);
    return (pd_otlp_pair){from, buffer->len};
}

void pd_otlp_pair_end(pd_writer *w, pd_buffer *buffer, pd_otlp_pair pair, uint32_t number)
{
    pd_write_wrap(w, buffer, pair.value, PD_OTLP_KEY_VALUE_VALUE);
    pd_write_wrap(w, buffer, pair.from, number);
}

void pd_otlp_put_pair(pd_writer *w, pd_buffer *buffer, uint32_t number, pd_bytes key,
                      pd_bytes value)
{
    pd_otlp_pair pair = pd_otlp_pair_begin(w, buffer, key);
    pd_otlp_put_text(w, buffer, value);
    pd_otlp_pair_end(w, buffer, pair, number);
}

/* ---- attributes --------------------------------------------------------------------------------- */

pd_otlp_entry pd_otlp_attribute_begin(pd_otlp *o, uint32_t key)
{
    pd_otlp_entry e = pd_otlp_entry_begin(o, PD_OTLP_DICTIONARY_ATTRIBUTE_TABLE);
    pd_write_varint(&o->writer, e.out, PD_OTLP_ATTRIBUTE_KEY_STRINDEX, key);
    e.value = e.out->len;
    return e;
}

uint32_t pd_otlp_attribute_end(pd_otlp *o, const pd_otlp_entry *e, uint32_t unit)
{
    pd_write_wrap(&o->writer, e->out, e->value, PD_OTLP_ATTRIBUTE_VALUE);
    pd_write_varint(&o->writer, e->out, PD_OTLP_ATTRIBUTE_UNIT_STRINDEX, unit);
    return pd_otlp_entry_end(o, e);
}

uint32_t pd_otlp_true(pd_otlp *o, const char *key)
{
    pd_otlp_entry a = pd_otlp_attribute_begin(o, pd_otlp_literal(o, key));
    pd_write_varint_always(&o->writer, a.out, PD_OTLP_ANY_VALUE_BOOL_VALUE, 1);
    return pd_otlp_attribute_end(o, &a, 0);
}

uint32_t pd_otlp_text_attribute(pd_otlp *o, const char *key, uint32_t string)
{
    pd_otlp_entry a = pd_otlp_attribute_begin(o, pd_otlp_literal(o, key));
    pd_otlp_put_text(&o->writer, a.out, pd_otlp_text(o, string));
    return pd_otlp_attribute_end(o, &a, 0);
}

static uint32_t owned_attribute(pd_otlp *o, uint32_t attribute)
{
    const pd_model_attribute *owned = &o->model->attributes[attribute - 1];
    uint32_t key = pd_otlp_string(o, owned->key), unit = pd_otlp_string(o, owned->unit);
    pd_otlp_entry a = pd_otlp_attribute_begin(o, key);
    if (owned->len)
        pd_write_raw(&o->writer, a.out,
                     (pd_bytes){o->model->attribute_values.ptr + owned->off, owned->len});
    else if (o->format != PPROFDELTA_OTLP_PLAIN) /* Parca refuses what has no value */
        pd_otlp_put_text(&o->writer, a.out, pd_bytes_of(""));
    return pd_otlp_attribute_end(o, &a, unit);
}

bool pd_otlp_put_owned(pd_otlp *o, pd_buffer *list, pd_model_owner kind, uint64_t owner)
{
    const pd_model_owned_list *owned = &o->model->owned[kind];
    size_t *at = &o->cursors[kind];
    bool has_some = false;
    if (kind == PD_OWNER_TYPE)
        *at = 0;
    for (; *at < owned->len && (owned->list[*at].owner <= owner || kind == PD_OWNER_TYPE); ++*at) {
        if (owned->list[*at].owner != owner)
            continue;
        pd_write_element(&o->writer, list, owned_attribute(o, owned->list[*at].attribute));
        has_some = true;
    }
    return has_some;
}

/* ---- labels ------------------------------------------------------------------------------------- */

/* Pyroscope refuses a profile with a label of another name. It leaves out one without. */
static bool is_label_name(pd_bytes name)
{
    for (size_t i = 0; i < name.len; i++) {
        uint8_t c = name.ptr[i], lower = c | 0x20;
        bool is_digit = c >= '0' && c <= '9';
        if (!(lower >= 'a' && lower <= 'z') && c != '_' && c != '.' && !(is_digit && i))
            return false;
    }
    return true;
}

/* A number whose unit is not that of its attribute, or a value of which a receiver must not make a label. */
static void put_listed(pd_otlp *o, pd_buffer *out, const pd_model_label *l)
{
    pd_writer *w = &o->writer;
    pd_otlp_pair value = pd_otlp_pair_begin(w, out, pd_bytes_of("value"));
    if (l->str)
        pd_otlp_put_text(w, out, pd_otlp_text(o, l->str));
    else
        pd_otlp_put_number(w, out, l->num);
    pd_otlp_pair_end(w, out, value, PD_OTLP_KEY_VALUE_LIST_VALUES);
    pd_otlp_put_pair(w, out, PD_OTLP_KEY_VALUE_LIST_VALUES, pd_bytes_of("unit"),
                     pd_otlp_text(o, l->str ? 0 : l->num_unit));
    pd_write_wrap(w, out, value.from, PD_OTLP_ANY_VALUE_KVLIST_VALUE);
}

static void put_label(pd_otlp *o, pd_buffer *out, const pd_model_label *l, uint32_t unit,
                      bool is_array)
{
    bool is_plain = l->num_unit == unit && (is_array || o->format == PPROFDELTA_OTLP_PLAIN);
    if (l->str)
        is_plain = o->format != PPROFDELTA_OTLP || is_label_name(pd_otlp_text(o, l->key));
    if (!is_plain)
        put_listed(o, out, l);
    else if (l->str)
        pd_otlp_put_text(&o->writer, out, pd_otlp_text(o, l->str));
    else
        pd_otlp_put_number(&o->writer, out, l->num);
}

/* The unit of the first number among the labels from this one on. */
static uint32_t unit_from(const pd_otlp *o, uint32_t label)
{
    for (; label != NONE; label = o->picks[label].next)
        if (!o->picks[label].label.str)
            return o->picks[label].label.num_unit;
    return 0;
}

/* The attribute of all labels with one key: a value, or an array in the order of the labels. */
static uint32_t attribute_of(pd_otlp *o, uint32_t first)
{
    pd_writer *w = &o->writer;
    uint32_t unit = unit_from(o, first), key = pd_otlp_string(o, o->picks[first].label.key);
    uint32_t unit_index = pd_otlp_string(o, unit);
    bool is_array = o->picks[first].next != NONE;
    pd_otlp_entry a = pd_otlp_attribute_begin(o, key);
    for (uint32_t at = first; at != NONE; at = o->picks[at].next) {
        size_t element = a.out->len;
        put_label(o, a.out, &o->picks[at].label, unit, is_array);
        if (is_array)
            pd_write_wrap(w, a.out, element, PD_OTLP_ARRAY_VALUE_VALUES);
    }
    if (is_array)
        pd_write_wrap(w, a.out, a.value, PD_OTLP_ANY_VALUE_ARRAY_VALUE);
    return pd_otlp_attribute_end(o, &a, unit_index);
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

/* Moves an id of a link from the labels to the link: the last label with this key. */
static void take_id(pd_otlp *o, pd_buffer *link, const char *name, uint32_t field, size_t size)
{
    enum { MOST = 16 };
    uint8_t id[MOST] = {0};
    size_t n = o->picks_len;
    pd_bytes key = pd_bytes_of(name);
    while (n && !pd_bytes_equal(pd_otlp_text(o, o->picks[n - 1].label.key), key))
        n--;
    if (!n || !read_hex(pd_otlp_text(o, o->picks[n - 1].label.str), id, size))
        return;
    pd_write_bytes(&o->writer, link, field, (pd_bytes){id, size});
    memmove(&o->picks[n - 1], &o->picks[n], (o->picks_len-- - n) * sizeof *o->picks);
}

/* The index of the link that the labels have, which are then without it. */
static uint32_t take_link(pd_otlp *o)
{
    enum { TRACE = 16, SPAN = 8 };
    pd_otlp_entry e = pd_otlp_entry_begin(o, PD_OTLP_DICTIONARY_LINK_TABLE);
    take_id(o, e.out, "trace_id", PD_OTLP_LINK_TRACE_ID, TRACE);
    take_id(o, e.out, "span_id", PD_OTLP_LINK_SPAN_ID, SPAN);
    return pd_otlp_entry_end(o, &e);
}

static void read_labels(pd_otlp *o, pd_bytes labels)
{
    pd_writer *w = &o->writer;
    pd_model_label label;
    for (o->picks_len = 0; pd_model_next_label(&labels, &label); o->picks_len++) {
        if (!w->status)
            w->status = PD_GROW(w->mem, o->picks, o->picks_len + 1, w->err);
        if (w->status)
            return;
        o->picks[o->picks_len].label = label;
    }
}

/* Chains the labels of the set by their keys. */
static void chain_labels(pd_otlp *o)
{
    pd_keymap_clear(&o->label_keys);
    for (uint32_t n = 0; n < o->picks_len; n++) {
        bool is_new;
        uint64_t word = pd_otlp_string(o, o->picks[n].label.key);
        uint32_t key =
            pd_write_key(&o->writer, &o->label_keys, pd_key_of_words(&word, 1, 0), &is_new);
        if (o->writer.status)
            return;
        o->picks[n].next = NONE;
        if (is_new)
            o->picks[key].first = n;
        else
            o->picks[o->picks[key].last].next = n;
        o->picks[key].last = n;
    }
}

/* Appends the fields of the set to set_bytes. It has the attributes in o->list, too, which is emptied. */
static void make_set(pd_otlp *o, pd_bytes labels)
{
    pd_writer *w = &o->writer;
    read_labels(o, labels);
    uint32_t link = o->attributes && !w->status ? take_link(o) : 0;
    chain_labels(o);
    for (uint32_t key = 0; key < o->label_keys.len && !w->status; key++)
        pd_write_element(w, &o->list, attribute_of(o, o->picks[key].first));
    if (o->list.len)
        pd_write_part(w, &o->set_bytes, PD_OTLP_SAMPLE_ATTRIBUTE_INDICES, &o->list);
    pd_write_varint(w, &o->set_bytes, PD_OTLP_SAMPLE_LINK_INDEX, link);
}

pd_bytes pd_otlp_labels(pd_otlp *o, uint64_t sample, pd_bytes labels)
{
    pd_writer *w = &o->writer;
    bool is_new, has_own = pd_otlp_put_owned(o, &o->list, PD_OWNER_SAMPLE, sample);
    if (!labels.len && !has_own)
        return (pd_bytes){0};
    if (!w->status)
        w->status = PD_GROW(w->mem, o->set_ends, o->sets.len + 1, w->err);
    pd_key own = has_own ? pd_key_of_bytes(o->list.ptr, o->list.len, 0) : (pd_key){0, 0};
    pd_key content = pd_key_of_bytes(labels.ptr, labels.len, own.lo);
    uint32_t number = pd_write_key(w, &o->sets, content, &is_new);
    if (is_new) {
        make_set(o, labels);
        o->set_ends[number] = o->set_bytes.len;
    }
    o->list.len = 0;
    if (w->status || !o->set_bytes.len)
        return (pd_bytes){0};
    size_t from = number ? o->set_ends[number - 1] : 0;
    return (pd_bytes){o->set_bytes.ptr + from, o->set_ends[number] - from};
}

/* ---- build ids ---------------------------------------------------------------------------------- */

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
