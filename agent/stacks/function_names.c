/* The names of functions: see stacks.h.
 *
 * A table is read from the symbol table of a file or, in a stripped file, from the dynamic one. The file
 * must be the one that is mapped and not one that replaced it. So the build ids of both are compared. Nothing else in the file is trusted. The tables are read, not mapped, so a file that
 * is cut short meanwhile does no harm.
 *
 *     names       a hash table from an address to its name in `text`; it is emptied when it is full
 *     tables      the tables of the files that this profile needs
 */
#include "agent/stacks/stacks.h"

#include "agent/base/agent.h"
#include "agent/base/code.h"
#include "agent/base/reserve.h"
#include "process/elf.h"
#include "process/proc.h"

#include <string.h>
#include <sys/mman.h>

typedef ElfW(Sym) symbol;

typedef struct function_table {
    uintptr_t begin, end; /* the range in memory */
    uintptr_t bias;       /* address in memory - address in the file */
    char *strings;
    symbol *symbols;
    uint32_t *newest; /* of each page, a function that begins there; 0: none */
    uint32_t *before; /* of each function, another one of its page; 0: none */
    size_t strings_len, symbols_size, links_size;
} function_table;

/* ---- the object ------------------------------------------------------------------------------ */

typedef struct loaded_object {
    uintptr_t address; /* the object is the one that holds this address */
    function_table *table;
    char path[PD_PATH_MAX]; /* empty: the main program, which has no name in the loader's list */
} loaded_object;

