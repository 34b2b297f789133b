/* Which frames of a stack say nothing about the program: see wrappers.h.
 *
 * A frame is judged by its name; an inlined one, which may be named without its class, by its source
 * file, too. Without a name, it is judged by the file that it lies in: an allocator's library, or the C
 * library below main. */
#include "show/wrappers.h"

#include <stdio.h>
#include <string.h>

typedef enum rule_kind { WHOLE, PREFIX } rule_kind;
typedef struct rule {
    rule_kind kind;
    const char *text;
} rule;

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- the tables --------------------------------------------------------------------------- */

static const rule allocators[] = {
    /* the C library */
    {WHOLE, "aligned_alloc"},
    {WHOLE, "valloc"},
    {WHOLE, "pvalloc"},
    {WHOLE, "__libc_valloc"},
    {WHOLE, "__libc_pvalloc"},
    /* of C programs, beside those that is_malloc knows */
    {WHOLE, "ngx_alloc"},
    {PREFIX, "ngx_palloc"},
    {PREFIX, "ngx_pnalloc"},
    {PREFIX, "apr_palloc"},
    {PREFIX, "g_slice_alloc"},
    {PREFIX, "palloc"},
    {WHOLE, "repalloc"},
    {PREFIX, "MemoryContextAlloc"},
    {PREFIX, "AllocSetAlloc"},
    {WHOLE, "PyType_GenericAlloc"},
    {WHOLE, "_PyType_AllocNoTrack"},
    {PREFIX, "_PyObject_GC_New"},
    /* C++ */
    {PREFIX, "operator new"},
    {PREFIX, "_Znw"},
    {PREFIX, "_Zna"},
    /* jemalloc, gperftools and tcmalloc, mimalloc */
    {PREFIX, "je_"},
    {PREFIX, "_rjem_"},
    {PREFIX, "tc_"},
    {PREFIX, "tcmalloc::"},
    {PREFIX, "TCMalloc"},
    {PREFIX, "mi_"},
    {PREFIX, "_mi_"},
    /* Rust */
    {PREFIX, "__rust_alloc"},
    {WHOLE, "__rust_realloc"},
    {PREFIX, "__rustc::__rust_alloc"},
    {PREFIX, "__rustc::__rust_realloc"},
    {PREFIX, "__rg_"},
    {PREFIX, "__rdl_"},
    {PREFIX, "__rustc::__rdl_"},
    {PREFIX, "alloc::alloc::"},
    {PREFIX, "alloc::raw_vec::"},
    {PREFIX, "<alloc::alloc::Global as "},
    {PREFIX, "<alloc::alloc::Global>::"},
    {PREFIX, "alloc::boxed::"},
    {PREFIX, "alloc::rc::Rc<T>::new"},
    {PREFIX, "alloc::sync::Arc<T>::new"},
    {PREFIX, "<alloc::raw_vec::"},
    {PREFIX, "std::alloc::"},
    {PREFIX, "<std::alloc::System as "},
    {PREFIX, "_ZN5alloc5alloc"},
    {PREFIX, "_ZN5alloc7raw_vec"},
    /* Go */
    {PREFIX, "runtime.mallocgc"},
    {WHOLE, "runtime.newobject"},
    {WHOLE, "runtime.newarray"},
    {WHOLE, "runtime.makeslice"},
    {WHOLE, "runtime.makeslice64"},
    {WHOLE, "runtime.makeslicecopy"},
    {WHOLE, "runtime.growslice"},
    {PREFIX, "runtime.rawstring"},
    {PREFIX, "runtime.rawbyteslice"},
    {PREFIX, "runtime.rawruneslice"},
};

