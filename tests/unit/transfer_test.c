/* Copies of profiles in the compact writer: nothing is lost, nothing unused is copied, and what two
 * profiles share is written once. */
#include "../support/test.h"

#include "build.h"
#include "gen.h"
#include "profile/samples.h"
#include "profile/transfer.h"
#include "run.h"
#include "serial.h"

#define PLENTY (UINT64_C(1) << 40)

/* One profile that is read. */
typedef struct source {
    pd_tables tables;
    pd_transfer transfer;
} source;

typedef struct kit {
    tracker tracker;
    pd_mem mem;
    pprofdelta_error err;
    source a, b;
    pd_compact compact;
    arena arena;
} kit;

static void begin(kit *k)
{
    memset(k, 0, sizeof *k);
    pprofdelta_allocator allocator = tracker_allocator(&k->tracker);
    pd_mem_init(&k->mem, &allocator, PLENTY);
}

static void end(kit *k)
{
    pd_transfer_release(&k->a.transfer, &k->mem);
    pd_transfer_release(&k->b.transfer, &k->mem);
    pd_tables_release(&k->a.tables, &k->mem);
    pd_tables_release(&k->b.tables, &k->mem);
    pd_compact_release(&k->compact, &k->mem);
    CHECK(k->mem.used == 0 && k->tracker.live == 0);
    arena_free(&k->arena);
}

static pprofdelta_status open_source(kit *k, source *s, buf profile)
{
    pprofdelta_status status =
        pd_tables_parse(&s->tables, &k->mem, (pd_bytes){profile.ptr, profile.len}, &k->err);
    return status ? status
                  : pd_transfer_begin(&s->transfer, &k->mem, &s->tables, &k->compact, &k->err);
}

static void put_types(source *s)
{
    for (size_t i = 0; i < s->tables.types_len; i++) {
        uint32_t type = pd_transfer_string(&s->transfer, s->tables.types[i].type);
        uint32_t unit = pd_transfer_string(&s->transfer, s->tables.types[i].unit);
        pd_compact_type(s->transfer.compact, type, unit);
    }
}

/* Carries over the records for which chance wants it, values and all. */
static void put_samples(source *s, rng *r, unsigned percent)
{
    const pd_tables *t = &s->tables;
    pd_reader top = pd_reader_of(t->bytes.ptr, t->bytes.len);
    pd_field record, f;
    while (pd_reader_next(&top, &record)) {
        if (record.number != PD_PROFILE_SAMPLE || !rng_chance(r, percent))
            continue;
        int64_t values[PPROFDELTA_MAX_TYPES];
        size_t len = 0;
        uint64_t value;
        while (pd_reader_next(&record.body, &f)) {
            if (f.number != PD_SAMPLE_VALUE)
                continue;
            if (f.wire == PD_WIRE_VARINT)
                values[len++] = (int64_t)f.value;
            else
                while (pd_reader_varint(&f.body, &value))
                    values[len++] = (int64_t)value;
        }
        uint64_t origin = (uint64_t)(record.start - t->bytes.ptr);
        pd_transfer_sample(&s->transfer, origin, values, len);
    }
}

static pprofdelta_status finish(kit *k, source *s, pd_bytes *out)
{
    const pd_header *h = &s->tables.header;
    pd_transfer *t = &s->transfer;
    for (size_t i = 0; i < s->tables.comments_len; i++)
        pd_compact_comment(&k->compact, pd_transfer_string(t, s->tables.comments[i].index));
    pd_compact_header header = {
        .has_period_type = h->has_period_type,
        .period_type = pd_transfer_string(t, h->period_type.type),
        .period_unit = pd_transfer_string(t, h->period_type.unit),
        .period = h->period,
        .time_nanos = h->time_nanos,
        .duration_nanos = h->duration_nanos,
        .drop_frames = pd_transfer_string(t, h->drop_frames.index),
        .keep_frames = pd_transfer_string(t, h->keep_frames.index),
        .default_sample_type = pd_transfer_string(t, h->default_sample_type.index),
        .doc_url = pd_transfer_string(t, h->doc_url.index),
    };
    return pd_compact_finish(&k->compact, &header, out);
}

/* All of one profile. */
static pprofdelta_status copy(kit *k, buf profile, pd_bytes *out)
{
    rng r = {0};
    pd_compact_begin(&k->compact, &k->mem, &k->err);
    pprofdelta_status status = open_source(k, &k->a, profile);
    if (status)
        return status;
    put_types(&k->a);
    if (k->a.tables.mappings_len)
        pd_transfer_mapping(&k->a.transfer, 0);
    put_samples(&k->a, &r, 100);
    return finish(k, &k->a, out);
}

static reading read_back(kit *k, pd_bytes bytes)
{
    reading r = {0};
    CHECK(reading_make(&k->arena, bytes.ptr, bytes.len, &r) == PPROFDELTA_OK);
    return r;
}

