/* Bytes that are not a state, changed states, and sinks that fail: all are refused and change nothing. fuzz_state.c
 * has sources and allocations that fail. */
#include "fuzz/fuzz.h"
#include "state_stand.h"

TEST(other_files_are_named)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *says;
    } cases[] = {
        {"", 0, "cut off"},
        {"\x1f\x8b\x08\0\0\0\0\0\0\xff", 10, "not a state"},
        {"\x0a\x04\x08\x01\x10\x02", 6, "not a state"},
        {"hello, world, this is no state", 30, "not a state"},
        {"\x89PD", 3, "cut off"},
        {PD_STATE_MAGIC "\x06\0\0", 11, "cut off"},
    };
    ENDS(stand_end) stand k;
    stand_begin(&k, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pprofdelta_error err = {0};
        uint8_t bytes[32];
        memcpy(bytes, cases[i].bytes, cases[i].len);
        CHECK(keep_load(k.s.pd, (buf){.ptr = bytes, .len = cases[i].len}, &err) ==
              PPROFDELTA_E_STATE);
        CHECK_MSG(strstr(err.text, cases[i].says), "%s", err.text);
        bool is_cut_off = !strcmp(cases[i].says, "cut off");
        CHECK_MSG((err.reason == PPROFDELTA_REASON_NOT_A_STATE) != is_cut_off, "%s", err.text);
    }
    check_stands(&k);
}

/* Some bytes of the state replaced by others, with a checksum that is right. */
typedef struct forgery {
    size_t at, cut; /* so many bytes are left out */
    const char *bytes;
    size_t len;
    const char *says;
} forgery;

