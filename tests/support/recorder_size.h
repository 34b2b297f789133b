/* The memory of a recorder's ledger. */
#ifndef TESTS_SUPPORT_RECORDER_SIZE_H
#define TESTS_SUPPORT_RECORDER_SIZE_H

#include "record/recorder.h"

/* Bytes for all entries, with room to grow. */
static inline size_t recorder_ledger_bytes(const pprofdelta_recorder *recorder)
{
    const pd_ledger *l = &recorder->ledger;
    return l->keys.cap * sizeof *l->keys.keys + l->keys.slots_cap * sizeof *l->keys.slots +
           l->base_cap * sizeof *l->base + l->seen_cap * sizeof *l->seen + l->side_cap +
           l->tried_cap * sizeof *l->tried;
}

#endif
