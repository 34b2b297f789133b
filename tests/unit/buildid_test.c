/* Build ids: of ELF files that are made by hand, whole and damaged, and of this process. */
#include "process/elf.h"
#include "test.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CLASS = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32 };

typedef struct image {
    unsigned char bytes[512];
    size_t len;
} image;

/* Makes a file of a load segment and a segment of two notes, of which the second is a build id. */
static image make_image(void)
{
    image m = {.len = 0};
    ElfW(Ehdr) head = {.e_phoff = sizeof head, .e_phentsize = sizeof(ElfW(Phdr)), .e_phnum = 2};
    memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = CLASS;
    const uint16_t one = 1;
    head.e_ident[EI_DATA] = *(const unsigned char *)&one ? ELFDATA2LSB : ELFDATA2MSB;
    struct {
        ElfW(Nhdr) head;
        char owner[4];
        unsigned char desc[8];
    } notes[2] = {{{4, 8, NT_GNU_ABI_TAG}, "GNU", {9}},
                  {{4, 6, NT_GNU_BUILD_ID}, "GNU", {0xde, 0xad, 0xbe, 0xef, 0x00, 0x17}}};
    size_t at = sizeof head + 2 * sizeof(ElfW(Phdr));
    ElfW(Phdr) segments[2] = {
        {.p_type = PT_LOAD, .p_vaddr = 0x1000, .p_filesz = 400},
        {.p_type = PT_NOTE, .p_offset = at, .p_vaddr = 0x1000 + at, .p_filesz = sizeof notes}};
    memcpy(m.bytes, &head, sizeof head);
    memcpy(m.bytes + sizeof head, segments, sizeof segments);
    memcpy(m.bytes + at, notes, sizeof notes);
    m.len = at + sizeof notes;
    return m;
}

static size_t build_id_of(int fd, const image *m, char out[2 * PD_BUILD_ID_MAX])
{
    pd_elf elf;
    CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, m->bytes, m->len, 0) == (ssize_t)m->len);
    return pd_elf_open(&elf, fd, 0) ? pd_elf_build_id(&elf, out) : 0;
}

TEST(a_build_id_is_found_and_damage_is_survived)
{
    char id[2 * PD_BUILD_ID_MAX];
    const image whole = make_image();
    int fd = memfd_create("image", 0);
    REQUIRE(fd >= 0);
    REQUIRE(build_id_of(fd, &whole, id) == 12 && memcmp(id, "deadbeef0017", 12) == 0);
    for (size_t len = 0; len < whole.len; len++) {
        image cut = whole;
        cut.len = len;
        size_t got = build_id_of(fd, &cut, id);
        CHECK_MSG(got == 0 || got == 12, "cut at %zu: %zu", len, got);
    }
    for (size_t at = 0; at < whole.len; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            image other = whole;
            other.bytes[at] ^= (unsigned char)(1u << bit);
            CHECK(build_id_of(fd, &other, id) <= sizeof id);
        }
    close(fd);
}

/* The address of the program's first byte comes from the kernel, through the program headers. */
TEST(this_program_has_the_same_build_id_in_memory_and_in_its_file)
{
    char in_memory[2 * PD_BUILD_ID_MAX], in_file[2 * PD_BUILD_ID_MAX];
    pd_elf elf;
    uint64_t first = (uint64_t)getauxval(AT_PHDR) - sizeof(ElfW(Ehdr));
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0 && pd_elf_open(&elf, fd, 0));
    size_t len = pd_build_id_at(first, in_memory);
    CHECK(len > 0 && len == pd_elf_build_id(&elf, in_file) && !memcmp(in_memory, in_file, len));
    close(fd);
    CHECK(pd_build_id_at(1, in_memory) == 0);
}

TEST_MAIN(CASE(a_build_id_is_found_and_damage_is_survived),
          CASE(this_program_has_the_same_build_id_in_memory_and_in_its_file))
