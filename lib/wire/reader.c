#include "wire/reader.h"

#include "base/bytes.h"

const uint8_t *pd_varint_decode_long(const uint8_t *p, const uint8_t *end, uint64_t *value)
{
    uint64_t result = 0;
    const uint8_t *next;
    if (end - p >= 8 && (next = pd_varint_decode_short(p, value)))
        return next;
    for (unsigned shift = 0; shift < 64 && p < end; shift += 7) {
        uint64_t byte = *p++;
        if (shift == 63 && byte > 1)
            return NULL; /* the tenth byte has one bit of the value */
        result |= (byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = result;
            return p;
        }
    }
    return NULL;
}

static bool stop_reader(pd_reader *reader, const char *trouble)
{
    reader->trouble = trouble;
    return false;
}

bool pd_reader_next(pd_reader *reader, pd_field *field)
{
    const uint8_t *p = reader->at, *end = reader->end;
    if (p == end)
        return false;
    uint64_t tag;
    p = pd_varint_decode(p, end, &tag);
    if (!p)
        return stop_reader(reader, "a field's tag is cut off or longer than 64 bits");
    if (tag > UINT32_MAX || tag < 8)
        return stop_reader(reader, "a field number is zero or larger than protobuf allows");
    field->start = reader->at;
    field->number = (uint32_t)tag >> 3;
    field->wire = (uint32_t)tag & 7;
    switch (field->wire) {
    case PD_WIRE_VARINT:
        p = pd_varint_decode(p, end, &field->value);
        if (!p)
            return stop_reader(reader, "a varint is cut off or longer than 64 bits");
        break;
    case PD_WIRE_BYTES: {
        uint64_t len;
        p = pd_varint_decode(p, end, &len);
        if (!p)
            return stop_reader(reader, "a length is cut off or longer than 64 bits");
        if (len > (uint64_t)(end - p))
            return stop_reader(reader, "a field is longer than the rest of its message: cut off?");
        field->body = pd_reader_of(p, (size_t)len);
        p += len;
        break;
    }
    case PD_WIRE_FIXED64:
    case PD_WIRE_FIXED32: {
        size_t len = field->wire == PD_WIRE_FIXED64 ? 8 : 4;
        if ((size_t)(end - p) < len)
            return stop_reader(reader, "a fixed-size field is cut off");
        field->value = pd_little_endian(p, len);
        p += len;
        break;
    }
    default:
        return stop_reader(reader, "a wire type that profiles do not have (a group, or damage)");
    }
    reader->at = p;
    return true;
}

bool pd_reader_find(pd_reader *reader, uint32_t number, pd_field *field)
{
    while (pd_reader_next(reader, field))
        if (field->number == number)
            return true;
    return false;
}

uint64_t pd_reader_lacks(const pd_reader *reader)
{
    const uint8_t *at = reader->at, *end = reader->end, *p;
    size_t left = (size_t)(end - at);
    uint64_t tag, value;
    if (!(p = pd_varint_decode(at, end, &tag)))
        return left < PD_VARINT_MAX ? left + 1 : 0;
    switch (tag & 7) {
    case PD_WIRE_FIXED64:
        return (uint64_t)(p - at) + 8;
    case PD_WIRE_FIXED32:
        return (uint64_t)(p - at) + 4;
    case PD_WIRE_VARINT:
    case PD_WIRE_BYTES: {
        size_t varint = (size_t)(end - p);
        p = pd_varint_decode(p, end, &value);
        if (!p)
            return varint < PD_VARINT_MAX ? left + 1 : 0;
        if ((tag & 7) == PD_WIRE_VARINT)
            return 0;
        uint64_t before = (uint64_t)(p - at);
        return value < UINT64_MAX - before ? before + value : UINT64_MAX;
    }
    default:
        return 0;
    }
}
