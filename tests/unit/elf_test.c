/* The ELF reader and the build id: files that are made by hand, whole, cut short and damaged, and the
 * file of this program compared with what the loader says about it. */
#include "process/elf.h"
#include "process/proc.h"
#include "test.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    CLASS = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32,
    OTHER_CLASS = CLASS == ELFCLASS64 ? ELFCLASS32 : ELFCLASS64,
    ORDER = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB,
    OTHER_ORDER = ORDER == ELFDATA2LSB ? ELFDATA2MSB : ELFDATA2LSB,
    MACHINE = 0x1234,
    BASE = 0x8000,
    IMAGE_CAP = 1024
};

static const char strings[] = "\0libone.so\0libtwo.so";

/* GNU's hash table of a bucket with three symbols. */
static const uint32_t hash_of_one = 0x805323ae, hash_of_two = 0x8ca54726;

typedef struct hashes {
    uint32_t head[4];
    ElfW(Addr) filter;
    uint32_t bucket, chain[3];
} hashes;

typedef struct image {
    unsigned char bytes[IMAGE_CAP];
    size_t len;
} image;

typedef struct note {
    ElfW(Nhdr) head;
    char owner[4];
    unsigned char desc[8];
} note;

typedef struct parts {
    ElfW(Ehdr) head;
    ElfW(Phdr) segments[3];
    ElfW(Shdr) sections[2];
    ElfW(Dyn) rows[8];
    char strings[sizeof strings];
    ElfW(Sym) symbols[4];
    hashes hashes;
    uint16_t versions[4];
    note notes[2];
} parts;

/* Makes a file with a load segment, a dynamic segment of four rows, a segment of two notes, of which
 * the second is a build id, and two sections. */
static image make_image(void)
{
    const size_t rows = offsetof(parts, rows), texts = offsetof(parts, strings),
                 notes = offsetof(parts, notes);
    parts f = {
        .head = {.e_machine = MACHINE,
                 .e_phoff = offsetof(parts, segments),
                 .e_phnum = 3,
                 .e_phentsize = sizeof(ElfW(Phdr)),
                 .e_shoff = offsetof(parts, sections),
                 .e_shnum = 2,
                 .e_shentsize = sizeof(ElfW(Shdr))},
        .segments = {{.p_type = PT_LOAD, .p_vaddr = BASE, .p_filesz = sizeof f},
                     {.p_type = PT_DYNAMIC,
                      .p_offset = rows,
                      .p_vaddr = BASE + rows,
                      .p_filesz = sizeof f.rows},
                     {.p_type = PT_NOTE,
                      .p_offset = notes,
                      .p_vaddr = BASE + notes,
                      .p_filesz = sizeof f.notes}},
        .sections =
            {{.sh_type = SHT_NULL},
             {.sh_type = SHT_STRTAB, .sh_link = 7, .sh_offset = texts, .sh_size = sizeof strings}},
        .rows = {{.d_tag = DT_NEEDED, .d_un.d_val = 1},
                 {.d_tag = DT_STRTAB, .d_un.d_ptr = BASE + texts},
                 {.d_tag = DT_STRSZ, .d_un.d_val = sizeof strings},
                 {.d_tag = DT_NEEDED, .d_un.d_val = 11},
                 {.d_tag = DT_SYMTAB, .d_un.d_ptr = BASE + offsetof(parts, symbols)},
                 {.d_tag = DT_GNU_HASH, .d_un.d_ptr = BASE + offsetof(parts, hashes)},
                 {.d_tag = DT_VERSYM, .d_un.d_ptr = BASE + offsetof(parts, versions)}},
        .symbols = {{0},
                    {.st_name = 1, .st_shndx = 1, .st_value = 100},
                    {.st_name = 1, .st_shndx = 1, .st_value = 200},
                    {.st_name = 11, .st_shndx = SHN_UNDEF, .st_value = 300}},
        .hashes = {.head = {1, 1, 1, 0},
                   .bucket = 1,
                   .chain = {hash_of_one & ~1u, hash_of_one & ~1u, hash_of_two | 1}},
        .versions = {0, 0x8002, 3, 2}, /* the first is an older one */
        .notes = {{{4, 8, NT_GNU_ABI_TAG}, "GNU", {9}},
                  {{4, 6, NT_GNU_BUILD_ID}, "GNU", {0xde, 0xad, 0xbe, 0xef, 0x00, 0x17}}},
    };
    memcpy(f.head.e_ident, ELFMAG, SELFMAG);
    f.head.e_ident[EI_CLASS] = CLASS;
    f.head.e_ident[EI_DATA] = ORDER;
    memcpy(f.strings, strings, sizeof strings);
    image m = {.len = sizeof f};
    memcpy(m.bytes, &f, sizeof f);
    return m;
}

