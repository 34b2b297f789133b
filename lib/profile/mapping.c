#include "profile/mapping.h"

#include "profile/tables.h"

#include <string.h>

/* A mapping without a range cannot be recognised by its place. */
static bool same_place(const pd_mapped *known, const pd_mapping *m)
{
    return m->start < m->limit && known->start == m->start && known->limit == m->limit &&
           known->file_offset == m->file_offset;
}

/* The number of mappings that are examined. */
static size_t looked_at(const pd_tables *t)
{
    return t->mappings_len < PD_MAPPED_MAX ? t->mappings_len : PD_MAPPED_MAX;
}

/* The known mapping with this identity: the one in the same place, or else the first. */
static const pd_mapped *find_identity(const pd_mapped_list *known, pd_key identity,
                                      const pd_mapping *m)
{
    const pd_mapped *first = NULL;
    for (size_t i = 0; i < known->len && pd_key_is_set(identity); i++) {
        if (!pd_key_equal(known->list[i].identity, identity))
            continue;
        if (same_place(&known->list[i], m))
            return &known->list[i];
        if (!first)
            first = &known->list[i];
    }
    return first;
}

/* Returns whether a mapping of the profile has this identity. The places must be unchanged. */
static bool has_identity(const pd_tables *t, pd_key identity)
{
    for (size_t i = 0; i < looked_at(t) && pd_key_is_set(identity); i++)
        if (pd_key_equal(t->places[i].file, identity))
            return true;
    return false;
}

/* The known mapping that is mapping `index`, or NULL. */
static const pd_mapped *recognise_mapping(const pd_mapped_list *known, const pd_tables *t,
                                          size_t index, size_t *files_replaced)
{
    const pd_mapping *m = &t->mappings[index];
    pd_key identity = t->places[index].file;
    if (index < known->len && same_place(&known->list[index], m) &&
        pd_key_equal(known->list[index].identity, identity)) /* the usual case */
        return &known->list[index];
    const pd_mapped *same = find_identity(known, identity, m);
    if (same)
        return same;
    for (size_t i = 0; i < known->len && !same; i++)
        if (same_place(&known->list[i], m))
            same = &known->list[i];
    if (!same || has_identity(t, same->identity))
        return NULL;
    *files_replaced += !pd_key_equal(same->identity, identity);
    return same;
}

pprofdelta_status pd_mapped_recognise(pd_mapped_facts *out, pd_mem *mem,
                                      const pd_mapped_list *known, pd_tables *t,
                                      pprofdelta_error *err)
{
    pd_mapped_facts facts = {0};
    *out = facts;
    if (!known->len || !t->mappings_len)
        return PPROFDELTA_OK;
    facts.main_replaced = !find_identity(known, t->places[0].file, &t->mappings[0]) &&
                          !has_identity(t, known->list[0].identity);
    for (size_t i = 0; i < looked_at(t); i++) {
        const pd_mapped *same = recognise_mapping(known, t, i, &facts.files_replaced);
        t->mappings[i].mark = same ? (uint32_t)(same - known->list) + 1 : 0;
        pd_bytes name = t->strings[t->mappings[i].filename];
        bool is_kernel = name.len && name.ptr[0] == '['; /* its code is in each process */
        facts.has_common |= same && pd_key_is_set(same->identity) &&
                            pd_key_equal(same->identity, t->places[i].file) && !is_kernel;
    }
    facts.has_main = t->mappings[0].mark != 0;
    for (size_t i = 0; i < looked_at(t) && !t->has_addresses_of_files; i++) {
        uint32_t mark = t->mappings[i].mark;
        const pd_mapping *m = &t->mappings[i];
        if (!mark || pd_key_equal(t->places[i].file, known->list[mark - 1].file))
            continue;
        t->places[i] =
            pd_place_in_file(known->list[mark - 1].file, m->start, m->limit, m->file_offset);
        facts.is_renamed = true;
    }
    *out = facts;
    return facts.is_renamed ? pd_tables_identify(t, mem, err) : PPROFDELTA_OK;
}

/* Returns whether one of the first `len` has its identity or its file. */
static bool is_listed(const pd_mapped_list *list, size_t len, const pd_mapped *mapping)
{
    for (size_t i = 0; i < len; i++)
        if (pd_key_equal(list->list[i].identity, mapping->identity) ||
            pd_key_equal(list->list[i].file, mapping->file))
            return true;
    return false;
}

/* Marks the main mapping and those that locations use. Returns their number. */
static size_t mark_used(const pd_tables *t)
{
    size_t used = 0;
    for (size_t i = 0; i < t->mappings_len; i++)
        t->mappings[i].mark = i == 0;
    for (size_t i = 0; i < t->locations_len; i++)
        if (t->locations[i].mapping)
            t->mappings[t->locations[i].mapping - 1].mark = 1;
    for (size_t i = 0; i < looked_at(t); i++)
        used += t->mappings[i].mark;
    return used;
}

pprofdelta_status pd_mapped_remember(pd_mapped_list *out, pd_mem *mem, const pd_tables *t,
                                     const pd_mapped_list *known, pprofdelta_error *err)
{
    size_t used = mark_used(t), most = 2 * used < PD_MAPPED_MAX ? 2 * used : PD_MAPPED_MAX;
    PD_TRY(PD_RESERVE(mem, out->list, most, err));
    out->len = 0;
    for (size_t i = 0; i < looked_at(t); i++) {
        const pd_mapping *m = &t->mappings[i];
        if (!m->mark)
            continue;
        pd_key identity = pd_file_key(t->strings[m->filename], t->strings[m->build_id]);
        out->list[out->len++] =
            (pd_mapped){m->start, m->limit, m->file_offset, identity, t->places[i].file};
    }
    for (size_t i = 0; known && i < known->len && out->len < most; i++)
        if (!is_listed(out, used, &known->list[i]))
            out->list[out->len++] = known->list[i];
    return PPROFDELTA_OK;
}
