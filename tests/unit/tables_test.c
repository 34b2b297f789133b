/* Tables compared with the pprof output of the same windows, on every door; who owns them; and what cannot be
 * written. Every door also writes a request, of which the form is checked. */
#include "delta_stage.h"
#include "otlp_form.h"
#include "otlp_model.h"
#include "seeds.h"
#include "table_reader.h"

#include "pprofdelta_heap.h"
#include "pprofdelta_profile.h"
#include "pprofdelta_record.h"
#include "encode/arrow.h"

/* A window in both formats. */
typedef struct both {
    pprofdelta *pprof, *tables;
    collector bytes;
    table_mail mail;
    table_ids ids;
    pprofdelta_report report;
    pprofdelta_error err;
} both;

static void both_begin(both *b, pprofdelta_options o, arena *a)
{
    pprofdelta_options as_tables = o;
    as_tables.format = PPROFDELTA_TABLES;
    b->bytes.bytes = buf_begin(a);
    b->report.size = sizeof b->report;
    CHECK(!pprofdelta_new(&o, NULL, &b->pprof, NULL));
    CHECK(!pprofdelta_new(&as_tables, NULL, &b->tables, NULL));
}

/* The contexts end before the tables. */
static void both_end(both *b)
{
    pprofdelta_free(b->pprof);
    pprofdelta_free(b->tables);
    b->pprof = b->tables = NULL;
    tables_release(&b->mail);
    table_ids_free(&b->ids);
}

/* NULL if both agree. A window that is OK is under way. */
static const char *both_window(both *b, arena *a, buf profile, pprofdelta_status *status)
{
    pprofdelta_sink sink = collector_sink(&b->bytes), tables = table_sink(&b->mail);
    size_t calls = b->mail.calls;
    b->bytes.bytes = buf_begin(a);
    *status = pprofdelta_window(b->pprof, profile.ptr, profile.len, &sink, NULL, NULL);
    if (*status !=
        pprofdelta_window(b->tables, profile.ptr, profile.len, &tables, &b->report, &b->err))
        return "only one of the two fails";
    if (b->mail.calls != calls + !*status)
        return "how often the sink was called";
    return *status ? NULL : tables_differ(a, &b->ids, b->bytes.bytes, &b->mail.got);
}

static int64_t first_number(const both *b, const char *column)
{
    const struct ArrowArray *array = table_column(&b->mail.got.samples, column);
    return array->null_count ? -1 : *(const int64_t *)array->buffers[1];
}

static const char *differ_in_stamp(const both *b)
{
    const pprofdelta_report *r = &b->report;
    const pprofdelta_table *samples = &b->mail.got.samples;
    if (!samples->array.length)
        return NULL;
    char id[17];
    const struct ArrowArray *target = table_column(samples, "target")->dictionary;
    snprintf(id, sizeof id, "%016" PRIx64, r->id);
    if (target->length != 1 || memcmp(target->buffers[2], id, 16) != 0)
        return "target";
    if (first_number(b, "from") != (r->from_nanos ? r->from_nanos : -1) ||
        first_number(b, "time") != (r->to_nanos ? r->to_nanos : -1))
        return "the times";
    if (first_number(b, "sequence") != (int64_t)r->sequence ||
        first_number(b, "attempt") != (int64_t)r->attempt)
        return "sequence or attempt";
    bool restart = *(const uint8_t *)table_column(samples, "restart")->buffers[1] & 1;
    return restart != (r->restart != PPROFDELTA_RESTART_NONE) ? "restart" : NULL;
}

