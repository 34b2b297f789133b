/* Which interpreter the process has: see python.h. */
#include "agent/python/python.h"

#include "agent/base/agent.h"
#include "process/maps.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

pd_python pd_the_python;

static const pd_python_layout layouts[] = {
#include "agent/python/layouts.inc"
};

static const pd_python_layout *layout_of(unsigned minor)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].minor == minor)
            return &layouts[i];
    return NULL;
}

static void *symbol(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

/* Takes what the interpreter publishes in place of what was published when the table was made. Returns NULL if it does not publish that. */
static const pd_python_layout *take_published(const pd_python_layout *known)
{
    static const size_t members[PD_PYTHON_PUBLISHED] = {
        offsetof(pd_python_layout, thread_id),         offsetof(pd_python_layout, thread_frame),
        offsetof(pd_python_layout, frame_previous),    offsetof(pd_python_layout, frame_code),
        offsetof(pd_python_layout, frame_instruction), offsetof(pd_python_layout, frame_owner),
        offsetof(pd_python_layout, code_name),         offsetof(pd_python_layout, code_file),
        offsetof(pd_python_layout, code_first_line),   offsetof(pd_python_layout, code_lines),
        offsetof(pd_python_layout, code_size)};
    static const char cookie[] = "xdebugpy";
    static pd_python_layout taken;
    const char *runtime = symbol("_PyRuntime");
    if (!runtime || memcmp(runtime, cookie, sizeof cookie - 1) != 0)
        return NULL;
    taken = *known;
    for (size_t i = 0; i < PD_PYTHON_PUBLISHED; i++) {
        uint64_t off;
        memcpy(&off, runtime + known->published[i], sizeof off);
        const uint16_t small = (uint16_t)off;
        memcpy((char *)&taken + members[i], &small, sizeof small);
        if (off > UINT16_MAX)
            return NULL;
    }
    return &taken;
}

/* tp_basicsize of a type, which another build of the same version may have otherwise. */
static size_t size_of_type(const void *type)
{
    enum { BASIC_SIZE = 32 };
    size_t size = 0;
    if (type)
        memcpy(&size, (const char *)type + BASIC_SIZE, sizeof size);
    return size;
}

/* musl has no dladdr1, and its headers do not declare it. */
// NOLINTNEXTLINE(readability-redundant-declaration,readability-inconsistent-declaration-parameter-name)
int dladdr1(const void *address, Dl_info *info, void **extra, int flags) __attribute__((weak));

static void find_evaluation(pd_python *python)
{
    enum { SYMBOL_ENTRY = 1 };
    const void *function = symbol("_PyEval_EvalFrameDefault");
    Dl_info info;
    void *entry = NULL;
    if (!function || !dladdr1 || !dladdr1(function, &info, &entry, SYMBOL_ENTRY) || !entry)
        return;
    python->evaluation = (uintptr_t)function;
    python->evaluation_end = python->evaluation + (uintptr_t)((const ElfW(Sym) *)entry)->st_size;
}

/* Functions have no other type in C. */
static void find_functions(pd_python *python)
{
    void *current = symbol("PyThreadState_GetUnchecked");
    void *finalizing = symbol("Py_IsFinalizing");
    current = current ? current : symbol("_PyThreadState_UncheckedGet");
    finalizing = finalizing ? finalizing : symbol("_Py_IsFinalizing");
    *(void **)(void *)&python->current_state = current;
    *(void **)(void *)&python->is_finalizing = finalizing;
    *(void **)(void *)&python->own_state = symbol("PyGILState_GetThisThreadState");
    python->code_type = symbol("PyCode_Type");
    python->str_type = symbol("PyUnicode_Type");
    python->bytes_type = symbol("PyBytes_Type");
}

/* Returns NULL, or why the frames cannot be read. */
static const char *find_layout(pd_python *python, const char *version)
{
    const bool is_three = !strncmp(version, "3.", 2);
    const unsigned minor = is_three ? (unsigned)strtoul(version + 2, NULL, 10) : 0;
    const pd_python_layout *layout = layout_of(minor);
    if (layout && layout->published[0])
        layout = take_published(layout);
    if (!layout)
        return "this version is not known";
    if (strstr(version, "free-threading"))
        return "it is free-threaded";
    find_functions(python);
    if (!python->current_state || !python->own_state || !python->is_finalizing ||
        !python->bytes_type)
        return "it exports too few functions";
    if (size_of_type(python->code_type) != layout->code_size ||
        size_of_type(python->str_type) != layout->str_size)
        return "this build is not known";
    if (minor < 11)
        find_evaluation(python);
    python->layout = layout;
    return NULL;
}

static uint64_t looked_at; /* pd_maps_loads */

bool pd_python_may_have_come(void)
{
    const uint64_t before = looked_at;
    looked_at = pd_maps_loads();
    return looked_at != before;
}

bool pd_python_find(void)
{
    static bool has_said;
    looked_at = pd_maps_loads();
    const char *(*get_version)(void);
    *(void **)(void *)&get_version = symbol("Py_GetVersion");
    if (!get_version)
        return false;
    const char *version = get_version(), *why = find_layout(&pd_the_python, version);
    if (why && !has_said)
        pd_notice_print(PD_NOTICE_RUNTIME, "stacks have no Python frames: Python %.*s: %s",
                        (int)strcspn(version, " "), version, why);
    has_said = why;
    return !why;
}
