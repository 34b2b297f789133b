/* Written fields are read back; fields that are omitted, empty or refused are so by contract. */
#include "../support/test.h"

#include "rng.h"
#include "run.h"
#include "wire/writer.h"

#define PLENTY (UINT64_C(1) << 40)

enum { NUMBER_MAX = (1 << 29) - 1 };

typedef struct kit {
    tracker tracker;
    pd_mem mem;
    pprofdelta_error err;
    pd_writer writer;
    pd_buffer out, part;
} kit;

static void begin(kit *k)
{
    memset(k, 0, sizeof *k);
    pprofdelta_allocator allocator = tracker_allocator(&k->tracker);
    pd_mem_init(&k->mem, &allocator, PLENTY);
    k->writer = (pd_writer){.mem = &k->mem, .err = &k->err};
}

static void end(kit *k)
{
    pd_buffer_release(&k->mem, &k->out);
    pd_buffer_release(&k->mem, &k->part);
    CHECK(k->mem.used == 0 && k->tracker.live == 0);
}

/* What should have been written: fields in order. */
typedef struct record {
    uint32_t number, wire;
    uint64_t value; /* or the seed of the body */
    size_t len;
} record;

static uint8_t body_byte(const record *f, size_t i)
{
    return (uint8_t)(f->value + i * 7);
}

static uint32_t draw_number(rng *r)
{
    return 1 + (uint32_t)(rng_next(r) % NUMBER_MAX) / (rng_chance(r, 80) ? NUMBER_MAX / 20 : 1);
}

/* Writes one field in one of the ways there are; false where nothing is to be seen of it. */
static bool put(kit *k, rng *r, record *f)
{
    uint8_t body[300];
    unsigned way = (unsigned)rng_below(r, 5);
    *f = (record){.number = draw_number(r), .wire = way < 2 ? PD_WIRE_VARINT : PD_WIRE_BYTES};
    f->value = rng_chance(r, 20) ? 0 : rng_next(r) >> rng_below(r, 64);
    if (way == 0) {
        pd_write_varint(&k->writer, &k->out, f->number, f->value);
        return f->value != 0;
    }
    if (way == 1) {
        pd_write_varint_always(&k->writer, &k->out, f->number, f->value);
        return true;
    }
    f->len = rng_below(r, rng_chance(r, 50) ? 10 : sizeof body);
    for (size_t i = 0; i < f->len; i++)
        body[i] = body_byte(f, i);
    if (way == 2) {
        pd_write_bytes(&k->writer, &k->out, f->number, f->len ? body : NULL, f->len);
        return true;
    }
    size_t half = rng_below(r, f->len + 1);
    pd_write_raw(&k->writer, &k->part, body, half);
    pd_write_raw(&k->writer, &k->part, body + half, f->len - half);
    CHECK(k->part.len == f->len);
    pd_write_part(&k->writer, &k->out, f->number, &k->part);
    CHECK(k->part.len == 0);
    return true;
}

static void check_read(const pd_buffer *out, const record *want, size_t len)
{
    CHECK((out->len == 0) == (len == 0));
    if (!out->len)
        return;
    pd_reader r = pd_reader_of(out->ptr, out->len);
    pd_field f;
    for (size_t i = 0; i < len; i++) {
        REQUIRE(pd_reader_next(&r, &f));
        CHECK(f.number == want[i].number && f.wire == want[i].wire);
        if (f.wire == PD_WIRE_VARINT) {
            CHECK(f.value == want[i].value);
            continue;
        }
        REQUIRE((size_t)(f.body.end - f.body.at) == want[i].len);
        for (size_t n = 0; n < want[i].len; n++)
            CHECK(f.body.at[n] == body_byte(&want[i], n));
    }
    CHECK(!pd_reader_next(&r, &f) && !r.trouble);
}

TEST(written_fields_are_read_back)
{
    for (uint64_t seed = 1; seed <= 500; seed++) {
        rng r = {seed};
        record fields[40];
        size_t len = 0;
        kit k;
        begin(&k);
        for (int i = 0; i < 40; i++)
            len += put(&k, &r, &fields[len]);
        CHECK(k.writer.status == PPROFDELTA_OK);
        check_read(&k.out, fields, len);
        end(&k);
    }
}

