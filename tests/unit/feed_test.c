/* Samples fed by two threads against samples read by one: the same keys in the same order, whoever is
 * slow, and an end whatever happens. */
#include "emit.h"
#include "parsed/feed.h"
#include "test.h"

#include <unistd.h>

enum { TYPES = 3, SAMPLES = 20000, LOCATIONS = 300 };

/* A profile of many samples, and their keys as one thread reads them. */
typedef struct scene {
    arena arena;
    pd_mem mem;
    pd_tables tables;
    pd_stack_numbers numbers;
    pd_sample_keys keys;
} scene;

static void emit_sample(emitter *e, message *profile, rng *r, bool is_bad)
{
    uint64_t ids[8], values[TYPES];
    size_t depth = 1 + rng_below(r, 8);
    for (size_t i = 0; i < depth; i++)
        ids[i] = 1 + rng_below(r, LOCATIONS);
    if (is_bad)
        ids[0] = LOCATIONS + 1;
    for (size_t i = 0; i < TYPES; i++)
        values[i] = (uint64_t)rng_magnitude(r, 40);
    message sample = message_begin(e, 3);
    emit_repeated(&sample, PD_SAMPLE_LOCATION_ID, ids, depth);
    emit_repeated(&sample, PD_SAMPLE_VALUE, values, TYPES);
    emit_message(profile, PD_PROFILE_SAMPLE, &sample);
}

/* Locations stand between the samples, as Go has them. */
static buf write_profile(arena *a, size_t bad)
{
    rng r = {7};
    emitter e = {.arena = a, .packing = EMIT_PACKED};
    message profile = message_begin(&e, 15);
    for (size_t i = 0; i < TYPES; i++)
        emit_bytes(&profile, PD_PROFILE_SAMPLE_TYPE, "", 0);
    for (uint64_t i = 0; i < SAMPLES; i++) {
        if (i < LOCATIONS) {
            message location = message_begin(&e, 5);
            emit_scalar(&location, PD_LOCATION_ID, i + 1);
            emit_scalar(&location, PD_LOCATION_ADDRESS, i * 16 + 16);
            emit_message(&profile, PD_PROFILE_LOCATION, &location);
        }
        emit_sample(&e, &profile, &r, i == bad);
    }
    emit_bytes(&profile, PD_PROFILE_STRING_TABLE, "", 0);
    return message_end(&profile);
}

static void scene_begin(scene *s, size_t bad)
{
    memset(s, 0, sizeof *s);
    pd_mem_init(&s->mem, NULL, UINT64_C(1) << 30);
    pd_stack_numbers_init(&s->numbers);
    buf bytes = write_profile(&s->arena, bad);
    REQUIRE(pd_tables_parse(&s->tables, &s->mem, (pd_bytes){bytes.ptr, bytes.len}, NULL) == 0);
    pd_sample_keys *keys = &s->keys;
    REQUIRE(pd_mem_reserve(&s->mem, &keys->keys, &keys->cap, SAMPLES, sizeof *keys->keys, NULL) ==
            0);
    pd_columns columns = {.len = TYPES, .slot = {0, 1, 2}};
    pprofdelta_status status = pd_samples_read(&s->tables, &s->numbers, &columns,
                                               (pd_sample_taker){.keys = keys}, &s->mem, NULL);
    CHECK((status == PPROFDELTA_OK) == (bad >= SAMPLES));
}

static void scene_end(scene *s)
{
    pd_mem_release(&s->mem, &s->keys.keys, &s->keys.cap, sizeof *s->keys.keys);
    pd_tables_release(&s->tables, &s->mem);
    CHECK(s->mem.used == 0);
    arena_free(&s->arena);
}

static void *reader(void *cookie)
{
    pd_feed_read(cookie);
    return NULL;
}

/* Are these the keys that one thread read from sample `at` on? */
static bool are_keys(const scene *s, const pd_sample_keys *keys, size_t at)
{
    return at + keys->len <= s->keys.len &&
           !memcmp(keys->keys, s->keys.keys + at, keys->len * sizeof *keys->keys);
}

