/* The tables of lines in code objects: what three versions of CPython wrote for one function, and tables that are cut. */
#include "../support/test.h"

#include "agent/base/remains.h"
#include "agent/python/python.h"

#include <stdlib.h>

/* def f(a,
 *       b):
 *     x = a
 *
 *     y = (b +
 *          a)
 *     for i in range(3):
 *         if i: x += 1
 *     return x, y */
static const uint8_t of_3_9[] = {0, 2, 4, 2, 2, 1, 2, 255, 4, 2, 12, 1, 14, 1};
static const uint8_t of_3_10[] = {4, 2, 2, 2, 2, 1, 4, 255, 12, 2, 12, 1, 2, 128, 8, 1};
static const uint8_t of_3_11[] = {128, 0,   224, 8,   9,  128, 65,  224, 9,   10,  216, 9,   10,
                                  241, 3,   1,   10,  11, 128, 65,  229, 13,  18,  144, 49,  137,
                                  88,  140, 88,  240, 0,  1,   5,   21,  240, 0,   1,   5,   21,
                                  136, 1,   216, 11,  12, 136, 12,  136, 97,  144, 49,  137, 102,
                                  136, 97,  248, 216, 11, 12,  136, 97,  136, 52,  128, 75};

/* The lines of the instructions, as co_lines() has them; 0 is none, which is that of the instruction before. */
static const int old[] = {3, 3, 5, 6, 5, 5, 7, 7, 7, 7, 7, 7, 8, 8, 8, 8, 8, 8, 8, 9, 9, 9, 9};
static const int new[] = {1, 3, 3, 5, 6, 5, 5, 5, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
                          7, 7, 7, 7, 7, 7, 8, 8, 8, 8, 8, 8, 8, 8, 9, 9, 9, 9};

static const struct version {
    unsigned minor;
    const uint8_t *table;
    size_t len;
    const int *lines;
    long instructions;
} versions[] = {{9, of_3_9, sizeof of_3_9, old, sizeof old / sizeof *old},
                {10, of_3_10, sizeof of_3_10, old, sizeof old / sizeof *old},
                {11, of_3_11, sizeof of_3_11, new, sizeof new / sizeof *new}};

static int line_of(const struct version *v, long instruction)
{
    return pd_python_line(v->minor, v->table, v->len, 1, instruction);
}

TEST(lines_of_one_function)
{
    for (size_t v = 0; v < sizeof versions / sizeof *versions; v++)
        for (long i = 0; i < versions[v].instructions; i++)
            CHECK(line_of(&versions[v], 2 * i) == versions[v].lines[i]);
}

TEST(before_the_first_instruction)
{
    for (size_t v = 0; v < sizeof versions / sizeof *versions; v++)
        CHECK(line_of(&versions[v], -2) == 1);
}

/* Reads no byte behind the table: the sanitizers see that. */
TEST(every_prefix_of_a_table)
{
    for (size_t v = 0; v < sizeof versions / sizeof *versions; v++)
        for (size_t len = 0; len <= versions[v].len; len++) {
            uint8_t *table = malloc(len ? len : 1);
            memcpy(table, versions[v].table, len);
            int line =
                pd_python_line(versions[v].minor, table, len, 1, 2 * versions[v].instructions);
            CHECK(line >= 1 && line <= 9);
            free(table);
        }
}

/* The forms of an entry with larger numbers: 13 and 14 have a signed number of six bits in each byte. */
TEST(lines_far_away)
{
    static const uint8_t far[] = {0x80 | 13 << 3, 0x40 | 0x28, 0x1, 0x80 | 14 << 3, 0x3, 0, 0, 0};
    CHECK(pd_python_line(12, far, sizeof far, 100, 0) == 152);
    CHECK(pd_python_line(12, far, sizeof far, 100, 2) == 151);
}

/* ---- the numbers of frames --------------------------------------------------------------------- */

static size_t asked;

static const void *find_counted(const void *cookie, uint64_t address, size_t len)
{
    (void)cookie, (void)len;
    asked++;
    return (const void *)(uintptr_t)address;
}

/* An address of another kind must not be read from, whatever its bits. */
TEST(only_the_number_of_a_frame_is_looked_up)
{
    static const char text[] = "rows.load\0rows.py";
    uint64_t words[8] = {0};
    pd_remains_function *function = (void *)words;
    function->name_len = 9;
    function->file_len = 7;
    function->first_line = 40;
    memcpy(function->text, text, sizeof text);
    function->check =
        pd_remains_check(&function->check, pd_remains_size_of_function(function->name_len, 7));
    pd_remains_frame one = {.function = (uintptr_t)function, .line = 42};
    one.check = pd_remains_check(&one.check, sizeof one);
    const uint64_t at = (uintptr_t)&one;
    pprofdelta_frame frame;
    CHECK(pd_remains_name_frame(find_counted, NULL, at | PD_REMAINS_NUMBER, &frame));
    CHECK_STR(frame.name, "rows.load");
    CHECK_STR(frame.filename, "rows.py");
    CHECK(frame.line == 42 && frame.start_line == 40);
    asked = 0;
    for (uint64_t top = 0; top <= UINT16_MAX; top++)
        if (top != PD_REMAINS_NUMBER >> 48)
            CHECK(!pd_remains_name_frame(find_counted, NULL, at | top << 48, &frame));
    CHECK(asked == 0);
}

TEST_MAIN()
