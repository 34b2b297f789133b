#include "process/buildid.h"

#include "process/proc.h"

#include <string.h>

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

/* Returns the length in out, or 0 if none of the notes is a build id. */
static size_t search_notes(const pd_elf *elf, uint64_t off, uint64_t len, char *out)
{
    enum { MOST = 1 << 16 }; /* bytes of notes; linkers write some hundred */
    uint64_t end = off + (len < MOST ? len : MOST);
    ElfW(Nhdr) note;
    while (off < end && pd_elf_read(elf, off, &note, sizeof note) == sizeof note) {
        uint64_t name = off + sizeof note, desc = name + padded(note.n_namesz);
        unsigned char bytes[PD_BUILD_ID_MAX];
        char owner[4];
        size_t id_len = note.n_descsz < sizeof bytes ? note.n_descsz : sizeof bytes;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof owner && id_len &&
            pd_elf_read(elf, name, owner, sizeof owner) == sizeof owner &&
            memcmp(owner, "GNU", sizeof owner) == 0)
            return pd_elf_read(elf, desc, bytes, id_len) == id_len ? write_hex(bytes, id_len, out)
                                                                   : 0;
        off = desc + padded(note.n_descsz);
    }
    return 0;
}

size_t pd_elf_build_id(const pd_elf *elf, char out[2 * PD_BUILD_ID_MAX])
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

size_t pd_build_id_at(uint64_t address, char out[2 * PD_BUILD_ID_MAX])
{
    pd_elf elf;
    int fd = pd_proc_open_mem();
    if (fd < 0)
        return 0;
    size_t len = pd_elf_open(&elf, fd, address) ? pd_elf_build_id(&elf, out) : 0;
    close(fd);
    return len;
}
