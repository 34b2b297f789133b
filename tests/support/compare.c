#include "compare.h"

#include "view.h"

#include <inttypes.h>
#include <string.h>

/* ---- Compact --------------------------------------------------------------------------------- */

/* A text that occurs twice, or NULL. */
static const char *find_twin(arena *a, const char *const *texts, size_t len)
{
    const char **sorted = ARENA_ARRAY(a, const char *, len);
    if (len)
        memcpy(sorted, texts, len * sizeof *sorted);
    sort_texts(sorted, len);
    for (size_t i = 1; i < len; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            return sorted[i];
    return NULL;
}

static void use_string(void *cookie, int64_t index)
{
    ((bool *)cookie)[index] = true;
}

static const char *check_strings(arena *a, const Pd__View__Profile *p)
{
    bool *used = ARENA_ARRAY(a, bool, p->n_string_table);
    used[0] = true;
    reading_walk(&p->base, use_string, used);
    for (size_t i = 0; i < p->n_string_table; i++)
        if (!used[i])
            return arena_format(a, "unused string \"%s\"", view_text(p, (int64_t)i));
    const char **texts = ARENA_ARRAY(a, const char *, p->n_string_table);
    for (size_t i = 0; i < p->n_string_table; i++)
        texts[i] = view_text(p, (int64_t)i);
    const char *twin = find_twin(a, texts, p->n_string_table);
    return twin ? arena_format(a, "string \"%s\" is there twice", twin) : NULL;
}

static const char *check_ids(arena *a, const Pd__View__Profile *p)
{
    bool dense = true;
    for (size_t i = 0; i < p->n_mapping; i++)
        dense = dense && p->mapping[i]->id == i + 1;
    for (size_t i = 0; i < p->n_function; i++)
        dense = dense && p->function[i]->id == i + 1;
    for (size_t i = 0; i < p->n_location; i++)
        dense = dense && p->location[i]->id == i + 1;
    return dense ? NULL : arena_text(a, "ids are not dense from 1");
}

/* Ids are dense here: id - 1 is the index in the table. */
static const char *check_use(arena *a, const Pd__View__Profile *p)
{
    bool *mappings = ARENA_ARRAY(a, bool, p->n_mapping + 1);
    bool *functions = ARENA_ARRAY(a, bool, p->n_function + 1);
    bool *locations = ARENA_ARRAY(a, bool, p->n_location + 1);
    for (size_t i = 0; i < p->n_sample; i++)
        for (size_t n = 0; n < p->sample[i]->n_location_id; n++)
            locations[p->sample[i]->location_id[n]] = true;
    for (size_t i = 0; i < p->n_location; i++) {
        if (!locations[i + 1])
            return arena_format(a, "location %zu is unused", i + 1);
        mappings[p->location[i]->mapping_id] = true;
        for (size_t n = 0; n < p->location[i]->n_line; n++)
            functions[p->location[i]->line[n]->function_id] = true;
    }
    for (size_t i = 0; i < p->n_function; i++)
        if (!functions[i + 1])
            return arena_format(a, "function %zu is unused", i + 1);
    for (size_t i = 1; i < p->n_mapping; i++)
        if (!mappings[i + 1])
            return arena_format(a, "mapping %zu is unused", i + 1);
    return NULL;
}

static const char *check_twins(arena *a, const reading *r)
{
    const Pd__View__Profile *p = r->view;
    size_t most = p->n_location + p->n_function + p->n_mapping + p->n_sample;
    const char **texts = ARENA_ARRAY(a, const char *, most), *twin;
    for (size_t i = 0; i < p->n_location; i++)
        texts[i] = r->locations[i].identity;
    if ((twin = find_twin(a, texts, p->n_location)))
        return arena_format(a, "two locations at %s", twin);
    for (size_t i = 0; i < p->n_mapping; i++)
        texts[i] = arena_format(a, "%s from %" PRIx64, r->mappings[i].part,
                                r->mappings[i].view->memory_start);
    if ((twin = find_twin(a, texts, p->n_mapping)))
        return arena_format(a, "two mappings %s", twin);
    for (size_t i = 0; i < p->n_function; i++) {
        const Pd__View__Function *f = p->function[i];
        texts[i] = arena_format(a, "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64, f->name,
                                f->system_name, f->filename, f->start_line);
    }
    if ((twin = find_twin(a, texts, p->n_function)))
        return arena_format(a, "two functions %s", twin);
    return r->records != r->samples_len ? arena_text(a, "two samples of one key") : NULL;
}

const char *compare_compact(arena *a, const reading *r)
{
    const char *wrong = check_strings(a, r->view);
    if (!wrong)
        wrong = check_ids(a, r->view);
    if (!wrong)
        wrong = check_use(a, r->view);
    return wrong ? wrong : check_twins(a, r);
}

/* ---- As expected ----------------------------------------------------------------------------- */

/* The texts may be long: shows the first difference. */
static const char *differ(arena *a, const char *what, const char *got, const char *want)
{
    enum { BEFORE = 40, BEHIND = 120 };
    size_t at = 0;
    while (got[at] && got[at] == want[at])
        at++;
    if (got[at] == want[at])
        return NULL;
    size_t from = at > BEFORE ? at - BEFORE : 0;
    return arena_format(a, "%s, from byte %zu:\n    got  %.*s\n    want %.*s", what, from, BEHIND,
                        got + from, BEHIND, want + from);
}

static const char *compare_types(arena *a, const expectation *x, const reading *r)
{
    const Pd__View__Profile *p = r->view;
    if (p->n_sample_type != x->types_len)
        return arena_format(a, "%zu types, not %zu", p->n_sample_type, x->types_len);
    const char *wrong = NULL;
    for (size_t i = 0; i < x->types_len && !wrong; i++) {
        wrong = differ(a, "type", reading_string(r, p->sample_type[i]->type), x->types[i].type);
        if (!wrong)
            wrong = differ(a, "unit", reading_string(r, p->sample_type[i]->unit), x->types[i].unit);
    }
    return wrong;
}

static const char *compare_comments(arena *a, const expectation *x, const reading *r)
{
    const Pd__View__Profile *p = r->view;
    size_t want = x->comments_len + x->is_stamped;
    if (p->n_comment != want)
        return arena_format(a, "%zu comments, not %zu", p->n_comment, want);
    const char *wrong = NULL;
    for (size_t i = 0; i < x->comments_len && !wrong; i++)
        wrong = differ(a, "comment", reading_string(r, p->comment[i]), x->comments[i]);
    if (wrong || !x->is_stamped)
        return wrong;
    const char *stamp = reading_string(r, p->comment[want - 1]);
    bool good = strncmp(stamp, STAMP, strlen(STAMP)) == 0;
    return good ? NULL : arena_format(a, "the last comment is no stamp: %s", stamp);
}

static const char *compare_header(arena *a, const expectation *x, const reading *r)
{
    const char *wrong = differ(a, "header", reading_header(r), x->header);
    if (!wrong && x->default_type)
        wrong = differ(a, "default type", reading_string(r, r->view->default_sample_type),
                       x->default_type);
    return wrong ? wrong : compare_comments(a, x, r);
}

static const char *compare_mappings(arena *a, const expectation *x, const reading *r)
{
    size_t len = r->view->n_mapping;
    if (x->main_mapping && !len)
        return arena_text(a, "the main mapping is missing");
    const char *wrong =
        x->main_mapping ? differ(a, "main mapping", r->mappings[0].text, x->main_mapping) : NULL;
    for (size_t i = 0; i < len && !wrong; i++) {
        bool known = false;
        for (size_t n = 0; n < x->mappings_len; n++)
            known = known || strcmp(x->mappings[n], r->mappings[i].text) == 0;
        if (!known)
            wrong = arena_format(a, "a mapping that neither profile has: %s", r->mappings[i].text);
    }
    return wrong;
}

static const char *row_text(arena *a, const char *stack, const char *labels, const int64_t *values,
                            size_t len)
{
    buf b = buf_begin(a);
    buf_text(&b, stack);
    buf_text(&b, labels);
    for (size_t i = 0; i < len; i++)
        buf_format(&b, " %" PRId64, values[i]);
    return buf_string(&b);
}

const char *compare_stack(arena *a, const reading *r, const reading_sample *s)
{
    buf b = buf_begin(a);
    for (size_t i = 0; i < s->depth; i++) {
        buf_text(&b, r->locations[s->stack[i]].text);
        buf_text(&b, "\n");
    }
    return buf_string(&b);
}

static const char *compare_rows(arena *a, const expectation *x, const reading *r)
{
    size_t types = x->types_len;
    for (size_t i = 0; i < r->samples_len && i < x->rows_len; i++) {
        const reading_sample *s = &r->samples[i];
        const expected_row *row = &x->rows[i];
        const char *got = row_text(a, compare_stack(a, r, s), s->labels, s->values, types);
        const char *want = row_text(a, row->stack, row->labels, row->values, types);
        const char *wrong = differ(a, arena_format(a, "row %zu", i), got, want);
        if (wrong)
            return wrong;
    }
    if (r->samples_len == x->rows_len)
        return NULL;
    return arena_format(a, "%zu rows, not %zu", r->samples_len, x->rows_len);
}

const char *compare_output(arena *a, const expectation *x, const void *bytes, size_t len)
{
    reading r;
    pprofdelta_status status = reading_make(a, bytes, len, &r);
    if (status != PPROFDELTA_OK)
        return arena_format(a, "the output is not a profile: status %d", status);
    const char *wrong = compare_types(a, x, &r);
    if (!wrong)
        wrong = compare_header(a, x, &r);
    if (!wrong)
        wrong = compare_compact(a, &r);
    if (!wrong)
        wrong = compare_mappings(a, x, &r);
    return wrong ? wrong : compare_rows(a, x, &r);
}

/* ---- The report ------------------------------------------------------------------------------ */

static wide sum_of(pprofdelta_sum sum)
{
    return (wide)sum.hi * ((wide)UINT32_MAX + 1) * ((wide)UINT32_MAX + 1) + sum.lo;
}

static const char *compare_sums(arena *a, const expectation *x, const expected_type *want,
                                const pprofdelta_type_report *got)
{
    wide prev = sum_of(got->prev), cur = sum_of(got->cur), delta = sum_of(got->delta);
    wide clamped = sum_of(got->clamped), vanished = sum_of(got->vanished);
    const char *what = NULL;
    if (got->is_counter != want->is_counter)
        what = "is_counter";
    else if (cur != want->cur)
        what = "cur";
    else if (delta != want->delta)
        what = "delta";
    else if (want->is_counter && prev + delta - clamped - vanished != cur)
        what = "the conservation law";
    else if (x->law_only && want->is_counter)
        what = NULL;
    else if (prev != want->prev)
        what = "prev";
    else if (clamped != want->clamped)
        what = "clamped";
    else if (vanished != want->vanished)
        what = "vanished";
    if (!what)
        return NULL;
    return arena_format(a,
                        "report of %s/%s: %s: prev %.0f, cur %.0f, delta %.0f, clamped %.0f, "
                        "vanished %.0f; want %.0f, %.0f, %.0f, %.0f, %.0f",
                        want->type, want->unit, what, wide_as_double(prev), wide_as_double(cur),
                        wide_as_double(delta), wide_as_double(clamped), wide_as_double(vanished),
                        wide_as_double(want->prev), wide_as_double(want->cur),
                        wide_as_double(want->delta), wide_as_double(want->clamped),
                        wide_as_double(want->vanished));
}

const char *compare_report(arena *a, const expectation *x, const pprofdelta_report *got)
{
    const pprofdelta_report *want = &x->report;
#define MEMBER(name)                                                                               \
    {                                                                                              \
#name, (int64_t)got->name, (int64_t)want->name                                             \
    }
    const struct {
        const char *name;
        int64_t got, want;
    } members[] = {MEMBER(samples_in),      MEMBER(samples_out),    MEMBER(matched),
                   MEMBER(fresh),           MEMBER(vanished),       MEMBER(clamped),
                   MEMBER(duplicates),      MEMBER(by_address),     MEMBER(by_lines),
                   MEMBER(had_base),        MEMBER(unknown_fields), MEMBER(restart),
                   MEMBER(files_replaced),  MEMBER(other_build),    MEMBER(from_nanos),
                   MEMBER(to_nanos),        MEMBER(sequence),       MEMBER(attempt),
                   MEMBER(is_same),         MEMBER(may_be_window),  MEMBER(clock_set_back),
                   MEMBER(may_be_two_kinds)};
#undef MEMBER
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (members[i].got != members[i].want)
            return arena_format(a, "report: %s is %" PRId64 ", not %" PRId64, members[i].name,
                                members[i].got, members[i].want);
    if (got->types_len != x->types_len)
        return arena_format(a, "report: %zu types, not %zu", got->types_len, x->types_len);
    for (size_t i = 0; i < x->types_len; i++) {
        const char *wrong = differ(a, "report: type", got->types[i].type, x->types[i].type);
        if (!wrong)
            wrong = differ(a, "report: unit", got->types[i].unit, x->types[i].unit);
        if (!wrong)
            wrong = compare_sums(a, x, &x->types[i], &got->types[i]);
        if (wrong)
            return wrong;
    }
    return NULL;
}
