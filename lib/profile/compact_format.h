/* What the formats of the compact writer do, for compact.c. */
#ifndef PD_PROFILE_COMPACT_FORMAT_H
#define PD_PROFILE_COMPACT_FORMAT_H

#include "profile/compact.h"

typedef struct pd_compact_function {
    uint32_t name, system_name, filename;
    int64_t start_line;
} pd_compact_function;

typedef struct pd_compact_label {
    uint32_t key, str, num_unit;
    int64_t num;
} pd_compact_label;

/* Each function encodes one thing. What is given was interned by compact.c and is new, except labels.
 * Failures are sticky in c->writer. */
typedef struct pd_compact_format {
    void (*string)(pd_compact *c, pd_bytes string);
    void (*type)(pd_compact *c, uint32_t type, uint32_t unit);
    /* number: that of the key, from 1. Returns the output id: a known one, or the next one. */
    uint32_t (*mapping_id)(pd_compact *c, uint32_t number, const pd_compact_mapping *mapping);
    /* At the end, in the order of their ids, before `end`. */
    void (*mapping)(pd_compact *c, uint32_t id, const pd_compact_mapping *mapping);
    void (*function)(pd_compact *c, uint32_t id, const pd_compact_function *function);
    void (*line)(pd_compact *c, uint32_t function, int64_t line, int64_t column);
    /* id: the number of the key, from 1. Returns the output id. The lines were added before. */
    uint32_t (*location)(pd_compact *c, uint32_t id, uint32_t mapping, uint64_t address,
                         bool is_folded);
    void (*label)(pd_compact *c, const pd_compact_label *label);
    void (*sample)(pd_compact *c, const int64_t *values, size_t len);
    void (*end)(pd_compact *c, const pd_compact_header *header);
    size_t (*runs)(const pd_compact *c, pd_bytes runs[PD_COMPACT_RUNS]);
} pd_compact_format;

extern const pd_compact_format pd_compact_as_pprof, pd_compact_as_otlp;

/* Returns the number of the key in the set. *is_new: it was added. */
uint32_t pd_compact_intern(pd_compact *c, pd_keymap *map, pd_key key, bool *is_new);

/* For pd_compact_begin, after the rest is empty. */
void pd_compact_otlp_begin(pd_compact *c);

/* The string as OTLP has it, which is UTF-8. Valid until the next call. */
pd_bytes pd_compact_otlp_text(pd_compact *c, pd_bytes string);

void pd_compact_otlp_release(pd_compact_otlp *otlp, pd_mem *mem);

/* Copies a few bytes in pieces: up to PD_PIECE bytes after them are read and written. */
enum { PD_PIECE = 32 };

static inline uint8_t *pd_put_bytes(uint8_t *p, const uint8_t *ptr, size_t len)
{
    for (size_t at = 0; at < len; at += PD_PIECE)
        memcpy(p + at, ptr + at, PD_PIECE);
    return p + len;
}

#endif