/* ---------------------------------------------------------------------------------------------
 * One profile
 * ------------------------------------------------------------------------------------------ */

TEST(a_copy_equals_the_original)
{
    kit k;
    begin(&k);
    for (uint64_t seed = 1; seed <= 300; seed++) {
        gen g;
        rng r = {seed};
        gen_init(&g, seed);
        serial_style style = serial_draw(&r);
        style.pack = PACK_PLAIN;
        style.repeat_records = 0; /* of two equal places the first one's lines are written */
        buf profile = serial_write(&k.arena, &g.m, &style);
        pd_bytes out = {NULL, 0};
        REQUIRE(copy(&k, profile, &out) == PPROFDELTA_OK);
        reading was = read_back(&k, (pd_bytes){profile.ptr, profile.len}), is = read_back(&k, out);
        REQUIRE(was.view && is.view);
        CHECK_MSG(strcmp(reading_all(&was, true), reading_all(&is, true)) == 0, "seed %llu",
                  (unsigned long long)seed);
        CHECK_STR(reading_header(&is), reading_header(&was));
        CHECK(is.records == was.records && is.view->n_comment == was.view->n_comment);
        gen_free(&g);
        arena_free(&k.arena);
    }
    end(&k);
}

/* Whatever is chosen of a profile's samples: all that they need, and nothing else. */
TEST(nothing_unused_is_copied)
{
    kit k;
    bool has_twins;
    size_t checked = 0;
    begin(&k);
    for (uint64_t seed = 1; seed <= 300; seed++) {
        gen g;
        rng r = {seed};
        gen_init(&g, seed);
        serial_style style = serial_draw(&r);
        style.pack = PACK_PLAIN;
        style.split_samples = 0;
        style.write_unused = true;
        buf profile = serial_write(&k.arena, &g.m, &style);
        reading was = read_back(&k, (pd_bytes){profile.ptr, profile.len});
        REQUIRE(was.view);
        has_twins = was.records != was.samples_len; /* the process itself has equal samples */
        pd_compact_begin(&k.compact, &k.mem, &k.err);
        REQUIRE(open_source(&k, &k.a, profile) == PPROFDELTA_OK);
        put_types(&k.a);
        put_samples(&k.a, &r, (unsigned)rng_below(&r, 101));
        pd_bytes out = {NULL, 0};
        REQUIRE(finish(&k, &k.a, &out) == PPROFDELTA_OK);
        reading is = read_back(&k, out);
        REQUIRE(is.view);
        bool first_is_used = false; /* compare_compact lets it go along unused */
        for (size_t i = 0; i < is.view->n_location; i++)
            first_is_used = first_is_used || is.view->location[i]->mapping_id == 1;
        CHECK(first_is_used || !is.view->n_mapping);
        const char *wrong = has_twins ? NULL : compare_compact(&k.arena, &is);
        checked += !has_twins;
        CHECK_MSG(!wrong, "seed %llu: %s", (unsigned long long)seed, wrong);
        gen_free(&g);
        arena_free(&k.arena);
    }
    CHECK(checked > 150);
    end(&k);
}

TEST(the_first_mapping_is_copied_without_a_sample)
{
    kit k;
    begin(&k);
    build b = {0};
    build_types(&b, "delay/nanoseconds");
    build_mapping(&b, 0x1000, 0x2000, 0x10, "/bin/app", "id");
    model_mapping *libc = build_mapping(&b, 0x7000, 0x8000, 0, "/lib/libc", "");
    build_place(&b, "f", libc, 0x7100);
    build_sample(&b, "f", "5");
    pd_bytes out = {NULL, 0};
    REQUIRE(copy(&k, build_bytes(&b), &out) == PPROFDELTA_OK);
    reading is = read_back(&k, out);
    REQUIRE(is.view && is.view->n_mapping == 2);
    CHECK(is.view->mapping[0]->memory_start == 0x1000 && is.view->mapping[0]->file_offset == 0x10);
    CHECK_STR(reading_string(&is, is.view->mapping[0]->build_id), "id");
    CHECK(is.view->location[0]->mapping_id == 2);
    build_free(&b);
    end(&k);
}

