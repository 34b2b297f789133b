/* The values of options that several verbs have: see option_values.h. */
#include "option_values.h"

#include "cli.h"
#include "instant.h"
#include "message.h"

#include <stdio.h>
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
        const char *joint = !i ? "" : names[i + 1] ? ", " : " or ";
        len += (size_t)snprintf(to + len, room - len, "%s%s", joint, names[i]);
    }
}

int cli_choose(const char *option, const char *value, const char *const *names, int *chosen)
{
    char allowed[128];
    for (int i = 0; names[i]; i++) {
        if (!strcmp(value, names[i])) {
            *chosen = i;
            return CLI_DONE;
        }
    }
    list_names(allowed, sizeof allowed, names);
    return cli_bad_value(option, value, allowed);
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
    size_t read = 0;
    const char *p = value;
    for (; *p >= '0' && *p <= '9' && read <= MOST_ROWS; p++)
        read = read * 10 + (size_t)(*p - '0');
    if (*p || !read || read > MOST_ROWS)
        return cli_bad_value(option->name, value, "a number of rows, 1 or more");
    *(size_t *)rows = read;
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

int cli_take_compression(const cli_option *option, const char *value, void *compression)
{
    static const char *const names[] = {"gzip", "zstd", "none", NULL};
    static const pprofdelta_compression values[] = {PPROFDELTA_GZIP, PPROFDELTA_ZSTD,
                                                    PPROFDELTA_PLAIN};
    int chosen = 0;
    if (cli_choose(option->name, value, names, &chosen))
        return CLI_USAGE;
    *(pprofdelta_compression *)compression = values[chosen];
    return CLI_DONE;
}

int cli_take_format(const cli_option *option, const char *value, void *format)
{
    static const char *const names[] = {"pprof", "otlp", NULL};
    int chosen = 0;
    if (cli_choose(option->name, value, names, &chosen))
        return CLI_USAGE;
    *(pprofdelta_format *)format = chosen ? PPROFDELTA_OTLP : PPROFDELTA_PPROF;
    return CLI_DONE;
}

bool cli_size_parse(const char *text, uint64_t *size)
{
    static const char letters[] = "kMGT";
    uint64_t value = 0;
    const char *p = text;
    for (; *p >= '0' && *p <= '9'; p++) {
        unsigned digit = (unsigned)(*p - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (p == text || !value)
        return false;
    if (*p) {
        const char *letter = strchr(letters, *p == 'K' ? 'k' : *p);
        if (!letter)
            return false;
        unsigned shift = 10 * (unsigned)(letter - letters + 1);
        if (value > UINT64_MAX >> shift)
            return false;
        value <<= shift;
        p++;
        if (*p && strcmp(p, "iB") != 0)
            return false;
    }
    *size = value;
    return true;
}
