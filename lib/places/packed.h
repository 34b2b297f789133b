/* Frames and labels, packed one after the other in a buffer: each with its texts behind it. The doors
 * keep them so until they are written. */
#ifndef PD_PLACES_PACKED_H
#define PD_PLACES_PACKED_H

#include "model/model.h"
#include "profile/identity.h"

/* A frame: a function, and where in it. */
typedef struct pd_packed_frame {
    int64_t start_line, line, column;
    size_t name_len, system_name_len, filename_len;
} pd_packed_frame;

typedef struct pd_packed_label {
    int64_t num;
    size_t key_len, str_len, num_unit_len;
} pd_packed_label;

static inline size_t pd_packed_frame_size(const pd_function_parts *f)
{
    return sizeof(pd_packed_frame) + f->name.len + f->system_name.len + f->filename.len;
}

/* There is room for it. */
void pd_pack_frame(pd_buffer *buffer, const pd_function_parts *function, int64_t line,
                   int64_t column);

pprofdelta_status pd_pack_label(pd_mem *mem, pd_buffer *buffer, const pd_label_parts *label,
                                pprofdelta_error *err);

/* Returns what is at *at and moves *at behind it. */
pd_label_parts pd_unpack_label(const uint8_t **at);

/* Returns the location with this identity (see identity.h). It is added, with the frames at `at` as its lines, if it is
 * not there. mapping: its id in the model. */
uint32_t pd_write_packed_location(pd_model *out, pd_key ident, uint32_t mapping, uint64_t address,
                                  const uint8_t *at, size_t len);

/* Writes a label of the sample. */
void pd_write_label(pd_model *out, const pd_label_parts *label);

#endif
