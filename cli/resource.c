#include "resource.h"

#include "agent/base/launch.h"
#include "cli.h"
#include "message.h"

#include <errno.h>
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

static void add(cli_resource *r, const char *key, const char *value)
{
    r->list[r->len++] = (pprofdelta_attribute){key, value};
}

/* Cuts white space off both ends. */
static char *trim(char *text)
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
    key = trim(key);
    value = trim(value);
    if (!pd_decode_percent(key) || !pd_decode_percent(value))
        return "a % is not followed by two hexadecimal digits";
    if (!*key)
        return "an attribute has no key";
    add(r, key, value);
    return NULL;
}

/* Adds all members, or none of them. An empty member, as after a comma at the end, is skipped. */
static void add_environment(cli_resource *r, char *list)
{
    size_t before = r->len;
    const char *wrong = NULL;
    for (char *member; !wrong && (member = strsep(&list, ","));)
        if (*trim(member))
            wrong = add_member(r, member);
    if (!wrong)
        return;
    r->len = before;
    cli_note("the environment variable %s is ignored: %s", VARIABLE, wrong);
}

/* Makes a list with room for what the text has and for so many more. The text, which is cut up, is behind
 * the list; returns it there, or NULL with a message. */
static char *make_list(cli_resource *r, size_t more, const char *text, size_t len)
{
    size_t members = more + 1; /* one without a comma behind it */
    for (size_t i = 0; i < len; i++)
        members += text[i] == ',';
    r->list = calloc(1, members * sizeof *r->list + len + 1);
    if (!r->list) {
        cli_system_error("the resource", "make", ENOMEM);
        return NULL;
    }
    return memcpy(r->list + members, text, len);
}

int cli_resource_read(cli_resource *r, const char *text, size_t len)
{
    char *list = make_list(r, 0, text, len);
    if (list)
        add_environment(r, list);
    return list ? CLI_DONE : CLI_FAILED;
}

int cli_resource_make(cli_resource *r, const cli_resources *given)
{
    const char *attributes = getenv(VARIABLE), *service = getenv("OTEL_SERVICE_NAME");
    attributes = attributes ? attributes : "";
    char *list = make_list(r, given->len + 2, attributes, strlen(attributes)); /* the name twice */
    if (!list)
        return CLI_FAILED;
    add(r, "service.name", "unknown_service");
    add_environment(r, list);
    if (service && *service)
        add(r, "service.name", service);
    r->weak = r->len;
    for (size_t i = 0; i < given->len; i++) {
        char *equals = (char *)strchr(given->values[i], '='); /* in argv, which may be changed */
        *equals = '\0';
        add(r, given->values[i], equals + 1);
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
