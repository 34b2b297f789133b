/* What can be read in one pass and what cannot, one thing at a time; and whichever it is, what
 * comes out is what two passes make of it. */
#include "build.h"
#include "once_kit.h"
#include "scene.h"

/* Two looks at a small process of Go's kind. */
typedef struct spec {
    build b;
    model_mapping *app;
    model_sample *main, *leaf;
    serial_style style;
    pprofdelta_options options;
    bool moves_types, has_overlong_tag;
} spec;

static void spec_begin(spec *s, const char *types)
{
    *s = (spec){.options = PPROFDELTA_OPTIONS_INIT,
                .style = {.tables = TABLES_AS_USED, .packing = EMIT_AS_GO}};
    build *b = &s->b;
    build_types(b, types);
    s->app = build_mapping(b, 0x400000, 0x500000, 0x1000, "/bin/app", "build-1");
    build_place(b, "main", s->app, 0x401000);
    build_place(b, "work", s->app, 0x402000);
    build_place(b, "leaf", s->app, 0x403000);
    s->main = build_sample(b, "work main", "10 1000 1 100");
    s->leaf = build_sample(b, "leaf work main", "5 500 0 0");
    build_label(b, s->main, "bytes", "", 100, "");
    build_label(b, s->leaf, "bytes", "", 48, "");
    b->m.period_type = (model_type){"space", "bytes"};
    b->m.drop_frames = b->m.keep_frames = b->m.default_sample_type = b->m.doc_url = "";
    b->m.time_nanos = 1000;
}

/* The fields at the top with those of `number` behind the others. */
static buf move_behind(arena *a, buf in, uint32_t number)
{
    buf out = buf_begin(a), rest = buf_begin(a);
    pd_reader r = pd_reader_of(in.ptr, in.len);
    pd_field f;
    while (pd_reader_next(&r, &f))
        buf_add(f.number == number ? &rest : &out, f.start, (size_t)(r.at - f.start));
    buf_add(&out, rest.ptr, rest.len);
    return out;
}

/* The same with a byte more in the tag of the last sample. */
static buf lengthen_tag(arena *a, buf in)
{
    const uint8_t *last = NULL, overlong[] = {PD_TAG_SAMPLE | 0x80, 0};
    pd_reader r = pd_reader_of(in.ptr, in.len);
    pd_field f;
    while (pd_reader_next(&r, &f))
        if (f.number == PD_PROFILE_SAMPLE)
            last = f.start;
    buf out = buf_begin(a);
    buf_add(&out, in.ptr, (size_t)(last - in.ptr));
    buf_add(&out, overlong, sizeof overlong);
    buf_add(&out, last + 1, (size_t)(in.ptr + in.len - last - 1));
    return out;
}

static buf take_look(spec *s)
{
    buf look = serial_write(&s->b.arena, &s->b.m, &s->style);
    if (s->moves_types)
        look = move_behind(&s->b.arena, look, PD_PROFILE_SAMPLE_TYPE);
    if (s->has_overlong_tag)
        look = lengthen_tag(&s->b.arena, look);
    s->b.m.time_nanos += 1000;
    s->main->values[0] += 3;
    s->main->values[1] += 300;
    return look;
}

/* ---- what is changed, before the look with this number is taken -------------------------------- */

typedef void change(spec *s, int look);

static void nothing(spec *s, int look)
{
    (void)s, (void)look;
}

static void gzip(spec *s, int look)
{
    (void)look;
    s->style.pack = PACK_GZIP;
}

static void zstd(spec *s, int look)
{
    (void)look;
    s->style.pack = PACK_ZSTD;
}

static void tables_in_front(spec *s, int look)
{
    (void)look;
    s->style.tables = TABLES_BEFORE;
}

static void tables_behind(spec *s, int look)
{
    (void)look;
    s->style.tables = TABLES_AFTER;
}

static void tables_behind_later(spec *s, int look)
{
    s->style.tables = look ? TABLES_AFTER : TABLES_AS_USED;
}

