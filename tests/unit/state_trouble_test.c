/* Bytes that are not a state, changed states, and sources, sinks and allocations that fail: all are
 * refused and change nothing. */
#include "state_stand.h"

#include "ledger/state_format.h"

TEST(every_prefix_is_refused)
{
    stand k;
    stand_begin(&k, NULL);
    for (size_t len = 0; len < k.saved.len; len++) {
        pprofdelta_error err = {0};
        uint8_t *copy =
            arena_alloc(&k.s.arena, len); /* of that size: a sanitizer watches its end */
        memcpy(copy, k.saved.ptr, len);
        CHECK_MSG(keep_load(k.s.pd, (buf){.ptr = copy, .len = len}, &err) == PPROFDELTA_E_STATE,
                  "%zu bytes", len);
        CHECK(err.status == PPROFDELTA_E_STATE && strcmp(err.stage, "state") == 0 && *err.text);
    }
    check_stands(&k);
    stand_end(&k);
}

TEST(every_changed_bit_is_refused)
{
    stand k;
    stand_begin(&k, NULL);
    for (size_t bit = 0; bit < k.saved.len * 8; bit++) {
        k.saved.ptr[bit / 8] ^= (uint8_t)(1 << bit % 8);
        CHECK_MSG(keep_load(k.s.pd, k.saved, NULL) == PPROFDELTA_E_STATE, "bit %zu", bit);
        k.saved.ptr[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    check_stands(&k);
    stand_end(&k);
}

TEST(other_files_are_named)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *says;
    } cases[] = {
        {"", 0, "empty"},
        {"\x1f\x8b\x08\0\0\0\0\0\0\xff", 10, "looks like a profile"},
        {"\x0a\x04\x08\x01\x10\x02", 6, "looks like a profile"},
        {"hello, world, this is no state", 30, "not a state"},
        {"\x89PD", 3, "cut off"},
        {PD_STATE_MAGIC "\x01\0\0", 11, "cut off"},
    };
    stand k;
    stand_begin(&k, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pprofdelta_error err = {0};
        uint8_t bytes[32];
        memcpy(bytes, cases[i].bytes, cases[i].len);
        CHECK(keep_load(k.s.pd, (buf){.ptr = bytes, .len = cases[i].len}, &err) ==
              PPROFDELTA_E_STATE);
        CHECK_MSG(strstr(err.text, cases[i].says), "%s", err.text);
        bool is_cut_off = !strcmp(cases[i].says, "cut off") || !cases[i].len;
        CHECK_MSG((err.reason == PPROFDELTA_REASON_NOT_A_STATE) != is_cut_off, "%s", err.text);
    }
    check_stands(&k);
    stand_end(&k);
}

/* A number in the head or behind it, overwritten, with sums that are right. */
typedef struct forgery {
    size_t at;
    int bytes;
    uint64_t value;
    const char *says;
} forgery;

