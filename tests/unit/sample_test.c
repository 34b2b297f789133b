/* The quick reader of samples compared with the careful one, for elements that stand by themselves: whole, cut
 * off, with each bit changed. fuzz_reader.c compares them for any bytes, the oracle of delta_test.c for what
 * encoders write. */
#include "emit.h"
#include "profile/samples.h"
#include "test.h"

#include <stdlib.h>

enum { SOME = 300 }; /* ids of up to two bytes */

/* Tables with a few strings, so many sample types, and locations with the ids 1, 2, 3 ... */
typedef struct bench {
    size_t locations;
    pd_mem mem;
    pd_tables tables;
    pd_stack_numbers numbers;
    pd_columns columns;
    arena arena;
} bench;

static void bench_begin(bench *b, size_t types, size_t locations)
{
    memset(b, 0, sizeof *b);
    b->locations = locations;
    pd_mem_init(&b->mem, NULL, UINT64_C(1) << 30);
    pd_stack_numbers_init(&b->numbers);
    emitter e = {.arena = &b->arena, .packing = EMIT_PACKED};
    message profile = message_begin(&e, 15);
    for (size_t i = 0; i < types; i++)
        emit_bytes(&profile, PD_PROFILE_SAMPLE_TYPE, "\x08\x01", 2);
    for (uint64_t i = 1; i <= locations; i++) {
        message location = message_begin(&e, 5);
        emit_scalar(&location, PD_LOCATION_ID, i);
        emit_scalar(&location, PD_LOCATION_ADDRESS, i * 16);
        emit_message(&profile, PD_PROFILE_LOCATION, &location);
    }
    const char *const strings[] = {"", "bytes", "thread", "main", "kib"};
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        emit_bytes(&profile, PD_PROFILE_STRING_TABLE, strings[i], strlen(strings[i]));
    buf bytes = message_end(&profile);
    CHECK(pd_tables_parse(&b->tables, &b->mem, (pd_bytes){bytes.ptr, bytes.len}, NULL) == 0);
    b->columns.len = types;
    for (size_t i = 0; i < types; i++)
        b->columns.slot[i] = (uint8_t)(types - 1 - i);
}

static void bench_end(bench *b)
{
    pd_tables_release(&b->tables, &b->mem);
    arena_free(&b->arena);
}

/* Hands the record, as a profile would have it, to the quick reader. Returns whether it took it. */
static bool read_quick(bench *b, const uint8_t *record, size_t len, uint64_t seed, pd_sample *out)
{
    /* Allocated to the byte, so that the sanitizer sees a step too far. */
    uint8_t head[1 + PD_VARINT_MAX] = {PD_TAG_SAMPLE};
    size_t head_len = (size_t)(pd_varint_encode(head + 1, len) - head);
    size_t all = head_len + len + PD_QUICK_SLACK;
    uint8_t *bytes = malloc(all);
    if (!bytes)
        abort();
    memcpy(bytes, head, head_len);
    if (len)
        memcpy(bytes + head_len, record, len);
    /* What stands behind a record is no sample, and the end of every varint or of none. */
    memset(bytes + head_len + len, seed % 2 ? 0x01 : 0xff, PD_QUICK_SLACK);
    pd_sample_reader r = {.parse = {.zero = bytes, .mem = &b->mem},
                          .tables = &b->tables,
                          .numbers = &b->numbers,
                          .columns = &b->columns};
    pd_reader top = pd_reader_of(bytes, all);
    bool is_taken = pd_sample_quick(&r, &top, out);
    CHECK_MSG(!r.parse.status && !r.parse.unknown_fields && !r.parse.element,
              "seed %llu: it failed by itself", (unsigned long long)seed);
    CHECK(top.at == bytes + (is_taken ? head_len + len : 0) && top.end == bytes + all);
    free(bytes);
    return is_taken;
}

/* Reads the record by both readers. True where the quick one took it. */
static bool agree(bench *b, const uint8_t *record, size_t len, uint64_t seed)
{
    uint8_t *bytes = malloc(len ? len : 1);
    if (!bytes)
        abort();
    if (len)
        memcpy(bytes, record, len);
    pd_sample_reader r = {
        .parse.zero = bytes, .tables = &b->tables, .numbers = &b->numbers, .columns = &b->columns};
    pd_sample careful, quick;
    memset(&careful, 0, sizeof careful);
    pd_sample_careful(&r, pd_reader_of(bytes, len), &careful);
    bool is_taken = read_quick(b, record, len, seed, &quick);
    if (is_taken) {
        CHECK_MSG(r.parse.status == PPROFDELTA_OK && !r.parse.unknown_fields,
                  "seed %llu: took a bad record", (unsigned long long)seed);
        CHECK_MSG(pd_key_equal(pd_identity_key(&quick.stack), pd_identity_key(&careful.stack)),
                  "seed %llu: the keys differ", (unsigned long long)seed);
        CHECK_MSG(quick.values_len == careful.values_len &&
                      !memcmp(quick.values, careful.values, b->columns.len * sizeof *quick.values),
                  "seed %llu: the values differ", (unsigned long long)seed);
    }
    free(bytes);
    return is_taken;
}

