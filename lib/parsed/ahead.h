/* Reading cur ahead: in a second thread, while the first makes prev the base.
 *
 * Nearly all that cur costs does not depend on prev: inflating, the tables, hashing every stack. An
 * ahead does that with nothing of the context but what never changes, so that it may run beside any
 * call on it. It finds out who the samples are (feed.h); the window then takes the look over, reads their
 * values, and meets them with the ledger one after the other.
 *
 * An ahead that fails says only that: the caller goes the ordinary way, which finds out why. */
#ifndef PD_PARSED_AHEAD_H
#define PD_PARSED_AHEAD_H

#include "parsed/context.h"
#include "parsed/feed.h"

struct pd_ahead {
    pd_mem mem; /* what is lent of the context's */
    const pd_stack_numbers *numbers;
    pd_inflater inflater;
    pd_look look; /* inflated bytes and tables */
    pd_feed feed;
};

/* Lends it half of the memory that the context has left, until pd_ahead_end. The allocator is used
 * from both threads. */
void pd_ahead_begin(pd_ahead *ahead, pprofdelta *pd);

/* Inflates a profile and reads its tables. `bytes` stay the caller's: where they are borrowed, which
 * plain ones are, they must last as long as the ahead and its window, else no longer than the call. */
pprofdelta_status pd_ahead_open(pd_ahead *ahead, const void *bytes, size_t len);
bool pd_ahead_borrows(const pd_ahead *ahead);

/* Then begins with its samples: from here on there can be a window. */
pprofdelta_status pd_ahead_feed(pd_ahead *ahead);

/* Reads them: beside the window, and before it as far as the memory allows. What it leaves, the window
 * reads by itself. */
void pd_ahead_read(pd_ahead *ahead);

/* Makes that return soon. Needed before pd_ahead_end, where another thread may be at it. */
void pd_ahead_stop(pd_ahead *ahead);

/* pprofdelta_window of what was read, without an error. */
pprofdelta_status pd_ahead_window(pprofdelta *pd, pd_ahead *ahead, const pprofdelta_sink *sink,
                                  pprofdelta_report *report, pprofdelta_error *err);

/* Gives back what it holds and what was lent. Needed in any case, twice is fine. */
void pd_ahead_end(pd_ahead *ahead, pprofdelta *pd);

#endif
