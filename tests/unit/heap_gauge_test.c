/* The gauge of a live heap: rows of the caller, in every kind of batch, and in the sum of batches. */
#include "heap_scene.h"
#include "reading.h"

#define GAUGE                                                                                      \
    {                                                                                              \
        .gauge = "rss_space", .gauge_unit = "bytes"                                                \
    }

/* Frames that have no address, above a stack. */
static const pprofdelta_frame frames[] = {{.name = "[part]"}, {.name = "of a file"}};
static const uint64_t stack[] = {0x100, 0x200};

static void rows_set(scene *s, pprofdelta_heap_row *rows, int64_t first, int64_t second)
{
    rows[0] = (pprofdelta_heap_row){frames, 2, NULL, 0, first, 0};
    rows[1] = (pprofdelta_heap_row){frames, 1, stack, 2, second, 0};
    CHECK(pprofdelta_heap_set_gauge(s->heap, rows, 2, "a comment", NULL) == PPROFDELTA_OK);
}

static reading read_mail(scene *s, const void *bytes, size_t len)
{
    reading r = {0};
    CHECK(reading_make(&s->arena, bytes, len, &r) == PPROFDELTA_OK);
    CHECK(r.view->n_sample_type == LIVE_PLAIN + 1);
    CHECK_STR(reading_string(&r, r.view->sample_type[LIVE_PLAIN]->type), "rss_space");
    CHECK_STR(reading_string(&r, r.view->sample_type[LIVE_PLAIN]->unit), "bytes");
    return r;
}

/* The value of the gauge of the sample with this many frames and this leaf; 0: no such sample. */
static int64_t gauge_of(const reading *r, size_t depth, bool is_named)
{
    int64_t found = 0;
    for (size_t i = 0; i < r->samples_len; i++) {
        const reading_sample *sample = &r->samples[i];
        const Pd__View__Location *leaf = r->locations[sample->stack[0]].view;
        if (sample->depth == depth && (leaf->n_line == 1) == is_named)
            found += sample->values[LIVE_PLAIN];
        for (int type = 0; type < LIVE_PLAIN; type++)
            CHECK(!is_named || leaf->n_line != 1 || !sample->values[type]);
        CHECK(leaf->n_line == 1 || !sample->values[LIVE_PLAIN]);
    }
    return found;
}

static live_mail send_batch(scene *s, int64_t now, pprofdelta_heap_inuse inuse, int64_t first,
                            int64_t second)
{
    pprofdelta_heap_row rows[2];
    begun(s, now);
    rows_set(s, rows, first, second);
    CHECK(pprofdelta_heap_write(s->heap, inuse, &s->sink, NULL) == PPROFDELTA_OK);
    reading r = read_mail(s, s->mail.bytes, s->mail.len);
    CHECK(gauge_of(&r, 2, true) == first && gauge_of(&r, 3, true) == second);
    CHECK(r.view->n_comment == 2);
    CHECK_STR(reading_string(&r, r.view->comment[1]), "a comment");
    pprofdelta_heap_commit(s->heap);
    return s->mail;
}

/* In use is added up, and the gauge is that of the last batch. */
TEST(a_sum_has_the_last_gauge)
{
    pprofdelta_adder *adder;
    const int64_t values[][2] = {{100, 7}, {90, 0}, {0, 5}};
    for (size_t batches = 1; batches <= 3; batches++) {
        ENDS(end) scene s;
        begin(&s, (pprofdelta_heap_options)GAUGE);
        REQUIRE(pprofdelta_adder_new(NULL, NULL, &adder, NULL) == PPROFDELTA_OK);
        for (size_t i = 0; i < batches; i++) {
            track(&s, 1 + i);
            live_mail mail =
                send_batch(&s, (int64_t)i + 1, PPROFDELTA_HEAP_CHANGES, values[i][0], values[i][1]);
            CHECK(pprofdelta_adder_add(adder, mail.bytes, mail.len, NULL, NULL) == PPROFDELTA_OK);
        }
        send_batch(&s, 9, PPROFDELTA_HEAP_SNAPSHOT, 80, 0);
        live_mail sum = {.arena = &s.arena};
        pprofdelta_sink sink = live_sink(&sum);
        CHECK(pprofdelta_adder_finish(adder, &sink, NULL) == PPROFDELTA_OK);
        reading r = read_mail(&s, sum.bytes, sum.len);
        CHECK(gauge_of(&r, 2, true) == values[batches - 1][0]);
        CHECK(gauge_of(&r, 3, true) == values[batches - 1][1]);
        int64_t in_use = 0;
        for (size_t i = 0; i < r.samples_len; i++)
            in_use += r.samples[i].values[3];
        CHECK(in_use == 100 * (int64_t)batches);
        pprofdelta_adder_free(adder);
    }
}

