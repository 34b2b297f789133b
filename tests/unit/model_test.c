/* The model: whichever allocation fails, it goes on with what it has; a copy has the same samples, each with its
 * addresses moved to where the other model has the mapping; what an encoder reads is what was added. And sums: equal
 * samples are one, with the sum of their values. */
#include "../support/test.h"

#include "model/totals.h"
#include "run.h"

enum { SAMPLES = 40 };

static pd_bytes name_of(char *text, const char *what, unsigned n)
{
    sprintf(text, "%s %u", what, n);
    return pd_bytes_of(text);
}

static pd_key key_of(uint64_t n)
{
    uint64_t words[] = {n};
    return pd_key_of_words(words, 1, 0);
}

/* Where mapping n begins, before it is moved. */
static uint64_t start_of(unsigned n)
{
    return UINT64_C(4096) * (n + 1);
}

/* Mapping n is moved by `shift`. */
static uint32_t add_mapping(pd_model *m, unsigned n, uint64_t shift)
{
    char text[32];
    pd_model_mapping mapping = {.start = start_of(n) + shift,
                                .limit = start_of(n + 1) + shift,
                                .filename = pd_model_string(m, name_of(text, "file", n))};
    return pd_model_add_mapping(m, key_of(1000 + n), &mapping);
}

static uint32_t add_location(pd_model *m, unsigned n, uint64_t shift)
{
    char text[32];
    uint32_t known = pd_model_find_location(m, key_of(n));
    if (known)
        return known;
    for (unsigned line = 0; line < n % 3; line++) {
        pd_model_function f = {.name = pd_model_string(m, name_of(text, "function", n + line)),
                               .start_line = n};
        pd_model_add_line(m, pd_model_add_function(m, &f), line, 0);
    }
    uint32_t mapping = add_mapping(m, n % 4, shift);
    return pd_model_add_location(m, key_of(n), mapping, start_of(n % 4) + shift + n, n % 5 == 0);
}

/* Sample n has n % 7 locations, n % 3 labels and the value n. */
static void put_sample(pd_model *m, unsigned n, uint64_t shift)
{
    char text[32];
    uint8_t *at = n % 7 ? pd_model_stack(m, n % 7) : NULL;
    for (unsigned i = 0; at && i < n % 7; i++)
        at = pd_model_stack_put(at, pd_encode_id(add_location(m, n + i * i, shift)));
    if (at)
        pd_model_stack_end(m, at);
    for (unsigned i = 0; i < n % 3; i++) {
        uint32_t key = pd_model_string(m, name_of(text, "key", i));
        pd_model_add_label(m, key, i ? 0 : key, i ? -(int64_t)n : 0, 0);
    }
}

static void add_sample(pd_model *m, unsigned n, uint64_t shift)
{
    put_sample(m, n, shift);
    pd_model_add_sample(m, (const int64_t[]){n});
}

/* Does a sample say what add_sample has said? `shift` is where the mappings of this model are. */
static bool has_shape(const pd_model *m, pd_model_sample *s, unsigned n, uint64_t shift)
{
    uint32_t location;
    pd_model_label label;
    unsigned i = 0;
    for (; pd_model_next_location(&s->stack, &location); i++) {
        const pd_model_location *l = &m->locations[location - 1];
        unsigned of = n + i * i;
        size_t lines = l->lines_end - pd_model_lines_begin(m, location);
        if (l->address != start_of(of % 4) + shift + of || lines != of % 3 ||
            l->is_folded != (of % 5 == 0) ||
            m->mappings[l->mapping - 1].start != start_of(of % 4) + shift)
            return false;
    }
    if (i != n % 7)
        return false;
    for (i = 0; pd_model_next_label(&s->labels, &label); i++)
        if ((label.str != 0) != (i == 0) || label.num != (i ? -(int64_t)n : 0))
            return false;
    return i == n % 3;
}

static bool is_right(const pd_model *m, pd_model_sample *s, unsigned n, uint64_t at)
{
    return has_shape(m, s, n, at) && s->values[0] == n;
}

static void begin(pd_model *m, pd_mem *mem)
{
    pd_model_begin(m, mem, NULL);
    pd_model_add_type(m, pd_model_string(m, pd_bytes_of("type")), 0);
}

