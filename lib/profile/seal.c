#include "profile/stamp.h"

#include <inttypes.h>

typedef struct sealing {
    pd_tables *tables;
    pprofdelta_error *err;
    pprofdelta_status status; /* sticky */
} sealing;

static void check_string(sealing *s, uint32_t index, const char *field, uint64_t element,
                         uint64_t off)
{
    if (__builtin_expect(index < s->tables->strings_len, 1) || s->status)
        return;
    s->status =
        pd_fail(s->err, PPROFDELTA_E_PROFILE, "profile", field, element, off,
                "string index %" PRIu32 " is outside the string table, which has %zu entries",
                index, s->tables->strings_len);
}

/* Checks the string indices of an element, which was read by these rows. */
static void check_element(sealing *s, const pd_rows *rows, const void *element, uint64_t nth,
                          uint64_t off)
{
    for (uint32_t number = 1; number < rows->len; number++) {
        const pd_field_row *row = pd_row_of(rows, number);
        const void *at = (const char *)element + row->at;
        const pd_string_ref *ref = at;
        if (row->kind == PD_FIELD_STRING)
            check_string(s, *(const uint32_t *)at, row->name, nth, off);
        else if (row->kind == PD_FIELD_STRING_REF)
            check_string(s, ref->index, row->name, nth, ref->off);
    }
}

static void check_strings(sealing *s)
{
    const pd_tables *t = s->tables;
    const pd_value_type *period = &t->header.period_type;
    for (size_t i = 0; i < t->types_len; i++)
        check_element(s, &pd_sample_type_rows, &t->types[i], i, t->types[i].off);
    for (size_t i = 0; i < t->mappings_len; i++)
        check_element(s, &pd_mapping_rows, &t->mappings[i], i, t->mappings[i].off);
    for (size_t i = 0; i < t->functions_len; i++)
        check_element(s, &pd_function_rows, &t->functions[i], i, t->functions[i].off);
    for (size_t i = 0; i < t->comments_len; i++)
        check_string(s, t->comments[i].index, "comment", i, t->comments[i].off);
    check_element(s, &pd_period_type_rows, period, PPROFDELTA_NOWHERE, period->off);
    check_element(s, &pd_profile_rows, t, PPROFDELTA_NOWHERE, PPROFDELTA_NOWHERE);
}

static void check_first_string(sealing *s)
{
    const pd_tables *t = s->tables;
    if (!t->len)
        s->status = pd_fail(s->err, PPROFDELTA_E_PROFILE, "profile", NULL, PPROFDELTA_NOWHERE,
                            PPROFDELTA_NOWHERE, "it is empty: 0 bytes");
    else if (!t->strings_len)
        s->status =
            pd_fail(s->err, PPROFDELTA_E_PROFILE, "profile", "string_table", PPROFDELTA_NOWHERE,
                    PPROFDELTA_NOWHERE, "it has no string table: not a pprof profile, or cut off");
    else if (t->strings[0].len)
        s->status = pd_fail(s->err, PPROFDELTA_E_PROFILE, "profile", "string_table", 0,
                            t->first_string_off, "the first string is not empty");
    else if (!t->types_len)
        s->status =
            pd_fail(s->err, PPROFDELTA_E_PROFILE, "profile", "sample_type", PPROFDELTA_NOWHERE,
                    PPROFDELTA_NOWHERE, "it has no sample types: not a pprof profile, or cut off");
    else if (t->types_len > PPROFDELTA_MAX_TYPES)
        s->status = pd_fail(s->err, PPROFDELTA_E_LIMIT, "profile", "sample_type",
                            PPROFDELTA_MAX_TYPES, t->types[PPROFDELTA_MAX_TYPES].off,
                            "%zu sample types; at most %d are supported", t->types_len,
                            PPROFDELTA_MAX_TYPES);
}

/* Replaces the id at *ref by its index; 0 becomes PD_NONE. */
static void resolve(sealing *s, uint64_t *ref, const pd_idmap *map, const char *field,
                    uint64_t element, uint64_t off)
{
    uint64_t id = *ref;
    uint32_t index = id ? pd_idmap_find(map, id) : PD_NONE;
    if (__builtin_expect(id && index == PD_IDMAP_NONE, 0) && !s->status)
        s->status = pd_fail(s->err, PPROFDELTA_E_PROFILE, "profile", field, element, off,
                            "no %s has the id %" PRIu64,
                            map == &s->tables->mapping_map ? "mapping" : "function", id);
    *ref = index;
}

