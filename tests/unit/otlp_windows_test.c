/* Windows as OTLP compared with the same as pprof, also those of requests, and their ids: a window that is sent
 * again keeps its ids; and small rules of the writer. fuzz_delta.c and fuzz_sum.c compare pairs and sums. */
#include "delta_stage.h"
#include "keep.h"
#include "otlp_model.h"
#include "rows.h"
#include "seeds.h"

#include "base/utf8.h"
#include "pprofdelta_profile.h"

static const pprofdelta_attribute resource[] = {
    {"service.name", "first"}, {"host.name", "h\xff"}, {"service.name", "second"}, {"empty", NULL}};
static const char resource_text[] = "12'service.name'=6'second';9'host.name'=4'h\\xef\\xbf\\xbd';"
                                    "5'empty'=0'';";

static pprofdelta_options as_otlp(pprofdelta_options o)
{
    o.format = PPROFDELTA_OTLP;
    o.resource = resource;
    o.resource_len = sizeof resource / sizeof *resource;
    return o;
}

/* A window of which there is no request is not acknowledged. */
static void without_acked(otlp_model *m)
{
    char *text = (char *)(uintptr_t)m->text, *at;
    while (!m->wrong && (at = strstr(text, " acked="))) {
        size_t len = 7 + strspn(at + 7, "0123456789");
        memmove(at, at + len, strlen(at + len) + 1);
    }
    for (at = text; !m->wrong && (at = strstr(at, "'pprofdelta: ")); at++) {
        char *length = at;
        while (length > text && length[-1] != ' ')
            length--;
        memmove(length, at, strlen(at) + 1);
        at = length;
    }
}

/* NULL if the two outputs mean the same. *otlp is set. */
static const char *differ(arena *a, buf pprof, buf request, otlp_model *otlp)
{
    otlp_model meant;
    if (!otlp_model_read_pprof(a, pprof.ptr, pprof.len, &meant))
        return "the pprof output cannot be read";
    otlp_model_read(a, request.ptr, request.len, otlp);
    if (otlp->wrong)
        return otlp->wrong;
    if (!otlp->is_empty && otlp->types != meant.types)
        return "there is not one profile for each type";
    without_acked(&meant);
    without_acked(otlp);
    const char *wrong = otlp_model_differ(a, &meant, otlp);
    bool is_other = !otlp->is_empty && strcmp(otlp->resource, resource_text) != 0;
    return wrong ? wrong : is_other ? otlp->resource : NULL;
}

static bool is_twice(const otlp_model *m, size_t type)
{
    size_t found = 0;
    for (size_t i = 0; i < m->types; i++)
        found += m->all[i] && !strcmp(m->all[i], m->all[type]);
    return found > 1;
}

/* Whether the ids of two windows are as they should be: equal for the same type of the same window. The order of the
 * types may differ. A type that is there twice may have one of two ids. */
static bool have_right_ids(const otlp_model *a, const otlp_model *b, bool is_again)
{
    bool is_right = true;
    for (size_t i = 0; i < a->types; i++)
        for (size_t j = 0; j < b->types; j++) {
            if (!a->names[i] || !b->names[j])
                continue;
            bool is_equal = !memcmp(a->ids[i], b->ids[j], sizeof a->ids[i]);
            bool is_same_type = !strcmp(a->names[i], b->names[j]);
            is_right &= is_equal == (is_again && is_same_type);
            if (is_same_type && (is_twice(a, i) || is_twice(b, j)))
                is_right = true;
        }
    return is_right;
}

typedef struct both {
    pprofdelta *pprof, *otlp;
    pprofdelta *plain, *mixed; /* mixed gets some of the profiles as requests */
    pprofdelta_options options, otlp_options;
    otlp_model last; /* of the last window */
    bool is_again;   /* which was abandoned */
} both;

static pprofdelta_status window(pprofdelta *pd, buf profile, buf *out, pprofdelta_report *report)
{
    collector c = {.bytes = *out};
    pprofdelta_sink sink = collector_sink(&c);
    pprofdelta_status status = pprofdelta_window(pd, profile.ptr, profile.len, &sink, report, NULL);
    *out = c.bytes;
    return status;
}

/* The context goes on in another one, by its state. */
static void move_state(arena *a, pprofdelta **pd, const pprofdelta_options *options)
{
    pprofdelta *next;
    buf state = keep_save(a, *pd);
    CHECK(pprofdelta_new(options, NULL, &next, NULL) == PPROFDELTA_OK);
    CHECK(keep_load(next, state, NULL) == PPROFDELTA_OK);
    pprofdelta_free(*pd);
    *pd = next;
}

static buf stands_for(arena *a, buf request)
{
    pprofdelta_profile *opened;
    buf out = buf_begin(a);
    const uint8_t *bytes;
    size_t len;
    if (pprofdelta_profile_open(NULL, NULL, request.ptr, request.len, &opened, NULL))
        return out;
    if (!pprofdelta_profile_bytes(opened, &bytes, &len, NULL))
        buf_add(&out, bytes, len);
    pprofdelta_profile_free(opened);
    return out;
}

