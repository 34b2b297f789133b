/* The names of functions: see stacks.h.
 *
 * A table is read from the symbol table of a file or, in a stripped file, from the dynamic one. The file
 * must be the one that is mapped and not one that replaced it, so the build ids of both are compared.
 * Nothing else in the file is trusted. It is read, not mapped, so one that is cut short meanwhile does no
 * harm.
 *
 *     names       a hash table from an address to its name in `text`; it is emptied when it is full
 *     tables      of the files that this profile needs: where each function begins. The rest is read when
 *                 it is asked for
 *
 * Most processes are short. Each page that is written for the first time costs as much as all work on a
 * sample. So what a few names need lies close together. */
#include "agent/stacks/stacks.h"

#include "agent/base/agent.h"
#include "agent/base/object.h"
#include "agent/base/reserve.h"
#include "process/elf.h"
#include "process/proc.h"

#include <string.h>
#include <sys/mman.h>

typedef ElfW(Sym) symbol;

/* A function: where it begins, from the beginning of the object, and another one of its page. */
typedef struct function_link {
    uint32_t at, before; /* 0: none */
} function_link;

typedef struct function_table {
    uintptr_t begin, end; /* the range in memory */
    uintptr_t bias;       /* address in memory - address in the file */
    pd_elf elf;           /* open until the table is closed */
    ElfW(Shdr) symbols, strings;
    function_link *links; /* by the number of the symbol */
    uint32_t *newest;     /* of each page, a function that begins there; 0: none */
    size_t links_size;    /* of both */
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
           s->st_name && s->st_name < table->strings.sh_size;
}

enum { PAGE_BITS = 12 };

static void link_function(function_table *table, size_t number, const symbol *s)
{
    uintptr_t at = table->bias + (uintptr_t)s->st_value - table->begin;
    if (!number || at >= table->end - table->begin || at > UINT32_MAX || !is_function(table, s))
        return;
    uint32_t *newest = &table->newest[at >> PAGE_BITS];
    table->links[number] = (function_link){(uint32_t)at, *newest};
    *newest = (uint32_t)number;
}

/* Links the functions of each page: to sort them would take longer than to find all that a profile needs. */
static bool link_functions(function_table *table)
{
    enum { AT_ONCE = 256 };
    const uint64_t most = UINT32_MAX / sizeof(function_link); /* longer than any symbol table is */
    const uint64_t len = table->symbols.sh_size / sizeof(symbol);
    const size_t pages = ((table->end - table->begin) >> PAGE_BITS) + 1;
    symbol some[AT_ONCE];
    if (!len || len > most)
        return false;
    table->links_size = len * sizeof *table->links + pages * sizeof *table->newest;
    table->links = pd_reserve_map(table->links_size);
    if (!table->links)
        return false;
    table->newest = (uint32_t *)(void *)(table->links + len);
    for (size_t i = 0, n; i < len; i += n) {
        n = len - i < AT_ONCE ? len - i : AT_ONCE;
        uint64_t off = table->symbols.sh_offset + i * sizeof(symbol);
        if (pd_elf_read(&table->elf, off, some, n * sizeof(symbol)) != n * sizeof(symbol))
            return false;
        for (size_t j = 0; j < n; j++)
            link_function(table, i + j, &some[j]);
    }
    return true;
}

static void table_close(function_table *table)
{
    pd_reserve_unmap(table->links, table->links_size);
    pd_close(table->elf.fd);
}

/* Reads the table of the file that is mapped at the address. Returns false if no file is, or if
 * it has no table that can be read; then there is nothing to close. */
static bool table_open(function_table *table, uintptr_t address)
{
    loaded_object o = {.address = address, .table = table};
    table->links = NULL;
    if (dl_iterate_phdr(find_object, &o) != 1)
        return false;
    int fd = *o.path ? pd_open(o.path, O_RDONLY | O_NONBLOCK | O_NOCTTY)
                     : pd_open_high(pd_proc_open_exe());
    bool has_table = pd_elf_open(&table->elf, fd, 0) && is_same_build(&table->elf, table) &&
                     find_symbols(&table->elf, &table->symbols, &table->strings) &&
                     link_functions(table);
    if (!has_table)
        table_close(table);
    return has_table;
}