TEST(windows_say_what_pprof_says)
{
    seed_range range = slow_seeds(30);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        ENDS(stage_end) stage s;
        ENDS(both_end) both b = {0};
        stage_begin(&s, seed + 8000000);
        s.options.id = seed + 1;
        both_begin(&b, s.options, &s.arena);
        for (int i = 0; i < 4; i++) {
            pprofdelta_status status;
            buf profile = look(&s);
            if (rng_chance(&s.rng, 30))
                profile = otlp_request_of(&s.arena, &s.options, profile);
            const char *wrong = both_window(&b, &s.arena, profile, &status);
            AGREE(seed, wrong);
            bool has_stamp = !(s.options.flags & (PPROFDELTA_NO_STAMP | PPROFDELTA_NO_SEQUENCE));
            if (!status && has_stamp)
                AGREE(seed, differ_in_stamp(&b));
            bool commits = rng_chance(&s.rng, 60);
            if (commits && !status) {
                CHECK(!pprofdelta_commit(b.pprof) && !pprofdelta_commit(b.tables));
            } else {
                pprofdelta_abandon(b.pprof);
                pprofdelta_abandon(b.tables);
            }
            gen_evolve(&s.g, GEN_ANYTHING);
        }
    }
}

/* ---- the other doors --------------------------------------------------------------------------- */

static pprofdelta_status build_window(pprofdelta_format format, const pprofdelta_sink *sink)
{
    static const pprofdelta_value_type types[] = {{"cpu", "nanoseconds", 1}, {"cpu", "count", 1}};
    pprofdelta_builder_options o = PPROFDELTA_BUILDER_OPTIONS_INIT;
    pprofdelta_builder *b;
    o.types = types;
    o.types_len = 2;
    o.format = format;
    CHECK(!pprofdelta_builder_new(&o, NULL, &b, NULL));
    for (uint64_t i = 0; i < 20; i++) {
        const pprofdelta_frame frames[] = {
            {.name = "leaf\xff", .filename = "a.py", .line = (int64_t)(i % 3)}, {.name = "main"}};
        const uint64_t addresses[] = {0, 4000 + i % 4};
        const pprofdelta_label label = {.key = "thread", .str = i % 2 ? "main" : NULL, .num = 3};
        const int64_t values[] = {i % 2 ? 0 : 5, i % 2 ? 5 : 0};
        const pprofdelta_sample sample = {frames, addresses, 2, values, &label, 1};
        CHECK(!pprofdelta_builder_add(b, &sample, NULL));
    }
    CHECK(!pprofdelta_builder_begin(b, NULL));
    pprofdelta_status status = pprofdelta_builder_write(b, sink, NULL, NULL);
    CHECK(pprofdelta_builder_commit(b) == (status ? PPROFDELTA_E_USAGE : PPROFDELTA_OK));
    pprofdelta_builder_free(b);
    return status;
}

/* Two addresses of this program, which has a file, and one in no file. */
static uint64_t stack[] = {0, 0, 7};

static pprofdelta_status record_window_of(pprofdelta_format format, const pprofdelta_sink *sink)
{
    pprofdelta_recorder_options o = PPROFDELTA_RECORDER_OPTIONS_INIT;
    pprofdelta_recorder *r;
    pprofdelta_record record = {.stack = stack, .depth = 3, .block_size = 16};
    o.format = format;
    CHECK(!pprofdelta_recorder_new(&o, NULL, &r, NULL));
    CHECK(!pprofdelta_recorder_begin(r, NULL, NULL));
    for (int64_t i = 1; i < 4; i++, record.depth--) {
        record.values = (const int64_t[]){i, i, i, i};
        CHECK(!pprofdelta_recorder_add(r, &record, NULL));
    }
    pprofdelta_status status = pprofdelta_recorder_write(r, sink, NULL, NULL);
    pprofdelta_recorder_free(r);
    return status;
}

static pprofdelta_status heap_window_of(pprofdelta_format format, const pprofdelta_sink *sink)
{
    pprofdelta_heap_options o = PPROFDELTA_HEAP_OPTIONS_INIT;
    pprofdelta_heap *heap;
    pprofdelta_heap_event event = {.weight = {2, 100}, .stack = stack, .depth = 3};
    o.format = format;
    o.flags = PPROFDELTA_HEAP_AGES;
    o.max_retry = 1;
    CHECK(!pprofdelta_heap_new(&o, &heap, NULL));
    for (size_t i = 1; i < 4; i++, event.depth--) {
        event.ptr = &stack[i - 1];
        CHECK(pprofdelta_heap_track(heap, &event));
    }
    CHECK(!pprofdelta_heap_begin(heap, 1000, NULL, NULL));
    pprofdelta_heap_abandon(heap);                   /* it is lost */
    CHECK(pprofdelta_heap_untrack(heap, &stack[1])); /* another sample of its stack */
    CHECK(!pprofdelta_heap_begin(heap, 2000, NULL, NULL));
    pprofdelta_status status = pprofdelta_heap_write(heap, PPROFDELTA_HEAP_BY_FORMAT, sink, NULL);
    pprofdelta_heap_free(heap); /* before its tables */
    return status;
}

