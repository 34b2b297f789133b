/* The rules of OpenTelemetry's profcheck, with its checks of duplicates and orphans: see receiver_rules.h. */
#include "delta/receiver_rules.h"
#include "keep.h"
#include "numbers.h"

typedef Pd__Otlp__Profile otlp_profile;
typedef Pd__Otlp__Dictionary dictionary;

enum { MAPPING, LOCATION, FUNCTION, LINK, STRING, ATTRIBUTE, STACK, TABLES };

static const char *const table_names[TABLES] = {"mapping", "location",  "function", "link",
                                                "string",  "attribute", "stack"};

static void count_entries(const dictionary *d, size_t lens[TABLES])
{
    lens[MAPPING] = d->n_mapping_table;
    lens[LOCATION] = d->n_location_table;
    lens[FUNCTION] = d->n_function_table;
    lens[LINK] = d->n_link_table;
    lens[STRING] = d->n_string_table;
    lens[ATTRIBUTE] = d->n_attribute_table;
    lens[STACK] = d->n_stack_table;
}

/* Our reader takes a table without its zero value if nothing refers to it. */
bool cli_profcheck_tables(cli_checked *j)
{
    size_t lens[TABLES] = {0};
    if (j->request && j->request->dictionary)
        count_entries(j->request->dictionary, lens);
    for (unsigned i = 0; j->request && i < TABLES; i++)
        if (!lens[i])
            return cli_found(j, "the %s table has not its zero value", table_names[i]);
    return false;
}

/* Which entries something refers to. */
typedef struct marks {
    const dictionary *d;
    bool *used[TABLES];
} marks;

static void mark(marks *m, unsigned table, const int32_t *list, size_t len)
{
    for (size_t i = 0; i < len; i++)
        m->used[table][list[i]] = true;
}

static void mark_one(marks *m, unsigned table, int32_t index)
{
    mark(m, table, &index, 1);
}

static void mark_type(marks *m, const Pd__Otlp__ValueType *type)
{
    if (!type)
        return;
    mark_one(m, STRING, type->type_strindex);
    mark_one(m, STRING, type->unit_strindex);
}

static void mark_profile(marks *m, const otlp_profile *p)
{
    mark_type(m, p->sample_type);
    mark_type(m, p->period_type);
    mark(m, ATTRIBUTE, p->attribute_indices, p->n_attribute_indices);
    for (size_t i = 0; i < p->n_samples; i++) {
        const Pd__Otlp__Sample *s = p->samples[i];
        mark_one(m, STACK, s->stack_index);
        mark_one(m, LINK, s->link_index);
        mark(m, ATTRIBUTE, s->attribute_indices, s->n_attribute_indices);
    }
}

/* In profcheck's order: what refers to an entry may itself be an orphan. */
static void mark_dictionary(marks *m)
{
    const dictionary *d = m->d;
    for (size_t i = 0; i < d->n_stack_table; i++)
        mark(m, LOCATION, d->stack_table[i]->location_indices,
             d->stack_table[i]->n_location_indices);
    for (size_t i = 0; i < d->n_location_table; i++) {
        const Pd__Otlp__Location *l = d->location_table[i];
        mark_one(m, MAPPING, l->mapping_index);
        mark(m, ATTRIBUTE, l->attribute_indices, l->n_attribute_indices);
        for (size_t k = 0; k < l->n_lines; k++)
            mark_one(m, FUNCTION, l->lines[k]->function_index);
    }
    for (size_t i = 0; i < d->n_mapping_table; i++) {
        mark_one(m, STRING, d->mapping_table[i]->filename_strindex);
        mark(m, ATTRIBUTE, d->mapping_table[i]->attribute_indices,
             d->mapping_table[i]->n_attribute_indices);
    }
    for (size_t i = 0; i < d->n_function_table; i++) {
        const int32_t names[] = {d->function_table[i]->name_strindex,
                                 d->function_table[i]->system_name_strindex,
                                 d->function_table[i]->filename_strindex};
        mark(m, STRING, names, 3);
    }
    for (size_t i = 0; i < d->n_attribute_table; i++) {
        mark_one(m, STRING, d->attribute_table[i]->key_strindex);
        mark_one(m, STRING, d->attribute_table[i]->unit_strindex);
    }
}

static bool mark_visited(cli_checked *j, const otlp_profile *p, size_t number)
{
    (void)number;
    mark_profile(j->marks, p);
    return false;
}

