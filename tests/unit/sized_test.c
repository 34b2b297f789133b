/* Programs that were compiled with another version of the headers: each struct that has a size is one
 * member shorter, as long, or one member longer than the library's.
 *
 *     [ members of the caller | MARK MARK ... ]    nothing behind the caller's size is read or written */
#include "pprofdelta_profile.h" /* by itself: the first thing that is included */

#if !defined(__STDC_VERSION__) || __STDC_VERSION__ < 201112L
#error "the header is for C11"
#endif

/* What programs are compiled against: changing any of it breaks them. */
_Static_assert(PPROFDELTA_OK == 0, "a status is tested as a truth value");
_Static_assert(PPROFDELTA_E_USAGE == 11 && PPROFDELTA_E_STATE == 12 && PPROFDELTA_E_SOURCE == 13 &&
                   PPROFDELTA_E_NOT_CUMULATIVE == 14 && PPROFDELTA_E_OLDER == 15 &&
                   PPROFDELTA_E_OTHER_TARGET == 16,
               "statuses are not renumbered");
_Static_assert(PPROFDELTA_REASON_NONE == 0 && PPROFDELTA_REASON_MAX_MEMORY == 1 &&
                   PPROFDELTA_REASON_NEWER_STATE == 13,
               "reasons are not renumbered");
_Static_assert(PPROFDELTA_ON_RESET_FAIL == 4 && PPROFDELTA_FIRST_ZERO == 1 &&
                   PPROFDELTA_PLAIN == 2 && PPROFDELTA_RESTART_ANY == 4 &&
                   PPROFDELTA_RESTART_LIVE == 5,
               "choices are not renumbered");
_Static_assert(PPROFDELTA_NO_STAMP == 1 && PPROFDELTA_FORCE == 2 && PPROFDELTA_VERIFY == 4 &&
                   PPROFDELTA_DEFAULT_COUNTER == 8,
               "flags keep their bits");
_Static_assert(sizeof(pprofdelta_sum) == 16, "a sum is 128 bits");
_Static_assert(PPROFDELTA_NOWHERE == UINT64_MAX && PPROFDELTA_MAX_TYPES == 64,
               "limits are not narrowed");
_Static_assert(PPROFDELTA_DEFAULT_MAX_MEMORY == 8589934592, "the default is 8 GiB");

#include "pprofdelta_heap.h"
#include "pprofdelta_record.h"
#include "test.h"

#include <stdbool.h>

enum { MARK = 0x5a, ROOM = 1024, MEMBER = sizeof(uint64_t) };

/* A struct of the caller. `size` is what it says, behind which there are marks. */
typedef union caller {
    size_t size;
    uint64_t aligned;
    uint8_t bytes[ROOM];
} caller;

static caller caller_of(const void *from, size_t own, size_t size)
{
    caller c;
    memset(&c, MARK, sizeof c);
    memset(&c, 0, size);
    if (from)
        memcpy(&c, from, own < size ? own : size);
    c.size = size;
    return c;
}

/* ---- options ----------------------------------------------------------------------------------- */

static const pprofdelta_value_type counter = {"n", "count", 1};
static const pprofdelta_options zero = {.size = sizeof zero}, init = PPROFDELTA_OPTIONS_INIT;
static const pprofdelta_options plain = {.size = sizeof plain, .compression = PPROFDELTA_PLAIN};
static const pprofdelta_options numbered = {
    .size = sizeof numbered, .compression = PPROFDELTA_PLAIN, .id = 7};
static const pprofdelta_recorder_options recorder_plain = {
    .size = sizeof recorder_plain, .compression = PPROFDELTA_PLAIN, .id = 7};
static const pprofdelta_builder_options builder_plain = {.size = sizeof builder_plain,
                                                         .compression = PPROFDELTA_PLAIN,
                                                         .types = &counter,
                                                         .types_len = 1};
static const pprofdelta_heap_options heap_plain = {.size = sizeof heap_plain,
                                                   .compression = PPROFDELTA_PLAIN};

