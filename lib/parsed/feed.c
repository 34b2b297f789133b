#include "parsed/feed.h"

enum {
    BATCH = 512, /* samples: some twenty microseconds of work */
    BLOCK = 16   /* batches that are allocated at a time */
};

struct pd_batch {
    pd_batch *next;
    pd_sample_keys keys;
    bool is_done;
};

struct pd_batch_block {
    pd_batch_block *next;
    pd_batch batches[BLOCK];
    pd_key keys[BLOCK][BATCH];
};

/* It is never held for more than a few microseconds, and whoever sleeps wakes late. */
static void enter(pd_feed *feed)
{
    enum { TRIES = 4096 };
    for (int i = 0; i < TRIES; i++)
        if (!pthread_mutex_trylock(&feed->monitor.lock))
            return;
    pd_monitor_enter(&feed->monitor);
}

/* Makes a block of free batches. False where there is no memory for one. */
static bool make_block(pd_feed *feed)
{
    pd_batch_block *block = NULL;
    size_t none = 0;
    if (!feed->mem || pd_mem_reserve(feed->mem, &block, &none, 1, sizeof *block, NULL))
        return false;
    block->next = feed->blocks;
    feed->blocks = block;
    for (size_t i = 0; i < BLOCK; i++) {
        block->batches[i] = (pd_batch){.next = feed->free, .keys.keys = block->keys[i]};
        feed->free = &block->batches[i];
    }
    return true;
}

pprofdelta_status pd_feed_begin(pd_feed *feed, const pd_tables *tables,
                                const pd_stack_numbers *numbers, pd_mem *mem)
{
    *feed = (pd_feed){.tables = *tables, .numbers = numbers, .mem = mem};
    feed->columns.len = tables->types_len;
    for (size_t i = 0; i < tables->types_len; i++)
        feed->columns.slot[i] = (uint8_t)i;
    feed->top = pd_reader_of(tables->bytes.ptr + tables->samples_off,
                             tables->bytes.len - (size_t)tables->samples_off);
    if (!make_block(feed))
        return PPROFDELTA_E_MEMORY;
    return pd_monitor_init(&feed->monitor, NULL);
}

static bool is_all_given(const pd_feed *feed)
{
    return feed->is_ended || feed->failed || feed->samples == feed->tables.samples;
}

/* Samples to read, and where to put them. */
typedef struct share {
    pd_batch *batch; /* NULL: nothing, for now or for good */
    size_t first, len;
    pd_reader top;
} share;

/* Inside the monitor: gives out the next samples. */
static share give(pd_feed *feed)
{
    share s = {NULL, feed->samples, 0, feed->top};
    if (is_all_given(feed) || (!feed->free && !make_block(feed)))
        return s;
    const uint8_t *start;
    pd_reader body;
    size_t left = feed->tables.samples - feed->samples;
    while (s.len < BATCH && s.len < left && pd_sample_next(&feed->top, &start, &body)) {
        pd_reader_ask_ahead(body.end);
        s.len++;
    }
    if (!s.len) { /* which the tables' reader would have noticed */
        feed->failed = true;
        return s;
    }
    s.batch = feed->free;
    feed->free = s.batch->next;
    feed->samples += s.len;
    feed->reading++;
    s.top.end = feed->samples == feed->tables.samples ? feed->top.end : feed->top.at;
    s.batch->next = NULL;
    s.batch->is_done = false;
    s.batch->keys.len = 0;
    if (feed->newest)
        feed->newest->next = s.batch;
    else
        feed->oldest = s.batch;
    feed->newest = s.batch;
    return s;
}

/* Outside the monitor, which is entered at the end. */
static void read_share(pd_feed *feed, pd_sample_reader *reader, share *s)
{
    pd_mem none = {.limit = 0}; /* keys need none */
    reader->parse = (pd_parse){.mem = &none, .zero = feed->tables.bytes.ptr, .element = s->first};
    pprofdelta_status status =
        pd_samples_read_some(reader, &s->top, (pd_sample_taker){.keys = &s->batch->keys});
    enter(feed);
    s->batch->is_done = true;
    feed->failed |= status || s->batch->keys.len != s->len;
    feed->unknown_fields += reader->parse.unknown_fields;
    feed->reading--;
    pd_monitor_tell(&feed->monitor);
}

static void begin_reader(pd_sample_reader *reader, const pd_feed *feed)
{
    *reader = (pd_sample_reader){
        .tables = &feed->tables, .numbers = feed->numbers, .columns = &feed->columns};
}

void pd_feed_read(pd_feed *feed)
{
    pd_sample_reader reader;
    begin_reader(&reader, feed);
    enter(feed);
    while (!is_all_given(feed)) {
        share s = give(feed);
        if (s.batch) {
            pd_monitor_leave(&feed->monitor);
            read_share(feed, &reader, &s);
        } else if (!is_all_given(feed)) {
            pd_monitor_wait(&feed->monitor);
        }
    }
    pd_monitor_leave(&feed->monitor);
}

void pd_feed_settle(pd_feed *feed)
{
    enter(feed);
    feed->mem = NULL;
    pd_monitor_leave(&feed->monitor);
}

void pd_feed_taker_begin(pd_feed_taker *taker, pd_feed *feed)
{
    taker->feed = feed;
    taker->taken = NULL;
    begin_reader(&taker->reader, feed);
}

/* Inside the monitor: the last batch is free again. */
static void give_back(pd_feed_taker *taker)
{
    pd_feed *feed = taker->feed;
    if (!taker->taken)
        return;
    taker->taken->next = feed->free;
    feed->free = taker->taken;
    taker->taken = NULL;
    if (!feed->free->next) /* the first free one: somebody may wait for it */
        pd_monitor_tell(&feed->monitor);
}

const pd_sample_keys *pd_feed_take(pd_feed_taker *taker)
{
    pd_feed *feed = taker->feed;
    enter(feed);
    give_back(taker);
    while (!feed->failed && !feed->is_ended) {
        if (feed->oldest && feed->oldest->is_done) {
            taker->taken = feed->oldest;
            feed->oldest = taker->taken->next;
            if (!feed->oldest)
                feed->newest = NULL;
            break;
        }
        share s = give(feed);
        if (s.batch) {
            pd_monitor_leave(&feed->monitor);
            read_share(feed, &taker->reader, &s);
        } else if (feed->oldest && !feed->failed) {
            pd_monitor_wait(&feed->monitor);
        } else {
            break;
        }
    }
    pd_monitor_leave(&feed->monitor);
    return taker->taken ? &taker->taken->keys : NULL;
}

void pd_feed_end(pd_feed *feed)
{
    if (!feed->monitor.is_made)
        return;
    enter(feed);
    feed->is_ended = true;
    pd_monitor_tell(&feed->monitor);
    while (feed->reading)
        pd_monitor_wait(&feed->monitor);
    pd_monitor_leave(&feed->monitor);
}

void pd_feed_release(pd_feed *feed, pd_mem *mem)
{
    while (feed->blocks) {
        pd_batch_block *block = feed->blocks;
        size_t one = 1;
        feed->blocks = block->next;
        pd_mem_release(mem, &block, &one, sizeof *block);
    }
    pd_monitor_fini(&feed->monitor);
    *feed = (pd_feed){0};
}
