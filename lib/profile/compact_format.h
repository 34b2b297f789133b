/* What the files of the compact writer have for each other. */
#ifndef PD_PROFILE_COMPACT_FORMAT_H
#define PD_PROFILE_COMPACT_FORMAT_H

#include "profile/compact.h"

typedef struct pd_compact_label {
    uint64_t key, str, num_unit; /* numbers of strings */
    int64_t num;
} pd_compact_label;

/* A ValueType, as a field with this number. type and unit are what strings are in the message. */
void pd_compact_value_type(pd_compact *c, pd_buffer *to, uint32_t number, uint32_t type,
                           uint32_t unit);

/* ---- compact_otlp.c: what differs in OTLP ---------------------------------------------------- */

/* Each function encodes one thing. What is given was interned by compact.c and is new. Failures are
 * sticky in c->writer. */

/* For pd_compact_begin, after the rest is empty. */
void pd_otlp_begin(pd_compact *c);
void pd_otlp_release(pd_compact_otlp *otlp, pd_mem *mem);

/* The string as OTLP has it, which is UTF-8. Valid until the next call. */
pd_bytes pd_otlp_text(pd_compact *c, pd_bytes string);

/* The string has the number that was given last. */
void pd_otlp_add_string(pd_compact *c, pd_bytes string);
void pd_otlp_add_type(pd_compact *c, uint32_t type, uint32_t unit);
void pd_otlp_add_function(pd_compact *c, uint32_t name, uint32_t system_name, uint32_t filename,
                          int64_t start_line);

/* Return the output id: a known one, or the next one. The lines were added before. */
uint32_t pd_otlp_mapping_id(pd_compact *c, pd_compact_mapping *mapping);
uint32_t pd_otlp_add_location(pd_compact *c, uint32_t mapping, uint64_t address, bool is_folded);

/* The labels in c->labels are pd_compact_label. */
void pd_otlp_add_sample(pd_compact *c, const int64_t *values, size_t len);

/* Writes the whole profile to c->out. */
void pd_otlp_end(pd_compact *c, const pd_compact_header *header);

/* ---- compact_tables.c: what differs in tables ------------------------------------------------ */

/* As above. Strings and types are added to compact_otlp.c's, so its begin and release come first. */
void pd_compact_tables_begin(pd_compact *c);
void pd_compact_tables_release(pd_compact *c, pd_mem *mem);

/* The type that was added last. */
void pd_compact_tables_type(pd_compact *c);
void pd_compact_tables_label(pd_compact *c, const pd_compact_label *label);
void pd_compact_tables_function(pd_compact *c, uint32_t name, uint32_t system_name,
                                uint32_t filename, int64_t start_line);
void pd_compact_tables_line(pd_compact *c, uint32_t function, int64_t line, int64_t column);

/* Returns the output id: that of a location with the same id, or the next one. */
uint32_t pd_compact_tables_location(pd_compact *c, uint32_t mapping, uint64_t address,
                                    bool is_folded);
void pd_compact_tables_sample(pd_compact *c, const int64_t *values, size_t len);

/* As pd_compact_finish. */
pprofdelta_status pd_compact_tables_end(pd_compact *c, const pd_compact_header *header,
                                        pd_bytes *out);

/* ---------------------------------------------------------------------------------------------- */

/* Copies a few bytes in pieces: up to PD_PIECE bytes after them are read and written. */
enum { PD_PIECE = 32 };

static inline uint8_t *pd_put_bytes(uint8_t *p, const uint8_t *ptr, size_t len)
{
    for (size_t at = 0; at < len; at += PD_PIECE)
        memcpy(p + at, ptr + at, PD_PIECE);
    return p + len;
}

#endif
