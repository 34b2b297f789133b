/* Tables compared with the pprof output of the same windows, on every door; who owns them; and what cannot be
 * written. */
#include "delta_stage.h"
#include "otlp_model.h"
#include "seeds.h"
#include "table_reader.h"

#include "pprofdelta_heap.h"
#include "pprofdelta_profile.h"
#include "pprofdelta_record.h"
#include "profile/arrow.h"

#include <dirent.h>

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
    seed_range range = slow_seeds(60);
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

TEST(ids_are_the_same_wherever_the_program_is_loaded)
{
    static const char *const files[] = {"valid/heap.1.pb.gz",  "valid/heap.2.pb.gz",
                                        "valid/mutex.1.pb.gz", "valid/mutex.2.pb.gz",
                                        "valid/block.1.pb.gz", "valid/block.2.pb.gz"};
    ENDS(arena_free) arena a = {0};
    ENDS(both_end) both b = {0};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        pprofdelta_status status;
        pprofdelta_free(b.pprof);
        pprofdelta_free(b.tables);
        both_begin(&b, (pprofdelta_options)PPROFDELTA_OPTIONS_INIT, &a); /* the ids stay */
        const char *wrong = both_window(&b, &a, testdata_file(&a, files[i]), &status);
        CHECK_MSG(!wrong && !status, "%s: %s", files[i], wrong);
    }
}

TEST(hostile_profiles_give_no_tables)
{
    ENDS(arena_free) arena a = {0};
    DIR *folder = opendir(PD_TESTDATA "/hostile");
    size_t refused = 0;
    REQUIRE(folder);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        ENDS(both_end) both b = {0};
        char name[512];
        pprofdelta_status status;
        snprintf(name, sizeof name, "hostile/%s", entry->d_name);
        buf profile = testdata_file(&a, name);
        both_begin(&b, (pprofdelta_options)PPROFDELTA_OPTIONS_INIT, &a);
        if (!profile.len)
            continue;
        const char *wrong = both_window(&b, &a, profile, &status);
        CHECK_MSG(!wrong, "%s: %s", name, wrong);
        refused += status != PPROFDELTA_OK;
    }
    closedir(folder);
    CHECK(refused > 20);
}
TEST_MAIN()