static void ids_with_gaps(spec *s, int look)
{
    (void)look;
    s->style.ids = IDS_SPARSE;
}

static void ids_with_gaps_later(spec *s, int look)
{
    s->style.ids = look ? IDS_SPARSE : IDS_SEQUENTIAL;
}

static void a_place_known_by_its_line(spec *s, int look)
{
    if (!look)
        build_sample(&s->b, "symbol main", "7 7 7 7");
}

static void a_place_known_by_its_line_later(spec *s, int look)
{
    a_place_known_by_its_line(s, !look);
}

static void a_place_without_a_mapping(spec *s, int look)
{
    build_bare(&s->b, "nowhere", NULL, 0x777);
    if (!look)
        build_sample(&s->b, "nowhere main", "7 7 7 7");
}

static void a_place_without_a_mapping_later(spec *s, int look)
{
    a_place_without_a_mapping(s, !look);
}

static void a_mapping_without_a_name(spec *s, int look)
{
    if (look)
        return;
    build_bare(&s->b, "jit", build_mapping(&s->b, 0x7000, 0x8000, 0, "", ""), 0x7100);
    build_sample(&s->b, "jit main", "7 7 7 7");
}

/* Which are one place: nobody knows where either is. */
static void a_mapping_without_a_name_and_no_mapping(spec *s, int look)
{
    a_mapping_without_a_name(s, look);
    a_place_without_a_mapping(s, look);
}

static void no_mapping_where_one_had_no_name(spec *s, int look)
{
    a_mapping_without_a_name(s, look);
    a_place_without_a_mapping(s, !look);
}

static void two_mappings(spec *s, int look)
{
    if (look)
        return;
    build_bare(&s->b, "lib", build_mapping(&s->b, 0x7000, 0x8000, 0, "/lib", "build-2"), 0x7100);
    build_sample(&s->b, "lib main", "7 7 7 7");
}

static void a_mapping_more(spec *s, int look)
{
    two_mappings(s, !look);
}

static void two_of_one_file(spec *s, int look)
{
    two_mappings(s, look);
    s->b.m.mappings[1]->build_id = "build-1";
}

static void later_two_of_one_file(spec *s, int look)
{
    if (look)
        two_of_one_file(s, 0);
}

static void two_that_change_places(spec *s, int look)
{
    model_mapping **maps = s->b.m.mappings, *first = maps[0];
    two_mappings(s, look);
    maps = s->b.m.mappings;
    maps[0] = look ? maps[1] : first;
    maps[1] = look ? first : maps[1];
}

static void moved(spec *s, int look)
{
    for (size_t i = 0; look && i < s->b.m.locations_len; i++)
        s->b.m.locations[i]->address += 0x10000;
    s->app->start += look ? 0x10000 : 0;
    s->app->limit += look ? 0x10000 : 0;
}

static void of_another_build(spec *s, int look)
{
    s->app->build_id = look ? "build-3" : "build-1";
    s->options.on_reset = PPROFDELTA_ON_RESET_CLAMP;
}

static void mappings(spec *s, size_t len)
{
    for (size_t i = 1; i < len; i++) {
        build *b = &s->b;
        const char *name = arena_format(&b->arena, "/lib/%zu", i);
        build_bare(b, name, build_mapping(b, i << 16, (i + 1) << 16, 0, name, ""), i << 16 | 1);
        build_sample(b, name, "1 1 1 1");
    }
}

static void mappings_64(spec *s, int look)
{
    mappings(s, look ? 0 : 64);
}

static void mappings_65(spec *s, int look)
{
    mappings(s, look ? 0 : 65);
}

static void labels(spec *s, size_t len)
{
    for (size_t i = 1; i < len; i++) {
        const char *name = arena_format(&s->b.arena, "label%zu", i);
        build_label(&s->b, s->leaf, name, "", 1, "");
    }
}

static void labels_32(spec *s, int look)
{
    labels(s, look ? 0 : 32);
}

static void labels_33(spec *s, int look)
{
    labels(s, look ? 0 : 33);
}

