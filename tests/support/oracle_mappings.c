/* The mappings of the oracle's ledger, and replaced files: a mapping is known by its name, or else
 * by its place, if no mapping of the profile has the name known there. */
#include "profile/identity.h"

#include "oracle_work.h"

#include <string.h>

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_place(const known_mapping *k, const Pd__View__Mapping *m)
{
    return m->memory_start < m->memory_limit && k->start == m->memory_start &&
           k->limit == m->memory_limit && k->offset == m->file_offset;
}

static bool any_stays(const reading *r)
{
    for (size_t i = 0; i < r->view->n_mapping; i++)
        if (r->mappings[i].stays)
            return true;
    return false;
}

static bool any_has_name(const reading *r, const char *name)
{
    for (size_t i = 0; i < r->view->n_mapping; i++)
        if (name && same(r->mappings[i].name, name))
            return true;
    return false;
}

/* The known mapping that is this one, by name and place, by name, or by place. */
static const known_mapping *recognise(work *w, const reading_mapping *m)
{
    const ledger *l = w->seen;
    const known_mapping *by_both = NULL, *by_name = NULL, *by_place = NULL;
    for (size_t i = l->mappings_len; i--;) {
        const known_mapping *k = &l->mappings[i];
        bool has_name = m->name && same(k->name, m->name);
        by_both = has_name && same_place(k, m->view) ? k : by_both;
        by_name = has_name ? k : by_name;
        by_place = same_place(k, m->view) ? k : by_place;
    }
    if (by_both || by_name)
        return by_both ? by_both : by_name;
    if (!by_place || any_has_name(&w->cur, by_place->name))
        return NULL;
    w->files_replaced += !same(by_place->name, m->name);
    return by_place;
}

/* Has the main binary a build id that the ledger does not know, and is the one that it knows gone? */
static bool is_other_build(const work *w)
{
    const ledger *l = w->seen;
    bool is_known = false;
    for (size_t i = 0; i < l->mappings_len; i++)
        is_known = is_known ||
                   (w->cur.mappings[0].name && same(l->mappings[i].name, w->cur.mappings[0].name));
    return !is_known && !any_has_name(&w->cur, l->mappings[0].name) && *l->build_id &&
           *reading_main_build_id(&w->cur);
}

static const char *mapping_name(arena *a, const reading *r, size_t index)
{
    ProtobufCBinaryData name = r->view->string_table[r->mappings[index].view->filename];
    return arena_format(a, "%.*s", (int)name.len, name.len ? (const char *)name.data : "");
}

const char *mappings_binary(arena *a, const reading *r)
{
    return r->view->n_mapping ? mapping_name(a, r, 0) : "";
}

/* The words of a name that a deploy keeps, each with a dash behind it. */
static const char *service_of(arena *a, const char *binary)
{
    char *name = arena_format(a, "%s", binary);
    char *found = arena_alloc(a, 2 * strlen(binary) + 2), *end = found;
    name[pd_filename_file((pd_bytes){(uint8_t *)name, strlen(name)}).len] =
        0; /* made up, or marked as deleted */
    const char *at = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
    for (size_t nth = 0; *at; nth++) {
        size_t len = strcspn(at, "-_.+@~ []"), kept = len;
        bool has_digit = strcspn(at, "0123456789") < len;
        bool is_hash = len >= 7 && strspn(at, "0123456789abcdefABCDEF") >= len;
        while (nth == 0 && kept && at[kept - 1] >= '0' && at[kept - 1] <= '9')
            kept--;
        if (nth == 0 && !kept)
            return "";
        if (nth == 0 || (len && !has_digit && !is_hash)) {
            memcpy(end, at, kept);
            end += kept;
            *end++ = '-';
        }
        at += len + (at[len] != 0);
    }
    *end = 0;
    return found;
}

bool mappings_differ(arena *a, const char *before, const char *now)
{
    const char *service = service_of(a, before), *other = service_of(a, now);
    return *service && *other && strcmp(service, other) != 0;
}

void mappings_recognise(work *w, const void *bytes, size_t len)
{
    size_t count = w->cur.view->n_mapping;
    if (!count || !w->seen->mappings_len)
        return;
    w->other_build = is_other_build(w);
    const char **files = ARENA_ARRAY(w->arena, const char *, count);
    for (size_t i = 0; i < count; i++) {
        const known_mapping *k = recognise(w, &w->cur.mappings[i]);
        files[i] = k && !any_stays(&w->cur) ? k->file : w->cur.mappings[i].name;
        bool is_file = mapping_name(w->arena, &w->cur, i)[0] != '[';
        w->has_main = w->has_main || (k && i == 0);
        w->has_common =
            w->has_common || (k && k->name && is_file && same(k->name, w->cur.mappings[i].name));
        w->is_renamed = w->is_renamed || !same(files[i], w->cur.mappings[i].name);
    }
    if (w->is_renamed)
        reading_make_as(w->arena, bytes, len, files, &w->cur);
}

static bool is_used(const reading *r, size_t mapping)
{
    for (size_t i = 0; i < r->view->n_location; i++)
        if (r->locations[i].mapping == mapping)
            return true;
    return mapping == 0;
}

static bool is_listed(const ledger *l, size_t len, const known_mapping *k)
{
    for (size_t i = 0; i < len; i++)
        if (same(l->mappings[i].name, k->name) || same(l->mappings[i].file, k->file))
            return true;
    return false;
}

static const char *keep(arena *a, const char *text)
{
    return text ? arena_text(a, text) : NULL;
}

void mappings_remember(const work *w, const ledger *known, ledger *out)
{
    size_t count = w->cur.view->n_mapping;
    out->mappings = ARENA_ARRAY(&out->arena, known_mapping, 2 * count);
    for (size_t i = 0; i < count; i++) {
        const reading_mapping *m = &w->cur.mappings[i];
        if (is_used(&w->cur, i))
            out->mappings[out->mappings_len++] =
                (known_mapping){m->view->memory_start, m->view->memory_limit, m->view->file_offset,
                                keep(&out->arena, m->name), keep(&out->arena, m->file)};
    }
    size_t own = out->mappings_len;
    for (size_t i = 0; known && i < known->mappings_len && out->mappings_len < 2 * own; i++) {
        known_mapping k = known->mappings[i];
        if (is_listed(out, own, &k))
            continue;
        k.name = keep(&out->arena, k.name);
        k.file = keep(&out->arena, k.file);
        out->mappings[out->mappings_len++] = k;
    }
}
