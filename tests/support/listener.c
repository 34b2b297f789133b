/* A listener of static probes: see listener.h. */
#include "listener.h"

#if CAN_LISTEN

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

enum { NOTE_TYPE = 3 };

static listener_probe known[LISTENER_PROBES_MAX];
static size_t known_len;
static listener_heard *listening;

/* ---- the notes ------------------------------------------------------------------------------- */

/* The files are our own, so nothing here is checked that the linker guarantees. */
static const Elf64_Shdr *section(const unsigned char *file, const char *name)
{
    const Elf64_Ehdr *header = (const void *)file;
    const Elf64_Shdr *sections = (const void *)(file + header->e_shoff);
    const char *names = (const char *)file + sections[header->e_shstrndx].sh_offset;
    for (int i = 0; i < header->e_shnum; i++)
        if (strcmp(names + sections[i].sh_name, name) == 0)
            return &sections[i];
    return NULL;
}

static listener_probe read_note(const unsigned char *body, uintptr_t bias, uint64_t base)
{
    uint64_t words[3]; /* address, base, semaphore */
    memcpy(words, body, sizeof words);
    const char *provider = (const char *)body + sizeof words;
    const char *name = provider + strlen(provider) + 1;
    uint64_t moved = base - words[1] + bias;
    return (listener_probe){
        .provider = provider,
        .name = name,
        .arguments = name + strlen(name) + 1,
        .at = (unsigned char *)(uintptr_t)(words[0] + moved), // NOLINT(performance-no-int-to-ptr)
        .semaphore =
            words[2] ? (volatile unsigned short *)(uintptr_t)(words[2] + moved) : NULL, // NOLINT
    };
}

static size_t read_notes(const unsigned char *file, uintptr_t bias, const char *provider,
                         listener_probe *out)
{
    const Elf64_Shdr *notes = section(file, ".note.stapsdt");
    const Elf64_Shdr *base = section(file, ".stapsdt.base");
    size_t len = 0;
    if (!notes || !base)
        return 0;
    for (size_t at = 0; at < notes->sh_size && len < LISTENER_PROBES_MAX;) {
        const unsigned char *note = file + notes->sh_offset + at;
        Elf64_Nhdr header;
        memcpy(&header, note, sizeof header);
        size_t name_len = (header.n_namesz + 3u) & ~(size_t)3;
        const unsigned char *body = note + sizeof header + name_len;
        if (header.n_type == NOTE_TYPE &&
            strcmp((const char *)note + sizeof header, "stapsdt") == 0) {
            out[len] = read_note(body, bias, base->sh_addr);
            len += strcmp(out[len].provider, provider) == 0;
        }
        at += sizeof header + name_len + ((header.n_descsz + 3u) & ~(size_t)3);
    }
    return len;
}

/* The file stays mapped, since the strings of the probes are in it. */
size_t listener_find(const char *path, uintptr_t bias, const char *provider,
                     listener_probe out[LISTENER_PROBES_MAX])
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status))
        return 0;
    const unsigned char *file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    return file == MAP_FAILED ? 0 : read_notes(file, bias, provider, out);
}

/* ---- the breakpoints ------------------------------------------------------------------------- */

#if defined(__x86_64__)
static const unsigned char breakpoint[] = {0xcc};

/* The processor has gone past it. */
static unsigned char *place(ucontext_t *context)
{
    return (unsigned char *)context->uc_mcontext.gregs[REG_RIP] - 1; // NOLINT
}

static void go_on(ucontext_t *context)
{
    (void)context;
}

static void read_arguments(const ucontext_t *context, uint64_t out[LISTENER_ARGUMENTS_MAX])
{
    out[0] = (uint64_t)context->uc_mcontext.gregs[REG_RDI];
    out[1] = (uint64_t)context->uc_mcontext.gregs[REG_RSI];
    out[2] = (uint64_t)context->uc_mcontext.gregs[REG_RDX];
}
#else
static const unsigned char breakpoint[] = {0x00, 0x00, 0x20, 0xd4};

/* The processor has stopped at it. */
static unsigned char *place(ucontext_t *context)
{
    return (unsigned char *)context->uc_mcontext.pc; // NOLINT(performance-no-int-to-ptr)
}

static void go_on(ucontext_t *context)
{
    context->uc_mcontext.pc += sizeof breakpoint;
}

static void read_arguments(const ucontext_t *context, uint64_t out[LISTENER_ARGUMENTS_MAX])
{
    memcpy(out, context->uc_mcontext.regs, LISTENER_ARGUMENTS_MAX * sizeof *out);
}
#endif

static void on_breakpoint(int number, siginfo_t *info, void *given)
{
    ucontext_t *context = given;
    const unsigned char *at = place(context);
    (void)info;
    for (size_t i = 0; i < known_len; i++) {
        if (known[i].at != at)
            continue;
        uint64_t arguments[LISTENER_ARGUMENTS_MAX];
        read_arguments(context, arguments);
        go_on(context);
        listening(&known[i], arguments);
        return;
    }
    signal(number, SIG_DFL); /* it was not one of ours */
}

static bool set_breakpoint(unsigned char *at)
{
    size_t page_len = (size_t)sysconf(_SC_PAGESIZE), within = (uintptr_t)at % page_len;
    unsigned char *page = at - within;
    size_t len = within + sizeof breakpoint > page_len ? 2 * page_len : page_len;
    if (mprotect(page, len, PROT_READ | PROT_WRITE | PROT_EXEC))
        return false;
    memcpy(at, breakpoint, sizeof breakpoint);
    __builtin___clear_cache((char *)at, (char *)at + sizeof breakpoint);
    return mprotect(page, len, PROT_READ | PROT_EXEC) == 0;
}

int listener_start(const listener_probe *probes, size_t len, listener_heard *heard)
{
    struct sigaction action = {.sa_sigaction = on_breakpoint, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigemptyset(&action.sa_mask);
    memcpy(known, probes, len * sizeof *probes);
    known_len = len;
    listening = heard;
    if (sigaction(SIGTRAP, &action, NULL))
        return errno;
    for (size_t i = 0; i < len; i++)
        if (!set_breakpoint(known[i].at))
            return errno;
    return 0;
}

void listener_want(int change)
{
    for (size_t i = 0; i < known_len; i++)
        if (known[i].semaphore)
            *known[i].semaphore = (unsigned short)(*known[i].semaphore + change);
}

#else
typedef int listener_is_not_here;
#endif
