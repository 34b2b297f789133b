/* What a batch looks like as a profile: its stamp, symbols and mappings, its size; and who may do
 * what while it is written. */
#include "census.h"
#include "heap_scene.h"
#include "otlp_model.h"
#include "reading.h"

#include <dlfcn.h>
#include <sys/mman.h>

TEST(the_stamp_can_be_left_out)
{
    ENDS(end) scene s;
    begin(&s, (pprofdelta_heap_options){.flags = PPROFDELTA_NO_STAMP, .period = 4096});
    track(&s, 1);
    begun(&s, 1);
    reading r = read_batch(&s);
    CHECK(r.view->n_comment == 0 && r.samples_len == 1 && r.view->period == 4096);
    CHECK_STR(reading_string(&r, r.view->default_sample_type), "inuse_space");
    CHECK_STR(reading_string(&r, r.view->period_type->type), "space");
    CHECK_STR(reading_string(&r, r.view->period_type->unit), "bytes");
}

/* A full profile counts from the beginning and may be the input of a delta; the others may not. */
TEST(the_parsed_door_knows_a_delta_by_its_stamp)
{
    ENDS(end) scene s;
    pprofdelta *pd;
    pprofdelta_census census;
    begin(&s, (pprofdelta_heap_options){0});
    CHECK(pprofdelta_new(NULL, NULL, &pd, NULL) == PPROFDELTA_OK);
    track(&s, 1);
    static const int stamped[] = {0, 0, 1, 1};
    for (int i = 0; i < 4; i++) {
        if (i % 2 == 0)
            begun(&s, i);
        CHECK(pprofdelta_heap_write(s.heap, (pprofdelta_heap_inuse)(1 + i % 2), &s.sink, NULL) ==
              PPROFDELTA_OK);
        CHECK(!census_of(s.mail.bytes, s.mail.len, &census, NULL));
        CHECK_MSG(census.is_stamped == stamped[i], "%d", i);
        CHECK(pprofdelta_base(pd, s.mail.bytes, s.mail.len, NULL) ==
              (stamped[i] ? PPROFDELTA_E_STAMPED : PPROFDELTA_OK));
        if (i % 2)
            pprofdelta_heap_commit(s.heap);
    }
    pprofdelta_free(pd);
}

enum { FOO = 5, FOO_AGAIN, BAR, UNKNOWN };

/* An interpreter's frames, and whatever else is asked for. */
static void interpreter(void *cookie, uint64_t number, pprofdelta_symbol *out)
{
    static pprofdelta_frame frame;
    ++*(size_t *)cookie;
    if (number == UNKNOWN)
        return;
    const char *name = number == BAR ? "bar" : number < BAR ? "foo" : "native";
    frame = (pprofdelta_frame){.name = name, .filename = "app.py", .line = 7};
    *out = (pprofdelta_symbol){.frames = &frame, .frames_len = 1};
}

static int a_native_frame(void)
{
    return 1;
}

/* Python's and Ruby's frames have no addresses, but numbers of the agent's. */
TEST(numbers_that_are_no_addresses_are_known_by_their_lines)
{
    uint64_t native = (uint64_t)(uintptr_t)&a_native_frame;
    uint64_t stack[] = {FOO, FOO_AGAIN, BAR, UNKNOWN, native, FOO};
    CHECK(a_native_frame());
    for (unsigned flags = 0; flags <= PPROFDELTA_NO_MAPPINGS; flags += PPROFDELTA_NO_MAPPINGS) {
        ENDS(end) scene s;
        size_t calls = 0;
        begin(&s, (pprofdelta_heap_options){
                      .flags = flags, .symbolize = interpreter, .symbolize_cookie = &calls});
        for (size_t i = 0; i < 2; i++) {
            pprofdelta_heap_event event = {
                .ptr = live_pointer(i), .weight = {1, 1}, .stack = stack + i, .depth = 6 - i};
            CHECK(pprofdelta_heap_track(s.heap, &event));
        }
        begun(&s, 1);
        reading r = read_batch(&s);
        CHECK(calls == 5); /* once for each number */
        REQUIRE(r.view->n_location == 4 && r.view->n_sample == 2);
        const size_t depth = r.view->sample[0]->n_location_id;
        const uint64_t *ids = r.view->sample[0]->location_id;
        REQUIRE(depth == 6 || depth == 5); /* in whichever order they come */
        ids += depth == 6;
        static const uint64_t addresses[] = {0, 0, UNKNOWN, 0};
        for (size_t i = 0; i < 4; i++) {
            const Pd__View__Location *l = r.view->location[ids[i] - 1];
            bool is_mapped = i == 3 && !flags;
            CHECK(l->address == (is_mapped ? native : addresses[i]));
            CHECK(!l->mapping_id == !is_mapped && l->n_line == (i != 2));
        }
        CHECK(ids[0] == ids[4] && ids[0] != ids[1] && ids[1] != ids[3]);
    }
}

static const Pd__View__Mapping *mapping_of(const Pd__View__Profile *p, uint64_t address)
{
    for (size_t i = 0; i < p->n_location; i++)
        for (size_t j = 0; p->location[i]->address == address && j < p->n_mapping; j++)
            if (p->mapping[j]->id == p->location[i]->mapping_id)
                return p->mapping[j];
    return NULL;
}

