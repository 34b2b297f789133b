/* Attributes of an OTLP request and their values: see otlp_forms.h. */
#include "show/otlp_forms.h"

#include <inttypes.h>
#include <math.h>

cli_string cli_otlp_bytes(ProtobufCBinaryData bytes)
{
    return bytes.len ? (cli_string){(const char *)bytes.data, bytes.len} : cli_string_of("");
}

cli_string cli_otlp_string(const cli_profile *profile, int32_t index)
{
    const Pd__Otlp__Dictionary *dictionary = profile->request->dictionary;
    if (index <= 0 || !dictionary || (size_t)index >= dictionary->n_string_table)
        return cli_string_of("");
    return cli_otlp_bytes(dictionary->string_table[index]);
}

cli_string cli_otlp_key(const cli_profile *profile, const Pd__Otlp__KeyValue *attribute)
{
    return attribute->key_strindex ? cli_otlp_string(profile, attribute->key_strindex)
                                   : cli_otlp_bytes(attribute->key);
}

void cli_otlp_put_hex(ProtobufCBinaryData bytes)
{
    for (size_t i = 0; i < bytes.len; i++)
        printf("%02x", bytes.data[i]);
}

/* A number of JSON, or its name in quotes where JSON has none. */
static void put_double(double value)
{
    if (isfinite(value))
        printf("%.17g", value);
    else
        printf("\"%s\"", isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
}

static void put_array(const cli_profile *profile, const Pd__Otlp__ArrayValue *array)
{
    putchar('[');
    for (size_t i = 0; array && i < array->n_values; i++) {
        fputs(i ? ", " : "", stdout);
        cli_otlp_put_value(profile, array->values[i]);
    }
    putchar(']');
}

static void put_members(const cli_profile *profile, const Pd__Otlp__KeyValueList *list)
{
    putchar('{');
    for (size_t i = 0; list && i < list->n_values; i++) {
        fputs(i ? ", " : "", stdout);
        cli_string_put(stdout, cli_otlp_key(profile, list->values[i]), CLI_TEXT_JSON);
        fputs(": ", stdout);
        cli_otlp_put_value(profile, list->values[i]->value);
    }
    putchar('}');
}

void cli_otlp_put_value(const cli_profile *profile, const Pd__Otlp__AnyValue *value)
{
    switch (value ? value->value_case : PD__OTLP__ANY_VALUE__VALUE__NOT_SET) {
    case PD__OTLP__ANY_VALUE__VALUE_STRING_VALUE:
        cli_string_put(stdout, cli_otlp_bytes(value->string_value), CLI_TEXT_JSON);
        break;
    case PD__OTLP__ANY_VALUE__VALUE_STRING_VALUE_STRINDEX:
        cli_string_put(stdout, cli_otlp_string(profile, value->string_value_strindex),
                       CLI_TEXT_JSON);
        break;
    case PD__OTLP__ANY_VALUE__VALUE_BOOL_VALUE:
        fputs(value->bool_value ? "true" : "false", stdout);
        break;
    case PD__OTLP__ANY_VALUE__VALUE_INT_VALUE:
        printf("%" PRId64, value->int_value);
        break;
    case PD__OTLP__ANY_VALUE__VALUE_DOUBLE_VALUE:
        put_double(value->double_value);
        break;
    case PD__OTLP__ANY_VALUE__VALUE_ARRAY_VALUE:
        put_array(profile, value->array_value);
        break;
    case PD__OTLP__ANY_VALUE__VALUE_KVLIST_VALUE:
        put_members(profile, value->kvlist_value);
        break;
    case PD__OTLP__ANY_VALUE__VALUE_BYTES_VALUE:
        putchar('"');
        cli_otlp_put_hex(value->bytes_value);
        putchar('"');
        break;
    default:
        fputs("null", stdout);
    }
}
