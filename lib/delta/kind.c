#include "delta/kind.h"

#include "otlp/request.h"
#include "profile/fields.h"
#include "profile/samples.h"
#include "text/records.h"

static pd_bytes first_bytes(pd_bytes bytes, size_t most)
{
    return (pd_bytes){bytes.ptr, bytes.len < most ? bytes.len : most};
}

/* ---- names ------------------------------------------------------------------------------- */

#define NOT      ", not a pprof profile"
#define TAKE_OUT NOT ": extract the profile from it"
#define CONVERT  NOT ": only gzip and zstd are inflated"
#define NO_DEBUG "; fetch it without debug"
#define DEBUG_1  "the text form of a profile, as ?debug=1 gives it", NO_DEBUG
#define PROTO    ": pprof -proto converts it"
#define OLD      " in an old text form ("
#define HTML     "an HTML page", NOT

/* Where a file has the bytes that name its kind. */
typedef enum place {
    FRONT, /* the first bytes */
    STATE, /* the same; these two and TAG have kinds of their own */
    ARROW,
    BINARY,     /* the first bytes, of what is no text */
    TAR,        /* behind the name, the mode, the owner and so on */
    TAG,        /* the first word of a text, in capitals or not, with the end of a tag behind it */
    GOROUTINES, /* the first word of a text that has a list of them */
    COUNT,      /* in the first line of a text */
    HEAP,       /* behind the "@" of "heap profile: 1: 2 [3: 4] @ heap/1048576" */
    WORD,       /* the first word of a text */
    PLACES
} place;

#define MAGIC(bytes) sizeof(bytes) - 1, bytes

/* The first that fits counts. */
static const struct row {
    place where;
    size_t len;
    const char *magic, *name, *rest; /* as in pd_kind */
} named[] = {
    {STATE, MAGIC("\x89PDS"), "a state that pprofdelta wrote", ", not a profile"},
    {ARROW, MAGIC("ARROW1\0\0"), "an Arrow file", NOT},
    {TAR, MAGIC("ustar"), "a tar archive", TAKE_OUT},
    {FRONT, MAGIC("\x1f\x8b"), "gzip data once more", ": compressed twice"},
    {FRONT, MAGIC("\x28\xb5\x2f\xfd"), "zstd data once more", ": compressed twice"},
    {FRONT, MAGIC("PK\3\4"), "a zip archive", TAKE_OUT},
    {FRONT, MAGIC("PK\5\6"), "an empty zip archive", NOT},
    {FRONT, MAGIC("7z\xbc\xaf\x27\x1c"), "a 7z archive", TAKE_OUT},
    {FRONT, MAGIC("Rar!\x1a\7"), "a rar archive", TAKE_OUT},
    {FRONT, MAGIC("!<arch>\n"), "an ar archive (a library or a Debian package)", NOT},
    {FRONT, MAGIC("\3757zXZ\0"), "xz data", CONVERT},
    {FRONT, MAGIC("\x04\x22\x4d\x18"), "lz4 data", CONVERT},
    {FRONT, MAGIC("\xff\6\0\0sNaPpY"), "snappy data", CONVERT},
    {FRONT, MAGIC("PERFILE"), "a recording by Linux perf", NOT},
    {FRONT, MAGIC("FLR\0"), "a recording by Java Flight Recorder", NOT},
    {FRONT, MAGIC("JAVA PROFILE 1.0"), "a Java heap dump", NOT},
    {FRONT, MAGIC("go1.7 heap dump\n"), "a heap dump by Go's debug.WriteHeapDump", NOT},
    {FRONT, MAGIC("\xcf\xfa\xed\xfe"), "a program", ", not a profile of one"},
    {FRONT, MAGIC("\177ELF"), "a program or a core dump", NOT},
    {FRONT, MAGIC("\x89PNG\r\n\x1a\n"), "a PNG image", NOT},
    {FRONT, MAGIC("\xff\xd8\xff"), "a JPEG image", NOT},
    {FRONT, MAGIC("GIF8"), "a GIF image", NOT},
    {FRONT, MAGIC("%PDF-"), "a PDF document", NOT},
    {FRONT, MAGIC("SQLite format 3\0"), "an SQLite database", NOT},
    {BINARY, MAGIC("BZh"), "bzip2 data", CONVERT},
    {BINARY, MAGIC("MZ"), "a program", ", not a profile of one"},
    {BINARY, MAGIC("go 1."), "an execution trace of Go", NOT ": go tool trace reads it"},
    {TAG, MAGIC("<!doctype html"), HTML},
    {TAG, MAGIC("<html"), HTML},
    {TAG, MAGIC("<head"), HTML},
    {TAG, MAGIC("<title"), HTML},
    {TAG, MAGIC("<body"), HTML},
    {TAG, MAGIC("<h1"), HTML},
    {TAG, MAGIC("<pre"), HTML},
    {COUNT, MAGIC(" profile: total "), DEBUG_1},
    {GOROUTINES, MAGIC("goroutine "), "a list of goroutines, as ?debug=2 gives it", NO_DEBUG},
    {HEAP, MAGIC("growth"), "a heap growth profile" OLD "growthz)", NOT PROTO},
    {HEAP, MAGIC("fragmentation"), "a heap fragmentation profile" OLD "fragmentationz)", NOT PROTO},
    {HEAP, MAGIC("heap/"), "a heap profile" OLD "heapz)", NOT PROTO},
    {WORD, MAGIC("heap profile: "), DEBUG_1},
    {WORD, MAGIC("<?xml"), "an XML document", NOT},
    {WORD, MAGIC("<svg"), "an XML document", NOT},
    {WORD, MAGIC("version https://git-lfs"), "a pointer of Git LFS",
     NOT ": git lfs pull fetches it"},
    {WORD, MAGIC("heap_v2/"), "a heap profile as text", ", but of an unknown form"},
    {WORD, MAGIC("--- mutex:"), DEBUG_1},
    {WORD, MAGIC("--- contention:"), DEBUG_1},
    {WORD, MAGIC("--- contentionz "), "a contention profile" OLD "contentionz)", NOT PROTO},
    {WORD, MAGIC("--- threadz "), "a list of threads" OLD "threadz)", NOT PROTO},
    {WORD, MAGIC("--- Thread "), "a list of threads" OLD "threadz)", NOT PROTO},
};