static int file = -1;

/* Writes the image to a file, behind so many bytes of something else, and opens it. */
static bool open_image(pd_elf *elf, const image *m, uint64_t begin)
{
    if (file < 0)
        file = memfd_create("image", 0);
    CHECK(ftruncate(file, 0) == 0 &&
          pwrite(file, m->bytes, m->len, (off_t)begin) == (ssize_t)m->len);
    return pd_elf_open(elf, file, begin);
}

static void check_image(const image *m, uint64_t begin)
{
    pd_elf elf;
    ElfW(Phdr) segment;
    ElfW(Shdr) section;
    pd_elf_dynamic dynamic;
    ElfW(Dyn) row;
    ElfW(Sym) symbol;
    char text[32], id[2 * PD_BUILD_ID_MAX];
    REQUIRE(open_image(&elf, m, begin));
    CHECK(elf.header.e_machine == MACHINE);
    CHECK(pd_elf_segment_at(&elf, 0, &segment) && segment.p_type == PT_LOAD &&
          segment.p_vaddr == BASE && segment.p_filesz == m->len);
    CHECK(pd_elf_segment_at(&elf, 2, &segment) && !pd_elf_segment_at(&elf, 3, &segment));
    CHECK(!pd_elf_find_segment(&elf, PT_INTERP, &segment));
    CHECK(pd_elf_section_at(&elf, 1, &section) && section.sh_type == SHT_STRTAB &&
          section.sh_link == 7 && section.sh_size == sizeof strings);
    CHECK(pd_elf_read(&elf, section.sh_offset, text, sizeof strings) == sizeof strings &&
          memcmp(text, strings, sizeof strings) == 0);
    CHECK(!pd_elf_section_at(&elf, 2, &section));
    pd_elf_find_dynamic(&elf, &dynamic);
    CHECK(dynamic.names_len == sizeof strings && dynamic.tables.names == offsetof(parts, strings));
    CHECK(pd_elf_row_at(&elf, &dynamic, 0, &row) && row.d_tag == DT_NEEDED && row.d_un.d_val == 1);
    CHECK(pd_elf_row_at(&elf, &dynamic, 3, &row) && row.d_tag == DT_NEEDED && row.d_un.d_val == 11);
    CHECK(!pd_elf_row_at(&elf, &dynamic, 7, &row) && !pd_elf_row_at(&elf, &dynamic, 8, &row));
    CHECK(pd_elf_find_symbol(&elf, &dynamic.tables, "libone.so", &symbol) &&
          symbol.st_value == 200);
    CHECK(!pd_elf_find_symbol(&elf, &dynamic.tables, "libtwo.so", &symbol));
    CHECK(!pd_elf_find_symbol(&elf, &dynamic.tables, "other", &symbol));
    CHECK(pd_elf_build_id(&elf, id) == 12 && memcmp(id, "deadbeef0017", 12) == 0);
    CHECK(pd_elf_read(&elf, m->len - 3, text, sizeof text) == 3);
    CHECK(pd_elf_read(&elf, m->len, text, sizeof text) == 0);
    CHECK(pd_elf_read(&elf, UINT64_MAX - 4, text, sizeof text) == 0);
    CHECK(pd_elf_read(&elf, INT64_MAX - 4, text, sizeof text) == 0);
}