TEST(the_bytes_are_the_shortest)
{
    static const uint8_t want[] = {0x08, 0x96, 0x01, 0x12, 0x02, 'h',  'i',  0x18, 0x00,
                                   0x22, 0x00, 0xf8, 0xff, 0xff, 0xff, 0x0f, 0x01};
    kit k;
    begin(&k);
    pd_write_varint(&k.writer, &k.out, 1, 150);
    pd_write_varint(&k.writer, &k.out, 7, 0);
    pd_write_bytes(&k.writer, &k.out, 2, (const uint8_t *)"hi", 2);
    pd_write_varint_always(&k.writer, &k.out, 3, 0);
    pd_write_bytes(&k.writer, &k.out, 4, NULL, 0);
    pd_write_varint(&k.writer, &k.out, NUMBER_MAX, 1);
    REQUIRE(k.out.len == sizeof want);
    CHECK(memcmp(k.out.ptr, want, sizeof want) == 0);
    end(&k);
}

TEST(no_raw_bytes_write_nothing)
{
    kit k;
    begin(&k);
    pd_write_raw(&k.writer, &k.out, NULL, 0);
    CHECK(k.writer.status == PPROFDELTA_OK && k.out.len == 0);
    pd_write_raw(&k.writer, &k.out, (const uint8_t *)"x", 1);
    pd_write_raw(&k.writer, &k.out, NULL, 0);
    CHECK(k.writer.status == PPROFDELTA_OK && k.out.len == 1);
    end(&k);
}

/* Whichever allocation fails: what stands there is a prefix in whole fields, and it stays so. */
TEST(errors_are_sticky)
{
    size_t nth = 1, refused = 1;
    for (; refused; nth++) {
        rng r = {9};
        record fields[200];
        size_t len = 0;
        kit k;
        begin(&k);
        k.tracker.fail_at = nth;
        pd_buffer stopped = {0};
        for (int i = 0; i < 200; i++) {
            bool was_well = k.writer.status == PPROFDELTA_OK;
            pd_buffer before = k.out;
            uint8_t byte = (uint8_t)i;
            record f = {.number = draw_number(&r), .wire = PD_WIRE_BYTES, .len = 1, .value = byte};
            pd_write_bytes(&k.writer, &k.out, f.number, &byte, 1);
            if (k.writer.status == PPROFDELTA_OK) {
                fields[len++] = f;
                continue;
            }
            if (was_well)
                stopped = before;
            k.tracker.fail_at = 0; /* there would be memory again */
        }
        refused = k.tracker.refused;
        if (refused) {
            CHECK(k.writer.status == PPROFDELTA_E_MEMORY && k.err.status == k.writer.status);
            CHECK(k.out.len == stopped.len && k.out.ptr == stopped.ptr);
            CHECK(refused == 1 && len < 200);
        }
        check_read(&k.out, fields, len);
        end(&k);
    }
    CHECK(nth > 3);
}

TEST(a_part_is_emptied_after_an_error)
{
    kit k;
    begin(&k);
    pd_write_raw(&k.writer, &k.part, (const uint8_t *)"x", 1);
    k.tracker.fail_at = 1;
    pd_write_part(&k.writer, &k.out, 1, &k.part);
    CHECK(k.writer.status == PPROFDELTA_E_MEMORY && k.out.len == 0 && k.part.len == 0);
    end(&k);
}

TEST(impossible_lengths_are_refused)
{
    static const size_t lens[] = {SIZE_MAX, SIZE_MAX - 15, SIZE_MAX - 16, (size_t)PTRDIFF_MAX};
    for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
        kit k;
        begin(&k);
        pd_write_varint(&k.writer, &k.out, 1, 1);
        pd_buffer before = k.out;
        pd_write_bytes(&k.writer, &k.out, 1, (const uint8_t *)"x", lens[i]);
        CHECK(k.writer.status == PPROFDELTA_E_LIMIT);
        k.writer.status = PPROFDELTA_OK;
        pd_write_raw(&k.writer, &k.out, (const uint8_t *)"x", lens[i]);
        CHECK(k.writer.status == PPROFDELTA_E_LIMIT);
        CHECK(k.out.len == before.len && k.out.ptr == before.ptr);
        end(&k);
    }
}

TEST_MAIN()
