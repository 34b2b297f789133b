#include "live.h"

#include "pprofdelta_profile.h"

#include "reading.h"
#include "view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

live_row *live_find(const live_sums *sums, const char *key)
{
    for (size_t i = 0; i < sums->len; i++)
        if (strcmp(sums->rows[i].key, key) == 0)
            return &sums->rows[i];
    return NULL;
}

void live_add(live_sums *sums, const char *key, const int64_t *values)
{
    live_row *row = live_find(sums, key);
    if (!row) {
        ARENA_PUSH(sums->arena, sums->rows, sums->len, sums->cap,
                   (live_row){.key = arena_text(sums->arena, key)});
        row = &sums->rows[sums->len - 1];
    }
    for (int i = 0; i < LIVE_TYPES; i++)
        row->values[i] += values[i];
}

static int64_t in_use(const live_sums *sums)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < sums->len; i++)
        bytes += sums->rows[i].values[3];
    return bytes;
}

static void become_peak(live_sums *sums)
{
    for (size_t i = 0; i < sums->len; i++) {
        int64_t *values = sums->rows[i].values;
        values[4] = values[2];
        values[5] = values[3];
    }
}

void live_note_peak(live_sums *sums, int64_t *most)
{
    if (in_use(sums) <= *most)
        return;
    *most = in_use(sums);
    become_peak(sums);
}

live_sums live_inherited(const live_sums *of, int64_t *most)
{
    live_sums sums = {.arena = of->arena};
    for (size_t i = 0; i < of->len; i++) {
        const int64_t *v = of->rows[i].values;
        const int64_t values[LIVE_TYPES] = {0, 0, v[2], v[3]};
        live_add(&sums, of->rows[i].key, values);
    }
    become_peak(&sums);
    *most = in_use(&sums);
    return sums;
}

static const char *numbers(arena *a, const int64_t *values)
{
    buf b = buf_begin(a);
    for (int i = 0; i < LIVE_TYPES; i++)
        buf_format(&b, i ? " %" PRId64 : "%" PRId64, values[i]);
    return buf_string(&b);
}

static const char *first_difference(const live_sums *a, const live_sums *b, const char *names)
{
    static const int64_t none[LIVE_TYPES];
    for (size_t i = 0; i < a->len; i++) {
        const live_row *other = live_find(b, a->rows[i].key);
        const int64_t *x = a->rows[i].values, *y = other ? other->values : none;
        if (memcmp(x, y, sizeof a->rows[i].values) != 0)
            return arena_format(a->arena, "%s: %s: %s, %s", a->rows[i].key, names,
                                numbers(a->arena, x), numbers(a->arena, y));
    }
    return NULL;
}

const char *live_differ(const live_sums *got, const live_sums *want)
{
    const char *wrong = first_difference(got, want, "got, wanted");
    return wrong ? wrong : first_difference(want, got, "wanted, got");
}

static const char *key_text(arena *a, const uint64_t *stack, size_t depth, const char **labels,
                            size_t labels_len)
{
    buf b = buf_begin(a);
    for (size_t i = 0; i < depth; i++)
        buf_format(&b, "%" PRIx64 " ", stack[i]);
    sort_texts(labels, labels_len);
    for (size_t i = 0; i < labels_len; i++)
        buf_format(&b, "{%s}", labels[i]);
    return buf_string(&b);
}

static const char *label_text(arena *a, const char *key, const char *str, int64_t num,
                              const char *unit)
{
    return arena_format(a, "%s=%s %" PRId64 " %s", key ? key : "", str ? str : "", num,
                        unit ? unit : "");
}

const char *live_key(arena *a, const pprofdelta_heap_event *event, size_t max_depth)
{
    const char **labels = ARENA_ARRAY(a, const char *, event->labels_len);
    for (size_t i = 0; i < event->labels_len; i++) {
        const pprofdelta_label *l = &event->labels[i];
        labels[i] = label_text(a, l->key, l->str, l->str && *l->str ? 0 : l->num, l->num_unit);
    }
    size_t depth = event->depth < max_depth ? event->depth : max_depth;
    return key_text(a, event->stack, depth, labels, event->labels_len);
}

/* The label is the first: no other one in the tests is before it by its letters. */
const char *live_age_key(arena *a, const char *key, unsigned windows)
{
    unsigned age = windows, unit = 1;
    while (windows >= 16 && age >= 4) {
        age /= 2;
        unit *= 2;
    }
    if (!age)
        return key;
    int stack = (int)strcspn(key, "{");
    const char *label = label_text(a, "age", "", age * unit, "windows");
    return arena_format(a, "%.*s{%s}%s", stack, key, label, key + stack);
}

static uint64_t address_of(const Pd__View__Profile *p, uint64_t id)
{
    for (size_t i = 0; i < p->n_location; i++) {
        const Pd__View__Location *l = p->location[i];
        if (l->id == id)
            return l->address || !l->n_line ? l->address : (uint64_t)l->line[0]->line;
    }
    return 0;
}

static const char *sample_key(arena *a, const Pd__View__Profile *p, const Pd__View__Sample *s)
{
    uint64_t *stack = ARENA_ARRAY(a, uint64_t, s->n_location_id);
    const char **labels = ARENA_ARRAY(a, const char *, s->n_label);
    for (size_t i = 0; i < s->n_location_id; i++)
        stack[i] = address_of(p, s->location_id[i]);
    for (size_t i = 0; i < s->n_label; i++)
        labels[i] = label_text(a, view_text(p, s->label[i]->key), view_text(p, s->label[i]->str),
                               s->label[i]->num, view_text(p, s->label[i]->num_unit));
    return key_text(a, stack, s->n_location_id, labels, s->n_label);
}

