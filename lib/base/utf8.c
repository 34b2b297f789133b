#include "base/utf8.h"

#include "base/key.h"

#include <stdio.h>

/* The range of the second byte, which excludes overlong forms, surrogates, and what is above
 * U+10FFFF. */
static bool is_second(uint8_t first, uint8_t second)
{
    uint8_t low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    uint8_t high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    return second >= low && second <= high;
}

/* The length of the well-formed sequence at text[at], or 0. */
static size_t sequence_at(pd_bytes text, size_t at)
{
    uint8_t first = text.ptr[at];
    size_t len = first < 0x80                    ? 1
                 : first >= 0xc2 && first < 0xe0 ? 2
                 : first >= 0xe0 && first < 0xf0 ? 3
                 : first >= 0xf0 && first < 0xf5 ? 4
                                                 : 0;
    if (!len || len > text.len - at)
        return 0;
    if (len > 1 && !is_second(first, text.ptr[at + 1]))
        return 0;
    for (size_t i = 2; i < len; i++)
        if ((text.ptr[at + i] & 0xc0) != 0x80)
            return 0;
    return len;
}

bool pd_utf8_is_valid(pd_bytes text)
{
    const uint64_t high = UINT64_C(0x8080808080808080);
    size_t at = 0;
    while (at < text.len) {
        uint64_t word = 0;
        if (text.len - at >= sizeof word) {
            memcpy(&word, text.ptr + at, sizeof word);
            if (!(word & high)) {
                at += sizeof word;
                continue;
            }
        }
        size_t len = sequence_at(text, at);
        if (!len)
            return false;
        at += len;
    }
    return true;
}

pprofdelta_status pd_utf8_repair(pd_bytes text, pd_mem *mem, pd_buffer *out, pprofdelta_error *err)
{
    static const uint8_t replacement[] = {0xef, 0xbf, 0xbd};
    size_t most =
        text.len > SIZE_MAX / sizeof replacement ? SIZE_MAX : text.len * sizeof replacement;
    out->len = 0;
    PD_TRY(pd_buffer_room(mem, out, most, err));
    for (size_t at = 0; at < text.len;) {
        size_t len = sequence_at(text, at);
        const uint8_t *from = len ? text.ptr + at : replacement;
        size_t copied = len ? len : sizeof replacement;
        memcpy(out->ptr + out->len, from, copied);
        out->len += copied;
        at += len ? len : 1;
    }
    return PPROFDELTA_OK;
}

/* Is the well-formed sequence a control character, of the terminal (C0, DEL, C1) or of the
 * direction and the lines of text (U+061C, U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069)? */
static bool is_control(const uint8_t *at, size_t len)
{
    if (len == 1)
        return *at < 0x20 || *at == 0x7f;
    if (len == 2)
        return (at[0] == 0xc2 && at[1] < 0xa0) || (at[0] == 0xd8 && at[1] == 0x9c);
    return len == 3 && at[0] == 0xe2 &&
           ((at[1] == 0x80 &&
             (at[2] == 0x8e || at[2] == 0x8f || (at[2] >= 0xa8 && at[2] <= 0xae))) ||
            (at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9));
}

void pd_utf8_show(char *out, size_t room, pd_bytes text)
{
    size_t len = 0, taken;
    for (size_t at = 0; at < text.len; at += taken) {
        size_t known = sequence_at(text, at);
        bool is_escaped = !known || is_control(text.ptr + at, known);
        taken = known ? known : 1;
        if (taken * (is_escaped ? 4 : 1) >= room - len)
            break;
        for (size_t i = 0; i < taken; i++)
            len += (size_t)snprintf(out + len, 5, is_escaped ? "\\x%02x" : "%c", text.ptr[at + i]);
    }
    out[len] = 0;
}
