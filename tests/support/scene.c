#include "scene.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void scene_begin(scene *s, const pprofdelta_options *options)
{
    *s = (scene){0};
    if (pprofdelta_new(options, NULL, &s->pd, NULL) != PPROFDELTA_OK) {
        fprintf(stderr, "no context\n");
        abort();
    }
}

void scene_end(scene *s)
{
    pprofdelta_free(s->pd);
    arena_free(&s->arena);
    *s = (scene){0};
}

static const char *say_status(scene *s)
{
    return arena_format(&s->arena, "[status %d]", s->status);
}

static void say_location(const reading *r, buf *b, const Pd__View__Location *l)
{
    if (!l->n_line)
        buf_format(b, "0x%" PRIx64, l->address);
    for (size_t i = 0; i < l->n_line; i++) {
        uint64_t id = l->line[i]->function_id; /* dense in the library's output */
        buf_text(b, i ? "+" : "");
        buf_text(b, id ? reading_string(r, r->view->function[id - 1]->name) : "?");
    }
}

static void say_label(const reading *r, buf *b, const Pd__View__Label *label)
{
    const char *str = reading_string(r, label->str), *unit = reading_string(r, label->num_unit);
    buf_format(b, "{%s=", reading_string(r, label->key));
    if (*str)
        buf_text(b, str);
    else
        buf_format(b, "%" PRId64 "%s", label->num, unit);
    buf_text(b, "}");
}

const char *scene_rows(const reading *r)
{
    buf b = buf_begin(r->arena);
    for (size_t i = 0; i < r->view->n_sample; i++) {
        const Pd__View__Sample *v = r->view->sample[i];
        buf_text(&b, i ? ", " : "");
        for (size_t n = 0; n < v->n_location_id; n++) {
            buf_text(&b, n ? ";" : "");
            say_location(r, &b, r->view->location[v->location_id[n] - 1]);
        }
        for (size_t n = 0; n < v->n_label; n++)
            say_label(r, &b, v->label[n]);
        for (size_t n = 0; n < v->n_value; n++)
            buf_format(&b, " %" PRId64, v->value[n]);
    }
    return buf_string(&b);
}

const char *scene_base(scene *s, buf profile)
{
    s->status = pprofdelta_base(s->pd, profile.ptr, profile.len, NULL);
    return s->status ? say_status(s) : "base";
}

const char *scene_pending(scene *s, buf profile)
{
    collector c = {.bytes = buf_begin(&s->arena)};
    pprofdelta_sink sink = collector_sink(&c);
    s->report.size = sizeof s->report;
    s->status = pprofdelta_window(s->pd, profile.ptr, profile.len, &sink, &s->report, NULL);
    s->bytes = c.bytes;
    if (s->status)
        return c.calls ? "[refused, but wrote]" : say_status(s);
    if (reading_make(&s->arena, s->bytes.ptr, s->bytes.len, &s->out) != PPROFDELTA_OK)
        return "[not a profile]";
    const char *wrong = compare_compact(&s->arena, &s->out);
    return wrong ? wrong : scene_rows(&s->out);
}

const char *scene_window(scene *s, buf profile)
{
    const char *rows = scene_pending(s, profile);
    pprofdelta_commit(s->pd);
    return rows;
}

const char *scene_delta(scene *s, const pprofdelta_options *options, buf prev, buf cur)
{
    scene_begin(s, options);
    const char *said = scene_base(s, prev);
    return s->status ? said : scene_window(s, cur);
}
