/* The parsed-profile door: what a context of the public API holds.
 *
 *     bytes -> inflate -> tables      -> samples -> window -> verdict      (delta.c)
 *              \___ look.c ____/
 *           -> subtraction -> transfer -> compact  -> deflate -> sink       (output.c, delta.c)
 *
 * A large file that needs not be kept goes through tables and samples at once, a piece at a time
 * (once.c); and another thread may inflate ahead of it and deflate behind it (helper.c).
 *
 * A look is one profile on its way through; the ledger is what stays from window to window. */
#ifndef PD_PARSED_CONTEXT_H
#define PD_PARSED_CONTEXT_H

#include "codec/deflate.h"
#include "codec/inflate.h"
#include "codec/relay.h"
#include "delta/reset.h"
#include "delta/state.h"
#include "delta/tally.h"
#include "delta/types.h"
#include "profile/chunks.h"
#include "profile/once.h"
#include "profile/transfer.h"
#include "text/heap.h"

/* How a call goes about it: see frugal.c. */
typedef enum pd_way { PD_WAY_USUAL, PD_WAY_BOUNDED, PD_WAY_WHOLE, PD_WAYS } pd_way;

typedef struct pd_look {
    pd_buffer inflated;
    /* The bounded way: nothing is inflated whole; a part at a time is, again for each pass. */
    bool is_streamed;
    pd_bytes packed; /* the caller's */
    pd_stream stream;
    pd_buffer text; /* the strings */
    bool is_kept;   /* in one pass: the rows' records were, unless they took too much */
    pd_kept kept;
    pd_text dump;   /* where the profile was made of one in text form, in the ordinary way */
    bool unsamples; /* ... and is wanted as what its raw counts stand for */
    pd_tables tables;
    pd_window window;
    pd_transfer transfer;
    pd_type_name names[PPROFDELTA_MAX_TYPES]; /* of its columns */
    pd_columns columns;
} pd_look;

/* It takes no memory of its own: a limit that suffices without it suffices with it. */
struct pprofdelta_helper {
    pprofdelta *pd;
};

struct pprofdelta {
    pd_mem mem;
    /* What the caller chose. */
    unsigned flags;
    pprofdelta_on_reset on_reset;
    pprofdelta_first first;
    pd_type_rules rules;
    int64_t started_nanos;
    pprofdelta_runner runner_copy;
    const pprofdelta_runner *runner; /* the copy; or NULL */
    /* What is remembered. */
    pd_ledger ledger;
    pd_schema schema;
    pd_naming naming;   /* of the ledger's keys */
    pd_columns assumed; /* those of the base, where the naming is set */
    pd_remembered last;
    uint64_t sequence; /* of the last committed window */
    uint64_t attempts; /* at the next one: how often its delta was handed out */
    bool has_base;     /* the ledger holds a profile, perhaps one without samples */
    bool is_from_base; /* ... given by pprofdelta_base, and no window committed since */
    /* The window under way. */
    bool is_pending;
    pd_way way;
    pd_mapped_facts mapped; /* what is known of its mappings */
    bool may_be_window;     /* cur, or prev: see pprofdelta_report */
    pd_commit how;
    pd_remembered next;
    /* Two threads for it. */
    pprofdelta_ahead *ahead;
    pprofdelta_pack *pack;
    pd_relay relay; /* begun as long as there is either */
    pd_pump pump;   /* open as long as there is a helper */
    pprofdelta_helper helper;
    /* Machinery, kept for its capacity. */
    pd_stack_numbers numbers;
    pd_inflater inflater;
    pd_deflater deflater;
    pd_look cur, prev; /* prev: only with ON_RESET_NEGATIVE, which needs its stacks */
    pd_ledger spare;   /* where a base is built before it takes the ledger's place */
    pd_schema spare_schema;
    pd_naming spare_naming;
    pd_compact compact;
    pd_bytes raw;     /* the delta of the last window, but for what the relay has of it */
    size_t part;      /* where it is cut (codec/cut.h): the length of a part, */
    size_t early;     /* and what was in the writer behind the last sample */
    pd_look proof;    /* the output read back, for VERIFY */
    size_t piece;     /* 0; or how much the bounded way inflates at a time, which then is the way
                      of every profile: the tests' choice */
    pd_way first_way; /* likewise */
    pprofdelta_sum unsampled[PPROFDELTA_MAX_TYPES]; /* what went out by slot, if cur was a dump */
    pprofdelta_type_report types[PPROFDELTA_MAX_TYPES];
};

/* Is the delta compressed as it is written? Else the relay has it, or all of it is compressed at the
 * end. */
static inline bool pd_packs_inline(const pprofdelta *pd)
{
    return (pd->cur.is_streamed || pd->way != PD_WAY_USUAL) && !pd_relay_is_begun(&pd->relay);
}

static inline void pd_swap_memory(void *a, void *b, void *scratch, size_t size)
{
    memcpy(scratch, a, size);
    memcpy(a, b, size);
    memcpy(b, scratch, size);
}

#define PD_SWAP(type, a, b)                                                                        \
    do {                                                                                           \
        type scratch_;                                                                             \
        pd_swap_memory(&(a), &(b), &scratch_, sizeof scratch_);                                    \
    } while (0)

/* look.c: inflates and parses, and names the columns. What might not fit the limit goes the bounded
 * way; the bytes are then borrowed for as long as the look is used. With keep_bytes the look
 * borrows nothing, even where the bytes are plain, and goes the ordinary way. */
pprofdelta_status pd_look_parse(pprofdelta *pd, pd_look *look, const void *bytes, size_t len,
                                bool keep_bytes, pprofdelta_error *err);

