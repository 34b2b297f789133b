/* Borrowed bytes, and what is taken off their front: words and numbers. */
#ifndef PD_BASE_BYTES_H
#define PD_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct pd_bytes {
    const uint8_t *ptr;
    size_t len;
} pd_bytes;

/* A C string as a run of bytes, without its NUL. NULL is empty. */
static inline pd_bytes pd_bytes_of(const char *text)
{
    return (pd_bytes){(const uint8_t *)text, text ? strlen(text) : 0};
}

static inline bool pd_bytes_equal(pd_bytes a, pd_bytes b)
{
    return a.len == b.len && (!a.len || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* Are the bytes this text? Do they begin with it? */
static inline bool pd_bytes_are(pd_bytes bytes, const char *text)
{
    return pd_bytes_equal(bytes, pd_bytes_of(text));
}

static inline bool pd_bytes_begin(pd_bytes bytes, const char *text)
{
    size_t len = strlen(text);
    return bytes.len >= len && pd_bytes_are((pd_bytes){bytes.ptr, len}, text);
}

/* Is the text in them somewhere? */
bool pd_bytes_contain(pd_bytes bytes, const char *text);

/* What follows the first `len`. */
static inline pd_bytes pd_bytes_behind(pd_bytes bytes, size_t len)
{
    return len ? (pd_bytes){bytes.ptr + len, bytes.len - len} : bytes; /* ptr may be NULL */
}

/* The value of a digit in any base up to 16; of another character UINT32_MAX. */
unsigned pd_digit_of(uint8_t c);

/* Writes bytes in hexadecimal to out, which has room for two digits for each. Returns the length. */
static inline size_t pd_bytes_hex(pd_bytes bytes, char *out)
{
    for (size_t i = 0; i < 2 * bytes.len; i++)
        out[i] = "0123456789abcdef"[bytes.ptr[i / 2] >> (i % 2 ? 0 : 4) & 15];
    return 2 * bytes.len;
}

/* Loads what is at p into the cache. WebAssembly has no instruction for that, so there a byte of it is read. */
#ifdef __wasm__
static inline void pd_prefetch(const void *p)
{
    volatile uint8_t sink = *(const uint8_t *)p;
    (void)sink;
}
#else
static inline void pd_prefetch(const void *p)
{
    __builtin_prefetch(p, 1);
}
#endif

/* A little endian number of up to 8 bytes. */
static inline uint64_t pd_little_endian(const uint8_t *p, size_t len)
{
    uint64_t value = 0;
    while (len--)
        value = value << 8 | p[len];
    return value;
}

/* Takes the text up to one of these characters off the front, and the character. */
pd_bytes pd_bytes_take_word(pd_bytes *rest, const char *separators);

/* Takes the digits off the front. Returns whether there are some and their number is at most `most`; if not,
 * *number is unchanged. Digits are those of ASCII in every locale. */
bool pd_bytes_take_number(pd_bytes *rest, unsigned base, uint64_t most, uint64_t *number);

#endif
