/* Memory for the tests: taken in pieces, zeroed, and freed all at once. The generator, the builder
 * and the oracle make thousands of small objects that live as long as one test. If memory runs out,
 * the test program ends. */
#ifndef PD_TESTS_ARENA_H
#define PD_TESTS_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct arena {
    struct arena_block *last;
} arena; /* zero it to begin */

/* size may be 0. The result is never NULL and aligned for any type. */
void *arena_alloc(arena *a, size_t size);
#define ARENA_ARRAY(a, type, len) ((type *)arena_alloc((a), (len) * sizeof(type)))

char *arena_text(arena *a, const char *text);
__attribute__((format(printf, 2, 3))) char *arena_format(arena *a, const char *format, ...);
void arena_free(arena *a);

/* Moves *array, of len elements with room for *cap, so that one more element fits. */
void arena_room(arena *a, void *array, size_t len, size_t *cap, size_t size);
#define ARENA_PUSH(a, array, len, cap, ...)                                                        \
    (arena_room((a), &(array), (len), &(cap), sizeof *(array)), (array)[(len)++] = __VA_ARGS__)

/* In the order of strcmp. */
void sort_texts(const char **texts, size_t len);

/* Is any of them? */
bool is_nonzero(const int64_t *values, size_t len);

enum { TEXT_SIZE = 128 };

/* Takes the next text of a list; "|" stands between two. Returns false behind the last. */
bool next_text(const char **list, char text[TEXT_SIZE]);

/* Bytes that grow. A NUL follows them, so that text can be read as a string. */
typedef struct buf {
    arena *arena;
    uint8_t *ptr;
    size_t len, cap;
} buf;

buf buf_begin(arena *a);
void buf_add(buf *b, const void *data, size_t len);
void buf_text(buf *b, const char *text);
__attribute__((format(printf, 2, 3))) void buf_format(buf *b, const char *format, ...);
void buf_add32(buf *b, uint32_t value); /* little-endian */
const char *buf_string(const buf *b);
bool buf_equal(buf a, buf b);

#endif
