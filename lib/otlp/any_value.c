#include "otlp/any_value.h"

#include "otlp/request.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- rows ------------------------------------------------------------------------------------ */

#define STRING_INDEX (PD_REQUEST_INDEX + PD_OTLP_DICTIONARY_STRING_TABLE)

typedef union any_value {
    pd_bytes text;
    uint64_t number;
} any_value;

const pd_rows pd_any_value_rows =
    PD_ROWS(NULL, [1] = {.kind = PD_REQUEST_TEXT}, [2] = {.kind = PD_FIELD_NUMBER},
            [3] = {.kind = PD_FIELD_NUMBER}, [4] = {.kind = PD_FIELD_FIXED64},
            [5] = {.kind = PD_FIELD_PART}, [6] = {.kind = PD_FIELD_PART},
            [7] = {.kind = PD_FIELD_PART}, [8] = {.kind = STRING_INDEX});

static const pd_rows array_rows = PD_ROWS(NULL, [1] = {.kind = PD_FIELD_PART});

typedef struct key_value {
    pd_bytes key;
    uint64_t index;
} key_value;

const pd_rows pd_key_value_rows = PD_ROWS(
    NULL, [1] = {.kind = PD_REQUEST_TEXT, .at = offsetof(key_value, key)},
    [2] = {.kind = PD_FIELD_PART}, [3] = {.kind = STRING_INDEX, .at = offsetof(key_value, index)});

/* ---- the walk ----------------------------------------------------------------------------- */

static size_t len_of(const pd_buffer *out)
{
    return out ? out->len : 0;
}

/* Makes a field of what is in *out, if there is one, from this offset on. */
static void wrap_copy(pd_request *r, pd_buffer *out, size_t from, uint32_t number)
{
    if (out)
        pd_write_wrap(&r->parse.writer, out, from, number);
}

static void copy_text(pd_request *r, pd_buffer *out, uint32_t number, pd_bytes text)
{
    pd_request_spend(r, text.len);
    if (!r->parse.status)
        pd_write_bytes(&r->parse.writer, out, number, text);
}

static void copy_field(pd_request *r, pd_buffer *out, const pd_field *f)
{
    if (f->number == PD_OTLP_ANY_VALUE_STRING_VALUE_STRINDEX)
        copy_text(r, out, PD_OTLP_ANY_VALUE_STRING_VALUE, pd_request_string(r, f->value));
    else if (f->wire == PD_WIRE_BYTES)
        copy_text(r, out, f->number, pd_reader_bytes(f->body));
    else if (f->wire == PD_WIRE_FIXED64)
        pd_write_fixed64(&r->parse.writer, out, f->number, f->value);
    else
        pd_write_varint_always(&r->parse.writer, out, f->number, f->value);
}

/* A KeyValue. The keys are compared by the hash of their text. */
static void check_key_value(pd_request *r, const char *name, const pd_field *field, pd_keymap *keys)
{
    const pd_rows rows = pd_rows_named(&pd_key_value_rows, name);
    const pd_dictionary *d = &r->dictionary;
    key_value pair = {{NULL, 0}, 0};
    pd_message message = {pd_parse_body(&r->parse, name, field), &rows, &pair};
    pd_field f;
    for (size_t values = 0; pd_message_next(&r->parse, &message, &f); values++) {
        if (values)
            PD_REQUEST_FAIL(r, name, f.start, "an attribute with two values");
        pd_any_value_walk(r, name, pd_parse_body(&r->parse, name, &f), NULL);
    }
    if (pair.index && pair.key.len)
        PD_REQUEST_FAIL(r, name, field->start, "an attribute with a key and the index of a key");
    if (r->parse.status)
        return;
    bool is_new;
    pd_write_key(&r->parse.writer, keys,
                 pair.index ? d->numbers.keys[d->strings[pair.index]] /* may be long */
                            : pd_key_of_bytes(pair.key.ptr, pair.key.len, 0),
                 &is_new);
    if (!is_new)
        PD_REQUEST_FAIL(r, name, field->start, "the key is there twice");
}

