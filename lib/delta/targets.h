/* The targets of a merge, and the list of them that its output carries.
 *
 *     pprofdelta: delta from=NANOS to=NANOS id=HEX windows=N targets=N     the stamp: the highest id
 *     pprofdelta: targets HEX HEX ...                                      the highest ids, from the highest on
 *
 * So a later merge sees a target that two of its inputs have. The list is bounded. Of a merge of more targets it has
 * the highest ids: those of the union of two merges are the highest of both lists, so what a list has does not depend
 * on the tree in which the merges were made. A target is never taken for another one. Of two large merges that share
 * targets, each has the highest of these in its list. */
#ifndef PD_DELTA_TARGETS_H
#define PD_DELTA_TARGETS_H

#include "model/model.h"
#include "profile/tables.h"

enum { PD_TARGETS_LISTED = 1024 };

typedef struct pd_target {
    uint64_t
        number; /* its id, or a hash of its profile; of a merge, as a whole, a hash of its bytes */
    uint64_t profile; /* which named it: the number of the call, from 0 */
    bool is_merge;
} pd_target;

typedef struct pd_targets {
    pd_keymap seen;
    pd_target *list; /* by number in `seen` */
    pd_target *now;  /* of the profile in hand: its own, and for a merge those that it lists */
    size_t now_len;
} pd_targets; /* zero it to begin */

/* Takes the targets of a profile in hand: `own`, and for a merge its list. Makes room for pd_targets_add. */
pprofdelta_status pd_targets_take(pd_targets *targets, pd_mem *mem, const pd_tables *tables,
                                  pd_target own, pprofdelta_error *err);

/* Returns the first target of the profile in hand that was added before, or NULL. The first is its own. */
const pd_target *pd_targets_common(const pd_targets *targets);

/* Adds those of the profile in hand. */
void pd_targets_add(pd_targets *targets);

/* Adds the comment with the list, at the end: no target can be added afterwards. Returns the highest id. */
uint64_t pd_targets_write(pd_targets *targets, pd_model *model);

#endif
