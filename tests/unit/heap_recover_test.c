/* What is left of a tracker whose process was killed. A child does a list of steps; it is stopped after every few
 * instructions, in all of them: in the allocator's calls, in a batch, in commit and abandon. At each
 * stop the tracker is recovered from its memory as it is. What had arrived by then, with the recovered
 * window, must be what the steps that were done make; the step under way may count or not. fuzz_recover.c has remains
 * that are damaged. */
#include "heap_scene.h"
#include "rng.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AREA = 4 << 20, MAILS = 24, MAIL = 16 << 10, STEPS = 96, POINTERS = 24 };

/* "+": track, "-": end, "m": realloc, which fails; "b": a batch that arrives, "f": one whose sink fails, "a": one that
 * arrives and is abandoned. */
typedef struct step {
    char what;
    size_t pointer;
} step;

/* How often the child is stopped. While it writes a profile, which takes most instructions, seldom or not at
 * all. */
enum { FINE, COARSE, FREE };

/* Shared with the child. */
typedef struct stage {
    uint8_t area[AREA]; /* the tracker's pages */
    size_t used;
    pprofdelta_heap *heap;
    size_t done;  /* steps */
    size_t mails; /* that arrived */
    int pace, is_traced;
    struct {
        size_t len;
        uint8_t bytes[MAIL];
    } mail[MAILS];
    uint8_t padding[4096];
} stage;

static stage *shared;
static step steps[STEPS];

/* ---- the tracker in memory that outlives its process ------------------------------------------- */

static void *take_pages(void *cookie, size_t size)
{
    (void)cookie;
    uint8_t *pages = shared->area + shared->used;
    if (size > AREA - shared->used)
        return NULL;
    shared->used += size;
    return pages;
}

static void give_pages(void *cookie, void *ptr, size_t size)
{
    (void)cookie;
    memset(ptr, 0, size);
}

static bool has_no_work; /* no pages for the work on a profile */

