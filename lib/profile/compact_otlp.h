/* What the compact writer holds for OTLP: one Profile for each value type, and one dictionary.
 *
 *     resource, scope
 *     heads[type], samples[type]      a Profile: everything but its samples, then its samples
 *     dictionary                      mappings, locations, functions, links, strings, attributes,
 *                                     stacks
 *
 * Entry 0 of each table is the zero value. So an index into a table is what an output id is in pprof,
 * and a mapping, a location or a function of which nothing is known has the id 0: it is looked up anew
 * each time that it occurs. A line of such a function is left out: a request has no line without one.
 * What differs:
 *   - The string table has the strings only that something refers to by index. Values of attributes
 *     have their strings in them. So a string gets its index when it is first referred to.
 *   - Strings are UTF-8 (in tables, too, which have their strings and types here). Bytes that are not become U+FFFD before anything is interned. Mappings and
 *     locations are therefore interned by what is written, too: they may be equal although their
 *     keys are not.
 *   - A stack, as packed location indices, is interned. Samples have its index.
 *   - `labels` of the compact writer has the labels of a sample as they are. Together they are a set. A
 *     set is turned into attributes when it first occurs, since the labels with one key become one
 *     attribute. If the profile was made of a request, the labels of a link become a link again. */
#ifndef PD_PROFILE_COMPACT_OTLP_H
#define PD_PROFILE_COMPACT_OTLP_H

#include "base/keymap.h"

/* A string: where it is in `texts`, and its index in the string table, or 0 if it is not there. */
typedef struct pd_otlp_string {
    size_t off, len;
    uint32_t index;
} pd_otlp_string;

/* A set of labels: the fields with attribute indices and the link, in set_bytes. */
typedef struct pd_otlp_set {
    size_t off, len;
} pd_otlp_set;

/* The labels of a set, chained by key. */
typedef struct pd_otlp_pick {
    uint32_t next;        /* of label n: the next label with its key, or UINT32_MAX */
    uint32_t first, last; /* of key n: its labels */
} pd_otlp_pick;

/* An attribute of the Profile of a type. */
typedef struct pd_otlp_more {
    uint32_t type, attribute;
} pd_otlp_more;

/* Where the profiles of a request come from, if the request is made of another one. Everything is
 * encoded and borrowed. */
typedef struct pd_otlp_origin {
    pd_bytes resource, scope; /* their content; the scope without the writer's own attributes */
    pd_bytes resource_url, scope_url;
    bool has_scope;
    bool has_order; /* the scope has the order of the types */
} pd_otlp_origin;

typedef struct pd_compact_otlp {
    union {
        struct {
            pd_buffer texts, repaired;
            pd_buffer value, list, message, pairs,
                member; /* parts of the attribute that is being built */
            pd_buffer attribute_bytes, link_bytes, stack_bytes, set_bytes;
            pd_buffer common;    /* what all Profiles have */
            pd_buffer heads;     /* of the Profiles: what is before their samples */
            pd_buffer own;       /* pd_otlp_own: a packed list */
            pd_buffer own_lists; /* of the mappings in mapping_list */
            pd_buffer more;      /* pd_otlp_more of the Profiles */
            pd_buffer samples[PPROFDELTA_MAX_TYPES];
        };
        pd_buffer buffers[16 + PPROFDELTA_MAX_TYPES];
    };
    union {
        struct {
            pd_keymap attributes, links, stacks, sets;
            pd_keymap mapping_contents, location_contents;
            pd_keymap keys; /* of the set that is being turned into attributes */
        };
        pd_keymap maps[7];
    };
    pd_otlp_string *strings;
    pd_otlp_set *set_list;
    pd_otlp_pick *picks;
    size_t strings_cap, set_list_cap, picks_cap;
    uint32_t table_len; /* the last index in the string table */
    size_t types;
    uint32_t type_names[PPROFDELTA_MAX_TYPES][2]; /* numbers of strings: type and unit */
    size_t head_ends[PPROFDELTA_MAX_TYPES];
} pd_compact_otlp; /* zero it to begin */

#endif
