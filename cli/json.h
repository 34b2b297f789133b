/* JSON by a format, in which each '$' stands for the next value:
 *
 *     cli_json_put(stdout, CLI_TEXT_JSON, "{\"file\": $, \"line\": $}", CLI_JSON(file), CLI_JSON(line))
 *
 * A string is quoted in the form (see text.h). A string that is NULL becomes null, and so does a
 * number that is not finite. A truth value has to be a bool: an int is a number. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include "units.h"
#include "text.h"

typedef enum cli_json_kind {
    CLI_JSON_BOOL,
    CLI_JSON_SIGNED,
    CLI_JSON_UNSIGNED,
    CLI_JSON_DOUBLE,
    CLI_JSON_STRING,
    CLI_JSON_TEXT, /* a pointer to characters */
    CLI_JSON_SUM
} cli_json_kind;

typedef struct cli_json_value {
    cli_json_kind kind;
    size_t size;
    const void *at;
} cli_json_value;

/* A value of one of these types; it lives until the block ends. */
/* clang-format off */
#define CLI_JSON(value)                                                                            \
    (cli_json_value){                                                                              \
        _Generic((value), bool: CLI_JSON_BOOL, double: CLI_JSON_DOUBLE,                            \
                 int: CLI_JSON_SIGNED, long: CLI_JSON_SIGNED, long long: CLI_JSON_SIGNED,          \
                 unsigned: CLI_JSON_UNSIGNED, unsigned long: CLI_JSON_UNSIGNED,                    \
                 unsigned long long: CLI_JSON_UNSIGNED,                                            \
                 cli_string: CLI_JSON_STRING, const char *: CLI_JSON_TEXT, char *: CLI_JSON_TEXT,  \
                 pprofdelta_sum: CLI_JSON_SUM),                                                    \
        sizeof(value), (__typeof__(value)[1]){value}}
/* clang-format on */

#define CLI_JSON_NULL CLI_JSON(((cli_string){NULL, 0}))

#define cli_json_put(to, form, format, ...)                                                        \
    cli_json_print(to, form, format, (const cli_json_value[]){__VA_ARGS__})
void cli_json_print(FILE *to, cli_text_form form, const char *format, const cli_json_value *values);

#endif