TEST(a_file_is_read_wherever_it_begins)
{
    const image m = make_image();
    check_image(&m, 0);
    check_image(&m, 4097);
}

TEST(another_class_or_byte_order_has_no_tables)
{
    const struct {
        unsigned at;
        unsigned char value;
    } others[] = {{EI_DATA, OTHER_ORDER}, {EI_CLASS, OTHER_CLASS}, {EI_CLASS, 9}};
    pd_elf elf;
    ElfW(Phdr) segment;
    ElfW(Shdr) section;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        image m = make_image();
        m.bytes[others[i].at] = others[i].value;
        REQUIRE(open_image(&elf, &m, 0));
        CHECK(elf.header.e_ident[others[i].at] == others[i].value);
        CHECK(!pd_elf_segment_at(&elf, 0, &segment) && !pd_elf_section_at(&elf, 0, &section));
    }
    image m = make_image();
    m.bytes[0] = 'x';
    CHECK(!open_image(&elf, &m, 0));
}

/* Reads everything that there is to be read. Returns the number of entries. *id_len is the length of
 * the build id. */
static size_t read_all(pd_elf *elf, size_t *id_len)
{
    char id[2 * PD_BUILD_ID_MAX];
    ElfW(Phdr) segment;
    ElfW(Shdr) section;
    pd_elf_dynamic dynamic;
    ElfW(Dyn) row;
    ElfW(Sym) symbol;
    size_t count = 0;
    for (size_t i = 0; pd_elf_segment_at(elf, i, &segment); i++)
        count++;
    for (size_t i = 0; pd_elf_section_at(elf, i, &section); i++)
        count++;
    pd_elf_find_dynamic(elf, &dynamic);
    for (size_t i = 0; pd_elf_row_at(elf, &dynamic, i, &row); i++)
        count++;
    count += pd_elf_find_symbol(elf, &dynamic.tables, "libone.so", &symbol);
    *id_len = pd_elf_build_id(elf, id);
    CHECK(*id_len <= sizeof id);
    return count;
}

TEST(damage_is_survived)
{
    pd_elf elf;
    const image whole = make_image();
    REQUIRE(open_image(&elf, &whole, 0));
    size_t id_len;
    const size_t all = read_all(&elf, &id_len);
    CHECK(all == 3 + 2 + 7 + 1 && id_len == 12);
    for (size_t len = 0; len < whole.len; len++) {
        image cut = whole;
        cut.len = len;
        bool is_open = open_image(&elf, &cut, 0);
        CHECK_MSG(is_open == (len >= sizeof(ElfW(Ehdr))), "cut at %zu", len);
        CHECK(!is_open || read_all(&elf, &id_len) <= all);
        CHECK_MSG(!is_open || id_len == 0 || id_len == 12, "cut at %zu: %zu", len, id_len);
    }
    for (size_t at = 0; at < whole.len; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            image other = whole;
            other.bytes[at] ^= (unsigned char)(1u << bit);
            if (open_image(&elf, &other, 0))
                CHECK(read_all(&elf, &id_len) <= IMAGE_CAP);
        }
}

