/* The tables of a Huffman code: a code is looked up by its first bits in a table that tells the
 * symbol and its length; a code that is longer goes on in a subtable.
 *
 *     entry    [ L | value, 15 bits | S E X | extra, 4 bits | ... | length, 5 bits ]
 *
 *     L        a literal: value is the byte
 *     S        a subtable: value is where it begins, extra how many more bits tell the entry
 *     E        the end of the block
 *     X        a code that means nothing
 *     else     value is the least length or distance, extra how many bits are added to it */
#ifndef PD_CODEC_HUFFMAN_H
#define PD_CODEC_HUFFMAN_H

#include <stdbool.h>
#include <stdint.h>

enum { PD_HUFFMAN_BITS = 15, PD_HUFFMAN_SYMBOLS = 288 }; /* at most */

#define PD_ENTRY_LITERAL  (UINT32_C(1) << 31)
#define PD_ENTRY_SUBTABLE (UINT32_C(1) << 15)
#define PD_ENTRY_END      (UINT32_C(1) << 14)
#define PD_ENTRY_NOTHING  (UINT32_C(1) << 13)
#define PD_ENTRY_SPECIAL  (PD_ENTRY_SUBTABLE | PD_ENTRY_END | PD_ENTRY_NOTHING)

static inline unsigned pd_entry_bits(uint32_t entry)
{
    return entry & 31;
}

static inline unsigned pd_entry_extra(uint32_t entry)
{
    return entry >> 8 & 15;
}

static inline unsigned pd_entry_value(uint32_t entry)
{
    return entry >> 16 & 0x7fff;
}

/* Makes the table, of 2^width entries and its subtables, of a code of up to PD_HUFFMAN_SYMBOLS
 * symbols; entries[s] is symbol s without its length. False where the lengths are not those of a
 * code. */
bool pd_huffman_build(uint32_t *table, unsigned width, const uint8_t *lengths, unsigned n,
                      const uint32_t *entries);

#endif
