/* Language runtimes: see runtime.h. */
#include "agent/base/runtime.h"

#include "agent/base/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GO_BUILD_ID = 4 }; /* the type of Go's note */

static uint64_t padded(uint64_t len)
{
    return (len + 3) & ~UINT64_C(3);
}

/* Does a segment of notes have the one that Go's linker writes? */
static bool has_go_note(const pd_elf *elf, const ElfW(Phdr) * segment)
{
    enum { NOTES_MAX = 1024 };
    uint64_t at = segment->p_offset, end = at + segment->p_filesz;
    ElfW(Nhdr) note;
    for (int i = 0; i < NOTES_MAX && at < end; i++) {
        char owner[4] = {0};
        if (pd_elf_read(elf, at, &note, sizeof note) != sizeof note ||
            pd_elf_read(elf, at + sizeof note, owner, sizeof owner) != sizeof owner)
            return false;
        if (note.n_type == GO_BUILD_ID && note.n_namesz == sizeof owner &&
            memcmp(owner, "Go\0", sizeof owner) == 0)
            return true;
        at += sizeof note + padded(note.n_namesz) + padded(note.n_descsz);
    }
    return false;
}

static bool is_go(const pd_elf *elf)
{
    ElfW(Phdr) segment;
    for (size_t i = 0; pd_elf_segment_at(elf, i, &segment); i++)
        if (segment.p_type == PT_NOTE && has_go_note(elf, &segment))
            return true;
    return false;
}

static const struct {
    pd_runtime runtime;
    const char *libraries[4], *names[3]; /* NULL at the end */
} runtimes[] = {
    {PD_RUNTIME_JAVA, {"libjvm.so", "libjli.so", NULL}, {"JLI_Launch", "JNI_CreateJavaVM", NULL}},
    {PD_RUNTIME_NODE, {"libnode.so", NULL}, {"_ZN4node5StartEiPPc", NULL}},
    /* Not libpython: programs that embed Python need it, too, and most of their heap is their own. */
    {PD_RUNTIME_PYTHON, {"libpypy", NULL}, {"Py_BytesMain", "Py_Main", NULL}},
};

static pd_runtime classify(int fd)
{
    pd_image i;
    if (!pd_elf_open(&i.elf, fd, 0))
        return PD_RUNTIME_NONE;
    if (is_go(&i.elf))
        return PD_RUNTIME_GO;
    pd_elf_find_dynamic(&i.elf, &i.dynamic);
    for (size_t r = 0; r < sizeof runtimes / sizeof *runtimes; r++)
        if (pd_image_find_prefix(&i, DT_NEEDED, runtimes[r].libraries) ||
            pd_image_find_string(&i, runtimes[r].names))
            return runtimes[r].runtime;
    return PD_RUNTIME_NONE;
}

pd_runtime pd_runtime_of(const char *path)
{
    int kept = errno, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    pd_runtime runtime = fd >= 0 ? classify(fd) : PD_RUNTIME_NONE;
    if (fd >= 0)
        close(fd);
    errno = kept;
    return runtime;
}

/* With PYTHONMALLOC=malloc or malloc_debug, Python has no allocator of its own. */
static const char *python_advice(void)
{
    static const char malloc_name[] = "malloc";
    const char *allocator = getenv("PYTHONMALLOC");
    if (allocator && strncmp(allocator, malloc_name, sizeof malloc_name - 1) == 0)
        return "Python: C stacks are seen, without Python functions, which are not in the "
               "profiles; tracemalloc or memray shows these";
    return "Python: C stacks are seen, without Python functions, and not objects up to 512 "
           "bytes, "
           "which have an allocator of their own; PYTHONMALLOC=malloc shows these, tracemalloc "
           "or "
           "memray the Python functions";
}

const char *pd_runtime_advice(pd_runtime runtime)
{
    switch (runtime) {
    case PD_RUNTIME_GO:
        return "Go: only what C code allocates is seen, and not Go's own heap; use the heap "
               "profile of "
               "net/http/pprof and pprofdelta PREV CUR for that";
    case PD_RUNTIME_JAVA:
        return "Java: what the virtual machine and native libraries allocate is seen, and not Java "
               "objects; use jcmd PID GC.class_histogram or async-profiler -e alloc for these";
    case PD_RUNTIME_NODE:
        return "Node.js: what C and C++ code and buffers allocate is seen, and not JavaScript "
               "objects; "
               "use node --heap-prof or @datadog/pprof for these";
    case PD_RUNTIME_PYTHON:
        return python_advice();
    default:
        return "";
    }
}