/* The rows are those of one batch: they are not in the next one, nor in another attempt. */
TEST(rows_end_with_their_batch)
{
    ENDS(end) scene s;
    pprofdelta_heap_row rows[2];
    begin(&s, (pprofdelta_heap_options)GAUGE);
    track(&s, 1);
    begun(&s, 1);
    rows_set(&s, rows, 100, 7);
    pprofdelta_heap_abandon(s.heap);
    memset(rows, 0xff, sizeof rows);
    begun(&s, 2);
    read_batch(&s);
    reading r = read_mail(&s, s.mail.bytes, s.mail.len);
    CHECK(r.samples_len == 1 && r.view->n_comment == 1);
}

/* A second type has values of the same rows, in the batch and in the sum. */
TEST(a_second_gauge)
{
    ENDS(end) scene s;
    pprofdelta_heap *heap = NULL;
    pprofdelta_heap_options o = GAUGE;
    const pprofdelta_heap_row row = {frames, 2, NULL, 0, 100, 4096};
    o.second_gauge = "mapped_space";
    begin(&s, o);
    track(&s, 1);
    begun(&s, 1);
    CHECK(pprofdelta_heap_set_gauge(s.heap, &row, 1, NULL, NULL) == PPROFDELTA_OK);
    reading r = read_batch(&s);
    REQUIRE(r.view->n_sample_type == LIVE_PLAIN + 2 && r.samples_len == 2);
    CHECK_STR(reading_string(&r, r.view->sample_type[LIVE_PLAIN + 1]->type), "mapped_space");
    CHECK_STR(reading_string(&r, r.view->sample_type[LIVE_PLAIN + 1]->unit), "bytes");
    CHECK(r.samples[1].values[LIVE_PLAIN] == 100 && r.samples[1].values[LIVE_PLAIN + 1] == 4096);
    o.gauge = NULL; /* the first one is missing */
    o.size = sizeof o;
    CHECK(pprofdelta_heap_new(&o, &heap, NULL) == PPROFDELTA_E_USAGE && !heap);
}

TEST(misuse_is_refused)
{
    ENDS(end) scene s;
    pprofdelta_heap *heap = NULL;
    pprofdelta_heap_row rows[1] = {{frames, 1, NULL, 0, 1, 0}};
    static const char *const bad[][2] = {{"", "bytes"},
                                         {"alloc_rss", "bytes"},
                                         {"inuse_rss", "bytes"},
                                         {"peak_rss", "bytes"},
                                         {"rss_space", NULL}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pprofdelta_heap_options o = PPROFDELTA_HEAP_OPTIONS_INIT;
        o.gauge = bad[i][0];
        o.gauge_unit = bad[i][1];
        CHECK(pprofdelta_heap_new(&o, &heap, NULL) == PPROFDELTA_E_USAGE && !heap);
    }
    begin(&s, (pprofdelta_heap_options){0});
    begun(&s, 1);
    CHECK(pprofdelta_heap_set_gauge(s.heap, rows, 1, NULL, NULL) == PPROFDELTA_E_USAGE);
    end(&s);
    begin(&s, (pprofdelta_heap_options)GAUGE);
    CHECK(pprofdelta_heap_set_gauge(s.heap, rows, 1, NULL, NULL) == PPROFDELTA_E_USAGE);
    begun(&s, 2);
    CHECK(pprofdelta_heap_set_gauge(s.heap, NULL, 1, NULL, NULL) == PPROFDELTA_E_USAGE);
    rows[0].depth = 1;
    CHECK(pprofdelta_heap_set_gauge(s.heap, rows, 1, NULL, NULL) == PPROFDELTA_E_USAGE);
    rows[0] = (pprofdelta_heap_row){NULL, 1, stack, 1, 1, 0};
    CHECK(pprofdelta_heap_set_gauge(s.heap, rows, 1, NULL, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_heap_set_gauge(s.heap, NULL, 0, NULL, NULL) == PPROFDELTA_OK);
}

TEST_MAIN()
