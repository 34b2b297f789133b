/* The parts of the resident memory of a process, which the heap agent writes as the type
 * rss_space/bytes. The leaf of each of its stacks is the part, a name in brackets. */
#ifndef CLI_SHOW_ACCOUNT_PARTS_H
#define CLI_SHOW_ACCOUNT_PARTS_H

#include "view.h"

/* Prints the parts, the largest first, with their sum, which is the resident memory. Prints nothing
 * if the profile has none. */
void cli_account_put(const cli_profile *profile);

#endif
