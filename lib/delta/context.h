/* The parsed door: what a context of the public API holds.
 *
 *     write    bytes -> input                                   (reading.h)
 *              input -> rows over the ledger -> decision       (delta.c, decide.c)
 *              -> subtraction -> model -> encode -> compress     (output.c)
 *              -> sink
 *     commit   window -> ledger
 *
 * An input is one profile on its way through; the ledger is what stays from window to window. Whether
 * it is read whole or streamed is decided in reading.c. */
#ifndef PD_DELTA_CONTEXT_H
#define PD_DELTA_CONTEXT_H

#include "encode/door.h"
#include "ledger/reset.h"
#include "ledger/state.h"
#include "ledger/subtract.h"
#include "delta/reading.h"
#include "profile/mapping.h"

struct pprofdelta {
    pd_mem mem;       /* what is remembered, what the caller chose, and the rows of windows */
    pd_mem inputs[3]; /* parts of it: an input goes with its own */
    /* What the caller chose. */
    unsigned flags;
    pprofdelta_on_reset on_reset;
    pprofdelta_first first;
    pd_type_rules rules;
    pd_buffer target_label; /* of a merge; empty: none */
    pd_buffer strong;       /* OTLP: the resource without what yields to a request's */
    int64_t started_nanos;
    uint64_t last_sequence;
    /* What is remembered. */
    pd_ledger ledger;
    pd_schema schema;
    pd_remembered last;
    /* There is a profile to subtract, or a restart after it. Else the context is empty, or the first
     * window of a series is open. */
    bool has_base;
    bool is_from_base; /* it was given by pprofdelta_base, and no window was committed since */
    /* The window. Its delta is made by the first write that succeeds to; every further write hands
     * out the same delta. */
    pd_steps steps;
    pd_door door;
    /* The delta is in `encoded`, and the ledger has the window as the open attempt, unless that
     * is due. */
    bool is_made, is_due;
    pd_bytes given;
    pprofdelta_report report; /* of the delta that was made */
    pd_mapped_facts mapped;   /* what is known of its mappings */
    bool may_be_window;       /* cur, or prev: see pprofdelta_report */
    pd_commit how;
    pd_remembered next;
    /* Machinery, kept for its capacity. */
    pd_stack_numbers numbers;
    pd_input cur, prev; /* prev: only with ON_RESET_NEGATIVE, which needs its stacks */
    pd_ledger spare;    /* where a base is built before it takes the ledger's place */
    pd_schema spare_schema;
    pd_model_header header; /* of the delta that was made */
    pd_bytes encoded; /* the delta that was made, compressed: the compressor's, or the writer's */
    pd_input proof;   /* the output read back, for VERIFY */
    pprofdelta_sum unsampled[PPROFDELTA_MAX_TYPES]; /* what went out by slot, if cur was a dump */
    pprofdelta_type_report types[PPROFDELTA_MAX_TYPES];     /* of the report, */
    pprofdelta_type_report described[PPROFDELTA_MAX_TYPES]; /* and of what is remembered */
    /* The tests' choice. */
    size_t chunk; /* 0; or every profile is a stream, with chunks of this size */
    bool is_always_tight;
};

/* What was built takes the place of what is remembered. */
static inline void pd_take_spare(pprofdelta *pd)
{
    PD_SWAP(pd_ledger, pd->ledger, pd->spare);
    PD_SWAP(pd_schema, pd->schema, pd->spare_schema);
    PD_SWAP(pd_remembered, pd->last, pd->next);
}

/* ---- context.c ------------------------------------------------------------------------------- */

/* Makes an object of this size that begins with a context; what follows is cleared. pprofdelta_free frees it. */
pprofdelta_status pd_context_new(const pprofdelta_options *options,
                                 const pprofdelta_allocator *allocator, size_t size,
                                 pprofdelta **out, pprofdelta_error *err);

/* Makes a call on the context; after E_LIMIT once more, tight: with nothing in memory but what the
 * context remembers. The call leaves the context as it was if it fails. */
typedef pprofdelta_status pd_call(pprofdelta *pd, void *cookie, pprofdelta_error *err);
pprofdelta_status pd_context_call(pprofdelta *pd, pd_call *call, void *cookie,
                                  pprofdelta_error *err);

/* ---- decide.c -------------------------------------------------------------------------------- */

/* Refuses stamped profiles, and those that are not cumulative by their types, and finds the
 * counters. */
pprofdelta_status pd_check_types(pprofdelta *pd, pd_input *input, pprofdelta_error *err);

/* The same for cur, and finds the slot of each of its columns. The first window of a context sets the
 * slots. If cur lacks a counter that prev has, the error prints the types of both. */
pprofdelta_status pd_check_columns(pprofdelta *pd, pprofdelta_error *err);

/* Is cur a profile that can follow what is remembered: by its order, time span and sampling rate?
 * Sets pd->may_be_window. */
pprofdelta_status pd_check_times(pprofdelta *pd, pprofdelta_error *err);

/* What the delta says of itself. */
typedef struct pd_decision {
    pd_subtraction how;
    pprofdelta_restart restart; /* between the profile that was seen last and cur */
    pd_interval window;
    bool is_set_back; /* the clock was set back since the profile that was seen last */
    bool is_late;     /* that profile, of an earlier attempt, is the later one */
    bool may_be_two_kinds;
    bool has_other_keys; /* the ledger is of an older version, which merged places that cur has */
    bool is_anew; /* nothing that is remembered can be subtracted: a restart, or other keys */
} pd_decision;

