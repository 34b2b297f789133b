/* What a naming learns of a profile, what it refuses to learn, and whom it takes for whom. */
#include "../support/test.h"

#include "build.h"
#include "profile/naming.h"
#include "profile/stack.h"
#include "profile/tables.h"
#include "run.h"
#include "serial.h"

#define PLENTY (UINT64_C(1) << 40)

/* A profile's tables, and the triples that somebody has met in its samples. */
typedef struct seen {
    tracker tracker;
    pd_mem mem;
    pd_tables tables;
    pd_triples triples;
} seen;

static void look(seen *s, build *b)
{
    *s = (seen){0};
    pprofdelta_allocator allocator = tracker_allocator(&s->tracker);
    pd_mem_init(&s->mem, &allocator, PLENTY);
    buf bytes = build_bytes(b);
    if (pd_tables_parse(&s->tables, &s->mem, (pd_bytes){bytes.ptr, bytes.len}, NULL))
        CHECK_MSG(false, "not a profile");
}

static void unlook(seen *s)
{
    pd_tables_release(&s->tables, &s->mem);
    CHECK(s->mem.used == 0 && s->tracker.live == 0);
}

/* Two mappings with a sample each, and four strings that labels might use. */
static void begin(build *b)
{
    *b = (build){0};
    build_types(b, "contentions/count delay/nanoseconds");
    build_bare(b, "a", build_mapping(b, 0x1000, 0x2000, 0, "/bin/a", "id-a"), 0x1100);
    build_bare(b, "b", build_mapping(b, 0x3000, 0x4000, 0x100, "/lib/b", ""), 0x3100);
    build_sample(b, "a", "1 1");
    build_sample(b, "b", "1 1");
}

static pd_triple triple(uint32_t key, uint32_t str, uint32_t num_unit)
{
    return (pd_triple){key, str, num_unit};
}

static bool same_place(pd_place a, pd_place b)
{
    return pd_key_equal(a.file, b.file) && a.bias == b.bias;
}

static pd_key names_of(const pd_tables *t, pd_triple n)
{
    return pd_label_names_key(t->strings[n.key], t->strings[n.str], t->strings[n.num_unit]);
}

TEST(triples_are_noted_once_and_up_to_so_many)
{
    pd_triples t = {0};
    for (uint32_t again = 0; again < 3; again++)
        for (uint32_t i = 0; i < PD_TRIPLES; i++)
            pd_triples_note(&t, triple(i / 9, i / 3 % 3, i % 3));
    CHECK(t.len == PD_TRIPLES && !t.too_many);
    CHECK(t.list[5].key == 0 && t.list[5].str == 1 && t.list[5].num_unit == 2);
    pd_triples_note(&t, triple(99, 0, 0));
    CHECK(t.len == PD_TRIPLES && t.too_many);
    pd_triples_note(&t, triple(0, 0, 0));
    CHECK(t.too_many);
}

TEST(assumed_names_differ_from_all_others)
{
    pd_key keys[] = {
        pd_naming_assumed_place(0).file,          pd_naming_assumed_place(1).file,
        pd_naming_assumed_place(2).file,          pd_naming_assumed_label(triple(0, 0, 0)),
        pd_naming_assumed_label(triple(1, 0, 0)), pd_naming_assumed_label(triple(0, 1, 0)),
        pd_naming_assumed_label(triple(0, 0, 1)), PD_NOWHERE_MAPPED.file};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        for (size_t j = 0; j < i; j++)
            CHECK_MSG(!pd_key_equal(keys[i], keys[j]), "%zu and %zu", i, j);
}

/* Whatever is known of the base is called as it was assumed there, wherever it lies by now. */
TEST(what_is_learned_is_looked_up)
{
    build b;
    seen s;
    pd_naming n = {0};
    begin(&b);
    look(&s, &b);
    pd_place known = s.tables.places[1], other = {{7, 7}, 5};
    CHECK(same_place(pd_naming_place(&n, known), known));
    pd_triples_note(&s.triples, triple(1, 2, 0));
    pd_triples_note(&s.triples, triple(2, 0, 0));
    CHECK(pd_naming_learn(&n, &s.tables, &s.triples) && n.is_set);
    pd_place assumed = pd_naming_assumed_place(2);
    CHECK(same_place(pd_naming_place(&n, known), assumed));
    known.bias += 0x5000;
    assumed.bias = 0x5000;
    CHECK(same_place(pd_naming_place(&n, known), assumed));
    known.bias -= 0x6000;
    assumed.bias -= 0x6000;
    CHECK(same_place(pd_naming_place(&n, known), assumed));
    CHECK(same_place(pd_naming_place(&n, other), other));
    CHECK(same_place(pd_naming_place(&n, PD_NOWHERE_MAPPED), PD_NOWHERE_MAPPED));
    pd_key names = names_of(&s.tables, triple(2, 0, 0)), strange = {9, 9};
    CHECK(pd_key_equal(pd_naming_label(&n, names), pd_naming_assumed_label(triple(2, 0, 0))));
    CHECK(pd_key_equal(pd_naming_label(&n, strange), strange));
    n.is_set = false;
    CHECK(pd_key_equal(pd_naming_label(&n, names), names));
    unlook(&s);
    build_free(&b);
}