/* No character of a tag differs by this bit from another one of text, but for capitals. */
static bool is_tag(pd_bytes text, const char *tag, size_t len)
{
    size_t same = 0;
    while (same < len && (text.ptr[same] | ('a' - 'A')) == tag[same])
        same++;
    return same == len && (text.len == len || strchr(" \t\r\n>/", text.ptr[len]));
}

static const pprofdelta_file_kind kinds[PLACES] = {
    [STATE] = PPROFDELTA_FILE_STATE, [ARROW] = PPROFDELTA_FILE_ARROW, [TAG] = PPROFDELTA_FILE_HTML};

/* Returns false if no place has bytes with a name. */
static bool find_name(const pd_bytes places[PLACES], pd_kind *out)
{
    for (const struct row *row = named; row != named + sizeof named / sizeof *named; row++) {
        pd_bytes bytes = places[row->where];
        *out = (pd_kind){kinds[row->where] ? kinds[row->where] : PPROFDELTA_FILE_OTHER, row->name,
                         row->rest};
        if (bytes.ptr && bytes.len >= row->len &&
            (row->where == TAG ? is_tag(bytes, row->magic, row->len)
                               : !memcmp(bytes.ptr, row->magic, row->len)))
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
    if (pd_bytes_begin(text, "\xef\xbb\xbf"))
        text = pd_bytes_behind(text, 3);
    while (text.len && strchr(" \t\r\n", text.ptr[0]))
        text = pd_bytes_behind(text, 1);
    return text;
}

/* An object, or an array with something that an array can begin with. "[section]" is not one. */
static bool is_json(pd_bytes text)
{
    bool is_object = pd_bytes_begin(text, "{");
    if (!is_object && !pd_bytes_begin(text, "["))
        return false;
    text = first_word(pd_bytes_behind(text, 1));
    return text.len && text.ptr[0] && strchr(is_object ? "\"}" : "{[\"]-0123456789", text.ptr[0]);
}

/* What follows this byte; empty if the text does not have it. */
static pd_bytes behind_byte(pd_bytes text, char byte)
{
    const uint8_t *at = memchr(text.ptr, byte, text.len);
    return pd_bytes_behind(text, at ? (size_t)(at - text.ptr) + 1 : text.len);
}

static void find_places(pd_bytes text, pd_bytes places[PLACES])
{
    pd_bytes line = first_bytes(text, text.len - behind_byte(text, '\n').len);
    places[TAG] = places[WORD] = text;
    if (pd_bytes_contain(text, "]:\n"))
        places[GOROUTINES] = text;
    while (line.len && !pd_bytes_begin(line, " profile: total "))
        line = pd_bytes_behind(line, 1);
    places[COUNT] = line;
    if (!pd_bytes_begin(text, "heap profile: "))
        return;
    /* Go's form has no columns, and has the frames of each stack as comments. */
    pd_bytes form = first_word(behind_byte(text, '@'));
    bool is_of_go = pd_bytes_contain(text, "\n#") || !pd_bytes_contain(text, "  ");
    if (!is_of_go || !pd_bytes_begin(form, "heap/"))
        places[HEAP] = form;
}

/* ---- what readers read ---------------------------------------------------------------------- */

/* The rows by which a reader reads a message, and the messages in its fields 1 and 2. */
typedef const pd_rows *const reader_rows[3];

static reader_rows profile_fields = {&pd_profile_rows};
static reader_rows profile_rows = {&pd_profile_rows, &pd_sample_type_rows, &pd_sample_rows};
static reader_rows request_rows = {&pd_request_rows, &pd_request_resource_profiles_rows,
                                   &pd_request_dictionary_rows};

/* How the rows read the first bytes, up to a field that they refuse, or that is not well-formed. */
typedef struct trial {
    bool is_refused, is_damaged; /* missing bytes do not explain it */
    size_t fields, whole;        /* of the message; whole: not cut off */
    size_t parts, dictionaries;  /* fields in its parts; its fields 2 */
} trial;

/* Reads a field. If its end is missing, it ends where the bytes end, and its start is NULL. */
static bool read_field(trial *t, pd_reader *r, pd_field *f)
{
    uint64_t tag, len;
    if (pd_reader_next(r, f))
        return true;
    if (r->at == r->end)
        return false;
    const uint8_t *p = pd_varint_decode(r->at, r->end, &tag);
    t->is_damaged = pd_reader_lacks(r) <= (uint64_t)(r->end - r->at) || (p && tag < 8);
    if (t->is_damaged || !p || tag > UINT32_MAX)
        return false;
    p = pd_varint_decode(p, r->end, &len);
    *f = (pd_field){.number = (uint32_t)tag >> 3,
                    .wire = (uint32_t)tag & 7,
                    .body = {p ? p : r->end, r->end, NULL}};
    r->at = r->end;
    return true;
}

static bool is_wire_of(const pd_field_row *row, uint32_t wire)
{
    return wire == PD_WIRE_VARINT ? row->kind < PD_FIELD_FIXED64 || row->kind == PD_FIELD_LIST
                                  : wire == PD_WIRE_BYTES && row->kind >= PD_FIELD_PART;
}

/* Refuses a field that only the other reader has, and a part that does not begin as it should. An empty list is
 * not counted: encoders write none. */
static void try_message(trial *t, pd_reader r, reader_rows rows, uint32_t part)
{
    const pd_rows *own = rows[part];
    bool is_first = true;
    pd_field f;
    for (; own && !t->is_refused && read_field(t, &r, &f); is_first = false) {
        const pd_field_row *row = pd_row_of(own, f.number);
        bool is_known = row->kind != PD_FIELD_UNKNOWN;
        if (is_known ? !is_wire_of(row, f.wire) : !part && f.number <= PD_PROFILE_DOC_URL) {
            t->is_refused = !part || is_first;
            return;
        }
        t->fields += !part && is_known;
        t->whole += !part && is_known && f.start;
        bool is_empty = f.wire == PD_WIRE_BYTES && f.body.at == f.body.end;
        t->parts += part && is_known && !(is_empty && row->kind == PD_FIELD_LIST);
        t->dictionaries += !part && f.number == PD_OTLP_REQUEST_DICTIONARY;
        if (!part && f.number <= PD_OTLP_REQUEST_DICTIONARY && rows[f.number])
            try_message(t, f.body, rows, f.number);
    }
}

static trial try_rows(pd_bytes bytes, reader_rows rows)
{
    trial t = {.fields = 0};
    try_message(&t, pd_reader_of(bytes.ptr, bytes.len), rows, 0);
    return t;
}

/* A profile and a request both have fields 1 and 2, but not the same fields in these, and only a profile has the
 * fields 3 to 15. A request has one dictionary (its reader names a second one); samples are many. */
static bool is_request(pd_bytes bytes)
{
    trial request = try_rows(bytes, request_rows);
    return !request.is_refused && request.dictionaries <= 2 &&
           request.parts > (request.parts ? try_rows(bytes, profile_rows).parts : 0);
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
    pd_bytes request = first_bytes(pd_bytes_behind(bytes, 4), len);
    return pd_bytes_begin(request, "\x28\xb5\x2f\xfd") || is_request(request);
}

/* A CPU profile of gperftools: words of 4 or 8 bytes in the order of the machine, which are 0, 3, 0 (1: of Java),
 * the period, 0. */
static bool is_cpu_profile(pd_bytes bytes, size_t size, bool is_big)
{
    uint64_t words[5] = {0};
    for (size_t i = 0; i < 5 * size && bytes.len >= 5 * size; i++) {
        size_t byte = is_big ? size - 1 - i % size : i % size;
        words[i / size] |= (uint64_t)bytes.ptr[i] << 8 * byte;
    }
    return !words[0] && words[1] == 3 && words[2] < 2 && words[3] && !words[4];
}

/* ---- the result -------------------------------------------------------------------------- */

enum { SHORT = 512, LONG = 16 << 10 }; /* bytes that are examined; LONG: of a text or a request */

pd_kind pd_kind_of(pd_bytes bytes)
{
    pd_bytes head = first_bytes(bytes, SHORT), more = first_bytes(bytes, LONG);
    pd_bytes places[PLACES] = {[FRONT] = head,
                               [STATE] = head,
                               [ARROW] = head,
                               [TAR] = pd_bytes_behind(head, head.len < 257 ? head.len : 257)};
    pd_records records;
    pd_kind found;
    if (!bytes.len)
        return (pd_kind){PPROFDELTA_FILE_EMPTY, "an empty file", NULL};
    if (pd_bytes_begin(head, "heap") && pd_records_begin(&records, more))
        return (pd_kind){PPROFDELTA_FILE_TEXT, "a heap profile as text", NULL};
    if (is_text(head))
        find_places(more = first_word(more), places);
    else
        places[BINARY] = head;
    if (find_name(places, &found))
        return found;
    if (places[WORD].ptr)
        return (pd_kind){PPROFDELTA_FILE_OTHER, is_json(more) ? "JSON" : "text", NOT};
    for (unsigned i = 0; i < 4; i++)
        if (is_cpu_profile(head, i & 1 ? 8 : 4, i & 2))
            return (pd_kind){PPROFDELTA_FILE_OTHER, "a CPU profile in the old form of gperftools",
                             PROTO};
    if (is_request(more))
        return (pd_kind){PPROFDELTA_FILE_OTLP, "an OTLP request", NULL};
    trial profile = try_rows(head, profile_fields);
    if (profile.fields && !profile.is_refused && !profile.is_damaged)
        return (pd_kind){PPROFDELTA_FILE_PROFILE, "a pprof profile", NULL};
    if (!profile.fields && is_stream(more))
        return (pd_kind){PPROFDELTA_FILE_OTHER,
                         "a stream of OTLP requests, as the Collector's file exporter writes it",
                         ", not one request: split it (4 bytes with its length are before each)"};
    return (pd_kind){PPROFDELTA_FILE_UNKNOWN, "data of an unknown kind", NULL};
}

/* Random bytes hardly ever have the first fields of a profile. */
static bool is_foreign(pd_bytes bytes)
{
    enum { FEW = 3 };
    trial profile = try_rows(first_bytes(bytes, SHORT), profile_fields);
    return !profile.whole || (profile.whole < FEW && (profile.is_refused || profile.is_damaged));
}

pprofdelta_status pd_kind_tell(pd_bytes bytes, pprofdelta_status status, pprofdelta_error *err)
{
    static const char foreign[] = "not a pprof profile: ";
    pd_kind what = pd_kind_of(bytes);
    bool is_none = what.kind == PPROFDELTA_FILE_UNKNOWN || what.kind == PPROFDELTA_FILE_PROFILE;
    if (is_none && err && is_foreign(bytes)) { /* the names of fields mean nothing */
        memmove(err->text + sizeof foreign - 1, err->text, sizeof err->text - sizeof foreign);
        memcpy(err->text, foreign, sizeof foreign - 1);
        err->text[sizeof err->text - 1] = 0;
        err->field = "";
        err->element = PPROFDELTA_NOWHERE;
    }
    if (!what.rest)
        return status;
    status = PD_FAIL(err, PPROFDELTA_E_PROFILE, PPROFDELTA_STAGE_PROFILE, NULL, "this is %s%s",
                     what.name, what.rest);
    return what.kind == PPROFDELTA_FILE_STATE ? pd_because(err, PPROFDELTA_REASON_IS_STATE, status)
                                              : status;
}
