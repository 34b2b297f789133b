#include "profile/lookalike.h"

#include "profile/fields.h"
#include "wire/reader.h"

#include <stdbool.h>
#include <string.h>

static bool has(pd_bytes bytes, size_t off, const char *magic, size_t len)
{
    return bytes.len >= off + len && memcmp(bytes.ptr + off, magic, len) == 0;
}

static bool contains(pd_bytes bytes, const char *part)
{
    for (size_t i = 0; i < bytes.len; i++)
        if (has(bytes, i, part, strlen(part)))
            return true;
    return false;
}

/* Ignores case. part is in lower case. */
static bool begins_with_tag(pd_bytes text, const char *part)
{
    size_t len = strlen(part);
    if (text.len < len)
        return false;
    for (size_t i = 0; i < len; i++) {
        uint8_t c = text.ptr[i];
        if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != part[i])
            return false;
    }
    return text.len == len || strchr(" \t\r\n>/", text.ptr[len]);
}

static pd_bytes behind(pd_bytes bytes, size_t len)
{
    return (pd_bytes){bytes.ptr + len, bytes.len - len};
}

/* ---- binary data ------------------------------------------------------------------------- */

#define MAGIC(string) string, sizeof(string) - 1

#define NOT      ", not a pprof profile"
#define TAKE_OUT NOT ": extract the profile from it"
#define CONVERT  NOT ": only gzip and zstd are inflated"
#define PROGRAM  ", not a profile of one"
#define KNOWN    PPROFDELTA_FILE_OTHER

static const struct {
    size_t off;
    const char *magic;
    size_t len;
    pd_lookalike is;
} binaries[] = {
    {0, MAGIC("\x1f\x8b"), {KNOWN, "gzip data once more", ": compressed twice"}},
    {0, MAGIC("\x28\xb5\x2f\xfd"), {KNOWN, "zstd data once more", ": compressed twice"}},
    {0,
     MAGIC("\x89PDS"),
     {PPROFDELTA_FILE_STATE, "a state that pprofdelta wrote", ", not a profile"}},
    {257, MAGIC("ustar"), {KNOWN, "a tar archive", TAKE_OUT}},
    {0, MAGIC("PK\3\4"), {KNOWN, "a zip archive", TAKE_OUT}},
    {0, MAGIC("PK\5\6"), {KNOWN, "an empty zip archive", NOT}},
    {0, MAGIC("7z\xbc\xaf\x27\x1c"), {KNOWN, "a 7z archive", TAKE_OUT}},
    {0, MAGIC("Rar!\x1a\7"), {KNOWN, "a rar archive", TAKE_OUT}},
    {0, MAGIC("!<arch>\n"), {KNOWN, "an ar archive (a library or a Debian package)", NOT}},
    {0,
     MAGIC("\xfd"
           "7zXZ\0"),
     {KNOWN, "xz data", CONVERT}},
    {0, MAGIC("\x04\x22\x4d\x18"), {KNOWN, "lz4 data", CONVERT}},
    {0, MAGIC("\xff\6\0\0sNaPpY"), {KNOWN, "snappy data", CONVERT}},
    {0, MAGIC("PERFILE"), {KNOWN, "a recording by Linux perf", NOT}},
    {0, MAGIC("FLR\0"), {KNOWN, "a recording by Java Flight Recorder", NOT}},
    {0, MAGIC("JAVA PROFILE 1.0"), {KNOWN, "a Java heap dump", NOT}},
    {0, MAGIC("go1.7 heap dump\n"), {KNOWN, "a heap dump by Go's debug.WriteHeapDump", NOT}},
    {0,
     MAGIC("\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
     {KNOWN, "a CPU profile in the old form of gperftools", ": pprof -proto converts it"}},
    {0,
     MAGIC("\0\0\0\0\3\0\0\0\0\0\0\0"),
     {KNOWN, "a CPU profile in the old form of gperftools", ": pprof -proto converts it"}},
    {0, MAGIC("\xcf\xfa\xed\xfe"), {KNOWN, "a program", PROGRAM}},
    {0, MAGIC("\x89PNG\r\n\x1a\n"), {KNOWN, "a PNG image", NOT}},
    {0, MAGIC("\xff\xd8\xff"), {KNOWN, "a JPEG image", NOT}},
    {0, MAGIC("GIF8"), {KNOWN, "a GIF image", NOT}},
    {0, MAGIC("%PDF-"), {KNOWN, "a PDF document", NOT}},
    {0, MAGIC("SQLite format 3\0"), {KNOWN, "an SQLite database", NOT}},
};

/* "go 1.22 trace" */
static bool is_trace(pd_bytes bytes)
{
    enum { INTRO = 16 };
    pd_bytes intro = {bytes.ptr, bytes.len < INTRO ? bytes.len : INTRO};
    return has(bytes, 0, MAGIC("go 1.")) && contains(intro, " trace");
}

static bool is_core(pd_bytes elf)
{
    enum { BYTE_ORDER = 5, BIG = 2, TYPE = 16, CORE = 4 };
    if (elf.len < TYPE + 2)
        return false;
    bool is_big = elf.ptr[BYTE_ORDER] == BIG;
    return elf.ptr[TYPE + is_big] == CORE && !elf.ptr[TYPE + !is_big];
}

static bool find_binary(pd_bytes bytes, pd_lookalike *out)
{
    for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++) {
        if (!has(bytes, binaries[i].off, binaries[i].magic, binaries[i].len))
            continue;
        *out = binaries[i].is;
        return true;
    }
    if (is_trace(bytes))
        *out = (pd_lookalike){KNOWN, "an execution trace of Go", NOT ": go tool trace reads it"};
    else if (!has(bytes, 0,
                  MAGIC("\x7f"
                        "ELF")))
        return false;
    else if (is_core(bytes))
        *out = (pd_lookalike){KNOWN, "a core dump", NOT};
    else
        *out = (pd_lookalike){KNOWN, "a program", PROGRAM};
    return true;
}