/* Records with elements that stand by themselves, for two types and SOME locations, and whether
 * they are for the quick reader. */
typedef struct lone {
    const char *what;
    size_t len;
    bool is_quick;
    uint8_t bytes[24];
} lone;

static const lone lones[] = {
    {"values first", 8, true, {0x10, 5, 0x10, 7, 8, 1, 8, 2}},
    {"stack first", 8, true, {8, 1, 8, 2, 0x10, 5, 0x10, 7}},
    {"no stack", 4, true, {0x10, 5, 0x10, 7}},
    {"values before a run", 9, true, {0x10, 5, 0x10, 7, 0x0a, 3, 1, 2, 3}},
    {"values behind a run", 9, true, {0x0a, 3, 1, 2, 3, 0x10, 5, 0x10, 7}},
    {"ids behind a run of values", 8, true, {0x12, 2, 5, 7, 8, 1, 8, 2}},
    {"ids before a run of values", 8, true, {8, 1, 8, 2, 0x12, 2, 5, 7}},
    {"labels behind", 12, true, {0x10, 5, 0x10, 7, 8, 1, 0x1a, 4, 8, 1, 0x18, 9}},
    {"labels behind the values", 12, true, {8, 1, 0x10, 5, 0x10, 7, 0x1a, 4, 8, 1, 0x18, 9}},
    {"bytes to spare", 11, true, {0x10, 0x85, 0x80, 0, 0x10, 7, 8, 0x81, 0x80, 0x80, 0}},
    {"an id of two bytes", 7, true, {0x10, 5, 0x10, 7, 8, 0xac, 2}},
    {"a cut value", 4, false, {0x10, 5, 0x10, 0x87}},
    {"a value too few", 4, false, {0x10, 5, 8, 1}},
    {"a value too many", 8, false, {0x10, 5, 0x10, 7, 0x10, 9, 8, 1}},
    {"a value too many, behind", 8, false, {8, 1, 0x10, 5, 0x10, 7, 0x10, 9}},
    {"no values", 4, false, {8, 1, 8, 2}},
    {"nothing", 0, false, {0}},
    {"an id 0", 6, false, {0x10, 5, 0x10, 7, 8, 0}},
    {"an id that is not there", 7, false, {0x10, 5, 0x10, 7, 8, 0xad, 2}},
    {"an id between values", 6, false, {0x10, 5, 8, 1, 0x10, 7}},
    {"values between ids", 8, false, {8, 1, 0x10, 5, 0x10, 7, 8, 2}},
    {"half a run of values, one behind", 7, false, {0x12, 1, 5, 0x10, 7, 8, 1}},
    {"half a run of values, one before", 7, false, {0x10, 5, 0x12, 1, 7, 8, 1}},
    {"a run of ids, one behind", 9, false, {0x10, 5, 0x10, 7, 0x0a, 1, 1, 8, 2}},
    {"a run of ids, one before", 9, false, {0x10, 5, 0x10, 7, 8, 2, 0x0a, 1, 1}},
    {"an empty run, values behind", 6, false, {0x12, 0, 0x10, 5, 0x10, 7}},
    {"an empty run, ids behind", 8, false, {0x10, 5, 0x10, 7, 0x0a, 0, 8, 1}},
    {"labels before", 8, false, {0x1a, 2, 8, 1, 0x10, 5, 0x10, 7}},
    {"labels between", 8, false, {0x10, 5, 0x10, 7, 0x1a, 0, 8, 1}},
    {"a tag of two bytes", 5, false, {0x90, 0, 5, 0x10, 7}},
    {"a value of ten bytes",
     15,
     false,
     {0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0x10, 7, 8, 1}},
    {"an id of nine bytes",
     14,
     false,
     {0x10, 5, 0x10, 7, 8, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0}},
    {"another wire type", 5, false, {0x10, 5, 0x10, 7, 9}},
};

/* Each whole, cut anywhere, and with any of its bits the other way round. */
TEST(unpacked_elements)
{
    ENDS(bench_end) bench b;
    bench_begin(&b, 2, SOME);
    for (size_t i = 0; i < sizeof lones / sizeof *lones; i++) {
        const lone *l = &lones[i];
        for (uint64_t seed = 0; seed < 2; seed++) {
            CHECK_MSG(agree(&b, l->bytes, l->len, seed) == l->is_quick, "%s", l->what);
            for (size_t len = 0; len < l->len; len++)
                agree(&b, l->bytes, len, seed);
            for (size_t bit = 0; bit < 8 * l->len; bit++) {
                lone hit = *l;
                hit.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
                agree(&b, hit.bytes, hit.len, seed);
            }
        }
    }
}

TEST_MAIN()