void pd_key_value_copy(pd_request *r, pd_buffer *out, const pd_field *field)
{
    pd_key_value pair = pd_key_value_of(r, field->body);
    size_t from = out->len;
    copy_text(r, out, PD_OTLP_KEY_VALUE_KEY, pair.key);
    size_t from_value = out->len;
    if (pair.value.len)
        pd_any_value_walk(r, NULL, pd_request_reader(pair.value), out);
    wrap_copy(r, out, from_value, PD_OTLP_KEY_VALUE_VALUE);
    wrap_copy(r, out, from, field->number);
}

void pd_key_values_walk(pd_request *r, const char *name, pd_reader message, uint32_t number,
                        pd_buffer *out)
{
    pd_keymap keys = {0};
    pd_field f;
    while (!r->parse.status && pd_reader_find(&message, number, &f))
        if (out)
            pd_key_value_copy(r, out, &f);
        else
            check_key_value(r, name, &f, &keys);
    pd_parse_end(&r->parse, name, &message);
    r->facts.listed += r->depth ? 0 : keys.len;
    pd_keymap_trim(&keys, r->parse.mem, 0);
}

static void walk_array(pd_request *r, const char *name, pd_reader array, pd_buffer *out)
{
    const pd_rows rows = pd_rows_named(&array_rows, name);
    pd_message message = {array, &rows, NULL};
    pd_field f;
    while (pd_message_next(&r->parse, &message, &f)) {
        size_t from = len_of(out);
        pd_any_value_walk(r, name, pd_parse_body(&r->parse, name, &f), out);
        wrap_copy(r, out, from, PD_OTLP_ARRAY_VALUE_VALUES);
    }
}

pd_bytes pd_any_value_walk(pd_request *r, const char *name, pd_reader value, pd_buffer *out)
{
    const pd_rows rows = pd_rows_named(&pd_any_value_rows, name);
    any_value read;
    pd_bytes known = {NULL, 0};
    size_t from = len_of(out);
    pd_field f = {.number = 0};
    if (++r->depth > PD_OTLP_MAX_DEPTH)
        PD_REQUEST_FAIL(r, name, value.at, "values in values, more than %d deep",
                        PD_OTLP_MAX_DEPTH);
    while (!r->parse.status && pd_reader_next(&value, &f)) {
        bool is_known = pd_row_of(&rows, f.number)->kind != PD_FIELD_UNKNOWN;
        if (is_known && known.ptr)
            PD_REQUEST_FAIL(r, name, f.start, "an attribute with two values");
        if (is_known)
            known = (pd_bytes){f.start, (size_t)(value.end - f.start)};
        pd_reader list = f.body;
        if (!out && !pd_field_read(&r->parse, &rows, &f, &read)) /* what is copied was checked */
            list = pd_parse_body(&r->parse, name, &f);
        bool is_array = f.number == PD_OTLP_ANY_VALUE_ARRAY_VALUE;
        if (is_array)
            walk_array(r, name, list, out);
        else if (f.number == PD_OTLP_ANY_VALUE_KVLIST_VALUE)
            pd_key_values_walk(r, name, list, PD_OTLP_KEY_VALUE_LIST_VALUES, out);
        else if (is_known && out)
            copy_field(r, out, &f);
        if (is_array || f.number == PD_OTLP_ANY_VALUE_KVLIST_VALUE)
            wrap_copy(r, out, from, f.number);
    }
    pd_parse_end(&r->parse, name, &value);
    r->depth--;
    return known;
}

/* ---- reading what was checked --------------------------------------------------------------- */

enum { NOTHING = 0 }; /* no field has this number */

static bool find_value(pd_bytes value, pd_field *f)
{
    pd_reader reader = pd_request_reader(value);
    while (pd_reader_next(&reader, f))
        if (f->number <= PD_OTLP_ANY_VALUE_STRING_VALUE_STRINDEX)
            return true;
    return false;
}

pd_key_value pd_key_value_of(pd_request *r, pd_reader body)
{
    pd_key_value out = {{NULL, 0}, {NULL, 0}};
    pd_field f;
    while (pd_reader_next(&body, &f)) {
        if (f.number == PD_OTLP_KEY_VALUE_KEY)
            out.key = pd_reader_bytes(f.body);
        else if (f.number == PD_OTLP_KEY_VALUE_KEY_STRINDEX && f.value)
            out.key = pd_request_string(r, f.value);
        else if (f.number == PD_OTLP_KEY_VALUE_VALUE)
            out.value = pd_reader_bytes(f.body);
    }
    return out;
}

