/* Labels, packed one after the other in a buffer: each with its texts behind it. The recorder and
 * the builder keep the labels of a sample so until it is written. */
#ifndef PD_PLACES_PACKED_H
#define PD_PLACES_PACKED_H

#include "profile/compact.h"
#include "profile/identity.h"

typedef struct pd_packed_label {
    int64_t num;
    size_t key_len, str_len, num_unit_len;
} pd_packed_label;

static inline size_t pd_packed_label_size(const pd_label_parts *label)
{
    return sizeof(pd_packed_label) + label->key.len + label->str.len + label->num_unit.len;
}

/* There is room for it. */
static inline void pd_pack_label(pd_buffer *buffer, const pd_label_parts *label)
{
    pd_packed_label packed = {label->num, label->key.len, label->str.len, label->num_unit.len};
    pd_buffer_put(buffer, &packed, sizeof packed);
    pd_buffer_put(buffer, label->key.ptr, label->key.len);
    pd_buffer_put(buffer, label->str.ptr, label->str.len);
    pd_buffer_put(buffer, label->num_unit.ptr, label->num_unit.len);
}

/* Returns the text of this length at *at and moves *at behind it. */
static inline pd_bytes pd_unpack_text(const uint8_t **at, size_t len)
{
    pd_bytes text = {*at, len};
    *at += len;
    return text;
}

/* Returns the label at *at and moves *at behind it. */
static inline pd_label_parts pd_unpack_label(const uint8_t **at)
{
    pd_packed_label packed;
    memcpy(&packed, *at, sizeof packed);
    *at += sizeof packed;
    pd_label_parts label = {.num = packed.num};
    label.key = pd_unpack_text(at, packed.key_len);
    label.str = pd_unpack_text(at, packed.str_len);
    label.num_unit = pd_unpack_text(at, packed.num_unit_len);
    return label;
}

/* Writes the labels at `at` as labels of the sample. */
static inline void pd_write_packed_labels(pd_compact *out, const uint8_t *at, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        pd_label_parts label = pd_unpack_label(&at);
        uint32_t key = pd_compact_string(out, label.key);
        uint32_t str = pd_compact_string(out, label.str);
        uint32_t num_unit = pd_compact_string(out, label.num_unit);
        pd_compact_sample_label(out, key, str, label.num, num_unit);
    }
}

#endif
