#include "builder/builder.h"

/* The status of the sample: OK if something can be pushed to it. */
static pprofdelta_status begin_push(pprofdelta_sample *s, bool is_valid)
{
    if (!s)
        return PPROFDELTA_E_MEMORY;
    if (!s->status && !is_valid)
        s->status = PPROFDELTA_E_USAGE;
    return s->status;
}

pprofdelta_status pprofdelta_sample_push_frame(pprofdelta_sample *s, const pprofdelta_frame *frame,
                                               uint64_t address)
{
    if (begin_push(s, frame != NULL))
        return s ? s->status : PPROFDELTA_E_MEMORY;
    pd_function_parts parts = pd_function_parts_of(frame);
    pd_key lines = pd_location_key_lines_begin(false);
    pd_sample_frame f = {.address = address, .size = sizeof f + pd_packed_frame_size(&parts)};
    f.ident = address ? pd_location_key_address(PD_NOWHERE_MAPPED, address, false)
                      : pd_location_key_line(lines, parts.key, frame->line, frame->column);
    s->status = pd_buffer_room(&s->mem, &s->frames, f.size, NULL);
    if (s->status)
        return s->status;
    pd_buffer_put(&s->frames, &f, sizeof f);
    pd_pack_frame(&s->frames, &parts, frame->line, frame->column);
    s->frames_len++;
    pd_identity_place(&s->hash, &s->builder->numbers, f.ident);
    return PPROFDELTA_OK;
}

pprofdelta_status pprofdelta_sample_push_value(pprofdelta_sample *s, size_t type, int64_t value)
{
    if (begin_push(s, s && type < s->builder->outline.types))
        return s ? s->status : PPROFDELTA_E_MEMORY;
    s->values[type] = (int64_t)((uint64_t)s->values[type] + (uint64_t)value);
    return PPROFDELTA_OK;
}

pprofdelta_status pprofdelta_sample_push_label(pprofdelta_sample *s, const pprofdelta_label *label)
{
    if (begin_push(s, label != NULL))
        return s ? s->status : PPROFDELTA_E_MEMORY;
    pd_label_parts parts = pd_label_parts_of(label);
    s->status = pd_buffer_room(&s->mem, &s->labels, pd_packed_label_size(&parts), NULL);
    if (s->status)
        return s->status;
    pd_pack_label(&s->labels, &parts);
    s->labels_len++;
    pd_identity_label(&s->hash, pd_label_parts_key(&parts));
    return PPROFDELTA_OK;
}
