/* Counters and gauges, and which column of one profile is which of another. */
#include "../support/test.h"

#include "ledger/types.h"
#include "run.h"

#define PLENTY (UINT64_C(1) << 40)

typedef struct kit {
    tracker tracker;
    pd_mem mem;
    pprofdelta_error err;
    pd_type_rules rules;
    pd_schema schema;
} kit;

static void begin(kit *k)
{
    memset(k, 0, sizeof *k);
    pprofdelta_allocator allocator = tracker_allocator(&k->tracker);
    pd_mem_init(&k->mem, &allocator, PLENTY);
}

static void end(kit *k)
{
    pd_buffer_release(&k->mem, &k->rules.counters);
    pd_buffer_release(&k->mem, &k->rules.gauges);
    pd_schema_release(&k->schema, &k->mem);
    CHECK(k->mem.used == 0 && k->tracker.live == 0);
}

static pd_bytes text(const char *s)
{
    return (pd_bytes){(const uint8_t *)s, strlen(s)};
}

static pd_type_name type(const char *name, const char *unit)
{
    return (pd_type_name){.type = text(name), .unit = text(unit)};
}

static bool has(const char *long_text, const char *part)
{
    return strstr(long_text, part) != NULL;
}

/* ---------------------------------------------------------------------------------------------
 * Counter or gauge?
 * ------------------------------------------------------------------------------------------ */

/* Classifies under these rules; each set is NULL or one rule. */
static pprofdelta_status classify(kit *k, pd_type_name *names, size_t len, const char *counter,
                                  const char *gauge)
{
    k->rules.counters.len = k->rules.gauges.len = 0;
    if (counter && pd_buffer_add_text(&k->mem, &k->rules.counters, pd_bytes_of(counter), NULL))
        return PPROFDELTA_E_MEMORY;
    if (gauge && pd_buffer_add_text(&k->mem, &k->rules.gauges, pd_bytes_of(gauge), NULL))
        return PPROFDELTA_E_MEMORY;
    memset(&k->err, 0, sizeof k->err);
    return pd_types_classify(names, len, &k->rules, &k->err);
}

TEST(known_counters)
{
    static const struct {
        const char *type, *unit;
        bool is_counter;
    } cases[] = {
        {"alloc_objects", "count", true},
        {"alloc_space", "bytes", true},
        {"contentions", "count", true},
        {"delay", "nanoseconds", true},
        {"inuse_objects", "count", false},
        {"inuse_space", "bytes", false},
        {"alloc_objects", "bytes", false},
        {"alloc_space", "count", false},
        {"delay", "count", false},
        {"delay", "", false},
        {"delay", "nanosecond", false},
        {"delays", "nanoseconds", false},
        {"", "", false},
        {"cpu", "nanoseconds", false},
        {"samples", "count", false},
        {"alloc_space/bytes", "", false},
    };
    kit k;
    begin(&k);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pd_type_name names[] = {type(cases[i].type, cases[i].unit), type("delay", "nanoseconds")};
        names[0].is_counter = !cases[i].is_counter;
        REQUIRE(classify(&k, names, 2, NULL, NULL) == PPROFDELTA_OK);
        CHECK_MSG(names[0].is_counter == cases[i].is_counter, "%s", cases[i].type);
        CHECK(names[1].is_counter);
    }
    end(&k);
}

TEST(profiles_that_are_not_cumulative_are_named)
{
    static const struct {
        const char *type, *unit, *says;
    } cases[] = {
        {"cpu", "nanoseconds", "a cpu profile (cpu/nanoseconds)"},
        {"cpu-time", "nanoseconds", "a cpu profile (cpu-time/nanoseconds)"},
        {"cpu-samples", "count", "a cpu profile (cpu-samples/count)"},
        {"wall", "nanoseconds", "a wall-clock profile (wall/nanoseconds)"},
        {"wall-time", "nanoseconds", "a wall-clock profile (wall-time/nanoseconds)"},
        {"goroutine", "count", "a goroutine profile (goroutine/count)"},
        {"goroutines", "count", "a goroutine profile (goroutines/count)"},
        {"goroutineleak", "count", "a goroutine profile (goroutineleak/count)"},
        {"threadcreate", "count", "a thread profile (threadcreate/count)"},
    };
    kit k;
    begin(&k);
    REQUIRE(pd_buffer_add_text(&k.mem, &k.rules.counters, pd_bytes_of("samples"), NULL) ==
            PPROFDELTA_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pd_type_name names[] = {type("samples", "count"), type(cases[i].type, cases[i].unit)};
        pd_type_name *period = &names[1];
        CHECK(pd_types_classify_cumulative(names, 1, NULL, &k.rules, NULL) == PPROFDELTA_OK);
        CHECK(pd_types_classify_cumulative(names, 2, NULL, &k.rules, NULL) ==
              PPROFDELTA_E_NOT_CUMULATIVE);
        CHECK(pd_types_classify_cumulative(names, 1, period, &k.rules, &k.err) ==
              PPROFDELTA_E_NOT_CUMULATIVE);
        CHECK_MSG(has(k.err.text, cases[i].says), "%s", k.err.text);
        CHECK_STR(k.err.field, "sample_type");
        CHECK(pd_types_classify(names, 1, &k.rules, NULL) == PPROFDELTA_OK);
    }
    end(&k);
}

