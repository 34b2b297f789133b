/* Frames and labels, packed one after the other in a buffer: each with its texts behind it. The doors
 * keep them so until they are written. */
#ifndef PD_PLACES_PACKED_H
#define PD_PLACES_PACKED_H

#include "model/model.h"
#include "profile/identity.h"

/* A frame: a function, and where in it. */
typedef struct pd_packed_frame {
    pd_key function; /* see identity.h */
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

/* Adds the key of the frame at *at to that of a location that is identified by its lines, and moves *at
 * behind it. */
pd_key pd_packed_frame_key(pd_key so_far, const uint8_t **at);

/* Writes frames as the lines of the next location, a label as one of the sample. */
void pd_write_packed_frames(pd_model *out, const uint8_t *at, size_t len);
void pd_write_label(pd_model *out, const pd_label_parts *label);

#endif