/* A table of segments and a dynamic section that are longer than the limits. */
TEST(long_tables_are_cut)
{
    enum { ROWS = PD_ELF_ROWS_MAX + 10 };
    pd_elf elf;
    ElfW(Phdr) segment;
    ElfW(Dyn) row;
    ElfW(Ehdr) head;
    image m = make_image();
    memcpy(&head, m.bytes, sizeof head);
    head.e_phnum = PD_ELF_SEGMENTS_MAX + 1;
    head.e_phoff = 0;
    memcpy(m.bytes, &head, sizeof head);
    REQUIRE(open_image(&elf, &m, 0) && ftruncate(file, 1 << 20) == 0);
    CHECK(pd_elf_segment_at(&elf, PD_ELF_SEGMENTS_MAX - 1, &segment));
    CHECK(!pd_elf_segment_at(&elf, PD_ELF_SEGMENTS_MAX, &segment));
    ElfW(Dyn) *rows = calloc(ROWS, sizeof *rows);
    REQUIRE(rows);
    for (size_t i = 0; i < ROWS; i++)
        rows[i].d_tag = DT_NEEDED;
    CHECK(pwrite(file, rows, ROWS * sizeof *rows, IMAGE_CAP) == ROWS * (ssize_t)sizeof *rows);
    free(rows);
    const pd_elf_dynamic dynamic = {
        .rows = {.p_type = PT_DYNAMIC, .p_offset = IMAGE_CAP, .p_filesz = ROWS * sizeof *rows}};
    CHECK(pd_elf_row_at(&elf, &dynamic, PD_ELF_ROWS_MAX - 1, &row));
    CHECK(!pd_elf_row_at(&elf, &dynamic, PD_ELF_ROWS_MAX, &row));
}

static int compare_segments(struct dl_phdr_info *info, size_t size, void *cookie)
{
    pd_elf *elf = cookie;
    ElfW(Phdr) segment;
    (void)size;
    CHECK(info->dlpi_phnum == elf->header.e_phnum);
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        CHECK(pd_elf_segment_at(elf, i, &segment) && memcmp(&segment, p, sizeof segment) == 0);
    }
    return 1; /* the first object is the program */
}

TEST(this_program_is_as_the_loader_and_the_kernel_say)
{
    char in_memory[2 * PD_BUILD_ID_MAX], in_file[2 * PD_BUILD_ID_MAX];
    pd_elf elf;
    pd_elf_dynamic dynamic;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0 && pd_elf_open(&elf, fd, 0));
    dl_iterate_phdr(compare_segments, &elf);
    pd_elf_find_dynamic(&elf, &dynamic);
    CHECK(dynamic.names_len > 0);
    /* The kernel gives the address of the program headers, which stand behind the first header. */
    uint64_t first = (uint64_t)getauxval(AT_PHDR) - sizeof(ElfW(Ehdr));
    int memory = pd_proc_open_mem();
    size_t len = pd_build_id_at(memory, first, in_memory);
    CHECK(len > 0 && len == pd_elf_build_id(&elf, in_file) && !memcmp(in_memory, in_file, len));
    close(fd);
    CHECK(pd_build_id_at(memory, 1, in_memory) == 0);
    close(memory);
}

/* Files hold the tables at other places than memory does. */
TEST(symbols_are_those_that_the_loader_finds)
{
    static const char *const names[] = {"malloc", "fork", "pthread_create", "environ", "no_such"};
    Dl_info libc;
    pd_elf elf;
    pd_elf_dynamic dynamic;
    ElfW(Sym) symbol;
    REQUIRE(dladdr(dlsym(RTLD_DEFAULT, "fork"), &libc));
    int fd = open(libc.dli_fname, O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0 && pd_elf_open(&elf, fd, 0));
    void *handle = dlopen(libc.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    pd_elf_find_dynamic(&elf, &dynamic);
    for (size_t i = 0; dynamic.tables.hash && i < sizeof names / sizeof *names; i++) {
        char *loaded = dlsym(handle, names[i]);
        bool is_found = pd_elf_find_symbol(&elf, &dynamic.tables, names[i], &symbol);
        CHECK_MSG(is_found == (loaded != NULL), "%s", names[i]);
        CHECK(!is_found || loaded == (char *)libc.dli_fbase + symbol.st_value);
    }
    dlclose(handle);
    close(fd);
}

TEST_MAIN()
