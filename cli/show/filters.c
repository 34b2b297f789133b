/* What the user asks `show` to keep, to drop and to hide: see filters.h. */
#include "show/filters.h"

#include "option_values.h"
#include "cli.h"
#include "message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *cli_filter_name(cli_filter_kind kind)
{
    static const char *const names[] = {"focus", "ignore", "tag", "hide"};
    return names[kind];
}

/* ---- regular expressions ------------------------------------------------------------------ */

/* POSIX extended ones, as grep -E takes them. Expressions that other tools take and POSIX does not are
 * refused, because regcomp would give them another meaning: \d, \p, (?i), a lone ")", and references to
 * groups.
 *
 * regcomp does not say where an expression is wrong. The longest beginning that is right is looked
 * for: what follows it is wrong. */
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

/* Compiles text. is_whole: it matches whole strings only. If it is not an expression, prints where
 * and why with the name of the option, and returns CLI_USAGE. */
static int make_pattern(cli_pattern *pattern, const char *option, const char *text, bool is_whole)
{
    size_t at;
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

bool cli_pattern_matches(const cli_pattern *pattern, cli_string string)
{
    char buf[ROOM];
    cli_string_write(buf, sizeof buf, string);
    return !regexec(&pattern->compiled, buf, 0, NULL, 0);
}

/* ---- ranges of numbers -------------------------------------------------------------------- */

/* Reads a bound of a range: "4096", "-7", "64k", or nothing. Returns false if it is none. */
static bool read_bound(const char *text, size_t len, int64_t *bound)
{
    char copy[32];
    uint64_t size = 0;
    if (!len)
        return true;
    if (len >= sizeof copy)
        return false;
    memcpy(copy, text, len);
    copy[len] = 0;
    bool is_negative = copy[0] == '-';
    const char *digits = copy + is_negative;
    bool is_zero = *digits && !digits[strspn(digits, "0")];
    if (!is_zero && (!cli_size_parse(digits, &size) || size > INT64_MAX))
        return false;
    *bound = is_negative ? -(int64_t)size : (int64_t)size;
    return true;
}

static bool read_range(cli_filter *filter)
{
    const char *colon = strchr(filter->value, ':');
    filter->least = INT64_MIN;
    filter->most = INT64_MAX;
    return colon && (colon > filter->value || colon[1]) &&
           read_bound(filter->value, (size_t)(colon - filter->value), &filter->least) &&
           read_bound(colon + 1, strlen(colon + 1), &filter->most);
}

/* ---- options ------------------------------------------------------------------------------ */

static int make_tag(cli_filter *filter)
{
    const char *equals = strchr(filter->text, '=');
    filter->key = (cli_string){filter->text, strcspn(filter->text, "=")};
    filter->value = equals ? equals + 1 : NULL;
    if (!filter->key.len)
        return cli_bad_value("--tag", filter->text, "KEY, KEY=VALUE, KEY=REGEX or KEY=MIN:MAX");
    if (!filter->value)
        return CLI_DONE;
    filter->is_range = read_range(filter);
    return filter->is_range ? CLI_DONE
                            : make_pattern(&filter->pattern, "--tag", filter->value, true);
}

int cli_filters_add(cli_filters *filters, cli_filter_kind kind, const char *text)
{
    char option[16];
    snprintf(option, sizeof option, "--%s", cli_filter_name(kind));
    if (filters->len == CLI_FILTERS_MAX)
        return cli_usage("%s %.60s: is one filter too many; %d are taken", option, text,
                         CLI_FILTERS_MAX);
    if (!*text)
        return cli_bad_value(option, text,
                             kind == CLI_FILTER_TAG ? "KEY or KEY=VALUE" : "a regular expression");
    cli_filter *filter = &filters->list[filters->len++];
    *filter = (cli_filter){.kind = kind, .text = text};
    if (kind == CLI_FILTER_TAG)
        return make_tag(filter);
    return make_pattern(&filter->pattern, option, text, false);
}

void cli_filters_free(cli_filters *filters)
{
    for (size_t i = 0; i < filters->len; i++)
        if (filters->list[i].pattern.is_compiled)
            regfree(&filters->list[i].pattern.compiled);
    filters->len = 0;
}

bool cli_filters_have(const cli_filters *filters, cli_filter_kind kind)
{
    for (size_t i = 0; i < filters->len; i++)
        if (filters->list[i].kind == kind)
            return true;
    return false;
}

/* ---- labels ------------------------------------------------------------------------------- */

static bool is_value(const cli_filter *filter, cli_string value)
{
    return cli_string_is(value, filter->value) ||
           (filter->pattern.is_compiled && cli_pattern_matches(&filter->pattern, value));
}

/* A number is compared as "4096" and, if it has a unit, as "4096bytes". */
static bool is_number_value(const cli_filter *filter, int64_t number, cli_string unit)
{
    char text[24 + 256];
    int len = snprintf(text, sizeof text, "%" PRId64, number);
    if (filter->is_range)
        return number >= filter->least && number <= filter->most;
    if (is_value(filter, cli_string_of(text)))
        return true;
    size_t unit_len = unit.len < 256 ? unit.len : 0;
    memcpy(text + len, unit.ptr, unit_len);
    return unit_len && is_value(filter, (cli_string){text, (size_t)len + unit_len});
}

/* A range written for text, as in "time=12:30", is compared as text, too. */
static bool keeps_label(const cli_filter *filter, const cli_profile *profile,
                        const Pd__View__Label *label)
{
    if (cli_string_compare(cli_profile_string(profile, label->key), filter->key) != 0)
        return false;
    if (!filter->value)
        return true;
    if (label->str)
        return is_value(filter, cli_profile_string(profile, label->str));
    return is_number_value(filter, label->num, cli_profile_string(profile, label->num_unit));
}

bool cli_filter_keeps_labels(const cli_filter *filter, const cli_profile *profile,
                             const Pd__View__Sample *sample)
{
    for (size_t i = 0; i < sample->n_label; i++)
        if (keeps_label(filter, profile, sample->label[i]))
            return true;
    return false;
}