/* Reads the name that begins there. Returns its length, or 0 if it does not end within size bytes. */
static size_t read_name(function_table *table, uint32_t at, char *name, size_t size)
{
    uint64_t rest = table->strings.sh_size > at ? table->strings.sh_size - at : 0;
    size_t len =
        pd_elf_read(&table->elf, table->strings.sh_offset + at, name, rest < size ? rest : size);
    const char *end = memchr(name, '\0', len);
    return end ? (size_t)(end - name) : 0;
}

/* Writes the name of the function that holds the address, with a NUL. Returns its length, or 0. Of a
 * function within another one, it is the inner one; of several that begin at one address, any. */
static size_t table_find(function_table *table, uintptr_t address, char *name, size_t size)
{
    const uintptr_t wanted = address - table->begin;
    uint32_t best = 0;
    symbol s;
    for (size_t page = (wanted >> PAGE_BITS) + 1; page-- && !best;)
        for (uint32_t i = table->newest[page]; i; i = table->links[i].before)
            if (table->links[i].at <= wanted &&
                (!best || table->links[i].at > table->links[best].at))
                best = i;
    const uint64_t off = table->symbols.sh_offset + best * sizeof s;
    if (!best || pd_elf_read(&table->elf, off, &s, sizeof s) != sizeof s)
        return 0;
    return wanted - table->links[best].at < s.st_size ? read_name(table, s.st_name, name, size) : 0;
}

/* ---- the names ------------------------------------------------------------------------------- */

enum { NAMES_BITS = 15, NAMES_LEN = 1 << NAMES_BITS, TEXT_LEN = 2 << 20, TABLES_MAX = 64 };

typedef struct name {
    uint64_t address;
    uint32_t text; /* offset of the name; 0: there is none */
} name;

typedef struct cache_memory {
    uint16_t numbers[NAMES_LEN]; /* the hash table: of a name; 0: the slot is free */
    name names[NAMES_LEN / 2 + 1];
    char text[TEXT_LEN];
} cache_memory;

static cache_memory *cache;
static size_t names_len, text_len;
static function_table tables[TABLES_MAX];
static PD_OF_PROCESS size_t tables_len;
static pprofdelta_frame frame; /* the last result */
static atomic_bool is_stale;
static PD_OF_PROCESS bool is_open;

static void empty_names(void)
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
        empty_names();
}

static uint16_t *slot_of(uint64_t address)
{
    size_t at = (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - NAMES_BITS));
    while (cache->numbers[at] && cache->names[cache->numbers[at]].address != address)
        at = (at + 1) % NAMES_LEN;
    return &cache->numbers[at];
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

enum { LONGEST = 4096 };

/* Adds the name of the address, which may be none. */
static void add_name(uint16_t *slot, uint64_t address)
{
    function_table *table = table_at(address);
    size_t len = table ? table_find(table, (uintptr_t)address, cache->text + text_len, LONGEST) : 0;
    *slot = (uint16_t)++names_len;
    cache->names[names_len] = (name){address, len ? (uint32_t)text_len : 0};
    text_len += len ? len + 1 : 0;
}

void pd_function_names_find(void *cookie, uint64_t address, pprofdelta_symbol *out)
{
    (void)cookie;
    if (!cache || !is_open || atomic_load(&is_stale) || !address || !pd_loader_answers(0))
        return;
    if (names_len >= NAMES_LEN / 2 || text_len > TEXT_LEN - LONGEST)
        empty_names();
    uint16_t *slot = slot_of(address);
    if (!*slot)
        add_name(slot, address);
    const name *found = &cache->names[*slot];
    if (!found->text)
        return;
    frame = (pprofdelta_frame){.name = cache->text + found->text};
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