TEST(rules_override_known_types)
{
    kit k;
    begin(&k);
    static const struct {
        const char *counter, *gauge;
        bool want[4];
    } cases[] = {
        {NULL, NULL, {true, false, false, false}},
        {"cpu", NULL, {true, true, true, false}},
        {"cpu/nanoseconds", NULL, {true, true, false, false}},
        {"a/b", NULL, {true, false, false, true}},
        {"a/b/c", NULL, {true, false, false, true}},
        {"cpu", "delay", {false, true, true, false}},
        {"cpu", "cpu/count", {true, true, false, false}}, /* a gauge whatever else */
        {"delay", NULL, {true, false, false, false}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pd_type_name names[] = {type("delay", "nanoseconds"), type("cpu", "nanoseconds"),
                                type("cpu", "count"), type("a/b", "c")};
        REQUIRE(classify(&k, names, 4, cases[i].counter, cases[i].gauge) == PPROFDELTA_OK);
        for (size_t n = 0; n < 4; n++)
            CHECK_MSG(names[n].is_counter == cases[i].want[n], "case %zu, type %zu", i, n);
    }
    end(&k);
}

TEST(a_rule_names_a_unit_with_a_slash)
{
    kit k;
    begin(&k);
    pd_type_name names[] = {type("sent", "bytes/s"), type("sent", "bytes"), type("a/b", "c/d"),
                            type("sen", "t/bytes/s")};
    REQUIRE(classify(&k, names, 4, "sent/bytes/s", NULL) == PPROFDELTA_OK);
    CHECK(names[0].is_counter && !names[1].is_counter && !names[2].is_counter);
    CHECK(!names[3].is_counter);
    REQUIRE(classify(&k, names, 4, "a/b/c/d", NULL) == PPROFDELTA_OK);
    CHECK(!names[0].is_counter && names[2].is_counter);
    CHECK(classify(&k, names, 4, "sent/bytes/", NULL) == PPROFDELTA_E_MISMATCH);
    CHECK(classify(&k, names, 4, "sent/", NULL) == PPROFDELTA_E_MISMATCH);
    end(&k);
}

TEST(several_rules_are_all_applied)
{
    kit k;
    begin(&k);
    static const char *const rules[] = {"x", "y/count", "z"};
    for (size_t i = 0; i < 3; i++)
        REQUIRE(pd_buffer_add_text(&k.mem, &k.rules.counters, pd_bytes_of(rules[i]), NULL) ==
                PPROFDELTA_OK);
    pd_type_name names[] = {type("x", "u"), type("y", "count"), type("y", "u"), type("z", "")};
    CHECK(pd_types_classify(names, 4, &k.rules, NULL) == PPROFDELTA_OK);
    CHECK(names[0].is_counter && names[1].is_counter && !names[2].is_counter &&
          names[3].is_counter);
    end(&k);
}

TEST(a_rule_without_a_type_is_refused)
{
    static const char *const rules[] = {"cpus", "cpu/count", "delay/", "/nanoseconds", "", "/"};
    kit k;
    begin(&k);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        pd_type_name names[] = {type("delay", "nanoseconds"), type("cpu", "nanoseconds")};
        CHECK(classify(&k, names, 2, rules[i], NULL) == PPROFDELTA_E_MISMATCH);
        CHECK(k.err.status == PPROFDELTA_E_MISMATCH && has(k.err.text, rules[i]));
        CHECK(has(k.err.text, "delay/nanoseconds, cpu/nanoseconds"));
        CHECK(classify(&k, names, 2, NULL, rules[i]) == PPROFDELTA_E_MISMATCH);
    }
    end(&k);
}

TEST(without_a_counter_there_is_nothing_to_subtract)
{
    kit k;
    begin(&k);
    pd_type_name names[] = {type("inuse_space", "bytes"), type("delay", "nanoseconds")};
    CHECK(classify(&k, names, 1, NULL, NULL) == PPROFDELTA_E_MISMATCH);
    CHECK(has(k.err.text, "inuse_space/bytes") && !has(k.err.text, "delay"));
    CHECK_STR(k.err.field, "sample_type");
    CHECK(classify(&k, names, 2, NULL, "delay") == PPROFDELTA_E_MISMATCH);
    CHECK(classify(&k, names, 1, "inuse_space", NULL) == PPROFDELTA_OK);
    end(&k);
}