/* A window of a request is that of the profile that it stands for, whichever the one before it was of. */
static const char *window_of_request(both *b, stage *s, buf profile)
{
    buf given[2];
    pprofdelta_report reports[2] = {{.size = sizeof *reports}, {.size = sizeof *reports}};
    otlp_model models[2];
    pprofdelta_status status[2];
    given[1] = otlp_request_of(&s->arena, &b->otlp_options, profile);
    if (!given[1].len) /* nothing to send */
        given[1] = profile;
    given[0] = stands_for(&s->arena, given[1]);
    if (rng_chance(&s->rng, 30))
        given[1] = given[0];
    for (size_t i = 0; i < 2; i++) {
        buf out = buf_begin(&s->arena);
        status[i] = window(i ? b->mixed : b->plain, given[i], &out, &reports[i]);
        if (!status[i])
            otlp_model_read(&s->arena, out.ptr, out.len, &models[i]);
    }
    if (status[0] || status[1])
        return status[0] == status[1] ? NULL : "a request is refused, or its profile";
    reports[0].types = reports[1].types = NULL;
    reports[0].output_len = reports[1].output_len = 0;
    const void *one = &reports[0], *other = &reports[1];
    if (memcmp(one, other, sizeof *reports) != 0)
        return "the report of a request differs";
    const char *wrong = otlp_model_differ(&s->arena, &models[0], &models[1]);
    bool is_other = !models[1].is_empty && strcmp(models[1].resource, resource_text) != 0;
    return wrong ? wrong : is_other ? models[1].resource : NULL;
}

static const char *one_window(both *b, stage *s)
{
    buf profile = look(s), pprof = buf_begin(&s->arena), request = buf_begin(&s->arena);
    pprofdelta_report one = {.size = sizeof one}, other = {.size = sizeof other};
    otlp_model meant;
    pprofdelta_status status = window(b->pprof, profile, &pprof, &one);
    if (status != window(b->otlp, profile, &request, &other))
        return "only one of the two fails";
    if (status)
        return NULL;
    const char *wrong = differ(&s->arena, pprof, request, &meant);
    if (!wrong && one.samples_out != other.samples_out)
        wrong = "the reports differ";
    if (!wrong)
        wrong = window_of_request(b, s, profile);
    b->is_again &= other.attempt > 1 || !other.sequence;
    if (!wrong && !have_right_ids(&b->last, &meant, b->is_again))
        wrong = b->is_again ? "a window that is sent again has other ids"
                            : "two windows have the same ids";
    b->last = meant;
    b->is_again = rng_chance(&s->rng, 40);
    pprofdelta *const all[] = {b->pprof, b->otlp, b->plain, b->mixed};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (b->is_again)
            pprofdelta_abandon(all[i]);
        else
            CHECK(!pprofdelta_commit(all[i]));
    return wrong;
}

TEST(windows_mean_the_same)
{
    seed_range range = slow_seeds(12);
    size_t windows = 0;
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        ENDS(stage_end) stage s;
        both b = {0};
        stage_begin(&s, seed + 7000000);
        if (s.options.on_reset == PPROFDELTA_ON_RESET_NEGATIVE)
            s.options.on_reset = PPROFDELTA_ON_RESET_AUTO;
        b.options = s.options;
        b.otlp_options = as_otlp(s.options);
        CHECK(!pprofdelta_new(&b.options, NULL, &b.pprof, NULL));
        CHECK(!pprofdelta_new(&b.otlp_options, NULL, &b.otlp, NULL));
        CHECK(!pprofdelta_new(&b.otlp_options, NULL, &b.plain, NULL));
        CHECK(!pprofdelta_new(&b.otlp_options, NULL, &b.mixed, NULL));
        for (size_t i = 0; i < 4; i++) {
            const char *wrong = one_window(&b, &s);
            windows += b.last.types != 0;
            AGREE(seed, wrong);
            if (rng_chance(&s.rng, 30))
                move_state(&s.arena, rng_chance(&s.rng, 50) ? &b.otlp : &b.mixed, &b.otlp_options);
            gen_evolve(&s.g, GEN_ANYTHING & ~GEN_REORDER);
        }
        pprofdelta_free(b.pprof);
        pprofdelta_free(b.otlp);
        pprofdelta_free(b.plain);
        pprofdelta_free(b.mixed);
    }
    CHECK(getenv("PD_TEST_SEED") || windows > range.to);
}

/* ---- small rules ----------------------------------------------------------------------------- */

TEST(bytes_that_are_not_utf8_are_replaced_one_by_one)
{
    tracker memory = {0};
    pprofdelta_allocator allocator = tracker_allocator(&memory);
    pd_mem mem;
    pd_buffer out = {0};
    pd_mem_init(&mem, &allocator, UINT64_C(1) << 20);
    for (table_rows r = {0}; rows_next(&r, "utf8", "repaired");) {
        pd_bytes given = {(uint8_t *)r.cells[0], rows_bytes(r.cells[0])};
        bool is_valid = !*r.cells[1];
        pd_bytes want =
            is_valid ? given : (pd_bytes){(uint8_t *)r.cells[1], rows_bytes(r.cells[1])};
        CHECK(!pd_utf8_repair(given, &mem, &out, NULL));
        CHECK_MSG(out.len == want.len && (!out.len || !memcmp(out.ptr, want.ptr, out.len)), "%.*s",
                  (int)given.len, (const char *)given.ptr);
        CHECK(pd_utf8_is_valid(given) == is_valid);
    }
    pd_buffer_release(&mem, &out);
    CHECK(!memory.live);
}

TEST_MAIN()
