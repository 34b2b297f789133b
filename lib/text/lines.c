#include "text/lines.h"

#include <string.h>

static void skip_spaces(pd_lines *lines)
{
    while (lines->rest.len && (lines->rest.ptr[0] == ' ' || lines->rest.ptr[0] == '\t'))
        lines->rest = pd_bytes_behind(lines->rest, 1);
}

bool pd_lines_next(pd_lines *lines)
{
    if (lines->at >= lines->text.len)
        return false;
    const uint8_t *begin = lines->text.ptr + lines->at;
    size_t left = lines->text.len - lines->at;
    const uint8_t *end = memchr(begin, '\n', left);
    size_t len = end ? (size_t)(end - begin) : left;
    lines->start = lines->at;
    lines->at += len + (end != NULL);
    lines->rest = (pd_bytes){begin, len - (len && begin[len - 1] == '\r')};
    lines->number++;
    return true;
}

bool pd_lines_take(pd_lines *lines, const char *word)
{
    pd_bytes before = lines->rest;
    skip_spaces(lines);
    bool is_there = pd_bytes_begin(lines->rest, word);
    lines->rest = is_there ? pd_bytes_behind(lines->rest, strlen(word)) : before;
    return is_there;
}

/* Takes a number of at most `most`, behind the prefix or without it. */
static bool take_number(pd_lines *lines, const char *prefix, unsigned base, uint64_t most,
                        uint64_t *value, bool *has_prefix)
{
    pd_bytes before = lines->rest;
    *has_prefix = pd_lines_take(lines, prefix);
    if (!*has_prefix)
        skip_spaces(lines);
    bool is_there = pd_bytes_take_number(&lines->rest, base, most, value);
    if (!is_there)
        lines->rest = before;
    return is_there;
}

bool pd_lines_decimal(pd_lines *lines, int64_t *value)
{
    uint64_t number;
    bool is_negative;
    if (!take_number(lines, "-", 10, INT64_MAX, &number, &is_negative))
        return false;
    *value = is_negative ? -(int64_t)number : (int64_t)number;
    return true;
}

bool pd_lines_hex(pd_lines *lines, uint64_t *value)
{
    bool has_prefix;
    return take_number(lines, "0x", 16, UINT64_MAX, value, &has_prefix);
}

bool pd_lines_is_done(pd_lines *lines)
{
    skip_spaces(lines);
    return lines->rest.len == 0;
}

bool pd_lines_is_ended(const pd_lines *lines)
{
    return lines->at > lines->start && lines->text.ptr[lines->at - 1] == '\n';
}

pprofdelta_status pd_lines_fail(const pd_lines *lines, const char *what, pprofdelta_error *err)
{
    return pd_fail(err, PPROFDELTA_E_PROFILE, PPROFDELTA_STAGE_PROFILE, NULL, PPROFDELTA_NOWHERE,
                   lines->start, "line %zu: %s", lines->number, what);
}
