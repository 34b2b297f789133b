#include "agent/base/attributes.h"

#include "agent/base/launch.h"

#include <string.h>

enum { MOST = 256 };

/* Returns the value of a hexadecimal digit, or -1. */
static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes %XX in place. Returns false if a % has no two digits behind it. */
static bool decode(char *text)
{
    char *out = text;
    while (*text) {
        if (*text != '%') {
            *out++ = *text++;
            continue;
        }
        int high = digit(text[1]), low = high < 0 ? -1 : digit(text[2]);
        if (low < 0)
            return false;
        *out++ = (char)(high << 4 | low);
        text += 3;
    }
    *out = '\0';
    return true;
}

bool pd_attributes_read(const char *text, const pprofdelta_attribute **list, size_t *len)
{
    static char kept[PD_RESOURCE_MAX];
    static pprofdelta_attribute attributes[MOST];
    size_t size = strlen(text) + 1, count = 0;
    if (size > sizeof kept)
        return false;
    memcpy(kept, text, size);
    for (char *at = kept, *next; *at; at = next) {
        next = at + strcspn(at, ",");
        if (*next)
            *next++ = '\0';
        char *value = strchr(at, '=');
        if (!value || value == at || count == MOST)
            return false;
        *value++ = '\0';
        if (!decode(at) || !decode(value) || !*at)
            return false;
        attributes[count++] = (pprofdelta_attribute){at, value};
    }
    *list = attributes;
    *len = count;
    return true;
}
