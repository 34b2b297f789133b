/* Labels and frames that a caller gives, taken apart: strings with their lengths, and their
 * keys. */
#ifndef PD_PROFILE_GIVEN_H
#define PD_PROFILE_GIVEN_H

#include "base/key.h"
#include "base/mem.h"

/* A label. If str is not empty, num is 0 and num_unit is empty. */
typedef struct pd_label_parts {
    pd_bytes key, str, num_unit;
    int64_t num;
} pd_label_parts;

/* The parts point into the label. */
pd_label_parts pd_label_parts_of(const pprofdelta_label *label);

/* The identity of the label. */
pd_key pd_label_parts_key(const pd_label_parts *parts);

/* The function of a frame. key is pd_function_key of the other members. */
typedef struct pd_function_parts {
    pd_key key;
    pd_bytes name, system_name, filename;
    int64_t start_line;
} pd_function_parts;

/* The parts point into the frame. */
pd_function_parts pd_function_parts_of(const pprofdelta_frame *frame);

#endif
