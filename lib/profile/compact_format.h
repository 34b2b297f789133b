/* What the formats of the compact writer do, for compact.c. */
#ifndef PD_PROFILE_COMPACT_FORMAT_H
#define PD_PROFILE_COMPACT_FORMAT_H

#include "profile/compact.h"

typedef struct pd_compact_label {
    uint64_t key, str, num_unit; /* numbers of strings */
    int64_t num;
} pd_compact_label;

/* Each function encodes one thing. What is given was interned by compact.c and is new, except labels.
 * Failures are sticky in c->writer. */
typedef struct pd_compact_format {
    void (*string)(pd_compact *c, pd_bytes string);
    void (*type)(pd_compact *c, uint32_t type, uint32_t unit);
    /* What a string is in a message: its number, or its index in the string table. */
    uint32_t (*index)(pd_compact *c, uint32_t string);
    /* Returns the output id: a known one, or the next one. */
    uint32_t (*mapping_id)(pd_compact *c, const pd_compact_mapping *mapping);
    /* At the end, in the order of their ids, before `end`. */
    void (*mapping)(pd_compact *c, uint32_t id, const pd_compact_mapping *mapping);
    /* id: the number of the key, from 1. Returns the output id. The lines were added before. */
    uint32_t (*location)(pd_compact *c, uint32_t id, uint32_t mapping, uint64_t address,
                         bool is_folded);
    void (*label)(pd_compact *c, const pd_compact_label *label);
    void (*sample)(pd_compact *c, const int64_t *values, size_t len);
    /* Writes the whole profile to c->out. */
    void (*end)(pd_compact *c, const pd_compact_header *header);
    uint32_t line,
        function; /* the fields of a line in a location, and of a function in its table */
    bool has_ids; /* of functions */
} pd_compact_format;

extern const pd_compact_format pd_compact_as_pprof, pd_compact_as_otlp;

/* Returns the number of the key in the set. *is_new: it was added. */
uint32_t pd_compact_intern(pd_compact *c, pd_keymap *map, pd_key key, bool *is_new);

/* A ValueType, as a field with this number. */
void pd_compact_value_type(pd_compact *c, pd_buffer *to, uint32_t number, uint32_t type,
                           uint32_t unit);

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