/* Takes so many samples or a few more; how many it was. */
static size_t take_keys(scene *s, pd_feed *feed, size_t most, useconds_t rest)
{
    pd_feed_taker taker;
    const pd_sample_keys *keys;
    size_t taken = 0;
    bool is_same = true;
    pd_feed_taker_begin(&taker, feed);
    while (taken < most && (keys = pd_feed_take(&taker))) {
        is_same = is_same && are_keys(s, keys, taken);
        taken += keys->len;
        if (rest)
            usleep(rest);
    }
    CHECK(is_same);
    return taken;
}

TEST(two_threads_read_what_one_does)
{
    static const useconds_t rests[] = {0, 0, 0, 200};
    scene s;
    scene_begin(&s, SAMPLES);
    for (size_t i = 0; i < sizeof rests / sizeof *rests; i++) {
        pd_feed feed;
        pthread_t thread;
        REQUIRE(pd_feed_begin(&feed, &s.tables, &s.numbers, &s.mem) == PPROFDELTA_OK);
        REQUIRE(pthread_create(&thread, NULL, reader, &feed) == 0);
        if (i == 1)
            usleep(20000); /* the reader is far ahead */
        pd_feed_settle(&feed);
        CHECK(take_keys(&s, &feed, SIZE_MAX, rests[i]) == SAMPLES);
        CHECK(!feed.failed);
        pthread_join(thread, NULL);
        pd_feed_release(&feed, &s.mem);
    }
    scene_end(&s);
}

TEST(who_takes_may_be_alone)
{
    scene s;
    pd_feed feed;
    scene_begin(&s, SAMPLES);
    REQUIRE(pd_feed_begin(&feed, &s.tables, &s.numbers, &s.mem) == PPROFDELTA_OK);
    pd_feed_settle(&feed);
    CHECK(take_keys(&s, &feed, SIZE_MAX, 0) == SAMPLES);
    pd_feed_release(&feed, &s.mem);
    scene_end(&s);
}

TEST(a_sample_that_cannot_be_read_ends_it)
{
    scene s;
    scene_begin(&s, SAMPLES / 2);
    for (int i = 0; i < 2; i++) {
        pd_feed feed;
        pthread_t thread;
        REQUIRE(pd_feed_begin(&feed, &s.tables, &s.numbers, &s.mem) == PPROFDELTA_OK);
        if (i)
            REQUIRE(pthread_create(&thread, NULL, reader, &feed) == 0);
        pd_feed_settle(&feed);
        CHECK(take_keys(&s, &feed, SIZE_MAX, 0) <= SAMPLES / 2);
        CHECK(feed.failed);
        pd_feed_end(&feed);
        if (i)
            pthread_join(thread, NULL);
        pd_feed_release(&feed, &s.mem);
    }
    scene_end(&s);
}

TEST(it_ends_when_nobody_wants_it)
{
    scene s;
    scene_begin(&s, SAMPLES);
    for (size_t most = 0; most <= SAMPLES / 2; most += SAMPLES / 4) {
        pd_feed feed;
        pthread_t thread;
        REQUIRE(pd_feed_begin(&feed, &s.tables, &s.numbers, &s.mem) == PPROFDELTA_OK);
        REQUIRE(pthread_create(&thread, NULL, reader, &feed) == 0);
        pd_feed_settle(&feed); /* so that it has to wait */
        size_t taken = take_keys(&s, &feed, most, 0);
        CHECK(taken >= most && taken < SAMPLES);
        pd_feed_end(&feed);
        pthread_join(thread, NULL);
        pd_feed_release(&feed, &s.mem);
    }
    scene_end(&s);
}

TEST(no_memory_to_begin_with)
{
    scene s;
    pd_feed feed;
    scene_begin(&s, SAMPLES);
    s.mem.limit = s.mem.used + 100;
    CHECK(pd_feed_begin(&feed, &s.tables, &s.numbers, &s.mem) == PPROFDELTA_E_MEMORY);
    pd_feed_end(&feed);
    pd_feed_release(&feed, &s.mem);
    scene_end(&s);
}

TEST_MAIN(CASE(two_threads_read_what_one_does), CASE(who_takes_may_be_alone),
          CASE(a_sample_that_cannot_be_read_ends_it), CASE(it_ends_when_nobody_wants_it),
          CASE(no_memory_to_begin_with))