pd_bytes pd_any_value_text(const pd_request *r, pd_bytes value)
{
    pd_field f;
    uint32_t number = find_value(value, &f) ? f.number : NOTHING;
    return number == PD_OTLP_ANY_VALUE_STRING_VALUE            ? pd_reader_bytes(f.body)
           : number == PD_OTLP_ANY_VALUE_STRING_VALUE_STRINDEX ? pd_request_string(r, f.value)
                                                               : (pd_bytes){NULL, 0};
}

bool pd_any_value_is_label(const pd_request *r, pd_bytes value, bool has_unit)
{
    pd_field f;
    if (!find_value(value, &f))
        return false;
    return f.number == PD_OTLP_ANY_VALUE_INT_VALUE ||
           (!has_unit && pd_any_value_text(r, value).len);
}

bool pd_any_value_is_true(pd_bytes value)
{
    pd_field f;
    return find_value(value, &f) && f.number == PD_OTLP_ANY_VALUE_BOOL_VALUE && f.value;
}

pd_reader pd_any_value_members(pd_bytes value)
{
    pd_field f;
    return find_value(value, &f) && f.number == PD_OTLP_ANY_VALUE_KVLIST_VALUE
               ? f.body
               : pd_request_reader((pd_bytes){NULL, 0});
}

void pd_any_value_int(pd_bytes value, uint64_t *out)
{
    pd_field f;
    if (find_value(value, &f) && f.number == PD_OTLP_ANY_VALUE_INT_VALUE)
        *out = f.value;
}

size_t pd_any_value_ints(pd_bytes value, int64_t *out, size_t room)
{
    pd_field array, f, element;
    size_t len = 0;
    if (!find_value(value, &array) || array.number != PD_OTLP_ANY_VALUE_ARRAY_VALUE)
        return 0;
    while (pd_reader_find(&array.body, PD_OTLP_ARRAY_VALUE_VALUES, &f)) {
        bool is_int = find_value(pd_reader_bytes(f.body), &element) &&
                      element.number == PD_OTLP_ANY_VALUE_INT_VALUE;
        if (len < room)
            out[len] = is_int ? (int64_t)element.value : -1;
        len++;
    }
    return len;
}

/* The number of the string in a value that is one: in its field, or in string_table. */
static uint32_t string_in(pd_request *r, const pd_field *f)
{
    if (f->number == PD_OTLP_ANY_VALUE_STRING_VALUE)
        return pd_request_number(r, pd_reader_bytes(f->body));
    return r->dictionary.strings[f->value];
}

void pd_any_value_strings(pd_request *r, pd_bytes value,
                          void (*take)(pd_request *r, void *cookie, uint32_t string), void *cookie)
{
    pd_field f, element;
    if (!find_value(value, &f))
        return;
    if (f.number == PD_OTLP_ANY_VALUE_STRING_VALUE ||
        f.number == PD_OTLP_ANY_VALUE_STRING_VALUE_STRINDEX)
        take(r, cookie, string_in(r, &f));
    if (f.number != PD_OTLP_ANY_VALUE_ARRAY_VALUE)
        return;
    while (!r->parse.status && pd_reader_find(&f.body, PD_OTLP_ARRAY_VALUE_VALUES, &element))
        pd_any_value_strings(r, pd_reader_bytes(element.body), take, cookie);
}

/* ---- labels ------------------------------------------------------------------------------- */

void pd_request_label(pd_request *r, uint64_t key, uint64_t str, int64_t num, uint64_t num_unit)
{
    r->labels_made++;
    size_t from = r->part.len;
    PD_WRITE_VARINTS(&r->parse.writer, &r->part, PD_LABEL_KEY, key, str, (uint64_t)num, num_unit);
    pd_write_wrap(&r->parse.writer, &r->part, from, PD_SAMPLE_LABEL);
}

/* The shortest decimal that is read back as the same double. The point does not depend on the
 * locale. */