static void labels_33_later(spec *s, int look)
{
    labels(s, look ? 33 : 0);
}

static void a_label_more(spec *s, int look)
{
    labels(s, look ? 2 : 0);
}

static void labels_whose_strings_move(spec *s, int look)
{
    labels(s, look ? 0 : 2);
    s->b.m.doc_url = look ? "https://example.org" : "";
}

static void strings_of_labels_twice(spec *s, int look)
{
    (void)look;
    s->style.repeat_strings = 100;
}

static void an_overlong_tag(spec *s, int look)
{
    (void)look;
    s->has_overlong_tag = true;
}

static void an_overlong_tag_later(spec *s, int look)
{
    s->has_overlong_tag = look;
}

static void types_behind(spec *s, int look)
{
    (void)look;
    s->moves_types = true;
}

static void types_behind_later(spec *s, int look)
{
    s->moves_types = look;
}

static void columns_turned(spec *s, int look)
{
    static const model_type turned[] = {{"inuse_space", "bytes"},
                                        {"alloc_objects", "count"},
                                        {"alloc_space", "bytes"},
                                        {"inuse_objects", "count"}};
    if (look)
        s->b.m.types = memcpy(ARENA_ARRAY(&s->b.arena, model_type, 4), turned, sizeof turned);
}

static void columns_turned_from_the_beginning(spec *s, int look)
{
    columns_turned(s, !look);
}

static void a_counter_more(spec *s, int look)
{
    static const char *const names[] = {"inuse_space"};
    (void)look;
    s->options.counters = names;
    s->options.counters_len = 1;
}

static void a_counter_less(spec *s, int look)
{
    static const char *const names[] = {"alloc_space/bytes"};
    (void)look;
    s->options.gauges = names;
    s->options.gauges_len = 1;
}

static void other_counters(spec *s, int look)
{
    a_counter_more(s, look);
    a_counter_less(s, look);
}

static void negative(spec *s, int look)
{
    (void)look;
    s->options.on_reset = PPROFDELTA_ON_RESET_NEGATIVE;
}

static void begun_anew(spec *s, int look)
{
    for (size_t i = 0; look && i < 4; i++)
        s->main->values[i] = 1;
}

static void a_stamp(spec *s, int look)
{
    s->options.flags |= PPROFDELTA_FORCE;
    if (!look)
        build_comment(&s->b, PD_STAMP_PREFIX " from=1 to=2 sequence=0");
}

static void a_stamp_refused(spec *s, int look)
{
    if (look)
        build_comment(&s->b, PD_STAMP_PREFIX " from=1 to=2 sequence=0");
}

static void no_samples(spec *s, int look)
{
    s->b.m.samples_len = look ? 2 : 0;
}

static void no_samples_any_more(spec *s, int look)
{
    s->b.m.samples_len = look ? 0 : 2;
}

static void fewer_types_later(spec *s, int look)
{
    s->b.m.types_len = look ? 2 : 4;
}

#define TYPES_8   " a/b a/b a/b a/b a/b a/b a/b a/b"
#define TYPES_64  TYPES_8 TYPES_8 TYPES_8 TYPES_8 TYPES_8 TYPES_8 TYPES_8 TYPES_8
#define TYPES_512 TYPES_64 TYPES_64 TYPES_64 TYPES_64 TYPES_64 TYPES_64 TYPES_64 TYPES_64