/* A stack that is there as an empty packed field, and one that is in several pieces. */
TEST(stacks_are_read_in_every_packing)
{
    static const uint8_t profile[] = {
        0x0a, 0x02, 0x08, 0x01,                                     /* type "a" */
        0x12, 0x05, 0x0a, 0x00, 0x12, 0x01, 0x05,                   /* no stack, said so */
        0x12, 0x0a, 0x0a, 0x01, 0x01, 0x08, 0x02, 0x0a, 0x01, 0x01, /* 1, 2, 1 */
        0x10, 0x07,                                                 /* ... 7 */
        0x22, 0x04, 0x08, 0x01, 0x18, 0x11,                         /* location 1 at 0x11 */
        0x22, 0x04, 0x08, 0x02, 0x18, 0x12,                         /* location 2 at 0x12 */
        0x32, 0x00, 0x32, 0x01, 'a',
    };
    kit k;
    begin(&k);
    buf bytes = buf_begin(&k.arena);
    buf_add(&bytes, profile, sizeof profile);
    pd_bytes out = {NULL, 0};
    REQUIRE(copy(&k, bytes, &out) == PPROFDELTA_OK);
    reading is = read_back(&k, out);
    REQUIRE(is.view && is.view->n_sample == 2);
    const Pd__View__Sample *none = is.view->sample[0], *three = is.view->sample[1];
    CHECK(none->n_location_id == 0 && none->value[0] == 5 && three->value[0] == 7);
    REQUIRE(three->n_location_id == 3);
    CHECK(three->location_id[0] == 1 && three->location_id[1] == 2 && three->location_id[2] == 1);
    CHECK(is.view->location[0]->address == 0x11 && is.view->location[1]->address == 0x12);
    end(&k);
}

/* ---------------------------------------------------------------------------------------------
 * Two profiles
 * ------------------------------------------------------------------------------------------ */

static pprofdelta_status join(kit *k, buf first, buf second, pd_bytes *out)
{
    rng r = {0};
    pd_compact_begin(&k->compact, &k->mem, &k->err);
    pprofdelta_status status = open_source(k, &k->a, first);
    if (!status)
        status = open_source(k, &k->b, second);
    if (status)
        return status;
    put_types(&k->a);
    put_samples(&k->a, &r, 100);
    put_samples(&k->b, &r, 100);
    return finish(k, &k->a, out);
}

/* A process that has one location in each kind of mapping; its second look may lie elsewhere. */
static void build_look(build *b, uint64_t app_start, uint64_t anon_start, const char *extra)
{
    build_types(b, "delay/nanoseconds");
    model_mapping *app = build_mapping(b, app_start, app_start + 0x10000, 0x2000, "/bin/app", "id");
    model_mapping *anon = build_mapping(b, anon_start, anon_start + 0x10000, 0, "[anon]", "");
    build_place(b, "main", app, app_start + 0x100);
    build_place(b, "jit", anon, anon_start + 0x100);
    build_place(b, extra, app, app_start + 0x200 + 0x10 * (uint64_t)extra[0]);
    build_sample(b, "main", "1");
    build_sample(b, "jit", "2");
    build_sample(b, extra, "3");
}

TEST(addresses_of_the_second_move_with_their_mapping)
{
    kit k;
    begin(&k);
    build first = {0}, second = {0};
    build_look(&first, 0x400000, 0x7000000, "x");
    build_look(&second, 0x900000, 0x7000000, "y");
    pd_bytes out = {NULL, 0};
    REQUIRE(join(&k, build_bytes(&first), build_bytes(&second), &out) == PPROFDELTA_OK);
    reading is = read_back(&k, out);
    REQUIRE(is.view && is.view->n_sample == 6 && is.view->n_location == 4);
    CHECK(is.view->n_mapping == 2);
    static const uint64_t stacks[] = {1, 2, 3, 1, 2, 4};
    for (size_t i = 0; i < 6; i++)
        CHECK(is.view->sample[i]->location_id[0] == stacks[i]);
    CHECK(is.view->mapping[0]->memory_start == 0x400000);
    CHECK(is.view->location[2]->address == 0x400200 + 0x10 * 'x');
    CHECK(is.view->location[3]->address == 0x400200 + 0x10 * 'y');
    CHECK(is.view->location[3]->mapping_id == 1);
    build_free(&first);
    build_free(&second);
    end(&k);
}

/* Memory without a file is the same only where it lies at the same address. */
TEST(anonymous_memory_stays_where_it_is)
{
    kit k;
    begin(&k);
    build first = {0}, second = {0};
    build_look(&first, 0x400000, 0x7000000, "x");
    build_look(&second, 0x400000, 0x8000000, "x");
    pd_bytes out = {NULL, 0};
    REQUIRE(join(&k, build_bytes(&first), build_bytes(&second), &out) == PPROFDELTA_OK);
    reading is = read_back(&k, out);
    REQUIRE(is.view && is.view->n_mapping == 3 && is.view->n_location == 4);
    CHECK(is.view->location[1]->address == 0x7000100 && is.view->location[1]->mapping_id == 2);
    CHECK(is.view->location[3]->address == 0x8000100 && is.view->location[3]->mapping_id == 3);
    CHECK(is.view->mapping[2]->memory_start == 0x8000000);
    build_free(&first);
    build_free(&second);
    end(&k);
}

