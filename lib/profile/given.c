#include "profile/given.h"

#include "profile/identity.h"
#include "profile/stack.h"

pd_label_parts pd_label_parts_of(const pprofdelta_label *label)
{
    pd_label_parts parts = {.key = pd_bytes_of(label->key), .str = pd_bytes_of(label->str)};
    if (!parts.str.len) {
        parts.num = label->num;
        parts.num_unit = pd_bytes_of(label->num_unit);
    }
    return parts;
}

pd_key pd_label_parts_key(const pd_label_parts *parts)
{
    return pd_label_key(pd_label_names_key(parts->key, parts->str, parts->num_unit), parts->num);
}

pd_function_parts pd_function_parts_of(const pprofdelta_frame *frame)
{
    pd_function_parts parts = {
        .name = pd_bytes_of(frame->name),
        .system_name = pd_bytes_of(frame->system_name ? frame->system_name : frame->name),
        .filename = pd_bytes_of(frame->filename),
        .start_line = frame->start_line,
    };
    parts.key = pd_function_key(parts.name, parts.system_name, parts.filename, parts.start_line);
    return parts;
}