static const rule starts[] = {
    {WHOLE, "_start"},
    {WHOLE, "_start_c"},
    {PREFIX, "__libc_start_main"},
    {WHOLE, "__libc_start_call_main"},
    {WHOLE, "libc_start_main_stage2"},
    {WHOLE, "generic_start_main"},
    {PREFIX, "generic_start_main."},
    {WHOLE, "start_thread"},
    {WHOLE, "clone"},
    {WHOLE, "__clone"},
    {WHOLE, "clone3"},
    {WHOLE, "__clone3"},
    {WHOLE, "__clone_internal"},
    /* C++ and Rust */
    {WHOLE, "execute_native_thread_routine"},
    {PREFIX, "std::thread::"},
    {PREFIX, "std::rt::"},
    {PREFIX, "std::sys::"},
    {PREFIX, "std::sys_common::"},
    {PREFIX, "std::panic::"},
    {PREFIX, "std::panicking::"},
    {PREFIX, "core::ops::function::"},
    {PREFIX, "<core::panic::unwind_safe::"},
    {PREFIX, "<&dyn core::ops::function::"},
    {PREFIX, "<alloc::boxed::Box<F,A> as core::ops::function::"},
    {PREFIX, "<alloc::boxed::Box<F, A> as core::ops::function::"},
    {WHOLE, "__rust_try"},
    /* Go */
    {WHOLE, "runtime.main"},
    {WHOLE, "runtime.goexit"},
    {WHOLE, "runtime.goexit.abi0"},
    {PREFIX, "runtime.rt0_go"},
    {PREFIX, "_rt0_"},
    {PREFIX, "runtime.mstart"},
    {WHOLE, "runtime.systemstack"},
    {WHOLE, "runtime.systemstack.abi0"},
    {WHOLE, "runtime.mcall"},
};

/* The stems of the names of C functions that do what malloc does, in any case of letters, with any
 * letters in front: xmalloc, zrealloc, g_malloc0_n, sqlite3DbMallocRawNN, PyMem_RawCalloc. */
static const char *const stems[] = {"malloc", "calloc", "realloc", "zalloc", "memalign"};

/* The words that may follow, so that mallocator and realloc_buffer are none of them. */
static const char *const variants[] = {"aligned", "alarm",    "alloc",  "array",  "atomic", "debug",
                                       "die",     "fail",     "finish", "flags",  "free",   "hook",
                                       "impl",    "internal", "loc",    "nn",     "no",     "num",
                                       "or",      "raw",      "safe",   "tcache", "usable", "with",
                                       "wrapper", "zeroed",   "zero",   "n",      "x",      "z"};

/* Functions of the C++ library, std::...::NAME. Names with an underscore in front are the library's
 * internals (_M_allocate, __push_back_slow_path), but these call functions of the program, which may
 * be inlined into them. */
static const char *const cxx_allocators[] = {"allocate", "allocate_at_least"};
static const char *const cxx_callers[] = {"_M_invoke", "_M_run", "__call"};
static const char *const cxx_starts[] = {"__invoke", "__invoke_impl", "__thread_proxy",
                                         "__thread_execute"};

/* Of libraries, for the question which frame is the program's own: the beginnings of the names of
 * functions and of files, and parts of the names of source files. */
static const char *const library_names[] = {
    "std::",   "<std::",   "__gnu_cxx::", "core::",    "<core::",
    "alloc::", "<alloc::", "runtime.",    "void std::"};
static const char *const library_folders[] = {
    "/lib/",          "/lib64/",     "/usr/lib/",           "/usr/lib64/",
    "/usr/include/",  "/usr/share/", "/usr/local/include/", "/usr/local/lib/",
    "/usr/local/go/", "/rustc/"};
static const char *const library_parts[] = {"/.cargo/registry/", "/.cargo/git/",
                                            "/.rustup/",         "/pkg/mod/",
                                            "/go/src/runtime/",  "/site-packages/"};

/* The beginnings of the names of files, without their folders. */
static const char *const allocator_files[] = {"libpprofdelta-agent.", "libjemalloc.", "libtcmalloc",
                                              "libmimalloc"};
static const char *const libc_files[] = {
    "libc.so.", "libc-2.", "libpthread.so.", "libpthread-2.", "ld-musl-", "libc.musl-", "ld-linux"};

/* ---- matching ----------------------------------------------------------------------------- */

static bool matches(const rule *rules, size_t len, cli_string name)
{
    for (size_t i = 0; i < len; i++)
        if (rules[i].kind == WHOLE ? cli_string_is(name, rules[i].text)
                                   : cli_string_begins(name, rules[i].text))
            return true;
    return false;
}

static bool is_one_of(const char *const *texts, size_t len, cli_string name)
{
    for (size_t i = 0; i < len; i++)
        if (cli_string_is(name, texts[i]))
            return true;
    return false;
}

