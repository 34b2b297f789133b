/* The model of a profile that is written. Doors fill it, encoders read it.
 *
 *     strings      [off,len] ...                               into `texts`
 *     types        [type,unit] ...
 *     mappings     [start,limit,file offset,names,has] ...
 *     functions    [name,system name,file,line] ...
 *     lines        [function,line,column] ...                  of all locations, one after the other
 *     locations    [address,mapping,end of its lines] ...
 *     samples      bytes                                       see below
 *     attributes   [key,unit,value] ...                        and who has them; only requests of OTLP have some
 *
 * Everything is interned by content, in order of first use: nothing is there twice, whatever the number
 * of sources. Ids count from 1 and 0 is none; strings count from 0, the empty string. So equal input makes
 * equal models. Nothing is there that no sample uses, but for the mapping of the main binary, which is the
 * first, and a source's types and comments.
 *
 * Samples are most of a profile, so they are held in the densest form that we know: as the fields `sample` of
 * pprof, with the model's ids. The pprof encoder completes these bytes; the others read them by
 * pd_model_next_sample.
 *
 * Errors are sticky in `writer`: the functions then return 0 or do nothing, and the encoder returns the
 * status. */
#ifndef PD_MODEL_MODEL_H
#define PD_MODEL_MODEL_H

#include "pprofdelta_common.h"
#include "profile/tables.h"

typedef struct pd_model_text {
    size_t off, len;
} pd_model_text;

typedef struct pd_model_type {
    uint32_t type, unit; /* strings, as all names below */
} pd_model_type;

typedef struct pd_model_mapping {
    pd_key key; /* what it was added with */
    uint64_t start, limit, file_offset;
    uint32_t filename, build_id;
    uint32_t has; /* bit n: the nth flag, from has_functions on */
    bool stays; /* at its start, because a location has an address before it (profile/identity.h) */
} pd_model_mapping;

typedef struct pd_model_function {
    uint32_t name, system_name, filename;
    int64_t start_line;
} pd_model_function;

typedef struct pd_model_location {
    uint64_t address;
    size_t lines_end; /* in `lines`; they begin where those of the location before end */
    uint32_t mapping;
    bool is_folded;
} pd_model_location;

typedef struct pd_model_attribute {
    uint32_t key, unit;
    size_t off, len; /* in `attribute_values`: an encoded AnyValue of OTLP */
} pd_model_attribute;

/* Who has an attribute: an id, the number of a sample from 1, or that of a type from 1. */
typedef enum pd_model_owner {
    PD_OWNER_MAPPING,
    PD_OWNER_LOCATION,
    PD_OWNER_SAMPLE,
    PD_OWNER_TYPE,
    PD_OWNERS
} pd_model_owner;

typedef struct pd_model_owned {
    uint64_t owner;
    uint32_t attribute;
} pd_model_owned;

/* In the order in which they were given: of one kind but for types, the owners ascend. */
typedef struct pd_model_owned_list {
    pd_model_owned *list;
    size_t len;
} pd_model_owned_list;

/* What is known of the key of a mapping. */
typedef struct pd_model_known {
    uint64_t start; /* memory_start as written */
    uint32_t id;    /* 0: it was not added */
} pd_model_known;

typedef struct pd_model {
    pd_writer writer;
    union { /* keys[] is all of them; likewise buffers[] */
        struct {
            pd_keymap string_keys, mapping_keys, function_keys, location_keys, attribute_keys;
        };
        pd_keymap keys[5];
    };
    union {
        struct {
            pd_buffer texts, attribute_values;
            pd_buffer encoded; /* types and samples, as fields of a pprof profile */
            pd_buffer stack,
                labels;        /* of the sample that is being added: packed ids; Label fields */
            pd_buffer scratch; /* the message that is being built */
        };
        pd_buffer buffers[6];
    };
    pd_model_text *strings;
    pd_model_mapping *mappings; /* by id - 1, as all below */
    pd_model_known *known;      /* of each mapping key */
    pd_model_function *functions;
    pd_line *lines;
    pd_model_location *locations;
    pd_model_attribute *attributes;
    uint32_t *comments; /* strings */
    pd_model_owned_list owned[PD_OWNERS];
    pd_model_type types[PPROFDELTA_MAX_TYPES];
    size_t types_len, mappings_len, lines_len, comments_len;
    size_t samples_off;           /* in `encoded`: where the samples begin */
    uint64_t samples, labels_len; /* labels of all samples */
    bool has_zeros;               /* a sample has no value but 0 */
} pd_model;                       /* zero it to begin */

