/* Sums: the law that a sum is the inverse of the subtraction. Merges: windows of several targets as one profile, against a naive
 * one that reads every delta through the message view; what counts once; what is refused. tests/cli/tables/sum.txt has the
 * ways in which windows join, and fuzz_sum.c compares sums with a naive one. */
#include "sum_scene.h"

#include "otlp_form.h"
#include "otlp_model.h"
#include "rows.h"

/* ---- Sums ------------------------------------------------------------------------------------ */

/* The law: the first full delta and all later ones make the last look again. A cumulative profile
 * instead of the first delta does as well. */
TEST(base_plus_all_deltas_is_the_last_profile)
{
    seed_range range = seeds(6);
    size_t added = 0;
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        ENDS(film_end) film f;
        film_begin(&f, seed + 500);
        f.s.options.on_reset = seed % 3 ? PPROFDELTA_ON_RESET_AUTO : PPROFDELTA_ON_RESET_CLAMP;
        f.s.options.first = PPROFDELTA_FIRST_FULL;
        film_shoot(&f, GEN_MOVE | GEN_RENAME | GEN_HEADER, false);
        for (int from_look = 0; from_look < 2 && f.len == WINDOWS; from_look++) {
            buf bytes;
            pprofdelta_error err = {0};
            rows want = {.arena = &f.s.arena};
            f.deltas[0] = from_look ? f.looks[0] : f.deltas[0];
            pprofdelta_status status =
                sum_up(&f.s.arena, &f.s.options, f.deltas, f.len, &bytes, &err);
            CHECK_MSG(!status || status == PPROFDELTA_E_LIMIT, "seed %" PRIu64 ": %s", seed,
                      err.text);
            if (status)
                break;
            reading sum = sum_read(&f.s.arena, bytes),
                    last = sum_read(&f.s.arena, f.looks[f.len - 1]);
            rows_add(&want, &last, &f.s.g, true);
            AGREE(seed, rows_differ(&want, &sum, &f.s.g));
            CHECK(sum.view->time_nanos == last.view->time_nanos);
            added++;
        }
    }
    CHECK(added > range.to - range.from);
}

/* A profile of a binary with this name. `used`: its main mapping has a sample, too. */
static buf of_binary(arena *a, const char *name, bool used)
{
    ENDS(build_free) build b = {0};
    build_types(&b, HEAP_TYPES);
    model_mapping *app = build_mapping(&b, 0x400000, 0x500000, 0, name, "id-1");
    build_place(&b, "in_app", app, 0x401000);
    build_place(&b, "in_lib", build_mapping(&b, 0x600000, 0x700000, 0, "/lib", "id-2"), 0x601000);
    build_sample(&b, "in_lib", "1 1 5 5");
    if (used)
        build_sample(&b, "in_app", "1 1 5 5");
    return build_bytes_in(a, &b);
}

/* pprof has the main mapping of the last profile first. OTLP has it when a sample of another profile needs it. */
TEST(a_sum_names_the_main_mapping_as_the_last_profile_does)
{
    ENDS(arena_free) arena a = {NULL};
    buf given[] = {of_binary(&a, "/old", true), of_binary(&a, "/new", false)}, pprof, request;
    pprofdelta_options options = sum_options(PPROFDELTA_FORCE), otlp = options;
    otlp_model meant, sent;
    otlp.format = PPROFDELTA_OTLP;
    CHECK(!sum_up(&a, &options, given, 2, &pprof, NULL));
    CHECK(!sum_up(&a, &otlp, given, 2, &request, NULL));
    REQUIRE(otlp_model_read_pprof(&a, pprof.ptr, pprof.len, &meant));
    otlp_model_read(&a, request.ptr, request.len, &sent);
    const char *wrong = otlp_model_differ(&a, &meant, &sent);
    CHECK_MSG(!wrong, "%s", wrong);
    CHECK(strstr(sent.text, "/new") && !strstr(sent.text, "/old"));
}

/* ---- A naive merge --------------------------------------------------------------------------- */

/* A delta: its window by the text of the stamp, and what it counts. */
typedef struct part {
    buf bytes;
    reading reading;
    const char *stamp;
    unsigned long long id, sequence, attempt;
    long long from, to;
} part;

