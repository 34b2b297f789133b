/* What `show` prints of an OTLP request in addition to the pprof profile that the library makes of it.
 *
 *     otlp_values.c    attributes and their values, as JSON
 *     heading.c        the first resource and its scopes above the table
 *     form_json.c      the member "otlp" of --json
 *     form_raw.c       --raw of a request: its own records, not those of the pprof profile
 *
 * The library has checked the request, so every index in it leads somewhere. */
#ifndef CLI_SHOW_OTLP_FORMS_H
#define CLI_SHOW_OTLP_FORMS_H

#include "view.h"

/* A string of the dictionary; empty for index 0. */
cli_string cli_otlp_string(const cli_profile *profile, int32_t index);

/* Bytes of a message. */
cli_string cli_otlp_bytes(ProtobufCBinaryData bytes);

/* The key of an attribute of a resource or scope. */
cli_string cli_otlp_key(const cli_profile *profile, const Pd__Otlp__KeyValue *attribute);

/* Prints a value as JSON. NULL, and a value that is not set, is null. */
void cli_otlp_put_value(const cli_profile *profile, const Pd__Otlp__AnyValue *value);

/* Prints bytes in hexadecimal. */
void cli_otlp_put_hex(ProtobufCBinaryData bytes);

#endif
