/* Numbers for keys: see numbers.h. */
#include "numbers.h"

#include "keep.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

cli_key cli_key_of(const void *bytes, size_t len)
{
    XXH128_hash_t hash = XXH3_128bits(bytes, len);
    return (cli_key){hash.low64, hash.high64};
}

cli_key cli_key_with(cli_key key, const void *bytes, size_t len)
{
    const cli_key both[] = {key, cli_key_of(bytes, len)};
    return cli_key_of(both, sizeof both);
}

static struct cli_numbers_slot *find_slot(const cli_numbers *numbers, cli_key key)
{
    size_t at = (size_t)key.lo & (numbers->cap - 1);
    while (numbers->slots[at].number_1 &&
           (numbers->slots[at].key.lo != key.lo || numbers->slots[at].key.hi != key.hi))
        at = (at + 1) & (numbers->cap - 1);
    return &numbers->slots[at];
}

/* At most half of the slots are used. */
static void grow_slots(cli_numbers *numbers)
{
    enum { LEAST = 1024 };
    cli_numbers grown = {.cap = numbers->cap ? numbers->cap * 2 : LEAST, .len = numbers->len};
    grown.slots = cli_keep(grown.cap, sizeof *grown.slots);
    for (size_t i = 0; i < numbers->cap; i++)
        if (numbers->slots[i].number_1)
            *find_slot(&grown, numbers->slots[i].key) = numbers->slots[i];
    cli_drop(numbers->slots);
    *numbers = grown;
}

size_t cli_numbers_of(cli_numbers *numbers, cli_key key, size_t next)
{
    if (numbers->len * 2 >= numbers->cap)
        grow_slots(numbers);
    struct cli_numbers_slot *slot = find_slot(numbers, key);
    if (!slot->number_1) {
        *slot = (struct cli_numbers_slot){key, next + 1};
        numbers->len++;
    }
    return slot->number_1 - 1;
}
