/* Reads ELF files: the header, segments, sections and the dynamic section.
 *
 *     header        class, byte order, machine; where the two tables are
 *     segments      what the loader maps: code, notes, the dynamic section
 *     sections      what the linker and the debugger use: symbol tables
 *     dynamic rows  needed libraries and the like; they name strings of the dynamic string table
 *
 * Everything is read with pread from a descriptor and copied into the caller's structs. Nothing is
 * mapped and nothing is allocated, and no lock is taken. So the heap agent can use this inside
 * malloc and between vfork and exec, and a file that is cut short meanwhile does no harm.
 *
 * No number in a file is trusted. A read outside the file fails. Tables have at most
 * PD_ELF_SEGMENTS_MAX, UINT16_MAX and PD_ELF_ROWS_MAX entries. Only files of this machine's class
 * and byte order have tables here; of others the header is read. */
#ifndef PD_PROCESS_ELF_H
#define PD_PROCESS_ELF_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PD_ELF_SEGMENTS_MAX = 256, /* of a file with more, the first ones are read */
    PD_ELF_ROWS_MAX = 1 << 16
};

typedef struct pd_elf {
    int fd;             /* borrowed */
    uint64_t begin;     /* the offset in fd at which the ELF file begins */
    ElfW(Ehdr) header;  /* of another class or byte order: only e_ident and e_machine are valid */
    uint64_t window_at; /* where in fd the window begins */
    size_t window_len;
    unsigned char window
        [1024]; /* read with what was asked for, since most of what is asked for next is near */
} pd_elf;

/* The tables by which the loader finds a symbol: offsets of the ELF file. hash is 0 if there is none of GNU's kind,
 * and versions if there are none. */
typedef struct pd_elf_symbols {
    uint64_t symbols, names, hash, versions;
} pd_elf_symbols;

typedef struct pd_elf_dynamic {
    ElfW(Phdr) rows;
    pd_elf_symbols tables;
    uint64_t names_len; /* 0 if there is no string table */
} pd_elf_dynamic;

/* Reads the ELF header. Returns false if the file does not begin with a whole one. Never closes
 * fd. */
bool pd_elf_open(pd_elf *elf, int fd, uint64_t begin);

/* Reads up to len bytes at an offset of the ELF file. Returns how many there were. */
size_t pd_elf_read(pd_elf *elf, uint64_t off, void *out, size_t len);

/* These return false behind the last entry, and if the entry cannot be read. */
bool pd_elf_segment_at(pd_elf *elf, size_t i, ElfW(Phdr) * out);
bool pd_elf_section_at(pd_elf *elf, size_t i, ElfW(Shdr) * out);
bool pd_elf_row_at(pd_elf *elf, const pd_elf_dynamic *dynamic, size_t i, ElfW(Dyn) * out);

/* Finds the first segment of a type. */
bool pd_elf_find_segment(pd_elf *elf, uint32_t type, ElfW(Phdr) * out);

/* Finds the dynamic section and its strings. Of a file without them, *out has no rows. */
void pd_elf_find_dynamic(pd_elf *elf, pd_elf_dynamic *out);

/* Returns the member that a row of the dynamic section is for, or NULL. */
uint64_t *pd_elf_table(pd_elf_symbols *tables, const ElfW(Dyn) * row);

/* Finds what the tables define under a name, which is no older version of it. */
bool pd_elf_find_symbol(pd_elf *elf, const pd_elf_symbols *tables, const char *name,
                        ElfW(Sym) * out);

enum { PD_BUILD_ID_MAX = 64 }; /* bytes; longer ones are cut */

/* The build id: the bytes of a note by which the linker names this build. Writes it in hexadecimal to out. The file is read as the loader maps it: addresses
 * count from the first byte. Returns the length in out, or 0 if there is none. */
size_t pd_elf_build_id(pd_elf *elf, char out[2 * PD_BUILD_ID_MAX]);

/* The same for the file whose first byte is mapped at `address` of this process. The path of the
 * file is never used, since a deploy may have replaced or removed the file. Memory is read
 * through the kernel (pd_proc_open_mem), which cannot fault. */
size_t pd_build_id_at(int memory, uint64_t address, char out[2 * PD_BUILD_ID_MAX]);

#endif