static int find_object(struct dl_phdr_info *info, size_t size, void *cookie)
{
    (void)size;
    loaded_object *o = cookie;
    if (!pd_object_holds(info, o->address))
        return 0;
    const char *path = info->dlpi_name ? info->dlpi_name : "";
    size_t len = strlen(path) + 1;
    if (len > sizeof o->path)
        return -1;
    memcpy(o->path, path, len);
    pd_object_range range = pd_object_range_of(info);
    o->table->bias = info->dlpi_addr;
    o->table->begin = range.begin;
    o->table->end = range.end;
    return 1;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Reads a section into pages of its own. Returns NULL if that fails, or if the section is longer
 * than any symbol table is. */
static void *load(pd_elf *elf, const ElfW(Shdr) * s)
{
    const uint64_t most = (uint64_t)1 << 30;
    void *bytes = s->sh_size && s->sh_size <= most ? pd_reserve_map(s->sh_size) : NULL;
    if (bytes && pd_elf_read(elf, s->sh_offset, bytes, s->sh_size) != s->sh_size) {
        pd_reserve_unmap(bytes, s->sh_size);
        return NULL;
    }
    return bytes;
}

/* Finds the symbol table, or else the dynamic one, and its strings. */
static bool find_symbols(pd_elf *elf, ElfW(Shdr) * symbols, ElfW(Shdr) * strings)
{
    ElfW(Shdr) s;
    bool has_any = false;
    for (size_t i = 0; pd_elf_section_at(elf, i, &s); i++) {
        if (s.sh_type != SHT_SYMTAB && (s.sh_type != SHT_DYNSYM || has_any))
            continue;
        *symbols = s;
        has_any = true;
        if (s.sh_type == SHT_SYMTAB)
            break;
    }
    return has_any && pd_elf_section_at(elf, symbols->sh_link, strings);
}

static bool is_same_build(pd_elf *elf, const function_table *table)
{
    char of_file[2 * PD_BUILD_ID_MAX], mapped[2 * PD_BUILD_ID_MAX];
    int memory = pd_proc_open_mem();
    size_t len = pd_elf_build_id(elf, of_file), same = pd_build_id_at(memory, table->begin, mapped);
    pd_close(memory);
    return len == same && memcmp(of_file, mapped, len) == 0;
}

/* Is the symbol a function that is defined in this file? */
static bool is_function(const function_table *table, const symbol *s)
{
    unsigned char type = s->st_info & 0xf;
    return (type == STT_FUNC || type == STT_GNU_IFUNC) && s->st_shndx != SHN_UNDEF && s->st_size &&
           s->st_name && s->st_name < table->strings_len;
}

enum { PAGE_BITS = 12 };

/* Links the functions of each page: to sort them would take longer than to find all that a profile needs. */
static bool link_functions(function_table *table)
{
    const size_t len = table->symbols_size / sizeof(symbol), size = table->end - table->begin;
    const size_t pages = (size >> PAGE_BITS) + 1;
    table->links_size = (pages + len) * sizeof *table->newest;
    table->newest = pd_reserve_map(table->links_size);
    if (!table->newest)
        return false;
    table->before = table->newest + pages;
    for (size_t i = 1; i < len; i++) {
        uintptr_t at = table->bias + (uintptr_t)table->symbols[i].st_value - table->begin;
        if (at >= size || !is_function(table, &table->symbols[i]))
            continue;
        table->before[i] = table->newest[at >> PAGE_BITS];
        table->newest[at >> PAGE_BITS] = (uint32_t)i;
    }
    return true;
}

static bool read_functions(function_table *table, pd_elf *elf)
{
    ElfW(Shdr) in, strings;
    if (!find_symbols(elf, &in, &strings))
        return false;
    table->strings_len = strings.sh_size;
    table->symbols_size = in.sh_size;
    table->symbols = load(elf, &in);
    table->strings = load(elf, &strings);
    return table->symbols && table->strings && !table->strings[table->strings_len - 1] &&
           link_functions(table);
}

static void table_close(function_table *table)
{
    pd_reserve_unmap(table->symbols, table->symbols_size);
    pd_reserve_unmap(table->strings, table->strings_len);
    pd_reserve_unmap(table->newest, table->links_size);
    *table = (function_table){.begin = 0};
}

/* Reads the table of the file that is mapped at the address. Returns false if no file is, or if
 * it has no table that can be read; then there is nothing to close. */
static bool table_open(function_table *table, uintptr_t address)
{
    pd_elf elf;
    loaded_object o = {.address = address, .table = table};
    *table = (function_table){.begin = 0};
    if (dl_iterate_phdr(find_object, &o) != 1)
        return false;
    int fd = *o.path ? pd_open(o.path, O_RDONLY | O_NONBLOCK | O_NOCTTY)
                     : pd_open_high(pd_proc_open_exe());
    bool has_table = fd >= 0 && pd_elf_open(&elf, fd, 0) && is_same_build(&elf, table) &&
                     read_functions(table, &elf);
    pd_close(fd);
    if (!has_table)
        table_close(table);
    return has_table;
}

/* Returns the name of the function that holds the address, or NULL. Of a function within another one, it is
 * the inner one; of several that begin at one address, any. The name is valid until the table is closed. */
static const char *table_find(const function_table *table, uintptr_t address)
{
    const uint64_t wanted = address - table->bias;
    const symbol *best = NULL;
    for (size_t page = ((address - table->begin) >> PAGE_BITS) + 1; page-- && !best;)
        for (uint32_t i = table->newest[page]; i; i = table->before[i]) {
            const symbol *f = &table->symbols[i];
            if (f->st_value <= wanted && (!best || f->st_value > best->st_value))
                best = f;
        }
    return best && wanted - best->st_value < best->st_size ? table->strings + best->st_name : NULL;
}

/* ---- the names ------------------------------------------------------------------------------- */

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
static function_table tables[TABLES_MAX];
static PD_OF_PROCESS size_t tables_len;
static pprofdelta_frame frame; /* the last result */
static atomic_bool is_stale;
static PD_OF_PROCESS bool is_open;

static void empty(void)
{
    if (cache && madvise(cache, sizeof *cache, MADV_DONTNEED)) /* back to zeros */
        memset(cache, 0, sizeof *cache);                       /* which locked memory is not */
    names_len = 0;
    text_len = 1;
}

void pd_function_names_begin(void)
{
    void *pages = mmap(NULL, sizeof *cache, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    cache = pages == MAP_FAILED ? NULL : pages;
    text_len = 1;
}

void pd_function_names_open(void)
{
    is_open = true;
    if (atomic_exchange(&is_stale, false))
        empty();
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
static function_table *table_at(uint64_t address)
{
    for (size_t i = 0; i < tables_len; i++)
        if (address - tables[i].begin < tables[i].end - tables[i].begin)
            return &tables[i];
    if (tables_len == TABLES_MAX)
        return NULL;
    if (!table_open(&tables[tables_len], (uintptr_t)address))
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
    if (!cache || !is_open || atomic_load(&is_stale) || !address || !pd_loader_answers(0))
        return;
    name *slot = slot_of(address);
    if (!slot->address) {
        if (names_len >= NAMES_LEN / 2 || text_len > TEXT_LEN - LONGEST) {
            empty();
            slot = slot_of(address);
        }
        function_table *table = table_at(address);
        const char *text = table ? table_find(table, (uintptr_t)address) : NULL;
        add_name(slot, address, text && strlen(text) < LONGEST ? text : "");
    }
    if (!slot->text)
        return;
    frame = (pprofdelta_frame){.name = cache->text + slot->text};
    *out = (pprofdelta_symbol){.frames = &frame, .frames_len = 1};
}

void pd_function_names_close(void)
{
    is_open = false;
    while (tables_len)
        table_close(&tables[--tables_len]);
}

void pd_function_names_forget(void)
{
    atomic_store(&is_stale, true);
}