static unsigned long long word(const char *stamp, const char *name, int base)
{
    const char *at = strstr(stamp, name);
    return at ? strtoull(at + strlen(name), NULL, base) : 0;
}

static part read_part(arena *a, buf bytes)
{
    part p = {.bytes = bytes, .reading = sum_read(a, bytes), .stamp = ""};
    for (size_t i = 0; i < p.reading.view->n_comment; i++)
        if (reading_is_stamp(&p.reading, i))
            p.stamp = reading_string(&p.reading, p.reading.view->comment[i]);
    p.id = word(p.stamp, " id=", 16);
    p.sequence = word(p.stamp, " seq=", 10);
    p.attempt = word(p.stamp, " attempt=", 10);
    p.from = (long long)word(p.stamp, " from=", 10);
    p.to = (long long)word(p.stamp, " to=", 10);
    return p;
}

/* Does another part replace this one: the same window with a higher attempt, or, of the same attempt,
 * before it in the list? And is it the last one of its target? */
static bool is_counted(const part *parts, size_t len, size_t at, bool *is_last)
{
    *is_last = true;
    for (size_t i = 0; i < len; i++) {
        const part *p = &parts[at], *o = &parts[i];
        if (o->id != p->id || i == at)
            continue;
        *is_last &= o->sequence <= p->sequence;
        if (o->sequence == p->sequence &&
            (o->attempt > p->attempt || (o->attempt == p->attempt && i < at)))
            return false;
    }
    return true;
}

enum { TARGETS = 3, MOST = TARGETS * MOST_SENT };

typedef struct fleet {
    film films[TARGETS];
    arena arena;
    part parts[MOST];
    size_t len;
} fleet;

/* A made-up process for each target, all with the same types and options. */
static void fleet_begin(fleet *f, uint64_t seed)
{
    *f = (fleet){0};
    for (size_t target = 0; target < TARGETS; target++) {
        film *one = &f->films[target];
        film_begin(one, seed);
        one->s.options.on_reset = PPROFDELTA_ON_RESET_AUTO;
        one->s.options.flags &= ~(unsigned)PPROFDELTA_FORCE;
        one->s.options.id = target + 1;
        one->s.g.rng.state += target;
        one->s.rng.state += target;
        gen_evolve(&one->s.g, GEN_DECREASE | GEN_VANISH | GEN_RENAME);
        film_shoot(one, GEN_DECREASE | GEN_VANISH | GEN_RENAME, true);
        for (size_t i = 0; i < one->len; i++)
            f->parts[f->len++] = read_part(&f->arena, one->deltas[i]);
    }
}

static void fleet_end(fleet *f)
{
    for (size_t i = 0; i < TARGETS; i++)
        film_end(&f->films[i]);
    arena_free(&f->arena);
}

/* In an order that a merge takes: the targets, and the attempts at a window, in any. */
static void order(fleet *f, buf bytes[MOST])
{
    rng *chance = &f->films[0].s.rng;
    size_t targets[TARGETS] = {1, 2, 3}, any[MOST], len = 0;
    for (size_t i = 0; i < f->len; i++)
        any[i] = i;
    rng_shuffle(chance, targets, TARGETS);
    rng_shuffle(chance, any, f->len);
    for (size_t t = 0; t < TARGETS; t++)
        for (unsigned sequence = 0; sequence <= WINDOWS + 1; sequence++)
            for (size_t i = 0; i < f->len; i++)
                if (f->parts[any[i]].id == targets[t] && f->parts[any[i]].sequence == sequence)
                    bytes[len++] = f->parts[any[i]].bytes;
}

static void check_merge(fleet *f, buf out, uint64_t seed)
{
    rows want = {.arena = &f->arena};
    part all = read_part(&f->arena, out);
    long long from = INT64_MAX, to = 0;
    for (size_t i = 0; i < f->len; i++) {
        bool is_last, counts = is_counted(f->parts, f->len, i, &is_last);
        const part *p = &f->parts[i];
        long long duration = p->reading.view->duration_nanos;
        if (!counts)
            continue;
        long long began = p->from ? p->from : duration ? p->to - duration : 0;
        rows_add(&want, &p->reading, &f->films[0].s.g, is_last);
        from = began < from ? began : from;
        to = p->to > to ? p->to : to;
    }
    AGREE(seed, rows_differ(&want, &all.reading, &f->films[0].s.g));
    CHECK_MSG(all.to == to && all.reading.view->time_nanos == to, "seed %" PRIu64, seed);
    CHECK_MSG(all.reading.view->duration_nanos == (from ? to - from : 0), "seed %" PRIu64, seed);
}

