#include "wire/message.h"

void pd_parse_wrong_wire(pd_parse *parse, const char *name, const pd_field *field)
{
    static const char *const wires[8] = {
        [PD_WIRE_VARINT] = "a varint",
        [PD_WIRE_FIXED64] = "a 64-bit number",
        [PD_WIRE_BYTES] = "a length-delimited field",
        [PD_WIRE_FIXED32] = "a 32-bit number",
    };
    PD_PARSE_FAIL(parse, PPROFDELTA_E_WIRE, name, pd_parse_offset(parse, field->start),
                  "wrong wire type: %s stands where the format has another",
                  wires[field->wire & 7]);
}

void pd_parse_string_range(pd_parse *parse, const char *name, uint64_t off, int64_t index)
{
    PD_PARSE_FAIL(parse, PPROFDELTA_E_PROFILE, name, off,
                  "string index %lld is outside the string table", (long long)index);
}

bool pd_parse_grow(pd_parse *parse, void *array, size_t len, size_t size)
{
    if (!parse->status)
        parse->status = pd_mem_grow(parse->mem, array, len, size, parse->err);
    return parse->status == PPROFDELTA_OK;
}

void pd_parse_end(pd_parse *parse, const char *name, const pd_reader *reader)
{
    if (reader->trouble)
        PD_PARSE_FAIL(parse, PPROFDELTA_E_WIRE, name, pd_parse_offset(parse, reader->at), "%s",
                      reader->trouble);
}

bool pd_field_read(pd_parse *parse, const pd_rows *rows, const pd_field *field, void *out)
{
    const pd_field_row *row = pd_row_of(rows, field->number);
    const char *name = row->name ? row->name : rows->name;
    if (row->kind == PD_FIELD_PART || row->kind == PD_FIELD_LIST)
        return false;
    if (row->kind == PD_FIELD_UNKNOWN) {
        parse->unknown_fields++;
        return true;
    }
    void *to = (char *)out + row->at;
    switch (row->kind) {
    case PD_FIELD_NUMBER:
        *(uint64_t *)to = pd_parse_number(parse, name, field);
        break;
    case PD_FIELD_FLAG:
        *(bool *)to = pd_parse_number(parse, name, field) != 0;
        break;
    case PD_FIELD_STRING:
        *(uint32_t *)to = pd_parse_string(parse, name, field);
        break;
    case PD_FIELD_STRING_REF:
        *(pd_string_ref *)to = (pd_string_ref){pd_parse_string(parse, name, field),
                                               pd_parse_offset(parse, field->start)};
        break;
    case PD_FIELD_FIXED64:
        *(uint64_t *)to = field->value;
        if (field->wire != PD_WIRE_FIXED64)
            pd_parse_wrong_wire(parse, name, field);
        break;
    default:
        parse->read_other(parse, row->kind, name, field, to);
    }
    return true;
}

const pd_field_row *pd_message_next(pd_parse *parse, pd_message *message, pd_field *field)
{
    while (!parse->status && pd_reader_next_quick(&message->reader, field)) {
        if (!pd_field_read(parse, message->rows, field, message->out))
            return pd_row_of(message->rows, field->number);
    }
    pd_parse_end(parse, message->rows->name, &message->reader);
    return NULL;
}

void pd_message_read(pd_parse *parse, pd_reader reader, const pd_rows *rows, void *out)
{
    pd_message message = {reader, rows, out};
    pd_field field;
    while (pd_message_next(parse, &message, &field))
        continue;
}

pd_list pd_list_of(pd_parse *parse, const char *name, const pd_field *field)
{
    pd_list list = {.name = name, .at = field->start};
    if (field->wire == PD_WIRE_VARINT) {
        list.is_single = true;
        list.value = field->value;
    } else {
        list.rest = pd_parse_body(parse, name, field);
    }
    return list;
}

bool pd_list_next(pd_parse *parse, pd_list *list)
{
    if (parse->status)
        return false;
    if (list->is_single) {
        list->is_single = false;
        return true;
    }
    list->at = list->rest.at;
    bool has_one = pd_reader_varint(&list->rest, &list->value);
    pd_parse_end(parse, list->name, &list->rest);
    return has_one;
}
