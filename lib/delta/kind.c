#include "delta/kind.h"

#include "profile/fields.h"
#include "text/records.h"
#include "wire/reader.h"

enum { SHORT = 512, LONG = 16 << 10 }; /* bytes that are examined; LONG: of an OTLP request */

static pd_bytes first(pd_bytes bytes, size_t most)
{
    return (pd_bytes){bytes.ptr, bytes.len < most ? bytes.len : most};
}

static bool has(pd_bytes bytes, size_t off, const char *magic, size_t len)
{
    return bytes.len >= off + len && memcmp(bytes.ptr + off, magic, len) == 0;
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

/* ---- other kinds ------------------------------------------------------------------------- */

#define MAGIC(string) string, sizeof(string) - 1

#define NOT      ", not a pprof profile"
#define TAKE_OUT NOT ": extract the profile from it"
#define CONVERT  NOT ": only gzip and zstd are inflated"
#define DEBUG_1  "the text form of a profile, as ?debug=1 gives it"
#define PROTO    ": pprof -proto converts it"
#define OLD      NOT PROTO
#define OLD_TEXT "in an old text form"
#define NO_DEBUG "; fetch it without debug"

/* What is of another kind if it begins so. */
typedef struct row {
    const char *magic;
    size_t len;
    const char *name, *rest; /* as in pd_kind */
} row;

static const row binaries[] = {
    {MAGIC("\x1f\x8b"), "gzip data once more", ": compressed twice"},
    {MAGIC("\x28\xb5\x2f\xfd"), "zstd data once more", ": compressed twice"},
    {MAGIC("PK\3\4"), "a zip archive", TAKE_OUT},
    {MAGIC("PK\5\6"), "an empty zip archive", NOT},
    {MAGIC("7z\xbc\xaf\x27\x1c"), "a 7z archive", TAKE_OUT},
    {MAGIC("Rar!\x1a\7"), "a rar archive", TAKE_OUT},
    {MAGIC("!<arch>\n"), "an ar archive (a library or a Debian package)", NOT},
    {MAGIC("\3757zXZ\0"), "xz data", CONVERT},
    {MAGIC("\x04\x22\x4d\x18"), "lz4 data", CONVERT},
    {MAGIC("\xff\6\0\0sNaPpY"), "snappy data", CONVERT},
    {MAGIC("PERFILE"), "a recording by Linux perf", NOT},
    {MAGIC("FLR\0"), "a recording by Java Flight Recorder", NOT},
    {MAGIC("JAVA PROFILE 1.0"), "a Java heap dump", NOT},
    {MAGIC("go1.7 heap dump\n"), "a heap dump by Go's debug.WriteHeapDump", NOT},
    {MAGIC("\xcf\xfa\xed\xfe"), "a program", ", not a profile of one"},
    {MAGIC("\177ELF"), "a program or a core dump", NOT},
    {MAGIC("\x89PNG\r\n\x1a\n"), "a PNG image", NOT},
    {MAGIC("\xff\xd8\xff"), "a JPEG image", NOT},
    {MAGIC("GIF8"), "a GIF image", NOT},
    {MAGIC("%PDF-"), "a PDF document", NOT},
    {MAGIC("SQLite format 3\0"), "an SQLite database", NOT},
};

static const row texts[] = {
    {MAGIC("<?xml"), "an XML document", NOT},
    {MAGIC("<svg"), "an XML document", NOT},
    {MAGIC("version https://git-lfs"), "a pointer of Git LFS", NOT ": git lfs pull fetches it"},
    {MAGIC("heap_v2/"), "a heap profile as text", ", but of an unknown form"},
    {MAGIC("--- mutex:"), DEBUG_1, NO_DEBUG},
    {MAGIC("--- contention:"), DEBUG_1, NO_DEBUG},
    {MAGIC("--- contentionz "), "a contention profile " OLD_TEXT " (contentionz)", OLD},
    {MAGIC("--- threadz "), "a list of threads " OLD_TEXT " (threadz)", OLD},
    {MAGIC("--- Thread "), "a list of threads " OLD_TEXT " (threadz)", OLD},
};

/* What is behind the "@" of "heap profile: 1: 2 [3: 4] @ heap/1048576". */
static const row heaps[] = {
    {MAGIC("growth"), "a heap growth profile " OLD_TEXT " (growthz)", OLD},
    {MAGIC("fragmentation"), "a heap fragmentation profile " OLD_TEXT " (fragmentationz)", OLD},
    {MAGIC("heap/"), "a heap profile " OLD_TEXT " (heapz)", OLD},
};

/* These are only known if it is no text. */
static const row short_magics[] = {
    {MAGIC("BZh"), "bzip2 data", CONVERT},
    {MAGIC("MZ"), "a program", ", not a profile of one"},
    {MAGIC("go 1."), "an execution trace of Go", NOT ": go tool trace reads it"},
};

#define FIND(bytes, rows, out) find(bytes, rows, sizeof(rows) / sizeof *(rows), out)

static bool find(pd_bytes bytes, const row *rows, size_t len, pd_kind *out)
{
    for (size_t i = 0; i < len; i++)
        if (has(bytes, 0, rows[i].magic, rows[i].len)) {
            *out = (pd_kind){PPROFDELTA_FILE_OTHER, rows[i].name, rows[i].rest};
            return true;
        }
    return false;
}

/* ---- text -------------------------------------------------------------------------------- */

/* No control characters except those of text. Every profile has others in its first bytes. */
static bool is_text(pd_bytes bytes)
{
    for (size_t i = 0; i < bytes.len; i++) {
        uint8_t c = bytes.ptr[i];
        if (c == 0x7f || (c < ' ' && c != '\t' && c != '\n' && c != '\r'))
            return false;
    }
    return bytes.len > 0;
}

/* The text after a byte order mark and white space. */
static pd_bytes first_word(pd_bytes text)
{
    if (has(text, 0, MAGIC("\xef\xbb\xbf")))
        text = pd_bytes_behind(text, 3);
    while (text.len && strchr(" \t\r\n", text.ptr[0]))
        text = pd_bytes_behind(text, 1);
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
    text = first_word(pd_bytes_behind(text, 1));
    return text.len && text.ptr[0] && strchr(is_object ? "\"}" : "{[\"]-0123456789", text.ptr[0]);
}

/* "goroutine profile: total 12", and the same for other profiles of counts. */
static bool is_count(pd_bytes text)
{
    size_t len = 0;
    while (len < text.len && text.ptr[len] != '\n')
        len++;
    return pd_bytes_contain((pd_bytes){text.ptr, len}, " profile: total ");
}

/* A heap profile in text form that no allocator writes into a file. Go's has no columns, and has the frames of
 * each stack as comments. */
static void find_heap(pd_bytes text, pd_kind *out)
{
    const uint8_t *at = memchr(text.ptr, '@', text.len);
    pd_bytes kind = first_word(pd_bytes_behind(text, at ? (size_t)(at - text.ptr) + 1 : text.len));
    bool is_of_go = pd_bytes_contain(text, "\n#") || !pd_bytes_contain(text, "  ");
    *out = (pd_kind){PPROFDELTA_FILE_OTHER, DEBUG_1, NO_DEBUG};
    if (!is_of_go || !has(kind, 0, MAGIC("heap/")))
        FIND(kind, heaps, out);
}

static pd_kind text_kind(pd_bytes text)
{
    pd_kind found = {PPROFDELTA_FILE_OTHER, "text", NOT};
    if (is_html(text))
        return (pd_kind){PPROFDELTA_FILE_HTML, "an HTML page", NOT};
    if (is_json(text))
        return (pd_kind){PPROFDELTA_FILE_OTHER, "JSON", NOT};
    if (is_count(text))
        return (pd_kind){PPROFDELTA_FILE_OTHER, DEBUG_1, NO_DEBUG};
    if (has(text, 0, MAGIC("goroutine ")) && pd_bytes_contain(text, "]:\n"))
        return (pd_kind){PPROFDELTA_FILE_OTHER, "a list of goroutines, as ?debug=2 gives it",
                         NO_DEBUG};
    if (has(text, 0, MAGIC("heap profile: ")))
        find_heap(text, &found);
    FIND(text, texts, &found);
    return found;
}

/* ---- profiles ---------------------------------------------------------------------------- */

static bool is_field_of_profile(uint8_t tag)
{
    uint32_t number = tag >> 3, wire = tag & 7;
    if (number <= PD_PROFILE_STRING_TABLE || number == PD_PROFILE_PERIOD_TYPE)
        return number && wire == PD_WIRE_BYTES;
    return wire == PD_WIRE_VARINT || (number == PD_PROFILE_COMMENT && wire == PD_WIRE_BYTES);
}

/* The fields that a profile has, up to the end of the bytes or to what no profile has: a field that is not
 * well-formed, or one with a number that profiles have and the wrong wire type. */
typedef struct fields {
    size_t len;    /* all */
    size_t whole;  /* but for a last one that is cut off */
    bool is_sound; /* up to the end */
} fields;

static fields fields_of(pd_bytes head)
{
    pd_reader r = pd_reader_of(head.ptr, head.len);
    pd_field f = {.number = 0};
    fields found = {.is_sound = true};
    for (bool goes_on = true; goes_on && r.at != r.end;) {
        const uint8_t *tag = r.at;
        bool is_known = *tag < 0x80;
        goes_on = pd_reader_next(&r, &f);
        found.is_sound = (goes_on || pd_reader_lacks(&r) > (uint64_t)(r.end - r.at)) &&
                         (!is_known || is_field_of_profile(*tag));
        if (!found.is_sound)
            break;
        found.len += is_known;
        found.whole += is_known && goes_on;
    }
    return found;
}

/* Random bytes hardly ever have the first fields of a profile. */
static bool is_foreign(pd_bytes head)
{
    enum { FEW = 3 };
    fields found = fields_of(head);
    return found.whole == 0 || (found.whole < FEW && !found.is_sound);
}

/* ---- OTLP requests ----------------------------------------------------------------------- */

/* A profile and a request both begin with a field 1 and have a field 2, both length-delimited. What is
 * in them differs, and a profile has fields that a request has not:
 *
 *     field       profile                        request
 *     1           sample type: two varints       resource_profiles: three submessages
 *     2           sample: varints and labels     dictionary: up to seven tables
 *     3 to 15     tables, strings, times         none
 *
 * Usually the first bytes of the first field decide. */
typedef enum guess { OPEN, PROFILE, REQUEST } guess;

/* The first field of a sample type is a varint, and the first of resource_profiles is not. */
static guess guess_first(pd_reader r)
{
    pd_field f = {.number = 0};
    bool is_whole = pd_reader_next(&r, &f);
    if (!is_whole && (r.at == r.end || pd_reader_lacks(&r) <= (uint64_t)(r.end - r.at)))
        return OPEN;
    uint32_t number = is_whole ? f.number : *r.at >> 3, wire = is_whole ? f.wire : *r.at & 7;
    if (number > PD_OTLP_RESOURCE_PROFILES_SCHEMA_URL)
        return OPEN;
    return wire == PD_WIRE_BYTES ? REQUEST : PROFILE;
}

/* A dictionary has tables beyond the three fields of a sample. If the bytes end before these, it is
 * known by its first entry, the empty mapping: encoders write no empty list of locations. */
static guess guess_second(pd_reader r, bool is_whole)
{
    pd_field f;
    const uint8_t empty[] = {PD_OTLP_DICTIONARY_MAPPING_TABLE << 3 | PD_WIRE_BYTES, 0};
    bool begins_empty = r.end - r.at > 2 && !memcmp(r.at, empty, sizeof empty);
    while (pd_reader_next(&r, &f)) {
        bool is_part = f.wire == PD_WIRE_BYTES;
        if (f.number <= PD_SAMPLE_LABEL && !is_part)
            return PROFILE;
        if (f.number > PD_SAMPLE_LABEL && f.number <= PD_OTLP_DICTIONARY_STACK_TABLE)
            return is_part ? REQUEST : OPEN;
    }
    return begins_empty && !is_whole ? REQUEST : OPEN;
}

static guess guess_field(const pd_field *f, bool is_whole)
{
    if (f->number > PD_PROFILE_DOC_URL)
        return OPEN;
    if (f->number > PD_OTLP_REQUEST_DICTIONARY || f->wire != PD_WIRE_BYTES)
        return PROFILE;
    return f->number == PD_OTLP_REQUEST_DICTIONARY ? guess_second(f->body, is_whole)
                                                   : guess_first(f->body);
}

/* A field whose end is missing, as if it ended where the bytes end. */
static bool cut_field(pd_reader *r, pd_field *f)
{
    uint64_t tag, len;
    if (r->at == r->end || pd_reader_lacks(r) <= (uint64_t)(r->end - r->at))
        return false;
    const uint8_t *p = pd_varint_decode(r->at, r->end, &tag);
    if (!p || (tag & 7) != PD_WIRE_BYTES || tag >> 3 > PD_PROFILE_DOC_URL ||
        !(p = pd_varint_decode(p, r->end, &len)))
        return false;
    *f = (pd_field){.start = r->at,
                    .number = (uint32_t)tag >> 3,
                    .wire = PD_WIRE_BYTES,
                    .body = pd_reader_of(p, (size_t)(r->end - p))};
    return true;
}

/* A profile that is damaged in its first sample type must not pass for a request: the fields
 * after it decide with it. */
static bool is_request(pd_bytes bytes)
{
    pd_reader r = pd_reader_of(bytes.ptr, bytes.len);
    pd_field f;
    bool is_one = false, is_whole = true;
    size_t dictionaries = 0;
    while (is_whole) {
        is_whole = pd_reader_next(&r, &f);
        if (!is_whole && !cut_field(&r, &f))
            break;
        guess found = guess_field(&f, is_whole);
        dictionaries += f.number == PD_OTLP_REQUEST_DICTIONARY;
        if (found == PROFILE || dictionaries > 2) /* a request has one; samples are many */
            return false;
        is_one |= found == REQUEST;
    }
    return is_one;
}

/* The Collector's file exporter writes the length of each request before it, as 4 bytes. With a compression,
 * each is a zstd frame. */
static bool is_stream(pd_bytes bytes)
{
    if (bytes.len < 4)
        return false;
    size_t len = 0;
    for (size_t i = 0; i < 4; i++)
        len = len << 8 | bytes.ptr[i];
    pd_bytes request = first(pd_bytes_behind(bytes, 4), len);
    return has(request, 0, MAGIC("\x28\xb5\x2f\xfd")) || is_request(request);
}

/* ---- CPU profiles of gperftools -------------------------------------------------------------- */

/* Words of 4 or 8 bytes in the order of the machine: 0, 3, 0 (1: of Java), the period, 0. */
static bool is_cpu_profile(pd_bytes bytes, size_t size, bool is_big)
{
    uint64_t words[5] = {0};
    for (size_t i = 0; i < 5 * size && bytes.len >= 5 * size; i++) {
        size_t byte = is_big ? size - 1 - i % size : i % size;
        words[i / size] |= (uint64_t)bytes.ptr[i] << 8 * byte;
    }
    return !words[0] && words[1] == 3 && words[2] < 2 && words[3] && !words[4];
}

static bool is_any_cpu_profile(pd_bytes bytes)
{
    return is_cpu_profile(bytes, 4, false) || is_cpu_profile(bytes, 4, true) ||
           is_cpu_profile(bytes, 8, false) || is_cpu_profile(bytes, 8, true);
}

/* ---- the result -------------------------------------------------------------------------- */

pd_kind pd_kind_of(pd_bytes bytes)
{
    pd_kind found = {PPROFDELTA_FILE_UNKNOWN, "data of an unknown kind", NULL};
    pd_bytes head = first(bytes, SHORT);
    pd_records records;
    if (!bytes.len)
        return (pd_kind){PPROFDELTA_FILE_EMPTY, "an empty file", NULL};
    if (has(head, 0, MAGIC("\x89PDS")))
        return (pd_kind){PPROFDELTA_FILE_STATE, "a state that pprofdelta wrote", ", not a profile"};
    if (has(head, 0, MAGIC("ARROW1\0\0")))
        return (pd_kind){PPROFDELTA_FILE_ARROW, "an Arrow file", NOT};
    if (has(head, 257, MAGIC("ustar")))
        return (pd_kind){PPROFDELTA_FILE_OTHER, "a tar archive", TAKE_OUT};
    if (FIND(head, binaries, &found))
        return found;
    if (has(head, 0, MAGIC("heap")) && pd_records_begin(&records, first(bytes, LONG)))
        return (pd_kind){PPROFDELTA_FILE_TEXT, "a heap profile as text", NULL};
    if (is_any_cpu_profile(head))
        return (pd_kind){PPROFDELTA_FILE_OTHER, "a CPU profile in the old form of gperftools",
                         PROTO};
    if (is_text(head))
        return text_kind(first_word(first(bytes, LONG)));
    if (FIND(head, short_magics, &found))
        return found;
    if (is_request(first(bytes, LONG)))
        return (pd_kind){PPROFDELTA_FILE_OTLP, "an OTLP request", NULL};
    fields found_fields = fields_of(head);
    if (found_fields.len && found_fields.is_sound)
        return (pd_kind){PPROFDELTA_FILE_PROFILE, "a pprof profile", NULL};
    if (is_stream(first(bytes, LONG)))
        return (pd_kind){PPROFDELTA_FILE_OTHER,
                         "a stream of OTLP requests, as the Collector's file exporter writes it",
                         ", not one request: split it (4 bytes with its length are before each)"};
    return found;
}

/* The field that the bytes were taken for means nothing. */
static void tell_foreign(pprofdelta_error *err)
{
    static const char foreign[] = "not a pprof profile: ";
    memmove(err->text + sizeof foreign - 1, err->text, sizeof err->text - sizeof foreign);
    memcpy(err->text, foreign, sizeof foreign - 1);
    err->text[sizeof err->text - 1] = err->field[0] = 0;
    err->element = PPROFDELTA_NOWHERE;
}

pprofdelta_status pd_kind_tell(pd_bytes bytes, pprofdelta_status status, pprofdelta_error *err)
{
    pd_kind what = pd_kind_of(bytes);
    pprofdelta_reason reason =
        what.kind == PPROFDELTA_FILE_STATE ? PPROFDELTA_REASON_IS_STATE : PPROFDELTA_REASON_NONE;
    bool is_none = what.kind == PPROFDELTA_FILE_UNKNOWN || what.kind == PPROFDELTA_FILE_PROFILE;
    if (is_none && is_foreign(first(bytes, SHORT)) && err)
        tell_foreign(err);
    if (!what.rest)
        return status;
    return pd_because(
        err, reason,
        PD_FAIL(err, PPROFDELTA_E_PROFILE, "profile", NULL, "this is %s%s", what.name, what.rest));
}