static unsigned long long id_of(const fleet *f, buf bytes)
{
    size_t i = 0;
    while (f->parts[i].bytes.ptr != bytes.ptr)
        i++;
    return f->parts[i].id;
}

/* The same as a tree: a merge of each target, then the first two, then these with the third. */
static pprofdelta_status merge_tree(fleet *f, pprofdelta_options options, const buf *bytes,
                                    buf *out, pprofdelta_error *err)
{
    buf of[TARGETS + 1] = {{0}};
    pprofdelta_status status = PPROFDELTA_OK;
    size_t at = 0, len = 0;
    options.flags |= PPROFDELTA_DISJOINT;
    while (at < f->len && !status) {
        size_t first = at;
        unsigned long long id = id_of(f, bytes[at]);
        while (at < f->len && id_of(f, bytes[at]) == id)
            at++;
        status = sum_up(&f->arena, &options, bytes + first, at - first, &of[len++], err);
    }
    for (size_t i = 1; i < len && !status; i++) {
        const buf two[] = {of[0], of[i]};
        status = sum_up(&f->arena, &options, two, 2, &of[0], err);
    }
    *out = of[0];
    return status;
}

TEST(a_merge_is_the_naive_one_in_every_order_and_tree)
{
    seed_range range = seeds(6);
    size_t merged = 0;
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        ENDS(fleet_end) fleet f;
        fleet_begin(&f, seed);
        pprofdelta_options options = f.films[0].s.options;
        options.flags |= PPROFDELTA_MERGE;
        for (int again = 0; again < 2 && f.len; again++) {
            buf bytes[MOST], out;
            pprofdelta_error err = {0};
            order(&f, bytes);
            pprofdelta_status status = sum_up(&f.arena, &options, bytes, f.len, &out, &err);
            CHECK_MSG(!status || status == PPROFDELTA_E_LIMIT, "seed %" PRIu64 ": %s", seed,
                      err.text);
            if (status)
                continue;
            check_merge(&f, out, seed);
            merged++;
            status = merge_tree(&f, options, bytes, &out, &err);
            CHECK_MSG(!status || status == PPROFDELTA_E_LIMIT, "seed %" PRIu64 ": %s", seed,
                      err.text);
            if (!status)
                check_merge(&f, out, seed);
            options.format = PPROFDELTA_OTLP;
            if (!sum_up(&f.arena, &options, bytes, f.len, &out, NULL)) {
                const char *wrong = otlp_form_wrong_bytes(&f.arena, out.ptr, out.len);
                AGREE(seed, wrong);
            }
            options.format = PPROFDELTA_PPROF;
        }
    }
    CHECK(merged > range.to - range.from);
}

/* ---- By hand ----------------------------------------------------------------------------------- */

/* "ID/SEQUENCE[.ATTEMPT][@FROM-TO] VALUE": a window that counts VALUE and has twice as much in use.
 * ID 0: a cumulative profile. f, d or w instead of the /: of a live heap. "!": of another period. */
