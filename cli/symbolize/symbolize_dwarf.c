/* Functions, inlined calls and lines from DWARF: see symbolize_dwarf.h. Runs in the child process,
 * which gives all memory back by ending. */
#include "symbolize/symbolize_dwarf.h"

#include "symbolize/apart.h"
#include "regular.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
    size_t first, end; /* the unit's addresses are among these */
    const char *dir;   /* of the file */
    Dwarf_Off last_1;  /* the offset of the last entry plus one */
    Dwarf_Die unit;    /* that has the entries: with split DWARF, of another file */
    Dwarf_Off unit_1;
    uint64_t roots; /* subprograms so far */
    bool is_failed;
} walk;

/* ---- addresses ------------------------------------------------------------------------------- */

/* The first wanted address that is not below pc. */
static size_t first_from(const walk *w, uint64_t pc)
{
    size_t low = 0, high = w->len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (w->wanted[middle].pc < pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Ranges at 0 are code that the linker left out. */
static bool is_range(Dwarf_Addr begin, Dwarf_Addr end)
{
    cli_apart_spend(1);
    return begin && begin < end;
}

/* ---- units ----------------------------------------------------------------------------------- */

/* Gives the wanted addresses of a unit's ranges to it. Later units do not take them away. */
static bool claim(walk *w, Dwarf_Die *unit, Dwarf_Off unit_1)
{
    Dwarf_Addr base, begin, end;
    bool has_any = false;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(unit, at, &base, &begin, &end)) > 0;) {
        if (!is_range(begin, end))
            continue;
        for (size_t i = first_from(w, begin); i < w->len && w->wanted[i].pc < end; i++) {
            cli_apart_spend(1);
            if (w->wanted[i].unit)
                continue;
            w->wanted[i].unit = unit_1;
            w->first = !has_any || i < w->first ? i : w->first;
            w->end = !has_any || i >= w->end ? i + 1 : w->end;
            has_any = true;
        }
    }
    return has_any;
}

/* ---- entries --------------------------------------------------------------------------------- */

static bool is_function(int tag)
{
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

/* Entries that can have functions in them. */
static bool is_container(int tag)
{
    switch (tag) {
    case DW_TAG_compile_unit:
    case DW_TAG_partial_unit:
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_interface_type:
    case DW_TAG_subprogram:
    case DW_TAG_inlined_subroutine:
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_with_stmt:
        return true;
    default:
        return false;
    }
}

static void add_link(walk *w, cli_wanted *wanted, const Dwarf_Die *die)
{
    size_t depth = wanted->chain ? wanted->chain->depth + 1 : 0;
    cli_link *link = depth < CHAIN_MAX ? malloc(sizeof *link) : NULL;
    w->is_failed |= !link && depth < CHAIN_MAX;
    if (!link)
        return;
    *link = (cli_link){*die, wanted->chain, depth};
    wanted->chain = link;
}

/* Adds the function to the chains of the wanted addresses that it holds. root is the subprogram that
 * it is inlined in, or itself. Returns whether there are any. */
static bool add_function(walk *w, Dwarf_Die *die, uint64_t root)
{
    Dwarf_Addr base, begin, end;
    bool has_any = false, is_root = dwarf_tag(die) == DW_TAG_subprogram;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &begin, &end)) > 0;) {
        if (!is_range(begin, end))
            continue;
        for (size_t i = first_from(w, begin); i < w->len && w->wanted[i].pc < end; i++) {
            cli_wanted *wanted = &w->wanted[i];
            cli_apart_spend(1);
            if (wanted->unit != w->unit_1 || (is_root ? wanted->root != 0 : wanted->root != root))
                continue;
            wanted->root = root;
            add_link(w, wanted, die);
            has_any = true;
        }
    }
    return has_any;
}

/* Visits the entries in this one. Nested functions can be in a function that holds no wanted
 * address, but inlined calls cannot. The offsets of entries rise. In a damaged file a sibling may be
 * a child, too: the entries in it would be visited twice, and those in them four times. */
