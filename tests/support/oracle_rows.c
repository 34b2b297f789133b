/* The expected output: rows, header, mappings and report. */
#include "oracle_work.h"

#include <stdlib.h>
#include <string.h>

/* ---- Rows ------------------------------------------------------------------------------------ */

/* The places of cur, then those of prev, each with the number of its kind: equal identities have
 * equal kinds. The place of a kind that is used first is written. */
typedef struct place {
    const reading_location *location;
    size_t kind;
} place;

static int compare_places(const void *a, const void *b)
{
    return strcmp((*(place *const *)a)->location->identity,
                  (*(place *const *)b)->location->identity);
}

static void make_places(work *w, const reading *prev)
{
    size_t own = w->cur.view->n_location, others = prev ? prev->view->n_location : 0;
    place *places = w->places = ARENA_ARRAY(w->arena, place, own + others);
    place **sorted = ARENA_ARRAY(w->arena, place *, own + others);
    for (size_t i = 0; i < own + others; i++) {
        places[i].location = i < own ? &w->cur.locations[i] : &prev->locations[i - own];
        sorted[i] = &places[i];
    }
    if (own + others)
        qsort(sorted, own + others, sizeof *sorted, compare_places);
    for (size_t i = 1; i < own + others; i++)
        sorted[i]->kind = sorted[i - 1]->kind + (compare_places(&sorted[i - 1], &sorted[i]) != 0);
    w->written = ARENA_ARRAY(w->arena, const char *, own + others);
}

/* Adds a row, unless it is all zero. first: index of the first place of its profile. */
static void add_row(work *w, const reading_sample *s, size_t first, int64_t *values)
{
    if (!is_nonzero(values, w->types_len))
        return;
    buf stack = buf_begin(w->arena);
    for (size_t i = 0; i < s->depth; i++) {
        const place *p = &w->places[first + s->stack[i]];
        if (!w->written[p->kind])
            w->written[p->kind] = p->location->text;
        buf_text(&stack, w->written[p->kind]);
        buf_text(&stack, "\n");
    }
    w->rows[w->rows_len++] = (expected_row){buf_string(&stack), s->labels, values};
    for (size_t t = 0; t < w->types_len; t++)
        w->types[t].delta += values[t];
}

/* One counter of one sample of cur. base is NULL if the ledger is not used. */
static int64_t subtract(work *w, expected_type *type, int64_t cur, const int64_t *base,
                        bool *was_clamped)
{
    pprofdelta_on_reset mode = w->o->options->on_reset;
    if (!w->o->has_base && w->o->options->first == PPROFDELTA_FIRST_ZERO)
        return 0;
    if (!base)
        return cur;
    if (cur < *base && mode != PPROFDELTA_ON_RESET_NEGATIVE) {
        type->clamped += (wide)*base - cur;
        *was_clamped = true;
        return 0;
    }
    return (int64_t)((uint64_t)cur - (uint64_t)*base);
}

static void add_cur_rows(work *w)
{
    pprofdelta_report *report = &w->result->report;
    for (size_t i = 0; i < w->cur.samples_len; i++) {
        const reading_sample *s = &w->cur.samples[i];
        const ledger_entry *match = w->matches[i];
        int64_t *values = ARENA_ARRAY(w->arena, int64_t, w->types_len);
        bool was_clamped = false;
        for (size_t t = 0; t < w->types_len; t++) {
            expected_type *type = &w->types[t];
            int64_t lift = w->lifts ? w->lifts[i][t] : 0;
            type->cur += (wide)s->values[t] - (uint64_t)lift;
            type->clamped += (uint64_t)lift;
            was_clamped |= lift != 0;
            const int64_t *base = match ? &match->base[w->columns[t]] : NULL;
            values[t] = type->is_counter ? subtract(w, type, s->values[t], base, &was_clamped)
                                         : s->values[t];
        }
        add_row(w, s, 0, values);
        match ? report->matched++ : report->fresh++;
        report->clamped += was_clamped;
    }
}

static void count_ledger(work *w)
{
    const ledger *l = w->ledger;
    for (size_t i = 0; i < l->len; i++) {
        w->result->report.vanished += w->is_gone[i];
        for (size_t t = 0; t < w->types_len; t++) {
            expected_type *type = &w->types[t];
            int64_t base = type->is_counter ? l->entries[i].base[w->columns[t]] : 0;
            type->prev += base;
            if (w->is_gone[i])
                type->vanished += base;
        }
    }
}

/* The vanished samples, negated. Their counters were added up as vanished already; here they are
 * part of the delta instead. */
static void add_vanished_rows(work *w)
{
    const reading *prev = &w->o->base;
    for (size_t t = 0; t < w->types_len; t++)
        w->types[t].vanished = 0;
    for (size_t i = 0; i < prev->samples_len; i++) {
        const reading_sample *s = &prev->samples[i];
        if (!w->is_gone[ledger_find(w->ledger, s->key) - w->ledger->entries])
            continue;
        int64_t *values = ARENA_ARRAY(w->arena, int64_t, w->types_len);
        for (size_t t = 0; t < w->types_len; t++)
            if (w->types[t].is_counter)
                values[t] = (int64_t)(0 - (uint64_t)s->values[w->columns[t]]);
        add_row(w, s, w->cur.view->n_location, values);
    }
}

static void make_rows(work *w)
{
    bool negative = w->o->options->on_reset == PPROFDELTA_ON_RESET_NEGATIVE;
    const reading *prev = negative ? &w->o->base : NULL;
    make_places(w, prev);
    w->rows =
        ARENA_ARRAY(w->arena, expected_row, w->cur.samples_len + (prev ? prev->samples_len : 0));
    add_cur_rows(w);
    if (w->o->has_base)
        count_ledger(w);
    if (prev)
        add_vanished_rows(w);
}