static const forgery forgeries[] = {
    {PD_STATE_AT_FORMAT, 4, PD_STATE_FORMAT + 1, "newer pprofdelta"},
    {PD_STATE_AT_FORMAT, 4, PD_STATE_FORMAT - 1, "older pprofdelta"},
    {PD_STATE_AT_FORMAT, 4, UINT32_MAX, "newer pprofdelta"},
    {PD_STATE_AT_FORMAT, 4, 0, "no pprofdelta wrote"},
    {PD_STATE_AT_HEAD, 4, 0, "damaged"},
    {PD_STATE_AT_HEAD, 4, 16, "damaged"},
    {PD_STATE_AT_HEAD, 4, 24, "too short"},
    {PD_STATE_AT_HEAD, 4, MAPPINGS - 8, "not valid"},
    {PD_STATE_AT_HEAD, 4, MAPPINGS + 8, "not valid"},
    {PD_STATE_AT_HEAD, 4, MAPPINGS + 1, "damaged"},
    {PD_STATE_AT_HEAD, 4, UINT32_MAX - 7, "damaged"},
    {PD_STATE_AT_HEAD, 4, 1 << 20, "cut off"},
    {PD_STATE_AT_SEQUENCE, 8, UINT64_MAX, "not in order"},
    {PD_STATE_AT_LAST_SEQUENCE, 8, UINT64_MAX, "sequence number"},
    {PD_STATE_AT_LAST_SEQUENCE, 8, 1, "not in order"},
    {PD_STATE_AT_LAST_SEQUENCE, 8, 0, "not in order"},
    {PD_STATE_AT_LAST_FROM, 8, 2001, "ends before it begins"},
    {PD_STATE_AT_LAST_RESTART, 4, PPROFDELTA_RESTART_LIVE + 1, "kind of restart"},
    {PD_STATE_AT_LAST_RESTART + 4, 4, 1, "padding"},
    {PD_STATE_AT_LAST_DURATION, 8, UINT64_MAX, "negative"},
    {PD_STATE_AT_COMMITTED, 8, 3, "no window is open"},
    {PD_STATE_AT_COMMITTED, 8, 5, "not valid"},
    {PD_STATE_AT_TRIED, 8, 1, "no window is open"},
    {PD_STATE_AT_TRIED, 8, UINT64_MAX, "not valid"},
    {PD_STATE_AT_FROM, 8, 2001, "ends before it begins"},
    {PD_STATE_AT_ENTRIES, 8, 5, "no window is open"},
    {PD_STATE_AT_ENTRIES, 8, 3, NULL},
    {PD_STATE_AT_ENTRIES, 8, 0, "not valid"},
    {PD_STATE_AT_ENTRIES, 8, UINT32_MAX / 2, "no window is open"},
    {PD_STATE_AT_ENTRIES, 8, UINT64_MAX, "not valid"},
    {PD_STATE_AT_UNSEEN, 8, 0, "checksum is wrong"},
    {PD_STATE_AT_UNSEEN, 8, 2, NULL},
    {PD_STATE_AT_UNSEEN, 8, 5, "not valid"},
    {PD_STATE_AT_UNSEEN, 8, UINT64_MAX, "not valid"},
    {PD_STATE_AT_HAS_BASE, 4, 0, NULL},
    {PD_STATE_AT_HAS_BASE, 4, 2, "flag"},
    {PD_STATE_AT_RESTART, 4, PPROFDELTA_RESTART_LIVE + 1, "kind of restart"},
    {PD_STATE_AT_TYPES, 4, 0, "marked as empty"},
    {PD_STATE_AT_TYPES, 4, 65, "numbers of types"},
    {PD_STATE_AT_TYPES, 4, 64, "not valid"},
    {PD_STATE_AT_TYPES, 4, 3, "not valid"},
    {PD_STATE_AT_COUNTERS, 4, 0, "numbers of types"},
    {PD_STATE_AT_COUNTERS, 4, 5, "numbers of types"},
    {PD_STATE_AT_COUNTERS, 4, 3, NULL},
    {PD_STATE_AT_BUILD_ID, 4, 6, NULL}, /* into the padding */
    {PD_STATE_AT_BUILD_ID, 4, 13, "not valid"},
    {PD_STATE_AT_BUILD_ID, 4, UINT32_MAX, "not valid"},
    {PD_STATE_AT_BINARY, 8, 0, "not valid"},
    {PD_STATE_AT_BINARY, 8, 9, NULL}, /* into the padding */
    {PD_STATE_AT_BINARY, 8, 1000, "not valid"},
    {PD_STATE_AT_BINARY, 8, UINT64_MAX, "not valid"},
    {PD_STATE_AT_RATE, 4, UINT32_MAX, NULL},
    {PD_STATE_AT_MAPPED, 8, 0, NULL},
    {PD_STATE_AT_MAPPED, 8, 2, NULL},
    {PD_STATE_AT_MAPPED, 8, 4096, "cut off"},
    {PD_STATE_AT_MAPPED, 8, 4097, "too many mappings"},
    {PD_STATE_AT_MAPPED, 8, UINT64_MAX, "too many mappings"},
    {PD_STATE_AT_DURATION, 8, INT64_MAX, NULL},
    {PD_STATE_AT_DURATION, 8, UINT64_MAX, "negative"},
    {PD_STATE_AT_LIVE_ID, 8, UINT64_MAX, NULL},
    {PD_STATE_AT_LIVE_TO, 8, UINT64_MAX, NULL},
    {PD_STATE_AT_ATTEMPTS, 8, UINT32_MAX, "not in order"},
    {PD_STATE_AT_ATTEMPTS, 8, UINT64_C(1) << 32, "number of attempts"},
    {PD_STATE_AT_ATTEMPTS, 8, UINT64_MAX, "number of attempts"},
    {PD_STATE_FIXED, 4, UINT32_MAX, "not valid"},
    {PD_STATE_FIXED + 28, 4, 1000, "not valid"},
    {HEAD_SUM - 1, 1, 1, "padding"},
    {WIDTHS, 1, 2, NULL}, /* into the next counter */
    {WIDTHS, 1, 9, "at most 8 bytes"},
    {WIDTHS + 1, 1, 0, "ascending order"},
    {WIDTHS + 1, 1, 8, "cut off"},
    {WIDTHS + 1, 1, 255, "at most 8 bytes"},
    {ENTRIES + 16, 8, 0, NULL},
    {COUNTERS, 4, 0, "need fewer bytes"},
    {COUNTERS, 4, UINT32_MAX, NULL},
    {UNSEEN, 4, 4, "ascending order"},
    {UNSEEN, 4, UINT32_MAX, "ascending order"},
    {UNSEEN + 4, 4, 0, "ascending order"},
    {UNSEEN + 4, 4, UINT32_MAX, "ascending order"},
};