static void resolve_references(sealing *s)
{
    pd_tables *t = s->tables;
    for (size_t i = 0; i < t->locations_len; i++) {
        pd_location *location = &t->locations[i];
        resolve(s, &location->mapping, &t->mapping_map, "location.mapping_id", i, location->off);
        for (size_t j = 0; j < location->lines_len; j++)
            resolve(s, &t->lines[location->lines_first + j].function, &t->function_map,
                    "location.line.function_id", i, location->off);
    }
}

/* Begins with no key of a string. Each is made when it is first needed: many lines, or many mappings,
 * may refer to one long string. */
static pprofdelta_status begin_keys(pd_tables *t, pd_mem *mem, pprofdelta_error *err)
{
    pprofdelta_status status = pd_mem_reserve(mem, &t->string_keys, &t->string_keys_cap,
                                              t->strings_len, sizeof *t->string_keys, err);
    if (!status)
        memset(t->string_keys, 0, t->strings_len * sizeof *t->string_keys);
    return status;
}

static bool is_made(pd_key key)
{
    return (key.lo | key.hi) != 0;
}

static pd_key key_of_string(const pd_tables *t, uint32_t index)
{
    pd_key *key = &t->string_keys[index];
    if (!is_made(*key))
        *key = pd_string_key(t->strings[index]);
    return *key;
}

static pd_key key_of_lines(const pd_tables *t, const pd_location *location)
{
    pd_key key = pd_location_key_lines_begin(location->is_folded);
    for (size_t i = 0; i < location->lines_len; i++) {
        const pd_line *line = &t->lines[location->lines_first + i];
        pd_key function = {0, 0};
        if (line->function != PD_NONE) {
            const pd_function *f = &t->functions[line->function];
            function =
                pd_function_key_of(key_of_string(t, f->name), key_of_string(t, f->system_name),
                                   key_of_string(t, f->filename), f->start_line);
        }
        key = pd_location_key_line(key, function, line->line, line->column);
    }
    return key;
}

/* First the mappings without a build id, then the others: a string may be the name of one mapping and
 * the build id of another. */
pprofdelta_status pd_tables_place(pd_tables *t, pd_mem *mem, pprofdelta_error *err)
{
    pprofdelta_status status =
        pd_mem_reserve(mem, &t->places, &t->places_cap, t->mappings_len, sizeof *t->places, err);
    for (unsigned has_id = 0; has_id < 2 && !status; has_id++) {
        status = begin_keys(t, mem, err);
        for (size_t i = 0; i < t->mappings_len && !status; i++) {
            const pd_mapping *m = &t->mappings[i];
            if ((t->strings[m->build_id].len > 0) != has_id)
                continue;
            pd_key *key = &t->string_keys[has_id ? m->build_id : m->filename];
            if (!is_made(*key))
                *key = pd_file_key(t->strings[m->filename], t->strings[m->build_id]);
            t->places[i] = pd_place_in_file(*key, m->start, m->file_offset);
        }
    }
    return status;
}

pprofdelta_status pd_tables_identify(pd_tables *t, pd_mem *mem, pprofdelta_error *err)
{
    pprofdelta_status status =
        pd_mem_reserve(mem, &t->idents, &t->idents_cap, t->locations_len, sizeof *t->idents, err);
    t->by_address = t->by_lines = 0;
    for (size_t i = 0; i < t->locations_len && !status; i++) {
        const pd_location *location = &t->locations[i];
        if (!location->address && location->lines_len) {
            if (!t->by_lines++)
                status = begin_keys(t, mem, err);
            if (!status)
                t->idents[i] = key_of_lines(t, location);
            continue;
        }
        pd_place place =
            location->mapping == PD_NONE ? PD_NOWHERE_MAPPED : t->places[location->mapping];
        t->idents[i] = pd_location_key_address(place, location->address, location->is_folded);
        t->by_address++;
    }
    return status;
}

pprofdelta_status pd_tables_seal(pd_tables *tables, pd_mem *mem, pprofdelta_error *err)
{
    sealing s = {.tables = tables, .err = err};
    check_first_string(&s);
    if (!s.status)
        check_strings(&s);
    if (!s.status)
        resolve_references(&s);
    if (s.status)
        return s.status;
    for (size_t i = 0; i < tables->comments_len; i++)
        tables->is_stamped |= pd_is_stamp(tables->strings[tables->comments[i].index]);
    s.status = pd_tables_place(tables, mem, err);
    if (!s.status)
        s.status = pd_tables_identify(tables, mem, err);
    return s.status;
}