static buf given; /* for the two below */

static pprofdelta_status rewritten(pprofdelta_format format, const pprofdelta_sink *sink)
{
    pprofdelta_options o = PPROFDELTA_OPTIONS_INIT;
    pprofdelta_profile *profile;
    o.format = format;
    CHECK(!pprofdelta_profile_open(&o, NULL, given.ptr, given.len, &profile, NULL));
    pprofdelta_status status = pprofdelta_profile_rewrite(profile, sink, NULL);
    pprofdelta_profile_free(profile);
    return status;
}

static pprofdelta_status added_up(pprofdelta_format format, const pprofdelta_sink *sink)
{
    pprofdelta_options o = PPROFDELTA_OPTIONS_INIT;
    pprofdelta_adder *adder;
    o.format = format;
    CHECK(!pprofdelta_adder_new(&o, NULL, &adder, NULL));
    CHECK(!pprofdelta_adder_add(adder, given.ptr, given.len, NULL, NULL));
    pprofdelta_status status = pprofdelta_adder_finish(adder, sink, NULL);
    pprofdelta_adder_free(adder);
    return status;
}

TEST(each_door_hands_over_what_it_writes)
{
    static pprofdelta_status (*const doors[])(pprofdelta_format, const pprofdelta_sink *) = {
        build_window, record_window_of, heap_window_of, rewritten, added_up};
    ENDS(arena_free) arena a = {0};
    ENDS(table_ids_free) table_ids ids = {0};
    given = testdata_file(&a, "valid/mutex.1.pb.gz"); /* no two samples are equal */
    stack[0] = (uint64_t)(uintptr_t)stack;
    stack[1] = (uint64_t)(uintptr_t)added_up;
    for (size_t i = 0; i < sizeof doors / sizeof *doors; i++) {
        collector bytes = {.bytes = buf_begin(&a)}, request = {.bytes = buf_begin(&a)};
        table_mail mail = {0}, refusing = {.answer = 1};
        pprofdelta_sink sink = collector_sink(&bytes), tables = table_sink(&mail),
                        no = table_sink(&refusing), otlp = collector_sink(&request);
        CHECK(!doors[i](PPROFDELTA_PPROF, &sink) && !doors[i](PPROFDELTA_TABLES, &tables));
        const char *wrong = tables_differ(&a, &ids, bytes.bytes, &mail.got);
        CHECK_MSG(!wrong && mail.calls == 1, "door %zu: %s", i, wrong);
        CHECK(!doors[i](PPROFDELTA_OTLP, &otlp));
        wrong = otlp_form_wrong_bytes(&a, request.bytes.ptr, request.bytes.len);
        CHECK_MSG(!wrong, "door %zu: %s", i, wrong);
        CHECK(doors[i](PPROFDELTA_TABLES, &no) == PPROFDELTA_E_SINK);
        CHECK(doors[i](PPROFDELTA_TABLES, &sink) == PPROFDELTA_E_USAGE);
        CHECK(doors[i](PPROFDELTA_PPROF, &tables) == PPROFDELTA_E_USAGE);
        tables_release(&mail);
        tables_release(&refusing);
    }
}

/* ---- names ------------------------------------------------------------------------------------- */

