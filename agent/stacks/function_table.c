/* The functions of a mapped file: see function_table.h. */
#include "agent/stacks/function_table.h"

#include "agent/base/object.h"
#include "agent/base/reserve.h"
#include "agent/delivery/spool.h"
#include "process/elf.h"
#include "process/proc.h"

#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

typedef ElfW(Sym) symbol;

/* ---- the object ------------------------------------------------------------------------------ */

typedef struct loaded_object {
    uintptr_t address; /* the object is the one that holds this address */
    pd_function_table *table;
    char path[PD_PATH_MAX]; /* empty: the main program, which has no name in the loader's list */
    uintptr_t note;         /* the address of the last note segment, or 0 */
    size_t note_off, note_len;
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
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_NOTE || segment->p_filesz != segment->p_memsz)
            continue;
        o->note = info->dlpi_addr + segment->p_vaddr;
        o->note_off = segment->p_offset;
        o->note_len = segment->p_filesz;
    }
    return 1;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Reads a section into pages of its own. Returns NULL if that fails, or if the section is longer
 * than any symbol table is. */
static void *load(const pd_elf *elf, const ElfW(Shdr) * s)
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
static bool find_symbols(const pd_elf *elf, ElfW(Shdr) * symbols, ElfW(Shdr) * strings)
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

/* Compares the beginnings of the notes, which hold the build id. */
static bool is_same_build(const pd_elf *elf, const loaded_object *o)
{
    char bytes[256];
    size_t len = o->note_len < sizeof bytes ? o->note_len : sizeof bytes;
    return !o->note || (pd_elf_read(elf, o->note_off, bytes, len) == len &&
                        memcmp(bytes, (const void *)o->note, len) == 0); // NOLINT
}

/* ---- sorted ---------------------------------------------------------------------------------- */

static void sift(pd_function_entry *at, size_t root, size_t len)
{
    for (size_t child; (child = 2 * root + 1) < len; root = child) {
        if (child + 1 < len && at[child].begin < at[child + 1].begin)
            child++;
        if (at[root].begin >= at[child].begin)
            return;
        pd_function_entry swapped = at[root];
        at[root] = at[child];
        at[child] = swapped;
    }
}

/* Sorts in place, since qsort may allocate. */
static void sort(pd_function_entry *at, size_t len)
{
    for (size_t root = len / 2; root-- > 0;)
        sift(at, root, len);
    for (size_t end = len; end-- > 1;) {
        pd_function_entry last = at[0];
        at[0] = at[end];
        at[end] = last;
        sift(at, 0, end);
    }
}

/* Takes the symbols that are functions and are defined in this file. */
static void take_functions(pd_function_table *table, const symbol *symbols, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        const symbol *s = &symbols[i];
        bool is_function = (s->st_info & 0xf) == STT_FUNC || (s->st_info & 0xf) == STT_GNU_IFUNC;
        if (is_function && s->st_shndx != SHN_UNDEF && s->st_size && s->st_size <= UINT32_MAX &&
            s->st_name && s->st_name < table->strings_len)
            table->functions[table->functions_len++] =
                (pd_function_entry){s->st_value, (uint32_t)s->st_size, s->st_name};
    }
    sort(table->functions, table->functions_len);
}

static bool read_functions(pd_function_table *table, const pd_elf *elf)
{
    ElfW(Shdr) in, strings;
    if (!find_symbols(elf, &in, &strings))
        return false;
    size_t len = in.sh_size / sizeof(symbol);
    symbol *symbols = load(elf, &in);
    table->strings = symbols ? load(elf, &strings) : NULL;
    table->strings_len = table->strings ? strings.sh_size : 0;
    table->functions_size = (len + 1) * sizeof(pd_function_entry);
    if (table->strings && table->strings[table->strings_len - 1] == '\0')
        table->functions = pd_reserve_map(table->functions_size);
    if (table->functions)
        take_functions(table, symbols, len);
    if (symbols)
        pd_reserve_unmap(symbols, in.sh_size);
    return table->functions != NULL;
}

static int open_object(const char *path)
{
    int fd = *path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : pd_proc_open_exe();
    return pd_spool_high(fd);
}

bool pd_function_table_open(pd_function_table *table, uintptr_t address)
{
    pd_elf elf;
    loaded_object o = {.address = address, .table = table};
    *table = (pd_function_table){.begin = 0};
    if (dl_iterate_phdr(find_object, &o) != 1)
        return false;
    int fd = open_object(o.path);
    if (fd < 0)
        return false;
    bool has_table =
        pd_elf_open(&elf, fd, 0) && is_same_build(&elf, &o) && read_functions(table, &elf);
    close(fd);
    if (!has_table)
        pd_function_table_close(table);
    return has_table;
}

void pd_function_table_close(pd_function_table *table)
{
    if (table->functions)
        pd_reserve_unmap(table->functions, table->functions_size);
    if (table->strings)
        pd_reserve_unmap(table->strings, table->strings_len);
    *table = (pd_function_table){.begin = 0};
}

const char *pd_function_table_find(const pd_function_table *table, uintptr_t address)
{
    uint64_t wanted = address - table->bias;
    size_t low = 0, high = table->functions_len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->functions[middle].begin <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    /* Of several functions that begin at one address any will do. Of a function within another
     * one the inner one is taken. */
    const pd_function_entry *f = low ? &table->functions[low - 1] : NULL;
    return f && wanted - f->begin < f->len ? table->strings + f->name : NULL;
}