static buf window_of(arena *a, const char *text)
{
    unsigned id = 0, sequence = 2, attempt = 1;
    char kind = '/';
    if (sscanf(text, "%u%c%u.%u", &id, &kind, &sequence, &attempt) < 3 || !id)
        kind = '/', sequence = 2;
    const char *at = strchr(text, '@'), *value = strrchr(text, ' ') + 1;
    window w = {.comment = "host=one", .period = 8 + id};
    w.period_type = strchr(text, '!') ? "cpu" : "space";
    if (!at || sscanf(at, "@%lld-%lld", &w.from, &w.to) != 2)
        w.from = 10 * (sequence - 1LL), w.to = w.from + 10;
    w.values =
        arena_format(a, "%s 0 %lld 0", value, (long long)(2 * (uint64_t)strtoll(value, NULL, 10)));
    if (kind != '/')
        w.stamp = arena_format(
            a, "pprofdelta: live epoch=1 seq=%u kind=%s from=%lld to=%lld id=%016x", sequence,
            kind == 'f'   ? "full"
            : kind == 'd' ? "delta"
                          : "window",
            w.from, w.to, id);
    else if (id)
        w.stamp = arena_format(a, STAMP " from=%lld to=%lld seq=%u attempt=%u id=%016x", w.from,
                               w.to, sequence, attempt, id);
    return window_bytes(a, w);
}

enum {
    F = PPROFDELTA_FORCE,
    M = PPROFDELTA_MERGE,
    MF = M | F,
    MD = M | PPROFDELTA_DISJOINT,
    MDF = MD | F
};

static unsigned flags_of(const char *letters)
{
    return (strchr(letters, 'M') ? M : 0) | (strchr(letters, 'F') ? F : 0) |
           (strchr(letters, 'D') ? MD : 0);
}

static pprofdelta_reason reason_of(const char *word)
{
    static const struct {
        const char *word;
        pprofdelta_reason reason;
    } reasons[] = {{"-", PPROFDELTA_REASON_NONE},
                   {"window_late", PPROFDELTA_REASON_WINDOW_LATE},
                   {"window_missing", PPROFDELTA_REASON_WINDOW_MISSING},
                   {"two_targets", PPROFDELTA_REASON_TWO_TARGETS},
                   {"no_target", PPROFDELTA_REASON_NO_TARGET},
                   {"other_types", PPROFDELTA_REASON_OTHER_TYPES}};
    size_t at = 0;
    while (strcmp(reasons[at].word, word) != 0)
        at++;
    return reasons[at].reason;
}

/* "(...;...)": a merge of windows and merges. */
static buf merge_of(arena *a, const char *text, unsigned flags)
{
    if (*text != '(')
        return window_of(a, text);
    pprofdelta_options options = sum_options(flags | MD);
    buf parts[8], out;
    size_t len = 0;
    int depth = 0;
    for (const char *at = text, *begin = at + 1; *at; at++) {
        depth += (*at == '(') - (*at == ')');
        if (depth == 0 || (depth == 1 && *at == ';')) {
            const char *one = arena_format(a, "%.*s", (int)(at - begin), begin);
            parts[len++] = merge_of(a, one, flags);
            begin = at + 1;
        }
        if (depth == 0)
            break;
    }
    CHECK(!sum_up(a, &options, parts, len, &out, NULL));
    return out;
}

static size_t windows_of(arena *a, const char *text, unsigned flags, buf windows[8])
{
    char one[TEXT_SIZE];
    size_t len = 0;
    while (next_text(&text, one))
        windows[len++] = merge_of(a, one, flags);
    return len;
}

TEST(a_window_counts_once_or_is_refused_and_changes_nothing)
{
    table_rows r = {0};
    while (rows_next(&r, "merges", "cases")) {
        const unsigned flags = flags_of(r.cells[0]);
        const char *given = r.cells[1], *want = r.cells[2];
        ENDS(arena_free) arena a = {0};
        buf windows[8], out, before;
        pprofdelta_options options = sum_options(flags);
        pprofdelta_error err = {0};
        size_t len = windows_of(&a, given, flags, windows);
        pprofdelta_status status = sum_up(&a, &options, windows, len, &out, &err);
        CHECK_MSG(err.reason == reason_of(r.cells[3]), "%s: %d", given, err.reason);
        if (status) {
            pprofdelta_status as = sum_up(&a, &options, windows, len - 1, &before, NULL);
            CHECK_MSG(strstr(err.text, want), "%s: %s", given, err.text);
            CHECK_MSG(as || status == PPROFDELTA_E_LIMIT || buf_equal(out, before), "%s", given);
            continue;
        }
        part p = read_part(&a, out);
        bool is_merge = flags & PPROFDELTA_MERGE;
        const int64_t *values = p.reading.samples[0].values;
        size_t begin = *p.stamp ? 18 : 0; /* the id is left out */
        size_t id = is_merge ? (size_t)(strstr(p.stamp, "id=") - p.stamp) : strlen(p.stamp);
        const char *got =
            arena_format(&a, "%lld %lld %.*s%s", (long long)values[0], (long long)values[2],
                         (int)(id - begin), p.stamp + begin, p.stamp + id + (is_merge ? 20 : 0));
        CHECK_MSG(!strncmp(got, want, strlen(want)), "%s: %s", given, got);
        CHECK(!is_merge || (p.reading.view->n_comment == 2 && p.reading.view->time_nanos == p.to));
    }
}

