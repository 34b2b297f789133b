/* Heap profiles in text form: numbers and lines, every prefix, every failed allocation, and the
 * arithmetic of unsampling. tests/cli tests their deltas, testdata/hostile has those that are damaged. */
#include "../support/test.h"

#include "keep.h"
#include "ledger/state.h"
#include "pprofdelta_profile.h"
#include "rows.h"
#include "run.h"
#include "seeds.h"
#include "text/dump.h"
#include "view.h"

#include <inttypes.h>
#include <stdlib.h>

static const char gperftools[] = "heap profile:  3:  300 [  5:  700] @ heapprofile\n"
                                 "  2:  200 [  4:  600] @ 0x401001 0x401f00\n"
                                 "  1:  100 [  1:  100] @ 0x401003\n"
                                 "\n"
                                 "MAPPED_LIBRARIES:\n"
                                 "00401000-00402000 r-xp 00001000 fe:00 10    /bin/an app\n";

static const char jemalloc[] = "heap_v2/512\n"
                               "  t*: 3: 300 [5: 700]\n"
                               "  t1: 3: 300 [5: 700]\n"
                               "@ 0x401001 0x401f00\n"
                               "  t*: 2: 200 [4: 600]\n"
                               "  t1: 2: 200 [4: 600]\n"
                               "@ 0x401003\n"
                               "  t1: 1: 100 [1: 100]\n"
                               "\n"
                               "MAPPED_LIBRARIES:\n"
                               "00401000-00402000 r-xp 00001000 fe:00 10    /bin/an app\n";

static pd_lines line_of(const char *text)
{
    pd_lines lines = pd_lines_of((pd_bytes){(const uint8_t *)text, strlen(text)});
    pd_lines_next(&lines);
    return lines;
}

TEST(numbers_are_read_whole_or_refused)
{
    for (table_rows r = {0}; rows_next(&r, "numbers", "in lines");) {
        char *text = r.cells[0], said[100] = "-";
        text[rows_bytes(text)] = 0;
        pd_lines lines = line_of(text);
        int64_t decimal = 77;
        uint64_t hex = 77;
        if (pd_lines_decimal(&lines, &decimal))
            snprintf(said, sizeof said, "%" PRId64 ", %zu left", decimal, lines.rest.len);
        else
            CHECK_MSG(decimal == 77 && lines.rest.len == strlen(text), "\"%s\"", text);
        CHECK_MSG(!strcmp(said, r.cells[1]), "\"%s\": %s", text, said);
        lines = line_of(text);
        bool is_hex = pd_lines_hex(&lines, &hex);
        snprintf(said, sizeof said, is_hex ? "%" PRIx64 : "-", hex);
        CHECK_MSG(!strcmp(said, r.cells[2]) && (is_hex || hex == 77), "\"%s\": %s", text, said);
    }
}

/* The sums are scale_test.c's. */
TEST(unsampling)
{
    for (table_rows r = {0}; rows_next(&r, "numbers", "unsampling");) {
        int64_t objects = strtoll(r.cells[1], NULL, 10), bytes = strtoll(r.cells[2], NULL, 10);
        char said[100];
        pd_unsample(strtoull(r.cells[0], NULL, 10), &objects, &bytes);
        snprintf(said, sizeof said, "%" PRId64 " %" PRId64, objects, bytes);
        CHECK_MSG(!strcmp(said, r.cells[3]), "%s by %s: %s", r.cells[1], r.cells[0], said);
    }
}

/* The way of one text through the library: as a profile by itself, as base and as window. */
static pprofdelta_status whole_way(const char *text, size_t len, tracker *memory, arena *a,
                                   pprofdelta_error *err)
{
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.flags = PPROFDELTA_VERIFY;
    options.compression = PPROFDELTA_PLAIN;
    collector c = {.bytes = buf_begin(a)};
    const uint8_t *out;
    size_t out_len;
    pprofdelta_profile *profile = NULL;
    pprofdelta *pd = NULL;
    pprofdelta_status status =
        pprofdelta_profile_open(&options, tracking(memory), text, len, &profile, err);
    if (!status)
        status = pprofdelta_profile_bytes(profile, &out, &out_len, err);
    pprofdelta_profile_free(profile);
    if (!status)
        status = pprofdelta_new(&options, tracking(memory), &pd, err);
    if (!status)
        status = pprofdelta_base(pd, text, len, err);
    if (!status)
        status = pprofdelta_window(pd, text, len, collecting(&c), NULL, err);
    pprofdelta_free(pd);
    CHECK(!memory->live);
    CHECK(!status == (c.calls > 0));
    return status;
}

