/* The ELF reader: files of both classes that are made by hand, whole, cut short and damaged, and the
 * file of this program compared with what the loader says about it. */
#include "process/elf.h"
#include "test.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    ORDER = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB,
    OTHER_ORDER = ORDER == ELFDATA2LSB ? ELFDATA2MSB : ELFDATA2LSB,
    MACHINE = 0x1234,
    IMAGE_CAP = 1024
};

static const char strings[] = "\0libone.so\0libtwo.so";

typedef struct image {
    unsigned char bytes[IMAGE_CAP];
    size_t len;
} image;

/* A file with a load segment, a dynamic segment of four rows, and two sections. */
#define MAKE_IMAGE(bits)                                                                           \
    static image make_##bits(void)                                                                 \
    {                                                                                              \
        struct {                                                                                   \
            Elf##bits##_Ehdr head;                                                                 \
            Elf##bits##_Phdr segments[2];                                                          \
            Elf##bits##_Shdr sections[2];                                                          \
            Elf##bits##_Dyn rows[5];                                                               \
            char strings[sizeof strings];                                                          \
        } f;                                                                                       \
        memset(&f, 0, sizeof f);                                                                   \
        size_t rows = (size_t)((char *)f.rows - (char *)&f);                                       \
        size_t texts = (size_t)((char *)f.strings - (char *)&f);                                   \
        memcpy(f.head.e_ident, ELFMAG, SELFMAG);                                                   \
        f.head.e_ident[EI_CLASS] = ELFCLASS##bits;                                                 \
        f.head.e_ident[EI_DATA] = ORDER;                                                           \
        f.head.e_machine = MACHINE;                                                                \
        f.head.e_phoff = sizeof f.head;                                                            \
        f.head.e_phnum = 2;                                                                        \
        f.head.e_phentsize = sizeof *f.segments;                                                   \
        f.head.e_shoff = sizeof f.head + sizeof f.segments;                                        \
        f.head.e_shnum = 2;                                                                        \
        f.head.e_shentsize = sizeof *f.sections;                                                   \
        f.segments[0].p_type = PT_LOAD;                                                            \
        f.segments[0].p_vaddr = 0x8000;                                                            \
        f.segments[0].p_filesz = sizeof f;                                                         \
        f.segments[1].p_type = PT_DYNAMIC;                                                         \
        f.segments[1].p_offset = (Elf##bits##_Off)rows;                                            \
        f.segments[1].p_vaddr = (Elf##bits##_Addr)(0x8000 + rows);                                 \
        f.segments[1].p_filesz = sizeof f.rows;                                                    \
        f.sections[1].sh_type = SHT_STRTAB;                                                        \
        f.sections[1].sh_link = 7;                                                                 \
        f.sections[1].sh_offset = (Elf##bits##_Off)texts;                                          \
        f.sections[1].sh_size = sizeof strings;                                                    \
        f.rows[0].d_tag = DT_NEEDED;                                                               \
        f.rows[0].d_un.d_val = 1;                                                                  \
        f.rows[1].d_tag = DT_STRTAB;                                                               \
        f.rows[1].d_un.d_ptr = (Elf##bits##_Addr)(0x8000 + texts);                                 \
        f.rows[2].d_tag = DT_STRSZ;                                                                \
        f.rows[2].d_un.d_val = sizeof strings;                                                     \
        f.rows[3].d_tag = DT_NEEDED;                                                               \
        f.rows[3].d_un.d_val = 11;                                                                 \
        memcpy(f.strings, strings, sizeof strings);                                                \
        image m = {.len = sizeof f};                                                               \
        memcpy(m.bytes, &f, sizeof f);                                                             \
        return m;                                                                                  \
    }

MAKE_IMAGE(32)
MAKE_IMAGE(64)

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

static void check_image(const image *m, unsigned char elf_class, uint64_t begin)
{
    pd_elf elf;
    pd_elf_segment segment;
    pd_elf_section section;
    pd_elf_dynamic dynamic;
    pd_elf_row row;
    char text[32];
    REQUIRE(open_image(&elf, m, begin));
    CHECK(elf.elf_class == elf_class && elf.byte_order == ORDER && elf.machine == MACHINE);
    CHECK(pd_elf_segment_at(&elf, 0, &segment) && segment.type == PT_LOAD && segment.off == 0 &&
          segment.address == 0x8000 && segment.len == m->len);
    CHECK(pd_elf_segment_at(&elf, 1, &segment) && !pd_elf_segment_at(&elf, 2, &segment));
    CHECK(!pd_elf_find_segment(&elf, PT_INTERP, &segment));
    CHECK(pd_elf_section_at(&elf, 1, &section) && section.type == SHT_STRTAB && section.link == 7 &&
          section.len == sizeof strings);
    CHECK(pd_elf_read(&elf, section.off, text, sizeof strings) == sizeof strings &&
          memcmp(text, strings, sizeof strings) == 0);
    CHECK(!pd_elf_section_at(&elf, 2, &section));
    pd_elf_find_dynamic(&elf, &dynamic);
    CHECK(dynamic.strings_len == sizeof strings && dynamic.strings_off == section.off);
    CHECK(pd_elf_row_at(&elf, &dynamic, 0, &row) && row.tag == DT_NEEDED && row.value == 1);
    CHECK(pd_elf_row_at(&elf, &dynamic, 3, &row) && row.tag == DT_NEEDED && row.value == 11);
    CHECK(!pd_elf_row_at(&elf, &dynamic, 4, &row) && !pd_elf_row_at(&elf, &dynamic, 5, &row));
    CHECK(pd_elf_read(&elf, m->len - 3, text, sizeof text) == 3);
    CHECK(pd_elf_read(&elf, m->len, text, sizeof text) == 0);
    CHECK(pd_elf_read(&elf, UINT64_MAX - 4, text, sizeof text) == 0);
    CHECK(pd_elf_read(&elf, INT64_MAX - 4, text, sizeof text) == 0);
}

TEST(files_of_both_classes)
{
    image small = make_32(), large = make_64();
    check_image(&small, ELFCLASS32, 0);
    check_image(&large, ELFCLASS64, 0);
    check_image(&small, ELFCLASS32, 4097);
    check_image(&large, ELFCLASS64, 4097);
}

TEST(another_byte_order_has_no_tables)
{
    pd_elf elf;
    pd_elf_segment segment;
    image m = make_64();
    m.bytes[EI_DATA] = OTHER_ORDER;
    REQUIRE(open_image(&elf, &m, 0));
    CHECK(elf.byte_order == OTHER_ORDER && !elf.segments.len && !elf.sections.len);
    CHECK(!pd_elf_segment_at(&elf, 0, &segment));
    m = make_64();
    m.bytes[EI_CLASS] = 9;
    REQUIRE(open_image(&elf, &m, 0));
    CHECK(elf.elf_class == 9 && !elf.segments.len && !elf.sections.len);
    m.bytes[0] = 'x';
    CHECK(!open_image(&elf, &m, 0));
}

/* Reads everything that there is to be read. Returns the number of entries. */
static size_t read_all(const pd_elf *elf)
{
    pd_elf_segment segment;
    pd_elf_section section;
    pd_elf_dynamic dynamic;
    pd_elf_row row;
    size_t count = 0;
    for (size_t i = 0; pd_elf_segment_at(elf, i, &segment); i++)
        count++;
    for (size_t i = 0; pd_elf_section_at(elf, i, &section); i++)
        count++;
    pd_elf_find_dynamic(elf, &dynamic);
    for (size_t i = 0; pd_elf_row_at(elf, &dynamic, i, &row); i++)
        count++;
    return count;
}

static void damage(image whole, size_t head_len)
{
    pd_elf elf;
    REQUIRE(open_image(&elf, &whole, 0));
    const size_t all = read_all(&elf);
    CHECK(all == 2 + 2 + 4);
    for (size_t len = 0; len < whole.len; len++) {
        image cut = whole;
        cut.len = len;
        bool is_open = open_image(&elf, &cut, 0);
        CHECK_MSG(is_open == (len >= head_len), "cut at %zu", len);
        CHECK(!is_open || read_all(&elf) <= all);
    }
    for (size_t at = 0; at < whole.len; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            image other = whole;
            other.bytes[at] ^= (unsigned char)(1u << bit);
            if (open_image(&elf, &other, 0))
                CHECK(read_all(&elf) <= IMAGE_CAP);
        }
}

TEST(damage_is_survived)
{
    damage(make_32(), sizeof(Elf32_Ehdr));
    damage(make_64(), sizeof(Elf64_Ehdr));
}

/* The table of segments and the dynamic section go on for longer than anybody needs. */
TEST(long_tables_are_cut)
{
    enum { ROWS = PD_ELF_ROWS_MAX + 10 };
    pd_elf elf;
    pd_elf_segment segment;
    pd_elf_row row;
    Elf64_Ehdr head;
    image m = make_64();
    memcpy(&head, m.bytes, sizeof head);
    head.e_phnum = PD_ELF_SEGMENTS_MAX + 1;
    head.e_phoff = 0;
    memcpy(m.bytes, &head, sizeof head);
    REQUIRE(open_image(&elf, &m, 0) && ftruncate(file, 1 << 20) == 0);
    CHECK(pd_elf_segment_at(&elf, PD_ELF_SEGMENTS_MAX - 1, &segment));
    CHECK(!pd_elf_segment_at(&elf, PD_ELF_SEGMENTS_MAX, &segment));
    Elf64_Dyn *rows = calloc(ROWS, sizeof *rows);
    REQUIRE(rows);
    for (size_t i = 0; i < ROWS; i++)
        rows[i].d_tag = DT_NEEDED;
    CHECK(pwrite(file, rows, ROWS * sizeof *rows, IMAGE_CAP) == ROWS * (ssize_t)sizeof *rows);
    free(rows);
    const pd_elf_dynamic dynamic = {.rows = {PT_DYNAMIC, IMAGE_CAP, 0, ROWS * sizeof *rows}};
    CHECK(pd_elf_row_at(&elf, &dynamic, PD_ELF_ROWS_MAX - 1, &row));
    CHECK(!pd_elf_row_at(&elf, &dynamic, PD_ELF_ROWS_MAX, &row));
}

static int compare_segments(struct dl_phdr_info *info, size_t size, void *cookie)
{
    const pd_elf *elf = cookie;
    pd_elf_segment segment;
    (void)size;
    CHECK(info->dlpi_phnum == elf->segments.len);
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        CHECK(pd_elf_segment_at(elf, i, &segment) && segment.type == p->p_type &&
              segment.off == p->p_offset && segment.address == p->p_vaddr &&
              segment.len == p->p_filesz);
    }
    return 1; /* the first object is the program */
}

TEST(this_program_is_as_the_loader_says)
{
    pd_elf elf;
    pd_elf_dynamic dynamic;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0 && pd_elf_open(&elf, fd, 0));
    dl_iterate_phdr(compare_segments, &elf);
    pd_elf_find_dynamic(&elf, &dynamic);
    CHECK(dynamic.strings_len > 0);
    close(fd);
}

TEST_MAIN(CASE(files_of_both_classes), CASE(another_byte_order_has_no_tables),
          CASE(damage_is_survived), CASE(long_tables_are_cut),
          CASE(this_program_is_as_the_loader_says))
