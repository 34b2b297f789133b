#include "profile/lookalike.h"

#include <stdbool.h>
#include <string.h>

enum { LOOKED_AT = 512, QUOTED = 40 };

static bool begins_with(pd_bytes bytes, const char *magic)
{
    size_t len = strlen(magic);
    return bytes.len >= len && memcmp(bytes.ptr, magic, len) == 0;
}

static const char *known_kind(pd_bytes bytes)
{
    static const char debug[] =
        "this is the text form of a profile, as ?debug=1 gives it; fetch it without debug";
    static const struct {
        const char *magic, *says;
    } kinds[] = {
        {"\x1f\x8b", "this is gzip data once more: compressed twice"},
        {"\x28\xb5\x2f\xfd", "this is zstd data once more: compressed twice"},
        {"\x7f\x45LF", "this is a program, not a profile of one"},
        {"PERFILE", "this is a recording by Linux perf, not a pprof profile"},
        {"\x89PDS", "this is a state that pprofdelta wrote, not a profile: --state takes it"},
        {"heap profile: ", debug},
        {"--- ", debug},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (begins_with(bytes, kinds[i].magic))
            return kinds[i].says;
    return NULL;
}

/* No control characters but those of text. Every profile has others in its first bytes. */
static bool is_text(pd_bytes bytes)
{
    size_t len = bytes.len < LOOKED_AT ? bytes.len : LOOKED_AT;
    for (size_t i = 0; i < len; i++) {
        uint8_t c = bytes.ptr[i];
        if (c == 0x7f || (c < ' ' && c != '\t' && c != '\n' && c != '\r'))
            return false;
    }
    return len > 0;
}

/* The first line, or as much of it as is quoted, ending with a whole character. */
static size_t first_line(pd_bytes text)
{
    size_t len = 0;
    while (len < text.len && text.ptr[len] != '\n' && text.ptr[len] != '\r')
        len++;
    if (len <= QUOTED)
        return len;
    len = QUOTED;
    while (len && (text.ptr[len] & 0xc0) == 0x80)
        len--;
    return len;
}

pprofdelta_status pd_lookalike_tell(pd_bytes bytes, pprofdelta_status status, pprofdelta_error *err)
{
    const uint64_t nowhere = PPROFDELTA_NOWHERE;
    const char *kind = known_kind(bytes);
    if (kind)
        return pd_fail(err, PPROFDELTA_E_PROFILE, "profile", NULL, nowhere, nowhere, "%s", kind);
    if (begins_with(bytes, "\xef\xbb\xbf")) /* a byte order mark */
        bytes = (pd_bytes){bytes.ptr + 3, bytes.len - 3};
    if (!is_text(bytes))
        return status;
    while (bytes.len && strchr(" \t\r\n", bytes.ptr[0])) {
        bytes.ptr++;
        bytes.len--;
    }
    size_t len = first_line(bytes);
    return pd_fail(err, PPROFDELTA_E_PROFILE, "profile", NULL, nowhere, nowhere,
                   "this is text, not a pprof profile; it begins with \"%.*s%s\"", (int)len,
                   (const char *)bytes.ptr,
                   len < bytes.len && bytes.ptr[len] != '\n' && bytes.ptr[len] != '\r' ? "..."
                                                                                       : "");
}