/* ---------------------------------------------------------------------------------------------
 * Which column is which?
 * ------------------------------------------------------------------------------------------ */

/* Few different names, so that many are there more than once. */
static void draw_names(rng *r, pd_type_name *names, size_t len)
{
    static const char *const parts[] = {"a", "b", "ab", ""};
    for (size_t i = 0; i < len; i++) {
        names[i] = type(parts[rng_below(r, 4)], parts[rng_below(r, 4)]);
        names[i].is_counter = names[i].type.len < 2;
    }
}

static bool same_name(const pd_type_name *a, const pd_type_name *b)
{
    return a->type.len == b->type.len && a->unit.len == b->unit.len &&
           memcmp(a->type.ptr, b->type.ptr, a->type.len) == 0 &&
           memcmp(a->unit.ptr, b->unit.ptr, a->unit.len) == 0;
}

/* How many of names[0..i) have the name of names[i]. */
static size_t nth_of(const pd_type_name *names, size_t i)
{
    size_t nth = 0;
    for (size_t n = 0; n < i; n++)
        nth += same_name(&names[n], &names[i]);
    return nth;
}

static bool slot_says(const pd_schema *s, size_t slot, const pd_type_name *name)
{
    const char *all = (const char *)s->text.ptr;
    const char *type_text = all + s->names[slot].type, *unit_text = all + s->names[slot].unit;
    return s->names[slot].type_len == name->type.len && s->names[slot].unit_len == name->unit.len &&
           strlen(type_text) == name->type.len && strlen(unit_text) == name->unit.len &&
           memcmp(type_text, name->type.ptr, name->type.len) == 0 &&
           memcmp(unit_text, name->unit.ptr, name->unit.len) == 0;
}

/* Counters first, both in their order; each name where it says. */
TEST(a_schema_puts_counters_first)
{
    for (uint64_t seed = 1; seed <= 500; seed++) {
        rng r = {seed};
        kit k;
        begin(&k);
        pd_type_name names[PPROFDELTA_MAX_TYPES];
        size_t len = 1 + rng_below(&r, PPROFDELTA_MAX_TYPES), slot = 0, counters = 0;
        draw_names(&r, names, len);
        REQUIRE(pd_schema_set(&k.schema, &k.mem, names, len, NULL) == PPROFDELTA_OK);
        for (int pass = 0; pass < 2; pass++)
            for (size_t i = 0; i < len; i++)
                if (names[i].is_counter == (pass == 0)) {
                    counters += pass == 0;
                    CHECK(slot_says(&k.schema, slot++, &names[i]));
                }
        CHECK(k.schema.len == len && k.schema.counters == counters);
        end(&k);
    }
}

/* Two shuffles of one list of names go to the same slots, the nth of equal ones together. */
TEST(columns_are_found_by_name_in_any_order)
{
    for (uint64_t seed = 1; seed <= 500; seed++) {
        rng r = {seed};
        kit k;
        begin(&k);
        pd_type_name names[PPROFDELTA_MAX_TYPES], shuffled[PPROFDELTA_MAX_TYPES];
        size_t order[PPROFDELTA_MAX_TYPES], len = 1 + rng_below(&r, PPROFDELTA_MAX_TYPES);
        draw_names(&r, names, len);
        for (size_t i = 0; i < len; i++)
            order[i] = i;
        rng_shuffle(&r, order, len);
        for (size_t i = 0; i < len; i++)
            shuffled[i] = names[order[i]];
        pd_columns first, second;
        REQUIRE(pd_schema_set(&k.schema, &k.mem, names, len, NULL) == PPROFDELTA_OK);
        REQUIRE(pd_schema_match(&k.schema, names, len, &first, NULL) == PPROFDELTA_OK);
        REQUIRE(pd_schema_match(&k.schema, shuffled, len, &second, NULL) == PPROFDELTA_OK);
        CHECK(first.len == len && second.len == len);
        for (size_t i = 0; i < len; i++) {
            CHECK(slot_says(&k.schema, second.slot[i], &shuffled[i]));
            CHECK((second.slot[i] < k.schema.counters) == shuffled[i].is_counter);
            size_t mate = 0;
            while (!same_name(&names[mate], &shuffled[i]) ||
                   nth_of(names, mate) != nth_of(shuffled, i))
                mate++;
            CHECK(first.slot[mate] == second.slot[i]);
        }
        end(&k);
    }
}

