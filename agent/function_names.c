/* The names of functions: see symbols.h.
 *
 *     names       address -> where its name is in `text`; a hash table, emptied when it is full
 *     tables      the files that this profile has asked for: functions by address, sorted
 */
#include "agent/function_names.h"

#include "agent/function_table.h"
#include "agent/loader.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

enum { NAMES_BITS = 15, NAMES_LEN = 1 << NAMES_BITS, TEXT_LEN = 4 << 20, TABLES_MAX = 64 };

typedef struct name {
    uint64_t address; /* 0: nothing is here */
    uint32_t text;    /* 0: it has no name */
} name;

typedef struct memory {
    name names[NAMES_LEN];
    char text[TEXT_LEN];
} memory;

static memory *remembered;
static size_t names_len, text_len;
static pd_function_table tables[TABLES_MAX];
static size_t tables_len;
static atomic_bool is_stale, is_off;

static void empty(void)
{
    if (remembered)
        madvise(remembered, sizeof *remembered, MADV_DONTNEED); /* zero again, and given back */
    names_len = 0;
    text_len = 1;
}

static void reserve(void)
{
    void *pages = mmap(NULL, sizeof *remembered, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    remembered = pages == MAP_FAILED ? NULL : pages;
    text_len = 1;
}

static bool prepare(void)
{
    if (!remembered)
        reserve();
    if (!remembered || atomic_load(&is_off))
        return false;
    if (atomic_exchange(&is_stale, false))
        empty();
    return true;
}

static name *slot_of(uint64_t address)
{
    size_t at = (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - NAMES_BITS));
    while (remembered->names[at].address && remembered->names[at].address != address)
        at = (at + 1) % NAMES_LEN;
    return &remembered->names[at];
}

/* The table of the file that is mapped at the address, read if this profile has not done so. */
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

static void remember(name *slot, uint64_t address, const char *text)
{
    size_t len = strlen(text) + 1;
    *slot = (name){.address = address};
    names_len++;
    if (len > 1) {
        memcpy(remembered->text + text_len, text, len);
        slot->text = (uint32_t)text_len;
        text_len += len;
    }
}

size_t pd_function_names_find(void *cookie, uint64_t address, pprofdelta_heap_frame *frames,
                              size_t cap)
{
    (void)cookie;
    enum { LONGEST = 4096 };
    if (!pd_loader_answers(0) || !prepare() || !cap || !address)
        return 0;
    name *slot = slot_of(address);
    if (!slot->address) {
        if (names_len >= NAMES_LEN / 2 || text_len > TEXT_LEN - LONGEST) {
            empty();
            slot = slot_of(address);
        }
        const pd_function_table *table = table_at(address);
        const char *text = table ? pd_function_table_find(table, (uintptr_t)address) : NULL;
        remember(slot, address, text && strlen(text) < LONGEST ? text : "");
    }
    if (!slot->text)
        return 0;
    frames[0] = (pprofdelta_heap_frame){.function = remembered->text + slot->text};
    return 1;
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
    remembered = NULL;
}
