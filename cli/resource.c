#include "resource.h"

#include "agent/base/launch.h"
#include "keep.h"
#include "message.h"

#include <stdlib.h>
#include <string.h>

#define VARIABLE "OTEL_RESOURCE_ATTRIBUTES"

static void add_attribute(cli_resource *r, const char *key, const char *value)
{
    CLI_KEEP_MORE(r->list, 1);
    r->list[r->list_len++] = (pprofdelta_attribute){key, value};
}

void cli_resource_take(const cli_option *option, const char *value, void *given)
{
    char *equals = (char *)strchr(value, '='); /* in argv, which may be changed */
    if (!equals || equals == value)
        cli_bad_value(option->name, value, "KEY=VALUE, like service.name=checkout");
    *equals = '\0';
    add_attribute(given, value, equals + 1);
}

/* Cuts white space off both ends. */
static char *trim_spaces(char *text)
{
    text += strspn(text, " \t");
    for (size_t len = strlen(text); len && strchr(" \t", text[len - 1]); len--)
        text[len - 1] = '\0';
    return text;
}

/* Adds a member of the environment's list, KEY=VALUE with %XX. Returns NULL, or what is wrong. */
static const char *add_member(cli_resource *r, char *key)
{
    char *value = strchr(key, '=');
    if (!value)
        return "an attribute has no =";
    *value++ = '\0';
    key = trim_spaces(key);
    value = trim_spaces(value);
    if (!pd_decode_percent(key) || !pd_decode_percent(value))
        return "a % is not followed by two hexadecimal digits";
    if (!*key)
        return "an attribute has no key";
    add_attribute(r, key, value);
    return NULL;
}

/* Adds all members of a text, or none of them. An empty member, as after a comma at the end, is skipped. */
static void add_members(cli_resource *r, const char *text, size_t len)
{
    size_t before = r->list_len;
    const char *wrong = NULL;
    char *list = memcpy(cli_keep(len + 1, 1), text, len);
    for (char *member; !wrong && (member = strsep(&list, ","));)
        if (*trim_spaces(member))
            wrong = add_member(r, member);
    if (!wrong)
        return;
    r->list_len = before;
    cli_note("the environment variable %s is ignored: %s", VARIABLE, wrong);
}

cli_resource cli_resource_read(const char *text, size_t len)
{
    cli_resource r = {.list = NULL};
    add_members(&r, text, len);
    return r;
}

cli_resource cli_resource_make(const cli_resource *given)
{
    const char *attributes = getenv(VARIABLE), *service = getenv("OTEL_SERVICE_NAME");
    cli_resource r = {.list = NULL};
    add_attribute(&r, "service.name", "unknown_service");
    if (attributes)
        add_members(&r, attributes, strlen(attributes));
    if (service && *service)
        add_attribute(&r, "service.name", service);
    r.weak = r.list_len;
    for (size_t i = 0; i < given->list_len; i++)
        add_attribute(&r, given->list[i].key, given->list[i].value);
    return r;
}

/* Writes the text with %XX for what has a meaning in a list, and returns its end. */
static char *encode_percent(char *out, const char *text)
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
    for (size_t i = 0; i < r->list_len; i++)
        size += 3 * (strlen(r->list[i].key) + strlen(r->list[i].value)) + 2;
    char *text = cli_keep(size, 1), *at = text;
    for (size_t i = 0; i < r->list_len; i++) {
        if (i)
            *at++ = ',';
        at = encode_percent(at, r->list[i].key);
        *at++ = '=';
        at = encode_percent(at, r->list[i].value);
    }
    return text;
}