TEST(a_label_names_the_target)
{
    ENDS(arena_free) arena a = {0};
    buf windows[8], out;
    pprofdelta_options options = sum_options(MF);
    size_t len = windows_of(&a, "1/2 1|1/3 10|26/2 100|0 1000", MF, windows);
    options.target_label = "host";
    REQUIRE(!sum_up(&a, &options, windows, len, &out, NULL));
    part p = read_part(&a, out);
    /* what has no id is named by its bytes */
    const char *got = scene_rows(&p.reading), *id = strrchr(got, '='),
               *want = "leaf;main{host=0000000000000001} 11 0 20 0, "
                       "leaf;main{host=000000000000001a} 100 0 200 0, leaf;main{host=";
    CHECK_MSG(!strncmp(got, want, strlen(want)), "%s", got);
    CHECK_STR(id + 1 + strspn(id + 1, "0123456789abcdef"), "} 1000 0 2000 0");
    CHECK(strlen(id + 1) == 16 + strlen("} 1000 0 2000 0"));
    options.target_label = "";
    CHECK(sum_up(&a, &options, windows, len, &out, NULL) == PPROFDELTA_E_USAGE);
    options.target_label = "host";
    options.flags = 0;
    CHECK(sum_up(&a, &options, windows, len, &out, NULL) == PPROFDELTA_E_USAGE);
}

/* A merge is no window: it is refused where it would count again. */
TEST(a_merge_is_no_input)
{
    ENDS(arena_free) arena a = {0};
    ENDS(context_end) pprofdelta *pd = NULL;
    buf windows[8], again[3], out;
    pprofdelta_error err;
    pprofdelta_options options = sum_options(M);
    size_t len = windows_of(&a, "1/2 1|2/2 10", M, windows);
    REQUIRE(!sum_up(&a, &options, windows, len, &again[0], &err));
    again[1] = window_of(&a, "1/3 100");
    again[2] = again[0];
    for (unsigned flags = 0; flags <= MF; flags += F) {
        options.flags = flags & MF;
        pprofdelta_status status = sum_up(&a, &options, again, 3, &out, &err);
        if (options.flags == MF) /* a target of its own, and equal ones once */
            CHECK(!status && read_part(&a, out).reading.samples[0].values[0] == 111);
        else
            CHECK(status && err.reason == PPROFDELTA_REASON_NO_TARGET);
    }
    REQUIRE(!pprofdelta_new(NULL, NULL, &pd, NULL));
    CHECK(pprofdelta_base(pd, again[0].ptr, again[0].len, &err) == PPROFDELTA_E_STAMPED);
}

/* The list of the targets of a merge has the highest ids, from the highest on, and so many. */
static void check_list(const part *p, unsigned highest, size_t len)
{
    const char *list = reading_string(&p->reading, p->reading.view->comment[0]);
    CHECK(!strncmp(list, "pprofdelta: targets", 19) && p->id == highest);
    for (list += 19; *list; list += 17, highest--, len--)
        CHECK(strtoull(list + 1, NULL, 16) == highest);
    CHECK_MSG(!len, "%zu", len);
}

static pprofdelta_status merge_ids(arena *a, unsigned from, unsigned to, buf *out)
{
    pprofdelta_options options = sum_options(M);
    size_t len = to - from;
    buf *windows = ARENA_ARRAY(a, buf, len);
    for (size_t i = 0; i < len; i++)
        windows[i] = window_of(a, arena_format(a, "%u/2 1", from + (unsigned)i));
    return sum_up(a, &options, windows, len, out, NULL);
}

