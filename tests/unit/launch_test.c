/* Which programs the agent can be loaded into: files that are made by hand and differ from a good
 * one in one place, and every prefix of a good one. */
#include "../support/test.h"

#include "agent/base/launch.h"

#include <elf.h>
#include <errno.h>
#include <ftw.h>
#include <link.h>
#include <signal.h>
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

static const pd_launch_agent for_glibc = {
    .elf_class = CLASS, .byte_order = ORDER, .machine = EM_X86_64, .is_for_glibc = true};

/* A dynamically linked program, as little of it as is looked at. */
typedef struct program {
    ElfW(Ehdr) header;
    ElfW(Phdr) segments[3]; /* of type interpreter, dynamic and load */
    ElfW(Dyn) rows[5];
    char loader[32], names[96];
} program;

#define PLACE(member) offsetof(program, member)

static program make(const char *loader, const char *library)
{
    const uint64_t base = 0x400000;
    program p = {.header = {.e_machine = EM_X86_64,
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

static pd_launch_obstacle look(const char *path)
{
    pd_launch_result found;
    errno = 42;
    pd_launch_check(path, &for_glibc, &found);
    CHECK(errno == 42);
    return found.obstacle;
}

static pd_launch_obstacle look_at(const program *p)
{
    return look(write_file("program", p, sizeof *p, 0755));
}

#define LOADER "/lib64/ld-linux-x86-64.so.2"

TEST(what_stands_in_the_way)
{
    program p = make(LOADER, "libc.so.6");
    CHECK(look_at(&p) == PD_LAUNCH_OK);
    p.header.e_ident[EI_CLASS] = OTHER_CLASS;
    CHECK(look_at(&p) == PD_LAUNCH_OTHER_MACHINE);
    p = make(LOADER, "libc.so.6");
    p.header.e_ident[EI_DATA] = OTHER_ORDER;
    CHECK(look_at(&p) == PD_LAUNCH_OTHER_MACHINE);
    p = make(LOADER, "libc.so.6");
    p.header.e_machine = EM_AARCH64;
    CHECK(look_at(&p) == PD_LAUNCH_OTHER_MACHINE);
    p = make(LOADER, "libc.so.6");
    p.segments[0].p_type = PT_NOTE;
    CHECK(look_at(&p) == PD_LAUNCH_STATIC);
    p.header.e_phnum = 0;
    CHECK(look_at(&p) == PD_LAUNCH_STATIC);
    p = make("/lib/ld-musl-x86_64.so.1", "libc.so");
    CHECK(look_at(&p) == PD_LAUNCH_OTHER_LIBC);
    p = make("/system/bin/linker64", "libc.so");
    CHECK(look_at(&p) == PD_LAUNCH_OTHER_LIBC);
    p = make(LOADER, "libasan.so.8");
    CHECK(look_at(&p) == PD_LAUNCH_SANITIZED);
    p = make(LOADER, "libc.so.6");
    memcpy(p.names + 20, "__asan_init", sizeof "__asan_init");
    CHECK(look_at(&p) == PD_LAUNCH_SANITIZED);
    p = make(LOADER, "libc.so.6");
    CHECK(look(write_file("setuid", &p, sizeof p, 04755)) == PD_LAUNCH_SETUID);
    CHECK(look(write_file("setgid", &p, sizeof p, 02755)) == PD_LAUNCH_SETGID);
}

TEST(the_loader_is_a_program_that_can)
{
    program p = make(LOADER, "ld-linux-x86-64.so.2");
    p.segments[0].p_type = PT_NOTE;
    CHECK(look_at(&p) == PD_LAUNCH_STATIC);
    p.rows[2].d_tag = DT_SONAME;
    CHECK(look_at(&p) == PD_LAUNCH_OK);
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
        CHECK(at || look(write_file("program", file, sizeof p + TABLE_LEN, 0755)) == PD_LAUNCH_OK);
        memcpy(file + sizeof p + at, name, sizeof name);
        CHECK(look(write_file("program", file, sizeof p + TABLE_LEN, 0755)) == PD_LAUNCH_SANITIZED);
    }
    free(file);
}

TEST(every_beginning_of_a_program)
{
    program p = make(LOADER, "libc.so.6");
    for (size_t len = 0; len < sizeof p; len++) {
        pd_launch_obstacle found = look(write_file("program", &p, len, 0755));
        if (len < SELFMAG) /* the shell would run it */
            CHECK(found == look("/bin/sh"));
        else if (len < sizeof p.header)
            CHECK(found == PD_LAUNCH_CUT_OFF);
        else
            CHECK(found == PD_LAUNCH_STATIC || found == PD_LAUNCH_OK);
    }
}

/* Whatever the header and the tables say, nothing is read that is not there. */
TEST(nonsense_in_every_byte)
{
    const program good = make(LOADER, "libc.so.6");
    for (size_t at = SELFMAG; at < PLACE(loader); at++) {
        program p = good;
        ((unsigned char *)&p)[at] = 0xff;
        pd_launch_obstacle found = look_at(&p);
        CHECK(found != PD_LAUNCH_NOT_OPENED && found != PD_LAUNCH_CUT_OFF);
    }
}

TEST(scripts_lead_on)
{
    char line[PATH_MAX + 8];
    program p = make("/lib/ld-musl-x86_64.so.1", "libc.so");
    look_at(&p);
    int len = snprintf(line, sizeof line, "#! \t%s -e\n", path_of("program"));
    CHECK(look(write_file("script", line, (size_t)len, 04755)) == PD_LAUNCH_OTHER_LIBC);
    len = snprintf(line, sizeof line, "#!%s\n", path_of("script"));
    CHECK(look(write_file("nested", line, (size_t)len, 0755)) == PD_LAUNCH_OTHER_LIBC);
    len = snprintf(line, sizeof line, "#!%s\n", path_of("endless"));
    CHECK(look(write_file("endless", line, (size_t)len, 0755)) == PD_LAUNCH_OK);
    CHECK(look(write_file("empty", "#! \n", 4, 0755)) == PD_LAUNCH_OK);
    CHECK(look(write_file("endless", "#!/missing\n", 11, 0755)) == PD_LAUNCH_NOT_OPENED);
    CHECK(look(folder) == PD_LAUNCH_NOT_OPENED);
}

TEST(the_search_by_path)
{
    char path[PATH_MAX], folders[2 * PATH_MAX];
    snprintf(folders, sizeof folders, "/missing::%s", folder);
    write_file("no program", "", 0, 0644);
    CHECK(pd_launch_find("no program", folders, path) == EACCES);
    write_file("some program", "", 0, 0755);
    CHECK(pd_launch_find("some program", folders, path) == 0);
    CHECK(strcmp(path, path_of("some program")) == 0);
    CHECK(pd_launch_find("some program", "/missing", path) == ENOENT);
    CHECK(pd_launch_find("", folders, path) == ENOENT);
    CHECK(pd_launch_find("sh", NULL, path) == 0);
    CHECK(pd_launch_find("./x", folders, path) == 0 && strcmp(path, "./x") == 0);
}

TEST(what_the_agent_was_built_for)
{
    pd_launch_agent agent;
    program p = make(LOADER, "libc.so.6");
    CHECK(pd_launch_agent_read(write_file("agent", &p, sizeof p, 0644), &agent) == 0);
    CHECK(agent.machine == EM_X86_64 && agent.is_for_glibc);
    p = make(LOADER, "libc.so");
    CHECK(pd_launch_agent_read(write_file("agent", &p, sizeof p, 0644), &agent) == 0);
    CHECK(!agent.is_for_glibc);
    CHECK(pd_launch_agent_read(write_file("agent", "text", 4, 0644), &agent) == ENOEXEC);
    CHECK(pd_launch_agent_read("/missing/agent", &agent) == ENOENT);
}

TEST(which_signals_can_ask)
{
    static const int good[] = {SIGUSR1,   SIGUSR2, SIGHUP, SIGALRM,
                               SIGVTALRM, SIGPROF, SIGIO,  SIGPWR};
    const int bad[] = {-1,      0,       SIGKILL, SIGSTOP, SIGSEGV, SIGABRT,      SIGTERM,
                       SIGPIPE, SIGCHLD, SIGCONT, SIGURG,  SIGTSTP, SIGRTMAX + 1, 1000};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CHECK(!pd_launch_signal_refusal(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(pd_launch_signal_refusal(bad[i]) != NULL);
    for (int number = SIGSYS + 1; number < SIGRTMIN; number++)
        CHECK(pd_launch_signal_refusal(number) != NULL);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        CHECK(!pd_launch_signal_refusal(number));
}

/* ---- language runtimes ----------------------------------------------------------------------- */

static pd_runtime runtime_of(const program *p, size_t len)
{
    const char *path = write_file("program", p, len, 0755);
    errno = 42;
    pd_runtime runtime = pd_runtime_of(path);
    CHECK(errno == 42);
    return runtime;
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
    static const struct {
        const char *library, *name;
        pd_runtime runtime;
    } rows[] = {
        {"libc.so.6", "main", PD_RUNTIME_NONE},
        {"libjli.so", "main", PD_RUNTIME_JAVA},
        {"libjvm.so", "main", PD_RUNTIME_JAVA},
        {"libc.so.6", "JLI_Launch", PD_RUNTIME_JAVA},
        {"libnode.so.108", "main", PD_RUNTIME_NODE},
        {"libc.so.6", "_ZN4node5StartEiPPc", PD_RUNTIME_NODE},
        {"libpython3.11.so.1.0", "Py_BytesMain", PD_RUNTIME_PYTHON},
        {"libc.so.6", "Py_BytesMain", PD_RUNTIME_PYTHON},
        {"libpython3.11.so.1.0", "Py_Initialize", PD_RUNTIME_NONE}, /* Python is embedded */
        {"libpypy3.10-c.so", "main", PD_RUNTIME_PYTHON},
        {"libc.so.6", "Py_BytesMains", PD_RUNTIME_NONE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        program p = make(LOADER, rows[i].library);
        snprintf(p.names + 40, sizeof p.names - 40, "%s", rows[i].name);
        CHECK_MSG(runtime_of(&p, sizeof p) == rows[i].runtime, "%s, %s", rows[i].library,
                  rows[i].name);
        CHECK(!*pd_runtime_advice(rows[i].runtime) == !rows[i].runtime);
    }
    program go = make_go();
    CHECK(runtime_of(&go, sizeof go) == PD_RUNTIME_GO && *pd_runtime_advice(PD_RUNTIME_GO));
    go.loader[2 * sizeof(ElfW(Nhdr)) + 4] = 'X';
    CHECK(runtime_of(&go, sizeof go) == PD_RUNTIME_NONE);
    CHECK(pd_runtime_of(folder) == PD_RUNTIME_NONE && pd_runtime_of("") == PD_RUNTIME_NONE);
}

TEST(a_runtime_in_a_damaged_file)
{
    const program go = make_go();
    for (size_t len = 0; len < sizeof go; len++) {
        pd_runtime runtime = runtime_of(&go, len);
        CHECK(runtime == PD_RUNTIME_NONE || runtime == PD_RUNTIME_GO);
    }
    for (size_t at = 0; at < sizeof go; at++) {
        program p = go;
        ((unsigned char *)&p)[at] ^= 0xff;
        runtime_of(&p, sizeof p);
    }
}

TEST(names_for_files)
{
    static const char *const rows[][2] = {
        {"make", "make"},       {"python3.11", "python3.11"},
        {"a b/c", "a_b_c"},     {".hidden", "_hidden"},
        {"-option", "_option"}, {"x'$(y)", "x___y_"},
        {"\xc3\xa4", "__"},     {"", "_"},
        {"c++", "c++"},
    };
    char out[PD_PROGRAM_MAX + 1], name[PD_PROGRAM_MAX * 2];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pd_program_copy(out, rows[i][0]);
        CHECK_STR(out, rows[i][1]);
    }
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    pd_program_copy(out, name);
    CHECK(strlen(out) == PD_PROGRAM_MAX);
}

TEST_MAIN()
