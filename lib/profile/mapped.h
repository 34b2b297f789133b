/* The mappings that a ledger knows, and which mappings of a later profile are the same ones.
 *
 * Go reads the build id and the name of a mapping from its path, at each dump. A deploy replaces or
 * removes the file at that path while the process lives. The next profile then has the same
 * mapping, in the same place, under another identity. So each known mapping is kept with its place
 * (start, limit and file offset), and a mapping of a later profile
 *
 *     has an identity that is known           is the mapping with this identity, in the same place
 *                                             if several mappings have it
 *     has a known place, an identity that     is the mapping in this place: its file was replaced
 *     is not known, and the profile does
 *     not have the identity known there
 *     else                                    is a new mapping
 *
 * `file` is what the ledger's keys were made with. It stays, whatever identity the mapping takes.
 * Whether a replaced file means a restart is decided by the counters: see delta/reset.h. */
#ifndef PD_PROFILE_MAPPED_H
#define PD_PROFILE_MAPPED_H

#include "delta/state.h"

struct pd_tables;

/* What was found out about a profile's mappings. */
typedef struct pd_mapped_facts {
    bool is_renamed; /* some are known under another file: locations must be identified again */
    bool main_moved; /* the main mapping is new, in another place, and the known one is gone */
    size_t files_replaced; /* mappings that are known by their place only */
} pd_mapped_facts;

/* Replaces the places of sealed tables, which are of their own identities, by those that the
 * ledger's keys were made with. */
pd_mapped_facts pd_mapped_recognise(const pd_mapped_list *known, struct pd_tables *tables);

/* Makes *out the list for a ledger that has the profile's samples: the main mapping, those that
 * locations use, and then those of `known` that the profile does not have, as far as they are not
 * more. The places are as pd_mapped_recognise left them; known may be NULL. */
pprofdelta_status pd_mapped_remember(pd_mapped_list *out, pd_mem *mem,
                                     const struct pd_tables *tables, const pd_mapped_list *known,
                                     pprofdelta_error *err);

void pd_mapped_release(pd_mapped_list *list, pd_mem *mem);

#endif