/* Is a window under way whose delta was made? */
static inline bool pd_is_pending(const pprofdelta *pd)
{
    return pd->is_made && pd->steps.stage != PD_IDLE;
}

/* Refuses a change of what is remembered while it is needed. */
static inline pprofdelta_status pd_refuse_change(const pprofdelta *pd, pprofdelta_error *err)
{
    PD_TRY(pd_steps_refuse_in_sink(&pd->steps, err));
    return pd_is_pending(pd) ? pd_refuse(err, "a window was written: commit it or abandon it first")
                             : PPROFDELTA_OK;
}

/* Does the context hold a profile, perhaps one without samples? */
static inline bool pd_has_seen(const pprofdelta *pd)
{
    return pd->ledger.window != 0;
}

/* Do its windows have sequences and attempts? */
static inline bool pd_has_sequence(const pprofdelta *pd)
{
    return !(pd->flags & PPROFDELTA_NO_SEQUENCE);
}

/* Is the window that of two profiles, in no series? */
static inline bool pd_is_pair(const pprofdelta *pd)
{
    return pd->is_from_base && !pd_has_sequence(pd);
}

enum { PD_LARGE = 1 << 20 }; /* bytes of a profile or a delta */

/* Is the profile large, and the window that of a pair or the first of a series? Then memory that only the
 * next window would use is given back: that one seldom follows soon. */
static inline bool pd_gives_back(const pprofdelta *pd)
{
    return pd->cur.source.window.cap > PD_LARGE && (pd_is_pair(pd) || !pd_has_seen(pd));
}

/* Does the window keep its base until it is committed? */
static inline bool pd_is_negative(const pprofdelta *pd)
{
    return pd->on_reset == PPROFDELTA_ON_RESET_NEGATIVE;
}

/* Decides what the filled window is and how it will be remembered (pd->how). */
pprofdelta_status pd_decide_window(pprofdelta *pd, pd_decision *decision, pprofdelta_error *err);

/* Has the main mapping another build id than the last one, and not only another place in the order? */
bool pd_is_other_build(const pprofdelta *pd);

/* ---- delta.c ---------------------------------------------------------------------------------- */

/* Makes the window that is due the open attempt. */
void pd_settle_due(pprofdelta *pd);

/* ---- estimate.c ------------------------------------------------------------------------------ */

/* For a window of a dump, before it is filled: makes room for the sides. */
pprofdelta_status pd_estimate_begin(pprofdelta *pd, pprofdelta_error *err);

/* Unsamples the values of a sample, in the order of cur's columns. entry: the sample's, whose window is sent
 * again if an attempt is open; or PD_ROW_NONE. Returns whether the values fit. */
bool pd_estimate(const pprofdelta *pd, uint32_t entry, int64_t *values);

/* Before a window of a dump becomes the open attempt. */
void pd_estimate_settle(pprofdelta *pd);

/* ---- remember.c ------------------------------------------------------------------------------ */

/* Keeps what is to be remembered beside the ledger. known: the mappings that it knew before, if it
 * goes on with them; or NULL. */
pprofdelta_status pd_remember_input(pprofdelta *pd, const pd_input *input,
                                    const pd_mapped_list *known, pd_remembered *out,
                                    pprofdelta_error *err);

/* ---- output.c -------------------------------------------------------------------------------- */

/* Subtracts, writes pd->cur into the model, encodes it, and keeps the books in *tally. *profile is as in
 * pd_encode. */
pprofdelta_status pd_output_write(pprofdelta *pd, const pd_decision *decision, pd_tally *tally,
                                  pd_bytes *profile, pprofdelta_error *err);

/* Encodes the model, again if its tables were moved. */
pprofdelta_status pd_output_encode(pprofdelta *pd, pd_bytes *profile, pprofdelta_error *err);

/* Compresses that into pd->encoded. If the delta is large, or the profile of a pair, that takes the memory
 * of pd->cur's inflated bytes, and the writer's is given back. So pd->cur cannot be read any more. */
pprofdelta_status pd_output_compress(pprofdelta *pd, pd_bytes profile, pprofdelta_error *err);

/* Frees what was made for a window. A delta is not there any more, unless it was compressed into the
 * memory of the inflated bytes. */
void pd_output_drop(pprofdelta *pd);

/* The parts of that which a sum (adder.c) needs too, written from pd->cur into pd->door.model. */
pprofdelta_status pd_output_begin(pprofdelta *pd, pprofdelta_error *err); /* types, main mapping */
void pd_output_comments(pprofdelta *pd);                                  /* but for older stamps */
pd_model_header pd_output_header(pprofdelta *pd, int64_t time_nanos, int64_t duration_nanos);

/* Hold the tally against the bytes that came in, before pd_output_compress, and against those that are
 * to go out. */
pprofdelta_status pd_output_verify_input(pprofdelta *pd, const pd_tally *tally,
                                         pprofdelta_error *err);
pprofdelta_status pd_output_verify(pprofdelta *pd, const pd_tally *tally, pprofdelta_error *err);

/* ---- adder.c --------------------------------------------------------------------------------- */

/* The account of a sum. bindings/wasm changes its limit. */
pd_mem *pd_adder_mem(pprofdelta_adder *adder);

#endif
