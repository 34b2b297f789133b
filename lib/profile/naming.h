/* Names that stand for others: how the samples of a profile are keyed before it is known what their
 * mappings and labels are called.
 *
 * Go writes a profile's samples long before its strings and mappings. Who wants to read it in one
 * pass knows a mapping by its id until then, and a label by the numbers of its strings:
 *
 *     what is read        assumed                      as it turns out
 *     mapping 1           {1}                          {file, bias}
 *     label 2 0 0         {2 0 0}                      "bytes", "", ""
 *
 * A naming holds both sides for one profile, the base. Its keys stay as they were assumed; whoever
 * comes later is keyed by the same names, be it that the same was assumed and found to be right
 * (agrees), be it that what is known is looked up here (place, label). */
#ifndef PD_PROFILE_NAMING_H
#define PD_PROFILE_NAMING_H

#include "profile/identity.h"

#include <stdbool.h>
#include <stddef.h>

struct pd_tables;

/* The names of the labels that one pass has met, as string indices. */
enum { PD_TRIPLES = 32 };

/* Mappings, and what has none: each is compared with all others. */
enum { PD_NAMED_PLACES = 64 + 1 };

typedef struct pd_triple {
    uint32_t key, str, num_unit;
} pd_triple;

typedef struct pd_triples {
    pd_triple list[PD_TRIPLES];
    size_t len;
    bool too_many;
    uint32_t largest; /* string index that was met, even where the label then named another */
} pd_triples;         /* zero it to begin */

void pd_triples_note(pd_triples *triples, pd_triple triple);

typedef struct pd_naming {
    bool is_set; /* else everything has its own name */
    struct pd_named_place {
        uint64_t id; /* 0: no mapping */
        pd_place place;
    } places[PD_NAMED_PLACES];
    size_t places_len;
    struct pd_named_label {
        pd_triple triple;
        pd_key names;
    } labels[PD_TRIPLES];
    size_t labels_len;
} pd_naming; /* zero it to begin; it holds nothing else, so that what is remembered takes as much
                memory with a naming as without */

pd_place pd_naming_assumed_place(uint64_t mapping_id);
pd_key pd_naming_assumed_label(pd_triple triple);

/* Learns what the assumed names of a sealed profile stand for. False where two of them are one, or
 * there are too many; then the naming is not set. */
bool pd_naming_learn(pd_naming *naming, const struct pd_tables *tables, const pd_triples *triples);

/* Does what was assumed of this sealed profile mean the same here? */
bool pd_naming_agrees(const pd_naming *naming, const struct pd_tables *tables,
                      const pd_triples *triples);

/* The name under which the keys here have it. */
pd_place pd_naming_place(const pd_naming *naming, pd_place place);
pd_key pd_naming_label(const pd_naming *naming, pd_key names);

#endif
