/* Identities have fixed values, because states on disk hold keys. The oracle of delta_test.c has the rules of
 * what is equal. */
#include "../support/test.h"

#include "profile/identity.h"

static pd_bytes text(const char *s)
{
    return (pd_bytes){(const uint8_t *)s, strlen(s)};
}

static pd_place place_of(uint64_t start, uint64_t offset, const char *file, const char *build_id)
{
    return pd_place_in_file(pd_file_key(text(file), text(build_id)), start, offset);
}

static pd_key function(const char *name, const char *system_name, const char *filename,
                       int64_t start_line)
{
    pprofdelta_frame frame = {
        .name = name, .system_name = system_name, .filename = filename, .start_line = start_line};
    return pd_function_parts_of(&frame).key;
}

typedef struct line {
    pd_key function;
    int64_t line, column;
} line;

/* States on disk hold keys made of these: a change needs a new format of the state. */
TEST(identities_have_fixed_values)
{
    static const struct {
        const char *what;
        pd_key want;
    } pinned[] = {
        {"build id", {UINT64_C(0xca48ea46c3890252), UINT64_C(0xc05d3a7813008222)}},
        {"name", {UINT64_C(0x709123d76e52882a), UINT64_C(0x54aae18e0069034c)}},
        {"absolute", {UINT64_C(0x429cd7f68fe91f6b), UINT64_C(0x966427d6fb2d1299)}},
        {"folded", {UINT64_C(0x67a48abac907b964), UINT64_C(0xaed2d77f49e9eed6)}},
        {"nothing", {UINT64_C(0x7d4d118bf95e75e5), UINT64_C(0x34f57a4eb9931da4)}},
        {"function", {UINT64_C(0x525faa84d5598d25), UINT64_C(0x7136509c8ad0690c)}},
        {"line", {UINT64_C(0x754f70179375eaef), UINT64_C(0xc443d1f10484f1ca)}},
        {"folded line", {UINT64_C(0xbb3e4fc22ff3169e), UINT64_C(0xb982bb465be85bca)}},
    };
    pd_place by_id = place_of(0x400000, 0x1000, "/bin/app", "abc123");
    pd_place by_name = place_of(0x400000, 0x1000, "/bin/app", "");
    pd_key main = function("main.main", "main.main", "main.go", 12);
    pd_key got[] = {
        pd_location_key_address(by_id, 0x401234, false),
        pd_location_key_address(by_name, 0x401234, false),
        pd_location_key_address(PD_NOWHERE_MAPPED, 0x401234, false),
        pd_location_key_address(by_id, 0x401234, true),
        pd_location_key_address(PD_NOWHERE_MAPPED, 0, false),
        main,
        pd_location_key_line(pd_location_key_lines_begin(false), main, 15, 3),
        pd_location_key_line(pd_location_key_lines_begin(true), main, 15, 3),
    };
    for (size_t i = 0; i < sizeof got / sizeof *got; i++)
        CHECK_MSG(pd_key_equal(got[i], pinned[i].want), "%s is {0x%016llx, 0x%016llx}",
                  pinned[i].what, (unsigned long long)got[i].lo, (unsigned long long)got[i].hi);
}

/* ---- samples --------------------------------------------------------------------------------- */

enum { DEPTH_MAX = 3 * PD_STACK_BLOCK };

/* A sample as the hash sees it. */
typedef struct stack {
    pd_key idents[DEPTH_MAX];
    size_t depth;
    pd_key labels[8];
    size_t labels_len;
} stack;

static pd_key key_of(const stack *s)
{
    static pd_stack_numbers numbers;
    pd_stack_numbers_init(&numbers);
    pd_identity hash = {0};
    for (size_t i = 0; i < s->depth; i++)
        pd_identity_place(&hash, &numbers, s->idents[i]);
    for (size_t i = 0; i < s->labels_len; i++)
        pd_identity_label(&hash, s->labels[i]);
    return pd_identity_key(&hash);
}

static pd_key label(const char *key, const char *str, int64_t num, const char *unit)
{
    return pd_label_key(pd_label_names_key(text(key), text(str), text(unit)), num);
}

/* States on disk hold keys: a change needs a new format of the state. */
TEST(keys_have_fixed_values)
{
    static const struct {
        size_t depth, labels;
        pd_key want;
    } pinned[] = {
        {0, 0, {UINT64_C(0x0000000000000000), UINT64_C(0x0000000000000000)}},
        {1, 0, {UINT64_C(0x47520df0f93ef784), UINT64_C(0xb5093b781a96e475)}},
        {0, 1, {UINT64_C(0x2375f639824c66d4), UINT64_C(0xcc679b4d14fb3ec3)}},
        {40, 2, {UINT64_C(0x3843cc6f4ad98fb1), UINT64_C(0x5512d70571564169)}},
        {256, 0, {UINT64_C(0x7117af873eb78c6c), UINT64_C(0x87cf100db6261585)}},
        {600, 0, {UINT64_C(0xd4b288260944a647), UINT64_C(0x3b3ed54720fc2564)}},
    };
    for (size_t i = 0; i < sizeof pinned / sizeof *pinned; i++) {
        static stack s;
        s.depth = pinned[i].depth;
        s.labels_len = pinned[i].labels;
        for (uint64_t n = 0; n < s.depth; n++)
            s.idents[n] = (pd_key){n * UINT64_C(0x9e3779b97f4a7c15) + 1, ~n};
        s.labels[0] = label("request", "GET", 0, "");
        s.labels[1] = label("bytes", "", 4096, "bytes");
        pd_key got = key_of(&s);
        CHECK_MSG(pd_key_equal(got, pinned[i].want), "depth %zu is {0x%016llx, 0x%016llx}", s.depth,
                  (unsigned long long)got.lo, (unsigned long long)got.hi);
    }
}

TEST_MAIN()