/* Does the bounded way suit these bytes? */
bool pd_look_is_large(const pprofdelta *pd, const pd_look *look, const uint8_t *bytes, size_t len);

/* Begins to inflate look->packed, a piece at a time. */
pprofdelta_status pd_look_stream(pprofdelta *pd, pd_look *look, pprofdelta_error *err);

/* once.c: both looks of a delta in one pass each, where that can be done; false where not, or where
 * anything is wrong. The base: parsed, in the spare ledger under the spare schema and naming. The
 * window: parsed, and filled. */
bool pd_once_base(pprofdelta *pd, const void *bytes, size_t len);
bool pd_once_window(pprofdelta *pd, const void *bytes, size_t len);

/* Is it to be tried with these bytes, and do they begin well: with locations before a sample? */
bool pd_once_suits(pprofdelta *pd, const void *bytes, size_t len);

/* Hands on all samples of a parsed look. */
pprofdelta_status pd_look_samples(pprofdelta *pd, pd_look *look, pd_sample_taker taker,
                                  pprofdelta_error *err);

/* Adds up its columns, by themselves. */
pprofdelta_status pd_look_sum(pprofdelta *pd, pd_look *look, pprofdelta_sum *sums,
                              pprofdelta_error *err);

/* The window is about to be filled by who keeps no records. */
void pd_look_keep_nothing(pprofdelta *pd, pd_look *look);

/* What pd_transfer_sample needs of a row's record; origins rise from a rewind on. */
pprofdelta_status pd_look_rewind(pprofdelta *pd, pd_look *look, pprofdelta_error *err);
pprofdelta_status pd_look_record(pd_look *look, size_t row, pprofdelta_error *err);

/* Refuses stamped profiles, and those that are not cumulative by their types, and finds the
 * counters. */
pprofdelta_status pd_look_classify(pprofdelta *pd, pd_look *look, pprofdelta_error *err);

/* The stamp of a live heap. False where it has none that can be understood. */
bool pd_look_live_stamp(const pd_look *look, pprofdelta_stamp *out);

/* Keeps what is to be remembered beside the ledger. known: the mappings that it knew before, where
 * it goes on with them; or NULL. */
pprofdelta_status pd_look_remember(pprofdelta *pd, const pd_look *look, const pd_mapped_list *known,
                                   pd_remembered *out, pprofdelta_error *err);

/* Names the columns of a look whose tables are parsed. */
void pd_look_name_columns(pd_look *look);

void pd_look_release(pd_look *look, pd_mem *mem);

/* Gives back what the bytes and tables of a parsed look have room for and do not hold. */
void pd_look_trim(pd_look *look, pd_mem *mem);

/* frugal.c: makes a call on the context, and where that is E_LIMIT makes it again in the ways that
 * need less. The call leaves the context as it was where it fails. If all fail, err is that of the
 * way which needs the least. */
typedef pprofdelta_status pd_call(pprofdelta *pd, void *cookie, pprofdelta_error *err);
pprofdelta_status pd_call_in_any_way(pprofdelta *pd, pd_call *call, void *cookie,
                                     pprofdelta_error *err);

/* delta.c: where the window's profile comes from: bytes, or what was read ahead. */
typedef struct pd_source {
    const void *bytes;
    size_t len;
    pprofdelta_ahead *ahead;
} pd_source;

/* Without a sink the delta stays in the relay and in pd->raw, for pd_pack_begin. */
pprofdelta_status pd_window_of(pprofdelta *pd, const pd_source *source, const pprofdelta_sink *sink,
                               pprofdelta_report *report, pprofdelta_error *err);

/* pack.c: where it cannot begin, the window that has just been made is abandoned; and the relay ends
 * when neither ahead nor pack is left. */
pprofdelta_status pd_pack_begin(pprofdelta *pd, pprofdelta_pack **out, pprofdelta_error *err);
void pd_pack_leave(pprofdelta *pd);

/* ahead.c: the context's look becomes the ahead's. */
void pd_ahead_adopt(pprofdelta *pd, pprofdelta_ahead *ahead);

/* Its samples are not wanted, as their keys would be wrong: lets nobody read any more. */
void pd_ahead_forgo_samples(pprofdelta_ahead *ahead);

/* Adds its samples to the context's window, whose columns are known. False where they could not all
 * be read; *status tells whether the window took what was. */
bool pd_ahead_add_samples(pprofdelta *pd, pprofdelta_ahead *ahead, pprofdelta_status *status,
                          pprofdelta_error *err);

/* output.c: what the delta says of itself. */
typedef struct pd_story {
    pd_subtraction how;
    pprofdelta_restart restart;
    int64_t from_nanos, to_nanos, duration_nanos;
    uint64_t sequence, attempt;
} pd_story;

/* Subtracts and writes pd->cur into the compact writer, and keeps the books in *tally unless that
 * is NULL. *out is the raw profile, owned by pd->compact, but for what the relay took of it; in the
 * bounded way it is compressed already, and owned by pd->deflater. */
pprofdelta_status pd_output_write(pprofdelta *pd, const pd_story *story, pd_tally *tally,
                                  pd_bytes *out, pprofdelta_error *err);

/* The parts of that which a sum (adder.c) needs too, written from pd->cur into pd->compact. */
void pd_output_types(pprofdelta *pd);
void pd_output_comments(pprofdelta *pd); /* but for older stamps */
void pd_output_stamp(pprofdelta *pd, const pprofdelta_stamp *stamp);
pd_compact_header pd_output_header(pprofdelta *pd, int64_t time_nanos, int64_t duration_nanos);

/* Holds the tally against the bytes that came in and the bytes that are to go out. */
pprofdelta_status pd_output_verify(pprofdelta *pd, const pd_tally *tally, pd_bytes out,
                                   pprofdelta_error *err);

#endif
