/* The values of options that several verbs have: see option_values.h. */
#include "option_values.h"

#include "cli.h"
#include "instant.h"
#include "message.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 1000000000 };

const char cli_size_allowed[] = "a number of bytes above 0, or one with k, M, G or T";

int cli_bad_value(const char *option, const char *value, const char *allowed)
{
    enum { SHOWN = 32 };
    int cut = strlen(value) > SHOWN;
    return cli_usage("%s=%.*s%s: must be %s", option, SHOWN, value, cut ? "..." : "", allowed);
}

/* "auto, restart, clamp, negative or fail" */
static void list_names(char *to, size_t room, const char *const *names)
{
    size_t len = 0;
    *to = 0;
    for (int i = 0; names[i] && len < room; i++) {
        const char *between = !i ? "" : names[i + 1] ? ", " : " or ";
        len += (size_t)snprintf(to + len, room - len, "%s%s", between, names[i]);
    }
}

int cli_take_choice(const cli_option *option, const char *value, void *chosen)
{
    static const char *const choices[][6] = {
        [CLI_COMPRESSION] = {"gzip", "zstd", "none"},
        [CLI_FORMAT] = {"pprof", "otlp"},
        [CLI_ON_RESET] = {"auto", "restart", "clamp", "negative", "fail"},
        [CLI_FIRST] = {"full", "zero"},
        [CLI_DEFAULT_TYPE] = {"counter", "keep"},
        [CLI_REPORT] = {"text", "json"},
    };
    const char *const *names = choices[option->what];
    char allowed[128];
    int i = 0;
    while (value && names[i] && strcmp(value, names[i]) != 0)
        i++;
    if (!value || names[i]) {
        *(int *)chosen = i;
        return CLI_DONE;
    }
    list_names(allowed, sizeof allowed, names);
    return cli_bad_value(option->name, value, allowed);
}

int cli_take_flag(const cli_option *option, const char *value, void *flag)
{
    (void)option, (void)value;
    *(bool *)flag = true;
    return CLI_DONE;
}

int cli_take_bit(const cli_option *option, const char *value, void *bits)
{
    (void)value;
    *(unsigned *)bits |= (unsigned)option->what;
    return CLI_DONE;
}

int cli_take_text(const cli_option *option, const char *value, void *text)
{
    (void)option;
    *(const char **)text = value;
    return CLI_DONE;
}

int cli_take_size(const cli_option *option, const char *value, void *size)
{
    return cli_size_parse(value, size) ? CLI_DONE
                                       : cli_bad_value(option->name, value, cli_size_allowed);
}

int cli_take_rows(const cli_option *option, const char *value, void *rows)
{
    size_t digits = strspn(value, "0123456789");
    unsigned long long read = digits < 11 ? strtoull(value, NULL, 10) : 0;
    if (value[digits] || !read || read > MOST_ROWS)
        return cli_bad_value(option->name, value, "a number of rows, 1 or more");
    *(size_t *)rows = (size_t)read;
    return CLI_DONE;
}

int cli_take_span(const cli_option *option, const char *value, void *nanos)
{
    return cli_span_parse(value, nanos)
               ? CLI_DONE
               : cli_bad_value(option->name, value,
                               "a time above 0 like 30s, 500ms, 2m or 1h, and a year at most");
}

int cli_take_type(const cli_option *option, const char *value, void *type)
{
    if (!*value || *value == '/')
        return cli_bad_value(option->name, value, "TYPE or TYPE/UNIT, like alloc_space/bytes");
    *(const char **)type = value;
    return CLI_DONE;
}

int cli_take_output(const cli_option *option, const char *value, void *output)
{
    if (!*value)
        return cli_bad_value(option->name, value, "the name of a file, or - for stdout");
    *(const char **)output = value;
    return CLI_DONE;
}

bool cli_size_parse(const char *text, uint64_t *size)
{
    static const char letters[] = "kMGT";
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || errno || !value)
        return false;
    const char *letter = *end ? strchr(letters, *end == 'K' ? 'k' : *end) : NULL;
    unsigned shift = letter ? 10 * (unsigned)(letter - letters + 1) : 0;
    if ((*end && !letter) || value > UINT64_MAX >> shift ||
        (letter && end[1] && strcmp(end + 1, "iB") != 0))
        return false;
    *size = (uint64_t)value << shift;
    return true;
}