/* Begins a profile; keeps capacity. err is borrowed until it is encoded. */
void pd_model_begin(pd_model *model, pd_mem *mem, pprofdelta_error *err);

/* For a sample more, maybe after a failure: what a failure left of the one before is taken back, but for what it
 * referred to. A new model, or one that has moved, may be told of another account. */
void pd_model_go_on(pd_model *model, pd_mem *mem, pprofdelta_error *err);

/* ---- strings, types, comments ------------------------------------------------------------------ */

uint32_t pd_model_string(pd_model *model, pd_bytes string);

/* The same for a string of another model, which has its key. */
uint32_t pd_model_string_of_key(pd_model *model, pd_bytes string, pd_key key);

/* Valid until the next string is added. */
static inline pd_bytes pd_model_text_of(const pd_model *m, uint32_t string)
{
    if (m->writer.status || !string)
        return (pd_bytes){0};
    const pd_model_text *text = &m->strings[string];
    return (pd_bytes){m->texts.ptr + text->off, text->len};
}

/* Adds a sample type, before the first sample. */
void pd_model_add_type(pd_model *model, uint32_t type, uint32_t unit);
void pd_model_add_comment(pd_model *model, uint32_t string);

/* Adds the stamp as a comment, with the process id unless pid is 0. */
void pd_model_add_stamp(pd_model *model, const pprofdelta_stamp *stamp, int64_t pid);

/* ---- mappings, functions and locations --------------------------------------------------------- */

/* Returns the mapping with this key, or 0. */
uint32_t pd_model_find_mapping(const pd_model *model, pd_key key);

/* The same, but adds the mapping if it is not there. Its start, as written, is the expected one of the key, if
 * there is one. `key` of the mapping is set. */
uint32_t pd_model_add_mapping(pd_model *model, pd_key key, const pd_model_mapping *mapping);

/* Is no mapping with this key expected at another start? */
bool pd_model_may_start(const pd_model *model, pd_key key, uint64_t start);

/* If a mapping with this key is added later, its start is `start`. Returns what is known of the key, or NULL on
 * failure. */
pd_model_known *pd_model_expect_mapping(pd_model *model, pd_key key, uint64_t start);

/* The memory_start of a mapping as written: addresses in it must be moved accordingly. */
static inline uint64_t pd_model_mapping_start(const pd_model *m, uint32_t mapping)
{
    return mapping && !m->writer.status ? m->mappings[mapping - 1].start : 0;
}

/* What is known of a mapping after all, besides what it was added with. */
void pd_model_mapping_has(pd_model *model, uint32_t mapping, uint32_t has);

uint32_t pd_model_add_function(pd_model *model, const pd_model_function *function);

/* Returns the location with this identity, or 0. */
uint32_t pd_model_find_location(const pd_model *model, pd_key ident);

/* Adds a location that is not there: first its lines, in order, then the location. function 0: none. */
void pd_model_add_line(pd_model *model, uint32_t function, int64_t line, int64_t column);
uint32_t pd_model_add_location(pd_model *model, pd_key ident, uint32_t mapping, uint64_t address,
                               bool is_folded);

static inline size_t pd_model_lines_begin(const pd_model *m, uint32_t location)
{
    return location > 1 ? m->locations[location - 2].lines_end : 0;
}

/* ---- samples ----------------------------------------------------------------------------------- */

/* An id as a varint of up to four bytes, the first byte in the lowest bits, then zeros. It is encoded once and
 * copied often. 0: no id. */
typedef uint32_t pd_encoded;

enum { PD_ENCODED_MAX = (1 << 28) - 1 }; /* ids are at most this */

