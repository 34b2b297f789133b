/* The names of functions: see function_names.h.
 *
 *     names       a hash table from an address to its name in `text`; it is emptied when it is full
 *     tables      the tables of the files that this profile needs
 */
#include "agent/stacks/function_names.h"

#include "agent/stacks/function_table.h"
#include "agent/base/loader.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

enum { NAMES_BITS = 15, NAMES_LEN = 1 << NAMES_BITS, TEXT_LEN = 2 << 20, TABLES_MAX = 64 };

typedef struct name {
    uint64_t address; /* 0: the slot is free */
    uint32_t text;    /* offset of the name; 0: there is none */
} name;

typedef struct cache_memory {
    name names[NAMES_LEN];
    char text[TEXT_LEN];
} cache_memory;

static cache_memory *cache;
static size_t names_len, text_len;
static pd_function_table tables[TABLES_MAX];
static size_t tables_len;
static pprofdelta_frame frame; /* the last result */
static atomic_bool is_stale, is_off;

static void empty(void)
{
    if (cache)
        madvise(cache, sizeof *cache, MADV_DONTNEED); /* back to zeros */
    names_len = 0;
    text_len = 1;
}

static void reserve(void)
{
    void *pages = mmap(NULL, sizeof *cache, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    cache = pages == MAP_FAILED ? NULL : pages;
    text_len = 1;
    if (cache) /* the child of a fork drops it */
        madvise(cache, sizeof *cache, MADV_DONTFORK);
}

static bool prepare(void)
{
    if (!cache)
        reserve();
    if (!cache || atomic_load(&is_off))
        return false;
    if (atomic_exchange(&is_stale, false))
        empty();
    return true;
}

static name *slot_of(uint64_t address)
{
    size_t at = (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - NAMES_BITS));
    while (cache->names[at].address && cache->names[at].address != address)
        at = (at + 1) % NAMES_LEN;
    return &cache->names[at];
}

/* Returns the table of the file that is mapped at the address, or NULL. Reads it if this profile
 * has not needed it before. */
static const pd_function_table *table_at(uint64_t address)
{
    for (size_t i = 0; i < tables_len; i++)
        if (address - tables[i].begin < tables[i].end - tables[i].begin)
            return &tables[i];
    if (tables_len == TABLES_MAX)
        return NULL;
    if (!pd_function_table_open(&tables[tables_len], (uintptr_t)address))
        return NULL;
    return &tables[tables_len++];
}

static void add_name(name *slot, uint64_t address, const char *text)
{
    size_t len = strlen(text) + 1;
    *slot = (name){.address = address};
    names_len++;
    if (len > 1) {
        memcpy(cache->text + text_len, text, len);
        slot->text = (uint32_t)text_len;
        text_len += len;
    }
}

void pd_function_names_find(void *cookie, uint64_t address, pprofdelta_symbol *out)
{
    (void)cookie;
    enum { LONGEST = 4096 };
    if (!pd_loader_answers(0) || !prepare() || !address)
        return;
    name *slot = slot_of(address);
    if (!slot->address) {
        if (names_len >= NAMES_LEN / 2 || text_len > TEXT_LEN - LONGEST) {
            empty();
            slot = slot_of(address);
        }
        const pd_function_table *table = table_at(address);
        const char *text = table ? pd_function_table_find(table, (uintptr_t)address) : NULL;
        add_name(slot, address, text && strlen(text) < LONGEST ? text : "");
    }
    if (!slot->text)
        return;
    frame = (pprofdelta_frame){.name = cache->text + slot->text};
    *out = (pprofdelta_symbol){.frames = &frame, .frames_len = 1};
}

void pd_function_names_begin(void)
{
    reserve();
}

void pd_function_names_omit(bool is_omitted)
{
    atomic_store(&is_off, is_omitted);
}

void pd_function_names_close(void)
{
    while (tables_len)
        pd_function_table_close(&tables[--tables_len]);
}

void pd_function_names_forget(void)
{
    atomic_store(&is_stale, true);
}

void pd_function_names_abandon(void)
{
    tables_len = 0;
    cache = NULL;
}
