#include "process/elf.h"

#include "base/bytes.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
enum { OWN_ORDER = ELFDATA2MSB };
#else
enum { OWN_ORDER = ELFDATA2LSB };
#endif
enum { OWN_CLASS = sizeof(ElfW(Addr)) == 8 ? ELFCLASS64 : ELFCLASS32 };

static size_t read_at(int fd, uint64_t at, void *out, size_t len)
{
    size_t done = 0;
    while (at <= INT64_MAX - len && done < len) {
        ssize_t got = pread(fd, (char *)out + done, len - done, (off_t)(at + done));
        if (got == 0 || (got < 0 && errno != EINTR))
            break;
        done += got > 0 ? (size_t)got : 0;
    }
    return done;
}

size_t pd_elf_read(pd_elf *elf, uint64_t off, void *out, size_t len)
{
    const uint64_t at = elf->begin + off;
    if (at < off)
        return 0;
    if (len > sizeof elf->window)
        return read_at(elf->fd, at, out, len);
    uint64_t from = at - elf->window_at;
    if (from > elf->window_len || len > elf->window_len - from) {
        from = 0;
        elf->window_at = at;
        elf->window_len = read_at(elf->fd, at, elf->window, sizeof elf->window);
    }
    len = len < elf->window_len - from ? len : elf->window_len - (size_t)from;
    memcpy(out, elf->window + from, len);
    return len;
}

static bool read_whole(pd_elf *elf, uint64_t off, void *out, size_t len)
{
    return pd_elf_read(elf, off, out, len) == len;
}

