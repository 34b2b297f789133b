/* From a finished model to a profile in one of the formats. Only these files know a format:
 *
 *     encode.c           which encoder, and its resource
 *     encode_pprof.c     completes the bytes that the model has
 *     encode_otlp.c      one Profile for each value type, and one dictionary; otlp_attributes.c has its attributes,
 *                        otlp_name.c what receivers call it
 *     encode_tables.c    Arrow tables: the rows of table_rows.c, in the columns of arrow.c */
#ifndef PD_ENCODE_ENCODE_H
#define PD_ENCODE_ENCODE_H

#include "model/model.h"
#include "pprofdelta_tables.h"

/* Where the profiles of a request come from, if the request is made of another one. Everything is
 * encoded and borrowed. */
typedef struct pd_encode_attributes {
    pd_bytes resource, scope; /* their content; the scope without the writer's own attributes */
    pd_bytes resource_url, scope_url;
    bool has_scope;
} pd_encode_attributes;

typedef struct pd_encoder {
    pprofdelta_format format;
    pd_bytes resource; /* of the format: see pd_encode_resource; borrowed */
    const pd_encode_attributes
        *attributes;         /* OTLP: takes the place of the resource and the scope; or NULL */
    bool has_lasting_malloc; /* tables are made by malloc: the model's allocator ends before them */
    size_t strings;          /* the length of the last string table */
    pd_buffer out;
    pprofdelta_tables tables;
} pd_encoder; /* zero it, and set what is above `strings`, to begin */

/* Makes what a format has of options.resource: in OTLP, the content of a Resource; in tables, the value of "target";
 * in pprof, nothing. A later attribute replaces an earlier one with the same key, in the place of the earlier one.
 * Bytes that are not UTF-8 become U+FFFD. */
pprofdelta_status pd_encode_resource(pprofdelta_format format,
                                     const pprofdelta_attribute *attributes, size_t len,
                                     pd_mem *mem, pd_buffer *out, pprofdelta_error *err);

/* Are profiles tables, and not bytes? */
static inline bool pd_encoder_makes_tables(const pd_encoder *encoder)
{
    return encoder->format == PPROFDELTA_TABLES;
}

/* Is it one of the formats of OTLP? */
static inline bool pd_format_is_otlp(pprofdelta_format format)
{
    return format != PPROFDELTA_PPROF && format != PPROFDELTA_TABLES;
}

/* Can a profile have the attributes that requests have? */
static inline bool pd_encoder_has_attributes(const pd_encoder *encoder)
{
    return pd_format_is_otlp(encoder->format);
}

/* Encodes the model. *out is empty for a request without samples, which is not sent; it is valid until the model begins anew, or the next call. Tables: ptr is a
 * pprofdelta_tables, and len counts all its bytes. They are released by the next call, or by who moves them; a model
 * can be encoded as tables again. */
pprofdelta_status pd_encode(pd_encoder *encoder, pd_model *model, const pd_model_header *header,
                            pd_bytes *out);

/* The sink that is called with what is encoded: the caller's, or for tables *own, which calls its `tables`. */
const pprofdelta_sink *pd_encoder_sink(const pd_encoder *encoder, const pprofdelta_sink *sink,
                                       pprofdelta_sink *own);

/* Tables that were not moved: adds up the value columns. */
void pd_encoder_sums(const pd_encoder *encoder, size_t types, pprofdelta_sum *sums);

/* OTLP: the names of the attributes that the flags of a mapping are, from has_functions on. */
enum { PD_OTLP_MAPPING_FLAGS = 4 };
extern const char *const pd_otlp_mapping_has[PD_OTLP_MAPPING_FLAGS];

/* ---- between the files --------------------------------------------------------------------------- */

/* The encoders, for pd_encode. That of pprof appends to the model's bytes, that of OTLP fills encoder->out, that of
 * tables makes encoder->tables. *size: what the tables take. */
pprofdelta_status pd_encode_pprof(pd_encoder *encoder, pd_model *model,
                                  const pd_model_header *header);
pprofdelta_status pd_encode_otlp(pd_encoder *encoder, const pd_model *model,
                                 const pd_model_header *header);
pprofdelta_status pd_encode_tables(pd_encoder *encoder, const pd_model *model,
                                   const pd_model_header *header, uint64_t *size);

/* Releases the tables that were not moved. */
void pd_tables_drop(pprofdelta_tables *tables);

#endif