static buf forge(arena *a, buf state, const forgery *f)
{
    buf out = buf_begin(a);
    buf_add(&out, state.ptr, state.len);
    for (int i = 0; i < f->bytes; i++)
        out.ptr[f->at + (size_t)i] = (uint8_t)(f->value >> 8 * i);
    keep_forge(out.ptr, out.len);
    return out;
}

/* Where a forgery is no contradiction (NULL), it may be taken; then the state is used. */
TEST(inconsistent_states_are_refused)
{
    for (size_t i = 0; i < sizeof forgeries / sizeof *forgeries; i++) {
        const forgery *f = &forgeries[i];
        stand k;
        pprofdelta_error err = {0};
        stand_begin(&k, NULL);
        pprofdelta_status status = keep_load(k.s.pd, forge(&k.s.arena, k.saved, f), &err);
        if (f->says) {
            CHECK_MSG(status == PPROFDELTA_E_STATE, "case %zu: %d", i, status);
            CHECK_MSG(strstr(err.text, f->says) || strstr(err.field, f->says), "case %zu: %s %s", i,
                      err.field, err.text);
        } else if (!status) {
            scene_window(&k.s, look_of(&k, 9000, "8 80 0 0", "fresh main"));
        }
        if (status)
            check_stands(&k);
        stand_end(&k);
    }
}

TEST(a_key_that_is_there_twice_is_refused)
{
    stand k;
    pprofdelta_error err = {0};
    stand_begin(&k, NULL);
    memcpy(k.saved.ptr + ENTRIES + (size_t)48, k.saved.ptr + ENTRIES + (size_t)16, 16);
    keep_forge(k.saved.ptr, k.saved.len);
    CHECK(keep_load(k.s.pd, k.saved, &err) == PPROFDELTA_E_STATE);
    CHECK(err.element == 3 && err.offset == ENTRIES + 3 * 16);
    CHECK_STR(err.field, "entry");
    check_stands(&k);
    stand_end(&k);
}

/* Else whoever wrote it could have us search for hours. */
TEST(colliding_keys_are_refused)
{
    enum { MANY = 5000 };
    stand k;
    build b = {0};
    pprofdelta_error err = {0};
    stand_begin(&k, NULL);
    build_types(&b, "alloc_space/bytes");
    add_samples(&b, 0, MANY, "1");
    scene other;
    scene_begin(&other, NULL);
    scene_window(&other, build_bytes(&b));
    buf saved = keep_save(&k.s.arena, other.pd);
    size_t keys = saved.ptr[PD_STATE_AT_HEAD] | (size_t)saved.ptr[PD_STATE_AT_HEAD + 1] << 8;
    CHECK(keep_load(k.s.pd, saved, &err) == PPROFDELTA_OK);
    for (size_t i = 0; i < MANY; i++)
        memset(saved.ptr + keys + i * 16, 7, 8);
    keep_forge(saved.ptr, saved.len);
    CHECK(keep_load(k.s.pd, saved, &err) == PPROFDELTA_E_STATE);
    CHECK_STR(err.field, "entry");
    CHECK(err.element > 4000 && err.offset == keys + err.element * 16);
    scene_end(&other);
    build_free(&b);
    stand_end(&k);
}