static inline pd_encoded pd_encode_id(uint32_t id)
{
    pd_encoded encoded = 0;
    for (unsigned shift = 0; id; shift += 8, id >>= 7)
        encoded |= ((id & 0x7f) | (id > 0x7f ? 0x80 : 0)) << shift;
    return encoded;
}

/* A sample: its stack, leaf first, then its labels, then its values. pd_model_stack makes room for a number of
 * locations, at least one, and returns where they go, or NULL on failure. They are put there one after the
 * other, and pd_model_stack_end sets the end. Between the two only functions that add locations may be
 * called. */
enum { PD_STACK_SLACK = 64 }; /* bytes after the locations that may be overwritten */

static inline uint8_t *pd_model_stack(pd_model *m, size_t locations)
{
    size_t most = SIZE_MAX / sizeof(pd_encoded) - PD_STACK_SLACK;
    return pd_write_room(&m->writer, &m->stack,
                         locations > most ? SIZE_MAX
                                          : locations * sizeof(pd_encoded) + PD_STACK_SLACK);
}

static inline uint8_t *pd_model_stack_put(uint8_t *at, pd_encoded location)
{
    uint32_t bytes = pd_le32(location);
    memcpy(at, &bytes, sizeof bytes);
    return at + (39 - __builtin_clz(location | 1)) / 8;
}

static inline void pd_model_stack_end(pd_model *m, const uint8_t *end)
{
    pd_write_done(&m->stack, end);
}

typedef struct pd_model_label {
    uint32_t key, str, num_unit;
    int64_t num;
} pd_model_label;

void pd_model_add_label(pd_model *model, uint32_t key, uint32_t str, int64_t num,
                        uint32_t num_unit);

/* Removes the first labels of the sample that is being added. */
void pd_model_drop_labels(pd_model *model, size_t len);

/* The sample ends. One value for each type. */
void pd_model_add_sample(pd_model *model, const int64_t *values);

/* Is any of the values not 0? Other samples are not written. */
static inline bool pd_model_has_value(const int64_t *values, size_t len)
{
    int64_t any = 0;
    for (size_t i = 0; i < len; i++)
        any |= values[i];
    return any != 0;
}

/* ---- reading samples ---------------------------------------------------------------------------- */

typedef struct pd_model_sample {
    pd_bytes stack;  /* location ids, as varints */
    pd_bytes labels; /* for pd_model_next_label */
    int64_t values[PPROFDELTA_MAX_TYPES];
} pd_model_sample;

/* Reads the sample at *at, an offset in `encoded`, and moves *at behind it. Returns false at the end. Offsets are
 * from samples_off on: that of a sample is encoded.len before it is added. */
bool pd_model_next_sample(const pd_model *model, size_t *at, pd_model_sample *sample);

/* Takes a label, or the id of a location, off the front. */
bool pd_model_next_label(pd_bytes *labels, pd_model_label *label);

static inline bool pd_model_next_location(pd_bytes *stack, uint32_t *location)
{
    uint64_t id;
    if (!stack->len)
        return false;
    const uint8_t *end = stack->ptr + stack->len;
    stack->ptr = pd_varint_decode(stack->ptr, end, &id);
    stack->len = (size_t)(end - stack->ptr);
    *location = (uint32_t)id;
    return true;
}

/* ---- attributes --------------------------------------------------------------------------------- */

/* Returns the attribute with this value, an encoded AnyValue; it is interned, too. */
uint32_t pd_model_attribute_of(pd_model *model, uint32_t key, uint32_t unit, pd_bytes value);

void pd_model_own(pd_model *model, pd_model_owner kind, uint64_t owner, uint32_t attribute);

/* ---- the header --------------------------------------------------------------------------------- */

typedef struct pd_model_header {
    bool has_period_type;
    uint32_t period_type, period_unit;
    int64_t period, time_nanos, duration_nanos;
    uint32_t drop_frames, keep_frames, default_sample_type, doc_url;
    uint64_t
        series; /* of windows, or 0: none. OTLP makes profile_id of it and the sequence, else of the content */
    uint64_t sequence;
} pd_model_header;

#endif