TEST(columns_have_names_of_their_own)
{
    static const char *const want[] = {"time/x", "a/b", "a/c", "a/b/2", "/n", "plain", "labels"};
    build b = {0};
    ENDS(both_end) both two = {0};
    pprofdelta_options o = PPROFDELTA_OPTIONS_INIT;
    const pprofdelta_attribute resource[] = {
        {"target", "first"}, {"target", "that\xff"}, {"service.name", "x"}};
    const char *const counters[] = {"a"};
    pprofdelta_status status;
    o.counters = counters;
    o.counters_len = 1;
    o.resource = resource;
    o.resource_len = 3;
    o.flags = PPROFDELTA_ABSENT_TYPES;
    build_types(&b, "time/x a/b a/c a/b /n plain/n");
    build_sample(&b, "leaf main", "1 2 3 4 5 6");
    both_begin(&two, o, &b.arena);
    const char *wrong = both_window(&two, &b.arena, build_bytes(&b), &status);
    CHECK_MSG(!wrong && !status, "%s, %s", wrong, two.err.text);
    for (int64_t i = 0; i < 7 && !status; i++)
        CHECK_STR(two.mail.got.samples.schema.children[7 + i]->name, want[i]);
    if (!status)
        CHECK(!memcmp(table_column(&two.mail.got.samples, "target")->dictionary->buffers[2],
                      "that\xef\xbf\xbd", 7));
    build_free(&b);
}

/* ---- ownership --------------------------------------------------------------------------------- */

/* A window in two attempts, of which each may fail; the tables outlive the context. */
static void fail_at(arena *a, both *want, buf profile, size_t nth, bool is_alone, bool *has_failed)
{
    tracker memory = {.fail_at = nth, .is_alone = is_alone};
    table_mail mail = {0};
    pprofdelta_sink sink = table_sink(&mail);
    pprofdelta_options o = PPROFDELTA_OPTIONS_INIT;
    pprofdelta *pd = NULL;
    pprofdelta_status status = PPROFDELTA_E_MEMORY;
    o.format = PPROFDELTA_TABLES;
    o.flags = PPROFDELTA_VERIFY;
    if (!pprofdelta_new(&o, tracking(&memory), &pd, NULL)) {
        CHECK(!pprofdelta_begin(pd, profile.ptr, profile.len, NULL));
        status = pprofdelta_write(pd, &sink, NULL, NULL);
        CHECK(status == (memory.refused ? PPROFDELTA_E_MEMORY : PPROFDELTA_OK) &&
              mail.calls == !status);
        memory.fail_at = 0;
        for (int again = 0; again < 2; again++) { /* the same, whatever was moved before */
            CHECK(!pprofdelta_write(pd, &sink, NULL, NULL));
            const char *wrong = tables_differ(a, &want->ids, want->bytes.bytes, &mail.got);
            CHECK_MSG(!wrong, "allocation %zu: %s", nth, wrong);
        }
        CHECK(!pprofdelta_commit(pd));
    }
    *has_failed = memory.refused > 0;
    pprofdelta_free(pd);
    CHECK(!pd || memory.live);
    tables_release(&mail);
    CHECK(!memory.live);
}

TEST(each_allocation_may_fail)
{
    ENDS(arena_free) arena a = {0};
    for (int is_alone = 0; is_alone < 2; is_alone++) {
        ENDS(both_end) both want = {0};
        pprofdelta_status status;
        bool has_failed = true;
        buf profile = testdata_file(&a, "valid/mutex.2.pb.gz");
        both_begin(&want, (pprofdelta_options)PPROFDELTA_OPTIONS_INIT, &a);
        CHECK(!both_window(&want, &a, profile, &status) && !status);
        for (size_t nth = 1; has_failed; nth += is_short_run() ? 7 : 1)
            fail_at(&a, &want, profile, nth, is_alone, &has_failed);
    }
}

TEST(tables_stay_as_they_are_when_the_next_window_is_made)
{
    static const char *const files[] = {"valid/heap.1.pb.gz", "valid/heap.2.pb.gz"};
    ENDS(arena_free) arena a = {0};
    ENDS(both_end) both b = {0};
    table_mail kept[2] = {{.calls = 0}};
    buf bytes[2];
    pprofdelta_status status;
    both_begin(&b, (pprofdelta_options)PPROFDELTA_OPTIONS_INIT, &a);
    for (size_t i = 0; i < 2; i++) {
        const char *wrong = both_window(&b, &a, testdata_file(&a, files[i]), &status);
        CHECK_MSG(!wrong && !status, "%s: %s", files[i], wrong);
        CHECK(!pprofdelta_commit(b.pprof) && !pprofdelta_commit(b.tables));
        kept[i] = b.mail;
        bytes[i] = b.bytes.bytes;
        b.mail = (table_mail){0};
    }
    for (size_t i = 0; i < 2; i++) {
        const char *wrong = tables_differ(&a, &b.ids, bytes[i], &kept[i].got);
        CHECK_MSG(!wrong, "%s: %s", files[i], wrong);
        tables_release(&kept[i]);
    }
}