static bool types_are_right(const Pd__View__Profile *p)
{
    static const char *const names[][2] = {{"alloc_objects", "count"}, {"alloc_space", "bytes"},
                                           {"inuse_objects", "count"}, {"inuse_space", "bytes"},
                                           {"peak_objects", "count"},  {"peak_space", "bytes"},
                                           {"freed_objects", "count"}, {"freed_space", "bytes"}};
    if (p->n_sample_type != LIVE_PLAIN && p->n_sample_type != LIVE_TYPES)
        return false;
    for (size_t i = 0; i < p->n_sample_type; i++)
        if (strcmp(view_text(p, p->sample_type[i]->type), names[i][0]) != 0 ||
            strcmp(view_text(p, p->sample_type[i]->unit), names[i][1]) != 0)
            return false;
    return true;
}

static const char *behind(const char *text, const char *name)
{
    const char *found = strstr(text, name);
    return found ? found + strlen(name) : "";
}

static bool read_stamp(const Pd__View__Profile *p, live_profile *out)
{
    char again[240];
    if (!p->n_comment)
        return false;
    const char *text = view_text(p, p->comment[0]), *kind = strstr(text, " kind=");
    out->epoch = strtoull(behind(text, " epoch="), NULL, 10);
    out->sequence = strtoull(behind(text, " seq="), NULL, 10);
    out->attempt = strtoull(behind(text, " attempt="), NULL, 10);
    snprintf(out->kind, sizeof out->kind, "%.*s", kind ? (int)strcspn(kind + 6, " ") : 0,
             kind ? kind + 6 : "");
    out->from_nanos = strtoll(behind(text, " from="), NULL, 10);
    out->to_nanos = strtoll(behind(text, " to="), NULL, 10);
    out->id = strtoull(behind(text, " id="), NULL, 16);
    /* The text must be exactly what the parsed stamp is written as. */
    snprintf(again, sizeof again,
             "pprofdelta: live epoch=%" PRIu64 " seq=%" PRIu64 " attempt=%" PRIu64
             " kind=%s from=%" PRId64 " to=%" PRId64 " id=%016" PRIx64,
             out->epoch, out->sequence, out->attempt, out->kind, out->from_nanos, out->to_nanos,
             out->id);
    return strcmp(again, text) == 0 && p->time_nanos == out->to_nanos &&
           p->duration_nanos == out->to_nanos - out->from_nanos;
}

/* The profile that a request is read as. */
static const uint8_t *converted(arena *a, const void *bytes, size_t *len)
{
    pprofdelta_profile *profile;
    const uint8_t *made = NULL;
    if (pprofdelta_profile_open(NULL, NULL, bytes, *len, &profile, NULL))
        return NULL;
    if (!pprofdelta_profile_bytes(profile, &made, len, NULL))
        made = memcpy(arena_alloc(a, *len), made, *len);
    pprofdelta_profile_free(profile);
    return made;
}

bool live_read(arena *a, const void *bytes, size_t len, live_profile *out)
{
    reading r;
    pprofdelta_file_kind kind;
    const char *what;
    if (!pprofdelta_identify(bytes, len, &kind, &what, NULL) && kind == PPROFDELTA_FILE_OTLP)
        bytes = converted(a, bytes, &len);
    if (!bytes || reading_make(a, bytes, len, &r) != PPROFDELTA_OK)
        return false;
    const Pd__View__Profile *p = r.view;
    *out = (live_profile){.sums.arena = a};
    if (!types_are_right(p) || !read_stamp(p, out))
        return false;
    out->types = p->n_sample_type;
    for (size_t i = 0; i < p->n_sample; i++) {
        int64_t values[LIVE_TYPES] = {0};
        memcpy(values, p->sample[i]->value, out->types * sizeof *values);
        live_add(&out->sums, sample_key(a, p, p->sample[i]), values);
    }
    return out->sums.len == p->n_sample; /* one record for each sample */
}

static live_sums copy(arena *a, const live_sums *of)
{
    live_sums sums = {.arena = a};
    for (size_t i = 0; i < of->len; i++)
        live_add(&sums, of->rows[i].key, of->rows[i].values);
    return sums;
}

void live_receive(live_receiver *r, const live_profile *p)
{
    bool is_again = r->has_any && p->id == r->last.id && p->sequence == r->last.sequence;
    if (strcmp(p->kind, "full") == 0) {
        r->before = (live_sums){.arena = r->arena};
    } else if (is_again && p->epoch == r->last.epoch && p->attempt >= r->last.attempt) {
        ; /* instead of the last, or the same again: a batch may be written twice */
    } else if (r->has_any && p->id == r->last.id && p->epoch == r->last.epoch &&
               p->sequence == r->last.sequence + 1 && p->from_nanos == r->last.to_nanos) {
        r->before = r->now;
    } else {
        r->gaps++;
        return;
    }
    r->now = copy(r->arena, &r->before);
    for (size_t i = 0; i < p->sums.len; i++)
        live_add(&r->now, p->sums.rows[i].key, p->sums.rows[i].values);
    r->last = *p;
    r->has_any = true;
}

static int take(void *cookie, const void *data, size_t len)
{
    live_mail *mail = cookie;
    mail->calls++;
    if (mail->refuses)
        return -1;
    mail->bytes = memcpy(arena_alloc(mail->arena, len), data, len);
    mail->len = len;
    return 0;
}

pprofdelta_sink live_sink(live_mail *mail)
{
    return (pprofdelta_sink){.write = take, .cookie = mail};
}
