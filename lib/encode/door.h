/* What all doors have in common beside the steps of a window: the way from a model to the sink.
 *
 *     pd_door_open        what the options say of the output
 *     pd_door_write       [the door fills a model, encodes and packs it] -> sink
 *     pd_door_close
 *
 * The doors for records and for samples make profiles from nothing. For these the options say more:
 *
 *     pd_door_describe    value types, period, default type
 *     pd_door_add_types   the value types
 *     ...                 the samples, by the door
 *     pd_door_finish      the stamp and the header, encoded */
#ifndef PD_ENCODE_DOOR_H
#define PD_ENCODE_DOOR_H

#include "base/steps.h"
#include "codec/compress.h"
#include "encode/encode.h"
#include "pprofdelta_record.h"

typedef struct pd_door {
    pd_mem mem;     /* a part of the account that it was opened with: model, encoder, compressor */
    pd_model model; /* what is written */
    pd_encoder encoder;
    pd_compressor compressor;
    pd_buffer resource; /* see pd_encode_resource */
    bool has_stamp;
    int64_t pid; /* in the stamp; 0: none */
    uint64_t id; /* of the series of windows */
    /* Of pd_door_describe. */
    pd_buffer text; /* type, unit of each type; period type, period unit, default type: with NULs */
    size_t rest_at; /* where the types end */
    size_t types;
    bool has_period_type;
    int64_t period;
} pd_door; /* zero it to begin */

/* Those of the options of a door that this file uses. */
typedef struct pd_door_options {
    unsigned flags;
    pprofdelta_compression compression;
    int level;
    pprofdelta_format format;
    const pprofdelta_attribute *resource;
    size_t resource_len;
    uint64_t id;
} pd_door_options;

#define PD_DOOR_OPTIONS(o)                                                                         \
    (&(const pd_door_options){(o)->flags, (o)->compression, (o)->level, (o)->format,               \
                              (o)->resource, (o)->resource_len, (o)->id})

pprofdelta_status pd_door_check(const pd_door_options *options, pprofdelta_error *err);

/* Copies what it needs, to the account `mem`. After a failure call pd_door_close, too. */
pprofdelta_status pd_door_open(pd_door *door, pd_mem *mem, const pd_door_options *options,
                               pprofdelta_error *err);
pprofdelta_status pd_door_describe(pd_door *door, pd_mem *mem, const pprofdelta_value_type *types,
                                   size_t types_len, const char *const rest[3],
                                   pprofdelta_error *err);

/* Frees what was made for a window. What was made of the options stays. */
void pd_door_drop(pd_door *door);

void pd_door_close(pd_door *door);

/* What a door does itself in a write. make: the bytes that go out. send: hands them to the sink; NULL: calls it. */
typedef struct pd_door_job {
    pprofdelta_status (*make)(void *cookie, pd_bytes *out, pprofdelta_error *err);
    int (*send)(void *cookie, const pprofdelta_sink *sink, const void *data, size_t len);
} pd_door_job;

/* Writes the window under way. *written is set on success only. */
pprofdelta_status pd_door_write(const pd_door *door, pd_steps *steps, const pd_door_job *job,
                                void *cookie, const pprofdelta_sink *sink, uint64_t *written,
                                pprofdelta_error *err);

void pd_door_add_types(const pd_door *door, pd_model *model);

/* Adds the stamp of a window of the series; without a sequence it names none. Does nothing if there are no stamps. */
void pd_door_add_stamp(const pd_door *door, const pd_steps *steps, const pd_interval *window,
                       pd_model *model);

/* The window is the one under way, and is numbered. *out is as in pd_encode. */
pprofdelta_status pd_door_finish(pd_door *door, const pd_steps *steps, pd_model *model,
                                 pd_bytes *out);

#endif
