/* The functions of a symbol table: see symbolize_dwarf.h. Runs in the child process.
 *
 * The addresses are sorted, so the table is read once, in its order, and nothing of it is kept. Of
 * the functions that hold an address, the one that begins last is taken, and of several that begin
 * there, a global one: a local one may be an alias. */
#include "symbolize/apart.h"
#include "symbolize/symbolize_dwarf.h"

#include <gelf.h>
#include <stdlib.h>

/* The best symbol of an address so far. */
typedef struct best {
    uint64_t begin;
    bool is_global, is_set;
} best;

static Elf_Data *find_table(Elf *elf, GElf_Word type, GElf_Shdr *header)
{
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(elf, section)))
        if (gelf_getshdr(section, header) && header->sh_type == type)
            return elf_getdata(section, NULL);
    return NULL;
}

size_t cli_wanted_first(const cli_wanted *wanted, size_t len, uint64_t pc)
{
    size_t low = 0, high = len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (wanted[middle].pc < pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_function(const GElf_Sym *symbol)
{
    int type = GELF_ST_TYPE(symbol->st_info);
    return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF &&
           symbol->st_value;
}

static void offer(cli_wanted *wanted, best *so_far, const GElf_Sym *symbol, const char *name)
{
    bool is_global = GELF_ST_BIND(symbol->st_info) != STB_LOCAL;
    bool is_better = !so_far->is_set || symbol->st_value > so_far->begin ||
                     (symbol->st_value == so_far->begin && is_global && !so_far->is_global);
    if (!is_better || (wanted->name && !so_far->is_set))
        return;
    wanted->name = name;
    *so_far = (best){symbol->st_value, is_global, true};
}

static bool read_table(Elf *elf, GElf_Word type, cli_wanted *wanted, best *bests, size_t len)
{
    GElf_Shdr header;
    GElf_Sym symbol;
    Elf_Data *data = find_table(elf, type, &header);
    bool has_any = false;
    for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
        if (!is_function(&symbol))
            continue;
        uint64_t begin = symbol.st_value, end = begin + (symbol.st_size ? symbol.st_size : 1);
        const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);
        if (!name || !*name)
            continue;
        has_any = true;
        for (size_t at = cli_wanted_first(wanted, len, begin); at < len && wanted[at].pc < end;
             at++)
            offer(&wanted[at], &bests[at], &symbol, name);
    }
    return has_any;
}

bool cli_table_name(Elf *elf, cli_wanted *wanted, size_t len)
{
    best *bests = cli_apart_take(len, sizeof *bests);
    bool has_any = read_table(elf, SHT_SYMTAB, wanted, bests, len) ||
                   read_table(elf, SHT_DYNSYM, wanted, bests, len);
    free(bests);
    return has_any;
}