static void *take_work(void *cookie, size_t size)
{
    (void)cookie;
    if (has_no_work)
        return NULL;
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

static void give_work(void *cookie, void *ptr, size_t size)
{
    (void)cookie;
    munmap(ptr, size);
}

static pprofdelta_heap_options plain = {.size = sizeof plain,
                                        .flags = PPROFDELTA_NO_MAPPINGS | PPROFDELTA_HEAP_AGES,
                                        .id = 0xabc,
                                        .compression = PPROFDELTA_PLAIN,
                                        .max_live = 4096,
                                        .max_sites = 1024};

static void make_stage(void)
{
    static const pprofdelta_heap_pages pages = {take_pages, give_pages, NULL};
    static const pprofdelta_heap_pages work = {take_work, give_work, NULL};
    pprofdelta_heap_options options = plain;
    options.pages = &pages;
    options.work = &work;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    options.filter = take_work(NULL, sizeof *options.filter);
    REQUIRE(shared != MAP_FAILED && options.filter);
    REQUIRE(pprofdelta_heap_new(&options, &shared->heap, NULL) == PPROFDELTA_OK);
}

static pprofdelta_heap_event event_of(size_t pointer, uint64_t stack[2])
{
    static const pprofdelta_label label = {.key = "pool", .str = "small"};
    stack[0] = 0x100 + pointer % 7;
    stack[1] = 0x200;
    return (pprofdelta_heap_event){.ptr = live_pointer(pointer),
                                   .weight = {1 + (int64_t)pointer, 100 + (int64_t)pointer},
                                   .stack = stack,
                                   .depth = 2,
                                   .labels = &label,
                                   .labels_len = pointer % 7 == 3};
}

/* ---- the steps ------------------------------------------------------------------------------- */

static void make_steps(uint64_t seed)
{
    rng r = {seed};
    bool is_live[POINTERS] = {false};
    for (size_t i = 0; i < STEPS; i++) {
        size_t pointer = rng_below(&r, POINTERS);
        steps[i] = (step){is_live[pointer] ? "--m"[rng_below(&r, 3)] : '+', pointer};
        if (i % 7 == 6)
            steps[i].what = "bbfa"[rng_below(&r, 4)];
        else if (steps[i].what != 'm')
            is_live[pointer] = !is_live[pointer];
    }
}

static int deliver(void *cookie, const void *data, size_t len)
{
    const char *what = cookie;
    if (*what == 'f' || len > MAIL)
        return -1;
    memcpy(shared->mail[shared->mails].bytes, data, len);
    shared->mail[shared->mails].len = len;
    shared->mails++;
    return 0;
}

static void do_batch(const step *s, int64_t now)
{
    const pprofdelta_sink sink = {.write = deliver, .cookie = (void *)&s->what};
    pprofdelta_heap_begin(shared->heap, now, NULL, NULL);
    shared->pace = shared->is_traced && s->pointer % 4 ? FREE : COARSE;
    pprofdelta_heap_write(shared->heap, PPROFDELTA_HEAP_CHANGES, &sink, NULL);
    if (shared->pace == FREE)
        raise(SIGSTOP);
    shared->pace = FINE;
    if (s->what == 'b')
        pprofdelta_heap_commit(shared->heap);
    else
        pprofdelta_heap_abandon(shared->heap);
}

static void do_step(const step *s, int64_t now)
{
    uint64_t stack[2];
    pprofdelta_heap_event event = event_of(s->pointer, stack);
    pprofdelta_heap_realloc r;
    if (s->what == '+')
        pprofdelta_heap_track(shared->heap, &event);
    else if (s->what == '-')
        pprofdelta_heap_untrack(shared->heap, event.ptr);
    else if (s->what == 'm' && pprofdelta_heap_realloc_begin(shared->heap, event.ptr, &r))
        pprofdelta_heap_realloc_end(shared->heap, &r, event.ptr, 1, 1);
    else if (s->what != 'm')
        do_batch(s, now);
}

/* What a step is about: the row of the stack, and that of its age if the step ends an older allocation. */
typedef struct subject {
    const char *key, *aged;
    int64_t objects, bytes;
} subject;

static subject subject_of(arena *a, size_t at)
{
    uint64_t stack[2];
    pprofdelta_heap_event event = event_of(steps[at].pointer, stack);
    size_t windows = 0, begun = at;
    while (begun && (steps[begun].pointer != steps[at].pointer || steps[begun].what != '+'))
        windows += steps[begun--].what == 'b';
    pprofdelta_label labels[2] = {{.key = "age", .num = (int64_t)windows, .num_unit = "windows"}};
    const char *key = live_key(a, &event, 2);
    if (event.labels_len)
        labels[1] = *event.labels;
    event.labels = labels;
    event.labels_len++;
    return (subject){key, windows ? live_key(a, &event, 2) : key, event.weight.objects,
                     event.weight.bytes};
}

/* What the first `len` steps make, for the model. */
static live_sums sums_after(arena *a, size_t len)
{
    live_sums sums = {.arena = a};
    int64_t peak = 0;
    for (size_t i = 0; i < len; i++) {
        subject s = subject_of(a, i);
        const int64_t began[LIVE_TYPES] = {s.objects, s.bytes, s.objects, s.bytes};
        const int64_t ended[LIVE_TYPES] = {0, 0, -s.objects, -s.bytes};
        const int64_t freed[LIVE_TYPES] = {[LIVE_PLAIN] = s.objects, s.bytes};
        if (steps[i].what == '+') {
            live_add(&sums, s.key, began);
        } else if (steps[i].what == '-') {
            live_add(&sums, s.key, ended);
            live_add(&sums, s.aged, freed);
        }
        live_note_peak(&sums, &peak);
    }
    return sums;
}

/* ---- the judgement --------------------------------------------------------------------------- */

static int64_t *row_of(live_sums *sums, const char *key)
{
    live_add(sums, key, (int64_t[LIVE_TYPES]){0});
    return live_find(sums, key)->values;
}

static bool is_of_peak(size_t type)
{
    return type >= LIVE_SUMS && type < LIVE_PLAIN;
}

/* Values of the step under way may be those before it or after it; the peak is one or the other as a whole. */
static const char *judge(live_sums *got, size_t done)
{
    const size_t last = done < STEPS ? done : STEPS - 1;
    live_sums before = sums_after(got->arena, done);
    live_sums after = sums_after(got->arena, last + 1);
    subject s = subject_of(got->arena, last);
    const char *keys[] = {s.key, s.aged}, *wrong = NULL;
    for (size_t k = 0; k < 2; k++) {
        int64_t *then = row_of(&after, keys[k]), *now = row_of(got, keys[k]);
        const int64_t *was = row_of(&before, keys[k]);
        for (size_t i = 0; i < LIVE_TYPES; i++)
            if (!is_of_peak(i) && now[i] == was[i])
                now[i] = then[i];
    }
    wrong = live_differ(got, &after);
    for (size_t i = 0; i < before.len && wrong; i++) /* is it the peak of before? */
        memcpy(&row_of(&after, before.rows[i].key)[LIVE_SUMS], &before.rows[i].values[LIVE_SUMS],
               (LIVE_PLAIN - LIVE_SUMS) * sizeof(int64_t));
    return wrong ? live_differ(got, &after) : NULL;
}

typedef struct recovered {
    live_profile profile;
    live_mail mail;
    uint64_t left_out;
} recovered;

static pprofdelta_status recover(arena *a, const uint8_t *bytes, recovered *out,
                                 pprofdelta_error *err)
{
    pprofdelta_heap_stats stats = {.size = sizeof stats};
    const pprofdelta_heap_area area = {bytes, AREA, (uintptr_t)shared->area};
    const pprofdelta_heap_remains remains = {&area, 1, (uintptr_t)shared->heap};
    *out = (recovered){.mail.arena = a};
    const pprofdelta_sink sink = live_sink(&out->mail);
    pprofdelta_heap *heap = NULL;
    pprofdelta_status status = pprofdelta_heap_recover(&remains, &plain, &heap, err);
    if (status)
        return status;
    status = pprofdelta_heap_begin(heap, 1000000, NULL, err);
    if (!status)
        status = pprofdelta_heap_write(heap, PPROFDELTA_HEAP_CHANGES, &sink, err);
    if (!status)
        status = pprofdelta_heap_commit(heap);
    if (!status && !live_read(a, out->mail.bytes, out->mail.len, &out->profile))
        status = PPROFDELTA_E_VERIFY;
    pprofdelta_heap_describe(heap, &stats);
    out->left_out = stats.left_out;
    pprofdelta_heap_free(heap);
    return status;
}

/* Adds up what had arrived and the window that is recovered. */
static void check_stop(void)
{
    arena a = {0};
    pprofdelta_error err = {0};
    live_receiver receiver = {.arena = &a};
    live_profile p;
    recovered r;
    for (size_t i = 0; i < shared->mails; i++) {
        REQUIRE(live_read(&a, shared->mail[i].bytes, shared->mail[i].len, &p));
        live_receive(&receiver, &p);
    }
    pprofdelta_status status = recover(&a, shared->area, &r, &err);
    CHECK_MSG(!status, "step %zu: %s", shared->done, err.text);
    if (!status) {
        CHECK_MSG(!r.left_out, "step %zu: nothing is damaged, and %" PRIu64 " was left out",
                  shared->done, r.left_out);
        live_receive(&receiver, &r.profile);
        const char *wrong = judge(&receiver.now, shared->done);
        CHECK_MSG(!wrong && !receiver.gaps, "step %zu (%c), gaps %u: %s", shared->done,
                  steps[shared->done % STEPS].what, receiver.gaps, wrong ? wrong : "");
    }
    arena_free(&a);
}

static void play_in_child(void)
{
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
        _exit(77);
    shared->is_traced = 1;
    raise(SIGSTOP);
    shared->pace = FINE;
    for (size_t i = 0; i < STEPS; i++) {
        do_step(&steps[i], 10 * (int64_t)(i + 1));
        shared->done++;
    }
    _exit(0);
}

TEST(a_window_is_recovered_at_any_instruction)
{
    static const unsigned long every[] = {[FINE] = 31, [COARSE] = 1999};
    int status = 0;
    unsigned long stops = 0, count = 0;
    make_steps(7);
    make_stage();
    pid_t child = fork();
    if (!child)
        play_in_child();
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
    while (WIFSTOPPED(status)) {
        const int pace = shared->pace;
        if (pace != FREE && count++ % every[pace] == 0) {
            check_stop();
            stops++;
        }
        if (ptrace(pace == FREE ? PTRACE_CONT : PTRACE_SINGLESTEP, child, NULL, NULL) ||
            waitpid(child, &status, 0) != child)
            break;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        printf("  no ptrace here: only the end is recovered\n");
        shared->pace = FINE;
        for (size_t i = 0; i < STEPS; i++, shared->done++)
            do_step(&steps[i], 10 * (int64_t)(i + 1));
    } else {
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        CHECK_MSG(stops > 100, "%lu stops of %lu instructions", stops, count);
    }
    CHECK(shared->done == STEPS);
    check_stop();
    munmap(shared, sizeof *shared);
}

/* Words of the memory are changed: to others of it, to nearby numbers, to anything. */
TEST(hostile_memory_is_refused_or_read_within_bounds)
{
    enum { ROUNDS = 3000, WORDS = 6 };
    rng r = {3};
    plain.flags = PPROFDELTA_HEAP_AGES; /* with the table of mapped files */
    make_steps(5);
    make_stage();
    for (size_t i = 0; i < STEPS; i++)
        do_step(&steps[i], 10 * (int64_t)(i + 1));
    uint64_t *copy = malloc(AREA);
    size_t words = shared->used / sizeof *copy, refused = 0;
    REQUIRE(copy != NULL);
    for (size_t round = 0; round < ROUNDS; round++) {
        arena a = {0};
        recovered ignored;
        pprofdelta_error err = {0};
        memcpy(copy, shared->area, shared->used);
        for (size_t i = 0; i < WORDS; i++) {
            uint64_t *word = &copy[rng_below(&r, i % 2 ? words : 512)];
            *word = rng_chance(&r, 30)   ? copy[rng_below(&r, words)]
                    : rng_chance(&r, 50) ? *word + rng_below(&r, 4096) - 2048
                                         : rng_next(&r) >> rng_below(&r, 64);
        }
        pprofdelta_status status = recover(&a, (const uint8_t *)copy, &ignored, &err);
        CHECK_MSG(!status || status == PPROFDELTA_E_STATE, "round %zu: %s", round, err.text);
        refused += status != PPROFDELTA_OK;
        arena_free(&a);
    }
    CHECK(refused > 0 && refused < ROUNDS);
    plain.flags |= PPROFDELTA_NO_MAPPINGS;
    free(copy);
    munmap(shared, sizeof *shared);
}

TEST(an_attempt_counts_if_its_sink_was_called)
{
    static const step tracked = {'+', 1};
    const pprofdelta_sink sink = {.write = deliver, .cookie = (void *)"f"};
    arena a = {0};
    recovered r;
    pprofdelta_error err = {0};
    make_stage();
    do_step(&tracked, 10);
    pprofdelta_heap_begin(shared->heap, 20, NULL, NULL);
    for (uint64_t attempt = 1; attempt <= 2; attempt++) {
        has_no_work = attempt == 1; /* then the window cannot even be composed */
        CHECK(pprofdelta_heap_write(shared->heap, PPROFDELTA_HEAP_CHANGES, &sink, NULL) ==
              (has_no_work ? PPROFDELTA_E_MEMORY : PPROFDELTA_E_SINK));
        has_no_work = false;
        CHECK(recover(&a, shared->area, &r, &err) == PPROFDELTA_OK && r.profile.sequence == 1);
        CHECK_MSG(r.profile.attempt == attempt, "attempt %" PRIu64 ", not %" PRIu64,
                  r.profile.attempt, attempt);
    }
    arena_free(&a);
    munmap(shared, sizeof *shared);
}

/* The process that recovers has something else at its addresses. */
TEST(a_row_has_no_mapping_of_the_process_that_recovers)
{
    static const step tracked = {'+', 1};
    const pprofdelta_heap_options before = plain;
    ENDS(heap_end) pprofdelta_heap *heap = NULL;
    arena a = {0};
    live_mail mail = {.arena = &a};
    const pprofdelta_sink sink = live_sink(&mail);
    reading r = {0};
    plain.flags &= ~(unsigned)PPROFDELTA_NO_MAPPINGS;
    plain.gauge = "rss_space";
    plain.gauge_unit = "bytes";
    make_stage();
    do_step(&tracked, 10);
    pprofdelta_heap_note_mappings(shared->heap);
    const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    void *later = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
    REQUIRE(later != MAP_FAILED);
    const uint64_t stack[] = {(uintptr_t)later + 16};
    const pprofdelta_heap_row row = {.stack = stack, .depth = 1, .value = 7};
    const pprofdelta_heap_area area = {shared->area, AREA, (uintptr_t)shared->area};
    const pprofdelta_heap_remains remains = {&area, 1, (uintptr_t)shared->heap};
    REQUIRE(pprofdelta_heap_recover(&remains, &plain, &heap, NULL) == PPROFDELTA_OK);
    REQUIRE(pprofdelta_heap_begin(heap, 100, NULL, NULL) == PPROFDELTA_OK);
    CHECK(pprofdelta_heap_set_gauge(heap, &row, 1, NULL, NULL) == PPROFDELTA_OK);
    CHECK(pprofdelta_heap_write(heap, PPROFDELTA_HEAP_CHANGES, &sink, NULL) == PPROFDELTA_OK);
    REQUIRE(reading_make(&a, mail.bytes, mail.len, &r) == PPROFDELTA_OK);
    size_t found = 0;
    for (size_t i = 0; i < r.view->n_location; i++)
        found += r.view->location[i]->address == stack[0] && !r.view->location[i]->mapping_id;
    CHECK(found == 1);
    plain = before;
    munmap(later, 4096);
    close(file);
    arena_free(&a);
    munmap(shared, sizeof *shared);
}

TEST(remains_that_are_cut_or_of_another_build_are_refused)
{
    pprofdelta_error err;
    pprofdelta_heap *heap = NULL;
    make_stage();
    pprofdelta_heap_area area = {shared->area, AREA, (uintptr_t)shared->area};
    pprofdelta_heap_remains remains = {&area, 1, (uintptr_t)shared->heap};
    remains.root += AREA;
    CHECK(pprofdelta_heap_recover(&remains, &plain, &heap, &err) == PPROFDELTA_E_STATE);
    CHECK_STR(err.text, "the remains are cut: the tracker lies outside");
    remains.root -= AREA;
    memset(shared->area, 1, 8);
    CHECK(pprofdelta_heap_recover(&remains, &plain, &heap, &err) == PPROFDELTA_E_STATE);
    CHECK_STR(err.text, "the remains are damaged, or of another version or build");
    area.bytes = NULL;
    CHECK(pprofdelta_heap_recover(&remains, &plain, &heap, &err) == PPROFDELTA_E_USAGE);
    CHECK(!heap);
    munmap(shared, sizeof *shared);
}

TEST_MAIN()
