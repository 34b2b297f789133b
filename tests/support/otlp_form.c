#include "otlp_form.h"

#include "pprofdelta_profile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAPPING, LOCATION, FUNCTION, LINK, STRING, ATTRIBUTE, STACK, TABLES };

static const char *const names[TABLES] = {"mapping", "location",  "function", "link",
                                          "string",  "attribute", "stack"};

typedef struct form {
    arena *a;
    const Pd__Otlp__Dictionary *d;
    size_t lens[TABLES];
    bool *used[TABLES];
    const char *wrong;
} form;

static void blame(form *f, const char *wrong)
{
    if (!f->wrong)
        f->wrong = wrong;
}

/* Marks the entry. True if it is used for the first time, and not the zero value. */
static bool use(form *f, unsigned table, int32_t index)
{
    if (index < 0 || (size_t)index >= f->lens[table]) {
        blame(f, arena_format(f->a, "index %" PRId32 " is not in the %s table, which has %zu",
                              index, names[table], f->lens[table]));
        return false;
    }
    bool was_used = f->used[table][index];
    f->used[table][index] = true;
    return index && !was_used;
}

/* ---- what is used, from the profiles down ---------------------------------------------------- */

static void use_attributes(form *f, const int32_t *indices, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (!indices[i])
            blame(f, "a list has attribute 0");
        if (use(f, ATTRIBUTE, indices[i])) {
            use(f, STRING, f->d->attribute_table[indices[i]]->key_strindex);
            use(f, STRING, f->d->attribute_table[indices[i]]->unit_strindex);
        }
        for (size_t j = 0; j < i && !f->wrong; j++)
            if (f->d->attribute_table[indices[i]]->key_strindex ==
                f->d->attribute_table[indices[j]]->key_strindex)
                blame(f, "a list has two attributes with one key");
    }
}

static void use_mapping(form *f, int32_t index)
{
    if (!use(f, MAPPING, index))
        return;
    const Pd__Otlp__Mapping *m = f->d->mapping_table[index];
    use(f, STRING, m->filename_strindex);
    use_attributes(f, m->attribute_indices, m->n_attribute_indices);
}

static void use_function(form *f, int32_t index)
{
    if (!index)
        blame(f, "a line has no function");
    if (!use(f, FUNCTION, index))
        return;
    const Pd__Otlp__Function *function = f->d->function_table[index];
    use(f, STRING, function->name_strindex);
    use(f, STRING, function->system_name_strindex);
    use(f, STRING, function->filename_strindex);
}

static void use_location(form *f, int32_t index)
{
    if (!use(f, LOCATION, index))
        return;
    const Pd__Otlp__Location *l = f->d->location_table[index];
    use_mapping(f, l->mapping_index);
    use_attributes(f, l->attribute_indices, l->n_attribute_indices);
    for (size_t i = 0; i < l->n_lines; i++)
        use_function(f, l->lines[i]->function_index);
}

static void use_type(form *f, const Pd__Otlp__ValueType *type)
{
    if (!type)
        return;
    use(f, STRING, type->type_strindex);
    use(f, STRING, type->unit_strindex);
}

static void use_sample(form *f, const Pd__Otlp__Sample *s)
{
    use(f, LINK, s->link_index);
    use_attributes(f, s->attribute_indices, s->n_attribute_indices);
    if (!use(f, STACK, s->stack_index))
        return;
    const Pd__Otlp__Stack *stack = f->d->stack_table[s->stack_index];
    for (size_t i = 0; i < stack->n_location_indices; i++)
        use_location(f, stack->location_indices[i]);
}

static void use_profile(form *f, const Pd__Otlp__Profile *p)
{
    use_type(f, p->sample_type);
    use_type(f, p->period_type);
    use_attributes(f, p->attribute_indices, p->n_attribute_indices);
    for (size_t i = 0; i < p->n_samples; i++)
        use_sample(f, p->samples[i]);
}