#define MAKE(door, type, functions, ...)                                                           \
    static pprofdelta_status make_##door(const void *options)                                      \
    {                                                                                              \
        type *made;                                                                                \
        pprofdelta_status status = functions##_new(options, __VA_ARGS__, NULL);                    \
        if (!status)                                                                               \
            functions##_free(made);                                                                \
        return status;                                                                             \
    }

MAKE(context, pprofdelta, pprofdelta, NULL, &made)
MAKE(adder, pprofdelta_adder, pprofdelta_adder, NULL, &made)
MAKE(recorder, pprofdelta_recorder, pprofdelta_recorder, NULL, &made)
MAKE(builder, pprofdelta_builder, pprofdelta_builder, NULL, &made)
MAKE(heap, pprofdelta_heap, pprofdelta_heap, &made)

TEST(options_may_be_shorter_or_longer)
{
    static const struct {
        const char *name;
        pprofdelta_status (*make)(const void *);
        const void *options;
        size_t size;
    } doors[] = {{"context", make_context, &plain, sizeof plain},
                 {"adder", make_adder, &plain, sizeof plain},
                 {"recorder", make_recorder, &recorder_plain, sizeof recorder_plain},
                 {"builder", make_builder, &builder_plain, sizeof builder_plain},
                 {"heap", make_heap, &heap_plain, sizeof heap_plain}};
    CHECK(memcmp(&zero, &init, sizeof zero) == 0); /* the defaults */
    for (size_t i = 0; i < sizeof doors / sizeof *doors; i++) {
        size_t size = doors[i].size;
        for (size_t given = size - MEMBER; given <= size + MEMBER; given += MEMBER) {
            caller c = caller_of(doors[i].options, size, given);
            CHECK_MSG(!doors[i].make(&c), "%s: %zu bytes for %zu", doors[i].name, given, size);
        }
        caller c = caller_of(doors[i].options, size, size + MEMBER);
        c.bytes[size + MEMBER - 1] = 1; /* an option that the library does not know */
        CHECK_MSG(doors[i].make(&c) == PPROFDELTA_E_USAGE, "%s", doors[i].name);
    }
}

/* ---- results ----------------------------------------------------------------------------------- */

static int ignore(void *cookie, const void *data, size_t len)
{
    (void)cookie, (void)data, (void)len;
    return 0;
}

static const pprofdelta_sink sink = {.write = ignore};

/* { one counter of 5 } */
static const uint8_t profile[] = {0x0a, 0x04, 0x08, 0x01, 0x10, 0x02, 0x12, 0x03, 0x12, 0x01, 0x05,
                                  0x32, 0x00, 0x32, 0x05, 'd',  'e',  'l',  'a',  'y',  0x32, 0x0b,
                                  'n',  'a',  'n',  'o',  's',  'e',  'c',  'o',  'n',  'd',  's'};

static pprofdelta_status fill_report(void *out)
{
    pprofdelta *pd;
    CHECK(!pprofdelta_new(&numbered, NULL, &pd, NULL));
    pprofdelta_status status = pprofdelta_window(pd, profile, sizeof profile, &sink, out, NULL);
    pprofdelta_free(pd);
    return status;
}

static pprofdelta_status fill_memory(void *out)
{
    pprofdelta *pd;
    CHECK(!pprofdelta_new(&numbered, NULL, &pd, NULL));
    CHECK(!pprofdelta_base(pd, profile, sizeof profile, NULL));
    pprofdelta_status status = pprofdelta_describe(pd, out);
    pprofdelta_free(pd);
    return status;
}

static pprofdelta_status fill_census(void *out)
{
    pprofdelta_profile *opened;
    CHECK(!pprofdelta_profile_open(NULL, NULL, profile, sizeof profile, &opened, NULL));
    pprofdelta_status status = pprofdelta_profile_census(opened, out);
    pprofdelta_profile_free(opened);
    return status;
}