static bool begins_with_one_of(const char *const *texts, size_t len, cli_string name)
{
    for (size_t i = 0; i < len; i++)
        if (cli_string_begins(name, texts[i]))
            return true;
    return false;
}

static bool contains(cli_string text, const char *part)
{
    size_t len = strlen(part);
    for (size_t at = 0; at + len <= text.len; at++)
        if (!memcmp(text.ptr + at, part, len))
            return true;
    return false;
}

/* "allocate" of "std::allocator<A::b>::allocate(unsigned long)". *owner becomes the place of the
 * qualified name, which stands behind the type that a template function returns. */
static cli_string last_component(cli_string name, size_t *owner)
{
    size_t depth = 0, from = 0, at = 0;
    *owner = 0;
    for (; at < name.len; at++) {
        char c = name.ptr[at];
        if (!depth && (c == '(' || (c == '<' && at > from && name.ptr[at - 1] != ':' &&
                                    !memchr(name.ptr + at, ':', name.len - at))))
            break;
        depth += c == '<' || c == '(';
        depth -= depth && (c == '>' || c == ')');
        if (depth)
            continue;
        if (c == ' ')
            *owner = from = at + 1;
        if (c == ':' && at + 1 < name.len && name.ptr[at + 1] == ':')
            from = at + 2;
    }
    cli_string last = {name.ptr + from, at - from};
    const char *angle = memchr(last.ptr, '<', last.len);
    if (angle)
        last.len = (size_t)(angle - last.ptr);
    return last;
}

/* Whether the text is made of variants, digits and underscores. Letters are small. */
static bool is_variant(cli_string text)
{
    while (text.len) {
        size_t len = strchr("_0123456789", text.ptr[0]) ? 1 : 0;
        for (size_t i = 0; !len && i < COUNT(variants); i++)
            len = cli_string_begins(text, variants[i]) ? strlen(variants[i]) : 0;
        if (!len)
            return false;
        text = (cli_string){text.ptr + len, text.len - len};
    }
    return true;
}

/* Cuts what a compiler adds to the name of a part or a copy of a function: "xmalloc.constprop.0". */
static cli_string without_clone(cli_string name)
{
    static const char *const clones[] = {".cold", ".constprop.", ".isra.", ".part.", ".lto_priv."};
    const char *dot = memchr(name.ptr, '.', name.len);
    size_t len = dot ? (size_t)(dot - name.ptr) : name.len;
    cli_string rest = {name.ptr + len, name.len - len};
    return begins_with_one_of(clones, COUNT(clones), rest) ? (cli_string){name.ptr, len} : name;
}

/* A name of C: letters, digits and underscores. */
static bool is_malloc(cli_string name)
{
    enum { LONGEST = 64 };
    char small[LONGEST];
    name = without_clone(name);
    if (name.len > LONGEST)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool is_large = c >= 'A' && c <= 'Z';
        if (!is_large && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '_')
            return false;
        small[i] = is_large ? (char)(c - 'A' + 'a') : c;
    }
    for (size_t at = 0; at < name.len; at++)
        for (size_t i = 0; i < COUNT(stems); i++) {
            cli_string rest = {small + at, name.len - at};
            size_t len = strlen(stems[i]);
            if (cli_string_begins(rest, stems[i]) &&
                is_variant((cli_string){rest.ptr + len, rest.len - len}))
                return true;
        }
    return false;
}

/* Whether a source file is of the library of C++ or Rust. */
static bool is_in_library(cli_string source)
{
    enum { LONGEST = 512 };
    if (source.len > LONGEST)
        return false;
    return contains(source, "/include/c++/") || cli_string_begins(source, "/rust/deps/") ||
           (cli_string_begins(source, "/rustc/") && contains(source, "/library/"));
}

static unsigned library_kind(cli_string name, cli_string source)
{
    size_t owner;
    cli_string last = last_component(name, &owner);
    cli_string qualified = {name.ptr + owner, name.len - owner};
    if (contains(name, "::operator new"))
        return CLI_FRAME_ALLOCATES;
    if (cli_string_begins(name, "alloc::") || cli_string_begins(name, "core::"))
        return CLI_FRAME_IN_LIBRARY;
    if (!is_in_library(source) && !cli_string_begins(qualified, "std::") &&
        !cli_string_begins(qualified, "__gnu_cxx::"))
        return 0;
    if (is_one_of(cxx_starts, COUNT(cxx_starts), last))
        return CLI_FRAME_STARTS;
    if (is_one_of(cxx_callers, COUNT(cxx_callers), last))
        return 0;
    return cli_string_begins(last, "_") || is_one_of(cxx_allocators, COUNT(cxx_allocators), last)
               ? CLI_FRAME_ALLOCATES
               : CLI_FRAME_IN_LIBRARY;
}