static const forgery forgeries[] = {
    {FORMAT, 1, "\x08", 1, "newer pprofdelta"},
    {FORMAT, 1, "\x05", 1, "older pprofdelta"},
    {TYPES, 1, "\x41", 1, "sample_type"},
    {TYPES, 1, "\0", 1, "checksum is wrong"},
    {COUNTERS, 1, "\0", 1, "no counter"},
    {COUNTERS, 1, "\x05", 1, "sample_type"},
    {COUNTERS + 1, 1, "\x81\x80\x40", 3, "text"},
    {COUNTERS + 1, 1, "\xff\xff\x3f", 3, "cut off"},
    {HAS_BASE, 1, "\x02", 1, "has_base"},
    {COMMITTED, 1, "\x03", 1, "not in order"},
    {COMMITTED + 2, 2, "\xd1\x0f", 2, "ends before it begins"},
    {COMMITTED + 8, 1, "\x64", 1, "restart"},
    {LAST, 1, "\0", 1, "not in order"},
    {LAST, 1, "\x01", 1, "not in order"},
    {LAST, 1, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, "sequence"},
    {LAST + 1, 1, "\x80\x80\x80\x80\x10", 5, "attempts"},
    {LAST + 1, 1, "\x01", 1, "not in order"},
    {LAST + 6, 2, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, "duration"},
    {PROFILE + 2, 1, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 10, "duration"},
    {PROFILE + 3, 1, "\x80\x80\x80\x80\x10", 5, "rate"},
    {MAPPINGS, 1, "\x81\x20", 2, "mapping"},
    {MAPPINGS, 1, "\x80\x20", 2, "not valid"},
    {OLD_KEYS, 1, "\x02", 1, "entry"},
    {ENTRIES, 1, "\x03", 1, "checksum is wrong"},
    {ENTRIES, 1, "\x05", 1, "cut off"},
    {ENTRIES, 1, "\x84\0", 2, "not valid"}, /* longer than it has to be */
    {ENTRIES, 1, "\x80\x80\x80\x80\x08", 5, "entry"},
    {ENTRIES, 1, "\xff\xff\xff\xff\x07", 5, "cut off"},
    {KEYS + 16, 1, "\x80\x80\x80\x80\x10", 5, "age"},
    {KEYS + 16, 1, "\x01\0\0", 3, "without an open attempt"},
    {KEYS + 17, 1, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", 10, "counter"},
    {KEYS + 17, 0, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", 10, "counter"},
};

static buf forge(arena *a, buf state, const forgery *f)
{
    buf out = buf_begin(a);
    buf_add(&out, state.ptr, f->at);
    buf_add(&out, f->bytes, f->len);
    buf_add(&out, state.ptr + f->at + f->cut, state.len - f->at - f->cut);
    keep_forge(out.ptr, out.len);
    return out;
}

TEST(inconsistent_states_are_refused)
{
    ENDS(stand_end) stand k;
    stand_begin(&k, NULL);
    for (size_t i = 0; i < sizeof forgeries / sizeof *forgeries; i++) {
        const forgery *f = &forgeries[i];
        pprofdelta_error err = {0};
        pprofdelta_status status = keep_load(k.s.pd, forge(&k.s.arena, k.saved, f), &err);
        CHECK_MSG(status == PPROFDELTA_E_STATE, "case %zu: %d", i, status);
        CHECK(err.stage == PPROFDELTA_STAGE_STATE);
        CHECK_MSG(strstr(err.text, f->says) || strstr(err.field, f->says), "case %zu: %s %s", i,
                  err.field, err.text);
        check_stands(&k);
    }
}

/* fuzz_state.c takes each as it is and with sums that are right. Its profile has the same types. */
static void check_damaged(buf state)
{
    static const uint8_t values[] = {0, 1, 2, 0x7f, 0x80, 0xff};
    for (size_t len = 0; len <= state.len; len++)
        CHECK(!LLVMFuzzerTestOneInput(state.ptr, len));
    for (size_t at = 0; at < state.len; at++) {
        const uint8_t was = state.ptr[at];
        for (size_t i = 0; i < sizeof values + 8; i++) {
            state.ptr[at] = i < 8 ? (uint8_t)(was ^ 1U << i) : values[i - 8];
            CHECK(!LLVMFuzzerTestOneInput(state.ptr, state.len));
        }
        state.ptr[at] = was;
    }
}

TEST(damaged_states_are_refused_or_can_be_used)
{
    ENDS(scene_end) scene s;
    ENDS(build_free) build b = {0};
    scene_begin(&s, NULL);
    build_types(&b, "alloc_space/bytes inuse_space/bytes");
    model_mapping *app = build_mapping(&b, 0x400000, 0x500000, 0, "/bin/app", "id-12");
    build_place(&b, "leaf", app, 0x401000);
    model_sample *leaf = build_sample(&b, "leaf main", "3 30");
    build_sample(&b, "other main", "4 40");
    scene_window(&s, build_bytes(&b));
    check_damaged(keep_save(&s.arena, s.pd));
    leaf->values[0]++;
    scene_pending(&s, build_bytes(&b));
    check_damaged(keep_save(&s.arena, s.pd)); /* with an attempt */
}

TEST(a_key_that_is_there_twice_is_refused)
{
    ENDS(stand_end) stand k;
    pprofdelta_error err = {0};
    stand_begin(&k, NULL);
    memcpy(k.saved.ptr + KEYS + 19, k.saved.ptr + KEYS, 16);
    keep_forge(k.saved.ptr, k.saved.len);
    CHECK(keep_load(k.s.pd, k.saved, &err) == PPROFDELTA_E_STATE && err.element == 1);
    CHECK_STR(err.field, "entry");
    check_stands(&k);
}

/* Else whoever wrote it could have us search for hours. */
TEST(colliding_keys_are_refused)
{
    enum { MANY = 5000 };
    ENDS(stand_end) stand k;
    ENDS(build_free) build b = {0};
    pprofdelta_error err = {0};
    stand_begin(&k, NULL);
    build_types(&b, "alloc_space/bytes");
    add_samples(&b, 0, MANY, "1");
    ENDS(scene_end) scene other;
    scene_begin(&other, NULL);
    scene_window(&other, build_bytes(&b));
    buf saved = keep_save(&k.s.arena, other.pd);
    size_t keys = saved.len - PD_STATE_END - MANY * (size_t)18; /* of 18 bytes each */
    CHECK(keep_load(k.s.pd, saved, &err) == PPROFDELTA_OK);
    for (size_t i = 0; i < MANY; i++)
        memset(saved.ptr + keys + i * 18, 7, 8);
    keep_forge(saved.ptr, saved.len);
    CHECK(keep_load(k.s.pd, saved, &err) == PPROFDELTA_E_STATE);
    CHECK_STR(err.field, "entry");
    CHECK(err.element > 4000);
}

TEST(data_after_the_end_is_refused)
{
    static const uint8_t zeros[8192 + 7];
    ENDS(stand_end) stand k;
    pprofdelta_error err = {0};
    stand_begin(&k, NULL);
    buf more = buf_begin(&k.s.arena);
    buf_add(&more, k.saved.ptr, k.saved.len);
    for (size_t i = 0; i < sizeof zeros; i += sizeof zeros - 1) {
        buf_add(&more, zeros, i + 1);
        CHECK(keep_load(k.s.pd, more, &err) == PPROFDELTA_E_STATE && err.offset == k.saved.len);
    }
    check_stands(&k);
}

/* A number that promises two thousand million entries costs no more memory than the bytes that
 * come. */
TEST(announced_sizes_allocate_nothing)
{
    const forgery many = {ENTRIES, 1, "\xff\xff\xff\xff\x07", 5, NULL};
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    tracker memory = {0};
    ENDS(stand_end) stand k;
    pprofdelta *pd;
    stand_begin(&k, NULL);
    REQUIRE(pprofdelta_new(&options, tracking(&memory), &pd, NULL) == PPROFDELTA_OK);
    CHECK(keep_load(pd, forge(&k.s.arena, k.saved, &many), NULL) == PPROFDELTA_E_STATE);
    CHECK_MSG(memory.peak < 8 << 20, "%zu bytes", memory.peak);
    pprofdelta_free(pd);
    CHECK(memory.live == 0);
}

TEST(a_failing_sink_is_reported)
{
    ENDS(stand_end) stand k;
    stand_begin(&k, NULL);
    pprofdelta_status status = PPROFDELTA_E_SINK;
    for (size_t nth = 1; status; nth++) {
        collector c = {.bytes = buf_begin(&k.s.arena), .fail_at = nth};
        status = pprofdelta_save(k.s.pd, collecting(&c), NULL);
        REQUIRE(status == (c.calls >= nth ? PPROFDELTA_E_SINK : PPROFDELTA_OK));
    }
    check_stands(&k);
}

TEST_MAIN()
