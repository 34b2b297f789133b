/* The memory of a recorder's ledger. */
#ifndef TESTS_SUPPORT_RECORDER_SIZE_H
#define TESTS_SUPPORT_RECORDER_SIZE_H

#include "record/recorder.h"

/* Bytes for all entries, with room to grow. */
static inline size_t recorder_ledger_bytes(const pprofdelta_recorder *recorder)
{
    const pd_ledger *l = &recorder->ledger;
    return pd_mem_room(l->keys.keys) + pd_mem_room(l->keys.slots) + pd_mem_room(l->base) +
           pd_mem_room(l->seen) + pd_mem_room(l->side) + pd_mem_room(l->tried);
}

#endif
