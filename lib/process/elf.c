#include "process/elf.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
enum { OWN_ORDER = ELFDATA2MSB };
#else
enum { OWN_ORDER = ELFDATA2LSB };
#endif

size_t pd_elf_read(const pd_elf *elf, uint64_t off, void *out, size_t len)
{
    size_t done = 0;
    uint64_t at = elf->begin + off;
    if (at < off || at > INT64_MAX - len)
        return 0;
    while (done < len) {
        ssize_t got = pread(elf->fd, (char *)out + done, len - done, (off_t)(at + done));
        if (got == 0 || (got < 0 && errno != EINTR))
            break;
        done += got > 0 ? (size_t)got : 0;
    }
    return done;
}

static bool read_whole(const pd_elf *elf, uint64_t off, void *out, size_t len)
{
    return pd_elf_read(elf, off, out, len) == len;
}

static bool is_64(const pd_elf *elf)
{
    return elf->elf_class == ELFCLASS64;
}

bool pd_elf_open(pd_elf *elf, int fd, uint64_t begin)
{
    union {
        unsigned char ident[EI_NIDENT];
        Elf32_Ehdr small;
        Elf64_Ehdr large;
    } h;
    *elf = (pd_elf){.fd = fd, .begin = begin};
    if (!read_whole(elf, 0, h.ident, sizeof h.ident) || memcmp(h.ident, ELFMAG, SELFMAG) != 0)
        return false;
    elf->elf_class = h.ident[EI_CLASS];
    elf->byte_order = h.ident[EI_DATA];
    if (!read_whole(elf, 0, &h, is_64(elf) ? sizeof h.large : sizeof h.small))
        return false;
    elf->machine = h.small.e_machine; /* at the same place in both classes */
    if (elf->byte_order != OWN_ORDER || (!is_64(elf) && elf->elf_class != ELFCLASS32))
        return true;
    if (is_64(elf)) {
        elf->segments = (pd_elf_table){h.large.e_phoff, h.large.e_phnum, h.large.e_phentsize};
        elf->sections = (pd_elf_table){h.large.e_shoff, h.large.e_shnum, h.large.e_shentsize};
    } else {
        elf->segments = (pd_elf_table){h.small.e_phoff, h.small.e_phnum, h.small.e_phentsize};
        elf->sections = (pd_elf_table){h.small.e_shoff, h.small.e_shnum, h.small.e_shentsize};
    }
    if (elf->segments.len > PD_ELF_SEGMENTS_MAX)
        elf->segments.len = PD_ELF_SEGMENTS_MAX;
    return true;
}

/* Reads an entry, of which the file may have a longer version. */
static bool read_entry(const pd_elf *elf, const pd_elf_table *table, size_t i, void *out,
                       size_t size)
{
    return i < table->len && table->entry_size >= size &&
           read_whole(elf, table->off + (uint64_t)i * table->entry_size, out, size);
}

bool pd_elf_segment_at(const pd_elf *elf, size_t i, pd_elf_segment *out)
{
    union {
        Elf32_Phdr small;
        Elf64_Phdr large;
    } h;
    if (!read_entry(elf, &elf->segments, i, &h, is_64(elf) ? sizeof h.large : sizeof h.small))
        return false;
    *out =
        is_64(elf)
            ? (pd_elf_segment){h.large.p_type, h.large.p_offset, h.large.p_vaddr, h.large.p_filesz}
            : (pd_elf_segment){h.small.p_type, h.small.p_offset, h.small.p_vaddr, h.small.p_filesz};
    return true;
}

bool pd_elf_section_at(const pd_elf *elf, size_t i, pd_elf_section *out)
{
    union {
        Elf32_Shdr small;
        Elf64_Shdr large;
    } h;
    if (!read_entry(elf, &elf->sections, i, &h, is_64(elf) ? sizeof h.large : sizeof h.small))
        return false;
    *out = is_64(elf) ? (pd_elf_section){h.large.sh_type, h.large.sh_link, h.large.sh_offset,
                                         h.large.sh_size}
                      : (pd_elf_section){h.small.sh_type, h.small.sh_link, h.small.sh_offset,
                                         h.small.sh_size};
    return true;
}

bool pd_elf_row_at(const pd_elf *elf, const pd_elf_dynamic *dynamic, size_t i, pd_elf_row *out)
{
    union {
        Elf32_Dyn small;
        Elf64_Dyn large;
    } row;
    size_t size = is_64(elf) ? sizeof row.large : sizeof row.small;
    uint64_t off = (uint64_t)i * size;
    if (i >= PD_ELF_ROWS_MAX || off + size > dynamic->rows.len ||
        !read_whole(elf, dynamic->rows.off + off, &row, size))
        return false;
    *out = is_64(elf) ? (pd_elf_row){row.large.d_tag, row.large.d_un.d_val}
                      : (pd_elf_row){row.small.d_tag, row.small.d_un.d_val};
    return out->tag != DT_NULL;
}

bool pd_elf_find_segment(const pd_elf *elf, uint32_t type, pd_elf_segment *out)
{
    for (size_t i = 0; pd_elf_segment_at(elf, i, out); i++)
        if (out->type == type)
            return true;
    return false;
}

/* Returns where in the file the byte is that is loaded at the address, or UINT64_MAX. */
static uint64_t offset_of(const pd_elf *elf, uint64_t address)
{
    pd_elf_segment s;
    for (size_t i = 0; pd_elf_segment_at(elf, i, &s); i++)
        if (s.type == PT_LOAD && address - s.address < s.len)
            return s.off + (address - s.address);
    return UINT64_MAX;
}

void pd_elf_find_dynamic(const pd_elf *elf, pd_elf_dynamic *out)
{
    pd_elf_row row;
    *out = (pd_elf_dynamic){.strings_off = UINT64_MAX};
    if (!pd_elf_find_segment(elf, PT_DYNAMIC, &out->rows))
        out->rows.len = 0;
    for (size_t i = 0; pd_elf_row_at(elf, out, i, &row); i++) {
        if (row.tag == DT_STRTAB)
            out->strings_off = offset_of(elf, row.value);
        if (row.tag == DT_STRSZ)
            out->strings_len = row.value;
    }
    if (out->strings_off == UINT64_MAX)
        out->strings_len = 0;
}
