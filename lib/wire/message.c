#include "wire/message.h"

void pd_parse_wrong_wire(pd_parse *parse, const char *name, const pd_field *field)
{
    static const char *const wires[8] = {
        [PD_WIRE_VARINT] = "a varint",
        [PD_WIRE_FIXED64] = "a 64-bit number",
        [PD_WIRE_BYTES] = "a length-delimited field",
        [PD_WIRE_FIXED32] = "a 32-bit number",
    };
    if (parse->status)
        return;
    parse->status =
        pd_fail(parse->err, PPROFDELTA_E_WIRE, "wire", name, parse->element,
                pd_parse_offset(parse, field->start),
                "wrong wire type: %s stands where the format has another", wires[field->wire & 7]);
}

void pd_parse_string_range(pd_parse *parse, const char *name, uint64_t off, int64_t index)
{
    if (parse->status)
        return;
    parse->status = pd_fail(parse->err, PPROFDELTA_E_PROFILE, "profile", name, parse->element, off,
                            "string index %lld is outside the string table", (long long)index);
}

void pd_parse_end(pd_parse *parse, const char *name, const pd_reader *reader)
{
    if (parse->status || !reader->trouble)
        return;
    parse->status = pd_fail(parse->err, PPROFDELTA_E_WIRE, "wire", name, parse->element,
                            pd_parse_offset(parse, reader->at), "%s", reader->trouble);
}