static int take_a_child(void *cookie, pprofdelta_tables *tables)
{
    struct ArrowArray *stacks = tables->samples.array.children[6];
    *(struct ArrowArray *)cookie = *stacks;
    stacks->release = NULL;
    return 1;
}

TEST(a_child_lives_without_its_parent)
{
    ENDS(arena_free) arena a = {0};
    tracker memory = {0};
    struct ArrowArray child = {0};
    pprofdelta_sink sink = {.tables = take_a_child, .cookie = &child};
    pprofdelta_options o = PPROFDELTA_OPTIONS_INIT;
    pprofdelta *pd;
    buf profile = testdata_file(&a, "valid/mutex.2.pb.gz");
    o.format = PPROFDELTA_TABLES;
    REQUIRE(!pprofdelta_new(&o, tracking(&memory), &pd, NULL));
    CHECK(pprofdelta_window(pd, profile.ptr, profile.len, &sink, NULL, NULL) == PPROFDELTA_E_SINK);
    pprofdelta_free(pd);
    CHECK(memory.live && child.length > 0 && ((const int64_t *)child.buffers[1])[0]);
    child.release(&child);
    CHECK(!memory.live && !child.release);
}

TEST(what_a_limit_allows_a_higher_one_allows)
{
    ENDS(arena_free) arena a = {0};
    ENDS(both_end) both want = {0};
    pprofdelta_status status;
    buf profile = testdata_file(&a, "valid/heap.2.pb.gz");
    size_t fitted = 0, refused = 0;
    both_begin(&want, (pprofdelta_options)PPROFDELTA_OPTIONS_INIT, &a);
    CHECK(!both_window(&want, &a, profile, &status));
    for (uint64_t limit = 64 << 10; limit < 4 << 20; limit += limit / (is_short_run() ? 4 : 16)) {
        table_mail mail = {0};
        pprofdelta_sink sink = table_sink(&mail);
        pprofdelta_options o = PPROFDELTA_OPTIONS_INIT;
        pprofdelta *pd;
        o.format = PPROFDELTA_TABLES;
        o.max_memory = limit;
        status = pprofdelta_new(&o, NULL, &pd, NULL);
        if (!status) {
            status = pprofdelta_window(pd, profile.ptr, profile.len, &sink, NULL, NULL);
            pprofdelta_free(pd);
        }
        CHECK(status == PPROFDELTA_OK || (status == PPROFDELTA_E_LIMIT && !fitted && !mail.calls));
        CHECK(status || !tables_differ(&a, &want.ids, want.bytes.bytes, &mail.got));
        fitted += !status;
        refused += status != PPROFDELTA_OK;
        tables_release(&mail);
    }
    CHECK(fitted && refused);
}

TEST(an_offset_does_not_overflow)
{
    struct ArrowSchema schema = {.release = NULL};
    struct ArrowArray array = {.release = NULL};
    pprofdelta_error err;
    pd_writer w = {.err = &err};
    pd_arrow arrow = {.writer = &w};
    const pd_arrow_kind kind = {.name = "name", .format = "u"};
    pd_mem_init(&arrow.mem, NULL, UINT64_MAX);
    CHECK(!pd_arrow_make(&arrow, (pd_arrow_at){&schema, &array}, &kind, 1, (size_t)INT32_MAX + 1));
    CHECK(w.status == PPROFDELTA_E_LIMIT && strstr(err.text, "2147483647"));
    CHECK(!schema.release && !array.release);
}

TEST_MAIN()