/* ---- The header ------------------------------------------------------------------------------ */

static bool has_counter(const work *w, const char *type)
{
    for (size_t i = 0; i < w->types_len; i++)
        if (w->types[i].is_counter && strcmp(w->types[i].type, type) == 0)
            return true;
    return false;
}

/* Returns NULL if a counter and a gauge have the same name. */
static const char *default_type(const work *w)
{
    const char *name = reading_string(&w->cur, w->cur.view->default_sample_type);
    const expected_type *gauge = NULL;
    for (size_t i = w->types_len; i--;)
        if (!w->types[i].is_counter && strcmp(w->types[i].type, name) == 0)
            gauge = &w->types[i];
    if (!(w->o->options->flags & PPROFDELTA_DEFAULT_COUNTER) || !gauge)
        return name;
    if (has_counter(w, name))
        return NULL;
    if (strncmp(name, "inuse_", 6) == 0) {
        const char *sibling = arena_format(w->arena, "alloc_%s", name + 6);
        if (has_counter(w, sibling))
            return sibling;
    }
    for (size_t i = 0; i < w->types_len; i++)
        if (w->types[i].is_counter && strcmp(w->types[i].unit, gauge->unit) == 0)
            return w->types[i].type;
    return name;
}

static void make_header(work *w)
{
    expectation *x = w->result;
    Pd__View__Profile *p = w->cur.view;
    x->comments = ARENA_ARRAY(w->arena, const char *, p->n_comment);
    for (size_t i = 0; i < p->n_comment; i++)
        if (!reading_is_stamp(&w->cur, i))
            x->comments[x->comments_len++] = reading_string(&w->cur, p->comment[i]);
    x->is_stamped = !(w->o->options->flags & PPROFDELTA_NO_STAMP);
    x->default_type = default_type(w);
    const oracle *o = w->o;
    p->time_nanos = o->to_nanos;
    if (o->has_base || o->restart || o->options->first == PPROFDELTA_FIRST_ZERO)
        p->duration_nanos = (int64_t)o->duration_nanos;
    if (p->duration_nanos < 0) /* of a first window */
        p->duration_nanos = 0;
    x->header = reading_header(&w->cur);
}

/* A mapping of prev as it is written: in the place that cur has for it, if cur has it in another one. Its name and
 * marks are prev's, as vanished samples have them. */
static const char *placed_as_in_cur(work *w, const reading_mapping *m)
{
    for (size_t n = 0; n < w->cur.view->n_mapping; n++) {
        const reading_mapping *own = &w->cur.mappings[n];
        if (strcmp(own->part, m->part) == 0)
            return arena_format(w->arena, "%.*s%s", (int)(strchr(own->text, '@') - own->text),
                                own->text, strchr(m->text, '@'));
    }
    return m->text;
}

static void make_mappings(work *w)
{
    expectation *x = w->result;
    const reading *prev =
        w->o->options->on_reset == PPROFDELTA_ON_RESET_NEGATIVE ? &w->o->base : NULL;
    size_t own = w->cur.view->n_mapping, others = prev ? prev->view->n_mapping : 0;
    x->mappings = ARENA_ARRAY(w->arena, const char *, own + 2 * others);
    for (size_t i = 0; i < own; i++)
        x->mappings[x->mappings_len++] = w->cur.mappings[i].text;
    for (size_t i = 0; i < others; i++)
        x->mappings[x->mappings_len++] = placed_as_in_cur(w, &prev->mappings[i]);
    for (size_t i = 0; i < others; i++)
        if (prev->mappings[i].stays)
            x->mappings[x->mappings_len++] = prev->mappings[i].text;
    x->main_mapping = own ? w->cur.mappings[0].text : NULL;
}

static void make_report(work *w)
{
    pprofdelta_report *report = &w->result->report;
    report->samples_in = w->cur.records;
    report->samples_out = w->rows_len;
    report->duplicates = w->cur.records - w->cur.samples_len;
    for (size_t i = 0; i < w->cur.view->n_location; i++) {
        const reading_location *l = &w->cur.locations[i];
        bool has_file = l->mapping != NOWHERE && w->cur.mappings[l->mapping].file;
        bool is_place = !l->view->n_line || (l->view->address && has_file);
        is_place ? report->by_address++ : report->by_lines++;
    }
    report->unknown_fields = w->cur.unknown_fields;
    const oracle *o = w->o;
    report->had_base = o->has_base || w->restart;
    report->restart = o->restart;
    if (o->has_seen && !w->restart) {
        report->files_replaced = w->files_replaced;
        report->other_build = w->has_main && w->other_build;
    }
    report->from_nanos = o->from_nanos;
    report->to_nanos = o->to_nanos;
    report->clock_set_back = w->is_set_back;
    report->may_be_window = w->may_be_window;
    report->may_be_two_kinds = w->may_be_two_kinds;
    report->is_same = o->has_base && !o->restart && !report->fresh && report->to_nanos &&
                      report->from_nanos == report->to_nanos && w->is_same_time;
    for (size_t t = 0; t < w->types_len; t++)
        if (w->types[t].is_counter && w->types[t].delta)
            report->is_same = 0;
    if (!(w->o->options->flags & PPROFDELTA_NO_SEQUENCE)) {
        report->sequence = o->sequence;
        report->attempt = o->attempts;
    }
}

void work_write_down(work *w)
{
    expectation *x = w->result;
    make_rows(w);
    make_mappings(w);
    make_report(w);
    make_header(w);
    x->types = w->types;
    x->types_len = w->types_len;
    x->rows = w->rows;
    x->rows_len = w->rows_len;
    x->law_only = !w->o->has_base;
}
