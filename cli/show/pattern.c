/* Regular expressions on the command line: see pattern.h.
 *
 * regcomp does not say where an expression is wrong. The longest beginning that is right is looked
 * for: what follows it is wrong. */
#include "show/pattern.h"

#include "option_values.h"
#include "cli.h"
#include "message.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 4096, ROOM = 32 * 1024, SHOWN = 40 };

static const char *why(int error)
{
    static const struct {
        int error;
        const char *text;
    } texts[] = {
        {REG_EPAREN, "a parenthesis has no partner"},
        {REG_EBRACK, "a bracket has no partner"},
        {REG_EBRACE, "a brace has no partner"},
        {REG_BADBR, "the numbers between braces are wrong"},
        {REG_ERANGE, "the end of a range is before its beginning"},
        {REG_ECTYPE, "there is no such class of characters"},
        {REG_ECOLLATE, "there is no such character"},
        {REG_EESCAPE, "nothing follows the backslash"},
        {REG_BADRPT, "there is nothing to repeat"},
        {REG_ESPACE, "it takes too much memory"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].error == error)
            return texts[i].text;
    return "it is not valid";
}

static int refuse(const char *option, const char *text, size_t at, const char *reason)
{
    size_t left = strlen(text) - at;
    int shown = left < SHOWN ? (int)left : SHOWN;
    return cli_usage(
        "%s %.200s: is not a regular expression from character %zu on (\"%.*s%s\"): %s", option,
        text, at + 1, shown, text + at, left > SHOWN ? "..." : "", reason);
}

static int try(const char *text, size_t len)
{
    char part[LONGEST + 1];
    regex_t compiled;
    memcpy(part, text, len);
    part[len] = 0;
    int error = regcomp(&compiled, part, REG_EXTENDED | REG_NOSUB);
    if (!error)
        regfree(&compiled);
    return error;
}

/* The length of the longest beginning that is right. */
static size_t right_part(const char *text)
{
    size_t len = strlen(text);
    while (len && try(text, len - 1))
        len--;
    return len ? len - 1 : 0;
}

/* The end of the bracket expression that begins at text[at]: "[]a]" and "[[:alpha:]]" are whole. */
static size_t after_bracket(const char *text, size_t at)
{
    at++;
    at += text[at] == '^';
    at += text[at] == ']';
    while (text[at] && text[at] != ']') {
        char kind = text[at + 1];
        if (text[at] == '[' && kind && strchr(":.=", kind)) {
            const char end[] = {kind, ']', 0};
            const char *close = strstr(text + at + 2, end);
            if (!close)
                return strlen(text);
            at = (size_t)(close - text) + 1;
        }
        at++;
    }
    return text[at] ? at + 1 : at;
}

/* What regcomp would take for something else. Returns the reason and sets *at, or NULL. */
static const char *foreign(const char *text, size_t *at)
{
    size_t depth = 0;
    for (*at = 0; text[*at];) {
        char c = text[*at], next = text[*at + 1];
        if (c == '[') {
            *at = after_bracket(text, *at);
            continue;
        }
        if (c == ')' && !depth)
            return "a parenthesis has no partner";
        depth += c == '(';
        depth -= c == ')';
        if (c == '(' && next == '?')
            return "(? is not in POSIX expressions";
        if (c == '\\' && next >= '1' && next <= '9')
            return "references to groups are not taken";
        if (c == '\\' && (next == 'd' || next == 'D'))
            return next == 'd' ? "\\d is not in POSIX expressions; [0-9] is"
                               : "\\D is not in POSIX expressions; [^0-9] is";
        if (c == '\\' && next && !strchr("wWsSbB", next) &&
            ((next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z')))
            return "there is no such backslash in POSIX expressions";
        *at += c == '\\' && next ? 2 : 1;
    }
    return NULL;
}

static int compile(cli_pattern *pattern, const char *option, const char *text, bool is_whole)
{
    size_t len = strlen(text);
    char *whole = malloc(len + sizeof "^()$");
    if (!whole)
        return cli_system_error(option, "read", ENOMEM);
    sprintf(whole, is_whole ? "^(%s)$" : "%s", text);
    int error = regcomp(&pattern->compiled, whole, REG_EXTENDED | REG_NOSUB);
    free(whole);
    pattern->is_compiled = !error;
    return error ? refuse(option, text, 0, why(error)) : CLI_DONE;
}

int cli_pattern_make(cli_pattern *pattern, const char *option, const char *text, bool is_whole)
{
    size_t at;
    pattern->is_compiled = false;
    if (strlen(text) > LONGEST)
        return cli_bad_value(option, text, "a regular expression of at most 4096 bytes");
    const char *reason = foreign(text, &at);
    if (reason)
        return refuse(option, text, at, reason);
    int error = try(text, strlen(text));
    if (error)
        return refuse(option, text, right_part(text), why(error));
    return compile(pattern, option, text, is_whole);
}

void cli_pattern_free(cli_pattern *pattern)
{
    if (pattern->is_compiled)
        regfree(&pattern->compiled);
    pattern->is_compiled = false;
}

bool cli_pattern_matches(const cli_pattern *pattern, cli_string string)
{
    char buf[ROOM];
    cli_string_write(buf, sizeof buf, string);
    return !regexec(&pattern->compiled, buf, 0, NULL, 0);
}
