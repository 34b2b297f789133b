/* Value types: counters, gauges, and the order of columns.
 *
 * A schema is the list of value types in the ledger's order: counters first, so that a row of
 * values is [counters... | gauges...] for every order of a profile's columns. pd_columns maps the
 * columns of a profile to the places in a row. */
#ifndef PD_LEDGER_TYPES_H
#define PD_LEDGER_TYPES_H

#include "base/mem.h"

#include <stdbool.h>

/* The name of a value type in a profile. */
typedef struct pd_type_name {
    pd_bytes type, unit;
    bool is_counter;
} pd_type_name;

typedef struct pd_schema {
    size_t len, counters; /* the first `counters` of the len types are counters */
    struct {
        size_t type, unit, type_len, unit_len; /* offsets in text; a NUL follows each name */
    } names[PPROFDELTA_MAX_TYPES];
    pd_buffer text;
} pd_schema; /* zero it to begin */

typedef struct pd_columns {
    size_t len;
    uint8_t slot[PPROFDELTA_MAX_TYPES]; /* slot[n]: the place of the profile's column n in a row */
} pd_columns;

/* The types that the caller named as counters and as gauges: "type" or "type/unit", each followed
 * by a NUL, in one buffer. */
typedef struct pd_type_rules {
    pd_buffer counters, gauges;
    bool may_be_absent; /* a rule without a type is no error */
} pd_type_rules;

/* Marks the counters among names[0..len): the known cumulative types, changed by the rules. Fails
 * if a rule names a type that is not there, unless it may be absent, and if there is no counter. */
pprofdelta_status pd_types_classify(pd_type_name *names, size_t len, const pd_type_rules *rules,
                                    pprofdelta_error *err);

/* The same for a profile that is subtracted. Fails also if the types, or the period's type, are
 * those of a profile that is not cumulative (cpu, goroutine), whatever the rules say. period may be
 * NULL. */
pprofdelta_status pd_types_classify_cumulative(pd_type_name *names, size_t len,
                                               const pd_type_name *period,
                                               const pd_type_rules *rules, pprofdelta_error *err);

/* Sets the schema to these names. */
pprofdelta_status pd_schema_set(pd_schema *schema, pd_mem *mem, const pd_type_name *names,
                                size_t len, pprofdelta_error *err);

/* Sets columns: the place of each name in the schema. The nth of equal names gets the nth place.
 * Fails if the two sets differ, with a message that has both. */
pprofdelta_status pd_schema_match(const pd_schema *schema, const pd_type_name *names, size_t len,
                                  pd_columns *columns, pprofdelta_error *err);

/* Checks that the counters of these names, which were matched, are those of the schema. They differ
 * if the schema comes from a state that was made with other rules. */
pprofdelta_status pd_schema_agree(const pd_schema *schema, const pd_type_name *names,
                                  const pd_columns *columns, pprofdelta_error *err);

#endif
