#include "arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct arena_block {
    struct arena_block *before;
    size_t len, cap;
    _Alignas(max_align_t) uint8_t data[];
} arena_block;

enum { BLOCK_SIZE = 16 << 10, ALIGNMENT = _Alignof(max_align_t) };

static arena_block *block_new(size_t size)
{
    arena_block *block = calloc(1, sizeof *block + size);
    if (!block) {
        fprintf(stderr, "a test ran out of memory\n");
        abort();
    }
    block->cap = size;
    return block;
}

void *arena_alloc(arena *a, size_t size)
{
    size = (size + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    arena_block *last = a->last;
    if (!last || size > last->cap - last->len) {
        last = block_new(size > BLOCK_SIZE ? size : BLOCK_SIZE);
        last->before = a->last;
        a->last = last;
    }
    void *ptr = last->data + last->len;
    last->len += size;
    return ptr;
}

void arena_free(arena *a)
{
    while (a->last) {
        arena_block *before = a->last->before;
        free(a->last);
        a->last = before;
    }
}

char *arena_text(arena *a, const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(arena_alloc(a, size), text, size);
}

char *arena_format(arena *a, const char *format, ...)
{
    va_list args;
    char *text = NULL;
    va_start(args, format);
    size_t size = (size_t)vasprintf(&text, format, args) + 1;
    va_end(args);
    char *kept = memcpy(arena_alloc(a, size), text, size);
    free(text);
    return kept;
}

void arena_room(arena *a, void *array, size_t len, size_t *cap, size_t size)
{
    if (len < *cap)
        return;
    size_t room = *cap ? *cap * 2 : 8;
    void *old, *moved = arena_alloc(a, room * size);
    memcpy(&old, array, sizeof old);
    if (len)
        memcpy(moved, old, len * size);
    memcpy(array, &moved, sizeof moved);
    *cap = room;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void sort_texts(const char **texts, size_t len)
{
    if (len)
        qsort(texts, len, sizeof *texts, compare_texts);
}

bool is_nonzero(const int64_t *values, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (values[i])
            return true;
    return false;
}

bool next_text(const char **list, char text[TEXT_SIZE])
{
    if (!*list)
        return false;
    size_t len = strcspn(*list, "|");
    snprintf(text, TEXT_SIZE, "%.*s", (int)len, *list);
    *list = (*list)[len] ? *list + len + 1 : NULL;
    return true;
}

buf buf_begin(arena *a)
{
    return (buf){.arena = a};
}

static void buf_room(buf *b, size_t more)
{
    if (more < b->cap - b->len)
        return;
    size_t cap = b->cap * 2 > b->len + more + 1 ? b->cap * 2 : b->len + more + 32;
    uint8_t *moved = arena_alloc(b->arena, cap);
    if (b->len)
        memcpy(moved, b->ptr, b->len);
    b->ptr = moved;
    b->cap = cap;
}

void buf_add(buf *b, const void *data, size_t len)
{
    buf_room(b, len);
    if (len)
        memcpy(b->ptr + b->len, data, len);
    b->len += len;
    b->ptr[b->len] = 0;
}

void buf_add32(buf *b, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        buf_add(b, &(uint8_t){(uint8_t)(value >> 8 * i)}, 1);
}

void buf_text(buf *b, const char *text)
{
    buf_add(b, text, strlen(text));
}

void buf_format(buf *b, const char *format, ...)
{
    char piece[256];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    if (len < 0 || (size_t)len >= sizeof piece) {
        fprintf(stderr, "buf_format is for short pieces: %s\n", format);
        abort();
    }
    buf_add(b, piece, (size_t)len);
}

bool buf_equal(buf a, buf b)
{
    return a.len == b.len && (!a.len || !memcmp(a.ptr, b.ptr, a.len));
}

const char *buf_string(const buf *b)
{
    return b->ptr ? (const char *)b->ptr : "";
}