bool pd_elf_open(pd_elf *elf, int fd, uint64_t begin)
{
    ElfW(Ehdr) *h = &elf->header;
    elf->fd = fd;
    elf->begin = begin;
    elf->window_at = elf->window_len = 0;
    if (!read_whole(elf, 0, h, sizeof *h) || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
        return false;
    if (h->e_ident[EI_CLASS] != OWN_CLASS || h->e_ident[EI_DATA] != OWN_ORDER)
        h->e_phnum = h->e_shnum = 0;
    if (h->e_phnum > PD_ELF_SEGMENTS_MAX)
        h->e_phnum = PD_ELF_SEGMENTS_MAX;
    return true;
}

/* The entries of a table may be longer than those that are known here. */
bool pd_elf_segment_at(pd_elf *elf, size_t i, ElfW(Phdr) * out)
{
    const ElfW(Ehdr) *h = &elf->header;
    return i < h->e_phnum && h->e_phentsize >= sizeof *out &&
           read_whole(elf, h->e_phoff + (uint64_t)i * h->e_phentsize, out, sizeof *out);
}

bool pd_elf_section_at(pd_elf *elf, size_t i, ElfW(Shdr) * out)
{
    const ElfW(Ehdr) *h = &elf->header;
    return i < h->e_shnum && h->e_shentsize >= sizeof *out &&
           read_whole(elf, h->e_shoff + (uint64_t)i * h->e_shentsize, out, sizeof *out);
}

bool pd_elf_row_at(pd_elf *elf, const pd_elf_dynamic *dynamic, size_t i, ElfW(Dyn) * out)
{
    uint64_t off = (uint64_t)i * sizeof *out;
    return i < PD_ELF_ROWS_MAX && off + sizeof *out <= dynamic->rows.p_filesz &&
           read_whole(elf, dynamic->rows.p_offset + off, out, sizeof *out) && out->d_tag != DT_NULL;
}

bool pd_elf_find_segment(pd_elf *elf, uint32_t type, ElfW(Phdr) * out)
{
    for (size_t i = 0; pd_elf_segment_at(elf, i, out); i++)
        if (out->p_type == type)
            return true;
    return false;
}

/* Returns where in the file the byte is that is loaded at the address, or UINT64_MAX. */
static uint64_t offset_of(pd_elf *elf, ElfW(Addr) address)
{
    ElfW(Phdr) s;
    for (size_t i = 0; pd_elf_segment_at(elf, i, &s); i++)
        if (s.p_type == PT_LOAD && address - s.p_vaddr < s.p_filesz)
            return (uint64_t)s.p_offset + (address - s.p_vaddr);
    return UINT64_MAX;
}

uint64_t *pd_elf_table(pd_elf_symbols *tables, const ElfW(Dyn) * row)
{
    return row->d_tag == DT_SYMTAB     ? &tables->symbols
           : row->d_tag == DT_STRTAB   ? &tables->names
           : row->d_tag == DT_GNU_HASH ? &tables->hash
           : row->d_tag == DT_VERSYM   ? &tables->versions
                                       : NULL;
}

void pd_elf_find_dynamic(pd_elf *elf, pd_elf_dynamic *out)
{
    ElfW(Dyn) row;
    *out = (pd_elf_dynamic){.names_len = 0};
    if (!pd_elf_find_segment(elf, PT_DYNAMIC, &out->rows))
        out->rows.p_filesz = 0;
    for (size_t i = 0; pd_elf_row_at(elf, out, i, &row); i++) {
        uint64_t *table = pd_elf_table(&out->tables, &row);
        uint64_t off = table ? offset_of(elf, row.d_un.d_ptr) : UINT64_MAX;
        if (off != UINT64_MAX)
            *table = off;
        if (row.d_tag == DT_STRSZ)
            out->names_len = row.d_un.d_val;
    }
    if (!out->tables.names)
        out->names_len = 0;
}

/* ---- a symbol by its name -------------------------------------------------------------------- */

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

/* Reads the symbol at a place, if it has the name, is defined, and is not hidden, as an older version is. */
static bool read_symbol(pd_elf *elf, const pd_elf_symbols *tables, uint32_t at, const char *name,
                        ElfW(Sym) * out)
{
    enum { HIDDEN = 0x8000 };
    char found[64];
    uint16_t version = 0;
    const size_t len = strlen(name) + 1;
    if (!read_whole(elf, tables->symbols + (uint64_t)at * sizeof *out, out, sizeof *out) ||
        out->st_shndx == SHN_UNDEF || len > sizeof found ||
        !read_whole(elf, tables->names + out->st_name, found, len) || memcmp(found, name, len) != 0)
        return false;
    if (tables->versions)
        pd_elf_read(elf, tables->versions + (uint64_t)at * sizeof version, &version,
                    sizeof version);
    return !(version & HIDDEN);
}

/* Behind the four words of the table's head are a filter, which is not used, the first symbol of each bucket, and the
 * hashes of the symbols, of which the last one of a bucket is odd. */
bool pd_elf_find_symbol(pd_elf *elf, const pd_elf_symbols *tables, const char *name,
                        ElfW(Sym) * out)
{
    enum { BUCKETS, FIRST, FILTER, HEAD = 4 };
    uint32_t head[HEAD], at, other = 0;
    const uint32_t hash = hash_of(name);
    if (!tables->hash || !read_whole(elf, tables->hash, head, sizeof head) || !head[BUCKETS])
        return false;
    const uint64_t buckets =
        tables->hash + sizeof head + (uint64_t)head[FILTER] * sizeof(ElfW(Addr));
    const uint64_t hashes = buckets + (uint64_t)head[BUCKETS] * sizeof at;
    if (!read_whole(elf, buckets + (uint64_t)(hash % head[BUCKETS]) * sizeof at, &at, sizeof at) ||
        at < head[FIRST])
        return false;
    for (size_t i = 0; i < PD_ELF_ROWS_MAX && !(other & 1); i++, at++) {
        if (!read_whole(elf, hashes + (uint64_t)(at - head[FIRST]) * sizeof other, &other,
                        sizeof other))
            return false;
        if ((other | 1) == (hash | 1) && read_symbol(elf, tables, at, name, out))
            return true;
    }
    return false;
}

/* ---- build ids ------------------------------------------------------------------------------- */

static uint64_t padded_length(uint32_t len)
{
    return ((uint64_t)len + 3) & ~UINT64_C(3);
}

/* Returns the length in out, or 0 if none of the notes is a build id. */
static size_t search_notes(pd_elf *elf, uint64_t off, uint64_t len, char *out)
{
    enum { MOST = 1 << 16 }; /* bytes of notes; linkers write some hundred */
    uint64_t end = off + (len < MOST ? len : MOST);
    ElfW(Nhdr) note;
    while (off < end && pd_elf_read(elf, off, &note, sizeof note) == sizeof note) {
        uint64_t name = off + sizeof note, desc = name + padded_length(note.n_namesz);
        unsigned char bytes[PD_BUILD_ID_MAX];
        char owner[4];
        size_t id_len = note.n_descsz < sizeof bytes ? note.n_descsz : sizeof bytes;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof owner && id_len &&
            pd_elf_read(elf, name, owner, sizeof owner) == sizeof owner &&
            memcmp(owner, "GNU", sizeof owner) == 0)
            return pd_elf_read(elf, desc, bytes, id_len) == id_len
                       ? pd_bytes_hex((pd_bytes){bytes, id_len}, out)
                       : 0;
        off = desc + padded_length(note.n_descsz);
    }
    return 0;
}

size_t pd_elf_build_id(pd_elf *elf, char out[2 * PD_BUILD_ID_MAX])
{
    ElfW(Phdr) s;
    ElfW(Addr) first = pd_elf_find_segment(elf, PT_LOAD, &s) ? s.p_vaddr - s.p_offset : 0;
    for (size_t i = 0; pd_elf_segment_at(elf, i, &s); i++) {
        size_t len =
            s.p_type == PT_NOTE ? search_notes(elf, s.p_vaddr - first, s.p_filesz, out) : 0;
        if (len)
            return len;
    }
    return 0;
}

size_t pd_build_id_at(int memory, uint64_t address, char out[2 * PD_BUILD_ID_MAX])
{
    pd_elf elf;
    return pd_elf_open(&elf, memory, address) ? pd_elf_build_id(&elf, out) : 0;
}
