/* Memory that is kept until the process ends: see keep.h. */
#include "keep.h"

#include "cli.h"
#include "message.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The list keeps the blocks in reach of what looks for leaks. */
typedef struct block {
    _Alignas(max_align_t) struct block *next;
    struct block *before;
} block;

static block kept; /* the head of the list */

static struct {
    uint64_t left;
    const char *name;
} limit = {.left = UINT64_MAX};

void cli_keep_at_most(uint64_t bytes, const char *name)
{
    limit.left = bytes;
    limit.name = name;
}

uint64_t cli_keep_left(void)
{
    return limit.left;
}

void cli_keep_beside(int64_t bytes)
{
    uint64_t more = bytes > 0 ? (uint64_t)bytes : 0;
    limit.left -= more < limit.left ? more : limit.left;
    limit.left += bytes < 0 ? -(uint64_t)bytes : 0;
}

/* Counts the bytes that a fresh block has, from when on there is a limit. */
static void *count_fresh(void *memory)
{
    uint64_t size = malloc_usable_size(memory);
    if (!memory)
        cli_must(cli_error("there is not enough memory"));
    if (size > limit.left)
        cli_must(
            cli_memory_error(limit.name, "what is shown of it takes more memory than the limit"));
    limit.left -= size;
    return memory;
}

void *cli_take(size_t size)
{
    return count_fresh(malloc(size ? size : 1));
}

void cli_give(void *ptr)
{
    limit.left += malloc_usable_size(ptr);
    free(ptr);
}

void *cli_keep(size_t len, size_t size)
{
    block *fresh = count_fresh(
        len <= (SIZE_MAX - sizeof *fresh) / size ? calloc(1, sizeof *fresh + len * size) : NULL);
    *fresh = (block){.next = kept.next, .before = &kept};
    if (kept.next)
        kept.next->before = fresh;
    kept.next = fresh;
    return fresh + 1;
}

void cli_drop(void *ptr)
{
    if (!ptr)
        return;
    block *old = (block *)ptr - 1;
    old->before->next = old->next;
    if (old->next)
        old->next->before = old->before;
    cli_give(old);
}

void *cli_keep_more(void *array, size_t len, size_t more, size_t *cap, size_t size)
{
    enum { LEAST = 64 };
    if (more <= *cap - len)
        return array;
    *cap += *cap / 2 + LEAST + more;
    void *grown = cli_keep(*cap, size);
    if (len)
        memcpy(grown, array, len * size);
    cli_drop(array);
    return grown;
}

cli_string cli_keep_string(cli_string string)
{
    char *copy = cli_keep(string.len + 1, 1);
    memcpy(copy, string.ptr, string.len);
    return (cli_string){copy, string.len};
}

const char *cli_keep_shown(cli_string string)
{
    enum { LONGEST = 4 }; /* of what stands for a byte */
    size_t room = LONGEST * string.len + 1;
    char *text = cli_keep(room, 1);
    cli_string_write(text, room, string);
    return text;
}

const char *cli_keep_print(const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    size_t room = (size_t)vsnprintf(NULL, 0, format, args) + 1;
    char *text = cli_keep(room, 1);
    vsnprintf(text, room, format, again);
    va_end(again);
    va_end(args);
    return text;
}

typedef struct placed {
    cli_string text;
    size_t at;
} placed;

static int by_text(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    return cli_string_compare(x->text, y->text);
}

cli_string *cli_keep_numbered(const cli_string *texts, size_t len, uint32_t *numbers,
                              size_t *distinct)
{
    placed *list = cli_keep(len, sizeof *list);
    cli_string *found = cli_keep(len, sizeof *found);
    *distinct = 0;
    for (size_t i = 0; i < len; i++)
        list[i] = (placed){texts[i], i};
    qsort(list, len, sizeof *list, by_text);
    for (size_t i = 0; i < len; i++) {
        if (!i || cli_string_compare(list[i].text, list[i - 1].text) != 0)
            found[(*distinct)++] = list[i].text;
        numbers[list[i].at] = (uint32_t)(*distinct - 1);
    }
    cli_drop(list);
    return found;
}
