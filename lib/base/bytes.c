/* What is found in bytes, or taken off their front: see bytes.h. */
#include "base/bytes.h"

bool pd_bytes_contain(pd_bytes bytes, const char *text)
{
    return bytes.len && memmem(bytes.ptr, bytes.len, text, strlen(text)) != NULL;
}

pd_bytes pd_bytes_take_word(pd_bytes *rest, const char *separators)
{
    pd_bytes word = {rest->ptr, 0};
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): NUL is no separator */
    while (word.len < rest->len && !memchr(separators, rest->ptr[word.len], strlen(separators)))
        word.len++;
    *rest = pd_bytes_behind(*rest, word.len + (word.len < rest->len));
    return word;
}

unsigned pd_digit_of(uint8_t c)
{
    return c >= '0' && c <= '9'   ? c - (unsigned)'0'
           : c >= 'a' && c <= 'f' ? c - (unsigned)'a' + 10
           : c >= 'A' && c <= 'F' ? c - (unsigned)'A' + 10
                                  : UINT32_MAX;
}

bool pd_bytes_take_number(pd_bytes *rest, unsigned base, uint64_t most, uint64_t *number)
{
    size_t len = 0;
    uint64_t value = 0;
    bool fits = true;
    for (; len < rest->len && pd_digit_of(rest->ptr[len]) < base; len++) {
        unsigned digit = pd_digit_of(rest->ptr[len]);
        fits &= digit <= most && value <= (most - digit) / base;
        value = value * base + digit;
    }
    *rest = pd_bytes_behind(*rest, len);
    if (len && fits)
        *number = value;
    return len && fits;
}
