/* Who the samples of a profile are, found out by two threads at once.
 *
 *     one thread    reads batch after batch                       (pd_feed_read)
 *     the other     takes the batches, in order, as they come;
 *                   while the next one is not there, it reads, too (pd_feed_take)
 *
 *     batches       oldest -> [ done ] -> [ done ] -> [ being read ] -> ...    free -> [ ] -> ...
 *
 * Decoding and hashing a sample depends on nothing but the tables, and is most of the work; meeting
 * it with the ledger has to happen in order. A batch that was taken is free for the next samples.
 * As long as nobody takes any, new ones are made: the reader goes on.
 *
 * What cannot be read ends the feed, with no more than that said: the ordinary way finds out
 * why. */
#ifndef PD_PARSED_FEED_H
#define PD_PARSED_FEED_H

#include "base/monitor.h"
#include "profile/samples.h"

typedef struct pd_batch pd_batch;
typedef struct pd_batch_block pd_batch_block;

typedef struct pd_feed {
    pd_tables tables; /* the profile's, borrowed: whoever holds them may move meanwhile */
    const pd_stack_numbers *numbers;
    pd_columns columns; /* the profile's own order */
    pd_monitor monitor;
    /* All that follows belongs to who is inside the monitor. */
    pd_reader top;  /* behind the samples that were given to somebody */
    size_t samples; /* how many these are */
    pd_batch *oldest, *newest, *free;
    pd_batch_block *blocks;
    size_t reading; /* threads that are reading one */
    pd_mem *mem;    /* where new ones come from; NULL: there will be no more */
    uint64_t unknown_fields;
    bool is_ended; /* nothing is given out any more */
    bool failed;
} pd_feed; /* zero it to begin */

/* Begins to feed the samples of these tables. */
pprofdelta_status pd_feed_begin(pd_feed *feed, const pd_tables *tables,
                                const pd_stack_numbers *numbers, pd_mem *mem);

/* Reads until there is nothing left to read, or nobody wants it. */
void pd_feed_read(pd_feed *feed);

/* No more is allocated from here on: its mem is about to change hands. */
void pd_feed_settle(pd_feed *feed);

/* Whoever takes the batches. */
typedef struct pd_feed_taker {
    pd_feed *feed;
    pd_batch *taken;         /* the last one */
    pd_sample_reader reader; /* for what it reads by itself */
} pd_feed_taker;

void pd_feed_taker_begin(pd_feed_taker *taker, pd_feed *feed);

/* Gives the last batch back and hands on the keys of the next one, in the profile's order; NULL
 * after the last one, and where something could not be read (feed->failed). */
const pd_sample_keys *pd_feed_take(pd_feed_taker *taker);

/* Lets nobody read any more, and waits until nobody does. */
void pd_feed_end(pd_feed *feed);

/* Gives everything back to the mem that now counts it. Nobody uses the feed any more. */
void pd_feed_release(pd_feed *feed, pd_mem *mem);

#endif
