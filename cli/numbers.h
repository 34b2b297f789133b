/* Numbers for keys: equal bytes have one number. */
#ifndef CLI_NUMBERS_H
#define CLI_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

/* A hash of 128 bits, which stands for the bytes. */
typedef struct cli_key {
    uint64_t lo, hi;
} cli_key;

cli_key cli_key_of(const void *bytes, size_t len);

/* That of a key and of these bytes. */
cli_key cli_key_with(cli_key key, const void *bytes, size_t len);

/* Zeroed: empty. The slots are kept memory (keep.h). */
typedef struct cli_numbers {
    struct cli_numbers_slot {
        cli_key key;
        size_t number_1; /* plus 1; 0: empty */
    } * slots;
    size_t cap, len;
} cli_numbers;

/* Returns the number of the key, which is `next` if the key is new. */
size_t cli_numbers_of(cli_numbers *numbers, cli_key key, size_t next);

#endif
