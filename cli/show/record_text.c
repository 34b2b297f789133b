/* Prints messages by a format: see shown.h. */
#include "show/shown.h"

#include "output_file.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- OTLP --------------------------------------------------------------------------------------
 *
 * The library has checked the request, so every index in it leads somewhere. */

static cli_string bytes_string(ProtobufCBinaryData bytes)
{
    return bytes.len ? (cli_string){(const char *)bytes.data, bytes.len} : cli_string_of("");
}

static cli_string dictionary_string(const cli_profile *profile, int32_t index)
{
    const Pd__Otlp__Dictionary *dictionary = profile->request->dictionary;
    if (index <= 0 || !dictionary || (size_t)index >= dictionary->n_string_table)
        return cli_string_of("");
    return bytes_string(dictionary->string_table[index]);
}

static cli_string key_of(const cli_profile *profile, const Pd__Otlp__KeyValue *attribute)
{
    return attribute->key_strindex ? dictionary_string(profile, attribute->key_strindex)
                                   : bytes_string(attribute->key);
}

static void put_hex(ProtobufCBinaryData bytes)
{
    for (size_t i = 0; i < bytes.len; i++)
        printf("%02x", bytes.data[i]);
}

static cli_text_form form; /* of the strings of the record that is printed */

/* ---- slots ----------------------------------------------------------------------------------- */

/* A field of a message: where its value is, or NULL if the message within is not there. */
typedef struct field {
    const ProtobufCFieldDescriptor *row;
    const ProtobufCMessage *message;
    const void *at;
} field;

/* A part of the format, between "<" and ">". */
typedef struct slot {
    char kind; /* a letter or sign of the list in the header; 0: a number */
    bool is_line;
    char name[64], between[4];
} slot;

/* Reads the slot behind "<". Returns what follows ">". */
static const char *read_slot(const char *text, slot *s)
{
    *s = (slot){.is_line = *text == '='};
    text += s->is_line;
    if (strchr("*,[@?!]", *text))
        s->kind = *text++;
    else if (text[1] == ':')
        s->kind = *text, text += 2;
    size_t len = strcspn(text, "|>");
    memcpy(s->name, text, len);
    text += len + (text[len] == '|');
    len = strcspn(text, ">");
    memcpy(s->between, text, len);
    return text + len + 1;
}

/* ---- fields ---------------------------------------------------------------------------------- */

/* Finds a field, also of a message within: "period_type.unit". */
static field find_field(const ProtobufCMessage *message, const char *name)
{
    char first[sizeof((slot *)NULL)->name] = "";
    size_t len = strcspn(name, ".,");
    memcpy(first, name, len);
    field f = {.message = message};
    f.row = protobuf_c_message_descriptor_get_field_by_name(message->descriptor, first);
    f.at = (const char *)message + f.row->offset;
    if (name[len] != '.')
        return f;
    const ProtobufCMessage *inner = *(ProtobufCMessage *const *)f.at;
    return inner ? find_field(inner, name + len + 1) : (field){0};
}

static ProtobufCBinaryData bytes_at(field f)
{
    return f.at ? *(const ProtobufCBinaryData *)f.at : (ProtobufCBinaryData){0};
}

/* The number of elements of a repeated field, or of bytes. */
static size_t len_of(field f)
{
    if (!f.at)
        return 0;
    if (f.row->label != PROTOBUF_C_LABEL_REPEATED)
        return bytes_at(f).len;
    return *(const size_t *)((const char *)f.message + f.row->quantifier_offset);
}

/* The bytes of a value, or of an element. */
static size_t size_of(field f)
{
    if (!f.row || f.row->type == PROTOBUF_C_TYPE_BYTES)
        return sizeof(ProtobufCBinaryData);
    bool is_short = f.row->type == PROTOBUF_C_TYPE_INT32 || f.row->type == PROTOBUF_C_TYPE_UINT32 ||
                    f.row->type == PROTOBUF_C_TYPE_BOOL;
    return is_short ? sizeof(int32_t) : sizeof(int64_t);
}

/* An element of a repeated field. */
static field element_of(field f, size_t index)
{
    f.at = *(const char *const *)f.at + index * size_of(f);
    return f;
}

