/* The rules of OpenTelemetry's profcheck, with its checks of duplicates and orphans: see receiver_rules.h. */
#include "delta/receiver_rules.h"
#include "numbers.h"

#include <string.h>

typedef Pd__Otlp__Profile otlp_profile;
typedef Pd__Otlp__Dictionary dictionary;

/* The tables of a dictionary are its fields. What refers to an entry of NAME_table is called NAME_index or NAME_indices,
 * and to a string, ..._strindex. */
#define FIELDS pd__otlp__dictionary__descriptor.fields

enum { TABLES = 7 };

static const void *member_at(const ProtobufCMessage *message, unsigned offset)
{
    return (const char *)message + offset;
}

static size_t count_entries(const dictionary *d, unsigned table)
{
    return *(const size_t *)member_at(&d->base, FIELDS[table].quantifier_offset);
}

/* The length of NAME. */
static int name_len(unsigned table)
{
    return (int)(strlen(FIELDS[table].name) - strlen("_table"));
}

/* Our reader takes a table without its zero value if nothing refers to it. */
bool cli_profcheck_tables(cli_checked *j)
{
    const dictionary *d = j->request ? j->request->dictionary : NULL;
    for (unsigned i = 0; j->request && i < TABLES; i++)
        if (!d || !count_entries(d, i))
            return cli_found(j, "the %.*s table has not its zero value", name_len(i),
                             FIELDS[i].name);
    return false;
}

/* The table to which a field refers; TABLES: to none. */
static unsigned table_of(const char *field)
{
    const char *to = strstr(field, "_strindex") ? "string_index" : field;
    for (unsigned i = 0; i < TABLES; i++)
        if (!strncmp(to, FIELDS[i].name, (size_t)name_len(i)) &&
            !strncmp(to + name_len(i), "_ind", strlen("_ind")))
            return i;
    return TABLES;
}

/* Marks the entries to which a message refers, and the messages in it. In profcheck's order: what refers to an entry may
 * itself be an orphan. What a value (one of several members) refers to does not count. */
static void mark_entries(bool *const *used, const ProtobufCMessage *message)
{
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        const bool is_list = field->label == PROTOBUF_C_LABEL_REPEATED;
        const void *at = member_at(message, field->offset),
                   *list = is_list ? *(void *const *)at : at;
        const ProtobufCMessage *const *messages = list;
        const int32_t *numbers = list;
        const unsigned table = table_of(field->name);
        size_t len = is_list ? *(const size_t *)member_at(message, field->quantifier_offset) : 1;
        for (size_t k = 0; k < len && !(field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF); k++)
            if (field->type == PROTOBUF_C_TYPE_MESSAGE && messages[k])
                mark_entries(used, messages[k]);
            else if (table < TABLES)
                used[table][numbers[k]] = true;
    }
}

static bool mark_visited(cli_checked *j, const otlp_profile *p)
{
    mark_entries(j->used, &p->base);
    return false;
}

bool cli_profcheck_orphans(cli_checked *j)
{
    bool *used[TABLES];
    if (!j->request || !j->request->dictionary)
        return false;
    const dictionary *d = j->request->dictionary;
    for (unsigned i = 0; i < TABLES; i++)
        used[i] = cli_keep(count_entries(d, i) + 1, sizeof *used[i]);
    j->used = used;
    cli_any_profile(j, mark_visited);
    mark_entries(used, &d->base);
    for (unsigned i = 0; i < TABLES; i++)
        for (size_t k = 1; k < count_entries(d, i); k++)
            if (!used[i][k])
                return cli_found(j, "nothing refers to entry %zu of the %.*s table", k, name_len(i),
                                 FIELDS[i].name);
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

static bool has_bad_samples(cli_checked *j, const otlp_profile *p)
{
    for (size_t i = 0; i < p->n_samples; i++) {
        const Pd__Otlp__Sample *s = p->samples[i], *first = p->samples[0];
        bool is_other = !s->n_values != !first->n_values ||
                        !s->n_timestamps_unix_nano != !first->n_timestamps_unix_nano;
        size_t due = s->n_timestamps_unix_nano ? s->n_timestamps_unix_nano : 1;
        if (is_other || (s->n_values && s->n_values != due))
            return cli_found(j,
                             "sample %zu of profile %zu has another number of values or timestamps",
                             i, j->number);
        for (size_t k = 0; k < s->n_timestamps_unix_nano; k++)
            if (s->timestamps_unix_nano[k] - p->time_unix_nano >= p->duration_nano)
                return cli_found(j,
                                 "a timestamp of sample %zu of profile %zu is not within its time",
                                 i, j->number);
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
