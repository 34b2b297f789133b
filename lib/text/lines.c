#include "text/lines.h"

#include <string.h>

static void skip(pd_bytes *bytes, size_t len)
{
    bytes->ptr += len;
    bytes->len -= len;
}

static void skip_spaces(pd_lines *lines)
{
    while (lines->rest.len && (lines->rest.ptr[0] == ' ' || lines->rest.ptr[0] == '\t'))
        skip(&lines->rest, 1);
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
    size_t len = strlen(word);
    pd_bytes before = lines->rest;
    skip_spaces(lines);
    if (lines->rest.len < len || memcmp(lines->rest.ptr, word, len) != 0) {
        lines->rest = before;
        return false;
    }
    skip(&lines->rest, len);
    return true;
}

static unsigned digit_of(uint8_t c)
{
    return c >= '0' && c <= '9'   ? c - (unsigned)'0'
           : c >= 'a' && c <= 'f' ? c - (unsigned)'a' + 10
           : c >= 'A' && c <= 'F' ? c - (unsigned)'A' + 10
                                  : UINT32_MAX;
}

/* Takes a number of at most `most`. */
static bool take_number(pd_lines *lines, unsigned base, uint64_t most, uint64_t *value)
{
    size_t digits = 0;
    bool fits = true;
    *value = 0;
    for (; lines->rest.len && digit_of(lines->rest.ptr[0]) < base; digits++) {
        unsigned digit = digit_of(lines->rest.ptr[0]);
        fits &= *value <= (most - digit) / base;
        *value = *value * base + digit;
        skip(&lines->rest, 1);
    }
    return digits && fits;
}

bool pd_lines_decimal(pd_lines *lines, int64_t *value)
{
    pd_bytes before = lines->rest;
    bool is_negative = pd_lines_take(lines, "-");
    uint64_t number;
    if (!is_negative)
        skip_spaces(lines);
    if (!take_number(lines, 10, INT64_MAX, &number)) {
        lines->rest = before;
        return false;
    }
    *value = is_negative ? -(int64_t)number : (int64_t)number;
    return true;
}

bool pd_lines_hex(pd_lines *lines, uint64_t *value)
{
    pd_bytes before = lines->rest;
    uint64_t number;
    if (!pd_lines_take(lines, "0x"))
        skip_spaces(lines);
    if (!take_number(lines, 16, UINT64_MAX, &number)) {
        lines->rest = before;
        return false;
    }
    *value = number;
    return true;
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
    return pd_fail(err, PPROFDELTA_E_PROFILE, "profile", NULL, PPROFDELTA_NOWHERE, lines->start,
                   "line %zu: %s", lines->number, what);
}
