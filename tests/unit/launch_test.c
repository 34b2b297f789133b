/* Which programs the agent can be loaded into: files that are made by hand and differ from a good
 * one in one place, and every prefix of a good one. tests/preload/starting.py has the search by PATH and the loader as a
 * program, and tests/preload/outputs_of.py the signals that can ask. */
#include "../support/test.h"

#include "agent/base/launch.h"
#include "rows.h"

#include <elf.h>
#include <errno.h>
#include <ftw.h>
#include <link.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/pprofdelta-launch-XXXXXX";

__attribute__((constructor)) static void make_folder(void)
{
    if (!mkdtemp(folder))
        abort();
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status, (void)kind, (void)where;
    return remove(path);
}

__attribute__((destructor)) static void remove_folder(void)
{
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

enum {
    CLASS = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32,
    OTHER_CLASS = CLASS == ELFCLASS64 ? ELFCLASS32 : ELFCLASS64,
    ORDER = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB,
    OTHER_ORDER = ORDER == ELFDATA2LSB ? ELFDATA2MSB : ELFDATA2LSB
};

extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden"))); /* of this test */

/* A dynamically linked program, as little of it as is looked at. */
typedef struct program {
    ElfW(Ehdr) header;
    ElfW(Phdr) segments[3]; /* of type interpreter, dynamic and load */
    ElfW(Dyn) rows[6];
    char loader[32], names[96];
    ElfW(Sym) symbols[2];
    uint32_t hash[4];
    ElfW(Addr) filter;
    uint32_t bucket, chain;
} program;

#define PLACE(member) offsetof(program, member)

static program make(const char *loader, const char *library)
{
    const uint64_t base = 0x400000;
    program p = {.header = {.e_machine = __ehdr_start.e_machine,
                            .e_phoff = PLACE(segments),
                            .e_phentsize = sizeof(ElfW(Phdr)),
                            .e_phnum = 3}};
    memcpy(p.header.e_ident, ELFMAG, SELFMAG);
    p.header.e_ident[EI_CLASS] = CLASS;
    p.header.e_ident[EI_DATA] = ORDER;
    p.segments[0] = (ElfW(Phdr)){
        .p_type = PT_INTERP, .p_offset = PLACE(loader), .p_filesz = strlen(loader) + 1};
    p.segments[1] =
        (ElfW(Phdr)){.p_type = PT_DYNAMIC, .p_offset = PLACE(rows), .p_filesz = sizeof p.rows};
    p.segments[2] = (ElfW(Phdr)){.p_type = PT_LOAD, .p_vaddr = base, .p_filesz = sizeof p};
    p.rows[0] = (ElfW(Dyn)){.d_tag = DT_STRTAB, .d_un.d_ptr = base + PLACE(names)};
    p.rows[1] = (ElfW(Dyn)){.d_tag = DT_STRSZ, .d_un.d_val = sizeof p.names};
    p.rows[2] = (ElfW(Dyn)){.d_tag = DT_NEEDED, .d_un.d_val = 1};
    snprintf(p.loader, sizeof p.loader, "%s", loader);
    snprintf(p.names + 1, sizeof p.names - 1, "%s", library);
    return p;
}

static const char *path_of(const char *name)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static const char *write_file(const char *name, const void *bytes, size_t len, mode_t mode)
{
    const char *path = path_of(name);
    unlink(path);
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(bytes, 1, len, file) == len && fclose(file) == 0);
    CHECK(chmod(path, mode) == 0);
    return path;
}

static const char ok[] = "";

/* Returns the obstacle. */
static const char *check(const char *path)
{
    pd_launch_result found;
    errno = 42;
    pd_launch_check(path, &found);
    CHECK(errno == 42);
    return found.obstacle ? found.obstacle : ok;
}

static const char *check_program(const program *p)
{
    return check(write_file("program", p, sizeof *p, 0755));
}

static bool is(const char *obstacle, const char *end)
{
    size_t len = strlen(obstacle), end_len = strlen(end);
    return len >= end_len && strcmp(obstacle + len - end_len, end) == 0 && !len == !end_len;
}

#define LOADER "/lib64/ld-linux-x86-64.so.2"