TEST(data_after_the_end_is_refused)
{
    static const uint8_t zeros[PD_STATE_CHUNK + 7];
    stand k;
    pprofdelta_error err = {0};
    stand_begin(&k, NULL);
    buf more = buf_begin(&k.s.arena);
    buf_add(&more, k.saved.ptr, k.saved.len);
    for (size_t i = 0; i < sizeof zeros; i += sizeof zeros - 1) {
        buf_add(&more, zeros, i + 1);
        CHECK(keep_load(k.s.pd, more, &err) == PPROFDELTA_E_STATE && err.offset == k.saved.len);
    }
    check_stands(&k);
    stand_end(&k);
}

/* A head that promises two thousand million entries costs no more memory than the bytes that
 * come. */
TEST(announced_sizes_allocate_nothing)
{
    forgery many = {PD_STATE_AT_ENTRIES, 8, UINT32_MAX / 2, NULL};
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    tracker memory = {0};
    pprofdelta_allocator allocator = tracker_allocator(&memory);
    stand k;
    pprofdelta *pd;
    stand_begin(&k, NULL);
    REQUIRE(pprofdelta_new(&options, &allocator, &pd, NULL) == PPROFDELTA_OK);
    CHECK(keep_load(pd, forge(&k.s.arena, k.saved, &many), NULL) == PPROFDELTA_E_STATE);
    CHECK_MSG(memory.peak < 8 << 20, "%zu bytes", memory.peak);
    pprofdelta_free(pd);
    CHECK(memory.live == 0);
    stand_end(&k);
}

TEST(a_source_that_fails_changes_nothing)
{
    stand k;
    stand_begin(&k, NULL);
    pprofdelta_status status = PPROFDELTA_E_SOURCE;
    for (size_t nth = 1; status; nth++) {
        pprofdelta_error err = {0};
        keep_source s = {.ptr = k.saved.ptr, .len = k.saved.len, .step = 7, .fail_at = nth};
        pprofdelta_source source = keep_source_of(&s);
        status = pprofdelta_load(k.s.pd, &source, &err);
        REQUIRE(status == (s.calls >= nth ? PPROFDELTA_E_SOURCE : PPROFDELTA_OK));
        CHECK(err.status == status);
        check_stands(&k);
    }
    pprofdelta_source none = {NULL, NULL};
    CHECK(pprofdelta_load(k.s.pd, &none, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_load(k.s.pd, NULL, NULL) == PPROFDELTA_E_USAGE);
    stand_end(&k);
}

TEST(a_failing_sink_is_reported)
{
    stand k;
    stand_begin(&k, NULL);
    pprofdelta_status status = PPROFDELTA_E_SINK;
    for (size_t nth = 1; status; nth++) {
        collector c = {.bytes = buf_begin(&k.s.arena), .fail_at = nth};
        pprofdelta_sink sink = collector_sink(&c);
        status = pprofdelta_save(k.s.pd, &sink, NULL);
        REQUIRE(status == (c.calls >= nth ? PPROFDELTA_E_SINK : PPROFDELTA_OK));
    }
    CHECK(pprofdelta_save(k.s.pd, NULL, NULL) == PPROFDELTA_E_USAGE);
    check_stands(&k);
    stand_end(&k);
}

TEST(every_failed_allocation_of_a_load_changes_nothing)
{
    stand k;
    stand_begin(&k, NULL);
    bool refused = true;
    for (size_t nth = 1; refused; nth++) {
        tracker memory = {0};
        pprofdelta_allocator allocator = tracker_allocator(&memory);
        scene s;
        scene_begin(&s, NULL);
        pprofdelta_free(s.pd);
        REQUIRE(pprofdelta_new(NULL, &allocator, &s.pd, NULL) == PPROFDELTA_OK);
        scene_window(&s, look_of(&k, 7, "1 10 1 10", "gone main"));
        memory.fail_at = memory.calls + nth;
        pprofdelta_status status = keep_load(s.pd, k.saved, NULL);
        refused = memory.refused > 0;
        memory.fail_at = 0;
        CHECK_MSG(status == (refused ? PPROFDELTA_E_MEMORY : PPROFDELTA_OK), "allocation %zu", nth);
        scene_pending(&s, look_of(&k, 3000, "8 80 0 0", "gone main"));
        CHECK(s.report.sequence == (refused ? 2 : 3));
        scene_end(&s);
        CHECK(memory.live == 0);
    }
    stand_end(&k);
}

TEST_MAIN()