/* The bits of a number. */
static int64_t number_at(field f)
{
    int64_t number = 0;
    if (f.at && size_of(f) == sizeof(int32_t))
        number = *(const int32_t *)f.at;
    else if (f.at)
        memcpy(&number, f.at, sizeof number);
    return f.at && f.row->type == PROTOBUF_C_TYPE_UINT32 ? (int64_t)(uint32_t)number : number;
}

static bool is_set(const ProtobufCMessage *message, const char *names)
{
    field f = find_field(message, names);
    bool has_len =
        f.at && (f.row->label == PROTOBUF_C_LABEL_REPEATED || f.row->type == PROTOBUF_C_TYPE_BYTES);
    const char *next = strchr(names, ',');
    return (has_len ? len_of(f) != 0 : number_at(f) != 0) || (next && is_set(message, next + 1));
}

/* ---- printing -------------------------------------------------------------------------------- */

static void put_number(field f)
{
    bool is_unsigned =
        f.at && (f.row->type == PROTOBUF_C_TYPE_UINT64 || f.row->type == PROTOBUF_C_TYPE_FIXED64);
    if (is_unsigned)
        printf("%" PRIu64, (uint64_t)number_at(f));
    else
        printf("%" PRId64, number_at(f));
}

/* A number of JSON, or its name in quotes where JSON has none. */
static void put_double(field f)
{
    int64_t bits = number_at(f);
    double value;
    memcpy(&value, &bits, sizeof value);
    if (isfinite(value))
        printf("%.17g", value);
    else
        printf("\"%s\"", isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
}

static void put_numbers(field f, char kind)
{
    size_t len = len_of(f), size = size_of(f);
    const char *numbers = f.at ? *(const char *const *)f.at : NULL;
    for (size_t i = 0; i < len; i++) {
        fputs(kind == '*' ? " " : i ? ", " : "", stdout);
        put_number((field){f.row, f.message, numbers + i * size});
    }
}

static cli_string string_at(const cli_profile *profile, const ProtobufCMessage *message, field f)
{
    if (message->descriptor == &pd__otlp__key_value__descriptor)
        return key_of(profile, (const Pd__Otlp__KeyValue *)message);
    if (f.at && f.row->type == PROTOBUF_C_TYPE_BYTES)
        return bytes_string(bytes_at(f));
    bool is_pprof = !strcmp(message->descriptor->package_name, "pd.view");
    return is_pprof ? cli_profile_string(profile, number_at(f))
                    : dictionary_string(profile, (int32_t)number_at(f));
}

static void put_function(const cli_profile *profile, uint64_t id)
{
    const Pd__View__Function *function = cli_profile_function(profile, id);
    cli_string_put(stdout, cli_profile_string(profile, function ? function->name : 0), form);
}

static const char *put_record(const cli_profile *profile, const ProtobufCMessage *message,
                              size_t index, const char *format);

/* A value of OTLP as JSON. */
static void put_value(const cli_profile *profile, const Pd__Otlp__AnyValue *value)
{
    static const char *const forms[] = {
        [PD__OTLP__ANY_VALUE__VALUE__NOT_SET] = "null",
        [PD__OTLP__ANY_VALUE__VALUE_STRING_VALUE] = "<j:string_value>",
        [PD__OTLP__ANY_VALUE__VALUE_STRING_VALUE_STRINDEX] = "<j:string_value_strindex>",
        [PD__OTLP__ANY_VALUE__VALUE_BOOL_VALUE] = "<?bool_value|>true<]><!bool_value|>false<]>",
        [PD__OTLP__ANY_VALUE__VALUE_INT_VALUE] = "<int_value>",
        [PD__OTLP__ANY_VALUE__VALUE_DOUBLE_VALUE] = "<d:double_value>",
        [PD__OTLP__ANY_VALUE__VALUE_ARRAY_VALUE] = "[<[array_value.values|, ><.><]>]",
        [PD__OTLP__ANY_VALUE__VALUE_KVLIST_VALUE] =
            "{<[kvlist_value.values|, ><j:key>: <v:value><]>}",
        [PD__OTLP__ANY_VALUE__VALUE_BYTES_VALUE] = "\"<h:bytes_value>\"",
    };
    static const Pd__Otlp__AnyValue none = PD__OTLP__ANY_VALUE__INIT;
    value = value ? value : &none;
    put_record(profile, &value->base, 0, forms[value->value_case]);
}

static void put_slot(const cli_profile *profile, const ProtobufCMessage *message, size_t index,
                     const slot *s)
{
    field f = find_field(message, s->name);
    if (f.at && f.row->label == PROTOBUF_C_LABEL_REPEATED && !strchr("*,n", s->kind))
        f = element_of(f, index);
    if (s->is_line)
        printf(form == CLI_TEXT_JSON ? "\"%s\": " : "%s: ", s->name);
    if (s->kind == 'q' || s->kind == 'j')
        cli_string_put(stdout, string_at(profile, message, f),
                       s->kind == 'q' ? form : CLI_TEXT_JSON);
    else if (s->kind == 'x')
        printf("0x%" PRIx64, (uint64_t)number_at(f));
    else if (s->kind == 'f')
        put_function(profile, (uint64_t)number_at(f));
    else if (s->kind == 'h')
        put_hex(bytes_at(f));
    else if (s->kind == 'd')
        put_double(f);
    else if (s->kind == 'v')
        put_value(profile, f.at ? *(const Pd__Otlp__AnyValue *const *)f.at : NULL);
    else if (s->kind == 'n')
        printf("%zu", len_of(f));
    else if (s->kind == '*' || s->kind == ',')
        put_numbers(f, s->kind);
    else
        put_number(f);
    if (s->is_line)
        fputs(form == CLI_TEXT_JSON ? ",\n" : "\n", stdout);
}

/* Skips a part of the format up to its "<]>". Returns what follows that. */
static const char *skip_part(const char *format)
{
    size_t depth = 1;
    while (depth) {
        slot s;
        format = read_slot(strchr(format, '<') + 1, &s);
        depth += s.kind && strchr("[@?!", s.kind);
        depth -= s.kind == ']';
    }
    return format;
}

static void put_list(const cli_profile *profile, const ProtobufCMessage *message, const slot *s,
                     const char *format)
{
    field f = find_field(message, s->name);
    size_t len = len_of(f);
    for (size_t i = 0; i < len && !cli_output_is_over(); i++) {
        const ProtobufCMessage *one = f.message;
        if (s->kind == '@')
            one = &profile->request->dictionary->attribute_table[(*(const int32_t *const *)f.at)[i]]
                       ->base;
        else if (f.row->type == PROTOBUF_C_TYPE_MESSAGE)
            one = (*(ProtobufCMessage *const *const *)f.at)[i];
        fputs(i ? s->between : "", stdout);
        put_record(profile, one, i, format);
    }
}

/* Prints up to the end of the format, or of the part that it is in. Returns what follows. */
static const char *put_record(const cli_profile *profile, const ProtobufCMessage *message,
                              size_t index, const char *format)
{
    for (;;) {
        slot s;
        size_t len = strcspn(format, "<");
        fwrite(format, 1, len, stdout);
        format += len;
        if (!*format)
            return format;
        format = read_slot(format + 1, &s);
        if (s.kind == ']')
            return format;
        if (s.kind == '[' || s.kind == '@') {
            put_list(profile, message, &s, format);
            format = skip_part(format);
        } else if (s.kind == '?' || s.kind == '!') {
            bool is_printed = is_set(message, s.name) == (s.kind == '?');
            format = is_printed ? put_record(profile, message, index, format) : skip_part(format);
        } else if (*s.name == '#') {
            printf("%zu", index);
        } else if (*s.name == '.') {
            put_value(profile, (const Pd__Otlp__AnyValue *)message);
        } else {
            put_slot(profile, message, index, &s);
        }
    }
}

void cli_record_put(const cli_profile *profile, const ProtobufCMessage *message,
                    cli_text_form of_strings, const char *format)
{
    form = of_strings;
    put_record(profile, message, 0, format);
}
