/* Mappings of earlier profiles: which of them a profile has.
 *
 * Go reads the build id and the name of a mapping from its path at each dump. A deploy replaces or
 * removes the file at that path while the process lives. The next profile then has the same mapping,
 * in the same place, with another identity. So each known mapping is kept with its place (start, limit
 * and file offset). A mapping of a later profile
 *
 *     has a known identity                    is the mapping with this identity, in the same place
 *                                             if several mappings have it
 *     has a known place, an unknown           is the mapping in this place: its file was replaced
 *     identity, and no mapping has the
 *     identity known there
 *     else                                    is a new mapping
 *
 * pd_mapped.file is what the ledger's keys were made with. It stays the same when the identity of
 * the mapping changes. The counters decide whether a replaced file means a restart: see
 * ledger/reset.h. */
#ifndef PD_PROFILE_MAPPING_H
#define PD_PROFILE_MAPPING_H

#include "ledger/state.h"

struct pd_tables;

/* The result for a profile. */
typedef struct pd_mapped_facts {
    bool is_renamed;    /* some places were changed, and the locations identified again */
    bool main_replaced; /* the main mapping's identity is new, and that of the known one is gone */
    bool has_main;      /* the main mapping is a known one, perhaps by its place only */
    bool has_common;    /* a mapping of a file has a known identity */
    size_t files_replaced; /* mappings recognised by their place only */
} pd_mapped_facts;

/* Replaces the places of sealed tables, which are of the profile's own identities, by those of the
 * ledger's keys, and identifies the locations accordingly. Sets pd_mapping.mark. */
pprofdelta_status pd_mapped_recognise(pd_mapped_facts *out, pd_mem *mem,
                                      const pd_mapped_list *known, struct pd_tables *tables,
                                      pprofdelta_error *err);

/* Makes *out the list for a ledger with the profile's samples: the main mapping, the mappings that
 * locations use, and then the mappings of `known` that the profile does not have, up to the same
 * number. The places are as pd_mapped_recognise left them. known may be NULL. */
pprofdelta_status pd_mapped_remember(pd_mapped_list *out, pd_mem *mem,
                                     const struct pd_tables *tables, const pd_mapped_list *known,
                                     pprofdelta_error *err);

#endif
