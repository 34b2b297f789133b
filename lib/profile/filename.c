#include "profile/filename.h"

#include <string.h>

static bool equals(pd_bytes s, const char *text)
{
    return s.len == strlen(text) && memcmp(s.ptr, text, s.len) == 0;
}

static bool begins(pd_bytes s, const char *text)
{
    size_t len = strlen(text);
    return s.len >= len && memcmp(s.ptr, text, len) == 0;
}

static bool is_one_of(pd_bytes s, const char *const *texts, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (equals(s, texts[i]))
            return true;
    return false;
}

static bool begins_with_one_of(pd_bytes s, const char *const *texts, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (begins(s, texts[i]))
            return true;
    return false;
}

#define LEN(array) (sizeof(array) / sizeof *(array))

static bool is_hex(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* "/SYSV" and a key of 8 digits. */
static bool is_sysv_memory(pd_bytes name)
{
    static const char head[] = "/SYSV";
    const size_t head_len = sizeof head - 1;
    if (!begins(name, head) || name.len != head_len + 8)
        return false;
    for (size_t i = head_len; i < name.len; i++)
        if (!is_hex(name.ptr[i]))
            return false;
    return true;
}

static bool is_device(pd_bytes name)
{
    static const char *const folders[] = {"/dev/shm/", "/dev/hugepages/"};
    return begins(name, "/dev/") && !begins_with_one_of(name, folders, LEN(folders));
}

/* `name` has no mark. */
static bool is_made_up(pd_bytes name)
{
    static const char *const once[] = {"[vdso]", "[vsyscall]", "[vectors]", "[sigpage]"};
    static const char *const names[] = {"//anon", "/anon_hugepage", "/secretmem", "/[aio]"};
    static const char *const heads[] = {"/memfd:", "/dmabuf:", "anon_inode:", "socket:["};
    if (!name.len)
        return true;
    if (name.ptr[0] == '[')
        return !is_one_of(name, once, LEN(once));
    return is_one_of(name, names, LEN(names)) || begins_with_one_of(name, heads, LEN(heads)) ||
           is_sysv_memory(name) || is_device(name);
}

pd_bytes pd_filename_unmarked(pd_bytes name)
{
    static const char mark[] = " (deleted)";
    const size_t len = sizeof mark - 1;
    while (name.len >= len && memcmp(name.ptr + name.len - len, mark, len) == 0)
        name.len -= len;
    return name;
}

pd_bytes pd_filename_file(pd_bytes name)
{
    pd_bytes file = pd_filename_unmarked(name);
    return is_made_up(file) ? (pd_bytes){NULL, 0} : file;
}

/* ---- services ---------------------------------------------------------------------------------- */

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* The name of the file without its folder. */
static pd_bytes base_name(pd_bytes name)
{
    size_t from = name.len;
    while (from && name.ptr[from - 1] != '/')
        from--;
    return (pd_bytes){name.ptr + from, name.len - from};
}

static bool is_separator(uint8_t c)
{
    static const char separators[] = "-_.+@~ []";
    return c && strchr(separators, c);
}

/* Takes the next word off the front. */
static pd_bytes take_word(pd_bytes *rest)
{
    pd_bytes word = {rest->ptr, 0};
    while (word.len < rest->len && !is_separator(rest->ptr[word.len]))
        word.len++;
    size_t used = word.len + (word.len < rest->len);
    *rest = (pd_bytes){rest->ptr + used, rest->len - used};
    return word;
}

/* Is the word a part of a version, or the hash of a commit? */
static bool is_version(pd_bytes word)
{
    size_t digits = 0, hex = 0;
    for (size_t i = 0; i < word.len; i++) {
        digits += is_digit(word.ptr[i]);
        hex += is_hex(word.ptr[i]);
    }
    return !word.len || digits || (word.len >= 7 && hex == word.len);
}

static pd_bytes first_word(pd_bytes *rest)
{
    pd_bytes word = take_word(rest);
    while (word.len && is_digit(word.ptr[word.len - 1]))
        word.len--;
    return word;
}

static pd_bytes later_word(pd_bytes *rest)
{
    while (rest->len) {
        pd_bytes word = take_word(rest);
        if (!is_version(word))
            return word;
    }
    return *rest;
}

static bool is_same(pd_bytes a, pd_bytes b)
{
    return a.len == b.len && (!a.len || memcmp(a.ptr, b.ptr, a.len) == 0);
}

bool pd_filename_may_be_one_service(pd_bytes a, pd_bytes b)
{
    pd_bytes file_a = pd_filename_file(a), file_b = pd_filename_file(b);
    if (!file_a.len || !file_b.len)
        return true;
    pd_bytes rest_a = base_name(file_a), rest_b = base_name(file_b);
    pd_bytes word_a = first_word(&rest_a), word_b = first_word(&rest_b);
    if (!word_a.len || !word_b.len)
        return true;
    while (is_same(word_a, word_b)) {
        if (!word_a.len)
            return true;
        word_a = later_word(&rest_a);
        word_b = later_word(&rest_b);
    }
    return false;
}

size_t pprofdelta_file_len(const char *filename, size_t len)
{
    return pd_filename_file((pd_bytes){(const uint8_t *)filename, len}).len;
}