/* An address is the same place under its own name and under the assumed one. */
TEST(the_keys_of_both_are_one)
{
    build b;
    seen s;
    pd_naming n = {0};
    begin(&b);
    look(&s, &b);
    REQUIRE(pd_naming_learn(&n, &s.tables, &s.triples));
    for (uint32_t i = 0; i < 2; i++) {
        pd_key once = pd_location_key_address(pd_naming_assumed_place(i + 1), 0x3100, false);
        pd_place place = pd_naming_place(&n, s.tables.places[i]);
        CHECK(pd_key_equal(pd_location_key_address(place, 0x3100, false), once));
        place = s.tables.places[i];
        place.bias -= 0x700; /* lies as much farther up */
        place = pd_naming_place(&n, place);
        CHECK(pd_key_equal(pd_location_key_address(place, 0x3800, false), once));
        CHECK(!pd_key_equal(pd_location_key_address(place, 0x3100, false), once));
    }
    unlook(&s);
    build_free(&b);
}

/* ---- what cannot be learned -------------------------------------------------------------------- */

static bool learns(build *b, const pd_triple *triples, size_t len)
{
    seen s;
    pd_naming n = {0};
    look(&s, b);
    for (size_t i = 0; i < len; i++)
        pd_triples_note(&s.triples, triples[i]);
    bool is_learned = pd_naming_learn(&n, &s.tables, &s.triples);
    CHECK(is_learned == n.is_set);
    unlook(&s);
    return is_learned;
}

TEST(two_places_of_one_name_are_refused)
{
    build b;
    begin(&b);
    CHECK(learns(&b, NULL, 0));
    build_bare(&b, "nowhere", NULL, 0x777);
    build_sample(&b, "nowhere", "1 1");
    CHECK(learns(&b, NULL, 0));
    model_mapping *c = build_mapping(&b, 0x5000, 0x6000, 0, "", "");
    build_bare(&b, "c", c, 0x5100);
    build_sample(&b, "c", "1 1");
    CHECK(!learns(&b, NULL, 0)); /* no mapping, and one without a name */
    c->filename = "/lib/b";
    CHECK(!learns(&b, NULL, 0)); /* even another part of it */
    c->filename = "/lib/c";
    c->build_id = "id-a";
    CHECK(!learns(&b, NULL, 0));
    c->build_id = "id-c";
    CHECK(learns(&b, NULL, 0));
    build_free(&b);
}

TEST(more_than_64_mappings_are_refused)
{
    build b;
    begin(&b);
    for (size_t i = 2; i <= 64; i++) {
        CHECK(learns(&b, NULL, 0));
        const char *name = arena_format(&b.arena, "/%zu", i);
        build_bare(&b, name, build_mapping(&b, i << 16, (i << 16) + 9, 0, name, ""), i << 16 | 1);
        build_sample(&b, name, "1 1");
    }
    CHECK(b.m.mappings_len == 65 && !learns(&b, NULL, 0));
    build_free(&b);
}

TEST(labels_of_one_name_or_of_none_are_refused)
{
    build b;
    begin(&b);
    build_comment(&b, "count"); /* a string of its own, or not: the next makes sure */
    seen s;
    look(&s, &b);
    uint32_t strings = (uint32_t)s.tables.strings_len;
    unlook(&s);
    pd_triple good[] = {{1, 2, 0}, {2, 1, 0}, {1, 0, 2}, {0, 0, 0}};
    CHECK(learns(&b, good, 4));
    for (int field = 0; field < 3; field++)
        for (uint32_t past = 0; past < 2; past++) {
            uint32_t index = strings - 1 + past;
            pd_triple bad =
                triple(field == 0 ? index : 0, field == 1 ? index : 0, field == 2 ? index : 0);
            CHECK(learns(&b, &bad, 1) == !past);
        }
    pd_triple many[PD_TRIPLES + 1];
    for (uint32_t i = 0; i <= PD_TRIPLES; i++)
        many[i] = triple(i % 3, i / 3 % 3, i / 9);
    CHECK(learns(&b, many, PD_TRIPLES) && !learns(&b, many, PD_TRIPLES + 1));
    build_free(&b);
}

/* The same text twice in the table: two labels that are one. */
TEST(labels_of_one_text_at_two_places_are_refused)
{
    build b;
    seen s;
    pd_naming n = {0};
    begin(&b);
    look(&s, &b);
    pd_triples_note(&s.triples, triple(1, 0, 0));
    pd_triples_note(&s.triples, triple(2, 0, 0));
    pd_bytes was = s.tables.strings[2];
    s.tables.strings[2] = s.tables.strings[1];
    CHECK(!pd_naming_learn(&n, &s.tables, &s.triples) && !n.is_set);
    s.tables.strings[2] = was;
    CHECK(pd_naming_learn(&n, &s.tables, &s.triples));
    unlook(&s);
    build_free(&b);
}

