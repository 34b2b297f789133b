#include "ledger/types.h"

#include <stdio.h>
#include <string.h>

/* Returns whether the rule, "type" or "type/unit", names it. Types and units may contain slashes.
 */
static bool rule_names(const char *rule, const pd_type_name *name)
{
    pd_bytes text = pd_bytes_of(rule), type = {text.ptr, name->type.len};
    if (pd_bytes_equal(name->type, text))
        return true;
    return text.len > type.len && rule[type.len] == '/' && pd_bytes_equal(name->type, type) &&
           pd_bytes_equal(name->unit, pd_bytes_behind(text, type.len + 1));
}

/* Type names for a message: "a/b, c/d", truncated with "...". A message has room for one list, or two short ones. */
enum { LIST = 340, SHORT_LIST = 180 };

typedef struct listing {
    char text[LIST];
} listing;

static listing list_names(const pd_type_name *names, size_t len, size_t most)
{
    listing l = {""};
    size_t at = 0;
    for (size_t i = 0; i < len && at < most; i++) {
        const pd_bytes type = names[i].type, unit = names[i].unit;
        at += (size_t)snprintf(l.text + at, most - at, "%s%.*s/%.*s", i ? ", " : "",
                               (int)(type.len < most ? type.len : most), (const char *)type.ptr,
                               (int)(unit.len < most ? unit.len : most), (const char *)unit.ptr);
    }
    if (at >= most)
        memcpy(l.text + most - sizeof "...", "...", sizeof "...");
    return l;
}

static pprofdelta_status apply_rules(pd_type_name *names, size_t len, const pd_type_rules *rules,
                                     bool is_counter, pprofdelta_error *err)
{
    const pd_buffer *texts = is_counter ? &rules->counters : &rules->gauges;
    for (size_t at = 0; at < texts->len;) {
        const char *rule = (const char *)texts->ptr + at;
        bool found = rules->may_be_absent;
        for (size_t i = 0; i < len; i++) {
            if (rule_names(rule, &names[i])) {
                names[i].is_counter = is_counter;
                found = true;
            }
        }
        if (!found)
            return PD_FAIL(err, PPROFDELTA_E_MISMATCH, PPROFDELTA_STAGE_DELTA, "sample_type",
                           "no value type is named \"%.200s\"; there are: %s", rule,
                           list_names(names, len, LIST).text);
        at += strlen(rule) + 1;
    }
    return PPROFDELTA_OK;
}

static bool is_named(const pd_type_name *name, const char *type, const char *unit)
{
    return pd_bytes_are(name->type, type) && pd_bytes_are(name->unit, unit);
}