static pprofdelta_status fill_recorder_report(void *out)
{
    pprofdelta_recorder *r;
    CHECK(!pprofdelta_recorder_new(&recorder_plain, NULL, &r, NULL));
    CHECK(!pprofdelta_recorder_begin(r, &(pprofdelta_recording){.time_nanos = 1}, NULL));
    pprofdelta_status status = pprofdelta_recorder_write(r, &sink, out, NULL);
    pprofdelta_recorder_free(r);
    return status;
}

static pprofdelta_status fill_builder_report(void *out)
{
    pprofdelta_builder *b;
    CHECK(!pprofdelta_builder_new(&builder_plain, NULL, &b, NULL));
    CHECK(!pprofdelta_builder_begin(b, NULL));
    pprofdelta_status status = pprofdelta_builder_write(b, &sink, out, NULL);
    pprofdelta_builder_free(b);
    return status;
}

static pprofdelta_status fill_heap_window(void *out)
{
    pprofdelta_heap *heap;
    CHECK(!pprofdelta_heap_new(&heap_plain, &heap, NULL));
    pprofdelta_status status = pprofdelta_heap_begin(heap, 1, out, NULL);
    pprofdelta_heap_free(heap);
    return status;
}

static pprofdelta_status fill_heap_stats(void *out)
{
    pprofdelta_heap *heap;
    CHECK(!pprofdelta_heap_new(&heap_plain, &heap, NULL));
    pprofdelta_status status = pprofdelta_heap_describe(heap, out);
    pprofdelta_heap_free(heap);
    return status;
}

static bool is_marked(const caller *c, size_t from)
{
    for (size_t i = from; i < sizeof c->bytes; i++)
        if (c->bytes[i] != MARK)
            return false;
    return true;
}

TEST(results_may_be_shorter_or_longer)
{
    static const struct {
        const char *name;
        pprofdelta_status (*fill)(void *out);
        size_t size, last; /* where the last member is */
    } doors[] = {
        {"report", fill_report, sizeof(pprofdelta_report), offsetof(pprofdelta_report, id)},
        {"recorder", fill_recorder_report, sizeof(pprofdelta_report),
         offsetof(pprofdelta_report, id)},
        {"memory", fill_memory, sizeof(pprofdelta_memory), offsetof(pprofdelta_memory, bytes)},
        {"census", fill_census, sizeof(pprofdelta_census),
         offsetof(pprofdelta_census, other_attributes)},
        {"builder", fill_builder_report, sizeof(pprofdelta_builder_report),
         offsetof(pprofdelta_builder_report, output_len)},
        {"window", fill_heap_window, sizeof(pprofdelta_heap_window),
         offsetof(pprofdelta_heap_window, changed)},
        {"stats", fill_heap_stats, sizeof(pprofdelta_heap_stats),
         offsetof(pprofdelta_heap_stats, filter)},
    };
    for (size_t i = 0; i < sizeof doors / sizeof *doors; i++) {
        size_t size = doors[i].size;
        for (size_t given = size - MEMBER; given <= size + MEMBER; given += MEMBER) {
            caller c = caller_of(NULL, 0, given);
            memset(c.bytes + sizeof c.size, MARK, sizeof c.bytes - sizeof c.size);
            CHECK_MSG(!doors[i].fill(&c), "%s", doors[i].name);
            CHECK_MSG(c.size == given, "%s", doors[i].name);
            CHECK_MSG(is_marked(&c, given < size ? given : size), "%s: %zu bytes for %zu",
                      doors[i].name, given, size);
            CHECK_MSG(is_marked(&c, doors[i].last) == (given <= doors[i].last),
                      "%s: %zu bytes for %zu", doors[i].name, given, size);
        }
        static const size_t not_set[] = {0, sizeof(size_t) - 1, 4097, SIZE_MAX};
        for (size_t n = 0; n < sizeof not_set / sizeof *not_set; n++) {
            caller c = caller_of(NULL, 0, 0);
            c.size = not_set[n];
            CHECK_MSG(doors[i].fill(&c) == PPROFDELTA_E_USAGE, "%s", doors[i].name);
            CHECK_MSG(is_marked(&c, sizeof c.size), "%s", doors[i].name);
        }
    }
}