static const struct {
    const char *types;
    const char *name;
    change *change;
    bool base, window; /* in one pass */
} things[] = {
#define HEAP(change, base, window)                                                                 \
    {                                                                                              \
        HEAP_TYPES, #change, change, base, window                                                  \
    }
    HEAP(nothing, true, true),
    {CONTENTION_TYPES, "contention", nothing, true, true},
    {CONTENTION_TYPES " wall/nanoseconds", "three types", nothing, false, false},
    {"alloc_space/bytes", "one type", nothing, false, false},
    {"a/b c/d", "no counters", nothing, false, false},
    {CONTENTION_TYPES TYPES_64, "66 types", nothing, false, false},
    {CONTENTION_TYPES TYPES_512, "514 types", nothing, false, false},
    HEAP(gzip, true, true),
    HEAP(zstd, true, true),
    HEAP(tables_in_front, true, true),
    HEAP(tables_behind, false, false),
    HEAP(tables_behind_later, true, false),
    HEAP(ids_with_gaps, false, false),
    HEAP(ids_with_gaps_later, true, false),
    HEAP(a_place_known_by_its_line, false, false),
    HEAP(a_place_known_by_its_line_later, true, false),
    HEAP(a_place_without_a_mapping, true, true),
    HEAP(a_place_without_a_mapping_later, true, false),
    HEAP(a_mapping_without_a_name, true, true),
    HEAP(a_mapping_without_a_name_and_no_mapping, false, false),
    HEAP(no_mapping_where_one_had_no_name, true, false),
    HEAP(two_mappings, true, true),
    HEAP(a_mapping_more, true, false),
    HEAP(two_of_one_file, false, false),
    HEAP(later_two_of_one_file, true, false),
    HEAP(two_that_change_places, true, false),
    HEAP(moved, true, false),
    HEAP(of_another_build, true, false),
    HEAP(mappings_64, true, true),
    HEAP(mappings_65, false, false),
    HEAP(labels_32, true, true),
    HEAP(labels_33, false, false),
    HEAP(labels_33_later, true, false),
    HEAP(a_label_more, true, false),
    HEAP(labels_whose_strings_move, true, false),
    HEAP(strings_of_labels_twice, false, false),
    HEAP(an_overlong_tag, false, false),
    HEAP(an_overlong_tag_later, true, false),
    HEAP(types_behind, false, false),
    HEAP(types_behind_later, true, false),
    HEAP(columns_turned, true, false),
    HEAP(columns_turned_from_the_beginning, false, false),
    HEAP(a_counter_more, false, false),
    HEAP(a_counter_less, false, false),
    HEAP(other_counters, false, false),
    HEAP(negative, false, false),
    HEAP(begun_anew, true, true),
    HEAP(a_stamp, true, true),
    HEAP(a_stamp_refused, true, false),
    HEAP(no_samples, true, false),
    HEAP(no_samples_any_more, true, true),
    HEAP(fewer_types_later, true, false),
};

static void try_case(size_t i, unsigned flags)
{
    spec s;
    ways w;
    const char *name = things[i].name;
    spec_begin(&s, things[i].types);
    s.options.flags = flags;
    things[i].change(&s, 0);
    ways_begin(&w, &s.options);
    const char *wrong = ways_base(&w, take_look(&s));
    CHECK_MSG(!wrong, "%s: %s", name, wrong);
    CHECK_MSG(base_was_once(w.once) == things[i].base, "%s, base", name);
    /* Twice: what was not of the base, and is remembered now, is found again. */
    for (int look = 1; look <= 2 && !wrong; look++) {
        if (look == 1)
            things[i].change(&s, look);
        if (things[i].change == negative && look == 2)
            break;
        wrong = ways_window(&w, take_look(&s));
        CHECK_MSG(!wrong, "%s: %s", name, wrong);
        CHECK_MSG(w.status || window_was_once(w.once) == things[i].window, "%s, window", name);
        ways_commit(&w);
    }
    /* In whole, of a base in one pass: everything is known by the base's names. */
    w.once->piece = 0;
    wrong = ways_window(&w, take_look(&s));
    CHECK_MSG(!wrong, "%s, whole: %s", name, wrong);
    CHECK_MSG(w.status || !window_was_once(w.once), "%s, whole", name);
    ways_end(&w);
    build_free(&s.b);
}

TEST(each_thing_for_itself)
{
    for (size_t i = 0; i < sizeof things / sizeof *things; i++) {
        try_case(i, 0);
        try_case(i, PPROFDELTA_VERIFY);
    }
}

TEST_MAIN(CASE(each_thing_for_itself))
