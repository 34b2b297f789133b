#include "profile/naming.h"

#include "profile/stack.h"
#include "profile/tables.h"

/* Seeds of their own: an assumed name is nobody's own name. */
enum { SEED_PLACE = 101, SEED_LABEL };

void pd_triples_note(pd_triples *t, pd_triple triple)
{
    for (size_t i = 0; i < t->len; i++)
        if (!memcmp(&t->list[i], &triple, sizeof triple))
            return;
    t->too_many |= t->len == PD_TRIPLES;
    if (!t->too_many)
        t->list[t->len++] = triple;
}

pd_place pd_naming_assumed_place(uint64_t mapping_id)
{
    return (pd_place){pd_key_of_words(&mapping_id, 1, SEED_PLACE), 0};
}

pd_key pd_naming_assumed_label(pd_triple triple)
{
    uint64_t words[] = {triple.key, triple.str, triple.num_unit};
    return pd_key_of_words(words, 3, SEED_LABEL);
}

static bool same_key(pd_key a, pd_key b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

static const struct pd_named_place *find_place(const pd_naming *n, pd_key file)
{
    for (size_t i = 0; i < n->places_len; i++)
        if (same_key(n->places[i].place.file, file))
            return &n->places[i];
    return NULL;
}

static const struct pd_named_label *find_label(const pd_naming *n, pd_key names)
{
    for (size_t i = 0; i < n->labels_len; i++)
        if (same_key(n->labels[i].names, names))
            return &n->labels[i];
    return NULL;
}

/* False where a string is not there: the ordinary way says which. */
static bool names_of(const pd_tables *t, pd_triple triple, pd_key *names)
{
    if (triple.key >= t->strings_len || triple.str >= t->strings_len ||
        triple.num_unit >= t->strings_len)
        return false;
    *names = pd_label_names_key(t->strings[triple.key], t->strings[triple.str],
                                t->strings[triple.num_unit]);
    return true;
}

/* All of the triples, and all of the strings? */
static bool are_there(const pd_tables *t, const pd_triples *triples)
{
    return !triples->too_many && (!triples->largest || triples->largest < t->strings_len);
}

static bool has_unmapped(const pd_tables *t)
{
    for (size_t i = 0; i < t->locations_len; i++)
        if (t->locations[i].mapping == PD_NONE)
            return true;
    return false;
}

static bool learn_place(pd_naming *n, uint64_t id, pd_place place)
{
    if (find_place(n, place.file))
        return false;
    n->places[n->places_len++] = (struct pd_named_place){id, place};
    return true;
}

static bool learn_places(pd_naming *n, const pd_tables *t)
{
    if (has_unmapped(t) && !learn_place(n, 0, PD_NOWHERE_MAPPED))
        return false;
    for (size_t i = 0; i < t->mappings_len; i++)
        if (!learn_place(n, pd_idmap_id(&t->mapping_map, (uint32_t)i), t->places[i]))
            return false;
    return true;
}

static bool learn_labels(pd_naming *n, const pd_tables *t, const pd_triples *triples)
{
    for (size_t i = 0; i < triples->len; i++) {
        struct pd_named_label label = {.triple = triples->list[i]};
        if (!names_of(t, label.triple, &label.names) || find_label(n, label.names))
            return false;
        n->labels[n->labels_len++] = label;
    }
    return true;
}

bool pd_naming_learn(pd_naming *n, const pd_tables *t, const pd_triples *triples)
{
    n->places_len = n->labels_len = 0;
    n->is_set = t->mappings_len < PD_NAMED_PLACES && are_there(t, triples) && learn_places(n, t) &&
                learn_labels(n, t, triples);
    return n->is_set;
}

static bool agrees_on(const pd_naming *n, uint64_t id, pd_place place)
{
    const struct pd_named_place *named = find_place(n, place.file);
    return named && named->id == id && named->place.bias == place.bias;
}

bool pd_naming_agrees(const pd_naming *n, const pd_tables *t, const pd_triples *triples)
{
    if (!are_there(t, triples) || (has_unmapped(t) && !agrees_on(n, 0, PD_NOWHERE_MAPPED)))
        return false;
    for (size_t i = 0; i < t->mappings_len; i++)
        if (!agrees_on(n, pd_idmap_id(&t->mapping_map, (uint32_t)i), t->places[i]))
            return false;
    for (size_t i = 0; i < triples->len; i++) {
        pd_key names;
        if (!names_of(t, triples->list[i], &names))
            return false;
        const struct pd_named_label *named = find_label(n, names);
        if (!named || memcmp(&named->triple, &triples->list[i], sizeof named->triple) != 0)
            return false;
    }
    return true;
}

pd_place pd_naming_place(const pd_naming *n, pd_place place)
{
    const struct pd_named_place *named = n->is_set ? find_place(n, place.file) : NULL;
    if (!named)
        return place;
    pd_place assumed = pd_naming_assumed_place(named->id);
    assumed.bias = place.bias - named->place.bias;
    return assumed;
}

pd_key pd_naming_label(const pd_naming *n, pd_key names)
{
    const struct pd_named_label *named = n->is_set ? find_label(n, names) : NULL;
    return named ? pd_naming_assumed_label(named->triple) : names;
}
