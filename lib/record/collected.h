/* What was flushed and not exported yet: distinct samples, and the symbols that they use.
 *
 *     sample i    keys[i]     which one it is
 *                 heads[i]    depth places in `frames`, labels_len labels in `labels`
 *                 values      one to each type, added up
 *
 * An addition is whole or not at all; strings and places that a failed one leaves behind are used
 * by nothing and so never written. */
#ifndef PD_RECORD_COLLECTED_H
#define PD_RECORD_COLLECTED_H

#include "record/builder_sample.h"

typedef struct pd_collected_head {
    size_t frames_first, labels_first;
    size_t depth, labels_len;
} pd_collected_head;

typedef struct pd_collected_label {
    uint32_t key, str, num_unit; /* strings */
    int64_t num;
} pd_collected_label;

typedef struct pd_collected {
    pd_mem mem;
    size_t types;
    pd_symbols symbols;
    pd_keymap keys;
    pd_collected_head *heads;
    int64_t *values;
    uint32_t *frames;
    pd_collected_label *labels;
    size_t frames_len, labels_len;
    size_t heads_cap, values_cap, frames_cap, labels_cap;
    uint64_t in, lost; /* samples that were added, and those there was no memory for */
} pd_collected;        /* zero it and set mem and types to begin */

/* Adds a sample, or counts it as lost. */
void pd_collected_add(pd_collected *collected, const pprofdelta_sample *sample);

/* Moves what `from` has over. After a failure what is left in `from` can be moved later. */
pprofdelta_status pd_collected_move(pd_collected *collected, pd_collected *from,
                                    pprofdelta_error *err);

/* Writes every sample that has a value. */
void pd_collected_write(pd_collected *collected, pd_compact *compact);

/* Forgets everything, keeping capacity. */
void pd_collected_clear(pd_collected *collected);

void pd_collected_release(pd_collected *collected);

#endif
