#include "places/packed.h"

void pd_pack_frame(pd_buffer *buffer, const pd_function_parts *f, int64_t line, int64_t column)
{
    pd_packed_frame packed = {.start_line = f->start_line,
                              .line = line,
                              .column = column,
                              .name_len = f->name.len,
                              .system_name_len = f->system_name.len,
                              .filename_len = f->filename.len};
    pd_buffer_put(buffer, &packed, sizeof packed);
    pd_buffer_put(buffer, f->name.ptr, f->name.len);
    pd_buffer_put(buffer, f->system_name.ptr, f->system_name.len);
    pd_buffer_put(buffer, f->filename.ptr, f->filename.len);
}

pprofdelta_status pd_pack_label(pd_mem *mem, pd_buffer *buffer, const pd_label_parts *label,
                                pprofdelta_error *err)
{
    pd_packed_label packed = {label->num, label->key.len, label->str.len, label->num_unit.len};
    size_t texts = label->key.len + label->str.len + label->num_unit.len;
    PD_TRY(pd_buffer_room(mem, buffer, sizeof packed + texts, err));
    pd_buffer_put(buffer, &packed, sizeof packed);
    pd_buffer_put(buffer, label->key.ptr, label->key.len);
    pd_buffer_put(buffer, label->str.ptr, label->str.len);
    pd_buffer_put(buffer, label->num_unit.ptr, label->num_unit.len);
    return PPROFDELTA_OK;
}

static pd_bytes unpack_text(const uint8_t **at, size_t len)
{
    pd_bytes text = {*at, len};
    *at += len;
    return text;
}

pd_label_parts pd_unpack_label(const uint8_t **at)
{
    pd_packed_label packed;
    memcpy(&packed, *at, sizeof packed);
    *at += sizeof packed;
    pd_label_parts label = {.num = packed.num};
    label.key = unpack_text(at, packed.key_len);
    label.str = unpack_text(at, packed.str_len);
    label.num_unit = unpack_text(at, packed.num_unit_len);
    return label;
}

uint32_t pd_write_packed_location(pd_model *out, pd_key ident, uint32_t mapping, uint64_t address,
                                  const uint8_t *at, size_t len)
{
    uint32_t id = pd_model_find_location(out, ident);
    for (size_t i = 0; i < len && !id; i++) {
        pd_packed_frame f;
        memcpy(&f, at, sizeof f);
        at += sizeof f;
        pd_model_function function = {.start_line = f.start_line};
        function.name = pd_model_string(out, unpack_text(&at, f.name_len));
        function.system_name = pd_model_string(out, unpack_text(&at, f.system_name_len));
        function.filename = pd_model_string(out, unpack_text(&at, f.filename_len));
        pd_model_add_line(out, pd_model_add_function(out, &function), f.line, f.column);
    }
    return id ? id : pd_model_add_location(out, ident, mapping, address, false);
}

void pd_write_label(pd_model *out, const pd_label_parts *label)
{
    uint32_t key = pd_model_string(out, label->key);
    uint32_t str = pd_model_string(out, label->str);
    uint32_t num_unit = pd_model_string(out, label->num_unit);
    pd_model_add_label(out, key, str, label->num, num_unit);
}