static void visit(walk *w, Dwarf_Die *parent, uint64_t root, size_t depth)
{
    Dwarf_Die die;
    if (depth == DEPTH_MAX || w->is_failed || dwarf_child(parent, &die))
        return;
    do {
        Dwarf_Off at_1 = dwarf_dieoffset(&die) + 1;
        if (at_1 <= w->last_1)
            return;
        w->last_1 = at_1;
        cli_apart_spend(1);
        int tag = dwarf_tag(&die);
        uint64_t inner = root;
        if (tag == DW_TAG_subprogram)
            inner = ++w->roots;
        bool is_entered = is_container(tag);
        if (is_function(tag))
            is_entered = add_function(w, &die, inner) || tag == DW_TAG_subprogram;
        if (is_entered && dwarf_haschildren(&die) > 0)
            visit(w, &die, inner, depth + 1);
    } while (!dwarf_siblingof(&die, &die));
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* A path as the compiler noted it, absolute if the unit says where it was compiled. */
static const char *whole_path(const walk *w, const char *path, char *room, size_t size)
{
    Dwarf_Attribute attribute;
    Dwarf_Die unit = w->unit;
    const char *dir;
    if (!path || *path == '/' || !dwarf_attr(&unit, DW_AT_comp_dir, &attribute) ||
        !(dir = dwarf_formstring(&attribute)))
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

/* The name of the outermost function's symbol is used if the entry has no linkage name, as that of a
 * lambda in some compilers' output. */
static void write_function(const walk *w, const cli_link *link, const char *symbol,
                           const char *file, FILE *out)
{
    Dwarf_Die die = link->die;
    char room[4096];
    int start = 0;
    const char *name = dwarf_diename(&die), *linkage = linkage_name(&die);
    bool is_mangled = symbol && symbol[0] == '_' && (symbol[1] == 'Z' || symbol[1] == 'R');
    if (!linkage && !link->outer && is_mangled)
        linkage = symbol;
    if (!name)
        name = linkage;
    if (dwarf_decl_line(&die, &start))
        start = 0;
    cli_answer_put_string(out, name);
    cli_answer_put_string(out, linkage ? linkage : name);
    cli_answer_put_string(out, whole_path(w, file, room, sizeof room));
    cli_answer_put_number(out, start > 0 ? (uint64_t)start : 0);
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
    if (!wanted->chain) {
        char room[4096];
        cli_answer_put_string(out, wanted->name);
        cli_answer_put_string(out, wanted->name);
        cli_answer_put_string(out, whole_path(w, file, room, sizeof room));
        cli_answer_put_number(out, 0);
        cli_answer_put_number(out, row);
        cli_answer_put_number(out, at);
    }
    for (const cli_link *link = wanted->chain; link; link = link->outer) {
        Dwarf_Die die = link->die;
        write_function(w, link, wanted->name, file, out);
        cli_answer_put_number(out, row);
        cli_answer_put_number(out, at);
        if (!link->outer)
            break;
        file = call_file(lines, &die);
        row = call_number(&die, DW_AT_call_line);
        at = call_number(&die, DW_AT_call_column);
    }
}

static void write_unit(walk *w, Dwarf_Die *lines, FILE *out)
{
    Dwarf_Lines *table;
    size_t len;
    if (!dwarf_getsrclines(lines, &table, &len))
        cli_apart_spend(len);
    cli_apart_spend(w->end - w->first);
    for (size_t i = w->first; i < w->end; i++)
        if (w->wanted[i].unit == w->unit_1)
            write_address(w, lines, &w->wanted[i], out);
}

/* ---- other files ----------------------------------------------------------------------------- */

/* May libdw open this file, which the debug information names? It is regular, or missing. */
static bool may_open(const char *dir, const char *name)
{
    char path[PATH_MAX];
    struct stat st;
    bool is_whole = *name == '/' || !*dir;
    int len = snprintf(path, sizeof path, "%s%s%s", is_whole ? "" : dir, is_whole ? "" : "/", name);
    if (len < 0 || (size_t)len >= sizeof path)
        return false;
    int fd = cli_regular_open(AT_FDCWD, path, O_RDONLY, NULL);
    if (fd < 0)
        return access(path, F_OK) != 0;
    cli_apart_allow(fstat(fd, &st) ? 0 : (uint64_t)st.st_size, 0);
    close(fd);
    return true;
}

static const char *text_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    return dwarf_attr(die, name, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

/* The unit that has the entries of this one: with split DWARF, of another file, which libdw looks for
 * beside this file and where it was compiled. */
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
    while (!w->is_failed && !dwarf_get_units(dwarf, cu, &cu, &version, &type, &unit, NULL)) {
        w->unit_1 = dwarf_dieoffset(&unit) + 1;
        w->last_1 = 0;
        if (type == DW_UT_type || type == DW_UT_split_type || !claim(w, &unit, w->unit_1))
            continue;
        w->unit = find_entries(w, &unit);
        visit(w, &w->unit, 0, 0);
        w->unit = unit; /* which has the directory of the compilation */
        write_unit(w, &unit, out);
    }
}

bool cli_dwarf_write(Dwarf *dwarf, const char *dir, cli_wanted *wanted, size_t len, FILE *out)
{
    walk w = {.wanted = wanted, .len = len, .dir = dir};
    if (dwarf)
        visit_units(&w, dwarf, out);
    for (size_t i = 0; i < len && !w.is_failed; i++)
        if (!wanted[i].unit)
            write_address(&w, NULL, &wanted[i], out);
    return !w.is_failed;
}