TEST(a_list_of_targets_is_bounded_and_shows_what_merges_have_in_common)
{
    ENDS(arena_free) arena a = {0};
    buf merges[3], out;
    pprofdelta_error err;
    pprofdelta_options options = sum_options(MD);
    REQUIRE(!merge_ids(&a, 1, 1501, &merges[0]) && !merge_ids(&a, 1501, 1601, &merges[1]) &&
            !merge_ids(&a, 1490, 1495, &merges[2]));
    part p = read_part(&a, merges[0]);
    check_list(&p, 1500, 1024);
    REQUIRE(!sum_up(&a, &options, merges, 2, &out, &err));
    p = read_part(&a, out);
    check_list(&p, 1600, 1024);
    CHECK(word(p.stamp, " targets=", 10) == 1600 && p.reading.samples[0].values[0] == 1600);
    CHECK(sum_up(&a, &options, merges, 3, &out, &err) == PPROFDELTA_E_MISMATCH);
    CHECK(err.reason == PPROFDELTA_REASON_WINDOW_LATE && err.element == 0);
    CHECK(strstr(err.text, "00000000000005d6") != NULL);
}

/* What is said of the targets may have been changed, or left out. */
TEST(a_merge_without_a_valid_list_is_refused)
{
    static const char *const lists[] = {"", "pprofdelta: targets 1 2g", "pprofdelta: targets ",
                                        "pprofdelta: targets 11112222333344445"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        ENDS(arena_free) arena a = {0};
        pprofdelta_options options = sum_options(MD);
        pprofdelta_error err;
        buf out;
        buf merge =
            window_bytes(&a, (window){.comment = lists[i],
                                      .values = "1 0 2 0",
                                      .period_type = "space",
                                      .period = 9,
                                      .stamp = STAMP " from=1 to=2 id=1 windows=1 targets=1"});
        CHECK(sum_up(&a, &options, &merge, 1, &out, &err) == PPROFDELTA_E_MISMATCH);
        CHECK_MSG(strstr(err.text, "without a valid list"), "%s", err.text);
    }
}

/* Two targets, the first with so many windows. */
static pprofdelta_status merge_windows(tracker *memory, unsigned windows, collector *c)
{
    pprofdelta_options options = sum_options(MD);
    pprofdelta_adder *adder = NULL;
    options.target_label = "target";
    ENDS(arena_free) arena before = {0};
    buf merge = merge_of(&before, "(8/2 1;9/2 1)", M);
    pprofdelta_status status = pprofdelta_adder_new(&options, tracking(memory), &adder, NULL);
    for (unsigned i = 0; i <= windows && !status; i++) {
        ENDS(arena_free) arena a = {0};
        buf b = window_of(&a, i < windows ? arena_format(&a, "1/%u 5", 2 + i) : "7/2 3");
        status = pprofdelta_adder_add(adder, b.ptr, b.len, NULL, NULL);
    }
    if (!status)
        status = pprofdelta_adder_add(adder, merge.ptr, merge.len, NULL, NULL);
    if (!status)
        status = pprofdelta_adder_finish(adder, collecting(c), NULL);
    pprofdelta_adder_free(adder);
    return status;
}

TEST(every_failed_allocation_is_reported_and_memory_is_bounded)
{
    ENDS(arena_free) arena a = {0};
    collector c = {.bytes = buf_begin(&a)};
    tracker few = {0}, many = {0};
    CHECK(!merge_windows(&few, 4, &c) && !merge_windows(&many, 100, &c));
    CHECK_MSG(many.peak < few.peak + 1024, "%zu, %zu", few.peak, many.peak);
    bool refused = true;
    for (size_t nth = 1; refused; nth++) {
        tracker memory = {.fail_at = nth};
        size_t calls = c.calls;
        pprofdelta_status status = merge_windows(&memory, 4, &c);
        refused = memory.refused > 0;
        CHECK_MSG(status == (refused ? PPROFDELTA_E_MEMORY : PPROFDELTA_OK), "allocation %zu", nth);
        CHECK_MSG(!memory.live && (!refused || c.calls == calls), "allocation %zu", nth);
    }
}

TEST_MAIN()
