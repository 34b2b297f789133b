#include "record/buildid.h"

#include <elf.h>
#include <string.h>

/* What is needed of an ELF header and of a program header, whatever their class. */
typedef struct elf {
    const pd_elf_source *source;
    bool is_64;
    uint64_t base; /* where the first loaded byte says that it is: what addresses count from */
    uint64_t table;
    uint16_t entry_size, entries;
} elf;

typedef struct segment {
    uint32_t type;
    uint64_t offset, address, size;
} segment;

/* Few ELF files have more than a dozen segments, or notes of more than some hundred bytes. */
enum { MOST_SEGMENTS = 256, MOST_NOTES = 1 << 16 };

static bool has_own_order(const unsigned char *ident)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return ident[EI_DATA] == ELFDATA2MSB;
#else
    return ident[EI_DATA] == ELFDATA2LSB;
#endif
}

static bool take(const pd_elf_source *s, uint64_t off, void *out, size_t len)
{
    return s->read(s->cookie, off, out, len);
}

static bool open_elf(elf *e, const pd_elf_source *source)
{
    union {
        unsigned char ident[EI_NIDENT];
        Elf32_Ehdr small;
        Elf64_Ehdr large;
    } h;
    *e = (elf){.source = source};
    if (!take(source, 0, h.ident, sizeof h.ident) || memcmp(h.ident, ELFMAG, SELFMAG) != 0 ||
        !has_own_order(h.ident))
        return false;
    e->is_64 = h.ident[EI_CLASS] == ELFCLASS64;
    if (!take(source, 0, &h, e->is_64 ? sizeof h.large : sizeof h.small))
        return false;
    e->table = e->is_64 ? h.large.e_phoff : h.small.e_phoff;
    e->entry_size = e->is_64 ? h.large.e_phentsize : h.small.e_phentsize;
    e->entries = e->is_64 ? h.large.e_phnum : h.small.e_phnum;
    return e->entry_size >= (e->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)) &&
           e->entries <= MOST_SEGMENTS;
}

static bool read_segment(const elf *e, size_t index, segment *out)
{
    uint64_t at = e->table + index * e->entry_size;
    Elf64_Phdr large;
    Elf32_Phdr small;
    if (e->is_64) {
        if (!take(e->source, at, &large, sizeof large))
            return false;
        *out = (segment){large.p_type, large.p_offset, large.p_vaddr, large.p_filesz};
        return true;
    }
    if (!take(e->source, at, &small, sizeof small))
        return false;
    *out = (segment){small.p_type, small.p_offset, small.p_vaddr, small.p_filesz};
    return true;
}

static size_t write_hex(const unsigned char *bytes, size_t len, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < len; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    return 2 * len;
}

static uint64_t padded(uint32_t len)
{
    return ((uint64_t)len + 3) & ~UINT64_C(3);
}

/* Goes through the notes of a segment. */
static size_t search_notes(const elf *e, uint64_t off, uint64_t size, char *out)
{
    uint64_t end = off + (size < MOST_NOTES ? size : MOST_NOTES);
    Elf32_Nhdr note; /* the same in both classes */
    while (off < end && take(e->source, off, &note, sizeof note)) {
        uint64_t name = off + sizeof note, desc = name + padded(note.n_namesz);
        unsigned char bytes[PD_BUILD_ID_MAX];
        char owner[4];
        size_t len = note.n_descsz < sizeof bytes ? note.n_descsz : sizeof bytes;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof owner && len &&
            take(e->source, name, owner, sizeof owner) && memcmp(owner, "GNU", 4) == 0)
            return take(e->source, desc, bytes, len) ? write_hex(bytes, len, out) : 0;
        off = desc + padded(note.n_descsz);
    }
    return 0;
}

size_t pd_elf_build_id(const pd_elf_source *source, char out[2 * PD_BUILD_ID_MAX])
{
    elf e;
    segment s;
    bool has_base = false;
    if (!open_elf(&e, source))
        return 0;
    for (size_t i = 0; i < e.entries && !has_base && read_segment(&e, i, &s); i++) {
        if (s.type == PT_LOAD) {
            e.base = s.address - s.offset;
            has_base = true;
        }
    }
    for (size_t i = 0; i < e.entries && read_segment(&e, i, &s); i++) {
        size_t len = s.type == PT_NOTE ? search_notes(&e, s.address - e.base, s.size, out) : 0;
        if (len)
            return len;
    }
    return 0;
}
