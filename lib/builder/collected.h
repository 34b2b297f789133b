/* Samples that were added and not written yet: distinct samples and their places.
 *
 *     sample i    keys[i]     its identity
 *                 heads[i]    depth places in `frames`, labels_len packed labels in `bytes`
 *                 values      one for each type, added up
 *     place i     places[i]   its identity
 *                 place_at[i] where its frame, with its texts, stands in `bytes`
 *
 * Adding a sample succeeds or changes nothing. Places that a failed addition leaves behind are not
 * used and so never written. */
#ifndef PD_BUILDER_COLLECTED_H
#define PD_BUILDER_COLLECTED_H

#include "builder/builder_sample.h"
#include "profile/compact.h"

typedef struct pd_collected_head {
    size_t frames_first, depth;
    size_t labels_at, labels_size, labels_len; /* where they begin in `bytes`, and their bytes */
} pd_collected_head;

typedef struct pd_collected {
    pd_mem mem;
    size_t types;
    pd_keymap keys, places;
    pd_collected_head *heads;
    int64_t *values;
    uint32_t *frames; /* places */
    size_t *place_at;
    pd_buffer bytes;
    size_t frames_len;
    size_t heads_cap, values_cap, frames_cap, place_at_cap;
    uint64_t in, lost; /* samples that were added; samples for which there was no memory */
} pd_collected;        /* zero it, then set mem and types */

/* Adds a sample. If there is no memory, counts it as lost. */
void pd_collected_add(pd_collected *collected, const pprofdelta_sample *sample);

/* Moves all samples of `from`. If it fails, the rest stays in `from` and can be moved later. */
pprofdelta_status pd_collected_move(pd_collected *collected, pd_collected *from,
                                    pprofdelta_error *err);

/* Writes each sample that has a value. */
void pd_collected_write(const pd_collected *collected, pd_compact *out);

/* Removes everything and keeps the capacity. */
void pd_collected_clear(pd_collected *collected);

void pd_collected_release(pd_collected *collected);

#endif
