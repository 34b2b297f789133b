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

/* ---- Counter or gauge? ----------------------------------------------------------------------- */

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
        {"freed_objects", "count", true},
        {"freed_space", "bytes", true},
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
    ENDS(end) kit k;
    begin(&k);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pd_type_name names[] = {type(cases[i].type, cases[i].unit), type("delay", "nanoseconds")};
        names[0].is_counter = !cases[i].is_counter;
        REQUIRE(classify(&k, names, 2, NULL, NULL) == PPROFDELTA_OK);
        CHECK_MSG(names[0].is_counter == cases[i].is_counter, "%s", cases[i].type);
        CHECK(names[1].is_counter);
    }
}

TEST(rules_override_known_types)
{
    ENDS(end) kit k;
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
}

TEST(a_rule_names_a_unit_with_a_slash)
{
    ENDS(end) kit k;
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
}

TEST(a_rule_without_a_type_is_refused)
{
    static const char *const rules[] = {"cpus", "cpu/count", "delay/", "/nanoseconds", "", "/"};
    ENDS(end) kit k;
    begin(&k);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        pd_type_name names[] = {type("delay", "nanoseconds"), type("cpu", "nanoseconds")};
        CHECK(classify(&k, names, 2, rules[i], NULL) == PPROFDELTA_E_MISMATCH);
        CHECK(k.err.status == PPROFDELTA_E_MISMATCH && has(k.err.text, rules[i]));
        CHECK(has(k.err.text, "delay/nanoseconds, cpu/nanoseconds"));
        CHECK(classify(&k, names, 2, NULL, rules[i]) == PPROFDELTA_E_MISMATCH);
        k.rules.may_be_absent = true;
        CHECK(classify(&k, names, 2, rules[i], rules[i]) == PPROFDELTA_OK && names[0].is_counter);
        k.rules.may_be_absent = false;
    }
}

/* ---- Which column is which? ------------------------------------------------------------------ */

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
    ENDS(end) kit k;
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
}

TEST_MAIN()