static int a_function(void)
{
    return 1;
}

/* The program's own code and a library's are told apart, by name; an address that is in no file is
 * without a mapping; the program is the first mapping, as pprof takes it. */
TEST(addresses_have_their_mappings)
{
    ENDS(end) scene s;
    pprofdelta_heap_options options = PPROFDELTA_HEAP_OPTIONS_INIT;
    *&s = (scene){0};
    s.mail.arena = &s.arena;
    s.sink = live_sink(&s.mail);
    REQUIRE(pprofdelta_heap_new(&options, &s.heap, NULL) == PPROFDELTA_OK);
    uint64_t here = (uint64_t)(uintptr_t)&a_function,
             theirs_at = (uint64_t)(uintptr_t)dlsym(NULL, "getppid");
    uint64_t stack[] = {theirs_at, here, 16};
    pprofdelta_heap_event event = {.ptr = &s, .weight = {1, 1}, .stack = stack, .depth = 3};
    CHECK(a_function() && pprofdelta_heap_track(s.heap, &event));
    begun(&s, 1);
    reading r = read_batch(&s);
    const Pd__View__Mapping *ours = mapping_of(r.view, here),
                            *theirs = mapping_of(r.view, theirs_at);
    REQUIRE(ours && theirs && ours != theirs);
    CHECK(ours == r.view->mapping[0] && !mapping_of(r.view, 16));
    CHECK(strstr(reading_string(&r, ours->filename), "heap_profile_test"));
    CHECK(ours->memory_start <= here && here < ours->memory_limit);
    CHECK(theirs->memory_start <= theirs_at && theirs_at < theirs->memory_limit);
    pprofdelta_heap_note_mappings(s.heap);
    pprofdelta_heap_commit(s.heap);
    uint8_t *later = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(later != MAP_FAILED);
    stack[2] = (uint64_t)(uintptr_t)later;
    CHECK(pprofdelta_heap_track(s.heap, &event)); /* in a mapping that is new */
    begun(&s, 2);
    r = read_batch(&s);
    CHECK(mapping_of(r.view, stack[2]));
    munmap(later, 4096);
}

/* Names of the program's own functions: none has lines, and no other mapping has names. */
static void name_own(void *cookie, uint64_t address, pprofdelta_symbol *out)
{
    static pprofdelta_frame frame;
    if (address != (uint64_t)(uintptr_t)&a_function)
        return;
    frame = (pprofdelta_frame){.name = cookie};
    *out = (pprofdelta_symbol){.frames = &frame, .frames_len = 1};
}

/* What the batch means, written as pprof or as OTLP. */
static otlp_model model_of(arena *a, pprofdelta_format format, unsigned flags,
                           pprofdelta_symbolizer *symbolize)
{
    scene s;
    otlp_model model = {0};
    pprofdelta_error err = {0};
    begin(&s, (pprofdelta_heap_options){.flags = flags,
                                        .format = format,
                                        .symbolize = symbolize,
                                        .symbolize_cookie = (void *)(uintptr_t) "a_function"});
    uint64_t stack[] = {(uint64_t)(uintptr_t)dlsym(NULL, "getppid"),
                        (uint64_t)(uintptr_t)&a_function, 16};
    pprofdelta_heap_event event = {.ptr = &s, .weight = {1, 8}, .stack = stack, .depth = 3};
    CHECK(pprofdelta_heap_track(s.heap, &event));
    begun(&s, 1);
    CHECK(pprofdelta_heap_write(s.heap, PPROFDELTA_HEAP_SNAPSHOT, &s.sink, NULL) == PPROFDELTA_OK);
    CHECK_MSG(!census_of(s.mail.bytes, s.mail.len, NULL, &err), "census: %s", err.text);
    if (format == PPROFDELTA_OTLP)
        otlp_model_read(a, s.mail.bytes, s.mail.len, &model);
    else
        otlp_model_read_pprof(a, s.mail.bytes, s.mail.len, &model);
    CHECK_MSG(!model.wrong, "%s", model.wrong);
    end(&s);
    return model;
}

/* With what is known of the mappings, also what is known only when an address has a name. */
TEST(a_request_means_what_the_profile_means)
{
    static const struct {
        unsigned flags;
        pprofdelta_symbolizer *symbolize;
        const char *has; /* of the program's mapping: functions, files, lines, inlined calls */
    } kinds[] = {{PPROFDELTA_NO_MAPPINGS, NULL, "alloc_space"},
                 {0, name_own, " 1111"},
                 {PPROFDELTA_HEAP_NAMES_ONLY, name_own, " 1000"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        ENDS(arena_free) arena a = {0};
        otlp_model pprof = model_of(&a, PPROFDELTA_PPROF, kinds[i].flags, kinds[i].symbolize),
                   request = model_of(&a, PPROFDELTA_OTLP, kinds[i].flags, kinds[i].symbolize);
        REQUIRE(pprof.text && request.text);
        const char *wrong = otlp_model_differ(&a, &pprof, &request);
        CHECK_MSG(!wrong, "%zu: %s", i, wrong);
        CHECK_MSG(strstr(request.text, kinds[i].has), "%zu: %s", i, request.text);
    }
}

TEST_MAIN()