/* ---- the tables ------------------------------------------------------------------------------ */

typedef struct entry {
    ProtobufCBinaryData bytes;
} entry;

static int compare(const void *x, const void *y)
{
    const ProtobufCBinaryData *a = &((const entry *)x)->bytes, *b = &((const entry *)y)->bytes;
    int first = a->len && b->len ? memcmp(a->data, b->data, a->len < b->len ? a->len : b->len) : 0;
    return first ? first : (a->len > b->len) - (a->len < b->len);
}

static ProtobufCBinaryData packed(arena *a, const ProtobufCMessage *message)
{
    ProtobufCBinaryData out = {protobuf_c_message_get_packed_size(message), NULL};
    out.data = arena_alloc(a, out.len + 1);
    protobuf_c_message_pack(message, out.data);
    return out;
}

static void check_table(form *f, unsigned table, ProtobufCMessage *const *entries)
{
    size_t len = f->lens[table];
    entry *all = ARENA_ARRAY(f->a, entry, len);
    for (size_t i = 0; i < len; i++) {
        all[i].bytes = entries ? packed(f->a, entries[i]) : f->d->string_table[i];
        if (i && !f->used[table][i])
            blame(f, arena_format(f->a, "entry %zu of the %s table is not used", i, names[table]));
    }
    if (!len || all[0].bytes.len)
        blame(f, arena_format(f->a, "the %s table does not begin with zero", names[table]));
    qsort(all, len, sizeof *all, compare);
    for (size_t i = 1; i < len; i++)
        if (!compare(&all[i - 1], &all[i]))
            blame(f, arena_format(f->a, "an entry of the %s table is there twice", names[table]));
}

const char *otlp_form_wrong(arena *a, const Pd__Otlp__Request *q)
{
    const Pd__Otlp__Dictionary *d = q->dictionary;
    if (!d)
        return "there is no dictionary";
    form f = {.a = a,
              .d = d,
              .lens = {d->n_mapping_table, d->n_location_table, d->n_function_table,
                       d->n_link_table, d->n_string_table, d->n_attribute_table, d->n_stack_table}};
    void *const tables[TABLES] = {
        d->mapping_table,   d->location_table, d->function_table, d->link_table, NULL,
        d->attribute_table, d->stack_table};
    for (unsigned i = 0; i < TABLES; i++)
        f.used[i] = memset(ARENA_ARRAY(a, bool, f.lens[i] + 1), 0, f.lens[i] + 1);
    for (size_t i = 0; i < q->n_resource_profiles; i++)
        for (size_t j = 0; j < q->resource_profiles[i]->n_scope_profiles; j++) {
            const Pd__Otlp__ScopeProfiles *scope = q->resource_profiles[i]->scope_profiles[j];
            for (size_t k = 0; k < scope->n_profiles; k++)
                use_profile(&f, scope->profiles[k]);
        }
    for (unsigned i = 0; i < TABLES; i++)
        check_table(&f, i, tables[i]);
    return f.wrong;
}

const char *otlp_form_wrong_bytes(arena *a, const void *bytes, size_t len)
{
    pprofdelta_profile *profile;
    pprofdelta_census census = {.size = sizeof census};
    const uint8_t *made;
    size_t made_len;
    if (pprofdelta_profile_open(NULL, NULL, bytes, len, &profile, NULL))
        return "the library refuses it";
    const char *wrong = "it is not a request";
    if (!pprofdelta_profile_bytes(profile, &made, &made_len, NULL)) {
        pprofdelta_profile_census(profile, &census);
        Pd__Otlp__Request *q =
            census.request ? pd__otlp__request__unpack(NULL, census.request_len, census.request)
                           : NULL;
        wrong = q ? otlp_form_wrong(a, q) : wrong;
        pd__otlp__request__free_unpacked(q, NULL);
    }
    pprofdelta_profile_free(profile);
    return wrong;
}
