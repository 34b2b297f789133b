/* The oracle's ledger: texts, made again at every commit. */
#include "oracle_work.h"

#include <stdlib.h>
#include <string.h>

const char *work_type_name(arena *a, const expected_type *t)
{
    buf b = buf_begin(a);
    reading_quote(&b, t->type);
    reading_quote(&b, t->unit);
    return buf_string(&b);
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const ledger_entry *)a)->key, ((const ledger_entry *)b)->key);
}

ledger_entry *ledger_find(const ledger *l, const char *key)
{
    ledger_entry wanted = {.key = key};
    return l->len ? bsearch(&wanted, l->entries, l->len, sizeof wanted, compare_entries) : NULL;
}

/* The k-th column of a name is the k-th of that name in the ledger. Returns false if there is none
 * left. */
static bool match_columns(work *w)
{
    const ledger *l = w->ledger;
    w->columns = ARENA_ARRAY(w->arena, size_t, w->types_len);
    bool *taken = ARENA_ARRAY(w->arena, bool, l->types_len);
    if (l->types_len != w->types_len)
        return false;
    for (size_t i = 0; i < w->types_len; i++) {
        const char *name = work_type_name(w->arena, &w->types[i]);
        size_t n = 0;
        while (n < l->types_len && (taken[n] || strcmp(l->types[n], name) != 0))
            n++;
        if (n == l->types_len)
            return false;
        taken[n] = true;
        w->columns[i] = n;
    }
    return true;
}

bool ledger_match(work *w, const ledger *l)
{
    w->ledger = l;
    w->matches = ARENA_ARRAY(w->arena, ledger_entry *, w->cur.samples_len);
    w->is_gone = ARENA_ARRAY(w->arena, bool, l->len);
    memset(w->is_gone, true, l->len);
    for (size_t i = 0; i < w->cur.samples_len; i++) {
        w->matches[i] = ledger_find(l, w->cur.samples[i].key);
        if (w->matches[i])
            w->is_gone[w->matches[i] - l->entries] = false;
    }
    return match_columns(w);
}

void ledger_lift(work *w)
{
    w->lifts = ARENA_ARRAY(w->arena, int64_t *, w->cur.samples_len);
    for (size_t i = 0; i < w->cur.samples_len; i++) {
        w->lifts[i] = ARENA_ARRAY(w->arena, int64_t, w->types_len);
        for (size_t t = 0; w->matches[i] && t < w->types_len; t++) {
            int64_t *value = &w->cur.samples[i].values[t];
            int64_t had = w->matches[i]->base[w->columns[t]];
            if (!w->types[t].is_counter || *value >= had)
                continue;
            w->lifts[i][t] = (int64_t)((uint64_t)had - (uint64_t)*value);
            *value = had;
        }
    }
}

/* Starts an empty ledger with cur's columns and header. */
static ledger begin_ledger(const work *w)
{
    ledger l = {.time_nanos = w->time_nanos,
                .duration_nanos = w->duration_nanos,
                .types_len = w->types_len};
    if (w->is_late) {
        l.time_nanos = w->seen->time_nanos;
        l.duration_nanos = w->seen->duration_nanos;
    }
    l.kind = arena_text(&l.arena, reading_kind(&w->cur));
    l.build_id = arena_text(&l.arena, reading_main_build_id(&w->cur));
    l.binary = arena_text(&l.arena, mappings_binary(w->arena, &w->cur));
    l.types = ARENA_ARRAY(&l.arena, const char *, l.types_len);
    for (size_t i = 0; i < l.types_len; i++)
        l.types[i] = work_type_name(&l.arena, &w->types[i]);
    bool goes_on = w->o->has_seen && !w->restart && !w->is_base;
    mappings_remember(w, goes_on ? w->seen : NULL, &l);
    return l;
}

static void finish_ledger(ledger *l)
{
    if (l->len)
        qsort(l->entries, l->len, sizeof *l->entries, compare_entries);
}