bool cli_profcheck_orphans(cli_checked *j)
{
    if (!j->request || !j->request->dictionary)
        return false;
    const dictionary *d = j->request->dictionary;
    size_t lens[TABLES];
    count_entries(d, lens);
    marks m = {.d = d};
    for (unsigned i = 0; i < TABLES; i++)
        m.used[i] = cli_keep(lens[i] + 1, sizeof *m.used[i]);
    j->marks = &m;
    cli_any_profile(j, mark_visited);
    j->marks = NULL;
    mark_dictionary(&m);
    for (unsigned i = 0; i < TABLES; i++)
        for (size_t k = 1; k < lens[i]; k++)
            if (!m.used[i][k])
                return cli_found(j, "nothing refers to entry %zu of the %s table", k,
                                 table_names[i]);
    return false;
}

bool cli_profcheck_duplicates(cli_checked *j)
{
    const dictionary *d = j->request ? j->request->dictionary : NULL;
    cli_numbers strings = {.len = 0}, mappings = {.len = 0};
    for (size_t i = 0; d && i < d->n_string_table; i++) {
        const ProtobufCBinaryData *s = &d->string_table[i];
        if (cli_numbers_of(&strings, cli_key_of(s->data, s->len), i) != i)
            return cli_found(j, "string %zu is there twice", i);
    }
    for (size_t i = 1; d && i < d->n_mapping_table; i++) {
        uint8_t *packed =
            cli_keep(protobuf_c_message_get_packed_size(&d->mapping_table[i]->base) + 1, 1);
        size_t len = protobuf_c_message_pack(&d->mapping_table[i]->base, packed);
        if (cli_numbers_of(&mappings, cli_key_of(packed, len), i) != i)
            return cli_found(j, "mapping %zu is there twice", i);
        cli_drop(packed);
    }
    return false;
}

bool cli_profcheck_entries(cli_checked *j)
{
    const dictionary *d = j->request ? j->request->dictionary : NULL;
    for (size_t i = 1; d && i < d->n_mapping_table; i++) {
        const Pd__Otlp__Mapping *m = d->mapping_table[i];
        if ((m->memory_start || m->memory_limit) && m->memory_start >= m->memory_limit)
            return cli_found(j, "mapping %zu ends before it begins", i);
    }
    for (size_t i = 0; d && i < d->n_location_table; i++)
        for (size_t k = 0; k < d->location_table[i]->n_lines; k++)
            if (d->location_table[i]->lines[k]->line < 0 ||
                d->location_table[i]->lines[k]->column < 0)
                return cli_found(j, "location %zu has a line or a column below 0", i);
    for (size_t i = 0; d && i < d->n_function_table; i++)
        if (d->function_table[i]->start_line < 0)
            return cli_found(j, "function %zu begins at a line below 0", i);
    return false;
}

static bool has_bad_samples(cli_checked *j, const otlp_profile *p, size_t number)
{
    for (size_t i = 0; i < p->n_samples; i++) {
        const Pd__Otlp__Sample *s = p->samples[i], *first = p->samples[0];
        bool is_other = !s->n_values != !first->n_values ||
                        !s->n_timestamps_unix_nano != !first->n_timestamps_unix_nano;
        size_t due = s->n_timestamps_unix_nano ? s->n_timestamps_unix_nano : 1;
        if (is_other || (s->n_values && s->n_values != due))
            return cli_found(j,
                             "sample %zu of profile %zu has another number of values or timestamps",
                             i, number);
        for (size_t k = 0; k < s->n_timestamps_unix_nano; k++)
            if (s->timestamps_unix_nano[k] - p->time_unix_nano >= p->duration_nano)
                return cli_found(j,
                                 "a timestamp of sample %zu of profile %zu is not within its time",
                                 i, number);
    }
    return false;
}

bool cli_profcheck_profiles(cli_checked *j)
{
    for (size_t i = 0; j->request && i < j->request->n_resource_profiles; i++) {
        const Pd__Otlp__ResourceProfiles *r = j->request->resource_profiles[i];
        if (!r->n_scope_profiles)
            return cli_found(j, "resource_profiles %zu has no scope_profiles", i);
        for (size_t k = 0; k < r->n_scope_profiles; k++)
            if (!r->scope_profiles[k]->n_profiles)
                return cli_found(j, "scope_profiles %zu has no profiles", k);
    }
    return cli_any_profile(j, has_bad_samples);
}
