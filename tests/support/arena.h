/* Memory for the tests: taken piece by piece, zeroed, given back all at once.
 *
 * The generator, the builder and the oracle make thousands of small things that live exactly as
 * long as one test; none of them is worth a free of its own. Running out of memory ends the test
 * program: nothing in a test can go on from there. */
#ifndef PD_TESTS_ARENA_H
#define PD_TESTS_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct arena {
    struct arena_block *last;
} arena; /* zero it to begin */

/* size may be 0; the result is never NULL and aligned for anything. */
void *arena_alloc(arena *a, size_t size);
#define ARENA_ARRAY(a, type, len) ((type *)arena_alloc((a), (len) * sizeof(type)))

char *arena_text(arena *a, const char *text);
__attribute__((format(printf, 2, 3))) char *arena_format(arena *a, const char *format, ...);
void arena_free(arena *a);

/* The array at *array, of len elements with room for *cap, moved so that one more fits. */
void arena_room(arena *a, void *array, size_t len, size_t *cap, size_t size);
#define ARENA_PUSH(a, array, len, cap, ...)                                                        \
    (arena_room((a), &(array), (len), &(cap), sizeof *(array)), (array)[(len)++] = __VA_ARGS__)

/* Bytes that grow; there is always a NUL behind them, so text reads as a string. */
typedef struct buf {
    arena *arena;
    uint8_t *ptr;
    size_t len, cap;
} buf;

buf buf_begin(arena *a);
void buf_add(buf *b, const void *data, size_t len);
void buf_text(buf *b, const char *text);
__attribute__((format(printf, 2, 3))) void buf_format(buf *b, const char *format, ...);
const char *buf_string(const buf *b);

#endif
