#include "resource.h"

#include "agent/base/launch.h"
#include "option_values.h"
#include "cli.h"
#include "message.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLE "OTEL_RESOURCE_ATTRIBUTES"

int cli_resource_take(const cli_option *option, const char *value, void *member)
{
    cli_resources *given = member;
    const char *equals = strchr(value, '=');
    given->values[given->len++] = value;
    if (!equals || equals == value)
        return cli_bad_value(option->name, value, "KEY=VALUE, like service.name=checkout");
    return CLI_DONE;
}

/* Appends the text and a NUL, and returns where it begins. There is room. */
static char *keep(char **at, const char *text, size_t len)
{
    char *kept = *at;
    memcpy(kept, text, len);
    kept[len] = '\0';
    *at += len + 1;
    return kept;
}

static void add(cli_resource *r, const char *key, const char *value)
{
    r->list[r->len++] = (pprofdelta_attribute){key, value};
}

/* ---- OTEL_RESOURCE_ATTRIBUTES: KEY=VALUE,KEY=VALUE, with %XX --------------------------------- */

static const char *trim(const char *text, size_t *len)
{
    for (; *len && (*text == ' ' || *text == '\t'); (*len)--)
        text++;
    while (*len && (text[*len - 1] == ' ' || text[*len - 1] == '\t'))
        --*len;
    return text;
}

/* Adds one member. Returns NULL, or what is wrong. */
static const char *add_member(cli_resource *r, char **at, const char *text, size_t len)
{
    text = trim(text, &len);
    const char *equals = memchr(text, '=', len);
    if (!equals)
        return "an attribute has no =";
    size_t key_len = (size_t)(equals - text), value_len = len - key_len - 1;
    const char *key_text = trim(text, &key_len), *value_text = trim(equals + 1, &value_len);
    char *key = keep(at, key_text, key_len), *value = keep(at, value_text, value_len);
    if (!pd_decode_percent(key) || !pd_decode_percent(value))
        return "a % is not followed by two hexadecimal digits";
    if (!*key)
        return "an attribute has no key";
    add(r, key, value);
    return NULL;
}

/* Adds all members, or none of them. An empty member, as after a comma at the end, is skipped. */
static void add_environment(cli_resource *r, char **at, const char *text)
{
    size_t before = r->len;
    const char *wrong = NULL;
    while (!wrong && *text) {
        size_t len = strcspn(text, ","), trimmed = len;
        trim(text, &trimmed);
        if (trimmed)
            wrong = add_member(r, at, text, len);
        text += len + (text[len] == ',');
    }
    if (!wrong)
        return;
    r->len = before;
    cli_note("the environment variable %s is ignored: %s", VARIABLE, wrong);
}

/* ---- the whole ------------------------------------------------------------------------------- */

int cli_resource_make(cli_resource *r, const cli_resources *given)
{
    const char *attributes = getenv(VARIABLE), *service = getenv("OTEL_SERVICE_NAME");
    size_t size = 1,
           members = given->len + 3; /* the name twice, and a member without a comma behind it */
    for (size_t i = 0; i < given->len; i++)
        size += strlen(given->values[i]) + 1;
    for (const char *at = attributes ? attributes : ""; *at; at++)
        members += *at == ',';
    size += attributes ? strlen(attributes) + 2 * members : 0;
    r->list = calloc(members, sizeof *r->list);
    r->texts = calloc(size, 1);
    if (!r->list || !r->texts) {
        cli_error("%s", strerror(ENOMEM));
        return CLI_FAILED;
    }
    char *at = r->texts;
    add(r, "service.name", "unknown_service");
    if (attributes)
        add_environment(r, &at, attributes);
    if (service && *service)
        add(r, "service.name", service);
    for (size_t i = 0; i < given->len; i++) {
        size_t key = strcspn(given->values[i], "=");
        add(r, keep(&at, given->values[i], key), given->values[i] + key + 1);
    }
    return CLI_DONE;
}

/* Writes the text with %XX for what has a meaning in a list, and returns its end. */
static char *encode(char *out, const char *text)
{
    static const char digits[] = "0123456789ABCDEF";
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        if (!strchr(",=% \t", *text)) {
            *out++ = *text;
            continue;
        }
        *out++ = '%';
        *out++ = digits[byte >> 4];
        *out++ = digits[byte & 15];
    }
    return out;
}

char *cli_resource_text(const cli_resource *r)
{
    size_t size = 1;
    for (size_t i = 0; i < r->len; i++)
        size += 3 * (strlen(r->list[i].key) + strlen(r->list[i].value)) + 2;
    char *text = malloc(size), *at = text;
    for (size_t i = 0; text && i < r->len; i++) {
        if (i)
            *at++ = ',';
        at = encode(at, r->list[i].key);
        *at++ = '=';
        at = encode(at, r->list[i].value);
    }
    if (text)
        *at = '\0';
    return text;
}

void cli_resource_free(cli_resource *r)
{
    free(r->list);
    free(r->texts);
    *r = (cli_resource){0};
}
