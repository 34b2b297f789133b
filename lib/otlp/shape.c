#include "otlp/shape.h"

#include "profile/fields.h"
#include "profile/lookalike.h"
#include "wire/reader.h"

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
 * behind decide with it. */
bool pd_request_begins(pd_bytes bytes)
{
    if (!bytes.len)
        return false;
    if (bytes.len > PD_REQUEST_HEAD)
        bytes.len = PD_REQUEST_HEAD;
    pd_reader r = pd_reader_of(bytes.ptr, bytes.len);
    pd_field f;
    bool is_request = false, is_whole = true;
    while (is_whole) {
        is_whole = pd_reader_next(&r, &f);
        if (!is_whole && !cut_field(&r, &f))
            break;
        guess found = guess_field(&f, is_whole);
        if (found == PROFILE)
            return false;
        is_request |= found == REQUEST;
    }
    return is_request && !pd_lookalike_of(bytes).rest; /* newlines are field 1, too */
}
