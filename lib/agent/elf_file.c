/* The functions of a mapped file: see elf_file.h. */
#include "agent/elf_file.h"

#include "agent/reserve.h"
#include "agent/spool.h"
#include "base/proc.h"

#include <errno.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

typedef ElfW(Ehdr) file_header;
typedef ElfW(Shdr) section;
typedef ElfW(Sym) symbol;

/* ---- which file ------------------------------------------------------------------------------ */

typedef struct search {
    uintptr_t address;
    pd_elf_table *table;
    char path[PD_PATH_MAX]; /* empty: the main program */
    uintptr_t note;         /* in memory, or 0 */
    size_t note_off, note_len;
} search;

static bool is_within(const struct dl_phdr_info *info, uintptr_t address)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD &&
            address - (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr) < info->dlpi_phdr[i].p_memsz)
            return true;
    return false;
}

/* The main program has no name in the loader's list. */
static int find_object(struct dl_phdr_info *info, size_t size, void *cookie)
{
    (void)size;
    search *s = cookie;
    if (!is_within(info, s->address))
        return 0;
    const char *path = info->dlpi_name ? info->dlpi_name : "";
    size_t len = strlen(path) + 1;
    if (len > sizeof s->path)
        return -1;
    memcpy(s->path, path, len);
    s->table->bias = info->dlpi_addr;
    s->table->begin = UINTPTR_MAX;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr, end = begin + segment->p_memsz;
        if (segment->p_type == PT_NOTE && segment->p_filesz == segment->p_memsz) {
            s->note = begin;
            s->note_off = segment->p_offset;
            s->note_len = segment->p_filesz;
        }
        if (segment->p_type == PT_LOAD && begin < s->table->begin)
            s->table->begin = begin;
        if (segment->p_type == PT_LOAD && end > s->table->end)
            s->table->end = end;
    }
    return 1;
}

/* ---- the file -------------------------------------------------------------------------------- */

static bool read_at(int fd, void *out, size_t len, uint64_t off)
{
    for (char *at = out; len;) {
        ssize_t got = pread(fd, at, len, (off_t)off);
        if (got <= 0 && !(got < 0 && errno == EINTR))
            return false;
        if (got > 0) {
            at += got;
            len -= (size_t)got;
            off += (uint64_t)got;
        }
    }
    return true;
}

/* A section, in pages of its own; as many as a symbol table may reasonably have. */
static void *load(int fd, const section *s)
{
    const uint64_t most = (uint64_t)1 << 30;
    void *bytes = s->sh_size && s->sh_size <= most ? pd_reserve_map(s->sh_size) : NULL;
    if (bytes && !read_at(fd, bytes, s->sh_size, s->sh_offset)) {
        pd_reserve_unmap(bytes, s->sh_size);
        return NULL;
    }
    return bytes;
}

static bool section_at(int fd, const file_header *header, size_t i, section *out)
{
    return i < header->e_shnum && read_at(fd, out, sizeof *out, header->e_shoff + i * sizeof *out);
}

/* The whole symbol table, else the dynamic one, and its strings. */
static bool find_symbols(int fd, section *symbols, section *strings)
{
    file_header header;
    section s;
    bool has_any = false;
    if (!read_at(fd, &header, sizeof header, 0) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_shentsize != sizeof(section))
        return false;
    for (size_t i = 0; section_at(fd, &header, i, &s); i++) {
        if (s.sh_type != SHT_SYMTAB && (s.sh_type != SHT_DYNSYM || has_any))
            continue;
        *symbols = s;
        has_any = true;
        if (s.sh_type == SHT_SYMTAB)
            break;
    }
    return has_any && section_at(fd, &header, symbols->sh_link, strings);
}

/* The note tells one build of a file from another; its beginning is enough. */
static bool is_same_build(int fd, const search *s)
{
    char bytes[256];
    size_t len = s->note_len < sizeof bytes ? s->note_len : sizeof bytes;
    return !s->note || (read_at(fd, bytes, len, s->note_off) &&
                        memcmp(bytes, (const void *)s->note, len) == 0); // NOLINT
}

/* ---- sorted ---------------------------------------------------------------------------------- */

static void sift(pd_elf_function *at, size_t root, size_t len)
{
    for (size_t child; (child = 2 * root + 1) < len; root = child) {
        if (child + 1 < len && at[child].begin < at[child + 1].begin)
            child++;
        if (at[root].begin >= at[child].begin)
            return;
        pd_elf_function swapped = at[root];
        at[root] = at[child];
        at[child] = swapped;
    }
}

/* In place, since qsort may allocate. */
static void sort(pd_elf_function *at, size_t len)
{
    for (size_t root = len / 2; root-- > 0;)
        sift(at, root, len);
    for (size_t end = len; end-- > 1;) {
        pd_elf_function last = at[0];
        at[0] = at[end];
        at[end] = last;
        sift(at, 0, end);
    }
}

/* Those of the symbols that are functions and are here. */
static void take_functions(pd_elf_table *table, const symbol *symbols, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        const symbol *s = &symbols[i];
        bool is_function = (s->st_info & 0xf) == STT_FUNC || (s->st_info & 0xf) == STT_GNU_IFUNC;
        if (is_function && s->st_shndx != SHN_UNDEF && s->st_size && s->st_size <= UINT32_MAX &&
            s->st_name && s->st_name < table->strings_len)
            table->functions[table->functions_len++] =
                (pd_elf_function){s->st_value, (uint32_t)s->st_size, s->st_name};
    }
    sort(table->functions, table->functions_len);
}

static bool read_functions(pd_elf_table *table, int fd)
{
    section in, strings;
    if (!find_symbols(fd, &in, &strings))
        return false;
    size_t len = in.sh_size / sizeof(symbol);
    symbol *symbols = load(fd, &in);
    table->strings = symbols ? load(fd, &strings) : NULL;
    table->strings_len = table->strings ? strings.sh_size : 0;
    table->functions_size = (len + 1) * sizeof(pd_elf_function);
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
    int fd = *path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : PD_PROC_OPEN("exe");
    return pd_spool_high(fd);
}

bool pd_elf_table_open(pd_elf_table *table, uintptr_t address)
{
    *table = (pd_elf_table){.begin = 0};
    search s = {.address = address, .table = table};
    if (dl_iterate_phdr(find_object, &s) != 1)
        return false;
    int fd = open_object(s.path);
    if (fd < 0)
        return false;
    bool has_table = is_same_build(fd, &s) && read_functions(table, fd);
    close(fd);
    if (!has_table)
        pd_elf_table_close(table);
    return has_table;
}

void pd_elf_table_close(pd_elf_table *table)
{
    if (table->functions)
        pd_reserve_unmap(table->functions, table->functions_size);
    if (table->strings)
        pd_reserve_unmap(table->strings, table->strings_len);
    *table = (pd_elf_table){.begin = 0};
}

const char *pd_elf_table_name(const pd_elf_table *table, uintptr_t address)
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
    /* Of several that begin at one place any will do; one that lies within another is the
     * nearest. */
    const pd_elf_function *f = low ? &table->functions[low - 1] : NULL;
    return f && wanted - f->begin < f->len ? table->strings + f->name : NULL;
}
