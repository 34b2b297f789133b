/* Converts one OTLP request (ExportProfilesServiceRequest) into one pprof profile.
 *
 *     request --dictionary.c--> tables --request.c--> profiles, sets --points.c--> samples
 *
 * The profiles of a request are of one value type each. Those that describe the same time become
 * the columns of one set: their samples with the same stack, attributes, link and timestamp become
 * one sample of the pprof profile, and their values are added up. A set ends where another resource or scope begins, and where the
 * time or the duration is another. A type that a set has twice has two columns.
 *
 *     set 0     alloc_space  inuse_space     resource A, 12:00:00 to 12:00:30
 *     set 1     alloc_space  inuse_space     resource A, 12:00:30 to 12:01:00
 *     set 2     cpu                          resource B, ...
 *
 * With one set nothing is added. With several, each sample has labels for what differs: the
 * attributes of the resource ("resource.KEY"), the scope ("scope.name", "scope.version"), and the
 * beginning and the duration of its profile ("profile.time_unix_nano", "profile.duration_nano").
 * A window is made of a request with one set, and has none of these labels.
 *
 * A sample of several points (values, or timestamps) becomes one sample for each. A timestamp is a
 * label "timestamp_unix_nano", and a link is the labels "trace_id" and "span_id". */
#ifndef PD_OTLP_REQUEST_H
#define PD_OTLP_REQUEST_H

#include "encode/encode.h"
#include "otlp/dictionary.h"
#include "model/transfer.h"

/* A type and its unit: numbers of strings. */
typedef struct pd_request_type {
    uint64_t type, unit;
    bool is_there;
} pd_request_type;

/* That of a column. */
typedef struct pd_request_column {
    uint32_t type, unit;
} pd_request_column;

/* One Profile, without its samples. */
typedef struct pd_request_profile {
    pd_bytes body;
    pd_request_type type, period_type;
    uint64_t time, duration, period;
    uint64_t dropped;        /* only checked, */
    pd_bytes payload_format; /* like this */
    uint32_t column;
    bool has_time, has_column; /* our writer says which column */
    size_t scope, set; /* numbers in the request; the profiles of a set become samples together */
} pd_request_profile;

/* A sample of the pprof profile, before it is written. Its values are in pd_request.values. */
typedef struct pd_request_row {
    pd_bytes sample; /* the first that it was made of */
    size_t at;       /* the offset of its record in the profile, which has so many labels */
    size_t labels;   /* that are made of the attributes; they come first */
    uint32_t stack, link;
    uint64_t timestamp;
    bool has_timestamp;
} pd_request_row;

/* Where the profiles of a scope come from. */
typedef struct pd_request_source {
    pd_encode_attributes attributes; /* the messages as they are */
    pd_bytes scope_name, scope_version;
    pd_bytes members; /* the attribute "pprofdelta", which our writer made: see encode/otlp.h */
    uint64_t dropped; /* only checked */
} pd_request_source;

typedef struct pd_request_numbers {
    uint64_t *at;
    size_t len;
} pd_request_numbers;

/* What is true of a request as a whole. The numbers of strings are 0 where there is none. */
typedef struct pd_request_facts {
    uint64_t begin, end;    /* of all profiles whose time is known */
    uint64_t lone_duration; /* the longest of the others */
    bool has_time, has_comments;
    uint64_t period;
    pd_request_type period_type;
    uint32_t strings[PD_PROFILE_DOC_URL + 1]; /* by field of a pprof profile */
    pd_bytes order;                           /* pprof.scope.sample_type_order */
    size_t resources, scopes, sets;
    size_t timestamps, links; /* that samples have */
    size_t payloads;          /* profiles with an original payload */
    size_t listed;            /* attributes of resources and scopes */
    size_t unshown; /* attributes of profiles, mappings, locations that pprof has no place for */
    bool has_more;  /* a sample has an attribute of which a label does not say all */
} pd_request_facts;

struct pd_request {
    pd_parse parse;      /* errors are sticky in it; the first member: see pd_request_field */
    bool takes_several;  /* sets; the caller sets it before each call */
    uint64_t left, most; /* bytes that may be made yet, and in all: see pd_request_spend */
    pd_request_facts facts;
    bool is_read;   /* the last input was a request */
    pd_bytes bytes; /* the request, as long as the caller's bytes and the inflated ones */
    size_t profiles_count;
    size_t labels_made, own_labels; /* so far; of the attributes of the last sample */
    unsigned depth;                 /* of the value that is being checked */
    uint64_t unknown_fields;
    pd_dictionary dictionary;
    pd_buffer profile;          /* the pprof profile */
    pd_buffer part;             /* a record that is being made; empty between records */
    pd_buffer text;             /* a string that is being made */
    pd_buffer stack;            /* the locations of the last row */
    pd_buffer labels;           /* of the attributes and the link of a sample */
    pd_buffer common;           /* the labels that all samples of a set have */
    pd_request_source *sources; /* of each scope */
    pd_request_profile *profiles;
    pd_request_column types[PPROFDELTA_MAX_TYPES];
    size_t types_len;
    pd_keymap keys; /* of rows, in their order */
    pd_request_row *rows;
    size_t rows_len;
    int64_t *values;
    pd_request_numbers points, times; /* the values and the timestamps of a sample */
    pd_keymap comments;
    pd_encode_attributes attributes; /* attributes.c */
    pd_transfer_more more;
    pd_buffer written_resource, written_scope;
}; /* zero it to begin */

/* Converts the request and sets *bytes to the profile, which is valid until the next call. Several sets
 * are refused unless takes_several. */
pprofdelta_status pd_request_read(pd_request *r, pd_mem *mem, pd_bytes *bytes,
                                  pprofdelta_error *err);

/* For the writer of a request that is made of one with one set (attributes.c). What is set is valid as long as
 * the request's bytes, until the next call. Failures while samples are written are those of the writer.
 *
 * Sets encoder->attributes: where the profiles come from. The attributes of encoder->resource follow those
 * of the request. Of two with the same key, that of the request counts, unless `strong`, which has some
 * of the others, has it. */
pprofdelta_status pd_request_attributes(pd_request *r, pd_encoder *encoder, pd_bytes strong,
                                        pprofdelta_error *err);

/* Puts the attributes of the profiles to the writer. */
void pd_request_profiles(pd_request *r, pd_model *c);

/* What the transfer of the profile puts to the writer: the attributes of mappings, locations, samples. */
const pd_transfer_more *pd_request_more(pd_request *r, pprofdelta_error *err);

/* Returns whether a pprof profile has a field for the attribute of a Profile with this key, a number. */
bool pd_request_has_field(pd_request *r, uint64_t key);

/* The fields of its messages; those of a sample are in points.c. */
extern const pd_rows pd_request_rows, pd_request_resource_profiles_rows, pd_request_resource_rows,
    pd_request_entity_rows, pd_request_scope_profiles_rows, pd_request_scope_rows,
    pd_request_value_type_rows, pd_request_profile_rows, pd_request_sample_rows;

/* For a request that cannot be read: if it is one of an earlier version, that is what is wrong with it. */
pprofdelta_status pd_request_tell_older(pd_bytes bytes, pprofdelta_status status,
                                        pprofdelta_error *err);

/* Reads the samples of all sets and writes them (points.c). */
void pd_request_points(pd_request *r);

#endif
