/* Functions from the symbol table, and functions, inlined calls and lines from DWARF: see
 * symbolize_dwarf.h. Runs in the child process, which gives all memory back by ending. */
#include "symbolize/symbolize_dwarf.h"

#include "symbolize/apart.h"
#include "input.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* Frames at one address, and entries within each other, at most. */
enum { CHAIN_MAX = 256, DEPTH_MAX = 512 };

struct cli_link {
    Dwarf_Die die;
    cli_link *outer;
    size_t depth; /* links outside this one */
};

typedef struct walk {
    cli_wanted *wanted;
    size_t len;
    const char *dir;  /* of the file */
    Dwarf_Off last_1; /* the offset of the last entry plus one */
    Dwarf_Die unit;   /* that has the entries: with split DWARF, of another file */
    Dwarf_Off unit_1;
    uint64_t roots; /* subprograms so far */
} walk;

/* The first of the wanted addresses, which are sorted, that is not below pc; len: none is. */
static size_t first_of(const cli_wanted *wanted, size_t len, uint64_t pc)
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

/* ---- the symbol table ------------------------------------------------------------------------
 *
 * The addresses are sorted, so the table is read once, in its order, and nothing of it is kept. Of
 * the functions that hold an address, the one that begins last is taken, and of several that begin
 * there, a global one: a local one may be an alias. */

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

static bool is_function(const GElf_Sym *symbol)
{
    int type = GELF_ST_TYPE(symbol->st_info);
    return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF &&
           symbol->st_value;
}

static void offer_symbol(cli_wanted *wanted, best *so_far, const GElf_Sym *symbol, const char *name)
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
        for (size_t at = first_of(wanted, len, begin); at < len && wanted[at].pc < end; at++)
            offer_symbol(&wanted[at], &bests[at], &symbol, name);
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

/* ---- entries --------------------------------------------------------------------------------- */

/* Gives the address to the unit. Later units do not take it away. */
static bool claim_address(const walk *w, cli_wanted *wanted)
{
    bool is_free = !wanted->unit;
    if (is_free)
        wanted->unit = w->unit_1;
    return is_free;
}

/* Adds the function to the chain of an address that it holds. */
static bool add_link(walk *w, cli_wanted *wanted, const Dwarf_Die *die, uint64_t root, bool is_root)
{
    if (wanted->unit != w->unit_1 || (is_root ? wanted->root != 0 : wanted->root != root))
        return false;
    size_t depth = wanted->chain ? wanted->chain->depth + 1 : 0;
    wanted->root = root;
    if (depth < CHAIN_MAX) {
        cli_link *link = cli_apart_take(1, sizeof *link);
        *link = (cli_link){*die, wanted->chain, depth};
        wanted->chain = link;
    }
    return true;
}

/* Gives the wanted addresses in the ranges of an entry to it: to a unit if root is 0, or else to a
 * function; root is then the subprogram that it is inlined in, or itself. Returns whether there are
 * any. */
static bool take_ranges(walk *w, Dwarf_Die *die, uint64_t root)
{
    Dwarf_Addr base, begin, end;
    bool has_any = false, is_root = dwarf_tag(die) == DW_TAG_subprogram;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &begin, &end)) > 0;) {
        if (!begin) /* code that the linker left out */
            continue;
        for (size_t i = first_of(w->wanted, w->len, begin); i < w->len && w->wanted[i].pc < end;
             i++)
            has_any |= root ? add_link(w, &w->wanted[i], die, root, is_root)
                            : claim_address(w, &w->wanted[i]);
    }
    return has_any;
}

/* Visits the entries in this one. Nested functions can be in a function that holds no wanted
 * address, but inlined calls cannot. The offsets of entries rise. In a damaged file a sibling may be
 * a child, too: the entries in it would be visited twice, and those in them four times. */