/* ---- who agrees -------------------------------------------------------------------------------- */

typedef void change(build *b, pd_triples *t);

static void nothing(build *b, pd_triples *t)
{
    (void)b, (void)t;
}

static void fewer_labels(build *b, pd_triples *t)
{
    (void)b;
    t->len--;
}

static void labels_in_another_order(build *b, pd_triples *t)
{
    (void)b;
    pd_triple first = t->list[0];
    t->list[0] = t->list[1];
    t->list[1] = first;
}

static void fewer_mappings(build *b, pd_triples *t)
{
    (void)t;
    b->m.mappings_len = b->m.samples_len = 1;
}

static void another_label(build *b, pd_triples *t)
{
    (void)b;
    pd_triples_note(t, triple(2, 1, 0));
}

static void a_string_behind_the_end(build *b, pd_triples *t)
{
    (void)b;
    pd_triples_note(t, triple(1, 0, 999));
}

static void one_behind_the_end_that_was_met(build *b, pd_triples *t)
{
    (void)b;
    t->largest = 999;
}

static void too_many(build *b, pd_triples *t)
{
    (void)b;
    t->too_many = true;
}

/* What was string 1 is string 2 now, and the other way round. */
static void other_strings(build *b, pd_triples *t)
{
    (void)t;
    b->m.types[0] = (model_type){"count", "contentions"};
}

static void another_bias(build *b, pd_triples *t)
{
    (void)t;
    b->m.mappings[1]->offset += 0x10;
}

static void another_file(build *b, pd_triples *t)
{
    (void)t;
    b->m.mappings[1]->filename = "/lib/other";
}

static void other_ids(build *b, pd_triples *t)
{
    (void)t;
    model_mapping *first = b->m.mappings[0];
    b->m.mappings[0] = b->m.mappings[1];
    b->m.mappings[1] = first;
}

static void a_mapping_more(build *b, pd_triples *t)
{
    (void)t;
    build_bare(b, "c", build_mapping(b, 0x5000, 0x6000, 0, "/lib/c", ""), 0x5100);
    build_sample(b, "c", "1 1");
}

static void one_file_twice(build *b, pd_triples *t)
{
    a_mapping_more(b, t);
    b->m.mappings[2]->build_id = "id-a";
    b->m.mappings[2]->start = 0x1000;
}

static void no_mapping(build *b, pd_triples *t)
{
    (void)t;
    build_bare(b, "nowhere", NULL, 0x777);
    build_sample(b, "nowhere", "1 1");
}

static void no_name(build *b, pd_triples *t)
{
    a_mapping_more(b, t);
    b->m.mappings[2]->filename = "";
}

/* `base`: what the base has beside the ordinary. */
static bool agrees(change *base, change *changed)
{
    build b, c;
    seen s, t;
    pd_naming n = {0};
    begin(&b);
    begin(&c);
    pd_triples triples = {0}, others;
    pd_triples_note(&triples, triple(1, 2, 0));
    pd_triples_note(&triples, triple(1, 0, 2));
    others = triples;
    base(&b, &triples);
    base(&c, &others);
    changed(&c, &others);
    look(&s, &b);
    look(&t, &c);
    CHECK(pd_naming_learn(&n, &s.tables, &triples));
    CHECK(pd_naming_agrees(&n, &s.tables, &triples));
    bool is_same = pd_naming_agrees(&n, &t.tables, &others);
    unlook(&s);
    unlook(&t);
    build_free(&b);
    build_free(&c);
    return is_same;
}

TEST(who_means_the_same_agrees)
{
    CHECK(agrees(nothing, nothing) && agrees(no_mapping, nothing) && agrees(no_name, nothing));
    CHECK(agrees(nothing, fewer_labels) && agrees(nothing, labels_in_another_order));
    CHECK(agrees(nothing, fewer_mappings));
}

TEST(who_does_not_is_told)
{
    CHECK(!agrees(nothing, another_label) && !agrees(nothing, a_string_behind_the_end));
    CHECK(!agrees(nothing, one_behind_the_end_that_was_met) && !agrees(nothing, too_many));
    CHECK(!agrees(nothing, other_strings) && !agrees(nothing, another_bias));
    CHECK(!agrees(nothing, another_file) && !agrees(nothing, other_ids));
    CHECK(!agrees(nothing, a_mapping_more) && !agrees(nothing, one_file_twice));
    CHECK(!agrees(nothing, no_mapping) && !agrees(no_name, no_mapping));
    CHECK(!agrees(no_mapping, no_name) && !agrees(nothing, no_name));
}

TEST_MAIN(CASE(triples_are_noted_once_and_up_to_so_many),
          CASE(assumed_names_differ_from_all_others), CASE(what_is_learned_is_looked_up),
          CASE(the_keys_of_both_are_one), CASE(two_places_of_one_name_are_refused),
          CASE(more_than_64_mappings_are_refused), CASE(labels_of_one_name_or_of_none_are_refused),
          CASE(labels_of_one_text_at_two_places_are_refused), CASE(who_means_the_same_agrees),
          CASE(who_does_not_is_told))