TEST(every_allocation_that_fails)
{
    static const char *const texts[] = {gperftools, jemalloc};
    for (size_t i = 0; i < 2; i++) {
        bool is_done = false;
        for (size_t n = 1; !is_done; n++) {
            ENDS(arena_free) arena a = {0};
            tracker memory = {.fail_at = n};
            pprofdelta_error err = {.status = PPROFDELTA_OK};
            pprofdelta_status status = whole_way(texts[i], strlen(texts[i]), &memory, &a, &err);
            is_done = !memory.refused;
            CHECK(status == (is_done ? PPROFDELTA_OK : PPROFDELTA_E_MEMORY));
            CHECK(err.status == status);
        }
    }
}

/* Only the whole of these is whole: without the last line, stacks have no mapping. */
TEST(every_prefix_fails_cleanly_or_is_whole)
{
    static const char *const texts[] = {gperftools, jemalloc};
    for (size_t i = 0; i < 2; i++) {
        size_t len = strlen(texts[i]);
        for (size_t cut = 0; cut <= len; cut++) {
            ENDS(arena_free) arena a = {0};
            tracker memory = {0};
            pprofdelta_error err;
            /* Where it ends is where the allocation ends, so that a sanitizer sees one byte
             * more. */
            char *copy = malloc(cut + !cut);
            REQUIRE(copy);
            memcpy(copy, texts[i], cut);
            pprofdelta_status status = whole_way(copy, cut, &memory, &a, &err);
            CHECK_MSG(!status == (cut == len), "%zu of %zu", cut, len);
            CHECK(!status || status == PPROFDELTA_E_PROFILE || status == PPROFDELTA_E_WIRE ||
                  status == PPROFDELTA_E_MISMATCH);
            CHECK(!status || err.text[0]);
            CHECK(!status || err.offset == PPROFDELTA_NOWHERE || err.offset <= cut);
            free(copy);
        }
    }
}

/* ---- windows that are sent again ------------------------------------------------------------------- */

static buf sampled(arena *a, int objects, long bytes)
{
    buf b = buf_begin(a);
    buf_format(&b, "heap_v2/524288\n  t*: 1: 16 [%d: %ld]\n@ 0x401001\n  t*: 1: 16 [%d: %ld]\n",
               objects, bytes, objects, bytes);
    buf_text(&b, "MAPPED_LIBRARIES:\n00401000-00402000 r-xp 00001000 fe:00 10    /bin/app\n");
    return b;
}

/* The estimated objects of the window of this look. */
static int64_t objects_of(arena *a, pprofdelta *pd, buf look)
{
    collector c = {.bytes = buf_begin(a)};
    int64_t objects = -1;
    if (pprofdelta_window(pd, look.ptr, look.len, collecting(&c), NULL, NULL))
        return objects;
    Pd__View__Profile *p = view_unpack(c.bytes.ptr, c.bytes.len);
    objects = p && p->n_sample == 1 ? p->sample[0]->value[0] : 0;
    view_free(p);
    return objects;
}

static pprofdelta *context_of(arena *a, pprofdelta *last)
{
    pprofdelta *pd = NULL;
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.compression = PPROFDELTA_PLAIN;
    CHECK(!pprofdelta_new(&options, NULL, &pd, NULL));
    if (last)
        CHECK(!keep_load(pd, keep_save(a, last), NULL));
    pprofdelta_free(last);
    return pd;
}

/* Whatever a byte of the state becomes, with a correct checksum. */
static void damage(arena *a, buf state)
{
    for (size_t at = 0; at + PD_STATE_END < state.len; at++)
        for (unsigned bit = 1; bit < 256; bit *= 4) {
            pprofdelta *pd = context_of(a, NULL);
            buf copy = buf_begin(a);
            buf_add(&copy, state.ptr, state.len);
            copy.ptr[at] ^= (uint8_t)bit;
            keep_forge(copy.ptr, copy.len);
            pprofdelta_error err = {.status = PPROFDELTA_OK};
            pprofdelta_status status = keep_load(pd, copy, &err);
            CHECK(!status || (status == PPROFDELTA_E_STATE && err.text[0]));
            objects_of(a, pd, sampled(a, 9, 9 << 20));
            pprofdelta_free(pd);
        }
}

/* 1 object of 16 bytes stands for 32,769, and with one of 1 MiB, for 4. What was sent counts in the attempts
 * after it, also in another process, and not in the next window. */