static void visit_entry(walk *w, Dwarf_Die *parent, uint64_t root, size_t depth)
{
    Dwarf_Die die;
    if (depth == DEPTH_MAX || dwarf_child(parent, &die))
        return;
    do {
        Dwarf_Off at_1 = dwarf_dieoffset(&die) + 1;
        if (at_1 <= w->last_1)
            return;
        w->last_1 = at_1;
        int tag = dwarf_tag(&die);
        bool is_root = tag == DW_TAG_subprogram, is_entered = true;
        uint64_t inner = is_root ? ++w->roots : root;
        if (is_root || tag == DW_TAG_inlined_subroutine)
            is_entered = take_ranges(w, &die, inner) || is_root;
        if (is_entered && dwarf_haschildren(&die) > 0)
            visit_entry(w, &die, inner, depth + 1);
    } while (!dwarf_siblingof(&die, &die));
}

/* ---- frames ---------------------------------------------------------------------------------- */

static const char *text_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    return dwarf_attr(die, name, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

/* A path as the compiler noted it, absolute if the unit says where it was compiled. */
static const char *whole_path(const walk *w, const char *path, char *room, size_t size)
{
    Dwarf_Die unit = w->unit;
    const char *dir = path && *path != '/' ? text_of(&unit, DW_AT_comp_dir) : NULL;
    if (!dir)
        return path ? path : "";
    int len = snprintf(room, size, "%s/%s", dir, path);
    return len > 0 && (size_t)len < size ? room : path;
}

static const char *linkage_name(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    const char *name = NULL;
    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
        dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
        name = dwarf_formstring(&attribute);
    return name;
}

static void write_frame(const walk *w, const char *name, const char *linkage, const char *file,
                        int start, uint64_t line, uint64_t column, FILE *out)
{
    char room[4096];
    cli_answer_put_string(out, name ? name : linkage);
    cli_answer_put_string(out, linkage ? linkage : name);
    cli_answer_put_string(out, whole_path(w, file, room, sizeof room));
    cli_answer_put_number(out, start > 0 ? (uint64_t)start : 0);
    cli_answer_put_number(out, line);
    cli_answer_put_number(out, column);
}

/* The linkage name of an entry, or NULL. The name of the outermost function's symbol is used if the
 * entry has none, as that of a lambda in some compilers' output. */
static const char *linkage_of(const cli_link *link, Dwarf_Die *die, const char *symbol)
{
    const char *linkage = linkage_name(die);
    bool is_mangled = symbol && symbol[0] == '_' && (symbol[1] == 'Z' || symbol[1] == 'R');
    return linkage || link->outer || !is_mangled ? linkage : symbol;
}

/* The place of the call of an inlined function. */
static const char *call_file(Dwarf_Die *unit, Dwarf_Die *inlined)
{
    Dwarf_Attribute attribute;
    Dwarf_Files *files;
    Dwarf_Word number;
    size_t len;
    if (!dwarf_attr(inlined, DW_AT_call_file, &attribute) || dwarf_formudata(&attribute, &number) ||
        dwarf_getsrcfiles(unit, &files, &len) || number >= len)
        return NULL;
    return dwarf_filesrc(files, number, NULL, NULL);
}

static uint64_t call_number(Dwarf_Die *inlined, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word number;
    bool has_it = dwarf_attr(inlined, name, &attribute) && !dwarf_formudata(&attribute, &number);
    return has_it && number <= INT32_MAX ? number : 0;
}

/* `lines` is the unit that has the table of lines. */
static void write_address(const walk *w, Dwarf_Die *lines, const cli_wanted *wanted, FILE *out)
{
    Dwarf_Line *line = wanted->unit ? dwarf_getsrc_die(lines, wanted->pc) : NULL;
    const char *file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
    int number = 0, column = 0;
    if (!wanted->chain && !wanted->name)
        return;
    if (line && (dwarf_lineno(line, &number) || dwarf_linecol(line, &column)))
        number = column = 0;
    uint64_t row = (uint64_t)(number > 0 ? number : 0), at = (uint64_t)(column > 0 ? column : 0);
    cli_answer_put_number(out, wanted->index + 1);
    cli_answer_put_number(out, wanted->chain ? wanted->chain->depth + 1 : 1);
    if (!wanted->chain)
        write_frame(w, wanted->name, NULL, file, 0, row, at, out);
    for (const cli_link *link = wanted->chain; link; link = link->outer) {
        Dwarf_Die die = link->die;
        int start = 0;
        if (dwarf_decl_line(&die, &start))
            start = 0;
        write_frame(w, dwarf_diename(&die), linkage_of(link, &die, wanted->name), file, start, row,
                    at, out);
        if (!link->outer)
            break;
        file = call_file(lines, &die);
        row = call_number(&die, DW_AT_call_line);
        at = call_number(&die, DW_AT_call_column);
    }
}

/* ---- other files ----------------------------------------------------------------------------- */

/* May libdw open this file, which the debug information names? It is regular, or missing. */
static bool may_open(const char *dir, const char *name)
{
    char path[PATH_MAX];
    bool is_whole = *name == '/' || !*dir;
    int len = snprintf(path, sizeof path, "%s%s%s", is_whole ? "" : dir, is_whole ? "" : "/", name);
    if (len < 0 || (size_t)len >= sizeof path)
        return false;
    int fd = cli_regular_open(AT_FDCWD, path, O_RDONLY, NULL);
    if (fd < 0)
        return access(path, F_OK) != 0;
    cli_apart_allow(fd);
    close(fd);
    return true;
}

/* The unit that has the entries of this one: with split DWARF, of another file, which libdw looks for
 * in the directory of this file and where it was compiled. */
static Dwarf_Die find_entries(const walk *w, Dwarf_Die *unit)
{
    Dwarf_Die split = {0};
    char dir[PATH_MAX];
    const char *name = text_of(unit, DW_AT_dwo_name), *made_in = text_of(unit, DW_AT_comp_dir);
    if (!name)
        name = text_of(unit, DW_AT_GNU_dwo_name);
    if (!name)
        return *unit;
    snprintf(dir, sizeof dir, "%s%s%s", made_in && *made_in == '/' ? "" : w->dir,
             made_in && *made_in != '/' ? "/" : "", made_in ? made_in : "");
    cli_apart_open_files(true);
    if (may_open(w->dir, name) && may_open(dir, name))
        dwarf_cu_info(unit->cu, NULL, NULL, NULL, &split, NULL, NULL, NULL);
    cli_apart_open_files(false);
    return split.addr && dwarf_tag(&split) != DW_TAG_invalid ? split : *unit;
}

void cli_dwarf_load_alt(Dwarf *dwarf, const char *dir)
{
    const char *name;
    const void *id;
    if (dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &id) <= 0)
        return;
    cli_apart_open_files(true);
    if (may_open(dir, name))
        dwarf_getalt(dwarf);
    cli_apart_open_files(false);
}

/* ---- all units ------------------------------------------------------------------------------- */

static void visit_units(walk *w, Dwarf *dwarf, FILE *out)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Half version;
    uint8_t type;
    Dwarf_Die unit;
    while (!dwarf_get_units(dwarf, cu, &cu, &version, &type, &unit, NULL)) {
        w->unit_1 = dwarf_dieoffset(&unit) + 1;
        w->last_1 = 0;
        if (type == DW_UT_type || type == DW_UT_split_type || !take_ranges(w, &unit, 0))
            continue;
        w->unit = find_entries(w, &unit);
        visit_entry(w, &w->unit, 0, 0);
        w->unit = unit; /* which has the directory of the compilation */
        for (size_t i = 0; i < w->len; i++)
            if (w->wanted[i].unit == w->unit_1)
                write_address(w, &unit, &w->wanted[i], out);
    }
}

void cli_dwarf_write(Dwarf *dwarf, const char *dir, cli_wanted *wanted, size_t len, FILE *out)
{
    walk w = {.wanted = wanted, .len = len, .dir = dir};
    if (dwarf)
        visit_units(&w, dwarf, out);
    for (size_t i = 0; i < len; i++)
        if (!wanted[i].unit)
            write_address(&w, NULL, &wanted[i], out);
}