/* The cumulative types of Go's heap, mutex and block profiles, and of live heaps. */
static bool is_known_counter(const pd_type_name *name)
{
    static const char *const known[][2] = {{"alloc_objects", "count"}, {"alloc_space", "bytes"},
                                           {"freed_objects", "count"}, {"freed_space", "bytes"},
                                           {"contentions", "count"},   {"delay", "nanoseconds"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (is_named(name, known[i][0], known[i][1]))
            return true;
    return false;
}

static pprofdelta_status mark_counters(pd_type_name *names, size_t len, const pd_type_rules *rules,
                                       pprofdelta_error *err)
{
    for (size_t i = 0; i < len; i++)
        names[i].is_counter = is_known_counter(&names[i]);
    PD_TRY(apply_rules(names, len, rules, true, err));
    return apply_rules(names, len, rules, false, err);
}

static bool has_counter(const pd_type_name *names, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (names[i].is_counter)
            return true;
    return false;
}

static pprofdelta_status refuse_gauges(const pd_type_name *names, size_t len, pprofdelta_error *err)
{
    return pd_because(
        err, PPROFDELTA_REASON_NO_COUNTER,
        PD_FAIL(err, PPROFDELTA_E_MISMATCH, PPROFDELTA_STAGE_DELTA, "sample_type",
                "none of its value types is known as a counter, so there is nothing to "
                "subtract; there are: %s",
                list_names(names, len, LIST).text));
}

pprofdelta_status pd_types_classify(pd_type_name *names, size_t len, const pd_type_rules *rules,
                                    pprofdelta_error *err)
{
    pprofdelta_status status = mark_counters(names, len, rules, err);
    return status || has_counter(names, len) ? status : refuse_gauges(names, len, err);
}

/* Types that are not cumulative: of Go's profiles and of profilers that sample stacks by time. */
typedef struct instant_type {
    const char *type, *unit, *profile;
    bool is_of_a_time; /* it covers a time; else it is a snapshot */
} instant_type;

static const instant_type *find_instant(const pd_type_name *name)
{
    static const instant_type all[] = {
        {"cpu", "nanoseconds", "cpu", true},
        {"cpu-time", "nanoseconds", "cpu", true},
        {"cpu-samples", "count", "cpu", true},
        {"wall", "nanoseconds", "wall-clock", true},
        {"wall-time", "nanoseconds", "wall-clock", true},
        {"goroutine", "count", "goroutine", false},
        {"goroutines", "count", "goroutine", false},
        {"goroutineleak", "count", "goroutine", false},
        {"threadcreate", "count", "thread", false},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (is_named(name, all[i].type, all[i].unit))
            return &all[i];
    return NULL;
}

/* The kind of the types that count samples: that of the period, or of another type. */
static const instant_type *kind_of_samples(const pd_type_name *names, size_t len,
                                           const pd_type_name *period)
{
    const instant_type *kind = period ? find_instant(period) : NULL;
    for (size_t i = 0; i < len && !kind; i++)
        kind = find_instant(&names[i]);
    return kind;
}

/* Returns the kind of a profile that is not cumulative, or NULL. A counter of such a kind decides.
 * Without counters, all types must be of such a kind: a rule may be missing for a type that is not.
 */
static const instant_type *kind_of(const pd_type_name *names, size_t len,
                                   const pd_type_name *period)
{
    const instant_type *samples = kind_of_samples(names, len, period), *kind = NULL;
    bool is_all_gauges = !has_counter(names, len);
    for (size_t i = 0; i < len; i++) {
        bool counts_samples =
            is_named(&names[i], "samples", "count") || is_named(&names[i], "sample", "count");
        const instant_type *found = counts_samples ? samples : find_instant(&names[i]);
        if (is_all_gauges && !found)
            return NULL;
        if (found && (is_all_gauges || names[i].is_counter))
            kind = found;
    }
    return kind;
}

pprofdelta_status pd_types_classify_cumulative(pd_type_name *names, size_t len,
                                               const pd_type_name *period,
                                               const pd_type_rules *rules, pprofdelta_error *err)
{
    PD_TRY(mark_counters(names, len, rules, err));
    const instant_type *kind = kind_of(names, len, period);
    if (kind)
        return PD_FAIL(err, PPROFDELTA_E_NOT_CUMULATIVE, PPROFDELTA_STAGE_DELTA, "sample_type",
                       "this is a %s profile (%s/%s), which is not cumulative: it holds %s",
                       kind->profile, kind->type, kind->unit,
                       kind->is_of_a_time ? "the samples of a limited time"
                                          : "the state at one time");
    return has_counter(names, len) ? PPROFDELTA_OK : refuse_gauges(names, len, err);
}

static pprofdelta_status keep_name(pd_schema *schema, pd_mem *mem, pd_bytes name, size_t *at,
                                   size_t *len, pprofdelta_error *err)
{
    *at = schema->text.len;
    *len = name.len;
    return pd_buffer_add_text(mem, &schema->text, name, err);
}

pprofdelta_status pd_schema_set(pd_schema *schema, pd_mem *mem, const pd_type_name *names,
                                size_t len, pprofdelta_error *err)
{
    schema->len = schema->counters = schema->text.len = 0;
    for (int counters = 1; counters >= 0; counters--) {
        for (size_t i = 0; i < len; i++) {
            if (names[i].is_counter != (counters == 1))
                continue;
            size_t slot = schema->len;
            PD_TRY(keep_name(schema, mem, names[i].type, &schema->names[slot].type,
                             &schema->names[slot].type_len, err));
            PD_TRY(keep_name(schema, mem, names[i].unit, &schema->names[slot].unit,
                             &schema->names[slot].unit_len, err));
            schema->len++;
            schema->counters += counters == 1;
        }
    }
    return PPROFDELTA_OK;
}

static pd_type_name name_of(const pd_schema *schema, size_t slot)
{
    const uint8_t *text = schema->text.ptr;
    return (pd_type_name){.type = {text + schema->names[slot].type, schema->names[slot].type_len},
                          .unit = {text + schema->names[slot].unit, schema->names[slot].unit_len}};
}

static bool are_equal(const pd_type_name *a, pd_type_name b)
{
    return pd_bytes_equal(a->type, b.type) && pd_bytes_equal(a->unit, b.unit);
}

static pprofdelta_status types_differ(const pd_schema *schema, const pd_type_name *names,
                                      size_t len, pprofdelta_error *err)
{
    pd_type_name before[PPROFDELTA_MAX_TYPES];
    for (size_t i = 0; i < schema->len; i++)
        before[i] = name_of(schema, i);
    return pd_because(err, PPROFDELTA_REASON_OTHER_TYPES,
                      PD_FAIL(err, PPROFDELTA_E_MISMATCH, PPROFDELTA_STAGE_DELTA, "sample_type",
                              "the value types differ: prev has %s; cur has %s",
                              list_names(before, schema->len, SHORT_LIST).text,
                              list_names(names, len, SHORT_LIST).text));
}

pprofdelta_status pd_schema_match(const pd_schema *schema, const pd_type_name *names, size_t len,
                                  pd_columns *columns, pprofdelta_error *err)
{
    bool taken[PPROFDELTA_MAX_TYPES] = {false};
    if (len != schema->len)
        return types_differ(schema, names, len, err);
    for (size_t i = 0; i < len; i++) {
        size_t slot = 0;
        while (slot < len && (taken[slot] || !are_equal(&names[i], name_of(schema, slot))))
            slot++;
        if (slot == len)
            return types_differ(schema, names, len, err);
        taken[slot] = true;
        columns->slot[i] = (uint8_t)slot;
    }
    columns->len = len;
    return PPROFDELTA_OK;
}

pprofdelta_status pd_schema_agree(const pd_schema *schema, const pd_type_name *names,
                                  const pd_columns *columns, pprofdelta_error *err)
{
    for (size_t i = 0; i < columns->len; i++) {
        bool was_counter = columns->slot[i] < schema->counters;
        if (names[i].is_counter == was_counter)
            continue;
        return pd_because(
            err, PPROFDELTA_REASON_OTHER_OPTIONS,
            pd_fail(err, PPROFDELTA_E_MISMATCH, PPROFDELTA_STAGE_DELTA, "sample_type", i,
                    PPROFDELTA_NOWHERE,
                    "%s is a %s now and was a %s before: the options name other types than "
                    "they did when the last window was remembered",
                    list_names(&names[i], 1, SHORT_LIST).text, was_counter ? "gauge" : "counter",
                    was_counter ? "counter" : "gauge"));
    }
    return PPROFDELTA_OK;
}