TEST(an_attempt_has_at_least_what_the_one_before_had)
{
    enum { MIB = 1 << 20 };
    for (int moves = 0; moves < 2; moves++) {
        ENDS(arena_free) arena a = {0};
        ENDS(context_end) pprofdelta *pd = context_of(&a, NULL);
        CHECK(objects_of(&a, pd, sampled(&a, 1, 16)) == 32769);
        CHECK(!pprofdelta_commit(pd));
        for (int attempt = 0; attempt < 4; attempt++) {
            pd = moves ? context_of(&a, pd) : pd;
            CHECK(objects_of(&a, pd, sampled(&a, 2 + attempt, 32 + (long)attempt * MIB)) == 32769);
            if (attempt < 3)
                pprofdelta_abandon(pd);
            if (attempt == 2 && moves)
                damage(&a, keep_save(&a, pd));
        }
        CHECK(!pprofdelta_commit(pd));
        pd = moves ? context_of(&a, pd) : pd;
        CHECK(objects_of(&a, pd, sampled(&a, 6, 32 + 4L * MIB)) == 1);
        pprofdelta_abandon(pd);
    }
}

/* ---- many mappings --------------------------------------------------------------------------- */

/* A dump of so many files, in no order, with an address in each. */
static buf scattered(arena *a, size_t len)
{
    buf b = buf_begin(a);
    buf_text(&b, "heap profile: 1: 1 [1: 1] @ heapprofile\n");
    for (size_t i = 0; i < len; i++)
        buf_format(&b, "1: 1 [1: 1] @ 0x%zx\n", (i * 7919 % len + 1) * 0x1000 + 0x11);
    buf_text(&b, "MAPPED_LIBRARIES:\n");
    for (size_t i = 0; i < len; i++) {
        size_t start = (i * 6007 % len + 1) * 0x1000;
        buf_format(&b, "%zx-%zx r-xp 00000000 08:01 9 /%zx\n", start, start + 0x1000, start);
    }
    buf_text(&b, "fff0000000-fff0001000 rw-p 00000000 00:00 0 [stack]\n");
    return b;
}

static pprofdelta_status read_dump(pd_dump *dump, pd_mem *mem, buf text, pd_bytes *out)
{
    *out = (pd_bytes){text.ptr, text.len};
    return pd_dump_read(dump, mem, true, out, NULL);
}

TEST(addresses_are_in_their_mappings)
{
    ENDS(arena_free) arena a = {0};
    pd_mem mem;
    pd_dump dump = {0};
    pd_bytes out;
    pd_mem_init(&mem, NULL, UINT64_C(1) << 30);
    REQUIRE(!read_dump(&dump, &mem, scattered(&a, 1000), &out));
    Pd__View__Profile *p = view_unpack(out.ptr, out.len);
    REQUIRE(p && p->n_mapping == 1000 && p->n_location == 1000);
    for (size_t i = 0; i < p->n_location; i++) {
        const Pd__View__Location *l = p->location[i];
        const Pd__View__Mapping *m = p->mapping[l->mapping_id - 1];
        ProtobufCBinaryData name = p->string_table[m->filename];
        CHECK(m->memory_start == (l->address & ~UINT64_C(0xfff)));
        CHECK_STR(arena_format(&a, "/%llx", (unsigned long long)m->memory_start),
                  arena_format(&a, "%.*s", (int)name.len, (const char *)name.data));
    }
    view_free(p);
    pd_mem_drop(&mem);
    CHECK(!mem.used);
}

/* A search that looks at each mapping for each address does not end. */
TEST(many_addresses_are_found_among_many_mappings)
{
    ENDS(arena_free) arena a = {0};
    pd_mem mem;
    pd_dump dump = {0};
    pd_bytes out;
    pd_mem_init(&mem, NULL, UINT64_C(1) << 32);
    CHECK(!read_dump(&dump, &mem, scattered(&a, is_short_run() ? 1 << 16 : 1 << 20), &out));
    pd_mem_drop(&mem);
    CHECK(!mem.used);
}

/* The hash of an address is that of one process: who writes a dump cannot make many addresses collide. */
TEST(addresses_have_hashes_that_a_dump_cannot_know)
{
    ENDS(arena_free) arena a = {0};
    pd_mem mem;
    pd_dump dumps[2] = {0};
    pd_bytes out;
    pd_mem_init(&mem, NULL, UINT64_C(1) << 30);
    for (size_t i = 0; i < 2; i++)
        REQUIRE(!read_dump(&dumps[i], &mem, scattered(&a, 10), &out));
    for (size_t i = 0; i < 10; i++) {
        CHECK(dumps[0].model.location_keys.keys[i].hi == dumps[1].model.location_keys.keys[i].hi);
        CHECK(dumps[0].model.location_keys.keys[i].lo != dumps[1].model.location_keys.keys[i].lo);
    }
    pd_mem_drop(&mem);
}

TEST_MAIN()
