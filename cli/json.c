/* JSON by a format: see json.h. */
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void put_string(FILE *to, cli_text_form form, cli_string string)
{
    if (string.ptr)
        cli_string_put(to, string, form);
    else
        fputs("null", to);
}

static void put_value(FILE *to, cli_text_form form, const cli_json_value *v)
{
    char text[48];
    bool is_wide = v->size == sizeof(uint64_t);
    uint64_t wide = 0;
    uint32_t narrow = 0;
    if (v->kind == CLI_JSON_SIGNED || v->kind == CLI_JSON_UNSIGNED)
        memcpy(is_wide ? (void *)&wide : &narrow, v->at, v->size);
    switch (v->kind) {
    case CLI_JSON_BOOL:
        fputs(*(const bool *)v->at ? "true" : "false", to);
        break;
    case CLI_JSON_SIGNED:
        fprintf(to, "%" PRId64, is_wide ? (int64_t)wide : (int64_t)(int32_t)narrow);
        break;
    case CLI_JSON_UNSIGNED:
        fprintf(to, "%" PRIu64, is_wide ? wide : narrow);
        break;
    case CLI_JSON_DOUBLE:
        fprintf(to, isfinite(*(const double *)v->at) ? "%.9g" : "null", *(const double *)v->at);
        break;
    case CLI_JSON_SUM:
        fputs(cli_sum_format(*(const pprofdelta_sum *)v->at, text), to);
        break;
    case CLI_JSON_STRING:
        put_string(to, form, *(const cli_string *)v->at);
        break;
    case CLI_JSON_TEXT:
        put_string(to, form,
                   *(char *const *)v->at ? cli_string_of(*(char *const *)v->at) : (cli_string){0});
    }
}

void cli_json_print(FILE *to, cli_text_form form, const char *format, const cli_json_value *values)
{
    for (; *format; format++)
        if (*format == '$')
            put_value(to, form, values++);
        else
            putc(*format, to);
}