/* ---- text -------------------------------------------------------------------------------- */

/* No control characters except those of text. Every profile has others in its first bytes. */
static bool is_text(pd_bytes bytes)
{
    size_t len = bytes.len < PD_LOOKALIKE_HEAD ? bytes.len : PD_LOOKALIKE_HEAD;
    for (size_t i = 0; i < len; i++) {
        uint8_t c = bytes.ptr[i];
        if (c == 0x7f || (c < ' ' && c != '\t' && c != '\n' && c != '\r'))
            return false;
    }
    return len > 0;
}

/* The text after a byte order mark and white space. */
static pd_bytes first_word(pd_bytes text)
{
    if (has(text, 0, MAGIC("\xef\xbb\xbf")))
        text = behind(text, 3);
    while (text.len && strchr(" \t\r\n", text.ptr[0]))
        text = behind(text, 1);
    return text;
}

static bool is_html(pd_bytes text)
{
    static const char *const tags[] = {"<!doctype html", "<html", "<head", "<title",
                                       "<body",          "<h1",   "<pre"};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        if (begins_with_tag(text, tags[i]))
            return true;
    return false;
}

/* An object, or an array with something that an array can begin with. "[section]" is not one. */
static bool is_json(pd_bytes text)
{
    if (!text.len || (text.ptr[0] != '{' && text.ptr[0] != '['))
        return false;
    bool is_object = text.ptr[0] == '{';
    text = first_word(behind(text, 1));
    return text.len && text.ptr[0] && strchr(is_object ? "\"}" : "{[\"]-0123456789", text.ptr[0]);
}

/* "goroutine profile: total 12", and the same for other profiles of counts. */
static bool is_count(pd_bytes text)
{
    size_t len = 0;
    while (len < text.len && text.ptr[len] != '\n')
        len++;
    return contains((pd_bytes){text.ptr, len}, " profile: total ");
}

static pd_lookalike text_kind(pd_bytes text)
{
    static const char debug[] = "; fetch it without debug";
    if (is_html(text))
        return (pd_lookalike){PPROFDELTA_FILE_HTML, "an HTML page", NOT};
    if (is_json(text))
        return (pd_lookalike){KNOWN, "JSON", NOT};
    if (has(text, 0, MAGIC("<?xml")) || has(text, 0, MAGIC("<svg")))
        return (pd_lookalike){KNOWN, "an XML document", NOT};
    if (has(text, 0, MAGIC("version https://git-lfs")))
        return (pd_lookalike){KNOWN, "a pointer of Git LFS", NOT ": git lfs pull fetches it"};
    if (has(text, 0, MAGIC("heap_v2/")))
        return (pd_lookalike){KNOWN, "a heap profile as text", ", but of an unknown form"};
    if (has(text, 0, MAGIC("heap profile: ")) || has(text, 0, MAGIC("--- ")) || is_count(text))
        return (pd_lookalike){KNOWN, "the text form of a profile, as ?debug=1 gives it", debug};
    if (has(text, 0, MAGIC("goroutine ")) && contains(text, "]:\n"))
        return (pd_lookalike){KNOWN, "a list of goroutines, as ?debug=2 gives it", debug};
    return (pd_lookalike){KNOWN, "text", NOT};
}

/* ---- profiles ---------------------------------------------------------------------------- */

static bool is_field_of_profile(uint8_t tag)
{
    uint32_t number = tag >> 3, wire = tag & 7;
    if (number <= PD_PROFILE_STRING_TABLE || number == PD_PROFILE_PERIOD_TYPE)
        return number && wire == PD_WIRE_BYTES;
    return wire == PD_WIRE_VARINT || (number == PD_PROFILE_COMMENT && wire == PD_WIRE_BYTES);
}