static cli_string without_folders(cli_string file)
{
    size_t from = file.len;
    while (from && file.ptr[from - 1] != '/')
        from--;
    return (cli_string){file.ptr + from, file.len - from};
}

static unsigned named_kind(cli_string name, cli_string source)
{
    if (cli_string_is(name, "main"))
        return CLI_FRAME_IS_MAIN;
    unsigned kind =
        matches(starts, COUNT(starts), name) ? CLI_FRAME_STARTS : library_kind(name, source);
    if (matches(allocators, COUNT(allocators), name) || is_malloc(name) ||
        contains(name, "GlobalAlloc"))
        kind = (kind & ~(unsigned)CLI_FRAME_IN_LIBRARY) | CLI_FRAME_ALLOCATES;
    if (cli_string_begins(name, "std::rt::lang_start"))
        kind |= CLI_FRAME_STARTS_RUST;
    return kind;
}

unsigned cli_frame_kind(cli_string name, cli_string file, cli_string source, bool is_nameless)
{
    cli_string base = without_folders(file);
    unsigned kind = is_nameless ? CLI_FRAME_IS_NAMELESS : named_kind(name, source);
    if (begins_with_one_of(allocator_files, COUNT(allocator_files), base))
        kind |= CLI_FRAME_ALLOCATES;
    if ((is_nameless || kind & CLI_FRAME_STARTS) &&
        begins_with_one_of(libc_files, COUNT(libc_files), base))
        kind |= CLI_FRAME_STARTS | CLI_FRAME_IN_LIBC;
    return kind;
}

bool cli_frame_is_of_library(cli_string name, cli_string file, cli_string source)
{
    for (size_t i = 0; i < COUNT(library_parts); i++)
        if (contains(source, library_parts[i]))
            return true;
    return is_in_library(source) ||
           begins_with_one_of(library_folders, COUNT(library_folders), file) ||
           begins_with_one_of(library_folders, COUNT(library_folders), source) ||
           begins_with_one_of(library_names, COUNT(library_names), name);
}

/* ---- cutting ------------------------------------------------------------------------------ */

/* The frame kinds[at] is the outermost that is left. */
static bool starts_program(const unsigned char *kinds, size_t at, bool is_root)
{
    unsigned callee = at ? kinds[at - 1] : 0;
    if (kinds[at] & CLI_FRAME_STARTS)
        return true;
    if (kinds[at] & CLI_FRAME_IS_MAIN)
        return callee & CLI_FRAME_STARTS_RUST;
    /* _start of a program without symbols: only the C library is called by it. */
    return is_root && kinds[at] & CLI_FRAME_IS_NAMELESS && callee & CLI_FRAME_IN_LIBC;
}

void cli_wrappers_cut(const unsigned char *kinds, size_t len, bool is_heap, size_t *from,
                      size_t *to)
{
    const unsigned inner = CLI_FRAME_ALLOCATES | CLI_FRAME_IN_LIBRARY;
    size_t leaf = 0, root = len;
    while (is_heap && leaf < len && kinds[leaf] & inner)
        leaf++;
    if (leaf && kinds[leaf - 1] & CLI_FRAME_IN_LIBRARY) /* the call that the program made */
        leaf--;
    while (root > leaf && starts_program(kinds, root - 1, root == len))
        root--;
    if (leaf == root && leaf) /* the allocator's outermost function stands for all of them */
        leaf--;
    else if (leaf == root)
        root += len > 0;
    *from = leaf;
    *to = root;
}

char *cli_wrappers_describe(size_t functions, char text[CLI_WRAPPERS_ROOM])
{
    snprintf(text, CLI_WRAPPERS_ROOM, "%zu wrapper and start-up function%s; --all-frames shows %s",
             functions, functions == 1 ? "" : "s", functions == 1 ? "it" : "them");
    return text;
}