static uint32_t number_of_double(pd_request *r, uint64_t bits)
{
    enum { FEWEST = 15, MOST = 17 };
    char text[40];
    double value;
    memcpy(&value, &bits, sizeof value);
    for (int digits = FEWEST; digits <= MOST; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    for (char *p = text; *p; p++)
        if (*p == ',')
            *p = '.';
    return pd_request_number(r, pd_bytes_of(text));
}

uint32_t pd_request_hex(pd_request *r, pd_bytes bytes)
{
    r->text.len = 0;
    uint8_t *p = pd_write_room(&r->parse.writer, &r->text, 2 * bytes.len + 1);
    if (!p)
        return 0;
    pd_write_done(&r->text, p + pd_bytes_hex(bytes, (char *)p));
    return pd_request_number(r, pd_buffer_bytes(&r->text));
}

static bool find_label(pd_request *r, pd_reader list, uint64_t *str, int64_t *num, uint64_t *unit);

void pd_any_value_label(pd_request *r, pd_bytes key, uint64_t key_number, uint64_t unit,
                        pd_bytes value)
{
    pd_field f, element;
    int64_t num = 0;
    uint64_t str = 0, num_unit = 0;
    if (r->parse.status)
        return;
    switch (find_value(value, &f) ? f.number : NOTHING) {
    case NOTHING:
        break;
    case PD_OTLP_ANY_VALUE_BOOL_VALUE:
        str = pd_request_number(r, pd_bytes_of(f.value ? "true" : "false"));
        break;
    case PD_OTLP_ANY_VALUE_INT_VALUE:
        num = (int64_t)f.value;
        num_unit = unit;
        break;
    case PD_OTLP_ANY_VALUE_DOUBLE_VALUE:
        str = number_of_double(r, f.value);
        break;
    case PD_OTLP_ANY_VALUE_BYTES_VALUE:
        str = pd_request_hex(r, pd_reader_bytes(f.body));
        break;
    case PD_OTLP_ANY_VALUE_ARRAY_VALUE:
        while (!r->parse.status && pd_reader_find(&f.body, PD_OTLP_ARRAY_VALUE_VALUES, &element))
            pd_any_value_label(r, key, key_number, unit, pd_reader_bytes(element.body));
        return;
    case PD_OTLP_ANY_VALUE_KVLIST_VALUE:
        if (find_label(r, f.body, &str, &num, &num_unit))
            break;
        pd_key_values_label(r, key, unit, f.body, PD_OTLP_KEY_VALUE_LIST_VALUES);
        return;
    default:
        str = string_in(r, &f);
    }
    pd_request_label(r, key_number, str, num, num_unit);
}

/* Is the list what stands for one label: "value", an int, or a string if the unit is empty, and "unit", a string? */
static bool find_label(pd_request *r, pd_reader list, uint64_t *str, int64_t *num, uint64_t *unit)
{
    size_t len = 0, values = 0, units = 0;
    pd_field f, member;
    while (pd_reader_find(&list, PD_OTLP_KEY_VALUE_LIST_VALUES, &f)) {
        pd_key_value one = pd_key_value_of(r, f.body);
        len++;
        if (!find_value(one.value, &member))
            continue;
        bool is_text = member.number == PD_OTLP_ANY_VALUE_STRING_VALUE,
             is_number = member.number == PD_OTLP_ANY_VALUE_INT_VALUE;
        if (pd_bytes_are(one.key, "value") && (is_text || is_number)) {
            *str = is_text ? pd_request_number(r, pd_reader_bytes(member.body)) : 0;
            *num = is_text ? 0 : (int64_t)member.value;
            values++;
        } else if (pd_bytes_are(one.key, "unit") && is_text) {
            *unit = pd_request_number(r, pd_reader_bytes(member.body));
            units++;
        }
    }
    return len == 2 && values == 1 && units == 1 && !(*str && *unit);
}

void pd_key_values_label(pd_request *r, pd_bytes prefix, uint64_t unit, pd_reader message,
                         uint32_t number)
{
    pd_buffer name = {NULL, 0, 0};
    pd_field f;
    pd_request_spend(r, prefix.len);
    pd_write_raw(&r->parse.writer, &name, prefix);
    pd_write_raw(&r->parse.writer, &name, pd_bytes_of("."));
    while (!r->parse.status && pd_reader_find(&message, number, &f)) {
        pd_key_value member = pd_key_value_of(r, f.body);
        name.len = prefix.len + 1;
        pd_write_raw(&r->parse.writer, &name, member.key);
        pd_request_spend(r, name.len);
        pd_bytes whole = {name.ptr, name.len};
        pd_any_value_label(r, whole, pd_request_number(r, whole), unit, member.value);
    }
    pd_buffer_release(r->parse.mem, &name);
}
