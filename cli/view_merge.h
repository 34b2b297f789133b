/* Merges the locations of many profiles into one profile.
 *
 *     profile 1  locations 1 2 3  --+
 *     profile 2  locations 7 8    --+-->  one profile with each location once: 1 2 3 4
 *
 * Two locations are one if they have the same address in the same file, whatever the ids and the
 * load addresses are; without an address or a file, if they have the same lines and address. An
 * address in a file is that of the file, so that mappings of one file with the same offset are
 * one. */
#ifndef CLI_VIEW_MERGE_H
#define CLI_VIEW_MERGE_H

#include "view_edit.h"

typedef struct cli_merged {
    cli_profile profile; /* locations, functions and mappings; no sample types and no samples */
    cli_edit edit;
    cli_numbers by_place, by_mapping;
} cli_merged;

/* Begins with an empty profile. */
void cli_merged_begin(cli_merged *merged);

/* Returns the id of a location, which is added if it is new. */
uint64_t cli_merged_location(cli_merged *merged, const cli_profile *profile,
                             const Pd__View__Location *location);

/* Ends: the ids of the profile can be looked up, and no location is added any more. */
void cli_merged_end(cli_merged *merged);

#endif