TEST(other_sets_are_refused_and_both_are_printed)
{
    static const char *const others[][4] = {
        {"delay", "nanoseconds", "contentions", "counts"},
        {"delay", "nanoseconds", "delay", "nanoseconds"},
        {"contentions", "count", "contentions", "count"},
        {"nanoseconds", "delay", "contentions", "count"},
        {"delay/nanoseconds", "", "contentions", "count"},
        {"", "", "contentions", "count"},
    };
    kit k;
    begin(&k);
    pd_type_name names[] = {type("contentions", "count"), type("delay", "nanoseconds"),
                            type("delay", "nanoseconds")};
    names[0].is_counter = true;
    REQUIRE(pd_schema_set(&k.schema, &k.mem, names, 2, NULL) == PPROFDELTA_OK);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const char *const *o = others[i];
        pd_type_name other[] = {type(o[0], o[1]), type(o[2], o[3])};
        pd_columns columns = {.len = 77};
        memset(&k.err, 0, sizeof k.err);
        CHECK_MSG(pd_schema_match(&k.schema, other, 2, &columns, &k.err) == PPROFDELTA_E_MISMATCH,
                  "case %zu", i);
        char want[100];
        snprintf(want, sizeof want, "cur has %s/%s, %s/%s", o[0], o[1], o[2], o[3]);
        CHECK(has(k.err.text, want));
        CHECK(has(k.err.text, "prev has contentions/count, delay/nanoseconds;"));
    }
    pd_columns columns;
    CHECK(pd_schema_match(&k.schema, names, 1, &columns, NULL) == PPROFDELTA_E_MISMATCH);
    CHECK(pd_schema_match(&k.schema, names, 3, &columns, NULL) == PPROFDELTA_E_MISMATCH);
    CHECK(pd_schema_match(&k.schema, names, 0, &columns, NULL) == PPROFDELTA_E_MISMATCH);
    CHECK(pd_schema_match(&k.schema, names, 2, &columns, NULL) == PPROFDELTA_OK);
    end(&k);
}

/* For names of every length: the message keeps to its size and says where it stopped. */
TEST(long_names_are_cut_in_messages)
{
    char letters[1200];
    memset(letters, 'x', sizeof letters);
    kit k;
    begin(&k);
    for (size_t len = 0; len < sizeof letters; len++) {
        pd_type_name names[PPROFDELTA_MAX_TYPES];
        for (size_t i = 0; i < PPROFDELTA_MAX_TYPES; i++) {
            names[i] = type("u", "t");
            names[i].type = (pd_bytes){(const uint8_t *)letters, len};
            names[i].is_counter = true;
        }
        names[3] = type("y", "z");
        size_t count = len % PPROFDELTA_MAX_TYPES + 1;
        pd_columns columns;
        REQUIRE(pd_schema_set(&k.schema, &k.mem, names, count, NULL) == PPROFDELTA_OK);
        names[0] = type("a", "b");
        memset(&k.err, 'k', sizeof k.err);
        CHECK(pd_schema_match(&k.schema, names, count, &columns, &k.err) == PPROFDELTA_E_MISMATCH);
        REQUIRE(memchr(k.err.text, 0, sizeof k.err.text));
        CHECK(has(k.err.text, "cur has a/b"));
        bool is_cut = (len + 4) * (count - 1) > 400; /* one of them is short */
        CHECK_MSG(!is_cut || has(k.err.text, "..."), "%zu names of %zu", count, len);
    }
    end(&k);
}

TEST(every_allocation_may_fail)
{
    size_t nth = 1, refused = 1;
    for (; refused; nth++) {
        kit k;
        begin(&k);
        char letters[500];
        memset(letters, 'x', sizeof letters - 1);
        letters[sizeof letters - 1] = 0;
        pd_type_name names[] = {type("a", "b"), type(letters, letters), type("delay", letters)};
        k.tracker.fail_at = nth;
        pprofdelta_status status = pd_schema_set(&k.schema, &k.mem, names, 3, &k.err);
        if (!status)
            status = pd_buffer_add_text(&k.mem, &k.rules.counters, pd_bytes_of("a"), &k.err);
        if (!status)
            status = pd_buffer_add_text(&k.mem, &k.rules.counters, pd_bytes_of(letters), &k.err);
        refused = k.tracker.refused;
        CHECK(status == (refused ? PPROFDELTA_E_MEMORY : PPROFDELTA_OK) && k.err.status == status);
        k.tracker.fail_at = 0;
        pd_columns columns;
        CHECK(pd_schema_set(&k.schema, &k.mem, names, 3, NULL) == PPROFDELTA_OK);
        CHECK(pd_schema_match(&k.schema, names, 3, &columns, NULL) == PPROFDELTA_OK);
        end(&k);
    }
    CHECK(nth > 4);
}

TEST_MAIN()