/* ---- the array of a report ----------------------------------------------------------------------- */

/* What a program had that was compiled before the member `vanished` was added. */
typedef struct older_type_report {
    const char *type, *unit;
    int is_counter;
    pprofdelta_sum prev, cur, delta, clamped;
} older_type_report;

static const older_type_report *older_type(const void *types, size_t stride, size_t i)
{
    return (const older_type_report *)((const char *)types + i * stride);
}

TEST(types_may_have_more_members)
{
    static const uint8_t two_types[] = {
        0x0a, 4,   8,   1,   16,   2,   0x0a, 4,    8,   3,   16,  2,   0x12, 4,
        0x12, 2,   5,   7,   0x32, 0,   0x32, 13,   'a', 'l', 'l', 'o', 'c',  '_',
        'o',  'b', 'j', 'e', 'c',  't', 's',  0x32, 5,   'b', 'y', 't', 'e',  's',
        0x32, 11,  'a', 'l', 'l',  'o', 'c',  '_',  's', 'p', 'a', 'c', 'e'};
    pprofdelta *pd;
    pprofdelta_report report = PPROFDELTA_SIZED(pprofdelta_report);
    pprofdelta_memory memory = PPROFDELTA_SIZED(pprofdelta_memory);
    REQUIRE(!pprofdelta_new(&numbered, NULL, &pd, NULL));
    REQUIRE(!pprofdelta_window(pd, two_types, sizeof two_types, &sink, &report, NULL));
    REQUIRE(!pprofdelta_commit(pd) && !pprofdelta_describe(pd, &memory));
    REQUIRE(report.types_len == 2 && memory.types_len == 2);
    const older_type_report *in_report = older_type(report.types, report.types_stride, 1);
    const older_type_report *in_memory = older_type(memory.types, memory.types_stride, 1);
    CHECK_STR(in_report->type, "alloc_space");
    CHECK_STR(in_memory->type, "alloc_objects"); /* its order is the state's */
    CHECK(in_report->cur.lo == 7 && in_report->is_counter);
    CHECK(!in_memory->prev.lo && !in_memory->is_counter); /* bytes of objects: not known */
    CHECK((const void *)PPROFDELTA_TYPE(&report, 1) == (const void *)in_report);
    CHECK(PPROFDELTA_TYPE(&memory, 0)->prev.lo == 7);
    pprofdelta_free(pd);
}

/* What is frozen: a program of any version has the same. (Of 64-bit machines.) */
#if UINTPTR_MAX == UINT64_MAX
#define FROZEN(type, bytes) _Static_assert(sizeof(type) == (bytes), #type " has changed")
FROZEN(pprofdelta_error, 512);
FROZEN(pprofdelta_allocator, 24);
FROZEN(pprofdelta_sink, 24);
FROZEN(pprofdelta_source, 16);
FROZEN(pprofdelta_attribute, 16);
FROZEN(pprofdelta_label, 32);
FROZEN(pprofdelta_frame, 48);
FROZEN(pprofdelta_symbol, 24);
FROZEN(pprofdelta_value_type, 24);
FROZEN(pprofdelta_record, 48);
FROZEN(pprofdelta_recording, 48);
FROZEN(pprofdelta_sample, 48);
FROZEN(pprofdelta_stamp, 96);
FROZEN(pprofdelta_sampler, 48);
FROZEN(pprofdelta_heap_pages, 24);
FROZEN(pprofdelta_heap_event, 80);
FROZEN(pprofdelta_heap_realloc, 16);
FROZEN(pprofdelta_heap_row, 48);
FROZEN(pprofdelta_heap_area, 24);
FROZEN(pprofdelta_heap_remains, 24);
#endif

TEST_MAIN()