ledger ledger_of_cur(const work *w, const ledger *old)
{
    ledger l = begin_ledger(w);
    l.window = old ? old->window + 1 : 1;
    l.entered = old ? old->entered : 0;
    l.len = w->cur.samples_len;
    l.entries = ARENA_ARRAY(&l.arena, ledger_entry, l.len);
    for (size_t i = 0; i < l.len; i++) {
        const reading_sample *s = &w->cur.samples[i];
        const ledger_entry *known = old ? ledger_find(old, s->key) : NULL;
        int64_t *base = ARENA_ARRAY(&l.arena, int64_t, l.types_len);
        memcpy(base, s->values, l.types_len * sizeof *base);
        uint64_t entered = known ? known->entered : l.entered++;
        l.entries[i] = (ledger_entry){arena_text(&l.arena, s->key), base, l.window, entered};
    }
    finish_ledger(&l);
    return l;
}

/* The order in which entries are dropped: last seen first, then added first. */
static int compare_age(const void *a, const void *b)
{
    const ledger_entry *x = *(ledger_entry *const *)a, *y = *(ledger_entry *const *)b;
    if (x->seen != y->seen)
        return x->seen < y->seen ? -1 : 1;
    return x->entered < y->entered ? -1 : x->entered > y->entered;
}

/* Sets *out to the entries that cur does not have, as they were seen last. */
static size_t find_vanished(const work *w, ledger_entry **out)
{
    const ledger *old = w->ledger;
    size_t len = 0;
    *out = ARENA_ARRAY(w->arena, ledger_entry, old->len);
    for (size_t i = 0; i < old->len; i++) {
        const ledger_entry *seen = ledger_find(w->seen, old->entries[i].key);
        if (!w->is_gone[i])
            continue;
        (*out)[len] = old->entries[i];
        (*out)[len++].seen = seen ? seen->seen : old->entries[i].seen;
    }
    return len;
}

void ledger_forget(ledger *l)
{
    ledger_entry **gone = ARENA_ARRAY(&l->arena, ledger_entry *, l->len);
    size_t unseen = 0, kept = 0;
    for (size_t i = 0; i < l->len; i++)
        if (l->entries[i].seen != l->window)
            gone[unseen++] = &l->entries[i];
    size_t living = l->len - unseen, drop = unseen > living ? unseen - living : 0;
    if (unseen)
        qsort(gone, unseen, sizeof *gone, compare_age);
    for (size_t i = 0; i < drop; i++)
        gone[i]->key = NULL;
    for (size_t i = 0; i < l->len; i++)
        if (l->entries[i].key)
            l->entries[kept++] = l->entries[i];
    l->len = kept;
}

ledger ledger_carried_on(const work *w)
{
    const ledger *old = w->ledger;
    ledger l = ledger_of_cur(w, w->seen);
    ledger_entry *kept;
    size_t kept_len = find_vanished(w, &kept), seen = l.len;
    for (size_t i = 0; i < seen; i++) {
        ledger_entry *e = &l.entries[i];
        const ledger_entry *known = ledger_find(old, e->key);
        for (size_t t = 0; known && t < w->types_len; t++)
            if (w->types[t].is_counter && known->base[w->columns[t]] > e->base[t])
                e->base[t] = known->base[w->columns[t]];
    }
    ledger_entry *entries = ARENA_ARRAY(&l.arena, ledger_entry, seen + kept_len);
    if (seen)
        memcpy(entries, l.entries, seen * sizeof *entries);
    for (size_t i = 0; i < kept_len; i++) {
        ledger_entry *e = &entries[seen + i];
        *e = kept[i];
        e->key = arena_text(&l.arena, e->key);
        e->base = ARENA_ARRAY(&l.arena, int64_t, w->types_len);
        for (size_t t = 0; t < w->types_len; t++)
            e->base[t] = kept[i].base[w->columns[t]];
    }
    l.entries = entries;
    l.len = seen + kept_len;
    finish_ledger(&l);
    return l;
}