TEST(labels_are_dropped_from_the_front)
{
    for (size_t dropped = 0; dropped <= 5; dropped++) {
        pd_model m = {.samples = 0};
        pd_model_sample s;
        pd_model_label label = {.num = 0};
        pd_mem mem;
        pd_mem_init(&mem, NULL, UINT64_MAX);
        begin(&m, &mem);
        for (int64_t i = 0; i < 4; i++)
            pd_model_add_label(&m, 1, 0, i << (8 * i), 0);
        pd_model_drop_labels(&m, dropped);
        pd_model_add_sample(&m, (const int64_t[]){1});
        size_t at = m.samples_off, left = dropped < 4 ? 4 - dropped : 0;
        CHECK(pd_model_next_sample(&m, &at, &s) && m.labels_len == left);
        for (size_t i = 4 - left; i < 4; i++)
            CHECK(pd_model_next_label(&s.labels, &label) && label.num == (int64_t)i << (8 * i));
        CHECK(!pd_model_next_label(&s.labels, &label));
        pd_mem_drop(&mem);
    }
}

/* The other model has the mappings somewhere else, since it knew them before. */
TEST(a_copy_has_the_samples_and_only_what_they_use)
{
    pd_model from = {.samples = 0}, to = {.samples = 0};
    pd_transfer copy = {.from = NULL};
    pd_model_sample s;
    pd_mem mem;
    pd_mem_init(&mem, NULL, UINT64_MAX);
    pd_model_begin(&from, &mem, NULL); /* without types */
    size_t offsets[SAMPLES];
    for (unsigned n = 0; n < SAMPLES; n++) {
        offsets[n] = from.encoded.len;
        add_sample(&from, n, 0);
    }
    begin(&to, &mem);
    for (unsigned n = 0; n < 4; n++)
        pd_model_expect_mapping(&to, key_of(1000 + n), start_of(n) + 0x10000);
    CHECK(!pd_transfer_begin_model(&copy, &mem, &from, &to, NULL));
    for (unsigned n = 1; n < SAMPLES; n += 13) {
        pd_transfer_sample(&copy, offsets[n]);
        pd_model_add_sample(&to, (const int64_t[]){n});
    }
    size_t at = to.samples_off;
    for (unsigned n = 1; n < SAMPLES; n += 13)
        CHECK(pd_model_next_sample(&to, &at, &s) && is_right(&to, &s, n, 0x10000));
    CHECK(!pd_model_next_sample(&to, &at, &s) && to.location_keys.len < from.location_keys.len);
    pd_mem_drop(&mem);
    CHECK(!mem.used);
}

/* The sample under way is lost, or is there; all others are there. */
TEST(whichever_allocation_fails_the_model_goes_on)
{
    for (size_t nth = 1, is_done = 0; !is_done; nth++) {
        tracker t = {.fail_at = nth, .is_alone = true};
        pd_mem mem;
        pd_model m = {.samples = 0};
        pd_model_sample s;
        unsigned added[SAMPLES], len = 0;
        pd_mem_init(&mem, tracking(&t), UINT64_MAX);
        for (unsigned n = 0; n < SAMPLES; n++) {
            if (!len)
                begin(&m, &mem);
            else
                pd_model_go_on(&m, &mem, NULL);
            add_sample(&m, n, 0);
            if (!m.writer.status)
                added[len++] = n;
        }
        is_done = t.calls < nth;
        CHECK_MSG(len >= SAMPLES - 1, "%zu: %u", nth, len);
        size_t at = m.samples_off;
        for (unsigned i = 0; i < len; i++)
            CHECK_MSG(pd_model_next_sample(&m, &at, &s) && is_right(&m, &s, added[i], 0),
                      "allocation %zu, sample %u", nth, added[i]);
        CHECK(!pd_model_next_sample(&m, &at, &s) && (!is_done || (len == SAMPLES && m.has_zeros)));
        pd_mem_drop(&mem);
        CHECK(!t.live && !mem.used);
    }
}

/* ---- sums ------------------------------------------------------------------------------------------ */

/* Adds the first `len` samples, each twice, with the values n + 1 and 10. */
static pprofdelta_status add_twice(pd_totals *t, unsigned len)
{
    for (unsigned i = 0; i < 2 * len; i++) {
        put_sample(&t->model, i % len, 0);
        PD_TRY(pd_totals_add(t, key_of(i % len), (const int64_t[]){i % len + 1, i < len ? 10 : 0}));
    }
    return PPROFDELTA_OK;
}