static Pd__View__Profile *view_of(const uint8_t *bytes, size_t len)
{
    return pd__view__profile__unpack(NULL, len, bytes);
}

/* The samples from `first` on are those of the other, in its order and with its values. */
static void check_part(const Pd__View__Profile *all, size_t first, const Pd__View__Profile *part)
{
    REQUIRE(first + part->n_sample <= all->n_sample);
    for (size_t i = 0; i < part->n_sample; i++) {
        const Pd__View__Sample *got = all->sample[first + i], *want = part->sample[i];
        REQUIRE(got->n_location_id == want->n_location_id && got->n_value == want->n_value);
        CHECK(memcmp(got->value, want->value, got->n_value * sizeof *got->value) == 0);
    }
}

static bool has_key(const reading *r, const char *key)
{
    for (size_t i = 0; i < r->samples_len; i++)
        if (strcmp(r->samples[i].key, key) == 0)
            return true;
    return false;
}

/* Two looks at made-up processes: the samples of both, as each had them, and no place twice. */
TEST(two_profiles_share_one_output)
{
    kit k;
    begin(&k);
    for (uint64_t seed = 1; seed <= 200; seed++) {
        gen g;
        rng r = {seed};
        gen_init(&g, seed);
        buf profiles[2];
        for (int i = 0; i < 2; i++) {
            serial_style style = serial_draw(&r);
            style.pack = PACK_PLAIN;
            profiles[i] = serial_write(&k.arena, &g.m, &style);
            gen_evolve(&g, GEN_MOVE | GEN_VANISH | GEN_RENAME);
        }
        pd_bytes out = {NULL, 0};
        REQUIRE(join(&k, profiles[0], profiles[1], &out) == PPROFDELTA_OK);
        Pd__View__Profile *all = view_of(out.ptr, out.len);
        REQUIRE(all);
        reading is = read_back(&k, out);
        size_t first = 0;
        for (int i = 0; i < 2; i++) {
            Pd__View__Profile *part = view_of(profiles[i].ptr, profiles[i].len);
            REQUIRE(part);
            check_part(all, first, part);
            first += part->n_sample;
            pd__view__profile__free_unpacked(part, NULL);
            reading was = read_back(&k, (pd_bytes){profiles[i].ptr, profiles[i].len});
            for (size_t n = 0; n < was.samples_len; n++)
                CHECK_MSG(has_key(&is, was.samples[n].key), "seed %llu", (unsigned long long)seed);
        }
        CHECK(all->n_sample == first);
        for (size_t i = 0; i < all->n_location; i++)
            for (size_t n = 0; n < i; n++)
                CHECK(strcmp(is.locations[i].identity, is.locations[n].identity) != 0);
        pd__view__profile__free_unpacked(all, NULL);
        gen_free(&g);
        arena_free(&k.arena);
    }
    end(&k);
}

TEST(every_allocation_may_fail)
{
    build first = {0}, second = {0};
    build_look(&first, 0x400000, 0x7000000, "x");
    build_look(&second, 0x900000, 0x8000000, "y");
    build_comment(&first, "a comment");
    build_label(&second, second.m.samples[0], "key", "str", 0, "");
    buf one = build_bytes(&first), two = build_bytes(&second);
    kit whole;
    begin(&whole);
    pd_bytes want = {NULL, 0};
    REQUIRE(join(&whole, one, two, &want) == PPROFDELTA_OK);
    for (int alone = 0; alone < 2; alone++) {
        size_t nth = 1, refused = 1;
        for (; refused; nth++) {
            kit k;
            begin(&k);
            k.tracker.fail_at = nth;
            k.tracker.is_alone = alone != 0;
            pd_bytes out = {NULL, 4711};
            pprofdelta_status status = join(&k, one, two, &out);
            refused = k.tracker.refused;
            CHECK_MSG(status == (refused ? PPROFDELTA_E_MEMORY : PPROFDELTA_OK), "allocation %zu",
                      nth);
            CHECK(k.err.status == status && (!refused || out.len == 4711));
            k.tracker.fail_at = 0;
            REQUIRE(join(&k, one, two, &out) == PPROFDELTA_OK);
            CHECK(out.ptr && want.ptr && out.len == want.len &&
                  memcmp(out.ptr, want.ptr, want.len) == 0);
            end(&k);
        }
        CHECK(nth > 30);
    }
    end(&whole);
    build_free(&first);
    build_free(&second);
}

TEST_MAIN(CASE(a_copy_equals_the_original), CASE(nothing_unused_is_copied),
          CASE(the_first_mapping_is_copied_without_a_sample),
          CASE(stacks_are_read_in_every_packing),
          CASE(addresses_of_the_second_move_with_their_mapping),
          CASE(anonymous_memory_stays_where_it_is), CASE(two_profiles_share_one_output),
          CASE(every_allocation_may_fail))
