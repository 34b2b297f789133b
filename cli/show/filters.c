/* What the user asks `show` to keep, to drop and to hide: see shown.h. */
#include "show/shown.h"

#include "cli.h"
#include "keep.h"
#include "message.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

const char *cli_filter_name(cli_filter_kind kind)
{
    static const char *const names[] = {"focus", "ignore", "tag", "hide", "allocator"};
    return names[kind];
}

/* ---- regular expressions ------------------------------------------------------------------ */

/* POSIX extended ones, as grep -E takes them. Expressions that other tools take and POSIX does not are
 * refused, because regcomp would give them another meaning: \d, \p, a lone ")", and references to
 * groups. */
enum { LONGEST = 4096, ROOM = 32 * 1024 };

/* The end of the bracket expression that begins at text[at]: "[]a]" and "[[:alpha:]]" are whole. */
static size_t after_bracket(const char *text, size_t at)
{
    at++;
    at += text[at] == '^';
    at += text[at] == ']';
    while (text[at] && text[at] != ']') {
        const char *close = text[at] == '[' && text[at + 1] == ':' ? strstr(text + at, ":]") : NULL;
        at = close ? (size_t)(close - text) + 2 : at + 1;
    }
    return text[at] ? at + 1 : at;
}

/* Whether regcomp would take the character at text[at] for something else; depth: of groups. */
static bool is_foreign(const char *text, size_t at, size_t depth)
{
    char next = text[at + 1];
    bool is_escape = text[at] == '\\' && isalnum((unsigned char)next);
    return (text[at] == ')' && !depth) || (is_escape && !strchr("wWsSbB", next));
}

/* The place of what regcomp would take for something else; that of the end if there is none. */
static size_t find_foreign(const char *text)
{
    size_t at = 0, depth = 0;
    while (text[at] && !is_foreign(text, at, depth)) {
        depth += text[at] == '(';
        depth -= text[at] == ')';
        at =
            text[at] == '[' ? after_bracket(text, at) : at + 1 + (text[at] == '\\' && text[at + 1]);
    }
    return at;
}

/* Compiles text. is_whole: it matches whole strings only. If it is not an expression, prints why with the
 * name of the option, and ends the process. */
static void make_pattern(cli_filter *filter, const char *option, const char *text, bool is_whole)
{
    char whole[LONGEST + 8], reason[128] = "";
    size_t foreign = find_foreign(text);
    if (strlen(text) > LONGEST)
        cli_bad_value(option, text, "a regular expression of at most 4096 bytes");
    if (text[foreign])
        cli_usage("%s %.200s: is not a POSIX regular expression from character %zu on", option,
                  text, foreign + 1);
    snprintf(whole, sizeof whole, is_whole ? "^(%s)$" : "%s", text);
    int error = regcomp(&filter->pattern, whole, REG_EXTENDED | REG_NOSUB);
    filter->has_pattern = !error;
    if (!error)
        return;
    regerror(error, &filter->pattern, reason, sizeof reason);
    cli_usage("%s %.200s: is not a regular expression: %s", option, text, reason);
}

bool cli_pattern_matches(const regex_t *pattern, cli_string string)
{
    char buf[ROOM];
    cli_string_write(buf, sizeof buf, string);
    return !regexec(pattern, buf, 0, NULL, 0);
}

uint64_t cli_filters_match(const cli_filters *filters, cli_string text)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < filters->len && text.len; i++)
        if (filters->list[i].kind != CLI_FILTER_TAG &&
            cli_pattern_matches(&filters->list[i].pattern, text))
            bits |= UINT64_C(1) << i;
    return bits;
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

static void make_tag(cli_filter *filter)
{
    const char *equals = strchr(filter->text, '=');
    filter->key = (cli_string){filter->text, strcspn(filter->text, "=")};
    filter->value = equals ? equals + 1 : NULL;
    if (!filter->key.len)
        cli_bad_value("--tag", filter->text, "KEY, KEY=VALUE, KEY=REGEX or KEY=MIN:MAX");
    if (!filter->value)
        return;
    filter->is_range = read_range(filter);
    if (!filter->is_range)
        make_pattern(filter, "--tag", filter->value, true);
}

void cli_filters_take(const cli_option *option, const char *text, void *list)
{
    cli_filters *filters = list;
    cli_filter_kind kind = (cli_filter_kind)option->what;
    if (filters->len == CLI_FILTERS_MAX)
        cli_usage("%s %.60s: is one filter too many; %d are taken", option->name, text,
                  CLI_FILTERS_MAX);
    if (!*text)
        cli_bad_value(option->name, text,
                      kind == CLI_FILTER_TAG ? "KEY or KEY=VALUE" : "a regular expression");
    if (!filters->list)
        filters->list = cli_keep(CLI_FILTERS_MAX, sizeof *filters->list);
    cli_filter *filter = &filters->list[filters->len++];
    *filter = (cli_filter){.kind = kind, .text = text};
    if (kind == CLI_FILTER_TAG)
        make_tag(filter);
    else
        make_pattern(filter, option->name, text, false);
}

uint64_t cli_filters_of(const cli_filters *filters, cli_filter_kind kind)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < filters->len; i++)
        bits |= (uint64_t)(filters->list[i].kind == kind) << i;
    return bits;
}

/* ---- labels ------------------------------------------------------------------------------- */

static bool is_value(const cli_filter *filter, cli_string value)
{
    return cli_string_is(value, filter->value) ||
           (filter->has_pattern && cli_pattern_matches(&filter->pattern, value));
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
                             const cli_sample *sample)
{
    Pd__View__Sample *message = sample->has_labels ? cli_sample_unpack(sample) : NULL;
    bool keeps = false;
    for (size_t i = 0; message && i < message->n_label && !keeps; i++)
        keeps = keeps_label(filter, profile, message->label[i]);
    cli_sample_drop(message);
    return keeps;
}