TEST(what_stands_in_the_way)
{
    static const char other_machine[] = "another machine than the agent",
                      other_library[] = "another C library than the agent";
    static const struct {
        const char *loader, *library;
        size_t at; /* of a byte that is another */
        unsigned char byte;
        const char *obstacle;
    } rows[] = {
        {LOADER, "libc.so.6", 0, ELFMAG0, ok},
        {LOADER, "libc.so.6", EI_CLASS, OTHER_CLASS, other_machine},
        {LOADER, "libc.so.6", EI_DATA, OTHER_ORDER, other_machine},
        {LOADER, "libc.so.6", PLACE(header.e_machine), 0xee, other_machine},
        {LOADER, "libc.so.6", PLACE(segments[0].p_type), PT_NOTE, "statically"},
        {"/system/bin/linker64", "libc.so", 0, ELFMAG0, other_library},
        {LOADER, "libasan.so.8", 0, ELFMAG0, "sanitizer"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        program p = make(rows[i].loader, rows[i].library);
        ((unsigned char *)&p)[rows[i].at] = rows[i].byte;
        CHECK_MSG(is(check_program(&p), rows[i].obstacle), "row %zu", i);
    }
    program p = make(LOADER, "libc.so.6");
    CHECK(is(check(write_file("setuid", &p, sizeof p, 04755)), "setuid"));
    CHECK(is(check(write_file("setgid", &p, sizeof p, 02755)), "setgid"));
    memcpy(p.names + 20, "__asan_init", sizeof "__asan_init");
    CHECK(is(check_program(&p), "sanitizer"));
    p.header.e_phnum = 0;
    CHECK(is(check_program(&p), "statically"));
}

/* Where there is a table for it, only what the program defines counts. */
TEST(a_runtime_that_is_linked_in)
{
    static const char name[] = "__tsan_init";
    program p = make(LOADER, "libc.so.6");
    memcpy(p.names + 20, name, sizeof name);
    p.rows[3] =
        (ElfW(Dyn)){.d_tag = DT_SYMTAB, .d_un.d_ptr = p.segments[2].p_vaddr + PLACE(symbols)};
    p.rows[4] =
        (ElfW(Dyn)){.d_tag = DT_GNU_HASH, .d_un.d_ptr = p.segments[2].p_vaddr + PLACE(hash)};
    p.symbols[1] = (ElfW(Sym)){.st_name = 20, .st_shndx = 1};
    p.hash[0] = p.hash[1] = p.hash[2] = p.bucket = 1;
    p.chain = 0x50dc3ad;
    CHECK(is(check_program(&p), "sanitizer"));
    p.symbols[1].st_shndx = SHN_UNDEF;
    CHECK(is(check_program(&p), ok));
}

/* A name of a runtime is found wherever it lies in a string table of more than one part. */
TEST(a_runtime_among_many_names)
{
    enum { TABLE_LEN = 9000 };
    static const char name[] = "__tsan_init";
    program p = make(LOADER, "libc.so.6");
    p.rows[0].d_un.d_ptr = p.segments[2].p_vaddr + sizeof p;
    p.rows[1].d_un.d_val = TABLE_LEN;
    p.segments[2].p_filesz = sizeof p + TABLE_LEN;
    char *file = calloc(1, sizeof p + TABLE_LEN);
    CHECK(file != NULL);
    for (size_t at = 0; file && at + sizeof name <= TABLE_LEN; at += 13) {
        memset(file, 0, sizeof p + TABLE_LEN);
        memcpy(file, &p, sizeof p);
        CHECK(at || is(check(write_file("program", file, sizeof p + TABLE_LEN, 0755)), ok));
        memcpy(file + sizeof p + at, name, sizeof name);
        CHECK(is(check(write_file("program", file, sizeof p + TABLE_LEN, 0755)), "sanitizer"));
    }
    free(file);
}

TEST(scripts_lead_on)
{
    static const char other_libc[] = "another C library than the agent";
    char line[PATH_MAX + 8];
    program p = make("/system/bin/linker64", "libc.so");
    check_program(&p);
    int len = snprintf(line, sizeof line, "#! \t%s -e\n", path_of("program"));
    CHECK(is(check(write_file("script", line, (size_t)len, 04755)), other_libc));
    len = snprintf(line, sizeof line, "#!%s\n", path_of("script"));
    CHECK(is(check(write_file("nested", line, (size_t)len, 0755)), other_libc));
    len = snprintf(line, sizeof line, "#!%s\n", path_of("endless"));
    CHECK(is(check(write_file("endless", line, (size_t)len, 0755)), ok));
    CHECK(is(check(write_file("empty", "#! \n", 4, 0755)), ok));
    CHECK(is(check(write_file("endless", "#!/missing\n", 11, 0755)), "cannot be opened"));
    CHECK(is(check(folder), "cannot be opened"));
}

/* ---- language runtimes ----------------------------------------------------------------------- */

static const char *advice_on(const program *p, size_t len)
{
    const char *path = write_file("program", p, len, 0755);
    errno = 42;
    const char *advice = pd_launch_advice(path);
    CHECK(errno == 42);
    return advice;
}

static bool begins(const char *advice, const char *with)
{
    return *with ? strncmp(advice, with, strlen(with)) == 0 : !*advice;
}

/* A program with the note of Go's linker, behind another note. */
static program make_go(void)
{
    const ElfW(Nhdr) other = {4, 0, 1}, build_id = {4, 0, 4};
    program p = make("", "libc.so.6");
    p.segments[0].p_type = PT_NOTE;
    p.segments[0].p_filesz = sizeof p.loader;
    memcpy(p.loader, &other, sizeof other);
    memcpy(p.loader + sizeof other, "GNU", 4);
    memcpy(p.loader + sizeof other + 4, &build_id, sizeof build_id);
    memcpy(p.loader + 2 * sizeof other + 4, "Go\0", 4);
    return p;
}

TEST(which_runtime_a_program_is)
{
    for (table_rows r = {0}; rows_next(&r, "launch", "runtimes");) {
        program p = make(LOADER, r.cells[0]);
        snprintf(p.names + 40, sizeof p.names - 40, "%s", r.cells[1]);
        CHECK_MSG(begins(advice_on(&p, sizeof p), r.cells[2]), "%s, %s", r.cells[0], r.cells[1]);
    }
    program go = make_go();
    CHECK(begins(advice_on(&go, sizeof go), "Go:"));
    go.loader[2 * sizeof(ElfW(Nhdr)) + 4] = 'X';
    CHECK(!*advice_on(&go, sizeof go));
    CHECK(!*pd_launch_advice(folder) && !*pd_launch_advice(""));
}

TEST(which_allocator_a_program_has)
{
    struct {
        program p;
        ElfW(Shdr) sections[2]; /* symbols, and their names */
        char names[32];
    } file = {.p = make(LOADER, "libc.so.6")};
    file.p.header.e_shoff = sizeof file.p;
    file.p.header.e_shentsize = sizeof *file.sections;
    file.p.header.e_shnum = 2;
    file.sections[0] = (ElfW(Shdr)){.sh_type = SHT_SYMTAB, .sh_link = 1};
    file.sections[1] = (ElfW(Shdr)){.sh_type = SHT_STRTAB,
                                    .sh_offset = sizeof file.p + sizeof file.sections,
                                    .sh_size = sizeof file.names};
    for (table_rows r = {0}; rows_next(&r, "launch", "allocators");) {
        snprintf(file.names + 1, sizeof file.names - 1, "%s", r.cells[0]);
        for (size_t len = sizeof file; len >= sizeof file.p; len -= 8) {
            const char *found = pd_launch_advice(write_file("program", &file, len, 0755));
            bool may_be_none = len < sizeof file;
            CHECK_MSG((may_be_none && !*found) || begins(found, r.cells[1]), "%s, %zu bytes: %s",
                      r.cells[0], len, found);
        }
    }
}

/* Whatever the header and the tables say, nothing is read that is not there. */
static void check_damaged(const program good, const char *advice)
{
    for (size_t len = 0; len < sizeof good; len++) {
        const char *found = check(write_file("program", &good, len, 0755));
        if (len < SELFMAG) /* the shell would run it */
            CHECK(found == check("/bin/sh"));
        else if (len < sizeof good.header)
            CHECK(is(found, "cut off"));
        else
            CHECK(is(found, "statically") || is(found, ok));
        const char *got = pd_launch_advice(path_of("program"));
        CHECK(!*got || begins(got, advice));
    }
    for (size_t at = SELFMAG; at < sizeof good; at++) {
        program p = good;
        ((unsigned char *)&p)[at] ^= 0xff;
        const char *found = check_program(&p);
        CHECK(!is(found, "cannot be opened") && !is(found, "cut off"));
        pd_launch_advice(path_of("program"));
    }
}

TEST(programs_that_are_cut_off_or_damaged)
{
    check_damaged(make(LOADER, "libc.so.6"), "");
    check_damaged(make_go(), "Go:");
}

TEST(names_for_files)
{
    char out[PD_PROGRAM_MAX + 1], name[PD_PROGRAM_MAX * 2];
    for (table_rows r = {0}; rows_next(&r, "launch", "names");) {
        r.cells[0][rows_bytes(r.cells[0])] = 0;
        pd_program_copy(out, r.cells[0]);
        CHECK_STR(out, r.cells[1]);
    }
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    pd_program_copy(out, name);
    CHECK(strlen(out) == PD_PROGRAM_MAX);
}

TEST_MAIN()
