/* Value types: which are counters, which are gauges, and which column is which.
 *
 * A schema is the list of value types in the ledger's order, counters first, so that a row of
 * values is [counters... | gauges...] whatever order a profile has them in. Columns say where each
 * of a profile's columns goes in such a row. */
#ifndef PD_DELTA_TYPES_H
#define PD_DELTA_TYPES_H

#include "base/mem.h"

#include <stdbool.h>

/* A value type's name as the profile has it. */
typedef struct pd_type_name {
    pd_bytes type, unit;
    bool is_counter;
} pd_type_name;

typedef struct pd_schema {
    size_t len, counters; /* the first `counters` of len types */
    struct {
        size_t type, unit, type_len, unit_len; /* in text, each with a NUL behind it */
    } names[PPROFDELTA_MAX_TYPES];
    pd_buffer text;
} pd_schema; /* zero it to begin */

typedef struct pd_columns {
    size_t len;
    uint8_t slot[PPROFDELTA_MAX_TYPES]; /* of the profile's column n: its place in a row */
} pd_columns;

/* The caller's -c and -g: lists of "type" or "type/unit", one after the other in one buffer, each
 * with a NUL behind it. */
typedef struct pd_type_rules {
    pd_buffer counters, gauges;
} pd_type_rules;

pprofdelta_status pd_type_rules_add(pd_buffer *rules, pd_mem *mem, const char *rule,
                                    pprofdelta_error *err);

/* Marks the counters among names[0..len). Fails where a rule names a type that is not there and
 * where there is no counter at all. */
pprofdelta_status pd_types_classify(pd_type_name *names, size_t len, const pd_type_rules *rules,
                                    pprofdelta_error *err);

/* The same for a profile that is to be subtracted. Fails also where these types, or that of the
 * period, are those of a cpu profile and its like, whatever the rules say. period may be NULL. */
pprofdelta_status pd_types_classify_cumulative(pd_type_name *names, size_t len,
                                               const pd_type_name *period,
                                               const pd_type_rules *rules, pprofdelta_error *err);

/* Makes the schema that of these names. */
pprofdelta_status pd_schema_set(pd_schema *schema, pd_mem *mem, const pd_type_name *names,
                                size_t len, pprofdelta_error *err);

/* Finds each of the names in the schema, the nth of equal ones as the nth. Fails where the two sets
 * differ, printing both. */
pprofdelta_status pd_schema_match(const pd_schema *schema, const pd_type_name *names, size_t len,
                                  pd_columns *columns, pprofdelta_error *err);

/* Are the counters of these names, which were matched, those of the schema? They may not be where
 * the schema comes from a state that was kept under other rules. */
pprofdelta_status pd_schema_agree(const pd_schema *schema, const pd_type_name *names,
                                  const pd_columns *columns, pprofdelta_error *err);

void pd_schema_release(pd_schema *schema, pd_mem *mem);

#endif