/* Whether these are the first bytes of a profile. All fields are well-formed, at least one has a
 * number that profiles have, and those have the right wire type. The last may be truncated. */
static bool is_profile(pd_bytes head)
{
    pd_reader r = pd_reader_of(head.ptr, head.len);
    pd_field f = {.number = 0};
    bool is_one = false;
    for (bool goes_on = true; goes_on && r.at != r.end;) {
        const uint8_t *tag = r.at;
        goes_on = pd_reader_next(&r, &f);
        if (!goes_on && pd_reader_lacks(&r) <= (uint64_t)(r.end - r.at))
            return false;
        if (*tag < 0x80 && !is_field_of_profile(*tag))
            return false;
        is_one |= *tag < 0x80;
    }
    return is_one;
}

/* What a profile begins with: the empty string, a value type, or another message. Each message has
 * fields from 1 up to at most 10, which are numbers or bytes. */
static bool may_be_body(uint8_t tag, uint64_t len, pd_bytes body)
{
    if (tag >> 3 == PD_PROFILE_STRING_TABLE)
        return !len;
    if (tag >> 3 == PD_PROFILE_COMMENT || !len || !body.len)
        return true;
    uint32_t number = body.ptr[0] >> 3, wire = body.ptr[0] & 7;
    return number && number <= PD_MAPPING_HAS_INLINE_FRAMES &&
           (wire == PD_WIRE_VARINT || wire == PD_WIRE_BYTES);
}

/* Whether a profile may begin so, which may be damaged later. The first field that is bytes decides.
 * In front of it are well-formed numbers and unknown fields. */
static bool begins_as_profile(pd_bytes head)
{
    pd_reader r = pd_reader_of(head.ptr, head.len);
    pd_field f;
    while (r.at != r.end) {
        const uint8_t *tag = r.at;
        bool is_whole = pd_reader_next(&r, &f), is_known = *tag < 0x80;
        if ((is_known && !is_field_of_profile(*tag)) ||
            (!is_whole && pd_reader_lacks(&r) <= (uint64_t)(r.end - r.at)))
            return false;
        if (is_known && (*tag & 7) == PD_WIRE_BYTES) {
            uint64_t len = 0;
            const uint8_t *body = pd_varint_decode(tag + 1, r.end, &len);
            return !body || may_be_body(*tag, len, (pd_bytes){body, (size_t)(r.end - body)});
        }
        if (!is_whole)
            return is_known;
    }
    return true;
}

/* ---- the result -------------------------------------------------------------------------- */

pd_lookalike pd_lookalike_of(pd_bytes bytes)
{
    pd_lookalike found = {PPROFDELTA_FILE_UNKNOWN, "data of an unknown kind", NULL};
    if (bytes.len > PD_LOOKALIKE_HEAD)
        bytes.len = PD_LOOKALIKE_HEAD;
    if (!bytes.len)
        return (pd_lookalike){PPROFDELTA_FILE_EMPTY, "an empty file", NULL};
    if (find_binary(bytes, &found))
        return found;
    if (is_text(bytes))
        return text_kind(first_word(bytes));
    if (has(bytes, 0, MAGIC("BZh")))
        return (pd_lookalike){KNOWN, "bzip2 data", CONVERT};
    if (has(bytes, 0, MAGIC("MZ")))
        return (pd_lookalike){KNOWN, "a program", PROGRAM};
    if (is_profile(bytes))
        return (pd_lookalike){PPROFDELTA_FILE_PROFILE, "a pprof profile", NULL};
    return found;
}

pprofdelta_status pd_lookalike_tell(pd_bytes bytes, pprofdelta_status status, pprofdelta_error *err)
{
    const uint64_t nowhere = PPROFDELTA_NOWHERE;
    pd_lookalike what = pd_lookalike_of(bytes);
    pd_bytes head = {bytes.ptr, bytes.len < PD_LOOKALIKE_HEAD ? bytes.len : PD_LOOKALIKE_HEAD};
    if (!what.rest && err && what.kind == PPROFDELTA_FILE_UNKNOWN && !begins_as_profile(head)) {
        pprofdelta_error why = *err;
        return pd_fail(err, status, why.stage, NULL, nowhere, why.offset,
                       "not a pprof profile: %s%s%s", why.field, *why.field ? ": " : "", why.text);
    }
    if (!what.rest)
        return status;
    pprofdelta_reason reason =
        what.kind == PPROFDELTA_FILE_STATE ? PPROFDELTA_REASON_IS_STATE : PPROFDELTA_REASON_NONE;
    return pd_because(err, reason,
                      pd_fail(err, PPROFDELTA_E_PROFILE, "profile", NULL, nowhere, nowhere,
                              "this is %s%s", what.name, what.rest));
}
