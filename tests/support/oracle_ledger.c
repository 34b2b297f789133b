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

void ledger_match(work *w)
{
    const ledger *l = &w->o->held;
    w->matches = ARENA_ARRAY(w->arena, ledger_entry *, w->cur.samples_len);
    w->is_gone = ARENA_ARRAY(w->arena, bool, l->len);
    memset(w->is_gone, true, l->len);
    for (size_t i = 0; i < w->cur.samples_len; i++) {
        w->matches[i] = ledger_find(l, w->cur.samples[i].key);
        if (w->matches[i])
            w->is_gone[w->matches[i] - l->entries] = false;
    }
}

/* Starts an empty ledger with cur's columns and header. */
static ledger begin_ledger(const work *w)
{
    ledger l = {.time_nanos = w->cur.view->time_nanos,
                .duration_nanos = w->duration_nanos,
                .types_len = w->types_len};
    l.build_id = arena_text(&l.arena, reading_main_build_id(&w->cur));
    l.binary = arena_text(&l.arena, mappings_binary(w->arena, &w->cur));
    l.types = ARENA_ARRAY(&l.arena, const char *, l.types_len);
    for (size_t i = 0; i < l.types_len; i++)
        l.types[i] = work_type_name(&l.arena, &w->types[i]);
    bool goes_on = w->o->has_base && !w->restart && !w->is_base;
    mappings_remember(w, goes_on ? &w->o->held : NULL, &l);
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

/* Sets *kept to the entries to keep of those that cur does not have. */
static size_t keep_vanished(const work *w, ledger_entry ***kept)
{
    const ledger *old = &w->o->held;
    ledger_entry **gone = ARENA_ARRAY(w->arena, ledger_entry *, old->len);
    size_t len = 0;
    for (size_t i = 0; i < old->len; i++)
        if (w->is_gone[i])
            gone[len++] = &old->entries[i];
    if (len)
        qsort(gone, len, sizeof *gone, compare_age);
    size_t drop = len > w->cur.samples_len ? len - w->cur.samples_len : 0;
    *kept = gone + drop;
    return len - drop;
}

ledger ledger_carried_on(const work *w)
{
    const ledger *old = &w->o->held;
    ledger l = ledger_of_cur(w, old);
    ledger_entry **kept;
    size_t kept_len = keep_vanished(w, &kept), seen = l.len;
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
        *e = *kept[i];
        e->key = arena_text(&l.arena, e->key);
        e->base = ARENA_ARRAY(&l.arena, int64_t, w->types_len);
        for (size_t t = 0; t < w->types_len; t++)
            e->base[t] = kept[i]->base[w->columns[t]];
    }
    l.entries = entries;
    l.len = seen + kept_len;
    finish_ledger(&l);
    return l;
}
