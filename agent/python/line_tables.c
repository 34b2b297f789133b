/* The tables of lines in code objects, which differ between versions: see python.h.
 *
 *     3.9           pairs of bytes: instructions, signed lines
 *     3.10          the same; the lines come first, and -128 is an instruction without a line
 *     since 3.11    an entry begins with a byte above 127: its form, and how many code units of 2 bytes. Numbers follow */
#include "agent/python/python.h"

static int line_by_pairs(const uint8_t *table, size_t len, int line, long instruction)
{
    long address = 0;
    for (size_t at = 0; at + 1 < len; at += 2) {
        address += table[at];
        if (address > instruction)
            break;
        line += (int8_t)table[at + 1];
    }
    return line;
}

static int line_by_ranges(const uint8_t *table, size_t len, int line, long instruction)
{
    const int first = line;
    long end = 0;
    for (size_t at = 0; at + 1 < len; at += 2) {
        line += table[at + 1] != 0x80 ? (int8_t)table[at + 1] : 0;
        end += table[at];
        if (instruction < end)
            return line;
    }
    return first;
}

/* Six bits in each byte, the lowest first; the seventh bit: more follow. The sign is the lowest bit of the number. */
static int signed_number(const uint8_t *table, size_t len, size_t at)
{
    unsigned number = 0, shift = 0;
    for (bool goes_on = true; goes_on && at < len && shift < 30; shift += 6, at++) {
        number |= (table[at] & 63u) << shift;
        goes_on = table[at] & 64;
    }
    return number & 1 ? -(int)(number >> 1) : (int)(number >> 1);
}

static int line_by_entries(const uint8_t *table, size_t len, int line, long instruction)
{
    enum { ONE_LINE_0 = 10, ONE_LINE_2 = 12, NO_COLUMNS, LONG, UNIT = 2 };
    const int first = line;
    long end = 0;
    for (size_t at = 0; at < len;) {
        unsigned form = table[at] >> 3 & 15;
        end += ((table[at] & 7) + 1L) * UNIT;
        at++;
        if (form >= ONE_LINE_0 && form <= ONE_LINE_2)
            line += (int)form - ONE_LINE_0;
        else if (form == NO_COLUMNS || form == LONG)
            line += signed_number(table, len, at);
        if (instruction < end)
            return line;
        while (at < len && table[at] < 128)
            at++;
    }
    return first;
}

int pd_python_line(unsigned minor, const uint8_t *table, size_t len, int first_line,
                   long instruction)
{
    if (instruction < 0)
        return first_line;
    int line = minor < 10   ? line_by_pairs(table, len, first_line, instruction)
               : minor < 11 ? line_by_ranges(table, len, first_line, instruction)
                            : line_by_entries(table, len, first_line, instruction);
    return line > 0 ? line : first_line;
}
