/* What the options of a recorder or a builder say of its profiles: value types, period, default type,
 * format, stamp.
 *
 *     pd_outline_begin      the value types
 *     ...                   the samples, by the door
 *     pd_outline_finish     the stamp and the header */
#ifndef PD_ENCODE_OUTLINE_H
#define PD_ENCODE_OUTLINE_H

#include "base/life.h"
#include "pprofdelta_record.h"
#include "encode/encode.h"

typedef struct pd_outline {
    pd_buffer text; /* type, unit of each type; period type, period unit, default type: with NULs */
    size_t rest_at; /* where the types end */
    pd_buffer resource; /* see pd_encode_resource */
    pd_encoder encoder;
    size_t types;
    bool has_period_type, has_stamp;
    int64_t period;
    int64_t pid; /* 0: not in the stamp */
    uint64_t id; /* of the series of windows */
} pd_outline;    /* zero it to begin */

/* Copies what it needs, and sets the encoder. After a failure call pd_outline_release, too. */
pprofdelta_status pd_outline_set(pd_outline *outline, pd_mem *mem,
                                 const pprofdelta_builder_options *options, pprofdelta_error *err);
void pd_outline_release(pd_outline *outline, pd_mem *mem);

/* Checks the options that this file and the compressor use. */
pprofdelta_status pd_outline_check(const pprofdelta_builder_options *options,
                                   pprofdelta_error *err);

/* Adds the types to a model that has begun. */
void pd_outline_begin(const pd_outline *outline, pd_model *model);

/* The window is the one under way, and is numbered. *out is as in pd_encode. */
pprofdelta_status pd_outline_finish(pd_outline *outline, const pd_life *life, pd_model *model,
                                    pd_bytes *out);

#endif