static bool has_sums(const pd_model *m, unsigned len)
{
    size_t at = m->samples_off;
    pd_model_sample s;
    for (unsigned n = 0; n < len; n++)
        if (!pd_model_next_sample(m, &at, &s) || s.values[0] != 10 || s.values[1] != 2 * (n + 1) ||
            !has_shape(m, &s, n, 0))
            return false;
    return m->samples == len && !m->has_zeros && !pd_model_next_sample(m, &at, &s);
}

static void begin_two(pd_model *m)
{
    pd_model_add_type(m, pd_model_string(m, pd_bytes_of("type")), 0);
    pd_model_add_type(m, pd_model_string(m, pd_bytes_of("other")), 0);
}

/* The columns are the other way round. */
TEST(a_sum_is_copied_or_finished)
{
    const pd_columns columns = {2, {1, 0}};
    pd_totals t = {.spare = {0}};
    pd_model to = {.samples = 0};
    pd_transfer copy = {.from = NULL};
    pd_mem mem;
    pd_mem_init(&mem, NULL, UINT64_MAX);
    for (int round = 0; round < 2; round++) { /* it keeps capacity */
        CHECK(!pd_totals_begin(&t, &mem, 2, NULL));
        begin_two(&t.model);
        CHECK(!add_twice(&t, SAMPLES));
        pd_model_begin(&to, &mem, NULL);
        begin_two(&to);
        CHECK(!pd_transfer_begin_model(&copy, &mem, &t.model, &to, NULL));
        pd_totals_write(&t, &columns, &copy);
        CHECK(has_sums(&to, SAMPLES));
        CHECK(pd_totals_finish(&t, &columns) && has_sums(&t.model, SAMPLES));
        CHECK(t.model.labels_len == to.labels_len); /* those of equal samples are dropped */
    }
    CHECK(!pd_totals_begin(&t, &mem, 2, NULL));
    CHECK(!add_twice(&t, 3));
    put_sample(&t.model, 1, 0);
    CHECK(!pd_totals_add(&t, key_of(1), (const int64_t[]){-4, -10}));
    CHECK(!pd_totals_finish(&t, &columns)); /* sample 1 has no value */
    CHECK(pd_totals_add(&t, key_of(2), (const int64_t[]){INT64_MAX, 0}) == PPROFDELTA_E_LIMIT);
    CHECK(pd_ledger_base(&t.ledger, 2)[0] == 6);
    pd_model_begin(&to, &mem, NULL);
    begin_two(&to);
    CHECK(!pd_transfer_begin_model(&copy, &mem, &t.model, &to, NULL));
    pd_totals_write(&t, NULL, &copy);
    CHECK(to.samples == 2);
    pd_mem_drop(&mem);
    CHECK(!mem.used);
}

/* A sample that was not added is not there: it can be added again. */
TEST(whichever_allocation_fails_the_sum_goes_on)
{
    for (size_t nth = 1, is_done = 0; !is_done; nth++) {
        tracker m = {.fail_at = nth, .is_alone = true};
        pprofdelta_allocator allocator = tracker_allocator(&m);
        pd_totals t = {.spare = {0}};
        pd_mem mem;
        pd_mem_init(&mem, &allocator, UINT64_MAX);
        while (pd_totals_begin(&t, &mem, 1, NULL))
            ;
        for (unsigned n = 0; n < SAMPLES; n++) {
            size_t len = t.ledger.keys.len;
            put_sample(&t.model, n, 0);
            if (!pd_totals_add(&t, key_of(n), (const int64_t[]){n}))
                continue;
            CHECK(t.ledger.keys.len == len);
            pd_model_go_on(&t.model, &mem, NULL);
            n--;
        }
        is_done = m.calls < nth;
        pd_model_sample s;
        for (unsigned n = 0; n < SAMPLES; n++) {
            size_t at = t.offsets[n];
            CHECK_MSG(pd_model_next_sample(&t.model, &at, &s) && has_shape(&t.model, &s, n, 0),
                      "allocation %zu, sample %u", nth, n);
        }
        pd_mem_drop(&mem);
        CHECK(!m.live);
    }
}

TEST_MAIN()
