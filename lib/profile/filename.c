#include "profile/filename.h"

#include <stdbool.h>
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

size_t pprofdelta_file_len(const char *filename, size_t len)
{
    return pd_filename_file((pd_bytes){(const uint8_t *)filename, len}).len;
}
